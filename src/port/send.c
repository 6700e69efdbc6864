/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending; see cay_send(3). Any thread. The hot paths are up to 40 bytes and up
 * to 8 KiB without flags: device_send_fast(), device_send_eager(). Longer ones
 * are copied (copied.c), or borrowed by send_borrowed().
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/futex.h"
#include "port/cocopy.h"
#include "port/copied.h"
#include "port/heap.h"
#include "port/issue.h"
#include "port/lock.h"
#include "port/pending.h"

CAY_STATIC_ASSERT((int)CAY_NOTIFY == CAY_VCI_NOTIFY &&
			  (int)CAY_FREE_ORDER == CAY_VCI_FREE_ORDER &&
			  (int)CAY_FENCE == CAY_VCI_FENCE &&
			  (int)CAY_INTERRUPT == CAY_VCI_INTERRUPT &&
			  (int)CAY_PRIORITY == CAY_VCI_PRIORITY,
	"the flags of calls are those of VCIs");

#define SEND_FLAGS (ISSUE_FLAGS | CAY_BORROW)

/*
 * Up to this length two copies through staging memory take less time than one
 * by the kernel, which also has to find and pin each page.
 */
#define SEND_STAGED_MAX (256ull << 10)

/* ---- borrowed long messages ---- */

/* Copies the message into staging memory. Returns NULL if there is none. */
static void *send_stage(
	struct cay_port *port, struct cay_peer *peer, const struct packet *p)
{
	struct context *to =
		atomic_load_explicit(&peer->context, memory_order_acquire);
	unsigned char *memory = staging_alloc(port->member, p->length);
	if (!memory) {
		copied_evict(port);
		memory = staging_alloc(port->member, p->length);
	}
	unsigned char *at = memory;
	for (uint32_t i = 0; memory && i < p->pieces; i++) {
		if (p->payload[i].iov_len)
			copy_to_reader(&to->pace, at, p->payload[i].iov_base,
				p->payload[i].iov_len);
		at += p->payload[i].iov_len;
	}
	return memory;
}

/*
 * Sends a reference. The target reads cay_alloc() memory in place. Ordinary
 * memory is staged in the arena if it is short, or if no probe has shown that
 * the kernel lets the target copy it out of this process.
 */
static int send_borrowed(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	const void *data = p->payload[0].iov_base;
	uint8_t bulk = atomic_load_explicit(&peer->bulk, memory_order_relaxed);
	_Atomic uint64_t *counter = &port->count.mapped;
	struct reference ref = { .kind = REFERENCE_ARENA, .length = p->length };
	struct packet out = *p;
	struct lock_guard guard;

	out.command = CAY_SEND | (p->command & CAY_COMMAND_ACK);
	struct pending pending = { .tag = p->tag,
		.api_tag = p->api_tag,
		.peer = peer,
		.length = p->length,
		.command = out.command };
	/* A longjmp out of a signal handler would leak the staging memory. */
	lock_guard_begin(&guard);
	int r = pending_prepare(port);
	if (r)
		goto out;
	if (p->pieces != 1 ||
		!heap_contains(port->member, data, p->length, &ref.address)) {
		bool process = p->pieces == 1 && bulk == BULK_PROCESS;
		ref.pid = (uint32_t)getpid();
		ref.cookie = *process_cookie();
		ref.cookie_address = (uint64_t)(uintptr_t)process_cookie();
		ref.flags = bulk == BULK_UNKNOWN ? REFERENCE_PROBE : 0;
		if ((!process || p->length <= SEND_STAGED_MAX) &&
			p->length <= port->member->block_bytes_max)
			pending.staged = send_stage(port, peer, p);
		counter = &port->count.staged;
		if (pending.staged) {
			ref.address =
				(uint64_t)((unsigned char *)pending.staged -
					   port->member->arena.base);
		} else if (process) {
			ref.kind = REFERENCE_PROCESS;
			ref.address = (uint64_t)(uintptr_t)data;
			pending.source = data;
			cocopy_prepare(port);
			counter = &port->count.process;
		} else {
			r = p->length > port->member->block_bytes_max
				    ? -EMSGSIZE
			    : member_node_alive(port->member) ? -EAGAIN
							      : -ENOTCONN;
			goto out;
		}
	}
	r = pending_issue(port, op, &out, &ref, &pending);
	if (r == 0)
		port_count(counter);
	else if (pending.staged)
		staging_free(port->member, pending.staged);
out:
	lock_guard_end(&guard);
	return r;
}

