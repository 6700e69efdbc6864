/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending. The hot half is cay_send() up to 40 bytes without flags: fork
 * check, thread record, device. Any thread; see cay_send(3).
 */
#include <errno.h>
#include <limits.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/futex.h"
#include "port/issue.h"
#include "port/outgoing.h"

CAY_STATIC_ASSERT((int)CAY_NOTIFY == CAY_VCI_NOTIFY &&
			  (int)CAY_FREE_ORDER == CAY_VCI_FREE_ORDER &&
			  (int)CAY_FENCE == CAY_VCI_FENCE &&
			  (int)CAY_INTERRUPT == CAY_VCI_INTERRUPT &&
			  (int)CAY_PRIORITY == CAY_VCI_PRIORITY,
	"the flags of calls are those of VCIs");

__attribute__((cold)) void issue_take_up(
	struct cay_port *port, struct op_record *op)
{
	record_leave(port->member, op);
	atomic_store_explicit(
		&op->port, port->origin.vpid, memory_order_relaxed);
}

static int pieces_check(
	const struct iovec *pieces, uint32_t count, uint64_t *length)
{
	*length = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!pieces[i].iov_base && pieces[i].iov_len)
			return -EFAULT;
		if (pieces[i].iov_len > ISSUE_BYTES_MAX - *length)
			return -EMSGSIZE;
		*length += pieces[i].iov_len;
	}
	return 0;
}

/* Every size and flag. */
static int send_pieces(struct cay_port *port, struct cay_peer *peer,
	struct packet *p, unsigned flags)
{
	int r = pieces_check(p->payload, p->pieces, &p->length);
	if (r)
		return r;
	if (flags & ~(unsigned)ISSUE_FLAGS)
		return -EINVAL;
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	p->origin_vpid = port->origin.vpid;
	p->origin_node = port->origin.node;
	p->flags = (uint8_t)(flags & CAY_VCI_FLAGS);
	p->command = p->length <= CAY_FAST_SEND_BYTES
			     ? (uint16_t)(CAY_FAST_SEND | (p->length + 7) / 8)
			     : CAY_SEND;
	if (flags & CAY_ACK)
		p->command |= CAY_COMMAND_ACK;
	/* The end of a long one is always told, however it travels. */
	if (p->length > QUEUE_PAYLOAD_MAX)
		p->flags |= CAY_VCI_NOTIFY;
	r = device_send(&port->origin, op, &peer->context, p);
	if (r == -E2BIG)
		r = outgoing_send(port, op, peer, p);
	return issue_done(port, op, r);
}

/* Long, flagged or wrong: everything but the hot path. */
__attribute__((cold, noinline)) static int send_other(struct cay_port *port,
	struct cay_peer *peer, uint64_t tag, uint32_t api_tag, const void *data,
	size_t length, unsigned flags)
{
	struct iovec piece = { (void *)data, length };
	struct packet p = {
		.tag = tag, .api_tag = api_tag, .pieces = 1, .payload = &piece
	};
	if (!port_here(port))
		return port_absent(port);
	return send_pieces(port, peer, &p, flags);
}

static inline int send_one(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, uint32_t api_tag, const void *data, size_t length,
	unsigned flags)
{
	if (unlikely(!port_here(port) || flags ||
		     length > CAY_FAST_SEND_BYTES || (!data && length)))
		return send_other(
			port, peer, tag, api_tag, data, length, flags);
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	return issue_done(port, op,
		device_send_fast(&port->origin, op, &peer->context, tag,
			api_tag, data, length));
}

int cay_send_tagged(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	uint32_t api_tag, const void *data, size_t length, unsigned flags)
{
	return send_one(port, peer, tag, api_tag, data, length, flags);
}

int cay_send(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length, unsigned flags)
{
	return send_one(port, peer, tag, 0, data, length, flags);
}

int cay_sendv_tagged(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	uint32_t api_tag, const struct iovec *pieces, int count, unsigned flags)
{
	if (unlikely(!port_here(port)))
		return port_absent(port);
	if (count < 0 || count > IOV_MAX || (count && !pieces))
		return -EINVAL;
	struct packet p = { .tag = tag,
		.api_tag = api_tag,
		.pieces = (uint32_t)count,
		.payload = pieces };
	return send_pieces(port, peer, &p, flags);
}

int cay_sendv(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const struct iovec *pieces, int count, unsigned flags)
{
	return cay_sendv_tagged(port, peer, tag, 0, pieces, count, flags);
}

/*
 * Sleeps until the target gives room back. WAITERS is set in the word that the
 * target swaps when it does, so the swap finds it, or we find the room.
 */
static int room_wait(struct cay_peer *peer, uint64_t seen, uint64_t deadline)
{
	struct context *to =
		atomic_load_explicit(&peer->context, memory_order_acquire);
	/* acq_rel pairs with N5 in device/notify.c. */
	uint64_t r = atomic_fetch_or_explicit(
		&to->control->r, R_WAITERS, memory_order_acq_rel);
	if ((r & ~R_WAITERS) != (seen & ~R_WAITERS) || r & R_CLOSED)
		return 0;
	/*
	 * Not for ever: what is full may be ourselves, or the arena; and room
	 * that is payload alone does not show in the half that we watch.
	 */
	uint64_t nap = clock_after_ns(10 * CLOCK_NS_PER_MS);
	int e = futex_wait_lower(
		&to->control->r, r | R_WAITERS, bits_min(nap, deadline));
	return e == -EINTR ? e : 0;
}

int cay_send_wait(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length, unsigned flags, uint64_t deadline)
{
	for (;;) {
		struct context *to = atomic_load_explicit(
			&peer->context, memory_order_acquire);
		if (unlikely(!port_here(port)))
			return port_absent(port);
		uint64_t seen = atomic_load_explicit(
			&to->control->r, memory_order_acquire);
		int r = cay_send(port, peer, tag, data, length, flags);
		if (r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		r = room_wait(peer, seen, deadline);
		if (r)
			return r;
	}
}
