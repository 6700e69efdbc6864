/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives at the device: delivery and truncation, full and empty
 * queues, invalid slots, and slots that an abandoned call has left claimed.
 */
#include "posted.h"

/* ---- delivery ---- */

static void posted_recv_words(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	unsigned char *first = tb_post_receive(tb, 64, 0x111);
	unsigned char *second = tb_post_receive(tb, 300, 0x222);
	assert_int_equal(tb_send(tb, 5, 64, 0), 0);
	assert_int_equal(tb_send_eager(tb, UINT64_MAX, 129), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_posted(&n, 64, 0x111, 0);
	assert_int_equal(n.word[CAY_NQE_WORD_POSTED], 1);
	assert_memory_equal(first, tb->data, 64);
	assert_true(tb_receive(tb, 1, &n));
	assert_posted(&n, 129, 0x222, 0);
	assert_true(n.word[0] == UINT64_MAX);
	assert_true(n.word[1] == (FIXTURE_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[CAY_NQE_WORD_POSTED], 2);
	assert_int_equal(n.word[5], 0);
	assert_int_equal(n.word[6], 0);
	assert_int_equal((n.word[7] >> 32) & 0xffff, fixture_vpid(0));
	assert_memory_equal(second, tb->data, 129);
	assert_int_equal(second[129], 0);
	assert_int_equal(posted_available(tb), 0);
}

static void longer_messages_are_truncated(void **state)
{
	struct testbench *tb = *state;
	static const struct {
		size_t buffer, length;
	} cases[] = { { 1, 41 }, { 40, 41 }, { 100, 101 }, { 63, 8192 },
		{ 8191, 8192 }, { 4096, 65536 } };
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		unsigned char *at = tb_post_receive(tb, cases[i].buffer, i);
		memset(at, 0xee, cases[i].buffer + 1);
		assert_int_equal(tb_send(tb, 1, cases[i].length, 0), 0);
		expect_posted(
			tb, cases[i].length, i, CAY_ERROR_POSTED_TRUNCATED);
		assert_memory_equal(at, tb->data, cases[i].buffer);
		assert_int_equal(at[cases[i].buffer], 0xee);
	}
}

/* Some pieces are empty; some buffers end within a piece. */
static void payload_pieces_are_gathered(void **state)
{
	struct testbench *tb = *state;
	const struct iovec pieces[] = { { tb->data, 30 }, { NULL, 0 },
		{ tb->data + 30, 50 }, { tb->data + 80, 20 } };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = fixture_vpid(0),
		.pieces = ARRAY_COUNT(pieces),
		.length = 100,
		.payload = pieces };
	static const size_t sizes[] = { 100, 99, 80, 79, 31, 30, 1 };
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		unsigned char *at = tb_post_receive(tb, sizes[i], i);
		assert_int_equal(
			counting_send(&tb->port[0].origin, tb->port[0].op,
				fixture_route(&tb->fixture, 0, 1), &p),
			0);
		expect_posted(tb, 100, i,
			sizes[i] < 100 ? CAY_ERROR_POSTED_TRUNCATED : 0);
		assert_memory_equal(at, tb->data, sizes[i]);
		assert_int_equal(at[sizes[i]], 0);
	}
}

