/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory: puts, gets and atomics on windows of peers. See cay_put(3).
 *
 * The accesses return 0 if issued, or -EAGAIN (a queue is full: poll and
 * retry), -EPIPE (the peer is gone), -EINVAL (flags, no peer of this port, or a
 * key with reserved bits or a Win-ID out of range),
 * -EFAULT (NULL), -EMSGSIZE, -EACCES (the port is disabled), -ENOBUFS (too many
 * threads), -ENOMEM, -ENOTCONN (an emulated access needs the node, which has
 * exited), -ECHILD. If the window refuses an access, the call returns 0 and a
 * CAY_EVENT_COMPLETE reports the error code, even if no completion was
 * requested. They never block and are thread-safe.
 *
 * Accesses and messages to one peer take effect in order of issue, except those
 * with CAY_FREE_ORDER. An operation with CAY_FENCE starts after all earlier
 * ones are complete.
 */
#ifndef CAY_REMOTE_H
#define CAY_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "cay/message.h"
#include "cay/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes to a window. A put of 8 aligned bytes to cay_alloc() memory is atomic;
 * the bytes of other puts appear in any order. The source is reusable after the
 * completion requested by CAY_NOTIFY or CAY_ACK, or after cay_flush(). The
 * completion of CAY_ACK also implies that the bytes are stored.
 */
CAY_API int cay_put(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, const void *data, size_t length, uint64_t tag,
	unsigned flags);

/*
 * Writes selected bytes of an aligned word atomically: byte i of `data` if bit
 * i of `enables` is set. The offset is a multiple of 8.
 */
CAY_API int cay_put_masked(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, uint64_t data, uint8_t enables, uint64_t tag,
	unsigned flags);

/*
 * Reads from a window. The bytes are valid after the completion requested by
 * CAY_NOTIFY, or after cay_flush(). With a NULL destination, up to 24 bytes are
 * returned inline in the completion, which is then implied.
 */
CAY_API int cay_get(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, void *destination, size_t length, uint64_t tag,
	unsigned flags);

/*
 * Atomics on an aligned 64-bit word. In cay_alloc() memory they are atomic with
 * respect to atomic instructions of local threads, too. The completion is
 * implied: its `previous` is the old value, its `result` the new value of the
 * word (the old one if a compare-and-swap failed).
 */
CAY_API int cay_fetch_add(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, uint64_t addend, uint64_t tag, unsigned flags);
CAY_API int cay_compare_swap(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags);

/*
 * As above, but store the old value in *previous, which is valid after the
 * completion requested by CAY_NOTIFY, or after cay_flush().
 */
CAY_API int cay_fetch_add_into(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t addend, uint64_t *previous,
	uint64_t tag, unsigned flags);
CAY_API int cay_compare_swap_into(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, unsigned flags);

/*
 * Waits until all operations that this port has issued to the peer are complete
 * at the target and the results of gets are stored. It covers operations of
 * other threads that happen before the call. Emulated accesses and borrowed
 * long messages complete only when the peer polls. Returns 0, -EREMOTEIO (all
 * are complete, but an access through this handle was refused since the last
 * flush that reported it; each one also has its CAY_EVENT_COMPLETE),
 * -ETIMEDOUT, -EAGAIN (the deadline is 0), -ENOTCONN (the node has exited, and
 * no operation has completed for ten seconds), -EINVAL (no peer of this port),
 * -EACCES (the port is disabled), or -ECHILD. Thread-safe.
 */
CAY_API int cay_flush(struct cay_port *, struct cay_peer *, uint64_t deadline);

/*
 * Cancels the borrowed long messages and emulated accesses with this tag that
 * their targets have not started to process. Each completes with
 * CAY_ERROR_TIMEOUT. Returns the number of cancelled operations, or -ENOBUFS
 * (too many threads), -EACCES (the port is disabled), -ECHILD. Does not block.
 * Thread-safe.
 */
CAY_API int cay_cancel(struct cay_port *, uint64_t tag);

#ifdef __cplusplus
}
#endif

#endif
