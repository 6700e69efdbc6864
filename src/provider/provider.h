/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libfabric provider "cay" as a whole: its entry, its parameters, and what
 * every object of it uses. Each object has a header and a file of its name.
 *
 * Threads: everything that belongs to a domain is used under the domain's
 * guard (guard.h). The calls of libfabric take it; functions without `fi` in
 * their signature are called with it held, unless said otherwise.
 */
#ifndef CAY_PROVIDER_PROVIDER_H
#define CAY_PROVIDER_PROVIDER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "base/bits.h"
#include "base/list.h"
#include "cay/cay.h"

extern struct fi_provider provider;

/* Pieces that a request may have: local, and of the target. */
#define PROVIDER_IOV_MAX     8
#define PROVIDER_RMA_IOV_MAX 4

/* Bytes that inject calls take, and that go without a handshake. */
#define PROVIDER_INJECT_BYTES 4096
#define PROVIDER_MESSAGE_MAX  (1ull << 40)

/* What the environment says, read once: FI_CAY_<NAME>. See fi_cay(7). */
struct settings {
	char *node;		 /* which device */
	size_t nq_entries;	 /* of an endpoint's port */
	size_t rdr_bytes;	 /* likewise */
	size_t eager_bytes;	 /* messages up to this travel at once */
	size_t piece_bytes;	 /* of a long message, fetched in one go */
	size_t share_bytes;	 /* messages from here on both ends copy */
	size_t unexpected_bytes; /* held at a receiver before senders wait */
	size_t mr_count;	 /* registrations for remote access */
	size_t connect_ms;	 /* how long a peer may take to come up */
	size_t spin_us;		 /* before a wait sleeps */
};
extern struct settings settings;

#define LOG_WARN(area, ...) FI_WARN(&provider, FI_LOG_##area, __VA_ARGS__)
#define LOG_INFO(area, ...) FI_INFO(&provider, FI_LOG_##area, __VA_ARGS__)

/* The negative fi_errno that fits a negative errno of libcay. */
int provider_error(int error);
/* The positive fi_errno that fits an enum cay_error. */
int provider_device_error(int code);

/* Calls that this provider does not have; for full tables. */
int no_bind(struct fid *, struct fid *, uint64_t);
int no_control(struct fid *, int, void *);
int no_ops_open(struct fid *, const char *, uint64_t, void **, void *);
int no_tostr(const struct fid *, char *, size_t);
int no_ops_set(struct fid *, const char *, uint64_t, void *, void *);

#endif
