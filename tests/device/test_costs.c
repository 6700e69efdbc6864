/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exact costs of remote memory and posted receives: accesses by kind, and
 * cache lines written. Each operation is the sum of a few parts: the checks of
 * the window, the memory, the notification of the owner, the completion.
 */
#include "testbench.h"

struct costs {
	struct counting_sum kind[HOST_KINDS];
};

static void cost_add(
	struct costs *c, enum host_kind kind, const struct counting_sum *part)
{
	struct counting_sum *sum = &c->kind[kind];
	sum->loads += part->loads;
	sum->stores += part->stores;
	sum->atomics += part->atomics;
	sum->copied_bytes += part->copied_bytes;
	sum->lines += part->lines;
}

#define COST(c, kind, ...) \
	cost_add(c, kind, &(const struct counting_sum){ __VA_ARGS__ })

/*
 * The op record names the window and is cleared at the end; the access epoch is
 * loaded, then rights, capability, lock, length and start, which are one line.
 */
static void cost_window(struct costs *c)
{
	COST(c, HOST_RECORD, .stores = 4);
	COST(c, HOST_MIGRATION, .loads = 1);
	COST(c, HOST_WINDOW, .loads = 6);
}

/* One NQ entry: W and its epoch, the claim, eight words. */
static void cost_entry(struct costs *c)
{
	COST(c, HOST_W, .loads = 2, .atomics = 1, .lines = 1);
	COST(c, HOST_NQE, .stores = 8, .lines = 1);
	COST(c, HOST_MIGRATION, .loads = 1);
	COST(c, HOST_RECORD, .stores = 5);
}

static void assert_costs(const struct testbench *tb, struct costs expected)
{
	expected.kind[HOST_RECORD].lines = 1; /* the thread's own op record */
	tb_assert_costs(tb, expected.kind);
}

static uint64_t lines_of(uint64_t at, uint64_t bytes)
{
	return (at + bytes - 1) / CAY_LINE - at / CAY_LINE + 1;
}

/* ---- memory accesses of each command ---- */

/* Up to 24 bytes of aligned words are stored as words, others copied. */
static void cost_put(struct costs *c, uint64_t offset, size_t length)
{
	if (length <= CAY_FAST_PUT_BYTES && (offset | length) % 8 == 0)
		COST(c, HOST_MEMORY, .stores = length / 8,
			.lines = lines_of(offset, length));
	else
		COST(c, HOST_MEMORY, .copied_bytes = length,
			.lines = lines_of(offset, length));
}

/* The destination of a get is private memory, which is not counted. */
static void cost_get(struct costs *c, uint64_t offset, size_t length)
{
	if (length <= CAY_FAST_PUT_BYTES && (offset | length) % 8 == 0)
		COST(c, HOST_MEMORY, .loads = length / 8);
	else
		COST(c, HOST_MEMORY, .copied_bytes = length);
}

static void cost_command(
	struct costs *c, unsigned command, uint64_t offset, size_t length)
{
	switch (command & CAY_COMMAND_OPERATION) {
	case CAY_PUT:
	case CAY_FAST_PUT:
		cost_put(c, offset, length);
		break;
	case CAY_GET:
	case CAY_FAST_GET:
		cost_get(c, offset, length);
		break;
	case CAY_MISALIGNED_PUT:
		COST(c, HOST_MEMORY, .loads = 1, .atomics = 1, .lines = 1);
		break;
	default:
		COST(c, HOST_MEMORY, .atomics = 1, .lines = 1);
	}
}

static const struct {
	uint64_t offset;
	size_t length;
} ranges[] = { { 0, 8 }, { 8, 16 }, { 40, 24 }, { 48, 24 }, { 64, 1 }, { 3, 8 },
	{ 60, 8 }, { 0, 25 }, { 1, 64 }, { 0, 64 }, { 128, 4096 } };

