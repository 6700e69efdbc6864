/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer: another port as seen from one of ours. See cay_peer(3). */
#ifndef CAY_PEER_H
#define CAY_PEER_H

#include <stdint.h>

#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cay_peer;

enum cay_path {
	CAY_PATH_NONE = 0,
	CAY_PATH_DIRECT = 1,
	CAY_PATH_GUARDED = 2,
	CAY_PATH_LINK = 3,
};

/*
 * Any thread; asks the node, so blocks for its answer. 0, or -ENXIO (no such
 * port), -EHOSTUNREACH (another node), -EACCES (another realm), -ENOSPC (the
 * peer table is full), -ENOTCONN (the node is gone), -ENOMEM, -ECHILD.
 */
CAY_API int cay_peer_resolve(
	struct cay_port *, struct cay_addr, struct cay_peer **);

/*
 * The same by name, waiting until somebody has it. Also -EINVAL (a name that
 * cannot be), and when the deadline has passed -ETIMEDOUT, or -ENXIO where it
 * was 0.
 */
CAY_API int cay_peer_lookup(struct cay_port *, const char *name,
	uint64_t deadline, struct cay_peer **);

CAY_API enum cay_path cay_peer_path(const struct cay_peer *);
CAY_API struct cay_addr cay_peer_addr(const struct cay_peer *);

/*
 * The entry of the port's peer table that this peer is: the routing offset of
 * a VCI to it.
 */
CAY_API uint32_t cay_peer_route(const struct cay_peer *);

/*
 * How long messages from ordinary memory reach it: "process" (it reads ours),
 * "staged" (we copy them into the arena), or "unknown" until the first one.
 */
CAY_API const char *cay_peer_bulk(const struct cay_peer *);

/* NULL is allowed. Before the port is closed. */
CAY_API void cay_peer_release(struct cay_peer *);

#ifdef __cplusplus
}
#endif

#endif
