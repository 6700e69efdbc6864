/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Races of a send into a posted receive with other senders, with the receiver,
 * and with the close and the migration of the port.
 */
#include "posted.h"

static void prepare_posted_only(struct testbench *tb)
{
	prepare_one_buffer(tb);
	fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
}

static int send_100_or_backpressure(struct testbench *tb)
{
	int r = send_100(tb);
	return r == -EAGAIN ? 0 : r;
}

static void port_2_sends(struct testbench *tb)
{
	int r = send_100_from_2(tb);
	assert_true(r == 0 || r == -EAGAIN);
}

/* One sender fills the buffer; the other uses the RDR or gets -EAGAIN. */
static void check_buffer_filled_once(struct testbench *tb)
{
	unsigned posted = 0, rdr = 0;
	struct cay_nqe n;
	while (tb_receive(tb, 1, &n)) {
		bool first = n.word[0] == 42;
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
			posted++;
			tb_posted_free(tb, &n);
			if (first)
				assert_memory_equal(buffers[0], tb->data, 100);
			else
				assert_int_equal(
					*(unsigned char *)buffers[0], 0x22);
		} else {
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
			rdr++;
		}
	}
	assert_int_equal(posted, 1);
	assert_in_range(rdr, 0, 1);
	assert_int_equal(posted_available(tb), 0);
	assert_int_equal(slots_in_state(tb, POSTED_FREE),
		fixture_own(&tb->fixture, 1)->posted_entries);
}

static void two_senders_race_for_one_buffer(void **state)
{
	(void)state;
	inject_before_each_access(prepare_one_buffer, port_2_sends, send_100,
		check_buffer_filled_once);
	inject_before_each_access(prepare_posted_only, port_2_sends,
		send_100_or_backpressure, check_buffer_filled_once);
}

/* Cancels the receive unless a sender has claimed it. */
static void receiver_cancels(struct testbench *tb)
{
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t ready = POSTED_READY;
	if (atomic_compare_exchange_strong(
		    (_Atomic uint64_t *)&own->posted[0].state, &ready,
		    POSTED_FREE))
		atomic_fetch_sub(&own->posted_head->available, 1);
}

static void check_posted_or_rdr(struct testbench *tb)
{
	struct cay_nqe n;
	assert_true(tb_receive(tb, 1, &n));
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV)
		tb_posted_free(tb, &n);
	else
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	assert_false(tb_receive(tb, 1, &n));
	assert_int_equal(slots_in_state(tb, POSTED_CLAIMED), 0);
	assert_int_equal(slots_in_state(tb, POSTED_FILLED), 0);
	assert_int_equal(
		posted_available(tb), slots_in_state(tb, POSTED_READY));
}

static void cancel_races_with_delivery(void **state)
{
	(void)state;
	inject_before_each_access(prepare_one_buffer, receiver_cancels,
		send_100, check_posted_or_rdr);
}

/* Cancels the receive and posts another buffer in the same slot. */
static void receiver_replaces_buffer(struct testbench *tb)
{
	receiver_cancels(tb);
	if (tb_posted_state(tb, 0) != POSTED_FREE)
		return;
	tb->port[1].origin.client.posted_write = 0;
	memset(buffers[0], 0, 128);
	buffers[1] = tb_post_receive(tb, 128, 43);
}

static void check_named_buffer_filled(struct testbench *tb)
{
	struct cay_nqe n;
	assert_true(tb_receive(tb, 1, &n));
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
		bool second = n.word[CAY_NQE_WORD_COOKIE] == 43;
		assert_memory_equal(buffers[second], tb->data, 100);
		if (second)
			assert_int_equal(*(unsigned char *)buffers[0], 0);
	}
}

static void reposted_slot_is_filled_at_its_new_buffer(void **state)
{
	(void)state;
	inject_before_each_access(prepare_one_buffer, receiver_replaces_buffer,
		send_100, check_named_buffer_filled);
}

static int send_100_or_full(struct testbench *tb)
{
	int r = send_100(tb);
	/* After backpressure the slot must be READY again. */
	if (r == -EAGAIN && slots_in_state(tb, POSTED_READY) == 1 &&
		posted_available(tb) == 1)
		return 0;
	return r;
}

static void check_slot_is_consistent(struct testbench *tb)
{
	struct cay_nqe n;
	while (tb_receive(tb, 1, &n))
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV)
			tb_posted_free(tb, &n);
	assert_int_equal(slots_in_state(tb, POSTED_CLAIMED), 0);
	assert_int_equal(slots_in_state(tb, POSTED_FILLED), 0);
	assert_int_equal(
		posted_available(tb), slots_in_state(tb, POSTED_READY));
	assert_int_equal(atomic_load(&sender_op(tb)->posted), 0);
	assert_int_equal(atomic_load(&sender_op(tb)->window), 0);
}

static void full_queue_returns_the_buffer(void **state)
{
	(void)state;
	inject_before_each_access(prepare_one_buffer, fill_queue,
		send_100_or_full, check_slot_is_consistent);
}