/* A put of 8 bytes without notifications writes only the target line. */
static void put_of_8_bytes_writes_one_line(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 3, 4096, CAY_RIGHT_WRITE);
	t.offset = 512;
	counting_begin(&tb->c);
	assert_int_equal(tb_put(tb, &t, 8), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 1);
	assert_int_equal(tb->c.kind[HOST_MEMORY].lines, 1);
	assert_int_equal(tb->c.kind[HOST_MEMORY].stores, 1);
	for (int k = 0; k < HOST_KINDS; k++)
		assert_int_equal(tb->c.kind[k].atomics, 0);
	assert_memory_equal(tb_memory(tb, &t), tb->data, 8);
}

/* No flags, arena memory, no notifications. */
static void fast_path_puts_and_gets(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 8192, TB_RIGHTS);
	for (size_t i = 0; i < ARRAY_COUNT(ranges); i++) {
		struct costs put = { 0 }, get = { 0 };
		size_t length = ranges[i].length;
		t.offset = ranges[i].offset;
		counting_begin(&tb->c);
		assert_int_equal(tb_put(tb, &t, length), 0);
		counting_end();
		cost_window(&put);
		cost_put(&put, t.offset, length);
		assert_costs(tb, put);
		assert_memory_equal(tb_memory(tb, &t), tb->data, length);

		counting_begin(&tb->c);
		assert_int_equal(tb_get(tb, &t, tb->got, length), 0);
		counting_end();
		cost_window(&get);
		cost_get(&get, t.offset, length);
		assert_costs(tb, get);
		assert_int_equal(counting_lines_shared(&tb->c), 0);
		assert_memory_equal(tb->got, tb->data, length);
	}
}

/* FAA and CAS that return the previous value: one line, no entry. */
static void fast_path_atomics(void **state)
{
	static const unsigned commands[] = { CAY_FAA, CAY_CAS };
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, CAY_RIGHT_ATOMIC);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		struct costs expected = { 0 };
		uint64_t previous = 1;
		counting_begin(&tb->c);
		assert_int_equal(
			tb_atomic(tb, commands[i], &t, 5, 9, &previous), 0);
		counting_end();
		cost_window(&expected);
		COST(&expected, HOST_MEMORY, .atomics = 1, .lines = 1);
		assert_costs(tb, expected);
		assert_int_equal(previous, i ? 5 : 0);
		assert_int_equal(tb_word(tb, &t), i ? 9 : 5);
	}
}

/* ---- completions and notifications of the owner ---- */

static const struct {
	unsigned command, length;
	bool completes; /* even without CAY_VCI_NOTIFY */
} commands[] = {
	{ CAY_FAST_PUT | 1, 8, false },
	{ CAY_FAST_PUT | 3, 24, false },
	{ CAY_FAST_PUT | 1, 5, false },
	{ CAY_FAST_PUT | 1 | CAY_COMMAND_ACK, 8, true },
	{ CAY_PUT, 256, false },
	{ CAY_PUT | CAY_COMMAND_ACK, 256, true },
	{ CAY_MISALIGNED_PUT, 8, false },
	{ CAY_MISALIGNED_PUT | CAY_COMMAND_ACK, 8, true },
	{ CAY_GET, 256, false },
	{ CAY_GET, 16, false },
	{ CAY_FAST_GET | 1, 8, true },
	{ CAY_FAST_GET | 3, 21, true },
	{ CAY_FAA, 8, true },
	{ CAY_CAS, 8, true },
};

static void drain(struct testbench *tb)
{
	struct cay_nqe n;
	while (tb_receive(tb, 1, &n))
		continue;
	while (tb_receive(tb, 0, &n))
		counting_completions_returned(&tb->port[0].origin, 1);
}

static struct costs expected_costs(
	size_t i, const struct target *t, bool notify, bool notifies_owner)
{
	struct costs c = { 0 };
	cost_window(&c);
	cost_command(&c, commands[i].command, t->offset, commands[i].length);
	if (notifies_owner)
		cost_entry(&c);
	if (notify || commands[i].completes)
		cost_entry(&c);
	return c;
}

/*
 * Each command with and without NOTIFY, at windows with and without
 * NOTIFY_ACCESS: each adds W and an entry, of the origin and of the target.
 */