/* Also for messages above 8 KiB. */
static void work_requests_use_posted_receives(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	memcpy(o->sdr, tb->data, 20000);
	struct cay_vci v = { { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 1ull << 32,
		fixture_vpid(1), 7, 10, 20 } };
	static const size_t lengths[] = { 40, 41, 8192, 8193, 19000 };
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		unsigned char *at = tb_post_receive(tb, 20000, i);
		v.word[4] = lengths[i];
		tb_issue_vci(tb, &v);
		if (lengths[i] <= CAY_FAST_SEND_BYTES) {
			assert_true(tb_receive(tb, 1, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_FAST_RECV);
			continue;
		}
		/* The inline message left its slot to the next message. */
		expect_posted(tb, lengths[i], i - 1, 0);
		assert_memory_equal(at - 20480, tb->data + 10, lengths[i]);
		if (lengths[i] > QUEUE_PAYLOAD_MAX) {
			assert_true(tb_receive(tb, 0, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
			assert_int_equal(n.word[2], lengths[i]);
			counting_completions_returned(o, 1);
		}
		assert_false(tb_receive(tb, 0, &n));
	}
	assert_int_equal(o->device.references, 0);
}

/* ---- without a posted receive ---- */

static void without_posted_receive_the_rdr_is_used(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	tb_post_receive(tb, 64, 1);
	assert_int_equal(tb_send(tb, 1, 50, 0), 0);
	assert_int_equal(tb_send(tb, 2, 50, 0), 0);
	expect_posted(tb, 50, 1, 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	/* Too long for the RDR: the caller must send by reference. */
	assert_int_equal(tb_send(tb, 3, 8193, 0), -E2BIG);
	tb_post_receive(tb, 64, 2);
	assert_int_equal(tb_send(tb, 4, 8193, 0), 0);
	expect_posted(tb, 8193, 2, CAY_ERROR_POSTED_TRUNCATED);
}

static void posted_only_causes_backpressure(void **state)
{
	struct testbench *tb = *state;
	fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 9000, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 41, CAY_VCI_NOTIFY), -EAGAIN);
	assert_int_equal(tb->port[0].origin.device.completions, 0);
	assert_true(tb_w(tb, 1) == tb_r(tb, 1));
	tb_post_receive(tb, 64, 1);
	assert_int_equal(tb_send(tb, 1, 41, 0), 0);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	fixture_posted_mode(&tb->fixture, 1, POSTED_RDR);
	assert_int_equal(tb_send(tb, 1, 41, 0), 0);
}

static void full_queue_claims_no_buffer(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	tb_post_receive(tb, 64, 1);
	while (tb_send_fast(tb, 1, 2, 8) == 0)
		continue;
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	counting_end();
	assert_int_equal(tb->c.kind[HOST_POSTED].atomics, 0);
	assert_int_equal(slots_in_state(tb, POSTED_READY), 1);
	assert_int_equal(posted_available(tb), 1);
	/* The priority reserve is still free. */
	assert_int_equal(tb_send(tb, 1, 41, CAY_VCI_PRIORITY), 0);
	assert_int_equal(slots_in_state(tb, POSTED_FILLED), 1);
	while (tb_receive(tb, 1, &n))
		continue;
}

/* ---- slots ---- */

static void invalid_slots_are_skipped(void **state)
{
	struct testbench *tb = *state;
	static const struct cay_posted_receive invalid[] = {
		{ .offset = 0, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET - 1, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 0 },
		{ .offset = ARENA_HEAP_OFFSET, .length = UINT64_MAX },
		{ .offset = UINT64_MAX - 10, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 64, .flags = 1 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 64, .flags = 1 << 7 },
	};
	struct cay_posted_receive *slots = fixture_own(&tb->fixture, 1)->posted;
	for (size_t i = 0; i < ARRAY_COUNT(invalid); i++) {
		tb_post_receive(tb, 64, i);
		slots[i].offset = invalid[i].offset;
		slots[i].length = invalid[i].length;
		slots[i].flags = invalid[i].flags;
	}
	unsigned char *valid = tb_post_receive(tb, 64, 99);
	assert_int_equal(tb_send(tb, 1, 60, 0), 0);
	expect_posted(tb, 60, 99, 0);
	assert_memory_equal(valid, tb->data, 60);
	/* The invalid slots are free again. */
	assert_int_equal(slots_in_state(tb, POSTED_READY), 0);
	assert_int_equal(slots_in_state(tb, POSTED_CLAIMED), 0);
	assert_int_equal(posted_available(tb), 0);
	assert_int_equal(tb_send(tb, 1, 60, 0), 0);
}

static void slots_are_used_in_ring_order(void **state)
{
	struct testbench *tb = *state;
	uint32_t entries = fixture_own(&tb->fixture, 1)->posted_entries;
	uint64_t at = fixture_memory(&tb->fixture, 64);
	for (uint32_t i = 0; i < entries; i++)
		assert_int_equal(fixture_post(&tb->fixture, 1, at, 64, i), 0);
	assert_int_equal(fixture_post(&tb->fixture, 1, at, 64, 0), -EAGAIN);
	for (uint32_t i = 0; i < 3 * entries; i++) {
		assert_int_equal(tb_send(tb, 1, 41, 0), 0);
		expect_posted(tb, 41, i, 0);
		assert_int_equal(
			fixture_post(&tb->fixture, 1, at, 64, i + entries), 0);
		assert_int_equal(posted_available(tb), entries);
	}
}

/*
 * An abandoned call has left a slot CLAIMED and named in its op record. A slot
 * that another record has claimed, or that does not exist, is not recovered.
 */
static void slots_of_abandoned_calls_are_recovered(void **state)
{
	struct testbench *tb = *state;
	struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t name = (uint64_t)fixture_vpid(1) << 32;
	uint64_t mine = (uint64_t)((unsigned char *)sender_op(tb) -
				   tb->fixture.arena.base) /
				sizeof(struct op_record)
			<< POSTED_CLAIMER_SHIFT;
	tb_post_receive(tb, 64, 1);
	tb_post_receive(tb, 64, 2);
	own->posted[0].state = mine | POSTED_CLAIMED;
	own->posted[1].state = (mine + (1ull << POSTED_CLAIMER_SHIFT)) |
			       POSTED_CLAIMED;
	atomic_store(&own->posted_head->available, 0);

	atomic_store(&sender_op(tb)->posted, name | 2);
	fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	assert_int_equal(atomic_load(&sender_op(tb)->posted), 0);
	assert_int_equal(slots_in_state(tb, POSTED_CLAIMED), 2);
	assert_int_equal(posted_available(tb), 0);

	atomic_store(&sender_op(tb)->posted, name | 9999);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);

	atomic_store(&sender_op(tb)->posted, name | 1);
	assert_int_equal(tb_send(tb, 1, 41, 0), 0);
	expect_posted(tb, 41, 1, 0);
	assert_int_equal(posted_available(tb), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(posted_recv_words),
		TB_TEST(longer_messages_are_truncated),
		TB_TEST(payload_pieces_are_gathered),
		TB_TEST(work_requests_use_posted_receives),
		TB_TEST(without_posted_receive_the_rdr_is_used),
		TB_TEST(posted_only_causes_backpressure),
		TB_TEST(full_queue_claims_no_buffer),
		TB_TEST(invalid_slots_are_skipped),
		TB_TEST(slots_are_used_in_ring_order),
		TB_TEST(slots_of_abandoned_calls_are_recovered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
