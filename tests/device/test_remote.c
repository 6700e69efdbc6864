/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory at the device: stored data, completions and notifications word
 * by word, and the order of the checks.
 */
#include "broken_request.h"

static void receive_completion(struct testbench *tb, unsigned command,
	unsigned error, struct cay_nqe *n)
{
	assert_true(tb_receive(tb, 0, n));
	assert_true(nqe_valid(n));
	assert_int_equal(nqe_command(n),
		CAY_NOTIFY_CC | error << CAY_COMMAND_ERROR_SHIFT);
	assert_int_equal(n->word[6], command);
	assert_int_equal((n->word[7] >> 32) & 0xffff, fixture_vpid(1));
	counting_completions_returned(&tb->port[0].origin, 1);
}

/* ---- data, completions and notifications ---- */

static void put_completion_words(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 5, 4096, CAY_RIGHT_WRITE);
	struct cay_nqe n;
	t.offset = 100;
	assert_int_equal(tb_access(tb, CAY_PUT, &t, 1000, CAY_VCI_NOTIFY), 0);
	receive_completion(tb, CAY_PUT, 0, &n);
	assert_int_equal(n.word[0], 0x7a9);
	assert_true(n.word[1] == (FIXTURE_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[2], 1000);
	assert_int_equal(n.word[3], 100);
	assert_int_equal(n.word[4], 5);
	assert_int_equal(nqe_bytes(&n), 0);
	assert_memory_equal(tb_memory(tb, &t), tb->data, 1000);
	assert_false(tb_receive(tb, 1, &n));
}

static void fast_get_completion_has_the_data(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, CAY_RIGHT_READ);
	struct cay_nqe n;
	memcpy(tb_memory(tb, &t), tb->data, 64);
	for (size_t length = 1; length <= CAY_FAST_PUT_BYTES; length++)
		for (t.offset = 0; t.offset < 9; t.offset++) {
			unsigned char words[24] = { 0 };
			unsigned command = CAY_FAST_GET |
					   (unsigned)(length + 7) / 8;
			memcpy(words, tb->data + t.offset, length);
			assert_int_equal(
				tb_access(tb, command, &t, length, 0), 0);
			receive_completion(tb, command, 0, &n);
			assert_int_equal(nqe_bytes(&n), length);
			assert_memory_equal(&n.word[2], words, 24);
		}
}

static void atomic_completion_has_both_values(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, CAY_RIGHT_ATOMIC);
	struct cay_nqe n;
	t.offset = 56;
	tb->operand[0] = UINT64_MAX;
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, 0), 0);
		receive_completion(tb, CAY_FAA, 0, &n);
		assert_true(n.word[3] == 0 - i - 1);
		assert_true(n.word[4] == 0 - i);
	}
	tb->operand[0] = 1; /* not the current value */
	tb->operand[1] = 77;
	assert_int_equal(tb_access(tb, CAY_CAS, &t, 8, 0), 0);
	receive_completion(tb, CAY_CAS, 0, &n);
	assert_true(n.word[3] == (uint64_t)-3 && n.word[4] == (uint64_t)-3);
	tb->operand[0] = (uint64_t)-3;
	assert_int_equal(tb_access(tb, CAY_CAS, &t, 8, 0), 0);
	receive_completion(tb, CAY_CAS, 0, &n);
	assert_true(n.word[3] == 77 && n.word[4] == (uint64_t)-3);
	assert_int_equal(tb_word(tb, &t), 77);
}

