/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on ULTRA paths; see cay_ultra(3). */
#include "port/ultra.h"

#include <errno.h>

#include "base/bits.h"
#include "port/record.h"

#define ULTRA_FLAGS (CAY_NOTIFY | CAY_ACK | CAY_INTERRUPT)

/* ---- the origin ---- */

/* A message was stored while the page had other flags than ENABLED. */
__attribute__((cold, noinline)) static int send_attend(struct cay_ultra *u)
{
	uint64_t flags = ultra_flags(u);
	if (flags & ULTRA_TARGET_GONE)
		return -EPIPE;
	uint32_t sleeps = (uint32_t)(flags >> ULTRA_SLEEPS_SHIFT);
	if (flags & ULTRA_ASLEEP && sleeps != u->woken) {
		u->woken = sleeps;
		ultra_wake_peer(u, false);
	}
	return 0;
}

/* All slices are in use. Lets cay_wait() return when one is free. */
static int send_refused(struct cay_ultra *u)
{
	if (ultra_flags(u) & ULTRA_TARGET_GONE)
		return -EPIPE;
	/* Once for each wait, however often messages are refused. */
	if (!atomic_exchange_explicit(
		    &u->wants_room, true, memory_order_relaxed))
		ultra_call_back(u);
	port_count(&u->port->origin.refused);
	return -EAGAIN;
}

/* Returns the result of a call for that of device_ultra_inject(). */
static int send_result(struct cay_ultra *u, int r)
{
	return r == 1 ? send_attend(u) : r == -EAGAIN ? send_refused(u) : r;
}

/* Reserves the events, so that they find room in the port's queue. */
static int send_notified(struct cay_ultra *u, uint64_t tag, const void *data,
	size_t length, unsigned flags)
{
	struct cay_port *port = u->port;
	struct op_record *op = record_of(port->member);
	if (!op)
		return -ENOBUFS;
	const struct ultra_ack message = { atomic_load_explicit(&u->out.sent,
						   memory_order_relaxed),
		tag, (uint32_t)length };
	unsigned events = !!(flags & CAY_NOTIFY) + !!(flags & CAY_ACK);
	unsigned reserved = 0;
	while (reserved < events && device_reserve_completion(&port->origin))
		reserved++;
	int r = flags & CAY_ACK ? ultra_ack_prepare(u) : 0;
	if (r)
		goto out;
	r = -EAGAIN;
	if (reserved < events) {
		port_count(&port->origin.refused);
		goto out;
	}
	r = device_ultra_inject(&u->out, tag, data, length,
		(flags & CAY_NOTIFY ? CAY_ULTRA_NOTIFY : 0) |
			(flags & CAY_ACK ? CAY_ULTRA_ACK : 0) |
			(flags & CAY_INTERRUPT ? CAY_ULTRA_IRQ : 0));
	r = send_result(u, r);
	if (flags & CAY_NOTIFY && (r == 0 || r == -EAGAIN)) {
		ultra_event(u, op, &message, CAY_ULTRA_NOTIFY,
			r ? CAY_ERROR_NO_RESOURCES : CAY_ERROR_NONE);
		reserved--;
	}
	if (flags & CAY_ACK && r == 0) {
		r = ultra_ack_add(u, op, &message);
		reserved -= r == 0;
	}
	if (flags & CAY_INTERRUPT && r == 0)
		ultra_wake_peer(u, true);
out:
	if (reserved)
		device_completions_returned(&port->origin, reserved);
	return r;
}

/* More than 48 bytes, flags, a full path, or invalid arguments. */
__attribute__((cold, noinline)) static int send_other(struct cay_ultra *u,
	uint64_t tag, const void *data, size_t length, unsigned flags)
{
	if (!u)
		return -EINVAL;
	if (!port_valid(u->port))
		return port_error(u->port);
	if (u->target || u->setup || flags & ~(unsigned)ULTRA_FLAGS)
		return -EINVAL;
	if (length > ultra_payload_max(&u->out.next))
		return -EMSGSIZE;
	if (!data && length)
		return -EFAULT;
	if (flags)
		return send_notified(u, tag, data, length, flags);
	return send_result(
		u, device_ultra_inject(&u->out, tag, data, length, 0));
}

int cay_ultra_send(struct cay_ultra *u, uint64_t tag, const void *data,
	size_t length, unsigned flags)
{
	if (unlikely(!u || !port_valid(u->port) || flags ||
		     length >= u->line_end || (!data && length) ||
		     ultra_full(&u->out)))
		return send_other(u, tag, data, length, flags);
	if (unlikely(!device_ultra_inject_line(&u->out, tag, data, length)))
		return send_attend(u);
	return 0;
}

/* ---- the target ---- */

/* Returns the error of a handle that cannot receive, or 0. */
static int recv_error(const struct cay_ultra *u)
{
	if (!u)
		return -EINVAL;
	if (!port_valid(u->port))
		return port_error(u->port);
	return u->target && !u->setup ? 0 : -EINVAL;
}

