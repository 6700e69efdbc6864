/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory: see cay_put(3). The hot half is what comes without flags: fork
 * check, thread record, device. Any thread.
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
	p->origin_lock = port->origin.lock_word;
	p->window = (uint16_t)key.window;
	p->capability = key.capability;
	p->pieces = 1;
	return remote_done(
		port, op, device_access(&port->origin, op, &peer->context, p));
}

/* No bytes may have no place, but memcpy() wants one for them too. */
static void *remote_place(const void *data)
{
	static unsigned char none;
	return data ? (void *)(uintptr_t)data : &none;
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
	struct iovec payload = { remote_place(data), length };
	struct packet p = { .command = remote_command(
				    CAY_FAST_PUT, CAY_PUT, length, flags),
		.tag = tag,
		.offset = offset,
		.length = length,
		.payload = &payload };
	int r = remote_bytes(data, length);
	return r ? r : remote_issue(port, peer, &p, key, flags);
}

static inline struct target remote_target(struct cay_key key, uint64_t offset)
{
	return (struct target){ .capability = key.capability,
		.offset = offset,
		.window = (uint16_t)key.window };
}

/* Without flags, on this port, and with arguments that can be right? */
static inline bool remote_plain(const struct cay_port *port, struct cay_key key,
	const void *data, size_t length, unsigned flags)
{
	return likely(port_here(port) && !flags && data &&
		      length <= ISSUE_BYTES_MAX && key.window <= UINT16_MAX);
}

int cay_put(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, const void *data, size_t length, uint64_t tag,
	unsigned flags)
{
	if (unlikely(!remote_plain(port, key, data, length, flags)))
		return put_other(
			port, peer, key, offset, data, length, tag, flags);
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	struct target t = remote_target(key, offset);
	return remote_done(port, op,
		device_put(&port->origin, op, &peer->context, &t, data, length,
			tag));
}

int cay_put_masked(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t data, uint8_t enables,
	uint64_t tag, unsigned flags)
{
	struct packet p = {
		.command = (uint16_t)(CAY_MISALIGNED_PUT |
				      (flags & CAY_ACK ? CAY_COMMAND_ACK : 0)),
		.tag = tag,
		.offset = offset,
		.length = 8,
		.operand = { data, enables }
	};
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

__attribute__((noinline)) static int get_other(struct cay_port *port,
	struct cay_peer *peer, struct cay_key key, uint64_t offset, void *to,
	size_t length, uint64_t tag, unsigned flags)
{
	struct iovec payload = { remote_place(to), length };
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

int cay_get(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, void *to, size_t length, uint64_t tag, unsigned flags)
{
	if (unlikely(!remote_plain(port, key, to, length, flags)))
		return get_other(
			port, peer, key, offset, to, length, tag, flags);
	struct op_record *op = record_of(port->member);
	if (unlikely(!op))
		return -ENOBUFS;
	struct target t = remote_target(key, offset);
	return remote_done(port, op,
		device_get(&port->origin, op, &peer->context, &t, to, length,
			tag));
}

/*
 * FAA and CAS: into memory, in a straight line if there are no flags; or into
 * the event in which they then end. The acknowledge says nothing new.
 */
static inline int remote_atomic(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint16_t command,
	const uint64_t operand[2], uint64_t *previous, uint64_t tag,
	unsigned flags)
{
	if (likely(remote_plain(port, key, previous, 8, flags))) {
		struct op_record *op = record_of(port->member);
		if (unlikely(!op))
			return -ENOBUFS;
		struct target t = remote_target(key, offset);
		return remote_done(port, op,
			device_atomic(&port->origin, op, &peer->context, &t,
				command, operand, previous, tag));
	}
	struct iovec payload = { previous, 8 };
	struct packet p = { .command = command,
		.tag = tag,
		.offset = offset,
		.length = 8,
		.operand = { operand[0], operand[1] },
		.payload = previous ? &payload : NULL };
	if (flags & CAY_ACK)
		flags = (flags & ~(unsigned)CAY_ACK) | CAY_NOTIFY;
	return remote_issue(port, peer, &p, key, flags);
}

int cay_fetch_add(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend, uint64_t tag,
	unsigned flags)
{
	const uint64_t operand[2] = { addend, 0 };
	return remote_atomic(
		port, peer, key, offset, CAY_FAA, operand, NULL, tag, flags);
}

int cay_fetch_add_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	const uint64_t operand[2] = { addend, 0 };
	return previous ? remote_atomic(port, peer, key, offset, CAY_FAA,
				  operand, previous, tag, flags)
			: -EFAULT;
}

int cay_compare_swap(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags)
{
	const uint64_t operand[2] = { compare, swap };
	return remote_atomic(
		port, peer, key, offset, CAY_CAS, operand, NULL, tag, flags);
}

int cay_compare_swap_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	const uint64_t operand[2] = { compare, swap };
	return previous ? remote_atomic(port, peer, key, offset, CAY_CAS,
				  operand, previous, tag, flags)
			: -EFAULT;
}

/* Something is under way that only the peer can end. */
__attribute__((cold, noinline)) static int flush_wait(
	struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	uint64_t patience = CAY_FOREVER;
	for (uint64_t look = 0;; look++) {
		bool pending =
			device_reference_pending(&port->origin, peer->vpid);
		outgoing_settle(port, peer->vpid);
		if (!pending)
			return 0;
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		/* Nobody would tell us that the peer is dead. */
		if (look == FLUSH_LOOKS)
			patience = clock_after_ns(MEMBER_PATIENCE_NS);
		if (clock_passed(patience) && !member_node_alive(port->member))
			return -ENOTCONN;
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
