/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers: ports that a port has resolved. See cay_peer(3). */
#ifndef CAY_PEER_H
#define CAY_PEER_H

#include <stdint.h>

#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cay_peer;

enum cay_path {
	CAY_PATH_NONE = 0,    /* reserved */
	CAY_PATH_DIRECT = 1,  /* the caller's thread accesses the target */
	CAY_PATH_GUARDED = 2, /* reserved */
	CAY_PATH_LINK = 3,    /* reserved */
};

/*
 * Resolves an address. Returns 0, or -ENXIO (no such port), -EHOSTUNREACH
 * (another node), -EACCES (another realm, or the port is disabled), -ENOSPC
 * (the peer table is full), -EDQUOT (a quota is exhausted; see cay(7)),
 * -ENOTCONN (the node has exited), -ENOMEM, -EFAULT (no place for the handle),
 * -ECHILD. Blocks for a reply of the node. Thread-safe.
 */
CAY_API int cay_peer_resolve(
	struct cay_port *, struct cay_addr, struct cay_peer **);

/*
 * Starts to resolve an address. A CAY_EVENT_RESOLVED of the port reports the
 * end: `handle`, whose cay_peer_data() is `data`, or `error`:
 * CAY_ERROR_TARGET_VPID (no such port), CAY_ERROR_UNREACHABLE (another node, or
 * the node has exited), CAY_ERROR_REALM, CAY_ERROR_NO_RESOURCES (the peer table
 * is full); `tag` is `data` in both cases. Returns 0, or -EAGAIN (too many
 * resolutions are under way, or the port's queue is full: poll and retry),
 * -ENOTCONN (the node has exited), -ENOMEM, -EACCES (the port is disabled),
 * -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_peer_resolve_start(
	struct cay_port *, struct cay_addr, void *data);

/*
 * The same for a name. A name that no port has is not waited for: the error is
 * CAY_ERROR_TARGET_VPID. Returns as above, or -EINVAL (invalid name).
 */
CAY_API int cay_peer_lookup_start(
	struct cay_port *, const char *name, void *data);

/*
 * Resolves a name, waiting until a port with this name is open. Returns as
 * cay_peer_resolve(), or -EINVAL (invalid name), -ETIMEDOUT (also if the node
 * does not reply until the deadline; if the deadline is 0 and the node replies
 * that there is no such port, -ENXIO). Thread-safe.
 */
CAY_API int cay_peer_lookup(struct cay_port *, const char *name,
	uint64_t deadline, struct cay_peer **);

/*
 * Return the path to the peer, and its address; for NULL CAY_PATH_NONE, and
 * zeros, which no port has. Thread-safe; do not block.
 */
CAY_API enum cay_path cay_peer_path(const struct cay_peer *);
CAY_API struct cay_addr cay_peer_addr(const struct cay_peer *);

/*
 * Returns the index of the peer in the port's peer table, which is the routing
 * offset of VCIs to it (0 for NULL); their routing length is
 * CAY_VCI_ROUTE_LOCAL. Thread-safe; does not block.
 */
CAY_API uint32_t cay_peer_route(const struct cay_peer *);

/*
 * Returns the method by which borrowed long messages from ordinary memory are
 * transferred to the peer: "process" (the peer reads the memory of this
 * process), "staged" (they are copied into the arena), or "unknown" for NULL
 * and before the completion of the first one is polled. Thread-safe; does not
 * block.
 */
CAY_API const char *cay_peer_bulk(const struct cay_peer *);

/*
 * Store and return a pointer of the application with the peer; it is NULL at
 * first, and of a NULL peer. The library does not use it. Not synchronized; do
 * not block.
 */
CAY_API void cay_peer_set_data(struct cay_peer *, void *data);
CAY_API void *cay_peer_data(const struct cay_peer *);

/*
 * Releases a peer. Operations in flight complete normally. Call it before
 * closing the port. NULL is allowed. Thread-safe.
 */
CAY_API void cay_peer_release(struct cay_peer *);

#ifdef __cplusplus
}
#endif

#endif
