/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Full targets: packets are parked, in order, and delivered when the consumer
 * returns entries or posts receives; other ports are not affected, and a port
 * that never consumes loses its packets only if others need the space.
 */
#include "machine.h"

#define PORTS 5

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

static int setup_long(void **state)
{
	return tb_setup_queues(state, PORTS,
		(struct queue_options){ .nq_log2 = TB_NQ_LOG2,
			.rdr_log2 = TB_RDR_LOG2,
			.sdr_log2 = TB_RDR_LOG2 + 1 });
}

static void issue(struct machines *ms, uint32_t from, struct cay_vci v)
{
	assert_true(machines_issue(ms, from, &v));
}

/* Sends FAST_SENDs with tags from `tag` on, all that the port may have. */
static void issue_many(struct machines *ms, uint32_t from, uint32_t to,
	uint64_t tag, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		issue(ms, from, vci_fast(ms, from, to, 0, tag + i));
		machines_run(ms);
	}
}

static void assert_next_tag(struct machines *ms, uint32_t port, uint64_t tag)
{
	struct cay_nqe n;
	assert_true(machines_consume(ms, port, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], tag);
}

static unsigned error_of(const struct cay_nqe *n)
{
	return nqe_command(n) >> CAY_COMMAND_ERROR_SHIFT;
}

/* Every return of an entry delivers the next parked message. */
static void parked_messages_arrive_in_order(void **state)
{
	for (uint32_t machines = 1; machines <= 2; machines++) {
		struct machines ms;
		machines_open(
			&ms, *state, machine_preset("multi-wait"), machines);
		issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 3);
		assert_int_equal(
			machine_counts(ms.m[machines_of(&ms, 1)])->parked, 3);
		assert_false(machine_idle(ms.m[machines_of(&ms, 1)]));
		for (uint64_t tag = 0; tag < TB_UNRESERVED + 3; tag++) {
			assert_next_tag(&ms, 1, tag);
			machines_run(&ms);
		}
		assert_true(machine_idle(ms.m[0]));
		assert_int_equal(machine_counts(ms.m[0])->evicted, 0);
		machines_close(&ms);
	}
}

/* At each cycle of the parking, the consumer returns an entry just then. */
static void no_wake_up_is_lost(void **state)
{
	for (uint32_t when = 0; when < 40; when++) {
		struct machines ms;
		struct cay_nqe n;
		machines_open(&ms, *state, machine_preset("multi-wait"), 1);
		issue_many(&ms, 0, 1, 0, TB_UNRESERVED);
		issue(&ms, 0, vci_fast(&ms, 0, 1, 0, TB_UNRESERVED));
		issue(&ms, 2, vci_fast(&ms, 2, 1, 0, 100));
		for (uint32_t i = 0; i < when; i++)
			machines_step(&ms);
		assert_next_tag(&ms, 1, 0);
		machines_run(&ms);
		/* One of the two is there. */
		for (uint32_t i = 0; i < TB_UNRESERVED; i++)
			assert_true(machines_consume(&ms, 1, &n));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 1, &n));
		assert_true(machine_idle(ms.m[0]));
		machines_close(&ms);
	}
}

