/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test bench of the device tests: a fixture with small queues as cmocka's
 * state, and short forms of the operations from port 0 to port 1 on the
 * counting platform.
 */
#ifndef CAY_TESTS_DEVICE_TESTBENCH_H
#define CAY_TESTS_DEVICE_TESTBENCH_H

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

/* Small queues wrap and fill up early. */
#define TB_NQ_LOG2	    4
#define TB_RDR_LOG2	    10
#define TB_ENTRIES	    (1u << TB_NQ_LOG2)
#define TB_UNITS	    (1u << TB_RDR_LOG2)
#define TB_CQ_RESERVE	    4u /* entries for completions only */
#define TB_PRIORITY_RESERVE 1u /* entries for priority messages */
#define TB_UNRESERVED	    (TB_ENTRIES - TB_CQ_RESERVE - TB_PRIORITY_RESERVE)

struct testbench {
	struct fixture fixture;
	struct fixture_port *port; /* those of the fixture */
	struct counting c;
	struct counting_entry trace[512];
	unsigned char data[65536];
	unsigned char got[65536];
	unsigned messages, completions; /* received, if the test counts */
	uint64_t operand[2];		/* of FAA, CAS, MISALIGNED_PUT */
};

static inline int tb_setup_stride(void **state, uint32_t ports,
	struct queue_options options, uint32_t control_stride)
{
	struct testbench *tb = calloc(1, sizeof(*tb));
	counting_end(); /* a failed test may not have ended it */
	if (!tb || fixture_open_stride(
			   &tb->fixture, ports, &options, control_stride) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(tb->data); i++)
		tb->data[i] = (unsigned char)(i * 7 + 1);
	tb->port = tb->fixture.port;
	tb->c.arena = &tb->fixture.arena;
	tb->c.trace = tb->trace;
	tb->c.trace_max = ARRAY_COUNT(tb->trace);
	*state = tb;
	return 0;
}

static inline int tb_setup_queues(
	void **state, uint32_t ports, struct queue_options options)
{
	return tb_setup_stride(state, ports, options, ARENA_STRIDE_PACKED);
}

static inline int tb_setup_ports(void **state, uint32_t ports)
{
	return tb_setup_queues(state, ports,
		(struct queue_options){
			.nq_log2 = TB_NQ_LOG2, .rdr_log2 = TB_RDR_LOG2 });
}

static inline int tb_setup(void **state)
{
	return tb_setup_ports(state, 2);
}

static inline int tb_teardown(void **state)
{
	struct testbench *tb = *state;
	counting_end();
	fixture_close(&tb->fixture);
	free(tb);
	return 0;
}

/* FAST_SEND. */
static inline int tb_send_fast(
	struct testbench *tb, uint64_t tag, uint32_t api_tag, size_t length)
{
	return counting_send_fast_tagged(&tb->port[0].origin,
		fixture_route(&tb->fixture, 0, 1), tag, api_tag, tb->data,
		length, tb->port[0].op);
}

/* SEND of 41 bytes to 8 KiB, as a call without flags issues it. */
static inline int tb_send_eager(
	struct testbench *tb, uint64_t tag, size_t length)
{
	return counting_send_eager_tagged(&tb->port[0].origin,
		fixture_route(&tb->fixture, 0, 1), tag, 0xa91, tb->data, length,
		tb->port[0].op);
}

/* SEND with flags. */
static inline int tb_send(
	struct testbench *tb, uint64_t tag, size_t length, unsigned flags)
{
	const struct iovec payload = { tb->data, length };
	const struct packet p = { .command = CAY_SEND,
		.flags = (uint8_t)flags,
		.origin_vpid = tb->port[0].origin.vpid,
		.origin_node = tb->port[0].origin.node,
		.tag = tag,
		.api_tag = 0xa91,
		.pieces = 1,
		.length = length,
		.payload = &payload };
	return counting_send(&tb->port[0].origin, tb->port[0].op,
		fixture_route(&tb->fixture, 0, 1), &p);
}

