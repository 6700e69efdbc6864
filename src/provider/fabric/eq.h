/* SPDX-License-Identifier: BSD-2-Clause */
/* An event queue. It has a lock of its own: domains share it. */
#ifndef CAY_PROVIDER_EQ_H
#define CAY_PROVIDER_EQ_H

#include "provider/fabric/fabric.h"

struct eq;

struct eq *eq_of(struct fid_eq *);
/* An object refers to it, or does no more. Any thread. */
void eq_use(struct eq *, int by);
/* An event of ours, without the guard of any domain: 0 or -FI_ENOMEM. */
int eq_report(struct eq *, uint32_t event, const void *entry, size_t bytes);
int eq_report_error(struct eq *, const struct fi_eq_err_entry *);
/* fi_trywait(): 0, -FI_EAGAIN (read first), -FI_EINVAL (no descriptor). */
int eq_try(struct eq *);

#endif
