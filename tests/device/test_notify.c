/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification queue: who may use how much of it, what a closed or
 * recycled target answers, what a void entry looks like, and what happens when
 * counts and generations wrap.
 */
#include "testbench.h"

static void full_rdr_refuses(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (int i = 0; i < 8; i++)
		assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 40, 0), 0); /* needs none of it */
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(tb_send(tb, 1, 8192, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
}

/* What would wrap needs the room that it skips as well. */
static void skipped_room_counts(void **state)
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

static uint32_t fill(struct testbench *tb, unsigned flags)
{
	uint32_t sent = 0;
	while (tb_send(tb, sent, 8, flags) == 0)
		sent++;
	return sent;
}

static uint32_t fill_completions(struct testbench *tb)
{
	uint32_t sent = 0;
	while (tb_complete(tb, sent) == 0)
		sent++;
	return sent;
}

static void each_leaves_room_for_the_next(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(fill(tb, 0), TB_UNRESERVED);
	assert_int_equal(fill(tb, CAY_VCI_PRIORITY), TB_PRIORITY_RESERVE);
	assert_int_equal(fill_completions(tb), TB_CQ_RESERVE);
	assert_int_equal(queue_ahead(tb_w(tb, 1), tb_r(tb, 1)), TB_ENTRIES);

	/* Room that comes back goes to completions first. */
	for (uint32_t i = 0; i < TB_CQ_RESERVE; i++) {
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(fill(tb, 0), 0);
		assert_int_equal(fill(tb, CAY_VCI_PRIORITY), 0);
	}
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(fill(tb, 0), 0);
	assert_int_equal(fill(tb, CAY_VCI_PRIORITY), 1);
	assert_int_equal(fill_completions(tb), TB_CQ_RESERVE);
}

static void completions_may_use_all(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(fill_completions(tb), TB_ENTRIES);
	assert_int_equal(fill(tb, 0), 0);
}

/* An origin never asks for more completions than are reserved for it. */
static void completions_are_reserved(void **state)
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

static void refused_message_reserves_nothing(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(fill(tb, 0), TB_UNRESERVED);
	for (uint32_t i = 0; i < 2 * TB_CQ_RESERVE; i++)
		assert_int_equal(tb_send(tb, i, 8, CAY_VCI_NOTIFY), -EAGAIN);
	assert_int_equal(tb->port[0].origin.completions, 0);
}

static void closed_target_is_gone(void **state)
{
	struct testbench *tb = *state;
	queue_set_close(&tb->fixture.arena, fixture_vpid(1), 1);
	assert_int_equal(tb_send_fast(tb, 1, 2, 8), -EPIPE);
	assert_int_equal(tb_send(tb, 1, 1000, CAY_VCI_NOTIFY), -EPIPE);
	assert_int_equal(tb_complete(tb, 1), -EPIPE);
	assert_int_equal(tb->port[0].origin.completions, 0);
	assert_int_equal(
		counting_sleep(fixture_own(&tb->fixture, 1), 0, W_SLEEP), 0);
}

/* Two epochs on, the same control is open again, for somebody else. */
static void other_epoch_is_gone(void **state)
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

static void moved_target_is_followed(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	assert_int_equal(tb_send_fast(tb, 2, 0, 8), 0);
	assert_true(tb_receive(tb, 1, &n)); /* the former set's */
	assert_int_equal(n.word[0], 1);
	assert_true(context_follow_migration(
		&tb->port[1].origin.own, fixture_own(&tb->fixture, 1)));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(n.word[0], 2);
	assert_int_equal(nqe_generation(&n), 3);
}

/* Claims the next entry and leaves it at that, as the dead do. */
static uint64_t claim_and_die(struct testbench *tb, uint32_t units)
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
		uint64_t position = claim_and_die(tb, 2);
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
	uint64_t position = claim_and_die(tb, 0);
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

/* A repair that comes a lap late must not destroy what is there now. */
static void late_repair_does_no_harm(void **state)
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

/* Puts port 1's queue into the lap whose generation is 0. */
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

static void generation_zero_is_a_lap_as_any(void **state)
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

/* A void is seen in every lap, or its port would wait for it for ever. */
static void void_is_seen_in_generation_zero(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	struct cay_nqe n;
	enter_lap_of_generation_zero(tb);
	uint64_t position = claim_and_die(tb, 0);
	assert_true(counting_void_entry(own, position, -1));
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NQE_INVALID);
}

/* The free-running counts wrap at 40 and 20 bits and nobody notices. */
static void counts_wrap(void **state)
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

static void snapshot_tells_the_pointers(void **state)
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

static void sleeper_is_not_fooled(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(full_rdr_refuses),
		TB_TEST(skipped_room_counts),
		TB_TEST(each_leaves_room_for_the_next),
		TB_TEST(completions_may_use_all),
		TB_TEST(completions_are_reserved),
		TB_TEST(refused_message_reserves_nothing),
		TB_TEST(closed_target_is_gone),
		TB_TEST(other_epoch_is_gone),
		TB_TEST(moved_target_is_followed),
		TB_TEST(void_entry_is_skipped),
		TB_TEST(void_without_extent),
		TB_TEST(published_entry_cannot_be_voided),
		TB_TEST(late_repair_does_no_harm),
		TB_TEST(generation_zero_is_a_lap_as_any),
		TB_TEST(void_is_seen_in_generation_zero),
		TB_TEST(counts_wrap),
		TB_TEST(snapshot_tells_the_pointers),
		TB_TEST(sleeper_is_not_fooled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