/* SEND by reference. The source need not exist: no test reads it. */
static inline int tb_send_reference(
	struct testbench *tb, uint64_t tag, const struct reference *source)
{
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = tb->port[0].origin.vpid,
		.tag = tag,
		.length = source->length };
	uint32_t index;
	return counting_send_reference(&tb->port[0].origin, tb->port[0].op,
		fixture_route(&tb->fixture, 0, 1), &p, source, &index);
}

/* ---- remote memory ---- */

#define TB_RIGHTS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

/* Opens a window on new memory; returns its start as a target. */
static inline struct target tb_window(struct testbench *tb, uint32_t port,
	uint16_t id, uint64_t bytes, uint32_t rights)
{
	struct target t = { .window = id };
	uint64_t at = fixture_memory(&tb->fixture, bytes);
	assert_int_not_equal(at, 0);
	assert_int_equal(fixture_window(&tb->fixture, port, id, at, bytes,
				 rights, &t.capability),
		0);
	return t;
}

/* The address of a target in a window of port 1. */
static inline void *tb_memory(
	const struct testbench *tb, const struct target *t)
{
	const struct cay_window_descriptor *d =
		&tb->port[1].origin.wdt[t->window];
	return fixture_at(&tb->fixture, d->start + t->offset);
}

static inline uint64_t tb_word(
	const struct testbench *tb, const struct target *t)
{
	return atomic_load((_Atomic uint64_t *)tb_memory(tb, t));
}

static inline int tb_put(
	struct testbench *tb, const struct target *t, size_t length)
{
	return counting_put(&tb->port[0].origin,
		fixture_route(&tb->fixture, 0, 1), target_key(t), t->offset,
		tb->data, length, 0x7a9, tb->port[0].op);
}

static inline int tb_get(
	struct testbench *tb, const struct target *t, void *to, size_t length)
{
	return counting_get(&tb->port[0].origin,
		fixture_route(&tb->fixture, 0, 1), target_key(t), t->offset, to,
		length, 0x7a9, tb->port[0].op);
}

/* FAA or CAS. */
static inline int tb_atomic(struct testbench *tb, unsigned command,
	const struct target *t, uint64_t first, uint64_t second,
	uint64_t *previous)
{
	struct origin *o = &tb->port[0].origin;
	_Atomic(struct context *) *to = fixture_route(&tb->fixture, 0, 1);
	return command == CAY_FAA
		       ? counting_fetch_add(o, to, target_key(t), t->offset,
				 first, previous, 0x7a9, tb->port[0].op)
		       : counting_compare_swap(o, to, target_key(t), t->offset,
				 first, second, previous, 0x7a9,
				 tb->port[0].op);
}

/*
 * Executes any remote-memory command with flags. The payload comes from
 * tb->data, operands from tb->operand; the result of a get goes to tb->got.
 */
static inline int tb_access(struct testbench *tb, unsigned command,
	const struct target *t, size_t length, unsigned flags)
{
	bool get = (command & CAY_COMMAND_OPERATION) == CAY_GET ||
		   (command & CAY_COMMAND_OPERATION) == CAY_FAST_GET;
	bool operands = (command & CAY_COMMAND_OPERATION) ==
				CAY_MISALIGNED_PUT ||
			command == CAY_FAA || command == CAY_CAS;
	const struct iovec payload = { get ? tb->got : tb->data, length };
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = tb->port[0].origin.vpid,
		.origin_node = tb->port[0].origin.node,
		.origin_lock = tb->port[0].origin.lock_word,
		.tag = 0x7a9,
		.api_tag = 0xa91,
		.pieces = 1,
		.length = operands ? 8 : length,
		.payload = operands ? NULL : &payload,
		.window = t->window,
		.capability = t->capability,
		.offset = t->offset,
		.operand = { tb->operand[0], tb->operand[1] } };
	return counting_access(&tb->port[0].origin, tb->port[0].op,
		fixture_route(&tb->fixture, 0, 1), &p);
}

/* Posts and triggers a work request, which must be accepted. */
static inline void tb_issue_vci(struct testbench *tb, const struct cay_vci *v)
{
	struct origin *o = &tb->port[0].origin;
	assert_true(counting_post(o, v));
	assert_int_equal(
		counting_trigger(o, tb->port[0].op, CAY_ISSUE_VCI, 1).accepted,
		1);
}

