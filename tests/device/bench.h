/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the device share: a fixture of two or more ports as
 * cmocka's state, short ways to send on the counting platform, and a receiver
 * that takes one notification at a time.
 */
#ifndef CAY_TESTS_DEVICE_BENCH_H
#define CAY_TESTS_DEVICE_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "device/counting.h"
#include "device/fixture.h"

/* Small queues, so that laps and refusals come soon. */
#define BENCH_NQ_LOG2  4
#define BENCH_RDR_LOG2 10
#define BENCH_ENTRIES  (1u << BENCH_NQ_LOG2)
#define BENCH_UNITS    (1u << BENCH_RDR_LOG2)
#define BENCH_CQ       4u /* what they reserve for completions */
#define BENCH_PRIORITY 1u /* and for priority */
#define BENCH_ROOM     (BENCH_ENTRIES - BENCH_CQ - BENCH_PRIORITY)

struct bench {
	struct fixture w;
	struct counting c;
	struct counting_entry trace[512];
	unsigned char data[65536];
	unsigned char got[65536];
	uint64_t operand[2]; /* of FAA, CAS, MISALIGNED_PUT */
};

static inline int bench_setup_ports(void **state, uint32_t ports)
{
	static const struct queue_options options = { .nq_log2 = BENCH_NQ_LOG2,
		.rdr_log2 = BENCH_RDR_LOG2 };
	struct bench *b = calloc(1, sizeof(*b));
	counting_end(); /* a test that failed may have left it */
	if (!b || fixture_open(&b->w, ports, &options) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(b->data); i++)
		b->data[i] = (unsigned char)(i * 7 + 1);
	b->c.arena = &b->w.arena;
	b->c.trace = b->trace;
	b->c.trace_max = ARRAY_COUNT(b->trace);
	*state = b;
	return 0;
}

static inline int bench_setup(void **state)
{
	return bench_setup_ports(state, 2);
}

static inline int bench_teardown(void **state)
{
	struct bench *b = *state;
	counting_end();
	fixture_close(&b->w);
	free(b);
	return 0;
}

/* Port 0 to port 1. */
static inline int bench_fast(
	struct bench *b, uint64_t tag, uint32_t api_tag, size_t length)
{
	return counting_send_fast(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), tag, api_tag, b->data, length);
}

/* The same as a SEND with flags. */
static inline int bench_send(
	struct bench *b, uint64_t tag, size_t length, unsigned flags)
{
	const struct iovec payload = { b->data, length };
	const struct packet p = { .command = CAY_SEND,
		.flags = (uint8_t)flags,
		.origin_vpid = b->w.port[0].origin.vpid,
		.origin_node = b->w.port[0].origin.node,
		.tag = tag,
		.api_tag = 0xa91,
		.pieces = 1,
		.length = length,
		.payload = &payload };
	return counting_send(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), &p);
}

/* By reference: only the notification and the slot are looked at. */
static inline int bench_reference(
	struct bench *b, uint64_t tag, const struct reference *source)
{
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = b->w.port[0].origin.vpid,
		.tag = tag,
		.length = source->length };
	uint32_t index;
	return counting_send_reference(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), &p, source, &index);
}

/* ---- remote memory: from port 0 unless it says otherwise ---- */

#define BENCH_RIGHTS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

/* Opens a window on fresh memory; its start as a target. */
static inline struct target bench_window(struct bench *b, uint32_t port,
	uint16_t id, uint64_t bytes, uint32_t rights)
{
	struct target t = { .window = id };
	uint64_t at = fixture_memory(&b->w, bytes);
	assert_int_not_equal(at, 0);
	assert_int_equal(fixture_window(&b->w, port, id, at, bytes, rights,
				 &t.capability),
		0);
	return t;
}

/* Where a window of port 1 lies. */
static inline void *bench_memory(const struct bench *b, const struct target *t)
{
	const struct cay_window_descriptor *d =
		&b->w.port[1].origin.wdt[t->window];
	return fixture_at(&b->w, d->start + t->offset);
}

static inline uint64_t bench_word(const struct bench *b, const struct target *t)
{
	return atomic_load((_Atomic uint64_t *)bench_memory(b, t));
}

/* Port 0 to port 1. */
static inline int bench_put(
	struct bench *b, const struct target *t, size_t length)
{
	return counting_put(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), t, b->data, length, 0x7a9);
}

static inline int bench_get(
	struct bench *b, const struct target *t, void *to, size_t length)
{
	return counting_get(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), t, to, length, 0x7a9);
}

/*
 * Any command with flags, as cay_put() and its like make them: bytes from
 * b->data, or, of a get, into b->got.
 */
