/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory: put, get and atomics on the windows of peers. See cay_put(3).
 *
 * All of them: any thread; never block. 0: issued. What a peer's window
 * refuses is not an error of the call but a CAY_EVENT_COMPLETE with the error
 * code, whether or not an event was asked for. -EAGAIN (no room for a
 * completion or a notification: poll, try again), -EPIPE (the peer is gone),
 * -EINVAL (flags, or no such Win-ID at all), -EFAULT (NULL), -EMSGSIZE, -EACCES
 * (the port is disabled: it has tried thousands of wrong capabilities),
 * -ENOBUFS (too many threads), -ENOMEM, -ENOTCONN (an access that the peer must
 * carry out needs the node, which is gone), -ECHILD.
 *
 * In the order of issue to one peer, messages included, unless CAY_FREE_ORDER;
 * with CAY_FENCE only after all before it are complete.
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
 * Writes. 8 bytes at an aligned address in cay_alloc() memory appear at once,
 * all else in any order. The source may change when the event that CAY_NOTIFY
 * or CAY_ACK asks for has come, or after cay_flush(). With CAY_ACK the event
 * also means that it is stored.
 */
CAY_API int cay_put(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, const void *, size_t, uint64_t tag, unsigned flags);

/*
 * Writes those bytes of a word at an offset that is a multiple of 8 whose bit
 * in `enables` is set, at once; bit 0 is the first byte.
 */
CAY_API int cay_put_masked(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, uint64_t data, uint8_t enables, uint64_t tag,
	unsigned flags);

/*
 * Reads; the bytes are there when the event has come that CAY_NOTIFY asks for,
 * or after cay_flush(). Up to 24 bytes may come in the event itself: then the
 * destination is NULL and the event is implied.
 */
CAY_API int cay_get(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, void *, size_t, uint64_t tag, unsigned flags);

/*
 * Atomics on an aligned word, which local threads may use with processor
 * atomics at the same time if it lies in cay_alloc() memory. They end in an
 * event: result is the sum, or the swap value if it was stored, else what was
 * found; previous is what was there before.
 */
CAY_API int cay_fetch_add(struct cay_port *, struct cay_peer *, struct cay_key,
	uint64_t offset, uint64_t addend, uint64_t tag, unsigned flags);
CAY_API int cay_compare_swap(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags);

/*
 * The same, but what was there before goes to `previous`, where it is when the
 * event has come that CAY_NOTIFY asks for, or after cay_flush().
 */
CAY_API int cay_fetch_add_into(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t addend, uint64_t *previous,
	uint64_t tag, unsigned flags);
CAY_API int cay_compare_swap_into(struct cay_port *, struct cay_peer *,
	struct cay_key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, unsigned flags);

/*
 * Waits until all that was issued to the peer by this port, by threads that
 * the caller has synchronised with, is done at the target and got bytes have
 * arrived. Accesses that the peer must carry out, and long messages, take as
 * long as the peer does not poll. Any thread. 0, -ETIMEDOUT, -EAGAIN (the
 * deadline is 0), -ENOTCONN (the node is gone, and for ten seconds the peer has
 * not moved), -EACCES, -ECHILD.
 */
CAY_API int cay_flush(struct cay_port *, struct cay_peer *, uint64_t deadline);

/*
 * Withdraws long messages and carried accesses with this tag that their
 * targets have not begun to take: each ends in an event with
 * CAY_ERROR_TIMEOUT. Any thread. How many, or -ENOBUFS (too many threads),
 * -EACCES, -ECHILD.
 */
CAY_API int cay_cancel(struct cay_port *, uint64_t tag);

#ifdef __cplusplus
}
#endif

#endif
