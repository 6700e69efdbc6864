/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One instruction, and somebody else who runs between two of its accesses:
 * each test is repeated with the intrusion before every single access.
 */
#include "intrusion.h"

/* What was taken with tag 42, by whomever, since the test began. */
static unsigned taken_messages, taken_completions;

static void (*prepare_given)(struct bench *);

static void prepare_afresh(struct bench *b)
{
	taken_messages = taken_completions = 0;
	prepare_given(b);
}

static void everywhere(void (*prepare)(struct bench *),
	void (*run)(struct bench *), int (*instruction)(struct bench *),
	void (*check)(struct bench *))
{
	prepare_given = prepare;
	intrude_everywhere(prepare_afresh, run, instruction, check);
}

static bool take(struct bench *b, uint32_t port)
{
	struct cay_nqe n;
	if (!bench_take(b, port, &n))
		return false;
	taken_messages += nqe_command(&n) == CAY_NOTIFY_FAST_RECV &&
			  n.word[0] == 42;
	taken_completions += nqe_command(&n) == CAY_NOTIFY_CC &&
			     n.word[0] == 42;
	return true;
}

static unsigned messages_taken(struct bench *b)
{
	while (take(b, 1))
		continue;
	return taken_messages;
}

static unsigned completions_taken(struct bench *b)
{
	while (take(b, 0))
		continue;
	return taken_completions;
}

static int send_42(struct bench *b)
{
	return bench_fast(b, 42, 0, 8);
}

static int send_42_notified(struct bench *b)
{
	return bench_send(b, 42, 8, CAY_VCI_NOTIFY);
}

static void check_one_arrived(struct bench *b)
{
	assert_int_equal(messages_taken(b), 1);
}

static int send_from_2(struct bench *b, uint32_t to)
{
	return counting_send_fast(&b->w.port[2].origin, b->w.port[2].op,
		fixture_route(&b->w, 2, to), 1, 0, b->data, 8);
}

/* As far as it goes: nobody gets past an entry that is not published. */
static void laps_from_2(struct bench *b, uint32_t to)
{
	for (uint32_t i = 0; i < 3 * BENCH_ENTRIES; i++)
		if (send_from_2(b, to) != 0 || !take(b, to))
			return;
}

static void laps_to_1(struct bench *b)
{
	laps_from_2(b, 1);
}

static void laps_to_0(struct bench *b)
{
	laps_from_2(b, 0);
}

/* The R that port 0 last saw is as old as its queue is long. */
static void prepare_old_r(struct bench *b)
{
	struct cay_nqe n;
	for (uint32_t i = 0; i < BENCH_ROOM; i++) {
		assert_int_equal(bench_fast(b, 1, 0, 8), 0);
		assert_true(bench_take(b, 1, &n));
	}
}

/*
 * W is loaded, others send and are received, R passes that W: the queue is
 * empty, and a sender who compares the old W with the new R must not believe
 * that it is full.
 */
static void overtaken_sender_is_not_refused(void **state)
{
	(void)state;
	everywhere(prepare_old_r, laps_to_1, send_42, check_one_arrived);
}

static void check_one_completed(struct bench *b)
{
	check_one_arrived(b);
	assert_int_equal(completions_taken(b), 1);
}

/* Nor must a completion, for which room was kept, get lost in that way. */
static void overtaken_completion_is_not_lost(void **state)
{
	(void)state;
	everywhere(laps_to_0, laps_to_0, send_42_notified, check_one_completed);
}

static void prepare_moved(struct bench *b)
{
	assert_int_equal(fixture_reopen(&b->w, 1, true), 0);
}

/* Another thread of port 0's process, with a record of its own. */
static void thread_sends_to_1(struct bench *b)
{
	assert_int_equal(
		counting_send_fast(&b->w.port[0].origin, b->w.port[2].op,
			fixture_route(&b->w, 0, 1), 1, 0, b->data, 8),
		0);
}

static void check_one_arrived_after_move(struct bench *b)
{
	assert_int_equal(messages_taken(b), 0);
	assert_true(context_follow_migration(
		&b->w.port[1].origin.own, fixture_own(&b->w, 1)));
	check_one_arrived(b);
}

