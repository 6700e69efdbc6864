/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Races of one operation with another thread, the receiver or the node, whose
 * action is injected before each access of the operation in turn.
 */
#include "inject.h"

/* Counts entries with tag 42, also those that injected actions receive. */
static bool receive_counted(struct testbench *tb, uint32_t port)
{
	struct cay_nqe n;
	if (!tb_receive(tb, port, &n))
		return false;
	tb->messages += nqe_command(&n) == CAY_NOTIFY_FAST_RECV &&
			n.word[0] == 42;
	tb->completions += nqe_command(&n) == CAY_NOTIFY_CC && n.word[0] == 42;
	return true;
}

static unsigned receive_messages(struct testbench *tb)
{
	while (receive_counted(tb, 1))
		continue;
	return tb->messages;
}

static unsigned receive_completions(struct testbench *tb)
{
	while (receive_counted(tb, 0))
		continue;
	return tb->completions;
}

static int send_42(struct testbench *tb)
{
	return tb_send_fast(tb, 42, 0, 8);
}

static int send_42_with_completion(struct testbench *tb)
{
	return tb_send(tb, 42, 8, CAY_VCI_NOTIFY);
}

static void check_one_arrived(struct testbench *tb)
{
	assert_int_equal(receive_messages(tb), 1);
}

/* Stops at an entry that is not published: the receiver cannot pass it. */
static void send_laps(struct testbench *tb, uint32_t to)
{
	for (uint32_t i = 0; i < 3 * TB_ENTRIES; i++)
		if (send_from_2(tb, to) != 0 || !receive_counted(tb, to))
			return;
}

static void send_laps_to_1(struct testbench *tb)
{
	send_laps(tb, 1);
}

static void send_laps_to_0(struct testbench *tb)
{
	send_laps(tb, 0);
}

/* The cached R of port 0 is stale by all unreserved entries. */
static void prepare_stale_r(struct testbench *tb)
{
	struct cay_nqe n;
	for (uint32_t i = 0; i < TB_UNRESERVED; i++) {
		assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
		assert_true(tb_receive(tb, 1, &n));
	}
}

/*
 * After the sender loads W, others send and the receiver returns their entries,
 * so that R passes the loaded W. The queue is empty; comparing the stale W with
 * the new R must not report it as full.
 */
static void stale_w_is_not_mistaken_for_full(void **state)
{
	(void)state;
	inject_before_each_access(
		prepare_stale_r, send_laps_to_1, send_42, check_one_arrived);
}

static void check_one_completed(struct testbench *tb)
{
	check_one_arrived(tb);
	assert_int_equal(receive_completions(tb), 1);
}

/* A completion with a reserved entry must not get lost in the same race. */
static void stale_w_does_not_lose_a_completion(void **state)
{
	(void)state;
	inject_before_each_access(send_laps_to_0, send_laps_to_0,
		send_42_with_completion, check_one_completed);
}

static void prepare_migrated(struct testbench *tb)
{
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
}

/* Another thread of port 0's process, with its own op record. */
static void thread_sends_to_1(struct testbench *tb)
{
	assert_int_equal(counting_send_fast(&tb->port[0].origin,
				 fixture_route(&tb->fixture, 0, 1), 1, tb->data,
				 8, tb->port[2].op),
		0);
}

static void check_one_arrived_after_migration(struct testbench *tb)
{
	assert_int_equal(receive_messages(tb), 0);
	assert_true(context_follow_migration(
		&tb->port[1].origin.device.own, fixture_own(&tb->fixture, 1)));
	check_one_arrived(tb);
}

/* Two threads find that a peer has migrated; both messages arrive. */
static void two_threads_follow_a_migration(void **state)
{
	(void)state;
	inject_before_each_access(prepare_migrated, thread_sends_to_1, send_42,
		check_one_arrived_after_migration);
}

static void prepare_own_migrated(struct testbench *tb)
{
	assert_int_equal(fixture_reopen(&tb->fixture, 0, true), 0);
}

static void thread_follows_own(struct testbench *tb)
{
	context_follow_migration(
		&tb->port[0].origin.device.own, fixture_own(&tb->fixture, 0));
}

static void completion_follows_a_migration(void **state)
{
	(void)state;
	inject_before_each_access(prepare_own_migrated, thread_follows_own,
		send_42_with_completion, check_one_completed);
}

static void prepare_nothing(struct testbench *tb)
{
	(void)tb;
}

/* A fenced entry counts as void, whatever it contains. */
static void check_one_arrived_in_either_set(struct testbench *tb)
{
	uint32_t fenced = fixture_own(&tb->fixture, 1)->control->fenced_count;
	unsigned former = receive_messages(tb), now = 0;
	if (follow_port_1(tb))
		now = receive_messages(tb) - former;
	assert_in_range(former, fenced, 1);
	assert_int_equal(former - fenced + now, 1);
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);
}

static void fenced_sender_retries(void **state)
{
	(void)state;
	inject_before_each_access(prepare_nothing, migrate_port_1, send_42,
		check_one_arrived_in_either_set);
}

/* ---- accesses to a window with NOTIFY_ACCESS ---- */

static struct target notifying_window;