/* While port 1 is full, others, and accesses to port 1, are not delayed. */
static void a_full_port_blocks_no_other(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct target t = tb_window(tb, 1, 3, 4096, TB_RIGHTS);
	machines_open(&ms, tb, machine_preset("multi-wait"), 1);
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 4);
	for (uint64_t i = 0; i < 200; i++) {
		issue(&ms, 2, vci_fast(&ms, 2, 3, 0, i));
		machines_run(&ms);
		assert_next_tag(&ms, 3, i);
	}
	struct cay_vci v = vci_begin(&ms, 2, 1, CAY_FAA, 0, 9, 0);
	v.word[CAY_VCI_WORD_WINDOW] = t.window |
				      t.capability << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OPERAND] = 5;
	issue(&ms, 2, v);
	machines_run(&ms);
	assert_true(machines_consume(&ms, 2, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 9);
	assert_int_equal(error_of(&n), 0);
	assert_int_equal(tb_word(tb, &t), 5);
	/* Of the same origin, it waits behind the messages. */
	for (uint32_t i = 0; i < TB_UNRESERVED + 4; i++) {
		assert_next_tag(&ms, 1, i);
		machines_run(&ms);
	}
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 1);
	v.word[0] = vci_begin(&ms, 0, 1, CAY_FAA, 0, 9, 0).word[0];
	issue(&ms, 0, v);
	machines_run(&ms);
	assert_false(machines_consume(&ms, 0, &n));
	assert_next_tag(&ms, 1, 0);
	machines_run(&ms);
	assert_true(machines_consume(&ms, 0, &n));
	assert_int_equal(tb_word(tb, &t), 10);
	machines_finish(&ms);
	machines_close(&ms);
}

/* A priority message has entries of its own. */
static void priority_passes_a_full_queue(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	machines_open(&ms, tb, machine_preset("multi-wait"), 1);
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 1);
	issue(&ms, 2, vci_fast(&ms, 2, 1, CAY_VCI_PRIORITY, 50));
	machines_run(&ms);
	uint64_t w = queue_nq(tb_w(tb, 1));
	assert_int_equal(tb_entry(tb, 1, w - 1)->word[CAY_NQE_WORD_TAG], 50);
	/* But not an earlier message of the same origin. */
	issue(&ms, 0, vci_fast(&ms, 0, 1, CAY_VCI_PRIORITY, 51));
	machines_run(&ms);
	assert_int_equal(queue_nq(tb_w(tb, 1)), w);
	for (uint32_t i = 0; i < TB_UNRESERVED; i++)
		assert_next_tag(&ms, 1, i);
	assert_next_tag(&ms, 1, 50);
	machines_run(&ms);
	assert_next_tag(&ms, 1, TB_UNRESERVED);
	assert_next_tag(&ms, 1, 51);
	assert_false(machines_consume(&ms, 1, &n));
	machines_close(&ms);
}

/*
 * Ports 0, 2 and 3 fill the space for packets with messages to port 1. While
 * no other packet needs it, nothing is refused.
 */
static void eviction_needs_pressure(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	c.packets = 12; /* 9 for requests */
	c.park_cycles = 500;
	machines_open(&ms, *state, &c, 1);
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 3);
	issue_many(&ms, 2, 1, 100, 3);
	issue_many(&ms, 3, 1, 200, 3);
	for (uint32_t i = 0; i < 5000; i++)
		machine_step(ms.m[0]);
	assert_int_equal(machine_counts(ms.m[0])->evicted, 0);
	assert_int_equal(machine_counts(ms.m[0])->parked, 9);

	/* Port 2 needs space: within park_cycles it has some. */
	uint32_t waited = 0;
	issue(&ms, 2, vci_fast(&ms, 2, 4, 0, 7));
	while (!machines_consume(&ms, 4, &n) && waited < 2 * c.park_cycles) {
		machine_step(ms.m[0]);
		waited++;
	}
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 7);
	assert_true(machine_counts(ms.m[0])->evicted >= 1);
	/* The oldest was refused. */
	machines_run(&ms);
	assert_true(machines_consume(&ms, 0, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], TB_UNRESERVED);
	assert_int_equal(error_of(&n), CAY_ERROR_NO_RESOURCES);

	/* Packets for port 1 do not delay others by park_cycles again. */
	issue(&ms, 0, vci_fast(&ms, 0, 1, 0, 300));
	for (waited = 0; waited < 50; waited++)
		machine_step(ms.m[0]);
	issue(&ms, 3, vci_fast(&ms, 3, 4, 0, 8));
	for (waited = 0; waited < 50; waited++)
		machine_step(ms.m[0]);
	assert_true(machines_consume(&ms, 4, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 8);
	machines_finish(&ms);
	machines_close(&ms);
}