static void every_command_with_and_without_notifications(void **state)
{
	struct testbench *tb = *state;
	struct target window[2] = {
		tb_window(tb, 1, 0, 4096, TB_RIGHTS),
		tb_window(tb, 1, 1, 4096, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS),
	};
	for (size_t i = 0; i < 4 * ARRAY_COUNT(commands); i++) {
		size_t command = i / 4;
		bool notify = i & 1, notifies_owner = i & 2;
		struct target t = window[notifies_owner];
		t.offset = 64;
		struct costs e =
			expected_costs(command, &t, notify, notifies_owner);
		/* With R cached, no load of R is needed. */
		fixture_own(&tb->fixture, 1)->r_seen = tb_r(tb, 1);
		atomic_store(&(*fixture_route(&tb->fixture, 0, 1))->r_seen,
			tb_r(tb, 1));
		atomic_store(
			&fixture_own(&tb->fixture, 0)->r_seen, tb_r(tb, 0));
		tb->operand[0] = tb_word(tb, &t); /* makes CAS succeed */
		counting_begin(&tb->c);
		assert_int_equal(tb_access(tb, commands[command].command, &t,
					 commands[command].length,
					 notify ? CAY_VCI_NOTIFY : 0),
			0);
		counting_end();
		assert_costs(tb, e);
		drain(tb);
	}
}

/* One line at the target, W and an entry at the origin. */
static void fetch_and_add_writes_three_lines(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, CAY_RIGHT_ATOMIC);
	tb->operand[0] = 5;
	counting_begin(&tb->c);
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, 0), 0);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 3);
	assert_int_equal(tb->c.kind[HOST_MEMORY].lines, 1);
	assert_int_equal(tb->c.kind[HOST_NQE].lines, 1);
	assert_int_equal(tb->c.kind[HOST_W].lines, 1);
	assert_int_equal(tb_w(tb, 1), tb_r(tb, 1));
	assert_int_equal(
		queue_ahead(queue_nq(tb_w(tb, 0)), queue_nq(tb_r(tb, 0))), 1);
}

/* A work request adds its WQ line and a load of the peer table. */
static void work_requests_add_a_line(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	const struct cay_vci v = { { CAY_FAST_PUT | 1 | CAY_VCI_ROUTE_LOCAL |
					     1ull << 32,
		fixture_vpid(1) | 8 << 16, 7, t.capability << 16, 8,
		0x1122334455667788 } };
	struct costs e = { 0 };
	counting_begin(&tb->c);
	tb_issue_vci(tb, &v);
	counting_end();
	cost_window(&e);
	cost_put(&e, 8, 8);
	COST(&e, HOST_WQ, .loads = 8, .stores = 8, .lines = 1);
	COST(&e, HOST_PEER, .loads = 1);
	assert_costs(tb, e);
	t.offset = 8;
	assert_true(tb_word(tb, &t) == 0x1122334455667788);
}

/* A refusal writes only a completion at the origin. */
static void refusals_write_nothing_at_the_target(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, CAY_RIGHT_READ);
	struct target wrong = t;
	wrong.capability ^= 2;
	for (int i = 0; i < 2; i++) {
		counting_begin(&tb->c);
		assert_int_equal(tb_put(tb, i ? &t : &wrong, 8), 1);
		counting_end();
		assert_int_equal(counting_lines_shared(&tb->c), 2);
		assert_int_equal(tb->c.kind[HOST_MEMORY].lines, 0);
		assert_int_equal(tb->c.kind[HOST_WINDOW].lines, 0);
		assert_int_equal(tb_w(tb, 1), tb_r(tb, 1));
		drain(tb);
	}
}

/* NOTIFY_REFUSAL: each refusal is counted; one entry until it is received. */
static void refusals_are_notified_once(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(
		tb, 1, 0, 4096, CAY_RIGHT_READ | CAY_RIGHT_NOTIFY_REFUSAL);
	const struct cay_window_descriptor *d = &tb->port[1].origin.wdt[0];
	struct cay_nqe n;
	for (int round = 0; round < 3; round++) {
		counting_begin(&tb->c);
		for (int i = 0; i < 3; i++)
			assert_int_equal(tb_put(tb, &t, 8), 1);
		counting_end();
		assert_int_equal(tb->c.kind[HOST_WINDOW].lines, 1);
		assert_int_equal(d->refusals, 3 * (round + 1));
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(nqe_command(&n),
			CAY_NOTIFY_RMA | CAY_ERROR_RIGHTS
						 << CAY_COMMAND_ERROR_SHIFT);
		assert_false(tb_receive(tb, 1, &n));
		drain(tb);
	}
}