static void prepare_notifying_window(struct testbench *tb)
{
	notifying_window =
		tb_window(tb, 1, 0, 64, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	tb->operand[0] = 1;
}

static int add_1(struct testbench *tb)
{
	return tb_access(tb, CAY_FAA, &notifying_window, 8, 0);
}

static unsigned receive_access_notifications(struct testbench *tb)
{
	unsigned count = 0;
	struct cay_nqe n;
	while (receive_unfenced(tb, &n))
		count += nqe_command(&n) == CAY_NOTIFY_RMA;
	return count;
}

/* The owner is notified once, in the old queue set or in the new one. */
static void check_added_and_notified_once(struct testbench *tb)
{
	unsigned count = receive_access_notifications(tb);
	struct cay_nqe n;
	if (follow_port_1(tb))
		count += receive_access_notifications(tb);
	assert_int_equal(count, 1);
	assert_int_equal(tb_word(tb, &notifying_window), 1);
	assert_true(tb_receive(tb, 0, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
	assert_int_equal(n.word[3], 1);
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);
	assert_int_equal(atomic_load(&tb->port[0].op->window), 0);
}

static void fenced_access_executes_once(void **state)
{
	(void)state;
	inject_before_each_access(prepare_notifying_window, migrate_port_1,
		add_1, check_added_and_notified_once);
}

static void owner_closes(struct testbench *tb)
{
	tb->port[1].origin.wdt[0].rights = 0;
}

static void owner_revokes(struct testbench *tb)
{
	tb->port[1].origin.wdt[0].capability ^= 1;
}

static int add_1_or_refused(struct testbench *tb)
{
	int r = add_1(tb);
	return r == 1 ? 0 : r;
}

/* The origin gets a completion in any case. */
static void check_added_and_notified_or_neither(struct testbench *tb)
{
	struct cay_nqe n;
	uint64_t added = tb_word(tb, &notifying_window);
	assert_in_range(added, 0, 1);
	assert_int_equal(receive_access_notifications(tb), added);
	assert_true(tb_receive(tb, 0, &n));
	assert_int_equal(nqe_command(&n) == CAY_NOTIFY_CC, added);
	assert_false(tb_receive(tb, 0, &n));
}

static void access_is_before_or_after_close(void **state)
{
	(void)state;
	inject_before_each_access(prepare_notifying_window, owner_closes,
		add_1_or_refused, check_added_and_notified_or_neither);
	inject_before_each_access(prepare_notifying_window, owner_revokes,
		add_1_or_refused, check_added_and_notified_or_neither);
}

static const struct reference long_message = { .kind = REFERENCE_PROCESS,
	.pid = 1,
	.address = 0x1000,
	.length = 1 << 20 };

static int send_reference_42(struct testbench *tb)
{
	return tb_send_reference(tb, 42, &long_message);
}

/*
 * If the message is published, the target receives it, the origin's consumer
 * frees the slot, and another thread starts to use it for its own message.
 */
static void reuse_reference_slot(struct testbench *tb)
{
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	if (!tb_receive(tb, 1, &n))
		return;
	assert_true(counting_reference_done(
		&o->refs[0], (uint32_t)n.word[CAY_NQE_WORD_RESULT]));
	counting_reference_free(o, 0);
	atomic_fetch_or(&o->device.references, 1);
	atomic_store(&o->refs[0].state,
		2ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_READY);
}

/* The second message is not published, so its slot must not be SENT. */
static void check_second_use_is_not_sent(struct testbench *tb)
{
	uint64_t state = atomic_load(&tb->port[0].origin.refs[0].state);
	if (state >> REFERENCE_SEQUENCE_SHIFT == 2)
		assert_int_equal(state & REFERENCE_STATE_MASK, REFERENCE_READY);
	else
		assert_int_equal(state & REFERENCE_STATE_MASK, REFERENCE_SENT);
}

static void late_sender_does_not_modify_a_reused_slot(void **state)
{
	(void)state;
	inject_before_each_access(prepare_nothing, reuse_reference_slot,
		send_reference_42, check_second_use_is_not_sent);
}

/* W as the receiver went to sleep, or 0 if it did not. */
static uint64_t sleep_word;

static void receiver_sleeps(struct testbench *tb)
{
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t next = queue_nq(tb_r(tb, 1));
	if (counting_peek(own, next) == 0)
		sleep_word = counting_sleep(own, next, W_SLEEP);
}

static void prepare_awake(struct testbench *tb)
{
	(void)tb;
	sleep_word = 0;
}

static void check_woken(struct testbench *tb)
{
	assert_int_equal(tb->c.wakes, sleep_word != 0);
	assert_int_equal(tb_w(tb, 1) & W_FLAGS, 0);
	check_one_arrived(tb);
}

static void no_wakeup_is_lost(void **state)
{
	(void)state;
	inject_before_each_access(
		prepare_awake, receiver_sleeps, send_42, check_woken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_w_is_not_mistaken_for_full),
		cmocka_unit_test(stale_w_does_not_lose_a_completion),
		cmocka_unit_test(two_threads_follow_a_migration),
		cmocka_unit_test(completion_follows_a_migration),
		cmocka_unit_test(fenced_sender_retries),
		cmocka_unit_test(fenced_access_executes_once),
		cmocka_unit_test(access_is_before_or_after_close),
		cmocka_unit_test(late_sender_does_not_modify_a_reused_slot),
		cmocka_unit_test(no_wakeup_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
