/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each instruction costs, pinned: accesses by kind, and which shared
 * lines it writes. A change that makes a message touch one line more fails
 * here before anybody measures it.
 */
#include "bench.h"

/* Every kind that is not named costs nothing. */
static void assert_costs(const struct counting *c,
	const struct counting_sum expected[HOST_KINDS])
{
	assert_int_equal(c->lines_lost, 0);
	for (int k = 0; k < HOST_KINDS; k++) {
		const struct counting_sum *a = &c->kind[k], *e = &expected[k];
		if (memcmp(a, e, sizeof(*a)) == 0)
			continue;
		fail_msg("%s: %lu loads %lu stores %lu atomics %lu bytes %lu "
			 "lines, not %lu %lu %lu %lu %lu",
			counting_kind_name((enum host_kind)k), a->loads,
			a->stores, a->atomics, a->copied_bytes, a->lines,
			e->loads, e->stores, e->atomics, e->copied_bytes,
			e->lines);
	}
}

/* W and its epoch are looked at, then W is swapped. */
static const struct counting_sum cost_claim = {
	.loads = 2, .atomics = 1, .lines = 1
};
/* After the publication: is the node just replacing the queue set? */
static const struct counting_sum cost_moving = { .loads = 1 };
/* TRY with two words, OWN, IDLE. */
static const struct counting_sum cost_record = { .stores = 5, .lines = 1 };
static const struct counting_sum cost_entry = { .stores = 8, .lines = 1 };

/* R is looked at only when the queue looks full: once in a roomful. */
static void fast_send_writes_two_lines(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	for (size_t length = 0; length <= CAY_FAST_SEND_BYTES; length++) {
		counting_begin(&b->c);
		assert_int_equal(bench_fast(b, 1, 2, length), 0);
		counting_end();
		assert_int_equal(counting_lines_shared(&b->c), 2);
		assert_costs(&b->c,
			(struct counting_sum[HOST_KINDS]){
				[HOST_W] = cost_claim,
				[HOST_MIGRATION] = cost_moving,
				[HOST_R] = { .loads = length &&
						      length % BENCH_ROOM ==
							      0 },
				[HOST_NQE] = { .stores = 3 + (length + 7) / 8,
					.lines = 1 },
				[HOST_RECORD] = cost_record });
		assert_true(bench_take(b, 1, &n));
	}
}

/* Beside W it also finds out whether its target has posted anything. */
static void send_writes_its_payload_too(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	static const size_t lengths[] = { 41, 63, 64, 65, 127, 128, 129, 1000,
		4096, 8191, 8192 };
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		size_t lines = (lengths[i] + 63) / 64;
		counting_begin(&b->c);
		assert_int_equal(bench_send(b, 1, lengths[i], 0), 0);
		counting_end();
		assert_int_equal(counting_lines_shared(&b->c), 2 + lines);
		assert_costs(&b->c,
			(struct counting_sum[HOST_KINDS]){
				[HOST_W] = { .loads = 3,
					.atomics = 1,
					.lines = 1 },
				[HOST_MIGRATION] = cost_moving,
				[HOST_NQE] = cost_entry,
				[HOST_RDR] = { .copied_bytes = lengths[i],
					.lines = lines },
				[HOST_RECORD] = cost_record });
		assert_true(bench_take(b, 1, &n));
	}
}

/* However it was sent, up to 40 bytes cost the same two lines. */
static void short_send_is_a_fast_send(void **state)
{
	struct bench *b = *state;
	counting_begin(&b->c);
	assert_int_equal(bench_send(b, 1, 40, 0), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&b->c), 2);
	assert_int_equal(b->c.kind[HOST_NQE].stores, 8);
	assert_int_equal(b->c.kind[HOST_RDR].copied_bytes, 0);
}

/* A second claim and a second notification, both in the origin's own queue. */
static void completion_doubles_the_cost(void **state)
{
	struct bench *b = *state;
	counting_begin(&b->c);
	assert_int_equal(bench_send(b, 1, 8, CAY_VCI_NOTIFY), 0);
	counting_end();
	assert_costs(&b->c,
		(struct counting_sum[HOST_KINDS]){
			[HOST_W] = { .loads = 4, .atomics = 2, .lines = 2 },
			[HOST_MIGRATION] = { .loads = 2 },
			[HOST_NQE] = { .stores = 4 + 8, .lines = 2 },
			[HOST_RECORD] = { .stores = 10, .lines = 1 } });
}