/* Counts posted messages, also those that injected actions receive. */
static bool receive_counted(struct testbench *tb)
{
	struct cay_nqe n;
	if (!tb_receive(tb, 1, &n))
		return false;
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
		assert_posted(&n, 100, 42, 0);
		tb->messages++;
	}
	return true;
}

static void send_laps(struct testbench *tb)
{
	for (uint32_t i = 0; i < 3 * TB_ENTRIES; i++)
		if (send_from_2(tb, 1) != 0 || !receive_counted(tb))
			return;
}

static void prepare_stale_r(struct testbench *tb)
{
	prepare_one_buffer(tb);
	for (uint32_t i = 0; i < TB_UNRESERVED; i++) {
		assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
		assert_true(receive_counted(tb));
	}
}

static void check_one_arrived(struct testbench *tb)
{
	while (receive_counted(tb))
		continue;
	assert_int_equal(tb->messages, 1);
}

/* A sender that compares a stale W with a new R must not find it full. */
static void stale_w_is_not_mistaken_for_full(void **state)
{
	(void)state;
	inject_before_each_access(
		prepare_stale_r, send_laps, send_100, check_one_arrived);
}

/* ---- the owner closes the port ---- */

/* After the sender's op record is idle, the memory can be reused. */
static struct op_record *sender_record;
static bool memory_reused; /* that of slots and buffers */

static void owner_closes(struct testbench *tb)
{
	queue_set_close(&tb->fixture.arena, fixture_vpid(1), 1);
}

static void reuse_memory_when_quiesced(struct testbench *tb)
{
	struct context *own = fixture_own(&tb->fixture, 1);
	if (memory_reused || atomic_load(&own->control->access_epoch) ||
		atomic_load(&sender_record->state) != OP_IDLE)
		return;
	memset(own->posted_head, 0x55, 64 * 8);
	memset(buffers[0], 0x55, 128);
	memory_reused = true;
}

static void close_then_reuse(void *argument)
{
	struct injection *i = argument;
	if (i->accesses++ == i->before)
		owner_closes(i->tb);
	reuse_memory_when_quiesced(i->tb);
}

static void closed_port_is_not_written_after_quiescence(void **state)
{
	(void)state;
	unsigned accesses = 1;
	for (unsigned before = 0; before < accesses; before++) {
		void *new_state = NULL;
		assert_int_equal(tb_setup_ports(&new_state, 2), 0);
		struct testbench *tb = new_state;
		struct injection i = { .tb = tb, .before = before };
		prepare_one_buffer(tb);
		sender_record = sender_op(tb);
		memory_reused = false;
		tb->c.yield = close_then_reuse;
		tb->c.yield_argument = &i;
		counting_begin(&tb->c);
		int r = send_100(tb);
		counting_end();
		accesses = i.accesses;
		assert_true(r == 0 || r == -EPIPE);
		unsigned char *head =
			(void *)fixture_own(&tb->fixture, 1)->posted_head;
		for (unsigned k = 0; memory_reused && k < 64 * 8; k++)
			if (head[k] != 0x55)
				fail_msg("closed before access %u: byte %u of "
					 "reused memory is %#x",
					before, k, head[k]);
		tb_teardown(&new_state);
	}
}

/* ---- the node migrates the port ---- */

static unsigned receive_all_unfenced(struct testbench *tb, struct cay_nqe *last)
{
	unsigned count = 0;
	struct cay_nqe n;
	for (; receive_unfenced(tb, &n); count++)
		*last = n;
	return count;
}

static void check_once_in_either_set(struct testbench *tb)
{
	struct cay_nqe n = { 0 };
	unsigned count = receive_all_unfenced(tb, &n);
	if (follow_port_1(tb))
		count += receive_all_unfenced(tb, &n);
	assert_int_equal(count, 1);
	assert_posted(&n, 100, 42, 0);
	assert_memory_equal(buffers[0], tb->data, 100);
	tb_posted_free(tb, &n);
	assert_int_equal(posted_available(tb), 0);
	assert_int_equal(slots_in_state(tb, POSTED_FREE),
		fixture_own(&tb->fixture, 1)->posted_entries);
	assert_int_equal(atomic_load(&sender_op(tb)->state), OP_IDLE);
}

static void fenced_sender_retries(void **state)
{
	(void)state;
	inject_before_each_access(prepare_one_buffer, migrate_port_1, send_100,
		check_once_in_either_set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_senders_race_for_one_buffer),
		cmocka_unit_test(cancel_races_with_delivery),
		cmocka_unit_test(reposted_slot_is_filled_at_its_new_buffer),
		cmocka_unit_test(full_queue_returns_the_buffer),
		cmocka_unit_test(stale_w_is_not_mistaken_for_full),
		cmocka_unit_test(closed_port_is_not_written_after_quiescence),
		cmocka_unit_test(fenced_sender_retries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