/* ---- posted receives of port 1 ---- */

/* Posts new memory as a receive; returns its address. */
static inline unsigned char *tb_post_receive(
	struct testbench *tb, uint64_t bytes, uint64_t cookie)
{
	uint64_t at = fixture_memory(&tb->fixture, bytes);
	assert_int_not_equal(at, 0);
	assert_int_equal(fixture_post(&tb->fixture, 1, at, bytes, cookie), 0);
	return fixture_at(&tb->fixture, at);
}

static inline unsigned tb_posted_state(
	const struct testbench *tb, uint32_t index)
{
	const struct cay_posted_receive *slot =
		&fixture_own(&tb->fixture, 1)->posted[index];
	return atomic_load((_Atomic uint64_t *)&slot->state) &
	       POSTED_STATE_MASK;
}

/* Frees the slot that a POSTED_RECV notification names, as its owner does. */
static inline void tb_posted_free(
	const struct testbench *tb, const struct cay_nqe *n)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	struct cay_posted_receive *slot =
		&fixture_own(&tb->fixture, 1)->posted[index];
	assert_int_equal(tb_posted_state(tb, (uint32_t)index), POSTED_FILLED);
	atomic_store((_Atomic uint64_t *)&slot->state, POSTED_FREE);
}

/* Completes into port 1's own queue, as if an entry had been reserved. */
static inline int tb_complete(struct testbench *tb, uint64_t tag)
{
	const struct completion c = { .tag = tag, .command = CAY_SEND };
	return counting_complete(
		fixture_own(&tb->fixture, 1), tb->port[1].op, &c, 0);
}

static inline uint64_t tb_w(const struct testbench *tb, uint32_t port)
{
	return atomic_load(&fixture_own(&tb->fixture, port)->control->w);
}

static inline uint64_t tb_r(const struct testbench *tb, uint32_t port)
{
	return atomic_load(&fixture_own(&tb->fixture, port)->control->r);
}

static inline struct cay_nqe *tb_entry(
	const struct testbench *tb, uint32_t port, uint64_t position)
{
	const struct context *own = fixture_own(&tb->fixture, port);
	return &own->nq[position & ((1ull << own->nq_log2) - 1)];
}

/*
 * Copies the oldest notification of a port and returns its entry and payload
 * at once. False if there is none.
 */
static inline bool tb_receive(
	struct testbench *tb, uint32_t port, struct cay_nqe *copy)
{
	struct context *own = fixture_own(&tb->fixture, port);
	uint64_t r = tb_r(tb, port);
	uint64_t rdr = queue_rdr(r);

	*copy = (struct cay_nqe){ 0 };
	if (!counting_peek(own, queue_nq(r)))
		return false;
	*copy = *tb_entry(tb, port, queue_nq(r));
	if ((copy->word[7] & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
		rdr = copy->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	counting_return_entries(own, queue_word(queue_nq(r) + 1, rdr));
	return true;
}

/* Compares the counted accesses; kinds that are not listed must have none. */
static inline void tb_assert_costs(const struct testbench *tb,
	const struct counting_sum expected[HOST_KINDS])
{
	assert_int_equal(tb->c.lines_lost, 0);
	for (int k = 0; k < HOST_KINDS; k++) {
		const struct counting_sum *a = &tb->c.kind[k];
		const struct counting_sum *e = &expected[k];
		if (memcmp(a, e, sizeof(*a)) == 0)
			continue;
		fail_msg("%s: %lu loads %lu stores %lu atomics %lu bytes %lu "
			 "lines, expected %lu %lu %lu %lu %lu",
			counting_kind_name((enum host_kind)k), a->loads,
			a->stores, a->atomics, a->copied_bytes, a->lines,
			e->loads, e->stores, e->atomics, e->copied_bytes,
			e->lines);
	}
}

#define TB_TEST(name) \
	cmocka_unit_test_setup_teardown(name, tb_setup, tb_teardown)

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
