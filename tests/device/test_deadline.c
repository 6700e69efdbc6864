/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waits of the direct path end after ten seconds, and lose nothing: a
 * sender waits for the node, which replaces the queue set of its target, and an
 * access for room for its notification in the new set. The real platform runs
 * on a clock that only sleeping advances.
 */
#include <time.h>

#include "base/clock.h"
#include "device/device.h"
#include "inject.h"

/* Both platforms are linked; declare the entry points of the real one. */
#define DEVICE(name) device_##name
#include "device/entry.h"
#undef DEVICE

#define WAIT_NS (10 * CLOCK_NS_PER_S)
#define STEP_NS (2 * CLOCK_NS_PER_MS) /* at least one nap */

static struct {
	struct testbench *tb;
	uint64_t now_ns;
	uint64_t action_ns;
	void (*action)(struct testbench *); /* of others, once */
} world;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = clock_timespec(world.now_ns);
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	void (*action)(struct testbench *) = world.action;
	(void)left;
	world.now_ns += (uint64_t)time->tv_sec * CLOCK_NS_PER_S +
			(uint64_t)time->tv_nsec;
	if (action && world.now_ns >= world.action_ns) {
		world.action = NULL;
		action(world.tb);
	}
	return 0;
}

static void act_at(uint64_t ns, void (*action)(struct testbench *))
{
	world.action_ns = ns;
	world.action = action;
}

static int setup(void **state)
{
	int r = tb_setup_ports(state, 3);
	world.tb = *state;
	world.now_ns = 0;
	world.action = NULL;
	return r;
}

static struct queue_control *control_of_port_1(struct testbench *tb)
{
	return fixture_own(&tb->fixture, 1)->control;
}

/* The node has begun to replace the queue set of port 1. */
static void node_begins(struct testbench *tb)
{
	atomic_store(&control_of_port_1(tb)->migration, QUEUE_MIGRATING);
}

/*
 * The node has examined the first entry of the set before it was published, and
 * makes its list final, unless a member has decided before.
 */
static void node_decides(struct testbench *tb)
{
	struct queue_control *c = control_of_port_1(tb);
	uint32_t migrating = QUEUE_MIGRATING;
	uint64_t first = queue_nq(atomic_load(&c->r));
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	c->fenced[0] = (struct queue_range){ first, first + 1 };
	c->fenced_count = 1;
	atomic_compare_exchange_strong(
		&c->migration, &migrating, QUEUE_MIGRATED);
}

static bool node_exits(const struct arena *a)
{
	(void)a;
	return true;
}

/* Between the sender's load of `migration` and its look at the node. */
static bool node_decides_and_exits(const struct arena *a)
{
	(void)a;
	node_decides(world.tb);
	return true;
}

static int send_8(struct testbench *tb)
{
	return device_send_fast(&tb->port[0].origin,
		fixture_route(&tb->fixture, 0, 1), 42, tb->data, 8,
		tb->port[0].op);
}

/* Receives what is in the old set and then in the new one, if there is one. */
static unsigned receive_all(struct testbench *tb, unsigned command)
{
	struct cay_nqe n;
	unsigned count = 0;
	do
		while (receive_unfenced(tb, &n))
			count += nqe_command(&n) == command;
	while (fixture_own(&tb->fixture, 1)->epoch == 1 && follow_port_1(tb));
	return count;
}

static void assert_idle(const struct testbench *tb)
{
	assert_int_equal(atomic_load(&tb->port[0].op->state), OP_IDLE);
	assert_int_equal(atomic_load(&tb->port[0].op->window), 0);
}

/* ---- waiting for the node ---- */

static void silent_node_loses_no_message(void **state)
{
	struct testbench *tb = *state;
	node_begins(tb);
	assert_int_equal(send_8(tb), 0);
	assert_in_range(world.now_ns, WAIT_NS, WAIT_NS + STEP_NS);
	assert_int_equal(
		atomic_load(&control_of_port_1(tb)->migration), QUEUE_UNFENCED);
	assert_idle(tb);
	/* The node continues: its list comes too late. */
	node_decides(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_FAST_RECV), 1);
	/* No later sender waits. */
	world.now_ns = 0;
	assert_int_equal(send_8(tb), 0);
	assert_int_equal(world.now_ns, 0);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_FAST_RECV), 1);
}

static void late_decision_counts(void **state)
{
	struct testbench *tb = *state;
	node_begins(tb);
	act_at(WAIT_NS - STEP_NS, node_decides);
	assert_int_equal(send_8(tb), 0);
	assert_in_range(world.now_ns, WAIT_NS - STEP_NS, WAIT_NS);
	assert_int_equal(
		atomic_load(&control_of_port_1(tb)->migration), QUEUE_MIGRATED);
	assert_idle(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_FAST_RECV), 1);
}

static void decision_of_a_dead_node_counts(void **state)
{
	struct testbench *tb = *state;
	node_begins(tb);
	tb->fixture.arena.orphaned = node_decides_and_exits;
	assert_int_equal(send_8(tb), 0);
	assert_int_equal(world.now_ns, 0);
	assert_idle(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_FAST_RECV), 1);
}