static void reference_writes_three_lines(void **state)
{
	struct bench *b = *state;
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = ARENA_HEAP_OFFSET,
		.length = 1 << 20 };
	counting_begin(&b->c);
	assert_int_equal(bench_reference(b, 1, &source), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&b->c), 3);
	assert_int_equal(b->c.kind[HOST_W].lines, 1);
	assert_int_equal(b->c.kind[HOST_NQE].lines, 1);
	assert_int_equal(b->c.kind[HOST_REFERENCE].lines, 1);
	assert_int_equal(b->c.kind[HOST_REFERENCE].atomics, 1);
	assert_int_equal(b->c.kind[HOST_RDR].copied_bytes, 0);
}

/* The posting thread writes one line of its own queue and reads it back. */
static void work_queue_adds_a_line(void **state)
{
	struct bench *b = *state;
	struct origin *o = &b->w.port[0].origin;
	const struct cay_vci v = {
		{ CAY_FAST_SEND | 1 | 1ull << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(1) | 8 << CAY_VCI_BYTES_SHIFT, 77, 0x1234 }
	};
	counting_begin(&b->c);
	assert_true(counting_post(o, &v));
	struct cay_answer a =
		counting_trigger(o, b->w.port[0].op, CAY_ISSUE_VCI, 1);
	counting_end();
	assert_int_equal(a.accepted, 1);
	assert_costs(&b->c,
		(struct counting_sum[HOST_KINDS]){ [HOST_W] = cost_claim,
			[HOST_MIGRATION] = cost_moving,
			[HOST_NQE] = { .stores = 4, .lines = 1 },
			[HOST_RECORD] = cost_record,
			[HOST_PEER] = { .loads = 1 },
			[HOST_WQ] = { .loads = 8, .stores = 8, .lines = 1 } });
}

/* A look costs one load of the entry; the room goes back with one swap. */
static void receiver_never_touches_w(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	counting_begin(&b->c);
	assert_true(bench_take(b, 1, &n));
	assert_false(bench_take(b, 1, &n));
	counting_end();
	assert_costs(&b->c,
		(struct counting_sum[HOST_KINDS]){ [HOST_NQE] = { .loads = 2 },
			[HOST_R] = { .atomics = 1, .lines = 1 } });
}

static void assert_nothing_shared(const struct counting *c)
{
	assert_int_equal(counting_lines_shared(c), 0);
	for (int k = 0; k < HOST_KINDS; k++) {
		if (k == HOST_RECORD)
			continue;
		assert_int_equal(c->kind[k].stores, 0);
		assert_int_equal(c->kind[k].atomics, 0);
		assert_int_equal(c->kind[k].copied_bytes, 0);
	}
}

static void refusal_writes_nothing_shared(void **state)
{
	struct bench *b = *state;
	while (bench_fast(b, 1, 2, 8) == 0)
		continue;
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), -EAGAIN);
	assert_int_equal(bench_send(b, 1, 1000, 0), -EAGAIN);
	counting_end();
	assert_nothing_shared(&b->c);
	assert_int_equal(atomic_load(&b->w.port[0].op->state), OP_IDLE);

	queue_set_close(&b->w.arena, fixture_vpid(1), 1);
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), -EPIPE);
	counting_end();
	assert_nothing_shared(&b->c);
}

static void trace_has_the_steps_in_order(void **state)
{
	struct bench *b = *state;
	static const enum device_step expected[] = { STEP_TRY, STEP_CLAIMED,
		STEP_OWN, STEP_ENTRY, STEP_PUBLISH, STEP_IDLE };
	unsigned steps = 0;
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	counting_end();
	assert_in_range(b->c.trace_count, 1, b->c.trace_max);
	for (uint32_t i = 0; i < b->c.trace_count; i++) {
		if (b->trace[i].what != COUNTING_STEP)
			continue;
		assert_in_range(steps, 0, ARRAY_COUNT(expected) - 1);
		assert_int_equal(b->trace[i].step, expected[steps++]);
	}
	assert_int_equal(steps, ARRAY_COUNT(expected));
}

