/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory; see cay_put(3). Any thread. An access without flags is a
 * straight line: validity check, op record, device. All others are packets and
 * pass access_issue().
 */
#include "cay/remote.h"

#include "base/clock.h"
#include "port/cocopy.h"
#include "port/issue.h"
#include "port/pending.h"
#include "port/window.h"

#define FLUSH_SPINS  64 /* before the first nap */
#define FLUSH_NAP_NS (50 * CLOCK_NS_PER_US)

static int access_issue(struct cay_port *port, struct cay_peer *peer,
	struct packet *p, struct cay_key key, unsigned flags)
{
	if (unlikely(!port_valid(port)))
		return port_error(port);
	if (flags & ~(unsigned)ISSUE_FLAGS || !key_valid(key) ||
		!port_has_peer(port, peer))
		return -EINVAL;
	struct op_record *op = issue_record(port);
	if (unlikely(!op))
		return -ENOBUFS;
	p->flags = (uint8_t)(flags & CAY_VCI_FLAGS);
	p->origin_vpid = port->origin.vpid;
	p->origin_node = port->origin.node;
	p->origin_lock = port->origin.lock_word;
	p->window = (uint16_t)key.window;
	p->capability = key.capability;
	p->pieces = 1;
	return issue_done(
		port, op, device_access(&port->origin, op, &peer->context, p));
}

/* access_issue() with a payload, which may be NULL if it is empty. */
static int access_issue_bytes(struct cay_port *port, struct cay_peer *peer,
	struct packet *p, struct cay_key key, const void *data, unsigned flags)
{
	static unsigned char none; /* memcpy() must not get NULL */
	struct iovec payload = { data ? (void *)(uintptr_t)data : &none,
		p->length };
	if (!data && p->length)
		return -EFAULT;
	if (p->length > ISSUE_BYTES_MAX)
		return -EMSGSIZE;
	p->payload = &payload;
	return access_issue(port, peer, p, key, flags);
}

__attribute__((noinline)) static int put_other(struct cay_port *port,
	struct cay_peer *peer, struct cay_key key, uint64_t offset,
	const void *data, size_t length, uint64_t tag, unsigned flags)
{
	struct packet p = { .command = CAY_PUT,
		.tag = tag,
		.offset = offset,
		.length = length };
	if (length >= 1 && length <= CAY_FAST_PUT_BYTES)
		p.command = (uint16_t)(CAY_FAST_PUT | (length + 7) / 8);
	if (flags & CAY_ACK)
		p.command |= CAY_COMMAND_ACK;
	return access_issue_bytes(port, peer, &p, key, data, flags);
}

/*
 * Returns the op record for an access without flags and with valid arguments,
 * of which nothing but the call of the device remains; otherwise NULL. The
 * length is compared with the window's.
 */
static inline struct op_record *access_plain_record(const struct cay_port *port,
	const struct cay_peer *peer, struct cay_key key, const void *data,
	size_t length, unsigned flags)
{
	return likely(port_valid(port) && port_has_peer(port, peer) && !flags &&
		       data && length <= ISSUE_BYTES_MAX && key_valid(key))
		       ? issue_record_cached(port)
		       : NULL;
}

int cay_put(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, const void *data, size_t length, uint64_t tag,
	unsigned flags)
{
	struct op_record *op =
		access_plain_record(port, peer, key, data, length, flags);
	if (unlikely(!op))
		return put_other(
			port, peer, key, offset, data, length, tag, flags);
	return device_put(&port->origin, &peer->context, key, offset, data,
		length, tag, op);
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
	return access_issue(port, peer, &p, key, flags);
}

__attribute__((noinline)) static int get_other(struct cay_port *port,
	struct cay_peer *peer, struct cay_key key, uint64_t offset, void *to,
	size_t length, uint64_t tag, unsigned flags)
{
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	struct packet p = { .command = CAY_GET,
		.tag = tag,
		.offset = offset,
		.length = length };
	/* The response acknowledges a get. */
	if (flags & CAY_ACK)
		flags = (flags & ~(unsigned)CAY_ACK) | CAY_NOTIFY;
	/* Without a destination the bytes arrive in the completion. */
	if (!to && length >= 1 && length <= CAY_FAST_PUT_BYTES) {
		p.command = (uint16_t)(CAY_FAST_GET | (length + 7) / 8);
		to = fetched;
	}
	return access_issue_bytes(port, peer, &p, key, to, flags);
}

