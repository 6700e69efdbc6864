/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deterministic races: one operation is repeated, each time with an action of
 * another thread injected before a different one of its memory accesses.
 */
#ifndef CAY_TESTS_DEVICE_INJECT_H
#define CAY_TESTS_DEVICE_INJECT_H

#include "testbench.h"

#define ACCESSES_MAX 256 /* more than any operation makes */

struct injection {
	struct testbench *tb;
	void (*action)(struct testbench *);
	unsigned before; /* index of the access that the action precedes */
	unsigned accesses;
	bool running;
};

static inline void injection_yield(void *argument)
{
	struct injection *i = argument;
	if (i->running || i->accesses++ != i->before)
		return;
	i->running = true;
	i->action(i->tb);
	i->running = false;
}

/*
 * Calls `prepare` with three new ports, `operation` with `action` injected
 * before one of its accesses, and `check`; for each access of the operation.
 */
static inline void inject_before_each_access(
	void (*prepare)(struct testbench *), void (*action)(struct testbench *),
	int (*operation)(struct testbench *), void (*check)(struct testbench *))
{
	unsigned accesses = 1;
	for (unsigned before = 0; before < accesses; before++) {
		void *state = NULL;
		assert_int_equal(tb_setup_ports(&state, 3), 0);
		struct testbench *tb = state;
		struct injection i = {
			.tb = tb, .action = action, .before = before
		};
		prepare(tb);
		tb->c.yield = injection_yield;
		tb->c.yield_argument = &i;
		counting_begin(&tb->c);
		int r = operation(tb);
		counting_end();
		if (r)
			fail_msg("before access %u: %s", before, strerror(-r));
		check(tb);
		accesses = i.accesses;
		assert_in_range(accesses, 5, ACCESSES_MAX);
		tb_teardown(&state);
	}
}

/* ---- actions and checks that several tests share ---- */

static inline int send_from_2(struct testbench *tb, uint32_t to)
{
	return counting_send_fast(&tb->port[2].origin,
		fixture_route(&tb->fixture, 2, to), 1, tb->data, 8,
		tb->port[2].op);
}

/*
 * Migrates port 1 to a new queue set, as the node does. An entry that port 0
 * has claimed and not published is fenced; while port 0 is in TRY and may be
 * about to claim, the node would wait, so nothing happens.
 */
static inline void migrate_port_1(struct testbench *tb)
{
	const struct op_record *op = tb->port[0].op;
	struct context *former = fixture_own(&tb->fixture, 1);
	struct queue_control *c = former->control;
	unsigned state = atomic_load(&op->state) & OP_STATE_MASK;
	uint64_t position = queue_nq(atomic_load(&op->w_old));

	if (state == OP_TRY)
		return;
	atomic_store(&c->migration, QUEUE_MIGRATING);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	atomic_store(
		&arena_control(&tb->fixture.arena, fixture_vpid(1), 2)->posted,
		atomic_load(&c->posted));
	if (state == OP_OWN && !counting_peek(former, position)) {
		c->fenced[0].from = position;
		c->fenced[0].to = position + 1;
		c->fenced_count = 1;
	}
	atomic_store(&c->migration, QUEUE_MIGRATED);
}

/* Lets the receiver follow a migration of port 1; false if there was none. */
static inline bool follow_port_1(struct testbench *tb)
{
	struct fixture_port *p = &tb->port[1];
	if (p->config.epoch == 1)
		return false;
	assert_true(context_follow_migration(
		&p->origin.device.own, fixture_own(&tb->fixture, 1)));
	return true;
}

/* Receives the next entry of port 1 that is not fenced. */
static inline bool receive_unfenced(struct testbench *tb, struct cay_nqe *n)
{
	const struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t position;
	do {
		position = queue_nq(tb_r(tb, 1));
		if (!tb_receive(tb, 1, n))
			return false;
	} while (counting_fenced(own, position));
	return true;
}

#endif
