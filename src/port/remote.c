/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory: see cay_put(3). The hot half is cay_put() of at most 24 bytes
 * without flags. Any thread.
 */
#include "cay/remote.h"

#include "base/clock.h"
#include "port/issue.h"
#include "port/outgoing.h"

#define FLUSH_LOOKS  64 /* before the first nap */
#define FLUSH_NAP_NS (50 * CLOCK_NS_PER_US)

/* 1 is a refusal, which the completion tells of. */
static inline int remote_done(
	struct cay_port *port, struct op_record *op, int r)
{
	if (unlikely(r > 0)) {
		port_watch(port);
		r = 0;
	}
	return issue_done(port, op, r);
}

/* Everything but the hot path. */
static int remote_issue(struct cay_port *port, struct cay_peer *peer,
	struct packet *p, struct cay_key key, unsigned flags)
{
	if (unlikely(!port_here(port)))
		return port_absent(port);
	if (flags & ~(unsigned)ISSUE_FLAGS || key.window > UINT16_MAX)
		return -EINVAL;
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	p->flags = (uint8_t)(flags & CAY_VCI_FLAGS);
	p->origin_vpid = port->origin.vpid;
	p->origin_node = port->origin.node;
	p->origin_lock = port->origin.self;
	p->window = (uint16_t)key.window;
	p->capability = key.capability;
	p->pieces = 1;
	return remote_done(port, op,
		device_access(&port->origin, op, &peer->context, p));
}

static int remote_bytes(const void *data, size_t length)
{
	if (!data && length)
		return -EFAULT;
	return length > ISSUE_BYTES_MAX ? -EMSGSIZE : 0;
}

static uint16_t remote_command(
	unsigned fast, unsigned bulk, size_t length, unsigned flags)
{
	unsigned command = length >= 1 && length <= CAY_FAST_PUT_BYTES
				   ? fast | (unsigned)(length + 7) / 8
				   : bulk;
	return (uint16_t)(flags & CAY_ACK ? command | CAY_COMMAND_ACK
					  : command);
}

__attribute__((noinline)) static int put_other(struct cay_port *port,
	struct cay_peer *peer, struct cay_key key, uint64_t offset,
	const void *data, size_t length, uint64_t tag, unsigned flags)
{
	struct iovec payload = { (void *)(uintptr_t)data, length };
	struct packet p = { .command = remote_command(CAY_FAST_PUT, CAY_PUT,
				    length, flags),
		.tag = tag,
		.offset = offset,
		.length = length,
		.payload = &payload };
	int r = remote_bytes(data, length);
	return r ? r : remote_issue(port, peer, &p, key, flags);
}

int cay_put(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, const void *data, size_t length, uint64_t tag,
	unsigned flags)
{
	/* Without flags nobody is told, unless it is refused: then with tag. */
	if (unlikely(!port_here(port) || flags || tag ||
		     length - 1 >= CAY_FAST_PUT_BYTES || !data ||
		     key.window > UINT16_MAX))
		return put_other(port, peer, key, offset, data, length, tag,
			flags);
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	return remote_done(port, op,
		device_put_fast(&port->origin, op, &peer->context,
			(uint16_t)key.window, key.capability, offset, data,
			length));
}

int cay_put_masked(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t data, uint8_t enables,
	uint64_t tag, unsigned flags)
{
	struct packet p = { .command = (uint16_t)(CAY_MISALIGNED_PUT |
				    (flags & CAY_ACK ? CAY_COMMAND_ACK : 0)),
		.tag = tag,
		.offset = offset,
		.length = 8,
		.operand = { data, enables } };
	return remote_issue(port, peer, &p, key, flags);
}

/* Up to 24 bytes, into the event. */
static int get_fast(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, struct packet *p, unsigned flags)
{
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	struct iovec payload = { fetched, p->length };
	p->command = (uint16_t)(CAY_FAST_GET | (p->length + 7) / 8);
	p->payload = &payload;
	return remote_issue(port, peer, p, key, flags);
}

int cay_get(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, void *to, size_t length, uint64_t tag, unsigned flags)
{
	struct iovec payload = { to, length };
	struct packet p = { .command = CAY_GET,
		.tag = tag,
		.offset = offset,
		.length = length,
		.payload = &payload };
	/* A get is acknowledged by what it brings. */
	if (flags & CAY_ACK)
		flags = (flags & ~(unsigned)CAY_ACK) | CAY_NOTIFY;
	if (!to && length >= 1 && length <= CAY_FAST_PUT_BYTES)
		return get_fast(port, peer, key, &p, flags);
	int r = remote_bytes(to, length);
	return r ? r : remote_issue(port, peer, &p, key, flags);
}

/* They end in an event in any case, so the acknowledge says nothing new. */
static int remote_atomic(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, struct packet *p, unsigned flags)
{
	p->length = 8;
	return remote_issue(
		port, peer, p, key, flags & ~(unsigned)CAY_ACK);
}

int cay_fetch_add(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend, uint64_t tag,
	unsigned flags)
{
	struct packet p = { .command = CAY_FAA,
		.tag = tag,
		.offset = offset,
		.operand = { addend } };
	return remote_atomic(port, peer, key, &p, flags);
}

int cay_compare_swap(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags)
{
	struct packet p = { .command = CAY_CAS,
		.tag = tag,
		.offset = offset,
		.operand = { compare, swap } };
	return remote_atomic(port, peer, key, &p, flags);
}

/* Something is under way that only the peer can end. */
__attribute__((cold, noinline)) static int flush_wait(
	struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	for (uint32_t look = 0;; look++) {
		bool pending =
			device_reference_pending(&port->origin, peer->vpid);
		outgoing_settle(port, peer->vpid);
		if (!pending)
			return 0;
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		if (look < FLUSH_LOOKS)
			clock_relax();
		else
			clock_nap_ns(FLUSH_NAP_NS);
	}
}

int cay_flush(struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	if (unlikely(!port_here(port)))
		return port_absent(port);
	/* Whatever this thread has stored is at the target before we go on. */
	atomic_thread_fence(memory_order_seq_cst);
	if (likely(!atomic_load_explicit(
		    &port->origin.references, memory_order_acquire)))
		return 0;
	return flush_wait(port, peer, deadline);
}
