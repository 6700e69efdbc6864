/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender dies before each of its accesses while it fills a posted receive,
 * and the node's repair code runs: the message arrives or the buffer is posted
 * again.
 */
#include "node_fixture.h"
#include "posted.h"

/* Calls `before`, then ends the sender before access `at`. */
struct sender_death {
	struct testbench *tb;
	jmp_buf exit;
	unsigned at, accesses;
	unsigned before_at; /* access before which `before` is called */
	void (*before)(struct testbench *);
	bool busy;
};

static void death_yield(void *argument)
{
	struct sender_death *s = argument;
	if (s->busy)
		return;
	if (s->accesses == s->before_at && s->before) {
		s->busy = true;
		s->before(s->tb);
		s->busy = false;
	}
	if (s->accesses++ != s->at)
		return;
	counting_end();
	longjmp(s->exit, 1);
}

/* Runs the send until it dies; false if it returned before. */
static bool run_until_death(struct sender_death *s, struct op_record *op)
{
	struct testbench *tb = s->tb;
	volatile bool died = false;
	tb->port[0].op = op;
	tb->c.yield = death_yield;
	tb->c.yield_argument = s;
	if (setjmp(s->exit) == 0) {
		counting_begin(&tb->c);
		int r = send_100(tb);
		counting_end();
		assert_true(r == 0 || (s->before && r == -EAGAIN));
	} else {
		died = true;
	}
	tb->c.yield = NULL;
	return died;
}

/* Either the message was received or the buffer is READY. */
static void check_message_or_buffer(struct testbench *tb, unsigned at)
{
	struct cay_nqe n;
	unsigned posted = 0;
	while (tb_receive(tb, 1, &n))
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
			assert_memory_equal(buffers[0], tb->data, 100);
			tb_posted_free(tb, &n);
			posted++;
		}
	if (posted + slots_in_state(tb, POSTED_READY) != 1 ||
		slots_in_state(tb, POSTED_CLAIMED) ||
		slots_in_state(tb, POSTED_FILLED))
		fail_msg("died before access %u: %u messages, %u ready, %u "
			 "claimed, %u filled",
			at, posted, slots_in_state(tb, POSTED_READY),
			slots_in_state(tb, POSTED_CLAIMED),
			slots_in_state(tb, POSTED_FILLED));
	/* The next sender finds the buffer if it is READY. */
	assert_true(posted_available(tb) >= slots_in_state(tb, POSTED_READY));
	assert_int_equal(send_100_from_2(tb), 0);
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(nqe_command(&n),
		posted ? CAY_NOTIFY_RECV : CAY_NOTIFY_POSTED_RECV);
}

/*
 * The sender dies before access `at`. `before` is called before access
 * `before_at`, `after` between the death and the repair.
 */
struct death_case {
	unsigned at, before_at;
	void (*before)(struct testbench *);
	void (*after)(struct testbench *, struct node_fixture *);
};

static bool run_death_case(const struct death_case *d)
{
	void *new_state = NULL;
	struct node_fixture node;
	assert_int_equal(tb_setup_ports(&new_state, 3), 0);
	struct testbench *tb = new_state;
	struct sender_death s = { .tb = tb,
		.at = d->at,
		.before_at = d->before_at,
		.before = d->before };
	assert_int_equal(node_fixture_open(&node, &tb->fixture, 2), 0);
	prepare_one_buffer(tb);
	bool died = run_until_death(&s, node.op[0]);
	if (d->after)
		d->after(tb, &node);
	if (died)
		assert_true(node_fixture_reap(&node, 0));
	check_message_or_buffer(tb, d->at);
	assert_int_equal(atomic_load(&node.op[0]->posted), 0);
	assert_int_equal(atomic_load(&node.op[0]->state), OP_IDLE);
	node_fixture_close(&node);
	tb_teardown(&new_state);
	return died;
}