static void owner_notification_words(void **state)
{
	struct testbench *tb = *state;
	struct target t =
		tb_window(tb, 1, 9, 4096, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	struct cay_nqe n;
	t.offset = 24;
	assert_int_equal(tb_access(tb, CAY_FAST_PUT | 2, &t, 13, 0), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_true(nqe_valid(&n));
	assert_int_equal(n.word[0], 0x7a9);
	assert_true(n.word[1] == (FIXTURE_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[2], 13);
	assert_int_equal(n.word[3], 24);
	assert_int_equal(n.word[4], 9);
	assert_int_equal(n.word[5], 0);
	assert_int_equal(n.word[6], CAY_FAST_PUT | 2);
	assert_int_equal(n.word[7] & 0xffffffff, CAY_NOTIFY_RMA);
	assert_int_equal((n.word[7] >> 32) & 0xffff, fixture_vpid(0));
	assert_false(tb_receive(tb, 0, &n));
}

static void access_needs_an_entry_for_its_notification(void **state)
{
	struct testbench *tb = *state;
	struct target t =
		tb_window(tb, 1, 0, 4096, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	struct cay_nqe n;
	uint64_t completions = tb->port[0].origin.device.completions;
	while (tb_send_fast(tb, 1, 2, 8) == 0)
		continue;
	uint64_t w = tb_w(tb, 1);
	assert_int_equal(tb_put(tb, &t, 8), -EAGAIN);
	assert_int_equal(
		tb_access(tb, CAY_FAA, &t, 8, CAY_VCI_NOTIFY), -EAGAIN);
	assert_int_equal(tb_word(tb, &t), 0);
	assert_true(tb_w(tb, 1) == w);
	assert_int_equal(tb->port[0].origin.device.completions, completions);
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);
	assert_int_equal(atomic_load(&tb->port[0].op->window), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(tb_put(tb, &t, 8), 0);
}

/* All combinations of byte enables. */
static void masked_put_keeps_other_bytes(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, CAY_RIGHT_WRITE);
	t.offset = 8;
	for (unsigned enables = 0; enables < 256; enables++) {
		unsigned char expected[8];
		uint64_t before = 0x1111111111111111ull;
		memcpy(tb_memory(tb, &t), &before, 8);
		tb->operand[0] = 0xa8a7a6a5a4a3a2a1ull;
		tb->operand[1] = enables;
		assert_int_equal(
			tb_access(tb, CAY_MISALIGNED_PUT, &t, 8, 0), 0);
		for (unsigned i = 0; i < 8; i++)
			expected[i] = (unsigned char)(enables >> i & 1
							      ? 0xa1 + i
							      : 0x11);
		assert_memory_equal(tb_memory(tb, &t), expected, 8);
	}
}

static void work_requests_copy_between_windows(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 2, 8192, TB_RIGHTS);
	uint64_t own = fixture_memory(&tb->fixture, 8192), key;
	struct cay_nqe n;
	assert_int_equal(fixture_window(&tb->fixture, 0, 6, own, 8192,
				 CAY_RIGHT_READ, &key),
		0);
	unsigned char *mine = fixture_at(&tb->fixture, own);
	memcpy(mine, tb->data, 8192);
	struct cay_vci v = { { CAY_PUT | 1ull << 24 | CAY_VCI_ROUTE_LOCAL |
				       1ull << 32,
		fixture_vpid(1), 11, 2 | t.capability << 16, 100, 6, 50,
		3000 } };
	tb_issue_vci(tb, &v);
	receive_completion(tb, CAY_PUT, 0, &n);
	t.offset = 100;
	assert_memory_equal(tb_memory(tb, &t), tb->data + 50, 3000);
	v.word[0] = CAY_GET | 1ull << 24 | CAY_VCI_ROUTE_LOCAL | 1ull << 32;
	v.word[6] = 5000;
	v.word[4] = 101;
	v.word[7] = 2000;
	tb_issue_vci(tb, &v);
	receive_completion(tb, CAY_GET, 0, &n);
	assert_memory_equal(mine + 5000, tb->data + 51, 2000);
}

/* ---- errors ---- */

static void first_failing_check_determines_the_error(void **state)
{
	struct broken_request w = { .tb = *state };
	uint64_t invalid_capabilities = 0;
	struct cay_nqe n;
	break_everything(&w);
	for (size_t i = 0; i < ARRAY_COUNT(checks); i++) {
		tb_issue_vci(w.tb, &w.v);
		assert_true(tb_receive(w.tb, 0, &n));
		counting_completions_returned(&w.tb->port[0].origin, 1);
		if ((unsigned)nqe_command(&n) !=
			(CAY_NOTIFY_CC | checks[i].error
						 << CAY_COMMAND_ERROR_SHIFT))
			fail_msg("check %zu: error %u, not %u", i,
				nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT,
				checks[i].error);
		if (checks[i].error == CAY_ERROR_CAPABILITY)
			invalid_capabilities++;
		assert_int_equal(
			w.tb->port[0].origin.device.invalid_capabilities,
			invalid_capabilities);
		checks[i].fix(&w);
	}
	tb_issue_vci(w.tb, &w.v);
	assert_false(tb_receive(w.tb, 0, &n));
	assert_int_equal(w.tb->port[0].origin.device.completions, 0);
	assert_int_equal(invalid_capabilities, 1);
}

static void word_mode_requires_whole_words(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct cay_nqe n;
	struct cay_vci v = { { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 1ull << 32,
		fixture_vpid(1) } };
	tb->port[0].origin.word_mode = WORD_MODE_VCI;
	assert_int_equal(tb_put(tb, &t, 5), 1);
	receive_completion(
		tb, CAY_FAST_PUT | 1, CAY_ERROR_TARGET_LENGTH_ALIGN, &n);
	assert_int_equal(tb_get(tb, &t, tb->got, 100), 1);
	receive_completion(tb, CAY_GET, CAY_ERROR_TARGET_LENGTH_ALIGN, &n);
	t.offset = 4;
	assert_int_equal(tb_put(tb, &t, 8), 1);
	receive_completion(
		tb, CAY_FAST_PUT | 1, CAY_ERROR_TARGET_OFFSET_ALIGN, &n);
	t.offset = 8;
	assert_int_equal(tb_put(tb, &t, 4000), 0);
	assert_memory_equal(tb_memory(tb, &t), tb->data, 4000);
	v.word[3] = 4;
	v.word[4] = 8;
	tb_issue_vci(tb, &v);
	receive_completion(tb, CAY_SEND, CAY_ERROR_ORIGIN_OFFSET_ALIGN, &n);
	v.word[3] = 8;
	v.word[4] = 4;
	tb_issue_vci(tb, &v);
	receive_completion(tb, CAY_SEND, CAY_ERROR_ORIGIN_LENGTH_ALIGN, &n);
	assert_false(tb_receive(tb, 1, &n));
}

/* These commands require alignment also without word mode. */
static void atomics_require_alignment(void **state)
{
	static const unsigned commands[] = { CAY_FAA, CAY_CAS,
		CAY_MISALIGNED_PUT };
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, TB_RIGHTS);
	struct cay_nqe n;
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
		for (t.offset = 0; t.offset < 57; t.offset++) {
			int r = tb_access(
				tb, commands[i], &t, 8, CAY_VCI_NOTIFY);
			assert_int_equal(r, t.offset % 8 != 0);
			receive_completion(tb, commands[i],
				r ? CAY_ERROR_TARGET_OFFSET_ALIGN : 0, &n);
		}
	t.offset = 64;
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, 0), 1);
	receive_completion(tb, CAY_FAA, CAY_ERROR_TARGET_BOUNDS, &n);
}