/* Two threads find out that a peer has moved; both must get there. */
static void two_threads_follow(void **state)
{
	(void)state;
	everywhere(prepare_moved, thread_sends_to_1, send_42,
		check_one_arrived_after_move);
}

static void prepare_own_moved(struct bench *b)
{
	assert_int_equal(fixture_reopen(&b->w, 0, true), 0);
}

static void thread_follows_own(struct bench *b)
{
	context_follow_migration(
		&b->w.port[0].origin.own, fixture_own(&b->w, 0));
}

static void completion_follows_with_another_thread(void **state)
{
	(void)state;
	everywhere(prepare_own_moved, thread_follows_own, send_42_notified,
		check_one_completed);
}

static void prepare_nothing(struct bench *b)
{
	(void)b;
}

/*
 * The node replaces the queue set of port 1. What a thread has claimed and not
 * published is fenced off; one that may be about to claim is waited for.
 */
static void node_replaces_1(struct bench *b)
{
	const struct op_record *op = b->w.port[0].op;
	struct context *former = fixture_own(&b->w, 1);
	struct queue_control *c = former->control;
	unsigned state = atomic_load(&op->state) & OP_STATE_MASK;
	uint64_t position = queue_nq(atomic_load(&op->w_old));

	if (state == OP_TRY)
		return;
	atomic_store(&c->migration, QUEUE_MIGRATING);
	assert_int_equal(fixture_reopen(&b->w, 1, true), 0);
	if (state == OP_OWN && !counting_peek(former, position)) {
		c->fenced[0].from = position;
		c->fenced[0].to = position + 1;
		c->fenced_count = 1;
	}
	atomic_store(&c->migration, QUEUE_MIGRATED);
}

/* What is fenced is void, whatever is stored there. */
static void check_one_arrived_in_either(struct bench *b)
{
	struct fixture_port *p = &b->w.port[1];
	uint32_t fenced = fixture_own(&b->w, 1)->control->fenced_count;
	unsigned former = messages_taken(b), now = 0;
	if (p->config.epoch > 1) {
		assert_true(context_follow_migration(
			&p->origin.own, fixture_own(&b->w, 1)));
		now = messages_taken(b) - former;
	}
	assert_in_range(former, fenced, 1);
	assert_int_equal(former - fenced + now, 1);
	assert_int_equal(atomic_load(&b->w.port[0].op->state), OP_IDLE);
}

static void fenced_sender_issues_again(void **state)
{
	(void)state;
	everywhere(prepare_nothing, node_replaces_1, send_42,
		check_one_arrived_in_either);
}

/* ---- the same with an access that its owner is told of ---- */

static struct target told;