/* ---- posted receives ---- */

/* The payload is copied once, into the posted buffer, not to the RDR. */
static void posted_send_copies_once(void **state)
{
	static const size_t lengths[] = { 41, 64, 65, 4096, 8192, 65536 };
	struct testbench *tb = *state;
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		struct costs e = { 0 };
		struct cay_nqe n;
		tb_post_receive(tb, lengths[i], i);
		counting_begin(&tb->c);
		assert_int_equal(tb_send(tb, 1, lengths[i], 0), 0);
		counting_end();
		cost_entry(&e);
		/* The posted mode, twice; W and epoch, for a full queue. */
		COST(&e, HOST_W, .loads = 4);
		COST(&e, HOST_MIGRATION, .loads = 1);
		/*
		 * ACCESS, naming and clearing the slot; one IDLE. The load
		 * finds a slot that an abandoned call has left.
		 */
		COST(&e, HOST_RECORD, .loads = 1, .stores = 5);
		/* Counter, hint, state and length; claimed and filled. */
		COST(&e, HOST_POSTED, .loads = 7, .stores = 2, .atomics = 2,
			.lines = 2);
		COST(&e, HOST_MEMORY, .copied_bytes = lengths[i],
			.lines = lines_of(0, lengths[i]));
		assert_costs(tb, e);
		assert_true(tb_receive(tb, 1, &n));
		tb_posted_free(tb, &n);
	}
}

/* Without a posted receive: one load of the counter, then the RDR. */
static void no_posted_receive_costs_one_load(void **state)
{
	struct testbench *tb = *state;
	struct costs e = { 0 };
	fixture_posted_mode(&tb->fixture, 1, POSTED_RDR);
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 4096, 0), 0);
	counting_end();
	cost_entry(&e);
	COST(&e, HOST_W, .loads = 4);
	COST(&e, HOST_MIGRATION, .loads = 1);
	COST(&e, HOST_RECORD, .loads = 1, .stores = 4);
	COST(&e, HOST_POSTED, .loads = 1);
	COST(&e, HOST_RDR, .copied_bytes = 4096, .lines = 64);
	assert_costs(tb, e);
}

static void inline_messages_do_not_read_posted_receives(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	tb_post_receive(tb, 64, 1);
	fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
	for (size_t length = 0; length <= CAY_FAST_SEND_BYTES; length++) {
		counting_begin(&tb->c);
		assert_int_equal(length % 2 ? tb_send_fast(tb, 1, 2, length)
					    : tb_send(tb, 1, length, 0),
			0);
		counting_end();
		assert_int_equal(tb->c.kind[HOST_POSTED].loads, 0);
		assert_int_equal(tb->c.kind[HOST_W].loads, 2);
		assert_int_equal(counting_lines_shared(&tb->c), 2);
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_FAST_RECV);
	}
	assert_int_equal(tb_posted_state(tb, 0), POSTED_READY);
}

static void backpressure_writes_no_shared_line(void **state)
{
	struct testbench *tb = *state;
	fixture_posted_mode(&tb->fixture, 1, POSTED_ONLY);
	counting_begin(&tb->c);
	assert_int_equal(tb_send(tb, 1, 41, 0), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 65536, 0), -EAGAIN);
	counting_end();
	assert_int_equal(counting_lines_shared(&tb->c), 0);
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(put_of_8_bytes_writes_one_line),
		TB_TEST(fast_path_puts_and_gets),
		TB_TEST(fast_path_atomics),
		TB_TEST(every_command_with_and_without_notifications),
		TB_TEST(fetch_and_add_writes_three_lines),
		TB_TEST(work_requests_add_a_line),
		TB_TEST(refusals_write_nothing_at_the_target),
		TB_TEST(refusals_are_notified_once),
		TB_TEST(posted_send_copies_once),
		TB_TEST(no_posted_receive_costs_one_load),
		TB_TEST(inline_messages_do_not_read_posted_receives),
		TB_TEST(backpressure_writes_no_shared_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