int cay_get(struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, void *to, size_t length, uint64_t tag, unsigned flags)
{
	struct op_record *op =
		access_plain_record(port, peer, key, to, length, flags);
	if (unlikely(!op))
		return get_other(
			port, peer, key, offset, to, length, tag, flags);
	return device_get(&port->origin, &peer->context, key, offset, to,
		length, tag, op);
}

/*
 * FAA and CAS. The old value goes to *previous, or to the completion if that is
 * NULL. CAY_ACK is CAY_NOTIFY: the response acknowledges.
 */
static inline int atomic_issue(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t first, uint64_t second,
	uint64_t *previous, uint64_t tag, unsigned flags, uint16_t command)
{
	struct iovec payload = { previous, 8 };
	struct packet p = { .command = command,
		.tag = tag,
		.offset = offset,
		.length = 8,
		.operand = { first, second },
		.payload = previous ? &payload : NULL };
	if (flags & CAY_ACK)
		flags = (flags & ~(unsigned)CAY_ACK) | CAY_NOTIFY;
	return access_issue(port, peer, &p, key, flags);
}

__attribute__((noinline)) static int atomic_other(struct cay_port *port,
	struct cay_peer *peer, struct cay_key key, uint64_t offset,
	uint64_t first, uint64_t second, uint64_t *previous, uint64_t tag,
	unsigned flags, uint16_t command)
{
	return previous ? atomic_issue(port, peer, key, offset, first, second,
				  previous, tag, flags, command)
			: -EFAULT;
}

int cay_fetch_add(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend, uint64_t tag,
	unsigned flags)
{
	return atomic_issue(
		port, peer, key, offset, addend, 0, NULL, tag, flags, CAY_FAA);
}

int cay_fetch_add_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	struct op_record *op =
		access_plain_record(port, peer, key, previous, 8, flags);
	if (likely(op))
		return device_fetch_add(&port->origin, &peer->context, key,
			offset, addend, previous, tag, op);
	return atomic_other(port, peer, key, offset, addend, 0, previous, tag,
		flags, CAY_FAA);
}

int cay_compare_swap(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags)
{
	return atomic_issue(port, peer, key, offset, compare, swap, NULL, tag,
		flags, CAY_CAS);
}

int cay_compare_swap_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	struct op_record *op =
		access_plain_record(port, peer, key, previous, 8, flags);
	if (likely(op))
		return device_compare_swap(&port->origin, &peer->context, key,
			offset, compare, swap, previous, tag, op);
	return atomic_other(port, peer, key, offset, compare, swap, previous,
		tag, flags, CAY_CAS);
}

/* Waits for operations in flight that only the peer can complete. */
static int flush_wait(
	struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	uint64_t timeout = CAY_FOREVER;
	for (uint64_t i = 0;; i++) {
		bool pending =
			device_reference_pending(&port->origin, peer->vpid);
		pending_store_results(port, peer->vpid);
		if (!pending)
			return 0;
		cocopy_help(port);
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		/* Without a node the death of the peer is not reported. */
		if (i == FLUSH_SPINS)
			timeout = clock_after_ns(MEMBER_TIMEOUT_NS);
		if (clock_passed(timeout) && !member_node_alive(port->member))
			return -ENOTCONN;
		if (i < FLUSH_SPINS)
			clock_relax();
		else
			clock_nap_ns(FLUSH_NAP_NS);
	}
}

/* Operations are in flight that only the peer can complete, or one failed. */
__attribute__((cold, noinline)) static int flush_other(
	struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	int r = flush_wait(port, peer, deadline);
	/* The exchange lets one thread report. */
	if (r == 0 && atomic_exchange_explicit(
			      &peer->refused, false, memory_order_relaxed))
		return -EREMOTEIO;
	return r;
}

int cay_flush(struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	if (unlikely(!port_valid(port)))
		return port_error(port);
	if (unlikely(!port_has_peer(port, peer)))
		return -EINVAL;
	/* Stores of this thread to the target are visible before the return. */
	atomic_thread_fence(memory_order_seq_cst);
	/* Relaxed: see peer_refused(). */
	if (likely(!(atomic_load_explicit(&port->origin.device.references,
			     memory_order_acquire) |
		     atomic_load_explicit(
			     &peer->refused, memory_order_relaxed))))
		return 0;
	return flush_other(port, peer, deadline);
}
