/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that the provider does not support: each returns -FI_ENOSYS. */
#ifndef CAY_PROVIDER_UNSUPPORTED_H
#define CAY_PROVIDER_UNSUPPORTED_H

#include "provider/provider.h"

/* Of any object. */
int no_bind(struct fid *, struct fid *, uint64_t);
int no_control(struct fid *, int, void *);
int no_ops_open(struct fid *, const char *, uint64_t, void **, void *);
int no_tostr(const struct fid *, char *, size_t);
int no_ops_set(struct fid *, const char *, uint64_t, void *, void *);

/* Of endpoints. */
int no_tx_ctx(
	struct fid_ep *, int, struct fi_tx_attr *, struct fid_ep **, void *);
int no_rx_ctx(
	struct fid_ep *, int, struct fi_rx_attr *, struct fid_ep **, void *);
int no_getpeer(struct fid_ep *, void *, size_t *);
int no_connect(struct fid_ep *, const void *, const void *, size_t);
int no_listen(struct fid_pep *);
int no_accept(struct fid_ep *, const void *, size_t);
int no_reject(struct fid_pep *, fid_t, const void *, size_t);
int no_shutdown(struct fid_ep *, uint64_t);
int no_join(struct fid_ep *, const void *, uint64_t, struct fid_mc **, void *);

#endif