static inline int bench_access(struct bench *b, unsigned command,
	const struct target *t, size_t length, unsigned flags)
{
	bool get = (command & CAY_COMMAND_OPERATION) == CAY_GET ||
		   (command & CAY_COMMAND_OPERATION) == CAY_FAST_GET;
	bool operands = (command & CAY_COMMAND_OPERATION) ==
				CAY_MISALIGNED_PUT ||
			command == CAY_FAA || command == CAY_CAS;
	const struct iovec payload = { get ? b->got : b->data, length };
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = b->w.port[0].origin.vpid,
		.origin_node = b->w.port[0].origin.node,
		.origin_lock = b->w.port[0].origin.lock_word,
		.tag = 0x7a9,
		.api_tag = 0xa91,
		.pieces = 1,
		.length = operands ? 8 : length,
		.payload = operands ? NULL : &payload,
		.window = t->window,
		.capability = t->capability,
		.offset = t->offset,
		.operand = { b->operand[0], b->operand[1] } };
	return counting_access(&b->w.port[0].origin, b->w.port[0].op,
		fixture_route(&b->w, 0, 1), &p);
}

/* A work request from port 0: posted and triggered, and it is accepted. */
static inline void bench_vci(struct bench *b, const struct cay_vci *v)
{
	struct origin *o = &b->w.port[0].origin;
	assert_true(counting_post(o, v));
	assert_int_equal(
		counting_trigger(o, b->w.port[0].op, CAY_ISSUE_VCI, 1).accepted,
		1);
}

/* ---- posted receives of port 1 ---- */

/* Posts so many bytes of fresh memory; where they are. */
static inline unsigned char *bench_post(
	struct bench *b, uint64_t bytes, uint64_t cookie)
{
	uint64_t at = fixture_memory(&b->w, bytes);
	assert_int_not_equal(at, 0);
	assert_int_equal(fixture_post(&b->w, 1, at, bytes, cookie), 0);
	return fixture_at(&b->w, at);
}

static inline unsigned bench_posted_state(const struct bench *b, uint32_t index)
{
	const struct cay_posted_receive *slot =
		&fixture_own(&b->w, 1)->posted[index];
	return atomic_load((_Atomic uint64_t *)&slot->state) &
	       POSTED_STATE_MASK;
}

/* What the owner does when it has seen the entry that tells of a slot. */
static inline void bench_posted_free(
	const struct bench *b, const struct cay_nqe *n)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	struct cay_posted_receive *slot = &fixture_own(&b->w, 1)->posted[index];
	assert_int_equal(bench_posted_state(b, (uint32_t)index), POSTED_FILLED);
	atomic_store((_Atomic uint64_t *)&slot->state, POSTED_FREE);
}

/* A completion into port 1's own queue, as if one had been reserved. */
static inline int bench_complete(struct bench *b, uint64_t tag)
{
	const struct completion c = { .tag = tag, .command = CAY_SEND };
	return counting_complete(fixture_own(&b->w, 1), b->w.port[1].op, &c, 0);
}

static inline uint64_t bench_w(const struct bench *b, uint32_t port)
{
	return atomic_load(&fixture_own(&b->w, port)->control->w);
}

static inline uint64_t bench_r(const struct bench *b, uint32_t port)
{
	return atomic_load(&fixture_own(&b->w, port)->control->r);
}

static inline struct cay_nqe *bench_entry(
	const struct bench *b, uint32_t port, uint64_t position)
{
	const struct context *own = fixture_own(&b->w, port);
	return &own->nq[position & ((1ull << own->nq_log2) - 1)];
}

/* Takes the oldest notification of a port and gives its room back at once. */
static inline bool bench_take(
	struct bench *b, uint32_t port, struct cay_nqe *copy)
{
	struct context *own = fixture_own(&b->w, port);
	uint64_t r = bench_r(b, port);
	uint64_t rdr = queue_rdr(r);

	*copy = (struct cay_nqe){ 0 };
	if (!counting_peek(own, queue_nq(r)))
		return false;
	*copy = *bench_entry(b, port, queue_nq(r));
	if ((copy->word[7] & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
		rdr = copy->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	counting_return_entries(own, queue_word(queue_nq(r) + 1, rdr));
	return true;
}

#define BENCH_TEST(name) \
	cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

static inline unsigned nqe_command(const struct cay_nqe *n)
{
	return n->word[7] & 0xffff;
}

static inline unsigned nqe_bytes(const struct cay_nqe *n)
{
	return (n->word[7] >> CAY_NQE_BYTES_SHIFT) & 0xffff;
}

static inline unsigned nqe_generation(const struct cay_nqe *n)
{
	return (unsigned)(n->word[7] >> CAY_NQE_GENERATION_SHIFT);
}

#endif