static void death_loses_no_buffer(void **state)
{
	(void)state;
	struct death_case d = { 0 };
	while (run_death_case(&d))
		d.at++;
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/*
 * Another process has lost the race for the same entry and dies in TRY. It is
 * repaired first, which voids the entry.
 */
static void competitor_is_repaired_first(
	struct testbench *tb, struct node_fixture *node)
{
	struct op_record *op = node->op[0], *competitor = node->op[1];
	(void)tb;
	if ((atomic_load(&op->state) & OP_STATE_MASK) != OP_OWN)
		return;
	atomic_store(&competitor->w_old, atomic_load(&op->w_old));
	atomic_store(&competitor->w_new, atomic_load(&op->w_new));
	atomic_store(
		&competitor->state, op_state_word(OP_TRY, fixture_vpid(1), 1));
	node->process[0].state = PROCESS_EXITED;
	assert_true(node_fixture_reap(node, 1));
}

static void entry_voided_for_a_competitor_returns_the_buffer(void **state)
{
	(void)state;
	struct death_case d = { .after = competitor_is_repaired_first };
	while (run_death_case(&d))
		d.at++;
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/* After a migration the receiver drains the old queue set and follows. */
static void receiver_follows(struct testbench *tb, struct node_fixture *node)
{
	struct fixture_port *p = &tb->port[1];
	if (p->config.epoch == 1)
		return;
	node_fixture_port(node, &tb->fixture, 1);
	struct context *own = fixture_own(&tb->fixture, 1);
	struct cay_nqe n;
	while (receive_unfenced(tb, &n)) {
		assert_posted(&n, 100, 42, 0);
		tb_posted_free(tb, &n);
		/* The receiver posts the buffer again. */
		p->origin.client.posted_write = 0;
		assert_int_equal(fixture_post(&tb->fixture, 1,
					 own->posted[0].offset, 128, 42),
			0);
	}
	assert_true(follow_port_1(tb));
	context_follow_migration(fixture_route(&tb->fixture, 2, 1),
		*fixture_route(&tb->fixture, 2, 1));
}

/* The node fences the stopped sender, which then dies. */
static void death_after_fencing_loses_no_buffer(void **state)
{
	(void)state;
	struct death_case d = { .before = migrate_port_1,
		.after = receiver_follows };
	for (; run_death_case(&d); d.at++)
		for (d.before_at = 0; d.before_at < d.at; d.before_at++)
			run_death_case(&d);
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/* The queue fills up; the sender dies while it returns the buffer. */
static void death_after_backpressure_loses_no_buffer(void **state)
{
	(void)state;
	struct death_case d = { .before = fill_queue };
	for (; run_death_case(&d); d.at++)
		for (d.before_at = 0; d.before_at < d.at; d.before_at++)
			run_death_case(&d);
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/*
 * The call does not return, but its thread lives on and sends again with the
 * same op record: the buffer that it had claimed is used for that message.
 */
static bool abandoned_at(unsigned at, unsigned *claimed)
{
	void *new_state = NULL;
	assert_int_equal(tb_setup_ports(&new_state, 3), 0);
	struct testbench *tb = new_state;
	struct sender_death s = { .tb = tb, .at = at };
	prepare_one_buffer(tb);
	uint64_t w = tb_w(tb, 1);
	bool died = run_until_death(&s, tb->port[0].op);
	if (died && slots_in_state(tb, POSTED_CLAIMED) && tb_w(tb, 1) == w) {
		++*claimed;
		assert_int_equal(send_100(tb), 0);
		expect_posted(tb, 100, 42, 0);
		assert_int_equal(slots_in_state(tb, POSTED_READY), 0);
		/* The count is not less than the number of READY slots. */
		prepare_one_buffer(tb);
		assert_int_equal(send_100_from_2(tb), 0);
		expect_posted(tb, 100, 42, 0);
	}
	tb_teardown(&new_state);
	return died;
}

static void abandoned_send_loses_no_buffer(void **state)
{
	unsigned at = 0, claimed = 0;
	(void)state;
	while (abandoned_at(at, &claimed))
		at++;
	assert_in_range(at, 30, ACCESSES_MAX);
	assert_true(claimed > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(death_loses_no_buffer),
		cmocka_unit_test(
			entry_voided_for_a_competitor_returns_the_buffer),
		cmocka_unit_test(death_after_fencing_loses_no_buffer),
		cmocka_unit_test(death_after_backpressure_loses_no_buffer),
		cmocka_unit_test(abandoned_send_loses_no_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
