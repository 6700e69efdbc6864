/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of the ordering tests: each origin issues a program of
 * numbered operations whose results at the target show the number.
 */
#ifndef CAY_TESTS_DEVICE_ORDERING_H
#define CAY_TESTS_DEVICE_ORDERING_H

#include "coroutine.h"
#include "testbench.h"

#define ORIGINS	     3u
#define RECEIVER     3u /* port */
#define OPERATIONS   24u
#define SWITCHES_MAX 400000u
#define BULK_BYTES   200u
#define MESSAGE_MAX  300u
#define BUFFERS	     4u

/* The result of each operation before OBSERVABLE can be seen at the target. */
enum operation {
	SEND_FAST,
	SEND,		/* to a posted receive if there is one, or to the RDR */
	PUT_WORD,	/* 8 bytes */
	PUT_WORDS,	/* 24 bytes */
	PUT_COMPLETION, /* 8 bytes, with a completion */
	PUT_BULK,
	PUT_MASKED,
	PUT_NOTIFY_OWNER, /* to a window with NOTIFY_ACCESS */
	FETCH_ADD,
	COMPARE_SWAP,
	VCI_PUT, /* from the work queue */
	VCI_SEND,
	OBSERVABLE,
	GET = OBSERVABLE, /* reads the result of PUT_WORD */
	GET_FAST,
	OPERATION_KINDS,
};

/* The results of one origin; each operation stores its number. */
struct results {
	_Alignas(64) _Atomic uint64_t word[OBSERVABLE][8];
	_Alignas(64) unsigned char bulk[256];
};

struct memory {
	struct results origin[ORIGINS];
};

/* True if the operation leaves an entry in the target's NQ. */
static inline bool notifies_target(enum operation k)
{
	return k == SEND_FAST || k == SEND || k == PUT_NOTIFY_OWNER ||
	       k == VCI_SEND;
}

struct simulation;

struct issuer {
	struct coroutine coroutine;
	struct simulation *sim;
	uint32_t number;
	uint8_t program[OPERATIONS + 1]; /* enum operation, from index 1 */
	uint32_t current;		 /* operation being issued */
	uint32_t completions, completions_expected;
	uint32_t last_completion; /* operation that completed last */
	uint32_t last_received;	  /* operation whose entry came last */
};

struct simulation {
	struct scheduler scheduler;
	struct fixture fixture;
	struct counting counting;
	struct issuer origin[ORIGINS];
	struct coroutine receiver, reader;
	struct memory *memory;
	struct target plain, notifying; /* windows on the memory */
	uint64_t next, rdr;		/* the receiver's read position */
	uint64_t buffer;		/* arena memory of posted receives */
	uint32_t buffers;		/* number that can be posted */
};

static inline void sim_fail(struct simulation *sim, const char *message)
{
	scheduler_fail(&sim->scheduler, message);
}

/* The last operation of this kind up to number k, or 0. */
static inline uint32_t last_issued(
	const struct issuer *o, enum operation kind, uint32_t k)
{
	while (k > 0 && o->program[k] != kind)
		k--;
	return k;
}

static inline uint32_t count_issued(
	const struct issuer *o, enum operation kind, uint32_t k)
{
	uint32_t count = 0;
	for (uint32_t i = 1; i <= k; i++)
		count += o->program[i] == kind;
	return count;
}

/* ---- issuing ---- */

static inline struct target target_of(const struct simulation *sim,
	const struct issuer *o, enum operation kind)
{
	struct target t = kind == PUT_NOTIFY_OWNER ? sim->notifying
						   : sim->plain;
	t.offset = o->number * sizeof(struct results) +
		   (kind == PUT_BULK ? offsetof(struct results, bulk)
				     : offsetof(struct results, word) +
					       kind * CAY_LINE);
	return t;
}

static inline uint64_t tag_of(const struct issuer *o, uint32_t k)
{
	return (uint64_t)o->number << 32 | k;
}

static inline int issue_packet(struct issuer *o, enum operation kind,
	unsigned command, unsigned flags, const uint64_t operand[2],
	const struct iovec *payload)
{
	struct simulation *sim = o->sim;
	struct fixture_port *port = &sim->fixture.port[o->number];
	struct target t = target_of(sim, o, kind);
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = port->origin.vpid,
		.origin_lock = port->origin.lock_word,
		.tag = tag_of(o, o->current),
		.pieces = 1,
		.length = payload ? payload->iov_len : 8,
		.payload = payload,
		.window = t.window,
		.capability = t.capability,
		.offset = t.offset,
		.operand = { operand[0], operand[1] } };
	return counting_access(&port->origin, port->op,
		fixture_route(&sim->fixture, o->number, RECEIVER), &p);
}

static inline int issue_put_flags(
	struct issuer *o, enum operation kind, unsigned flags)
{
	static const uint64_t none[2];
	uint64_t words[3] = { o->current, o->current, o->current };
	size_t bytes = kind == PUT_WORDS ? 24 : 8;
	struct iovec payload = { words, bytes };
	return issue_packet(o, kind, CAY_FAST_PUT | (unsigned)(bytes / 8),
		flags, none, &payload);
}

