/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two-sided messages, and the events of a port. See cay_send(3), cay_poll(3).
 */
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
	CAY_NOTIFY = 1 << 0,	 /* completion when the source is reusable */
	CAY_FREE_ORDER = 1 << 1, /* may be reordered */
	CAY_FENCE = 1 << 2,	 /* start after all earlier operations */
	CAY_INTERRUPT = 1 << 3,	 /* ring the doorbell of the target */
	CAY_PRIORITY = 1 << 4,	 /* may use the reserved part of the NQ */
	CAY_ACK = 1 << 5,	 /* completion when stored at the target */
	CAY_BORROW = 1 << 6,	 /* messages: zero copy, with a completion */
};

/*
 * Longest eager message, in bytes: it is stored in the notification or the
 * receive data region of the target. A longer one is a long message.
 */
#define CAY_EAGER_MAX 8192

/*
 * Sends a message. When it returns 0 the source is reusable, whatever the
 * length, and no event follows unless CAY_NOTIFY or CAY_ACK requests one: up to
 * 40 bytes travel inline in the notification, up to CAY_EAGER_MAX bytes through
 * the receive data region of the target, and a long message is copied once into
 * the arena, where the target reads it in place. A port may have 64 such copies
 * in flight, of 64 MiB together, or one of any length.
 *
 * With CAY_BORROW a long message is sent by reference, without that copy where
 * possible. The source must not change until the CAY_EVENT_COMPLETE with this
 * tag, which is then delivered for every length.
 *
 * Returns 0, or -EAGAIN (a queue is full, or a limit is reached: poll and
 * retry), -EPIPE (the peer is gone), -EINVAL (flags, or no peer of this port),
 * -EMSGSIZE (the arena or a quota could never hold it), -EFAULT (NULL with a
 * length),
 * -ENOBUFS (too many threads), -ENOTCONN (a long message needs the node, which
 * has exited), -ENOMEM, -EACCES (the port is disabled), -ECHILD. Never blocks;
 * enters the kernel only to wake a sleeping receiver or, for a long message, to
 * allocate memory for it. Thread-safe.
 */
CAY_API int cay_send(struct cay_port *, struct cay_peer *, uint64_t tag,
	const void *data, size_t length, unsigned flags);

/* As cay_send(), with a 32-bit tag that arrives as cay_event.api_tag. */
CAY_API int cay_send_tagged(struct cay_port *, struct cay_peer *, uint64_t tag,
	uint32_t api_tag, const void *data, size_t length, unsigned flags);

/* As above, gathering the message from `count` buffers. */
CAY_API int cay_sendv(struct cay_port *, struct cay_peer *, uint64_t tag,
	const struct iovec *, int count, unsigned flags);
CAY_API int cay_sendv_tagged(struct cay_port *, struct cay_peer *, uint64_t tag,
	uint32_t api_tag, const struct iovec *, int count, unsigned flags);

/*
 * Hints that more messages to the peer will follow: gets a later entry of its
 * queue into the cache. Call it before each message of a sequence that is sent
 * without waiting for the peer; before a message that waits for a reply it does
 * harm. The handles must be valid. Does not block. Thread-safe.
 */
CAY_API void cay_send_prefetch(struct cay_port *, struct cay_peer *);

/*
 * As cay_send(), but blocks while a queue is full: returns -ETIMEDOUT after the
 * deadline (-EAGAIN if the deadline is 0), or -EINTR (a signal handler ran).
 */
CAY_API int cay_send_wait(struct cay_port *, struct cay_peer *, uint64_t tag,
	const void *data, size_t length, unsigned flags, uint64_t deadline);

/* A message of a burst. */
struct cay_message {
	uint64_t tag;
	const void *data;
	size_t length;
	uint32_t api_tag; /* as that of cay_send_tagged() */
	unsigned flags;	  /* as those of cay_send() */
};

/*
 * Sends `count` messages to one peer, in order, each as cay_send_tagged() does.
 * Successive messages of up to 40 bytes without flags, up to 64 of them, share
 * one claim of the target's queue and one wake-up.
 *
 * Returns how many messages were sent, from the first on: less than `count` if
 * the next one failed, which a call that begins with it reports. Returns the
 * error of cay_send() if the first one failed (-EAGAIN if a queue is full), or
 * -EINVAL (count is negative, or no messages). The sources of the messages that
 * were sent are reusable, unless sent with CAY_BORROW. Never blocks.
 * Thread-safe.
 */
CAY_API int cay_send_burst(struct cay_port *, struct cay_peer *,
	const struct cay_message *, int count);

