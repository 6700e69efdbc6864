/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each instruction costs, pinned: accesses by kind, and which shared
 * lines it writes. A change that makes a message touch one line more fails
 * here before anybody measures it.
 */
#include "testbench.h"

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
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (size_t length = 0; length <= CAY_FAST_SEND_BYTES; length++) {
		counting_begin(&tb->c);
		assert_int_equal(tb_send_fast(tb, 1, 2, length), 0);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 2);
		assert_costs(&tb->c,
			(struct counting_sum[HOST_KINDS]){
				[HOST_W] = cost_claim,
				[HOST_MIGRATION] = cost_moving,
				[HOST_R] = { .loads = length &&
						      length % TB_UNRESERVED ==
							      0 },
				[HOST_NQE] = { .stores = 3 + (length + 7) / 8,
					.lines = 1 },
				[HOST_RECORD] = cost_record });
		assert_true(tb_receive(tb, 1, &n));
	}
}

/* Beside W it also finds out whether its target has posted anything. */
static void send_writes_its_payload_too(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	static const size_t lengths[] = { 41, 63, 64, 65, 127, 128, 129, 1000,
		4096, 8191, 8192 };
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		size_t lines = (lengths[i] + 63) / 64;
		counting_begin(&tb->c);
		assert_int_equal(tb_send(tb, 1, lengths[i], 0), 0);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 2 + lines);
		assert_costs(&tb->c,
			(struct counting_sum[HOST_KINDS]){
				[HOST_W] = { .loads = 3,
					.atomics = 1,
					.lines = 1 },
				[HOST_MIGRATION] = cost_moving,
				[HOST_NQE] = cost_entry,
				[HOST_RDR] = { .copied_bytes = lengths[i],
					.lines = lines },
				[HOST_RECORD] = cost_record });
		assert_true(tb_receive(tb, 1, &n));
	}
}

/* However it was sent, up to 40 bytes cost the same two lines. */
static void short_send_is_a_fast_send(void **state)
{
	struct testbench *tb = *state;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 40, 0), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 2);
	assert_int_equal(tb->c.kind[HOST_NQE].stores, 8);
	assert_int_equal(tb->c.kind[HOST_RDR].copied_bytes, 0);
}

/* A second claim and a second notification, both in the origin's own queue. */
static void completion_doubles_the_cost(void **state)
{
	struct testbench *tb = *state;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_NOTIFY), 0);
	counting_end();
	assert_costs(&tb->c,
		(struct counting_sum[HOST_KINDS]){
			[HOST_W] = { .loads = 4, .atomics = 2, .lines = 2 },
			[HOST_MIGRATION] = { .loads = 2 },
			[HOST_NQE] = { .stores = 4 + 8, .lines = 2 },
			[HOST_RECORD] = { .stores = 10, .lines = 1 } });
}

static void reference_writes_three_lines(void **state)
{
	struct testbench *tb = *state;
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = ARENA_HEAP_OFFSET,
		.length = 1 << 20 };
	counting_begin(&tb->c);
	assert_int_equal(tb_send_reference(tb, 1, &source), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 3);
	assert_int_equal(tb->c.kind[HOST_W].lines, 1);
	assert_int_equal(tb->c.kind[HOST_NQE].lines, 1);
	assert_int_equal(tb->c.kind[HOST_REFERENCE].lines, 1);
	assert_int_equal(tb->c.kind[HOST_REFERENCE].atomics, 1);
	assert_int_equal(tb->c.kind[HOST_RDR].copied_bytes, 0);
}

/* The posting thread writes one line of its own queue and reads it back. */
static void work_queue_adds_a_line(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	const struct cay_vci v = {
		{ CAY_FAST_SEND | 1 | 1ull << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(1) | 8 << CAY_VCI_BYTES_SHIFT, 77, 0x1234 }
	};
	counting_begin(&tb->c);
	assert_true(counting_post(o, &v));
	struct cay_answer a =
		counting_trigger(o, tb->port[0].op, CAY_ISSUE_VCI, 1);
	counting_end();
	assert_int_equal(a.accepted, 1);
	assert_costs(&tb->c,
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
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_begin(&tb->c);
	assert_true(tb_receive(tb, 1, &n));
	assert_false(tb_receive(tb, 1, &n));
	counting_end();
	assert_costs(&tb->c,
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
	struct testbench *tb = *state;
	while (tb_send_fast(tb, 1, 2, 8) == 0)
		continue;
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 1000, 0), -EAGAIN);
	counting_end();
	assert_nothing_shared(&tb->c);
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);

	queue_set_close(&tb->fixture.arena, fixture_vpid(1), 1);
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), -EPIPE);
	counting_end();
	assert_nothing_shared(&tb->c);
}

