/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: the memory that a port lets others reach, and the keys to it. See
 * cay_window(3).
 */
#ifndef CAY_WINDOW_H
#define CAY_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "cay/contract.h"
#include "cay/peer.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cay_window;

/* What a peer needs to reach a window; send it in a message. */
struct cay_key {
	uint64_t capability; /* 48 bits */
	uint32_t window;     /* Win-ID */
	uint32_t reserved;   /* 0 */
};

/*
 * Opens a window on memory of this process. Memory from cay_alloc() is reached
 * by peers without our help; other memory by the kernel where it lets them,
 * else, and for atomics and masked puts always, whenever this port is polled.
 * rights are an or of enum cay_right. Several windows of a port may lie on the
 * same memory: they are linked, and a lock on one is a lock on all. Any thread;
 * does not block. 0, or -EINVAL (no rights, unknown rights, no or too much
 * memory), -EFAULT (NULL), -ENOSPC (the port has no window left: see
 * cay_port_options.windows), -ENOMEM, -EAGAIN (no random numbers yet),
 * -EACCES, -ECHILD.
 */
CAY_API int cay_window_open(struct cay_port *, void *, size_t, unsigned rights,
	struct cay_window **);

/* Any thread; does not block. 0, -EACCES, -ECHILD. */
CAY_API int cay_window_key(const struct cay_window *, struct cay_key *);

/*
 * Makes all keys to the window worthless but the new one, and waits until
 * nobody uses an old one. Any thread. 0, -ETIMEDOUT (somebody does not finish;
 * no new access succeeds; call again), -ENOTCONN (the node is gone), -EAGAIN
 * (no random numbers yet), -EOPNOTSUPP (no membarrier(2)), -EACCES, -ECHILD.
 */
CAY_API int cay_window_revoke(struct cay_window *, struct cay_key *);

/*
 * No access succeeds any more; waits until none is under way. After 0 the
 * handle is gone and the memory may be reused. Any thread. Or -ETIMEDOUT (a
 * peer is stopped in the middle of an access; the handle stays: call again),
 * -ECHILD. Without a node nobody can tell who is in the middle of an access:
 * -ENOTCONN, the window is closed and the memory must not be reused. The
 * handle is gone then.
 */
CAY_API int cay_window_close(struct cay_window *);

/*
 * Takes a peer's window, and all on the same memory, for this port alone:
 * everybody else's accesses are refused with CAY_ERROR_TARGET_LOCKED until it
 * is unlocked, or this port closes or its process dies. On return no access of
 * others is under way. Asks the node; any thread. 0, -EAGAIN (locked by
 * another, and the deadline is 0), -ETIMEDOUT, -EALREADY (locked by this port),
 * -EACCES (wrong capability, or the port is disabled), -ENXIO (no such window),
 * -EPIPE (the peer is gone), -EPERM (the lock was lost while waiting),
 * -EOPNOTSUPP (no membarrier(2)), -ENOTCONN, -ENOMEM, -ECHILD.
 */
CAY_API int cay_window_lock(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t deadline);

/* Any thread. 0, -EPERM (not locked by this port), and as above. */
CAY_API int cay_window_unlock(
	struct cay_port *, struct cay_peer *, struct cay_key);

#ifdef __cplusplus
}
#endif

#endif
