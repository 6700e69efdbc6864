/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notifications as they arrive, word by word against the contract, and the
 * positions of their payloads in the RDR.
 */
#include "testbench.h"

static void fast_recv_words(void **state)
{
	struct testbench *tb = *state;
	const uint64_t tag = 0x1122334455667788ull;
	const uint32_t api_tag = 0xfedcba98u;
	struct cay_nqe n;

	for (size_t length = 0; length <= CAY_FAST_SEND_BYTES; length++) {
		uint64_t position = queue_nq(tb_w(tb, 1));
		uint64_t data[5] = { 0 };
		memcpy(data, tb->data, length);
		assert_int_equal(tb_send_fast(tb, tag, api_tag, length), 0);
		assert_true(tb_receive(tb, 1, &n));
		assert_true(n.word[0] == tag);
		assert_int_equal(n.word[1] & 0xffffffff, FIXTURE_NODE);
		assert_int_equal(n.word[1] >> 32, api_tag);
		assert_memory_equal(&n.word[2], data, (length + 7) / 8 * 8);
		assert_int_equal(n.word[7] & 0xffff, 0x00f2);
		assert_int_equal((n.word[7] >> 16) & 0xffff, length);
		assert_int_equal((n.word[7] >> 32) & 0xffff, fixture_vpid(0));
		assert_int_equal(
			n.word[7] >> 48, (position / TB_ENTRIES + 1) & 0xffff);
		assert_true(nqe_valid(&n));
	}
}