static void trace_has_the_steps_in_order(void **state)
{
	struct testbench *tb = *state;
	static const enum device_step expected[] = { STEP_TRY, STEP_CLAIMED,
		STEP_OWN, STEP_ENTRY, STEP_PUBLISH, STEP_IDLE };
	unsigned steps = 0;
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_end();
	assert_in_range(tb->c.trace_count, 1, tb->c.trace_max);
	for (uint32_t i = 0; i < tb->c.trace_count; i++) {
		if (tb->trace[i].what != COUNTING_STEP)
			continue;
		assert_in_range(steps, 0, ARRAY_COUNT(expected) - 1);
		assert_int_equal(tb->trace[i].step, expected[steps++]);
	}
	assert_int_equal(steps, ARRAY_COUNT(expected));
}

/* Where: relative to the arena, and only what lies in it. */
static void trace_has_places(void **state)
{
	struct testbench *tb = *state;
	const struct context *to = fixture_own(&tb->fixture, 1);
	uint64_t w_at = (uint64_t)((unsigned char *)&to->control->w -
				   tb->fixture.arena.base);
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_end();
	assert_int_equal(tb->trace[0].what, COUNTING_LOAD);
	assert_int_equal(tb->trace[0].kind, HOST_W);
	assert_int_equal(tb->trace[0].at, w_at);
	assert_int_equal(tb->trace[0].bytes, 8);
}

static void trace_is_bounded(void **state)
{
	struct testbench *tb = *state;
	tb->c.trace_max = 3;
	memset(tb->trace, 0xff, sizeof(tb->trace));
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_end();
	assert_true(tb->c.trace_count > 3);
	assert_int_equal(tb->trace[3].at, UINT64_MAX);
	assert_int_equal(tb->trace[3].bytes, UINT32_MAX);
}

static void count_one(void *argument)
{
	++*(unsigned *)argument;
}

static void yields_before_each_access(void **state)
{
	struct testbench *tb = *state;
	unsigned yields = 0, accesses = 0;
	tb->c.yield = count_one;
	tb->c.yield_argument = &yields;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 100, 0), 0);
	counting_end();
	for (uint32_t i = 0; i < tb->c.trace_count; i++)
		accesses += tb->trace[i].what != COUNTING_STEP;
	assert_int_equal(yields, accesses);
	assert_int_equal(tb_send(tb, 1, 100, 0), 0);
	assert_int_equal(yields, accesses);
}

/* The claim swaps SLEEP or ARMED out of W, and the wake-up is owed once. */
static void wake_ups_are_counted(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t next = queue_nq(tb_w(tb, 1));
	assert_int_not_equal(counting_sleep(own, next, W_SLEEP), 0);
	assert_int_not_equal(counting_sleep(own, next, W_ARMED), 0);
	counting_begin(&tb->c);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_end();
	assert_int_equal(tb->c.wakes, 1);
	assert_int_equal(tb->c.rings, 1);
	assert_int_equal(tb->c.room_wakes, 0);
}

static void waiting_senders_are_woken(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	atomic_fetch_or(&fixture_own(&tb->fixture, 1)->control->r, R_WAITERS);
	counting_begin(&tb->c);
	assert_true(tb_receive(tb, 1, &n));
	assert_true(tb_receive(tb, 1, &n));
	counting_end();
	assert_int_equal(tb->c.room_wakes, 1);
	assert_int_equal(tb->c.wakes + tb->c.rings, 0);
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
		TB_TEST(fast_send_writes_two_lines),
		TB_TEST(send_writes_its_payload_too),
		TB_TEST(short_send_is_a_fast_send),
		TB_TEST(completion_doubles_the_cost),
		TB_TEST(reference_writes_three_lines),
		TB_TEST(work_queue_adds_a_line),
		TB_TEST(receiver_never_touches_w),
		TB_TEST(refusal_writes_nothing_shared),
		TB_TEST(trace_has_the_steps_in_order),
		TB_TEST(trace_has_places),
		TB_TEST(trace_is_bounded),
		TB_TEST(yields_before_each_access),
		TB_TEST(wake_ups_are_counted),
		TB_TEST(waiting_senders_are_woken),
		cmocka_unit_test(kinds_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