static void dead_node_loses_no_message(void **state)
{
	struct testbench *tb = *state;
	node_begins(tb);
	tb->fixture.arena.orphaned = node_exits;
	assert_int_equal(send_8(tb), 0);
	assert_int_equal(world.now_ns, 0);
	assert_int_equal(
		atomic_load(&control_of_port_1(tb)->migration), QUEUE_UNFENCED);
	assert_idle(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_FAST_RECV), 1);
}

/* ---- waiting for room for the notification of an access ---- */

static struct target window;
static uint64_t fetched;
static bool flush_reports;

static int access_refused(_Atomic(struct context *) *to)
{
	(void)to;
	flush_reports = true;
	return 1;
}

/* Fetch-and-add with an event, or with the result in memory. */
static int add_1(struct testbench *tb, bool event)
{
	const struct iovec result = { &fetched, 8 };
	const struct packet p = { .command = CAY_FAA,
		.origin_vpid = tb->port[0].origin.vpid,
		.origin_node = tb->port[0].origin.node,
		.origin_lock = tb->port[0].origin.lock_word,
		.tag = 0x7a9,
		.pieces = 1,
		.length = 8,
		.payload = event ? NULL : &result,
		.window = window.window,
		.capability = window.capability,
		.operand = { 1, 0 } };
	return device_access(&tb->port[0].origin, tb->port[0].op,
		fixture_route(&tb->fixture, 0, 1), &p);
}

/* The new set is full, also the entries that are reserved. */
static void node_decides_and_set_is_full(struct testbench *tb)
{
	node_decides(tb);
	assert_true(follow_port_1(tb));
	while (tb_complete(tb, 1) == 0)
		;
}

static void node_decides_and_owner_is_late(struct testbench *tb);

static void begin_access(
	struct testbench *tb, void (*action)(struct testbench *))
{
	window = tb_window(tb, 1, 0, 64, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	tb->port[0].origin.access_refused = access_refused;
	flush_reports = false;
	node_begins(tb);
	act_at(1, action);
}

static void assert_done_and_not_notified(struct testbench *tb)
{
	assert_in_range(world.now_ns, WAIT_NS, WAIT_NS + 2 * STEP_NS);
	assert_int_equal(tb_word(tb, &window), 1);
	assert_true(flush_reports);
	assert_idle(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_RMA), 0);
}

static void owner_without_room_is_an_error(void **state)
{
	struct testbench *tb = *state;
	for (unsigned event = 0; event < 2; event++) {
		struct cay_nqe n;
		begin_access(tb, node_decides_and_set_is_full);
		assert_int_equal(add_1(tb, event), 1);
		assert_done_and_not_notified(tb);
		assert_true(tb_receive(tb, 0, &n));
		assert_int_equal(
			nqe_command(&n) & CAY_COMMAND_MASK, CAY_NOTIFY_CC);
		assert_int_equal(nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT,
			CAY_ERROR_NO_RESOURCES);
		assert_int_equal(n.word[0], 0x7a9);
		assert_false(tb_receive(tb, 0, &n));
		/* Later accesses are notified. */
		assert_int_equal(add_1(tb, true), 0);
		assert_int_equal(receive_all(tb, CAY_NOTIFY_RMA), 1);
		assert_int_equal(tb_word(tb, &window), 2);
		tb_teardown(state);
		assert_int_equal(setup(state), 0);
		tb = *state;
	}
}

/* It must not be repeated, although there is no entry for its error. */
static void access_without_room_for_its_error_is_done(void **state)
{
	struct testbench *tb = *state;
	struct cay_nqe n;
	while (device_reserve_completion(&tb->port[0].origin))
		;
	begin_access(tb, node_decides_and_set_is_full);
	assert_int_equal(add_1(tb, false), 1);
	assert_done_and_not_notified(tb);
	assert_false(tb_receive(tb, 0, &n));
	assert_int_equal(atomic_load(&tb->port[0].origin.device.completions),
		tb->port[0].origin.cq_reserve);
}

static void owner_makes_room(struct testbench *tb)
{
	struct cay_nqe n;
	assert_true(tb_receive(tb, 1, &n));
}

static void node_decides_and_owner_is_late(struct testbench *tb)
{
	node_decides_and_set_is_full(tb);
	act_at(WAIT_NS - STEP_NS, owner_makes_room);
}

static void late_room_is_used(void **state)
{
	struct testbench *tb = *state;
	begin_access(tb, node_decides_and_owner_is_late);
	assert_int_equal(add_1(tb, false), 0);
	assert_in_range(world.now_ns, WAIT_NS - STEP_NS, WAIT_NS);
	assert_int_equal(tb_word(tb, &window), 1);
	assert_int_equal(fetched, 0);
	assert_false(flush_reports);
	assert_idle(tb);
	assert_int_equal(receive_all(tb, CAY_NOTIFY_RMA), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(silent_node_loses_no_message),
		TEST(late_decision_counts),
		TEST(decision_of_a_dead_node_counts),
		TEST(dead_node_loses_no_message),
		TEST(owner_without_room_is_an_error),
		TEST(access_without_room_for_its_error_is_done),
		TEST(late_room_is_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