static inline int issue_put(struct issuer *o, enum operation kind)
{
	struct simulation *sim = o->sim;
	struct fixture_port *port = &sim->fixture.port[o->number];
	struct target t = target_of(sim, o, kind);
	uint64_t word = o->current;
	unsigned char bytes[BULK_BYTES];
	memset(bytes, (int)o->current, sizeof(bytes));
	return counting_put(&port->origin,
		fixture_route(&sim->fixture, o->number, RECEIVER),
		target_key(&t), t.offset,
		kind == PUT_WORD ? (void *)&word : bytes,
		kind == PUT_WORD ? 8 : BULK_BYTES, tag_of(o, o->current),
		port->op);
}

static inline size_t message_bytes(uint32_t k)
{
	return 41 + k * 10;
}

static inline int issue_send(struct issuer *o, bool fast)
{
	struct simulation *sim = o->sim;
	struct fixture_port *port = &sim->fixture.port[o->number];
	_Atomic(struct context *) *to =
		fixture_route(&sim->fixture, o->number, RECEIVER);
	unsigned char bytes[MESSAGE_MAX];
	memset(bytes, (int)o->current, sizeof(bytes));
	if (fast)
		return counting_send_fast(&port->origin, to,
			tag_of(o, o->current), bytes, o->current, port->op);
	const struct iovec payload = { bytes, message_bytes(o->current) };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = port->origin.vpid,
		.tag = tag_of(o, o->current),
		.pieces = 1,
		.length = payload.iov_len,
		.payload = &payload };
	return counting_send(&port->origin, port->op, to, &p);
}

/* After -EAGAIN the VCI is still queued; the next call triggers it again. */
static inline int issue_vci(struct issuer *o, const struct cay_vci *v)
{
	struct fixture_port *port = &o->sim->fixture.port[o->number];
	if (port->origin.client.wq_write == port->origin.device.wq_read &&
		!counting_post(&port->origin, v))
		return -EINVAL;
	struct cay_answer a =
		counting_trigger(&port->origin, port->op, CAY_ISSUE_VCI, 1);
	return a.accepted ? 0 : -EAGAIN;
}

static inline int issue_vci_put(struct issuer *o)
{
	struct target t = target_of(o->sim, o, VCI_PUT);
	const struct cay_vci v = { { CAY_FAST_PUT | 1 | CAY_VCI_ROUTE_LOCAL |
					     (uint64_t)RECEIVER << 32,
		fixture_vpid(RECEIVER) | 8 << 16, tag_of(o, o->current),
		t.window | t.capability << 16, t.offset, o->current } };
	return issue_vci(o, &v);
}

static inline int issue_vci_send(struct issuer *o)
{
	struct fixture_port *port = &o->sim->fixture.port[o->number];
	const struct cay_vci v = { { CAY_SEND | CAY_VCI_ROUTE_LOCAL |
					     (uint64_t)RECEIVER << 32,
		fixture_vpid(RECEIVER), tag_of(o, o->current), 0,
		message_bytes(o->current) } };
	memset(port->origin.sdr, (int)o->current, MESSAGE_MAX);
	return issue_vci(o, &v);
}

static inline int issue_get(struct issuer *o)
{
	struct simulation *sim = o->sim;
	struct fixture_port *port = &sim->fixture.port[o->number];
	struct target t = target_of(sim, o, PUT_WORD);
	uint64_t word = UINT64_MAX;
	int r = counting_get(&port->origin,
		fixture_route(&sim->fixture, o->number, RECEIVER),
		target_key(&t), t.offset, &word, 8, tag_of(o, o->current),
		port->op);
	if (r == 0 && word != last_issued(o, PUT_WORD, o->current))
		sim_fail(sim, "a get overtook a put");
	return r;
}

static inline int issue(struct issuer *o)
{
	const uint64_t none[2] = { 0, 0 };
	const uint64_t mask[2] = { o->current, 0x0f };
	const uint64_t one[2] = { 1, 0 };
	const uint64_t swap[2] = { last_issued(o, COMPARE_SWAP, o->current - 1),
		o->current };
	uint64_t fetched[3];
	struct iovec got = { fetched, 8 };
	switch ((enum operation)o->program[o->current]) {
	case SEND_FAST:
	case SEND:
		return issue_send(o, o->program[o->current] == SEND_FAST);
	case PUT_WORD:
	case PUT_BULK:
		return issue_put(o, (enum operation)o->program[o->current]);
	case PUT_WORDS:
		return issue_put_flags(o, PUT_WORDS, CAY_VCI_INTERRUPT);
	case PUT_COMPLETION:
		return issue_put_flags(o, PUT_COMPLETION, CAY_VCI_NOTIFY);
	case PUT_MASKED:
		return issue_packet(
			o, PUT_MASKED, CAY_MISALIGNED_PUT, 0, mask, NULL);
	case PUT_NOTIFY_OWNER:
		return issue_put_flags(o, PUT_NOTIFY_OWNER, 0);
	case FETCH_ADD:
		return issue_packet(o, FETCH_ADD, CAY_FAA, 0, one, NULL);
	case COMPARE_SWAP:
		return issue_packet(o, COMPARE_SWAP, CAY_CAS, 0, swap, NULL);
	case VCI_PUT:
		return issue_vci_put(o);
	case VCI_SEND:
		return issue_vci_send(o);
	case GET:
		return issue_get(o);
	default:
		return issue_packet(
			o, PUT_WORD, CAY_FAST_GET | 1, 0, none, &got);
	}
}

static inline bool has_completion(enum operation k)
{
	return k == PUT_COMPLETION || k == FETCH_ADD || k == COMPARE_SWAP ||
	       k == GET_FAST;
}

#endif