/* ---- messages of every size, with any flags ---- */

static int send_pieces(struct cay_port *port, struct cay_peer *peer,
	struct packet *p, unsigned flags)
{
	p->length = 0;
	for (uint32_t i = 0; i < p->pieces; i++) {
		if (!p->payload[i].iov_base && p->payload[i].iov_len)
			return -EFAULT;
		if (p->payload[i].iov_len > ISSUE_BYTES_MAX - p->length)
			return -EMSGSIZE;
		p->length += p->payload[i].iov_len;
	}
	if (!port_has_peer(port, peer) || flags & ~(unsigned)SEND_FLAGS)
		return -EINVAL;
	struct op_record *op = issue_record(port);
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
	/*
	 * A borrowed message always completes with an event, even if the device
	 * can store it in the target's RDR or a posted receive.
	 */
	if (flags & CAY_BORROW)
		p->flags |= CAY_VCI_NOTIFY;
	int r = device_send(&port->origin, op, &peer->context, p);
	if (r == -E2BIG)
		r = flags & CAY_BORROW ? send_borrowed(port, op, peer, p)
				       : copied_send(port, op, peer, p);
	return issue_done(port, op, r);
}

/* More than 8 KiB, flags, another op record, or invalid arguments. */
__attribute__((cold, noinline)) static int send_other(struct cay_port *port,
	struct cay_peer *peer, uint64_t tag, uint32_t api_tag, const void *data,
	size_t length, unsigned flags)
{
	struct iovec piece = { (void *)data, length };
	struct packet p = {
		.tag = tag, .api_tag = api_tag, .pieces = 1, .payload = &piece
	};
	if (!port_valid(port))
		return port_error(port);
	return send_pieces(port, peer, &p, flags);
}

/* ---- up to 8 KiB without flags ---- */

/*
 * Returns the op record if nothing but device_send_fast() or
 * device_send_eager() remains to be done, which then needs no stack frame of
 * its caller; otherwise NULL. Of the length only 0 is examined.
 */
static inline struct op_record *send_plain_record(const struct cay_port *port,
	const struct cay_peer *peer, const void *data, size_t length,
	unsigned flags)
{
	return likely(port_valid(port) && port_has_peer(port, peer) && !flags &&
		       (data || !length))
		       ? issue_record_cached(port)
		       : NULL;
}

int cay_send_tagged(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	uint32_t api_tag, const void *data, size_t length, unsigned flags)
{
	struct op_record *op =
		send_plain_record(port, peer, data, length, flags);
	if (unlikely(!op || length > CAY_FAST_SEND_BYTES)) {
		if (op && length <= QUEUE_PAYLOAD_MAX)
			return device_send_eager_tagged(&port->origin,
				&peer->context, tag, api_tag, data, length, op);
		return send_other(
			port, peer, tag, api_tag, data, length, flags);
	}
	return device_send_fast_tagged(
		&port->origin, &peer->context, tag, api_tag, data, length, op);
}

int cay_send(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length, unsigned flags)
{
	struct op_record *op =
		send_plain_record(port, peer, data, length, flags);
	if (unlikely(!op || length > CAY_FAST_SEND_BYTES)) {
		if (op && length <= QUEUE_PAYLOAD_MAX)
			return device_send_eager(&port->origin, &peer->context,
				tag, data, length, op);
		return send_other(port, peer, tag, 0, data, length, flags);
	}
	return device_send_fast(
		&port->origin, &peer->context, tag, data, length, op);
}