/* A consumer that stores R again and again, without progress, is no better. */
static void returning_nothing_is_not_consuming(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	c.packets = 4; /* 3 for requests */
	c.park_cycles = 300;
	machines_open(&ms, tb, &c, 1);
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 3);
	issue(&ms, 2, vci_fast(&ms, 2, 4, 0, 7));
	bool arrived = false;
	for (uint32_t i = 0; i < 2 * c.park_cycles && !arrived; i++) {
		machine_step(ms.m[0]);
		machine_return_entries(
			fixture_own(&tb->fixture, 1), tb_r(tb, 1) & ~R_WAITERS);
		arrived = machines_consume(&ms, 4, &n);
	}
	assert_true(arrived);
	machines_finish(&ms);
	machines_close(&ms);
}

/* Requests, not packets, are what is short. */
static void parked_requests_are_evicted_too(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	c.requests = 2;
	c.park_cycles = 300;
	machines_open(&ms, *state, &c, 1);
	issue_many(&ms, 0, 1, 0, TB_UNRESERVED + 2);
	issue(&ms, 2, vci_fast(&ms, 2, 4, 0, 7));
	bool arrived = false;
	for (uint32_t i = 0; i < 2 * c.park_cycles && !arrived; i++) {
		machine_step(ms.m[0]);
		arrived = machines_consume(&ms, 4, &n);
	}
	assert_true(arrived);
	machines_finish(&ms);
	machines_close(&ms);
}

/* ---- posted receives ---- */

/* A message in POSTED_ONLY mode waits for a receive, and for its trigger. */
static void a_parked_message_finds_a_posted_receive(void **state)
{
	struct testbench *tb = *state;
	for (uint32_t bytes = 64; bytes <= 16384; bytes *= 16) {
		struct machines ms;
		struct cay_nqe n;
		struct machine_config c = *machine_preset("multi-wait");
		c.mtu = 1024;
		machines_open(&ms, tb, &c, 1);
		memcpy(tb->port[0].origin.sdr, tb->data, bytes);
		fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
		issue(&ms, 0, vci_send(&ms, 0, 1, CAY_VCI_NOTIFY, 5, bytes));
		machines_run(&ms); /* it ends: parking does not spin */
		assert_false(machines_consume(&ms, 1, &n));
		unsigned char *at = tb_post_receive(tb, 16384, 77);
		fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
		machine_trigger(ms.m[0], 2, CAY_ISSUE_POSTED, 1);
		machines_run(&ms);
		assert_true(machines_consume(&ms, 1, &n));
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_POSTED_RECV);
		assert_int_equal(n.word[CAY_NQE_WORD_LENGTH], bytes);
		assert_int_equal(n.word[CAY_NQE_WORD_START], 77);
		assert_memory_equal(at, tb->data, bytes);
		tb_posted_free(tb, &n);
		assert_true(machines_consume(&ms, 0, &n));
		assert_int_equal(error_of(&n), 0);
		assert_true(machine_idle(ms.m[0]));
		fixture_posted_mode(&tb->fixture, 1, POSTED_NONE);
		machines_close(&ms);
	}
}

