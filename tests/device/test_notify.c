/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification queue: reserves and backpressure, closed, recycled and
 * migrated targets, void entries, and wrap-around of counters and generations.
 */
#include "testbench.h"

static void full_rdr_causes_backpressure(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (int i = 0; i < 8; i++)
		assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 40, 0), 0); /* inline: no RDR units */
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
}

/* A payload that would cross the end of the RDR skips the units before it. */
static void skipped_units_count_as_used(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (int i = 0; i < 7; i++)
		assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_int_equal(tb_send(tb, 1, 4096, 0), 0);
	assert_true(tb_receive(tb, 1, &n));
	/* 64 units before the end and 128 at the start are free. */
	assert_int_equal(tb_send(tb, 1, 4097, 0), 0);
	assert_int_equal(tb_send(tb, 1, 4097, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 63 * 64, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
}

/* The payload would fit without the units that it skips. */
static void skipped_units_cause_backpressure(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send(tb, 1, 4096, 0), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_true(tb_receive(tb, 1, &n));
	/* 64 units before the end and 64 at the start are free. */
	assert_int_equal(tb_send(tb, 1, 4097, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 4096, 0), 0);
	assert_int_equal(tb_send(tb, 1, 4096, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
}

static uint32_t fill_with_messages(struct testbench *tb, unsigned flags)
{
	uint32_t sent = 0;
	while (tb_send(tb, sent, 8, flags) == 0)
		sent++;
	return sent;
}

static uint32_t fill_with_completions(struct testbench *tb)
{
	uint32_t sent = 0;
	while (tb_complete(tb, sent) == 0)
		sent++;
	return sent;
}

static void reserves_are_respected(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(fill_with_messages(tb, 0), TB_UNRESERVED);
	assert_int_equal(
		fill_with_messages(tb, CAY_VCI_PRIORITY), TB_PRIORITY_RESERVE);
	assert_int_equal(fill_with_completions(tb), TB_CQ_RESERVE);
	assert_int_equal(queue_ahead(tb_w(tb, 1), tb_r(tb, 1)), TB_ENTRIES);

	/* Returned entries refill the completion reserve first. */
	for (uint32_t i = 0; i < TB_CQ_RESERVE; i++) {
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(fill_with_messages(tb, 0), 0);
		assert_int_equal(fill_with_messages(tb, CAY_VCI_PRIORITY), 0);
	}
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(fill_with_messages(tb, 0), 0);
	assert_int_equal(fill_with_messages(tb, CAY_VCI_PRIORITY), 1);
	assert_int_equal(fill_with_completions(tb), TB_CQ_RESERVE);
}

static void completions_may_use_all_entries(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(fill_with_completions(tb), TB_ENTRIES);
	assert_int_equal(fill_with_messages(tb, 0), 0);
}

static void completions_need_a_reservation(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (uint32_t i = 0; i < TB_CQ_RESERVE; i++)
		assert_int_equal(tb_send(tb, i, 8, CAY_VCI_NOTIFY), 0);
	uint64_t w = tb_w(tb, 1);
	assert_int_equal(tb_send(tb, 9, 8, CAY_VCI_NOTIFY), -EAGAIN);
	assert_true(tb_w(tb, 1) == w);
	assert_int_equal(tb_send(tb, 9, 8, 0), 0);
	assert_true(tb_receive(tb, 0, &n));
	counting_completions_returned(&tb->port[0].origin, 1);
	assert_int_equal(tb_send(tb, 9, 8, CAY_VCI_NOTIFY), 0);
}

static void backpressure_reserves_no_completion(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(fill_with_messages(tb, 0), TB_UNRESERVED);
	for (uint32_t i = 0; i < 2 * TB_CQ_RESERVE; i++)
		assert_int_equal(tb_send(tb, i, 8, CAY_VCI_NOTIFY), -EAGAIN);
	assert_int_equal(tb->port[0].origin.device.completions, 0);
}

static void closed_target_returns_epipe(void **state)
{
	struct testbench *tb = *state;
	queue_set_close(&tb->fixture.arena, fixture_vpid(1), 1);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), -EPIPE);
	assert_int_equal(tb_send(tb, 1, 1000, CAY_VCI_NOTIFY), -EPIPE);
	assert_int_equal(tb_complete(tb, 1), -EPIPE);
	assert_int_equal(tb->port[0].origin.device.completions, 0);
	assert_int_equal(
		counting_sleep(fixture_own(&tb->fixture, 1), 0, W_SLEEP), 0);
}

/* Two epochs later, another port uses the same control block. */
static void recycled_vpid_returns_epipe(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(fixture_reopen(&tb->fixture, 1, false), 0);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, false), 0);
	assert_ptr_equal(fixture_own(&tb->fixture, 1)->control,
		(*fixture_route(&tb->fixture, 0, 1))->control);
	assert_int_equal(tb_w(tb, 1) & W_CLOSED, 0);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), -EPIPE);
	assert_false(tb_receive(tb, 1, &n));
}