/* Where: relative to the arena, and only what lies in it. */
static void trace_has_places(void **state)
{
	struct bench *b = *state;
	const struct context *to = fixture_own(&b->w, 1);
	uint64_t w_at =
		(uint64_t)((unsigned char *)&to->control->w - b->w.arena.base);
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	counting_end();
	assert_int_equal(b->trace[0].what, COUNTING_LOAD);
	assert_int_equal(b->trace[0].kind, HOST_W);
	assert_int_equal(b->trace[0].at, w_at);
	assert_int_equal(b->trace[0].bytes, 8);
}

static void trace_is_bounded(void **state)
{
	struct bench *b = *state;
	b->c.trace_max = 3;
	memset(b->trace, 0xff, sizeof(b->trace));
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	counting_end();
	assert_true(b->c.trace_count > 3);
	assert_int_equal(b->trace[3].at, UINT64_MAX);
	assert_int_equal(b->trace[3].bytes, UINT32_MAX);
}

static void count_one(void *argument)
{
	++*(unsigned *)argument;
}

static void yields_before_each_access(void **state)
{
	struct bench *b = *state;
	unsigned yields = 0, accesses = 0;
	b->c.yield = count_one;
	b->c.yield_argument = &yields;
	counting_begin(&b->c);
	assert_int_equal(bench_send(b, 1, 100, 0), 0);
	counting_end();
	for (uint32_t i = 0; i < b->c.trace_count; i++)
		accesses += b->trace[i].what != COUNTING_STEP;
	assert_int_equal(yields, accesses);
	assert_int_equal(bench_send(b, 1, 100, 0), 0);
	assert_int_equal(yields, accesses);
}

/* The claim swaps SLEEP or ARMED out of W, and the wake-up is owed once. */
static void wake_ups_are_counted(void **state)
{
	struct bench *b = *state;
	struct context *own = fixture_own(&b->w, 1);
	uint64_t next = queue_nq(bench_w(b, 1));
	assert_int_not_equal(counting_sleep(own, next, W_SLEEP), 0);
	assert_int_not_equal(counting_sleep(own, next, W_ARMED), 0);
	counting_begin(&b->c);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	counting_end();
	assert_int_equal(b->c.wakes, 1);
	assert_int_equal(b->c.rings, 1);
	assert_int_equal(b->c.room_wakes, 0);
}

static void waiting_senders_are_woken(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	assert_int_equal(bench_fast(b, 1, 2, 8), 0);
	atomic_fetch_or(&fixture_own(&b->w, 1)->control->r, R_WAITERS);
	counting_begin(&b->c);
	assert_true(bench_take(b, 1, &n));
	assert_true(bench_take(b, 1, &n));
	counting_end();
	assert_int_equal(b->c.room_wakes, 1);
	assert_int_equal(b->c.wakes + b->c.rings, 0);
}

static void kinds_have_names(void **state)
{
	(void)state;
	for (int k = 0; k < HOST_KINDS; k++)
		assert_non_null(counting_kind_name((enum host_kind)k));
	assert_string_equal(counting_kind_name(HOST_KINDS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(fast_send_writes_two_lines),
		BENCH_TEST(send_writes_its_payload_too),
		BENCH_TEST(short_send_is_a_fast_send),
		BENCH_TEST(completion_doubles_the_cost),
		BENCH_TEST(reference_writes_three_lines),
		BENCH_TEST(work_queue_adds_a_line),
		BENCH_TEST(receiver_never_touches_w),
		BENCH_TEST(refusal_writes_nothing_shared),
		BENCH_TEST(trace_has_the_steps_in_order),
		BENCH_TEST(trace_has_places),
		BENCH_TEST(trace_is_bounded),
		BENCH_TEST(yields_before_each_access),
		BENCH_TEST(wake_ups_are_counted),
		BENCH_TEST(waiting_senders_are_woken),
		cmocka_unit_test(kinds_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