static const struct {
	unsigned command;
	uint32_t right;
} rights[] = {
	{ CAY_FAST_PUT | 1, CAY_RIGHT_WRITE },
	{ CAY_PUT, CAY_RIGHT_WRITE },
	{ CAY_MISALIGNED_PUT, CAY_RIGHT_WRITE },
	{ CAY_FAST_GET | 1, CAY_RIGHT_READ },
	{ CAY_GET, CAY_RIGHT_READ },
	{ CAY_FAA, CAY_RIGHT_ATOMIC },
	{ CAY_CAS, CAY_RIGHT_ATOMIC },
};

static void each_command_needs_its_right(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	for (uint32_t have = 1; have < 8; have++) {
		struct target t = tb_window(tb, 1, 0, 64, have);
		for (size_t i = 0; i < ARRAY_COUNT(rights); i++) {
			int r = tb_access(
				tb, rights[i].command, &t, 8, CAY_VCI_NOTIFY);
			assert_int_equal(r, !(have & rights[i].right));
			receive_completion(tb, rights[i].command,
				r ? CAY_ERROR_RIGHTS : 0, &n);
		}
	}
}

static void bounds_are_exact(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 100, TB_RIGHTS);
	static const struct {
		uint64_t offset, length;
		int r;
	} cases[] = { { 0, 100, 0 }, { 100, 0, 0 }, { 99, 1, 0 }, { 0, 101, 1 },
		{ 100, 1, 1 }, { 101, 0, 1 }, { UINT64_MAX, 1, 1 },
		{ UINT64_MAX, 0, 1 }, { UINT64_MAX - 7, 8, 1 },
		{ 0, UINT64_MAX, 1 } };
	struct cay_nqe n;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		t.offset = cases[i].offset;
		assert_int_equal(tb_put(tb, &t, cases[i].length), cases[i].r);
		assert_int_equal(tb_receive(tb, 0, &n), cases[i].r);
		if (cases[i].r)
			counting_completions_returned(&tb->port[0].origin, 1);
	}
}