/* A posted receive, then the RDR; one that is too small truncates. */
static void posted_receives_then_the_rdr(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	c.mtu = 1024;
	machines_open(&ms, tb, &c, 1);
	memcpy(tb->port[0].origin.sdr, tb->data, 8192);
	unsigned char *at = tb_post_receive(tb, 4096, 1);
	unsigned char *small = tb_post_receive(tb, 2500, 2);
	memset(small + 2500, 0x55, 1);
	for (uint64_t tag = 0; tag < 3; tag++)
		issue(&ms, 0, vci_send(&ms, 0, 1, 0, tag, 4096));
	machines_run(&ms);
	assert_true(machines_consume(&ms, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_POSTED_RECV);
	assert_memory_equal(at, tb->data, 4096);
	tb_posted_free(tb, &n);
	assert_true(machines_consume(&ms, 1, &n));
	assert_int_equal(error_of(&n), CAY_ERROR_POSTED_TRUNCATED);
	assert_int_equal(n.word[CAY_NQE_WORD_LENGTH], 4096);
	assert_memory_equal(small, tb->data, 2500);
	assert_int_equal(small[2500], 0x55);
	tb_posted_free(tb, &n);
	assert_true(machines_receive(&ms, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	assert_memory_equal(fixture_own(&tb->fixture, 1)->rdr +
				    n.word[CAY_NQE_WORD_START] * RDR_UNIT,
		tb->data, 4096);
	machines_return(&ms, 1, &n);
	assert_true(machine_idle(ms.m[0]));
	machines_close(&ms);
}

/* A message longer than the RDR is refused, and does not wait. */
static void a_message_longer_than_the_rdr(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	const uint64_t rdr = (uint64_t)TB_UNITS * RDR_UNIT;
	for (uint32_t machines = 1; machines <= 2; machines++) {
		machines_open(&ms, tb, machine_preset("multi-wait"), machines);
		assert_true(tb->port[0].origin.sdr_bytes > rdr);
		issue(&ms, 0, vci_send(&ms, 0, 1, 0, 1, rdr + 1));
		issue(&ms, 0, vci_send(&ms, 0, 1, 0, 2, rdr));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 0, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], 1);
		assert_int_equal(error_of(&n), CAY_ERROR_NO_RESOURCES);
		assert_next_tag(&ms, 1, 2);
		machines_finish(&ms);
		machines_close(&ms);
	}
}

/* A message that fits at the beginning of the RDR, but not where W is. */
static void a_message_that_never_finds_room(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	const uint64_t rdr = (uint64_t)TB_UNITS * RDR_UNIT;
	machines_open(&ms, *state, machine_preset("multi-wait"), 1);
	issue(&ms, 0, vci_send(&ms, 0, 1, 0, 1, rdr / 4));
	issue(&ms, 0, vci_send(&ms, 0, 1, 0, 2, rdr / 4 * 3 + 64));
	issue(&ms, 0, vci_send(&ms, 0, 1, 0, 3, rdr / 4 * 3));
	machines_run(&ms);
	assert_next_tag(&ms, 0, 1); /* long enough for a completion */
	assert_true(machines_consume(&ms, 0, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 2);
	assert_int_equal(error_of(&n), CAY_ERROR_NO_RESOURCES);
	assert_next_tag(&ms, 1, 1);
	assert_next_tag(&ms, 1, 3);
	machines_finish(&ms);
	machines_close(&ms);
}

/*
 * Two segmented messages, and room for one assembly: the second is parked, the
 * segments of the first pass it.
 */
static void segments_pass_what_is_parked(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	for (uint32_t machines = 1; machines <= 3; machines++) {
		struct machine_config c = *machine_preset("multi-wait");
		c.mtu = 1024;
		c.assemblies = 1;
		machines_open(&ms, *state, &c, machines);
		issue(&ms, 0, vci_send(&ms, 0, 1, 0, 1, 20000));
		issue(&ms, 2, vci_send(&ms, 2, 1, 0, 2, 20000));
		issue(&ms, 3, vci_send(&ms, 3, 4, 0, 3, 20000));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 1, &n));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 1, &n));
		assert_next_tag(&ms, 4, 3);
		machines_finish(&ms);
		machines_close(&ms);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parked_messages_arrive_in_order),
		TEST(no_wake_up_is_lost),
		TEST(a_full_port_blocks_no_other),
		TEST(priority_passes_a_full_queue),
		TEST(eviction_needs_pressure),
		TEST(returning_nothing_is_not_consuming),
		TEST(parked_requests_are_evicted_too),
		TEST(a_parked_message_finds_a_posted_receive),
		TEST(posted_receives_then_the_rdr),
		cmocka_unit_test_setup_teardown(
			a_message_longer_than_the_rdr, setup_long, tb_teardown),
		cmocka_unit_test_setup_teardown(a_message_that_never_finds_room,
			setup_long, tb_teardown),
		TEST(segments_pass_what_is_parked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
