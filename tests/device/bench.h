/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the device share: a workbench of two or more ports as
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
#include "device/workbench.h"

/* Small queues, so that laps and refusals come soon. */
#define BENCH_NQ_LOG2  4
#define BENCH_RDR_LOG2 10
#define BENCH_ENTRIES  (1u << BENCH_NQ_LOG2)
#define BENCH_UNITS    (1u << BENCH_RDR_LOG2)
#define BENCH_CQ       4u /* what they reserve for completions */
#define BENCH_PRIORITY 1u /* and for priority */
#define BENCH_ROOM     (BENCH_ENTRIES - BENCH_CQ - BENCH_PRIORITY)

struct bench {
	struct workbench w;
	struct counting c;
	struct counting_entry trace[512];
	unsigned char data[65536];
};

static inline int bench_setup_ports(void **state, uint32_t ports)
{
	static const struct queue_wish wish = { .nq_log2 = BENCH_NQ_LOG2,
		.rdr_log2 = BENCH_RDR_LOG2 };
	struct bench *b = calloc(1, sizeof(*b));
	counting_end(); /* a test that failed may have left it */
	if (!b || workbench_open(&b->w, ports, &wish) != 0)
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
	workbench_close(&b->w);
	free(b);
	return 0;
}

/* Port 0 to port 1. */
static inline int bench_fast(
	struct bench *b, uint64_t tag, uint32_t api_tag, size_t length)
{
	return counting_send_fast(&b->w.port[0].origin, b->w.port[0].op,
		workbench_route(&b->w, 0, 1), tag, api_tag, b->data, length);
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
		workbench_route(&b->w, 0, 1), &p);
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
		workbench_route(&b->w, 0, 1), &p, source, &index);
}

/* A completion into port 1's own queue, as if one had been reserved. */
static inline int bench_complete(struct bench *b, uint64_t tag)
{
	const struct completion c = { .tag = tag, .command = CAY_SEND };
	return counting_complete(
		workbench_own(&b->w, 1), b->w.port[1].op, &c, 0);
}

static inline uint64_t bench_w(const struct bench *b, uint32_t port)
{
	return atomic_load(&workbench_own(&b->w, port)->control->w);
}

static inline uint64_t bench_r(const struct bench *b, uint32_t port)
{
	return atomic_load(&workbench_own(&b->w, port)->control->r);
}

static inline struct cay_nqe *bench_entry(
	const struct bench *b, uint32_t port, uint64_t position)
{
	const struct context *own = workbench_own(&b->w, port);
	return &own->nq[position & ((1ull << own->nq_log2) - 1)];
}

/* Takes the oldest notification of a port and gives its room back at once. */
static inline bool bench_take(
	struct bench *b, uint32_t port, struct cay_nqe *copy)
{
	struct context *own = workbench_own(&b->w, port);
	uint64_t r = bench_r(b, port);
	uint64_t rdr = queue_rdr(r);

	*copy = (struct cay_nqe){ 0 };
	if (!counting_peek(own, queue_nq(r)))
		return false;
	*copy = *bench_entry(b, port, queue_nq(r));
	if ((copy->word[7] & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
		rdr = copy->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	counting_give_back(own, queue_word(queue_nq(r) + 1, rdr));
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
