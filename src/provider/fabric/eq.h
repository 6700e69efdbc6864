/* SPDX-License-Identifier: BSD-2-Clause */
/* An event queue. It has a lock of its own, because domains share it. */
#ifndef CAY_PROVIDER_EQ_H
#define CAY_PROVIDER_EQ_H

#include "provider/fabric/fabric.h"

struct eq;

int eq_open(struct fid_fabric *, struct fi_eq_attr *, struct fid_eq **,
	void *context);
struct eq *eq_of(struct fid_eq *);
/* Adds to the number of objects that are bound to it. Any thread. */
void eq_use(struct eq *, int by);
/* Appends an event. Without a domain lock. Returns 0 or -FI_ENOMEM. */
int eq_report(struct eq *, uint32_t event, const void *entry, size_t bytes);
int eq_report_error(struct eq *, const struct fi_eq_err_entry *);
/*
 * fi_trywait(). Returns 0, -FI_EAGAIN (read first) or -FI_EINVAL (no wait
 * object).
 */
int eq_trywait(struct eq *);

#endif