static void migrated_target_is_followed(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	assert_int_equal(tb_send_fast(tb, 2, 0, 8), 0);
	assert_true(tb_receive(tb, 1, &n)); /* in the old queue set */
	assert_int_equal(n.word[0], 1);
	assert_true(context_follow_migration(
		&tb->port[1].origin.device.own, fixture_own(&tb->fixture, 1)));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(n.word[0], 2);
	assert_int_equal(nqe_generation(&n), 3);
}

/* Leaves an entry as a process does that dies after the claim. */
static uint64_t claim_without_publishing(struct testbench *tb, uint32_t units)
{
	struct queue_control *control = fixture_own(&tb->fixture, 1)->control;
	uint64_t w = atomic_load(&control->w);
	atomic_store(
		&control->w, queue_word(queue_nq(w) + 1, queue_rdr(w) + units));
	return queue_nq(w);
}

static void void_entry_is_skipped(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	struct cay_nqe n;
	for (uint32_t lap = 0; lap < 3 * TB_ENTRIES; lap++) {
		uint64_t position = claim_without_publishing(tb, 2);
		uint64_t rdr = queue_rdr(tb_w(tb, 1));
		assert_int_equal(tb_send(tb, lap, 100, 0), 0);
		assert_false(tb_receive(tb, 1, &n));
		assert_true(counting_void_entry(own, position, (int64_t)rdr));
		assert_false(counting_void_entry(own, position, (int64_t)rdr));
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(nqe_command(&n), CAY_NQE_INVALID);
		assert_int_equal(nqe_bytes(&n), 1);
		assert_int_equal(n.word[5] >> 32, rdr);
		assert_true(nqe_valid(&n));
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[0], lap);
	}
}

static void void_without_extent(void **state)
{
	struct testbench *tb = *state;
	uint64_t position = claim_without_publishing(tb, 0);
	assert_true(counting_void_entry(
		fixture_own(&tb->fixture, 1), position, -1));
	assert_int_equal(nqe_bytes(tb_entry(tb, 1, position)), 2);
	assert_int_not_equal(
		counting_peek(fixture_own(&tb->fixture, 1), position), 0);
}

static void published_entry_cannot_be_voided(void **state)
{
	struct testbench *tb = *state;
	uint64_t position = queue_nq(tb_w(tb, 1));
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 4, 0, 8), 0);
	assert_false(
		counting_void_entry(fixture_own(&tb->fixture, 1), position, 0));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(n.word[0], 4);
}

static void late_repair_does_not_void_a_newer_entry(void **state)
{
	struct testbench *tb = *state;
	uint64_t position = queue_nq(tb_w(tb, 1));
	struct cay_nqe n;
	for (uint32_t i = 0; i < TB_ENTRIES; i++) {
		assert_int_equal(tb_send_fast(tb, i, 0, 8), 0);
		assert_true(tb_receive(tb, 1, &n));
	}
	assert_int_equal(tb_send_fast(tb, 0xfeed, 0, 40), 0);
	assert_false(
		counting_void_entry(fixture_own(&tb->fixture, 1), position, 0));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(n.word[0], 0xfeed);
	assert_memory_equal(&n.word[2], tb->data, 40);
}

/* Moves port 1's queue to the lap with generation 0. */
static void enter_lap_of_generation_zero(struct testbench *tb)
{
	struct queue_control *control = fixture_own(&tb->fixture, 1)->control;
	uint64_t start = queue_word(0xffffull << TB_NQ_LOG2, 0);
	for (uint32_t i = 0; i < TB_ENTRIES; i++)
		tb_entry(tb, 1, i)->word[7] = 0xffffull << 48 | 0xf2;
	atomic_store(&control->w, start);
	atomic_store(&control->r, start);
	atomic_store(&fixture_own(&tb->fixture, 1)->r_seen, start);
	atomic_store(&(*fixture_route(&tb->fixture, 0, 1))->r_seen, start);
}

