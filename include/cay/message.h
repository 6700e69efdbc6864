/* SPDX-License-Identifier: BSD-2-Clause */
/* Two-sided messages and the events of a port. See cay_send(3), cay_poll(3). */
#ifndef CAY_MESSAGE_H
#define CAY_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cay/peer.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cay_flag {
	CAY_NOTIFY = 1 << 0,	 /* an event when the source may be reused */
	CAY_FREE_ORDER = 1 << 1, /* may overtake and be overtaken */
	CAY_FENCE = 1 << 2,	 /* only after all before it are complete */
	CAY_INTERRUPT = 1 << 3,	 /* ring the target's descriptor in any case */
	CAY_PRIORITY = 1 << 4,	 /* may use room kept from ordinary messages */
	CAY_ACK = 1 << 5,	 /* an event when it is stored at the target */
};

/* Messages up to this length are copied when the call returns. */
#define CAY_EAGER_MAX 8192

/*
 * Sends a message. Up to 40 bytes travel in the notification, more through the
 * target's receive data region; a long message (more than CAY_EAGER_MAX) stays
 * where it is until the target has taken it, and then CAY_NOTIFY is implied:
 * the source must not change until the event CAY_EVENT_COMPLETE with the same
 * tag.
 *
 * Any thread; never blocks, enters the kernel only to wake a sleeper or for a
 * long message. 0, or -EAGAIN (no room: poll, try again), -EPIPE (the peer is
 * gone), -EINVAL (flags), -EMSGSIZE, -EFAULT (NULL with a length), -ENOBUFS
 * (too many threads), -ENOTCONN (a long message needs the node, which is gone),
 * -ENOMEM, -ECHILD.
 */
CAY_API int cay_send(struct cay_port *, struct cay_peer *, uint64_t tag,
	const void *data, size_t length, unsigned flags);

/* The same with the 32-bit API tag, which arrives as cay_event.api_tag. */
CAY_API int cay_send_tagged(struct cay_port *, struct cay_peer *, uint64_t tag,
	uint32_t api_tag, const void *data, size_t length, unsigned flags);

/* The same, gathered from several places. */
CAY_API int cay_sendv(struct cay_port *, struct cay_peer *, uint64_t tag,
	const struct iovec *, int count, unsigned flags);
CAY_API int cay_sendv_tagged(struct cay_port *, struct cay_peer *, uint64_t tag,
	uint32_t api_tag, const struct iovec *, int count, unsigned flags);

/*
 * As cay_send(), but waits for room: -ETIMEDOUT instead of -EAGAIN unless the
 * deadline is 0. Also -EINTR (a signal handler ran).
 */
CAY_API int cay_send_wait(struct cay_port *, struct cay_peer *, uint64_t tag,
	const void *data, size_t length, unsigned flags, uint64_t deadline);

enum cay_event_kind {
	CAY_EVENT_NONE = 0,
	CAY_EVENT_MESSAGE = 1,	/* from peer: tag, api_tag, data, length */
	CAY_EVENT_COMPLETE = 2, /* of a request of ours: tag, command, error */
	CAY_EVENT_GONE = 3,	/* a resolved peer is gone; its last event */
	CAY_EVENT_STATUS = 4, /* a pointer snapshot: result is W, previous R */
	CAY_EVENT_ACCESS = 5, /* of a window: window, offset, length, command */
	CAY_EVENT_POSTED = 6, /* a message in a posted buffer: result: cookie */
};

/* In place: what `data` points at is valid until the event is released. */
struct cay_event {
	enum cay_event_kind kind;
	int error; /* 0, or enum cay_error */
	struct cay_addr peer;
	uint64_t tag;
	uint32_t api_tag;
	uint16_t command; /* of the instruction that completed */
	const void *data;
	size_t length;
	/*
	 * COMPLETE of an atomic: as cay_fetch_add() says. ACCESS with an error:
	 * result is how many were refused since the last such event. POSTED:
	 * result is the cookie, previous the length that was sent.
	 */
	uint64_t result, previous;
	uint32_t window; /* COMPLETE of a put or get to memory, and ACCESS */
	uint64_t offset;
	uint64_t position; /* of the notification; cay_release() needs it */
};

/*
 * Fills up to max events. The consuming thread; does not block. The count, or
 * -EINVAL, -ENOMEM (queues or a long message found no memory: try again),
 * -ECHILD.
 */
CAY_API int cay_poll(struct cay_port *, struct cay_event *, int max);

/*
 * Gives an event's room back, in any order; each exactly once. The consuming
 * thread; never blocks.
 */
CAY_API void cay_release(struct cay_port *, const struct cay_event *);

/*
 * Spins briefly, then sleeps. 0: something to poll. Or -ETIMEDOUT, -EAGAIN
 * (the deadline is 0), -EINTR (a signal handler ran), -ENOTCONN (the node has
 * given the port up), -ENOMEM, -ECHILD.
 */
CAY_API int cay_wait(struct cay_port *, uint64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