/* A descriptor behind the table is not a window, whatever it contains. */
static void windows_behind_the_table_are_refused(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, TB_RIGHTS);
	uint32_t count = fixture_own(&tb->fixture, 1)->windows;
	struct cay_window_descriptor *behind = descriptor(tb, (uint16_t)count);
	struct cay_window_descriptor saved = *behind;
	struct cay_nqe n;
	*behind = *descriptor(tb, 0);
	t.window = (uint16_t)count;
	assert_int_equal(tb_put(tb, &t, 8), 1);
	receive_completion(tb, CAY_FAST_PUT | 1, CAY_ERROR_TARGET_WINDOW, &n);
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, 0), 1);
	receive_completion(tb, CAY_FAA, CAY_ERROR_TARGET_WINDOW, &n);
	*behind = saved;
}

/*
 * The entry points without flags check the lock themselves, before they fall
 * back to the general path, which checks it again.
 */
static int issue_without_flags(
	struct testbench *tb, unsigned command, const struct target *t)
{
	uint64_t previous;
	if (command == CAY_FAA)
		return tb_atomic(tb, CAY_FAA, t, tb->operand[0], 0, &previous);
	size_t length = command == (CAY_FAST_PUT | 1) ? 8 : 100;
	return command_is_get((uint16_t)command)
		       ? tb_get(tb, t, tb->got, length)
		       : tb_put(tb, t, length);
}

static void accesses_without_flags_check_the_lock(void **state)
{
	static const unsigned commands[] = { CAY_FAST_PUT | 1, CAY_PUT, CAY_GET,
		CAY_FAA };
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 3, 128, TB_RIGHTS);
	struct cay_nqe n;
	tb->operand[0] = 1;
	memset(tb->got, 0, 128);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		descriptor(tb, 3)->lock = FOREIGN_LOCK;
		memset(tb_memory(tb, &t), 0x55, 128);
		assert_int_equal(issue_without_flags(tb, commands[i], &t), 1);
		receive_completion(
			tb, commands[i], CAY_ERROR_TARGET_LOCKED, &n);
		assert_true(tb_word(tb, &t) == 0x5555555555555555ull);
		assert_int_equal(tb->got[0], 0);

		/* The holder of the lock, and anyone after an unlock. */
		descriptor(tb, 3)->lock = tb->port[0].origin.lock_word;
		assert_int_equal(issue_without_flags(tb, commands[i], &t), 0);
		descriptor(tb, 3)->lock = 0;
		assert_int_equal(issue_without_flags(tb, commands[i], &t), 0);
		memset(tb->got, 0, 128);
		assert_false(tb_receive(tb, 0, &n));
	}
}

