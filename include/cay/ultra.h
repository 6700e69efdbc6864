/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths: prepared one-way connections for the smallest messages. See
 * cay_ultra(3).
 *
 * A path leads from one port, the origin, to another, the target. One thread at
 * a time may send on a path. All other calls on a path are those of the port's
 * consuming thread, or of any of several if it is CAY_PORT_SHARED.
 */
#ifndef CAY_ULTRA_H
#define CAY_ULTRA_H

#include <stddef.h>
#include <stdint.h>

#include "cay/message.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cay_ultra;

/* Longest message that touches one cache line, in a slice of any size. */
#define CAY_ULTRA_LINE_MAX 48

/*
 * Prepares the target's end of a path and offers it to the port `from`, which
 * may be in another realm of the same user, or, if `from` is all zeros, to the
 * first port of this realm that connects. `slice` is rounded up to a power of
 * two from 64 (also for 0) to 4096; a message has at most 16 bytes less.
 * cay_ultra_recv() may be called at once.
 *
 * Returns 0, or -EINVAL (slice), -ENXIO (no such port), -EHOSTUNREACH (another
 * node), -EDQUOT (a quota is exhausted; see cay(7)), -ENOSPC (no UPID is left),
 * -EMFILE, -ENFILE, -ENOMEM, -ENOTCONN (the node has exited), -ETIMEDOUT (the
 * node does not reply), -EFAULT (no place for the handle), -EACCES (the port is
 * disabled), -ECHILD. Blocks for replies of the node. Consuming thread.
 */
CAY_API int cay_ultra_accept(struct cay_port *, struct cay_addr from,
	size_t slice, struct cay_ultra **);

/*
 * Connects to a path that the port `to` offers to this port, waiting for the
 * offer until the deadline. Returns as cay_ultra_accept(), or -ETIMEDOUT
 * (-EAGAIN if the deadline is 0), -EPIPE (the target has withdrawn it
 * meanwhile). Consuming thread.
 */
CAY_API int cay_ultra_connect(struct cay_port *, struct cay_addr to,
	uint64_t deadline, struct cay_ultra **);

/*
 * The same without waiting for the node: the first two only make the handle,
 * with which cay_ultra_continue() is called until it does not return -EAGAIN.
 * Until it returns 0, the other calls but cay_ultra_close() return -EINVAL.
 * Closing such a path does not wait for the node either.
 *
 * cay_ultra_continue() returns 0 (the path is set up), -EAGAIN (the node has
 * not replied yet, or the port `to` offers no path yet), or an error of the
 * calls above: close it. Consuming thread.
 */
CAY_API int cay_ultra_accept_start(struct cay_port *, struct cay_addr from,
	size_t slice, struct cay_ultra **);
CAY_API int cay_ultra_connect_start(
	struct cay_port *, struct cay_addr to, struct cay_ultra **);
CAY_API int cay_ultra_continue(struct cay_ultra *);

/*
 * Sends a message; the source is reusable when it returns. Flags:
 *
 *	CAY_NOTIFY	CAY_EVENT_ULTRA of the port when the message is stored,
 *			or with CAY_ERROR_NO_RESOURCES when it is refused
 *	CAY_ACK		CAY_EVENT_ULTRA when the target has received it, or with
 *			CAY_ERROR_GONE when it never will
 *	CAY_INTERRUPT	rings the doorbell of the target, armed or not
 *
 * Returns 0, or -EAGAIN (all slices are in use; cay_wait() returns when one is
 * free; or the port's queue has no room for the event), -EMSGSIZE (longer than
 * the slice allows), -EPIPE (the target is gone; the message is lost), -EINVAL
 * (flags, or a NULL handle or one of a target), -EFAULT (NULL with a length),
 * -EBADMSG (the target has damaged the path: close it), -ENOBUFS (too many
 * threads), -EACCES, -ECHILD. Never blocks; enters the kernel only to wake a
 * sleeping target.
 */
CAY_API int cay_ultra_send(struct cay_ultra *, uint64_t tag, const void *data,
	size_t length, unsigned flags);

/*
 * Receives the next message by copying it. `tag` may be NULL. Returns its
 * length, or -EAGAIN (there is none), -EMSGSIZE (the buffer is too small: the
 * message stays), -EPIPE (the origin is gone, and all its messages have been
 * received), -EINVAL (a NULL handle or one of an origin), -EBADMSG (the origin
 * has damaged the path: close it), -EFAULT, -EACCES, -ECHILD. Does not block.
 */
CAY_API int cay_ultra_recv(
	struct cay_ultra *, uint64_t *tag, void *buffer, size_t size);

/*
 * The same in place: *data is valid until cay_ultra_release(), which ends the
 * message. The origin can still change the bytes: copy what you check. A second
 * call before cay_ultra_release() finds the same message.
 */
CAY_API int cay_ultra_peek(
	struct cay_ultra *, uint64_t *tag, const void **data);
/* Ends the message of the last successful cay_ultra_peek(). */
CAY_API void cay_ultra_release(struct cay_ultra *);

struct cay_ultra_status {
	size_t size;	      /* set it to sizeof(struct cay_ultra_status) */
	struct cay_addr peer; /* zeros: no origin has connected */
	uint16_t upid, peer_upid;
	uint32_t slice_bytes, slices;
	uint64_t position; /* messages sent, or received */
	/* Origin: messages that the target has returned, which it does lazily.
	 */
	uint64_t returned;
	uint32_t target;    /* 1: this is the target's end */
	uint32_t connected; /* 1 */
	uint32_t gone;	    /* 1: the other end is closed or has exited */
	/* Target: 1: cay_poll() has reached CAY_EVENT_GONE of the peer. */
	uint32_t gone_held;
};

/* Returns 0, -EINVAL, -EACCES or -ECHILD. Does not block. */
CAY_API int cay_ultra_status(
	const struct cay_ultra *, struct cay_ultra_status *);

/*
 * Closes this end. The target still receives what was sent. Returns 0 or
 * -ECHILD. NULL is allowed. cay_port_close() closes the paths of its port.
 * Consuming thread.
 */
CAY_API int cay_ultra_close(struct cay_ultra *);

#ifdef __cplusplus
}
#endif

#endif
