/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exact costs of messages: accesses by kind, and shared cache lines written. A
 * change that makes a message access one more line fails here. Also the traces
 * and the events of the counting platform.
 */
#include "testbench.h"

/* Loads of W and its epoch, CAS on W. */
static const struct counting_sum cost_claim = {
	.loads = 2, .atomics = 1, .lines = 1
};
/* Checked after publishing. */
static const struct counting_sum cost_migration_check = { .loads = 1 };
/* TRY with its two words, OWN, IDLE. */
static const struct counting_sum cost_record = { .stores = 5, .lines = 1 };
static const struct counting_sum cost_entry = { .stores = 8, .lines = 1 };

/* R is loaded only when the cached R makes the queue look full. */
static void fast_send_writes_two_lines(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (size_t length = 0; length <= CAY_FAST_SEND_BYTES; length++) {
		counting_begin(&tb->c);
		assert_int_equal(tb_send_fast(tb, 1, 2, length), 0);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 2);
		tb_assert_costs(tb,
			(struct counting_sum[HOST_KINDS]){
				[HOST_W] = cost_claim,
				[HOST_MIGRATION] = cost_migration_check,
				[HOST_R] = { .loads = length &&
						      length % TB_UNRESERVED ==
							      0 },
				[HOST_NQE] = { .stores = 3 + (length + 7) / 8,
					.lines = 1 },
				[HOST_RECORD] = cost_record });
		assert_true(tb_receive(tb, 1, &n));
	}
}

/* As if R had been loaded: it is only when the queue looks full. */
static void r_is_known(struct testbench *tb)
{
	atomic_load(fixture_route(&tb->fixture, 0, 1))->r_seen = tb_r(tb, 1);
}

#define BURST 8

/* One claim, one record, one check; an entry for each message. */
static void burst_writes_one_line_more_than_its_entries(void **state)
{
	struct testbench *tb = *state;
	struct cay_message messages[BURST];
	struct cay_nqe n;
	for (unsigned count = 1; count <= BURST; count++) {
		for (unsigned i = 0; i < count; i++)
			messages[i] = (struct cay_message){
				.tag = i, .data = tb->data, .length = 8
			};
		r_is_known(tb);
		counting_begin(&tb->c);
		assert_int_equal(
			counting_send_burst(&tb->port[0].origin, tb->port[0].op,
				fixture_route(&tb->fixture, 0, 1), messages,
				count),
			count);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 1 + count);
		tb_assert_costs(
			tb, (struct counting_sum[HOST_KINDS]){
				    [HOST_W] = cost_claim,
				    [HOST_MIGRATION] = cost_migration_check,
				    [HOST_NQE] = { .stores = 4 * count,
					    .lines = count },
				    [HOST_RECORD] = cost_record });
		for (unsigned i = 0; i < count; i++) {
			assert_true(tb_receive(tb, 1, &n));
			assert_int_equal(n.word[CAY_NQE_WORD_TAG], i);
		}
	}
}

/* A target that sleeps is woken once, after the last entry. */
static void burst_wakes_once(void **state)
{
	struct testbench *tb = *state;
	struct cay_message messages[BURST] = { 0 };
	struct context *own = fixture_own(&tb->fixture, 1);
	assert_true(counting_sleep(own, queue_nq(tb_r(tb, 1)), W_SLEEP));
	counting_begin(&tb->c);
	assert_int_equal(
		counting_send_burst(&tb->port[0].origin, tb->port[0].op,
			fixture_route(&tb->fixture, 0, 1), messages, BURST),
		BURST);
	counting_end();
	assert_int_equal(tb->c.wakes, 1);
}

static const unsigned char *payload_in_rdr(
	struct testbench *tb, const struct cay_nqe *n)
{
	return fixture_own(&tb->fixture, 1)->rdr +
	       n->word[CAY_NQE_WORD_START] * RDR_UNIT;
}

/*
 * With either call. The third load is the posted mode of the target, beside W.
 */