/* A descriptor cannot lead out of the arena's heap. */
static void invalid_descriptors_are_refused(void **state)
{
	struct testbench *tb = *state;
	static const uint64_t starts[] = { 0, ARENA_HEAP_OFFSET - 8,
		UINT64_MAX - 63, UINT64_MAX - 7, 1ull << 62 };
	struct target t = tb_window(tb, 1, 0, 64, TB_RIGHTS);
	struct cay_nqe n;
	descriptor(tb, 0)->length = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_COUNT(starts); i++) {
		descriptor(tb, 0)->start = starts[i];
		assert_int_equal(tb_put(tb, &t, 8), 1);
		receive_completion(tb, CAY_FAST_PUT | 1, CAY_ERROR_MEMORY, &n);
		assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, 0), 1);
		receive_completion(tb, CAY_FAA, CAY_ERROR_MEMORY, &n);
	}
	/* The last word of the arena is accessible. */
	descriptor(tb, 0)->start = tb->fixture.arena.bytes - 8;
	assert_int_equal(tb_put(tb, &t, 8), 0);
	assert_int_equal(tb_put(tb, &t, 16), 1);
}

/* Without a free entry for the completion, the call returns -EAGAIN. */
static void refusal_needs_a_completion_entry(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, CAY_RIGHT_READ);
	struct cay_nqe n;
	for (uint32_t i = 0; i < TB_CQ_RESERVE; i++)
		assert_int_equal(tb_put(tb, &t, 8), 1);
	assert_int_equal(tb_put(tb, &t, 8), -EAGAIN);
	for (uint32_t i = 0; i < TB_CQ_RESERVE; i++)
		receive_completion(tb, CAY_FAST_PUT | 1, CAY_ERROR_RIGHTS, &n);
	assert_false(tb_receive(tb, 0, &n));
	assert_int_equal(tb->port[0].origin.device.completions, 0);
}

static void migrated_and_closed_targets(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 64, TB_RIGHTS);
	struct cay_nqe n;
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	assert_int_equal(tb_put(tb, &t, 8), 0);
	assert_int_equal((*fixture_route(&tb->fixture, 0, 1))->epoch, 2);
	assert_memory_equal(tb_memory(tb, &t), tb->data, 8);
	queue_set_close(&tb->fixture.arena, fixture_vpid(1), 2);
	assert_int_equal(tb_put(tb, &t, 8), -EPIPE);
	assert_int_equal(tb_get(tb, &t, tb->got, 8), -EPIPE);
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, CAY_VCI_NOTIFY), -EPIPE);
	assert_int_equal(tb->port[0].origin.device.completions, 0);
	assert_int_equal(atomic_load(&tb->port[0].op->window), 0);
	const struct cay_vci v = { { CAY_FAA | CAY_VCI_ROUTE_LOCAL | 1ull << 32,
		fixture_vpid(1), 1, t.capability << 16, 0, 1 } };
	tb_issue_vci(tb, &v);
	receive_completion(tb, CAY_FAA, CAY_ERROR_GONE, &n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(put_completion_words),
		TB_TEST(fast_get_completion_has_the_data),
		TB_TEST(atomic_completion_has_both_values),
		TB_TEST(owner_notification_words),
		TB_TEST(access_needs_an_entry_for_its_notification),
		TB_TEST(masked_put_keeps_other_bytes),
		TB_TEST(work_requests_copy_between_windows),
		TB_TEST(first_failing_check_determines_the_error),
		TB_TEST(word_mode_requires_whole_words),
		TB_TEST(atomics_require_alignment),
		TB_TEST(each_command_needs_its_right),
		TB_TEST(bounds_are_exact),
		TB_TEST(windows_behind_the_table_are_refused),
		TB_TEST(accesses_without_flags_check_the_lock),
		TB_TEST(invalid_descriptors_are_refused),
		TB_TEST(refusal_needs_a_completion_entry),
		TB_TEST(migrated_and_closed_targets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