int cay_sendv_tagged(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	uint32_t api_tag, const struct iovec *pieces, int count, unsigned flags)
{
	if (unlikely(!port_valid(port)))
		return port_error(port);
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

/* Far enough that the target does not poll it yet. */
#define PREFETCH_AHEAD 3

void cay_send_prefetch(struct cay_port *port, struct cay_peer *peer)
{
	const struct context *to =
		atomic_load_explicit(&peer->context, memory_order_acquire);
	/* Relaxed: others may claim entries at any time. */
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_relaxed);
	(void)port;
	prefetch_for_write(device_entry(to, queue_nq(w) + PREFETCH_AHEAD));
}

/* ---- bursts ---- */

/*
 * Returns how many messages from the first on, up to the size of a claim, have
 * up to 40 bytes and no flags.
 */
static inline uint32_t burst_run(const struct cay_message *m, size_t count)
{
	uint32_t i = 0, max = (uint32_t)bits_min(count, QUEUE_CLAIM_MAX);
	while (i < max && !m[i].flags && m[i].length <= CAY_FAST_SEND_BYTES &&
		(m[i].data || !m[i].length))
		i++;
	return i;
}

int cay_send_burst(struct cay_port *port, struct cay_peer *peer,
	const struct cay_message *messages, int count)
{
	if (unlikely(!port_valid(port)))
		return port_error(port);
	if (unlikely(!port_has_peer(port, peer) || count <= 0 || !messages))
		return port_has_peer(port, peer) && count == 0 ? 0 : -EINVAL;
	const struct cay_message *m = messages, *end = messages + count;
	int r = 0;
	while (m < end) {
		uint32_t run = burst_run(m, (size_t)(end - m));
		if (unlikely(!run)) {
			r = send_other(port, peer, m->tag, m->api_tag, m->data,
				m->length, m->flags);
			if (r)
				break;
			m++;
			continue;
		}
		struct op_record *op = issue_record(port);
		if (unlikely(!op)) {
			r = -ENOBUFS;
			break;
		}
		r = device_send_burst(
			&port->origin, op, &peer->context, m, run);
		if (unlikely(r < 0)) {
			issue_done(port, op, r);
			break;
		}
		issue_count(op, (uint32_t)r);
		m += r;
		if (unlikely((uint32_t)r < run))
			break;
	}
	return m > messages ? (int)(m - messages) : r;
}

/* ---- waiting while the queue of the target is full ---- */

/* Sleeps until the target returns entries. */
static int wait_for_return(
	struct cay_peer *peer, uint64_t r_before, uint64_t deadline)
{
	struct context *to =
		atomic_load_explicit(&peer->context, memory_order_acquire);
	/*
	 * The sleep is bounded, because R does not show every reason of
	 * -EAGAIN: the origin's own queue or the arena may be full, and the
	 * futex covers the NQ half of R only, not the RDR half.
	 */
	uint64_t nap = clock_after_ns(10 * CLOCK_NS_PER_MS);
	int e = device_await_room(to, r_before, bits_min(nap, deadline));
	return e == -EINTR ? e : 0;
}

int cay_send_wait(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length, unsigned flags, uint64_t deadline)
{
	for (;;) {
		if (unlikely(!port_usable(port)))
			return port_error(port);
		if (unlikely(!port_has_peer(port, peer)))
			return -EINVAL;
		struct context *to = atomic_load_explicit(
			&peer->context, memory_order_acquire);
		uint64_t r_before = device_returned(to);
		int r = cay_send(port, peer, tag, data, length, flags);
		if (r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		r = wait_for_return(peer, r_before, deadline);
		if (r)
			return r;
	}
}