static void send_also_writes_its_payload(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	static const size_t lengths[] = { 41, 63, 64, 65, 127, 128, 129, 511,
		512, 513, 1000, 4096, 8191, 8192 };
	for (size_t i = 0; i < 2 * ARRAY_COUNT(lengths); i++) {
		size_t length = lengths[i / 2];
		size_t lines = (length + 63) / 64;
		for (size_t at = 0; at < length; at++)
			tb->data[at] = (unsigned char)(i + 7 * at);
		r_is_known(tb);
		counting_begin(&tb->c);
		assert_int_equal(i % 2 ? tb_send(tb, 1, length, 0)
				       : tb_send_eager(tb, 1, length),
			0);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 2 + lines);
		tb_assert_costs(
			tb, (struct counting_sum[HOST_KINDS]){
				    [HOST_W] = { .loads = 3,
					    .atomics = 1,
					    .lines = 1 },
				    [HOST_MIGRATION] = cost_migration_check,
				    [HOST_NQE] = cost_entry,
				    [HOST_RDR] = { .copied_bytes = length,
					    .lines = lines },
				    [HOST_RECORD] = cost_record });
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_LENGTH], length);
		assert_int_equal(
			n.word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT,
			0xa91);
		assert_memory_equal(payload_in_rdr(tb, &n), tb->data, length);
	}
}

/* Up to 40 bytes cost two lines with either call. */
static void inline_send_costs_a_fast_send(void **state)
{
	struct testbench *tb = *state;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 40, 0), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 2);
	assert_int_equal(tb->c.kind[HOST_NQE].stores, 8);
	assert_int_equal(tb->c.kind[HOST_RDR].copied_bytes, 0);
}

/* Both are in the origin's own queue set. */
static void completion_adds_a_claim_and_an_entry(void **state)
{
	struct testbench *tb = *state;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_NOTIFY), 0);
	counting_end();
	tb_assert_costs(
		tb, (struct counting_sum[HOST_KINDS]){
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

/* The thread writes one WQ line and reads it back. */
static void work_queue_adds_a_line(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	const struct cay_vci v = {
		{ CAY_FAST_SEND | 1 | CAY_VCI_ROUTE_LOCAL |
				1ull << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(1) | 8 << CAY_VCI_BYTES_SHIFT, 77, 0x1234 }
	};
	counting_begin(&tb->c);
	assert_true(counting_post(o, &v));
	struct cay_answer a =
		counting_trigger(o, tb->port[0].op, CAY_ISSUE_VCI, 1);
	counting_end();
	assert_int_equal(a.accepted, 1);
	tb_assert_costs(tb,
		(struct counting_sum[HOST_KINDS]){ [HOST_W] = cost_claim,
			[HOST_MIGRATION] = cost_migration_check,
			[HOST_NQE] = { .stores = 4, .lines = 1 },
			[HOST_RECORD] = cost_record,
			[HOST_PEER] = { .loads = 1 },
			[HOST_WQ] = { .loads = 8, .stores = 8, .lines = 1 } });
}

/* Polling is one load of the entry, returning one atomic on R. */
static void receiver_does_not_access_w(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	counting_begin(&tb->c);
	assert_true(tb_receive(tb, 1, &n));
	assert_false(tb_receive(tb, 1, &n));
	counting_end();
	tb_assert_costs(tb,
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

static void errors_write_no_shared_line(void **state)
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

static void trace_has_arena_offsets(void **state)
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

static void count_yield(void *argument)
{
	++*(unsigned *)argument;
}

static void yield_is_called_before_each_access(void **state)
{
	struct testbench *tb = *state;
	unsigned yields = 0, accesses = 0;
	tb->c.yield = count_yield;
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

/* The claim clears SLEEP and ARMED in W, so only the first send wakes. */
static void wakeups_are_counted(void **state)
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

static void waiting_senders_are_woken_once(void **state)
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
		TB_TEST(burst_writes_one_line_more_than_its_entries),
		TB_TEST(burst_wakes_once),
		TB_TEST(send_also_writes_its_payload),
		TB_TEST(inline_send_costs_a_fast_send),
		TB_TEST(completion_adds_a_claim_and_an_entry),
		TB_TEST(reference_writes_three_lines),
		TB_TEST(work_queue_adds_a_line),
		TB_TEST(receiver_does_not_access_w),
		TB_TEST(errors_write_no_shared_line),
		TB_TEST(trace_has_the_steps_in_order),
		TB_TEST(trace_has_arena_offsets),
		TB_TEST(trace_is_bounded),
		TB_TEST(yield_is_called_before_each_access),
		TB_TEST(wakeups_are_counted),
		TB_TEST(waiting_senders_are_woken_once),
		cmocka_unit_test(kinds_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