static void recv_words(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send(tb, 5, 64 * 3, 0), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(tb_send(tb, UINT64_MAX, 129, 0), 0);
	assert_true(tb_receive(tb, 1, &n));

	assert_true(n.word[0] == UINT64_MAX);
	assert_true(n.word[1] == (FIXTURE_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[2], 129);
	assert_int_equal(n.word[3], 3);
	assert_int_equal(n.word[4], 0);
	assert_true(n.word[5] == 6ull << 32);
	assert_int_equal(n.word[6], 0);
	assert_int_equal(n.word[7] & 0xffffffff, 0x00f3);
	assert_int_equal((n.word[7] >> 32) & 0xffff, fixture_vpid(0));
	assert_true(nqe_valid(&n));
	assert_memory_equal(
		fixture_own(&tb->fixture, 1)->rdr + 3 * 64, tb->data, 129);
}

static void completion_words(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(tb_send(tb, 0xc0ffee, 100, CAY_VCI_NOTIFY), 0);
	assert_true(tb_receive(tb, 0, &n));
	assert_int_equal(n.word[0], 0xc0ffee);
	assert_true(n.word[1] == (FIXTURE_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[2], 100);
	assert_int_equal(n.word[3], 0);
	assert_int_equal(n.word[4], 0);
	assert_int_equal(n.word[5], 0);
	assert_int_equal(n.word[6], CAY_SEND);
	assert_int_equal(n.word[7] & 0xffffffff, 0x00f0);
	assert_int_equal((n.word[7] >> 32) & 0xffff, fixture_vpid(1));
	assert_true(nqe_valid(&n));
}

static void reference_words(void **state)
{
	struct testbench *tb = *state;
	const struct reference source = { .kind = REFERENCE_PROCESS,
		.address = 0x1000,
		.length = 100000,
		.pid = 42 };
	struct reference *ref = &tb->port[0].origin.refs[0];
	struct cay_nqe n;
	assert_int_equal(tb_send_reference(tb, 3, &source), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	assert_int_equal(n.word[2], source.length);
	assert_int_equal(n.word[3], 1); /* first use of the slot */
	assert_int_equal(n.word[4], 1); /* slot index + 1 */
	assert_int_equal(ref->state & REFERENCE_STATE_MASK, REFERENCE_SENT);
	assert_int_equal(ref->state >> REFERENCE_SEQUENCE_SHIFT, 1);
	assert_int_equal(ref->target_vpid, fixture_vpid(1));
	assert_int_equal(ref->address, 0x1000);
	assert_false(counting_reference_done(ref, 2));
	assert_true(counting_reference_done(ref, 1));
	assert_false(counting_reference_done(ref, 1));
	assert_int_equal(ref->state & REFERENCE_STATE_MASK, REFERENCE_DONE);
	counting_reference_free(&tb->port[0].origin, 0);
	assert_int_equal(ref->state & REFERENCE_STATE_MASK, REFERENCE_FREE);
	assert_int_equal(tb->port[0].origin.device.references, 0);
}

/* The target reads a slot only in its use, through the device. */
static void target_reads_a_reference(void **state)
{
	struct testbench *tb = *state;
	struct reference *ref = &tb->port[0].origin.refs[0];
	const struct reference source = { .kind = REFERENCE_PROCESS,
		.address = 0x1000,
		.length = 100000,
		.cookie = 0xc00c1e,
		.cookie_address = 0x2000,
		.flags = REFERENCE_PROBE,
		.pid = 42 };
	struct reference copy = { 0 };
	assert_int_equal(tb_send_reference(tb, 3, &source), 0);
	counting_begin(&tb->c);
	assert_true(counting_reference_read(ref, 1, &copy));
	counting_reference_outcome(ref, 2, CAY_ERROR_GONE);
	counting_reference_outcome(ref, 1, REFERENCE_PROBED);
	counting_reference_outcome(ref, 1, CAY_ERROR_MEMORY);
	counting_end();
	tb_assert_costs(
		tb, (struct counting_sum[HOST_KINDS]){
			    [HOST_REFERENCE] = {
				    .loads = 11, .atomics = 2, .lines = 1 } });
	assert_int_equal(copy.kind, source.kind);
	assert_int_equal(copy.address, source.address);
	assert_int_equal(copy.length, source.length);
	assert_int_equal((uint32_t)copy.cookie, source.cookie);
	assert_int_equal(copy.cookie_address, source.cookie_address);
	assert_int_equal(copy.flags, source.flags);
	assert_int_equal(copy.pid, source.pid);
	assert_int_equal(atomic_load(&ref->outcome),
		REFERENCE_PROBED | CAY_ERROR_MEMORY);
	assert_false(counting_reference_read(ref, 2, &copy));
	assert_true(counting_reference_done(ref, 1));
	assert_false(counting_reference_read(ref, 1, &copy));
}

static void gone_words(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	assert_int_equal(counting_notify_gone(fixture_own(&tb->fixture, 1),
				 tb->port[0].op, 7, 99),
		0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n),
		0x00f8 | CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT);
	assert_int_equal(n.word[1], 7);
	assert_int_equal((n.word[7] >> 32) & 0xffff, 99);
	assert_true(nqe_valid(&n));
}

static void vci_and_call_send_the_same_notification(void **state)
{
	struct testbench *tb = *state;
	struct cay_vci v = { { CAY_FAST_SEND | 5 | CAY_VCI_ROUTE_LOCAL |
				       1ull << 32,
		fixture_vpid(1) | 40 << 16 | 9ull << 32, 8 } };
	struct cay_nqe direct, queued;

	memcpy(&v.word[3], tb->data, 40);
	assert_int_equal(tb_send_fast(tb, 8, 9, 40), 0);
	assert_true(tb_receive(tb, 1, &direct));
	tb_issue_vci(tb, &v);
	assert_true(tb_receive(tb, 1, &queued));
	assert_memory_equal(&direct, &queued, sizeof(direct));
}

/* One invalid property each, in the order in which the contract checks. */
static void invalid_vcis_complete_with_an_error(void **state)
{
	static const struct {
		uint64_t word[5];
		enum cay_error error;
	} invalid[] = {
		{ { 0x00, 2 }, CAY_ERROR_COMMAND },
		{ { CAY_FAST_SEND | 1, 2 }, CAY_ERROR_COMMAND },
		{ { CAY_PUT | 1, 2 }, CAY_ERROR_COMMAND },
		{ { CAY_SEND | 0x20ull << 24, 2 }, CAY_ERROR_COMMAND },
		{ { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 2ull << 32, 2 },
			CAY_ERROR_ROUTE },
		{ { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 0xffffffull << 32, 2 },
			CAY_ERROR_ROUTE },
		{ { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 1ull << 32, 1 },
			CAY_ERROR_TARGET_VPID },
		{ { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 1ull << 32, 2, 0, 1,
			  UINT64_MAX },
			CAY_ERROR_ORIGIN_BOUNDS },
		{ { CAY_SEND | CAY_VCI_ROUTE_LOCAL | 1ull << 32, 2, 0,
			  UINT64_MAX, 2 },
			CAY_ERROR_ORIGIN_BOUNDS },
	};
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	for (size_t i = 0; i < ARRAY_COUNT(invalid); i++) {
		struct cay_vci v = { { 0 } };
		memcpy(v.word, invalid[i].word, sizeof(invalid[i].word));
		tb_issue_vci(tb, &v);
		assert_false(tb_receive(tb, 1, &n));
		assert_true(tb_receive(tb, 0, &n));
		assert_int_equal(nqe_command(&n),
			CAY_NOTIFY_CC | invalid[i].error
						<< CAY_COMMAND_ERROR_SHIFT);
		assert_int_equal(n.word[6], v.word[0] & 0xffff);
		counting_completions_returned(o, 1);
	}
}

/* An entry behind the peer table is not a route, whatever it contains. */
static void routes_behind_the_table_are_refused(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct peer_entry *behind =
		(struct peer_entry *)(uintptr_t)&o->peers[o->peer_count];
	struct peer_entry saved = *behind;
	struct cay_nqe n;
	struct cay_vci v = { { CAY_SEND | CAY_VCI_ROUTE_LOCAL |
				       (uint64_t)o->peer_count << 32,
		2 } };
	behind->path = PATH_FORBIDDEN;
	atomic_store(&behind->epoch, 0);
	tb_issue_vci(tb, &v);
	assert_true(tb_receive(tb, 0, &n));
	assert_int_equal(nqe_command(&n),
		CAY_NOTIFY_CC | CAY_ERROR_ROUTE << CAY_COMMAND_ERROR_SHIFT);
	*behind = saved;
}

/* Compares payload positions with a model of the ring. */
static void rdr_wraps_around(void **state)
{
	struct testbench *tb = *state;
	const unsigned char *rdr = fixture_own(&tb->fixture, 1)->rdr;
	uint64_t write = 0; /* in units, free-running */
	unsigned wraps = 0;
	struct cay_nqe n;

	for (uint32_t i = 0; i < 200; i++) {
		uint64_t length = 41 + i * 1237 % 8152;
		uint64_t units = (length + 63) / 64;
		uint64_t at = write % TB_UNITS;
		if (at + units > TB_UNITS) {
			write += TB_UNITS - at;
			at = 0;
			wraps++;
		}
		write += units;
		tb->data[0] = (unsigned char)i;
		assert_int_equal(tb_send(tb, i, length, 0), 0);
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[2], length);
		assert_int_equal(n.word[3], at);
		assert_int_equal(n.word[5] >> 32, write & QUEUE_RDR_MASK);
		assert_memory_equal(rdr + at * 64, tb->data, length);
	}
	assert_in_range(wraps, 5, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(fast_recv_words),
		TB_TEST(recv_words),
		TB_TEST(completion_words),
		TB_TEST(reference_words),
		TB_TEST(target_reads_a_reference),
		TB_TEST(gone_words),
		TB_TEST(vci_and_call_send_the_same_notification),
		TB_TEST(invalid_vcis_complete_with_an_error),
		TB_TEST(routes_behind_the_table_are_refused),
		TB_TEST(rdr_wraps_around),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