enum cay_event_kind {
	CAY_EVENT_NONE = 0,
	CAY_EVENT_MESSAGE = 1,	/* message: tag, api_tag, data, length */
	CAY_EVENT_COMPLETE = 2, /* completion: tag, command, error */
	CAY_EVENT_GONE = 3,	/* last event of a peer; see cay_port_close() */
	CAY_EVENT_STATUS = 4,	/* snapshot: result is W, previous is R */
	CAY_EVENT_ACCESS = 5,	/* window access: window, offset, command */
	CAY_EVENT_POSTED = 6,	/* message in a posted receive */
	CAY_EVENT_RESOLVED = 7, /* end of cay_peer_resolve_start(): handle */
	CAY_EVENT_ULTRA = 8,	/* message of an ULTRA path; cay_ultra_send() */
};

/*
 * `data` is not a copy; it is valid until the event is released. If the port
 * has resolved the peer more than once, `handle` is the oldest that is not
 * released; GONE names each handle once. Else `handle` is NULL.
 */
struct cay_event {
	enum cay_event_kind kind;
	int error; /* 0, or enum cay_error */
	struct cay_addr peer;
	uint64_t tag;
	uint32_t api_tag;
	uint16_t command; /* of the completed request */
	const void *data;
	size_t length;
	/*
	 * COMPLETE of an atomic: see cay_fetch_add(). ACCESS with an error:
	 * result counts refusals since the last such event. POSTED: result is
	 * the cookie, previous the length of the message as sent. ULTRA: result
	 * is the position of the message on its path, command the enum
	 * cay_ultra_flag that requested the event, window the UPID. MESSAGE
	 * without data: result names it for cay_event_fetch().
	 */
	uint64_t result, previous;
	uint32_t window; /* Win-ID: ACCESS, COMPLETE of a put or get */
	uint64_t offset;
	uint64_t position;	 /* NQ position, for cay_release() */
	struct cay_peer *handle; /* of `peer`, if the port has resolved it */
};

/*
 * Takes up to `max` events from the notification queue, and executes emulated
 * accesses of peers. Returns the number of events, or -EINVAL, -ENOMEM (no
 * memory for the queues or a long message: retry), -EACCES (the port is
 * disabled), -ECHILD. Does not block. Consuming thread.
 */
CAY_API int cay_poll(struct cay_port *, struct cay_event *, int max);

/*
 * Returns the queue entry and payload of an event to senders. Events may be
 * released in any order, each exactly once. Never blocks. Consuming thread.
 */
CAY_API void cay_release(struct cay_port *, const struct cay_event *);

/*
 * Releases several events, as cay_release() of each, at a fraction of the cost
 * if they are in the order of cay_poll(). No effect if count is not positive.
 */
CAY_API void cay_release_burst(
	struct cay_port *, const struct cay_event *events, int count);

/*
 * Copies up to `size` bytes of the message of an event into a buffer. On a port
 * with CAY_PORT_FETCH a message of more than CAY_EAGER_MAX bytes that was sent
 * with CAY_BORROW arrives without them: `error` is 0 and `data` is NULL.
 * This call fetches such a message and ends it, once, before or after the event
 * was released; a copy of the event names it, too. The rest of a longer message
 * is dropped, so that a size of 0 drops all of it. The sender helps while it
 * polls, waits or flushes. For a message with `data` the event must not be
 * released yet.
 *
 * Returns 0, or -EINVAL (not the event of a message of this port, or one that
 * was fetched before), -EPIPE (the sender is gone, and its memory), -EREMOTEIO
 * (its memory cannot be read): the message has ended; or -EFAULT (NULL with a
 * size, or a buffer that the kernel cannot write; one that the library writes
 * raises SIGSEGV): it can be fetched again; -EACCES, -ECHILD.
 * Blocks no longer than the copy takes. Consuming thread.
 */
CAY_API int cay_event_fetch(
	struct cay_port *, const struct cay_event *, void *, size_t size);

/*
 * Sends a message to the peer of an event that is not released yet, as
 * cay_send() does. If the port has not resolved the peer, it is resolved first,
 * which blocks for a reply of the node, once for each peer. The port owns that
 * handle: later events contain it, and it is valid until its CAY_EVENT_GONE is
 * released or the port is closed.
 *
 * Returns as cay_send(), or -EPIPE (also if the peer is gone and was never
 * resolved), -EINVAL (an event without a peer), -ENOSPC (the peer table is
 * full), -EHOSTUNREACH (another node). Consuming thread.
 */
CAY_API int cay_reply(struct cay_port *, const struct cay_event *, uint64_t tag,
	const void *data, size_t length, unsigned flags);

/*
 * Waits for an event: spins briefly, then sleeps. Returns 0 if there is an
 * event to poll, or -ETIMEDOUT, -EAGAIN (the deadline is 0), -EINTR (a signal
 * handler ran), -ENOTCONN (the node has closed the port), -ENOMEM, -EACCES (the
 * port is disabled), -ECHILD. Consuming thread.
 */
CAY_API int cay_wait(struct cay_port *, uint64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