static void prepare_told(struct bench *b)
{
	told = bench_window(
		b, 1, 0, 64, BENCH_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	b->operand[0] = 1;
}

static int add_1(struct bench *b)
{
	return bench_access(b, CAY_FAA, &told, 8, 0);
}

static unsigned told_in(struct bench *b)
{
	struct context *own = fixture_own(&b->w, 1);
	unsigned count = 0;
	struct cay_nqe n;
	for (;;) {
		uint64_t position = queue_nq(bench_r(b, 1));
		if (!bench_take(b, 1, &n))
			return count;
		count += nqe_command(&n) == CAY_NOTIFY_RMA &&
			 !queue_fenced(own->control, position);
	}
}

/* Made once and told of once, wherever it was told of. */
static void check_added_and_told_once(struct bench *b)
{
	struct fixture_port *p = &b->w.port[1];
	unsigned count = told_in(b);
	struct cay_nqe n;
	if (p->config.epoch > 1) {
		assert_true(context_follow_migration(
			&p->origin.own, fixture_own(&b->w, 1)));
		count += told_in(b);
	}
	assert_int_equal(count, 1);
	assert_int_equal(bench_word(b, &told), 1);
	assert_true(bench_take(b, 0, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
	assert_int_equal(n.word[3], 1);
	assert_int_equal(atomic_load(&b->w.port[0].op->state), OP_IDLE);
	assert_int_equal(atomic_load(&b->w.port[0].op->window), 0);
}

static void fenced_access_is_made_once(void **state)
{
	(void)state;
	everywhere(prepare_told, node_replaces_1, add_1,
		check_added_and_told_once);
}

/* The owner closes the window, or changes its key, wherever it likes. */
static void owner_closes(struct bench *b)
{
	b->w.port[1].origin.wdt[0].rights = 0;
}

static void owner_revokes(struct bench *b)
{
	b->w.port[1].origin.wdt[0].capability ^= 1;
}

static int add_1_or_refused(struct bench *b)
{
	int r = add_1(b);
	return r == 1 ? 0 : r;
}

/* Made and told of, or neither; its origin is told in any case. */
static void check_both_or_neither(struct bench *b)
{
	struct cay_nqe n;
	uint64_t added = bench_word(b, &told);
	assert_in_range(added, 0, 1);
	assert_int_equal(told_in(b), added);
	assert_true(bench_take(b, 0, &n));
	assert_int_equal(nqe_command(&n) == CAY_NOTIFY_CC, added);
	assert_false(bench_take(b, 0, &n));
}

static void closing_comes_before_or_after(void **state)
{
	(void)state;
	everywhere(prepare_told, owner_closes, add_1_or_refused,
		check_both_or_neither);
	everywhere(prepare_told, owner_revokes, add_1_or_refused,
		check_both_or_neither);
}

static const struct reference long_message = { .kind = REFERENCE_PROCESS,
	.pid = 1,
	.address = 0x1000,
	.length = 1 << 20 };

static int send_reference_42(struct bench *b)
{
	return bench_reference(b, 42, &long_message);
}

/*
 * If the target can see the message, it takes it, the origin's consumer frees
 * the slot, and another thread fills it in for a message of its own.
 */
static void slot_is_used_again(struct bench *b)
{
	struct origin *o = &b->w.port[0].origin;
	struct cay_nqe n;
	if (!bench_take(b, 1, &n))
		return;
	assert_true(counting_reference_done(
		&o->refs[0], (uint32_t)n.word[CAY_NQE_WORD_RESULT]));
	counting_reference_free(o, 0);
	atomic_fetch_or(&o->references, 1);
	atomic_store(&o->refs[0].state,
		2ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_READY);
}

/* The second use is not published yet, so nobody may call it sent. */
static void check_second_use(struct bench *b)
{
	uint64_t state = atomic_load(&b->w.port[0].origin.refs[0].state);
	if (state >> REFERENCE_SEQUENCE_SHIFT == 2)
		assert_int_equal(state & REFERENCE_STATE_MASK, REFERENCE_READY);
	else
		assert_int_equal(state & REFERENCE_STATE_MASK, REFERENCE_SENT);
}

static void late_sender_leaves_the_next_use_alone(void **state)
{
	(void)state;
	everywhere(prepare_nothing, slot_is_used_again, send_reference_42,
		check_second_use);
}

/* The receiver goes to sleep wherever it likes; somebody owes it a wake-up. */
static uint64_t sleeping_on;

static void receiver_sleeps(struct bench *b)
{
	struct context *own = fixture_own(&b->w, 1);
	uint64_t next = queue_nq(bench_r(b, 1));
	if (counting_peek(own, next) == 0)
		sleeping_on = counting_sleep(own, next, W_SLEEP);
}

static void prepare_awake(struct bench *b)
{
	(void)b;
	sleeping_on = 0;
}

static void check_woken(struct bench *b)
{
	assert_int_equal(b->c.wakes, sleeping_on != 0);
	assert_int_equal(bench_w(b, 1) & W_FLAGS, 0);
	check_one_arrived(b);
}

static void no_wake_up_is_lost(void **state)
{
	(void)state;
	everywhere(prepare_awake, receiver_sleeps, send_42, check_woken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overtaken_sender_is_not_refused),
		cmocka_unit_test(overtaken_completion_is_not_lost),
		cmocka_unit_test(two_threads_follow),
		cmocka_unit_test(completion_follows_with_another_thread),
		cmocka_unit_test(fenced_sender_issues_again),
		cmocka_unit_test(fenced_access_is_made_once),
		cmocka_unit_test(closing_comes_before_or_after),
		cmocka_unit_test(late_sender_leaves_the_next_use_alone),
		cmocka_unit_test(no_wake_up_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
