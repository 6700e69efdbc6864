/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: memory that a port exposes to peers, and its remote keys. See
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

/* The remote key of a window: plain data, to be sent to peers. */
struct cay_key {
	uint64_t capability; /* 48 bits */
	uint32_t window;     /* Win-ID */
	uint32_t reserved;   /* 0 */
};

/*
 * Rights of a window, enum cay_right in cay/contract.h:
 *
 *	CAY_RIGHT_READ			gets
 *	CAY_RIGHT_WRITE			puts, also masked ones
 *	CAY_RIGHT_ATOMIC		fetch-and-add, compare-and-swap
 *	CAY_RIGHT_NOTIFY_ACCESS		CAY_EVENT_ACCESS for each access
 *	CAY_RIGHT_NOTIFY_REFUSAL	CAY_EVENT_ACCESS for refused accesses
 *
 * A window needs one of the first three.
 */

/*
 * Opens a window on memory of this process. Peers access cay_alloc() memory
 * directly and other memory with process_vm_readv() and process_vm_writev(). If
 * the kernel refuses these, and for atomics and masked puts on such memory, the
 * access is emulated: this process executes it when it polls the port. rights
 * is a bitwise OR of enum cay_right. Windows of a port may overlap; a lock on
 * one of them locks all.
 *
 * Returns 0, or -EINVAL (no or unknown rights, or an invalid length), -EFAULT
 * (NULL, or arena memory that is not in one block of cay_alloc()), -ENOSPC
 * (cay_port_options.windows are open), -ENOMEM, -EAGAIN (no random numbers
 * yet), -EACCES (the port is disabled), -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_window_open(struct cay_port *, void *memory, size_t bytes,
	unsigned rights, struct cay_window **);

/*
 * Reads the remote key of a window. Returns 0, -EINVAL (no window), -EFAULT (no
 * place for the key), -EACCES (the port is disabled), or -ECHILD. Does not
 * block. Thread-safe.
 */
CAY_API int cay_window_key(const struct cay_window *, struct cay_key *);

/*
 * Revokes all keys of a window, issues a new one, and waits until no access
 * with an old key is in progress. Returns 0, -ETIMEDOUT (an access is still in
 * progress; the old keys are refused; call again), -EBUSY (the same, because a
 * process has the window mapped), -ENOTCONN (the node has
 * exited), -EAGAIN (no random numbers yet), -EOPNOTSUPP (no membarrier(2)),
 * -EINVAL (no window), -EFAULT (no place for the key), -EACCES (the port is
 * disabled), or -ECHILD. Thread-safe.
 */
CAY_API int cay_window_revoke(struct cay_window *, struct cay_key *);

/*
 * Closes a window and waits until no access to it is in progress. Returns 0:
 * the handle is freed and the memory may be reused. -ETIMEDOUT: an access is
 * still in progress, for example of a stopped peer; new accesses are refused,
 * the handle stays valid, call again. -EBUSY: the same, because a process has
 * the window mapped. -ENOTCONN: the node, which alone can
 * detect accesses in progress, has exited; -EOPNOTSUPP: no membarrier(2)
 * reaches all processes of the realm; in both cases the handle is freed, and
 * the memory must not be reused. Or -ECHILD. NULL is allowed. Thread-safe.
 */
CAY_API int cay_window_close(struct cay_window *);

/*
 * Locks a window of a peer, and all windows on the same memory, for this port.
 * Accesses of other ports are refused with CAY_ERROR_TARGET_LOCKED until the
 * window is unlocked, this port is closed or its process dies. On success no
 * access of another port is in progress.
 *
 * Returns 0, or -EAGAIN (locked by another port, and the deadline is 0),
 * -ETIMEDOUT, -EALREADY (locked by this port), -EINVAL (no peer of this port,
 * or reserved bits in the key), -EACCES (invalid capability, or the port is
 * disabled), -ENXIO (no such window), -EPIPE (the peer is gone),
 * -EPERM (the lock was lost while waiting), -EBUSY (a process has a window on
 * this memory mapped), -EDQUOT (a quota is exhausted; see cay(7)),
 * -EOPNOTSUPP (no membarrier(2)), -ENOTCONN (the node has exited), -ENOMEM,
 * -ECHILD. Blocks for replies of the node. Thread-safe.
 */
CAY_API int cay_window_lock(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t deadline);

/*
 * Unlocks a window. Returns 0, -EPERM (not locked by this port), or another
 * error of cay_window_lock(). Blocks for a reply of the node. Thread-safe.
 */
CAY_API int cay_window_unlock(
	struct cay_port *, struct cay_peer *, struct cay_key);

/*
 * Maps a window of a peer: *memory points to its first byte, and loads and
 * stores through it access the window like any memory. The window must grant
 * the rights to read, to write and for atomics. The mapping lasts until
 * cay_window_unmap(), or until this process closes its last port in the realm
 * or exits; the memory stays allocated until then, even if its owner frees it
 * or exits. A window may be mapped several times; each has to be unmapped.
 *
 * Returns 0, or -EINVAL (no peer of this port, or reserved bits in the key),
 * -EFAULT (no place for a result), -EACCES (invalid capability, a missing
 * right, or the port is disabled), -EOPNOTSUPP (memory that does not come from
 * cay_alloc()), -EBUSY (the window is locked), -ENXIO (no such window), -EPIPE
 * (the peer is gone), -EDQUOT (a quota is exhausted; see cay(7)), -ENOTCONN
 * (the node has exited), -ENOMEM, -ECHILD. Blocks for a reply of the node.
 * Thread-safe.
 */
CAY_API int cay_window_map(struct cay_port *, struct cay_peer *, struct cay_key,
	void **memory, size_t *bytes);

/*
 * Ends a mapping of this process, through any of its ports in the realm. The
 * memory must not be accessed through it afterwards. Returns 0, -EINVAL (not
 * mapped), -EACCES (the port is disabled), -ENOTCONN (the node has exited), or
 * -ECHILD. Blocks for a reply of the node. Thread-safe.
 */
CAY_API int cay_window_unmap(struct cay_port *, void *memory);

#ifdef __cplusplus
}
#endif

#endif