static void generation_zero_is_valid(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	enter_lap_of_generation_zero(tb);
	for (uint32_t i = 0; i < 2 * TB_ENTRIES; i++) {
		assert_false(tb_receive(tb, 1, &n));
		assert_int_equal(tb_send_fast(tb, i, 0, 8), 0);
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[0], i);
		assert_int_equal(nqe_generation(&n), i / TB_ENTRIES);
	}
}

static void void_entry_is_valid_in_generation_zero(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	struct cay_nqe n;
	enter_lap_of_generation_zero(tb);
	uint64_t position = claim_without_publishing(tb, 0);
	assert_true(counting_void_entry(own, position, -1));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NQE_INVALID);
}

/* The free-running counters have 40 and 20 bits. */
static void counters_wrap_around(void **state)
{
	struct testbench *tb = *state;
	struct queue_control *control = fixture_own(&tb->fixture, 1)->control;
	uint64_t start = queue_word(QUEUE_NQ_MASK - 20, QUEUE_RDR_MASK - 2);
	struct cay_nqe n;
	atomic_store(&control->w, start);
	atomic_store(&control->r, start);
	atomic_store(&(*fixture_route(&tb->fixture, 0, 1))->r_seen, start);
	for (uint32_t i = 0; i < 60; i++) {
		assert_int_equal(tb_send(tb, i, 100, 0), 0);
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[0], i);
	}
	assert_int_equal(queue_nq(tb_w(tb, 1)), 39);
	assert_int_equal(tb_w(tb, 1) & W_FLAGS, 0);
}

static void snapshot_reports_w_and_r(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send(tb, 1, 200, 0), 0);
	uint64_t w = tb_w(tb, 1);
	struct cay_answer a = counting_trigger(
		&tb->port[1].origin, tb->port[1].op, CAY_ISSUE_SNAPSHOT, 0);
	assert_int_equal(a.accepted, 1);
	assert_true(tb_receive(tb, 1, &n));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_STATUS);
	assert_true(n.word[3] == queue_word(queue_nq(w) + 1, 4));
	assert_int_equal(queue_ahead(n.word[3], n.word[4]), 2);
	assert_true(nqe_valid(&n));
}

static void sleep_fails_if_an_entry_arrived(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t next = queue_nq(tb_r(tb, 1));
	uint64_t w = counting_sleep(own, next, W_SLEEP);
	assert_true(w == (tb_r(tb, 1) | W_SLEEP));
	counting_cancel_sleep(own, W_SLEEP);
	assert_int_equal(tb_w(tb, 1) & W_FLAGS, 0);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), 0);
	assert_int_equal(counting_sleep(own, next, W_SLEEP), 0);
	assert_int_equal(tb_w(tb, 1) & W_FLAGS, 0);
}

/* No later claim would wake the consumer. */
static void sleep_fails_if_the_port_is_closed(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t next = queue_nq(tb_r(tb, 1));
	queue_set_close(&tb->fixture.arena, fixture_vpid(1), own->epoch);
	assert_int_equal(counting_sleep(own, next, W_SLEEP), 0);
	assert_int_equal(counting_sleep(own, next, W_ARMED), 0);
	assert_int_equal(tb_w(tb, 1) & W_FLAGS, W_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(full_rdr_causes_backpressure),
		TB_TEST(skipped_units_count_as_used),
		TB_TEST(skipped_units_cause_backpressure),
		TB_TEST(reserves_are_respected),
		TB_TEST(completions_may_use_all_entries),
		TB_TEST(completions_need_a_reservation),
		TB_TEST(backpressure_reserves_no_completion),
		TB_TEST(closed_target_returns_epipe),
		TB_TEST(recycled_vpid_returns_epipe),
		TB_TEST(migrated_target_is_followed),
		TB_TEST(void_entry_is_skipped),
		TB_TEST(void_without_extent),
		TB_TEST(published_entry_cannot_be_voided),
		TB_TEST(late_repair_does_not_void_a_newer_entry),
		TB_TEST(generation_zero_is_valid),
		TB_TEST(void_entry_is_valid_in_generation_zero),
		TB_TEST(counters_wrap_around),
		TB_TEST(snapshot_reports_w_and_r),
		TB_TEST(sleep_fails_if_an_entry_arrived),
		TB_TEST(sleep_fails_if_the_port_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