/* No message (r is 0), or a damaged one. Has the origin gone? */
static int recv_nothing(struct cay_ultra *u, int r)
{
	struct ultra_message m;
	if (r == 0 && !(ultra_flags(u) & ULTRA_ORIGIN_GONE))
		return -EAGAIN;
	/* Acquire above: whatever it has sent is visible now. */
	if (r == 0)
		r = device_ultra_peek(&u->in, &m);
	if (r > 0)
		return -EAGAIN;
	atomic_store_explicit(&u->ended, true, memory_order_relaxed);
	return r ? r : -EPIPE;
}

/*
 * All but a message that needs nothing else; r is the result of
 * device_ultra_receive().
 */
__attribute__((cold, noinline)) static int recv_other(
	struct cay_ultra *u, int r)
{
	if (r >= 0) {
		ultra_wake_peer(u, false);
		return r & ~ULTRA_WAKE;
	}
	return r == -EMSGSIZE ? r : recv_nothing(u, r == -EAGAIN ? 0 : r);
}

/* Several consuming threads, or invalid arguments. */
__attribute__((cold, noinline)) static int recv_shared(
	struct cay_ultra *u, uint64_t *tag, void *buffer, size_t size)
{
	int r = recv_error(u);
	if (r)
		return r;
	port_consume_begin(u->port);
	r = device_ultra_receive(&u->in, tag, buffer, size);
	if ((unsigned)r >= ULTRA_WAKE)
		r = recv_other(u, r);
	port_consume_end(u->port);
	return r;
}

int cay_ultra_recv(
	struct cay_ultra *u, uint64_t *tag, void *buffer, size_t size)
{
	if (unlikely(!buffer && size))
		return -EFAULT;
	if (unlikely(!u || !port_valid(u->port) || !u->alone))
		return recv_shared(u, tag, buffer, size);
	int r = device_ultra_receive(&u->in, tag, buffer, size);
	if (likely((unsigned)r < ULTRA_WAKE))
		return r;
	/* The loop that waits for a message. */
	if (r == -EAGAIN && likely(!(ultra_flags(u) & ULTRA_ORIGIN_GONE)))
		return r;
	return recv_other(u, r);
}

static inline int peek_message(
	struct cay_ultra *u, uint64_t *tag, const void **data)
{
	struct ultra_message m;
	int r = device_ultra_peek(&u->in, &m);
	u->peeked = r > 0;
	if (r <= 0)
		return recv_nothing(u, r);
	u->peeked_flags = m.flags;
	if (tag)
		*tag = m.tag;
	*data = m.data;
	return (int)m.length;
}

/* Several consuming threads, or invalid arguments. */
__attribute__((cold, noinline)) static int peek_shared(
	struct cay_ultra *u, uint64_t *tag, const void **data)
{
	int r = recv_error(u);
	if (r)
		return r;
	port_consume_begin(u->port);
	r = peek_message(u, tag, data);
	port_consume_end(u->port);
	return r;
}

int cay_ultra_peek(struct cay_ultra *u, uint64_t *tag, const void **data)
{
	if (unlikely(!data))
		return -EFAULT;
	if (unlikely(!u || !port_valid(u->port) || !u->alone))
		return peek_shared(u, tag, data);
	return peek_message(u, tag, data);
}

void cay_ultra_release(struct cay_ultra *u)
{
	if (unlikely(!u || !u->target || !port_valid(u->port) || !u->peeked))
		return;
	u->peeked = false;
	port_consume_begin(u->port);
	bool wake = device_ultra_take(&u->in, u->peeked_flags);
	port_consume_end(u->port);
	if (unlikely(wake))
		ultra_wake_peer(u, false);
}

/* ---- both ---- */

int cay_ultra_status(const struct cay_ultra *u, struct cay_ultra_status *out)
{
	if (!u || u->setup || !out || out->size < sizeof(*out))
		return -EINVAL;
	if (!port_valid(u->port))
		return port_error(u->port);
	const struct ultra_cursor *c = u->target ? &u->in.next : &u->out.next;
	const struct ultra_return_page *page = u->page;
	uint64_t flags = ultra_flags(u);
	bool connected = !u->target || flags & ULTRA_ENABLED;
	*out = (struct cay_ultra_status){ .size = sizeof(*out),
		.upid = u->upid,
		.slice_bytes = c->slice_bytes,
		.slices = c->slices,
		.position = atomic_load_explicit(
			u->target ? &u->in.position : &u->out.sent,
			memory_order_relaxed),
		.returned = u->target ? u->in.returned
				      : device_ultra_returned(&u->out),
		.target = u->target,
		.connected = connected,
		.gone = !!(flags &
			   (u->target ? ULTRA_ORIGIN_GONE : ULTRA_TARGET_GONE)),
		.gone_held = u->target && ultra_held(u) };
	if (connected) {
		out->peer.node = u->port->origin.node;
		out->peer.vpid = u->target ? page->config.origin_vpid
					   : u->peer_vpid;
		out->peer_upid = u->target ? page->config.origin_upid
					   : u->peer_upid;
	}
	return 0;
}
