/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks of windows on machines, also by ports of other nodes: at every cycle of
 * an access, and under contention. After the lock is granted only the
 * holder accesses the memory, and the holder finds all of a transfer or
 * nothing.
 */
#include "machine_access.h"

/* ---- an access of another port ---- */

static struct machine_lock scene_lock(const struct scene *s, uint32_t holder)
{
	return (struct machine_lock){ .vpid = fixture_vpid(1),
		.window = s->window.window,
		.capability = s->window.capability,
		.holder = { .node = machines_of(&s->ms, holder) + 1,
			.epoch = s->tb->port[holder].first_epoch,
			.vpid = fixture_vpid(holder) } };
}

/* Locks as cay_window_lock() does. Returns true if it had to wait. */
static bool lock(struct scene *s, uint32_t holder)
{
	const struct machine_lock l = scene_lock(s, holder);
	int r = machine_window_lock(machine_1(s), &l);
	bool waits = r == -EINPROGRESS;
	for (uint32_t i = 0; r == -EINPROGRESS; i++) {
		machines_step(&s->ms);
		assert_true(i < 2000);
		r = machine_window_locked(machine_1(s), &l);
	}
	assert_int_equal(r, 0);
	return waits;
}

static void unlock(struct scene *s, uint32_t holder)
{
	const struct machine_lock l = scene_lock(s, holder);
	assert_int_equal(machine_window_unlock(machine_1(s), &l), 0);
}

/* Port 2 locks at a cycle of the access, and uses the memory. */
static void lock_at(struct scene *s, uint32_t when, unsigned seen[2])
{
	struct cay_nqe n;
	for (uint32_t i = 0; i < when; i++)
		machines_step(&s->ms);
	seen[0] += lock(s, 2);
	size_t bytes =
		s->operation == PUT || s->operation == PUT_NOTIFIED ? BYTES : 8;
	unsigned char added = s->operation == ADD ? 0x33 : 0x11;
	bool old = all_bytes(s->memory, 0x22, BYTES);
	bool new = all_bytes(s->memory, added, bytes);
	assert_true(old || new);
	memset(s->memory, 0x44, BYTES);
	struct cay_vci v = scene_vci(s, 2, SHORT_PUT);
	assert_true(machines_issue(&s->ms, 2, &v));
	machines_run(&s->ms);
	assert_true(machines_consume(&s->ms, 2, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
	assert_true(all_bytes(s->memory, 0x11, 8));
	assert_true(all_bytes(s->memory + 8, 0x44, BYTES - 8));
	unsigned error = scene_error(s, &n);
	assert_true(error == 0 || error == CAY_ERROR_TARGET_LOCKED);
	if (s->operation < SHORT_GET)
		assert_int_equal(error == 0, new);
	if (s->operation == SHORT_GET && !error)
		assert_int_equal((unsigned char)n.word[2], 0x22);
	if (s->operation == GET)
		assert_true(all_bytes(s->source, error ? 0x11 : 0x22, BYTES));
	seen[1] += error != 0;
	unlock(s, 2);
	while (machines_consume(&s->ms, 1, &n))
		;
	v = scene_vci(s, 0, SHORT_PUT);
	assert_true(machines_issue(&s->ms, 0, &v));
	machines_run(&s->ms);
	assert_int_equal(scene_error(s, &n), 0);
	for (uint32_t i = 0; i < s->ms.count; i++)
		assert_true(machine_idle(s->ms.m[i]));
}

static void a_window_is_locked(void **state)
{
	for (enum operation o = 0; o < OPERATIONS; o++) {
		struct scene s = { .tb = *state, .operation = o };
		unsigned seen[2] = { 0 };
		scene_windows(&s);
		for (uint32_t kind = 0; kind < 6; kind++)
			for (uint32_t when = 0; when < 60; when++) {
				scene_open(&s, 1 + kind % 3, kind / 3 * 3);
				struct cay_vci v = scene_vci(&s, 0, o);
				assert_true(machines_issue(&s.ms, 0, &v));
				lock_at(&s, when, seen);
				machines_close(&s.ms);
			}
		/* Some were waited for, some were refused. */
		assert_true(seen[0] && seen[1]);
	}
}

/*
 * The window is that of the origin: a put or a get that has begun ends before
 * the lock is granted, one that has not is refused.
 */
static void the_window_of_the_origin_is_locked(void **state)
{
	struct scene s = { .tb = *state };
	scene_windows(&s);
	for (s.operation = PUT; s.operation < OPERATIONS; s.operation++) {
		unsigned waits = 0, refused = 0;
		if (s.operation != PUT && s.operation != GET)
			continue;
		for (uint32_t when = 0; when < 60; when++) {
			struct cay_nqe n;
			scene_open(&s, 1 + when % 3, 0);
			struct cay_vci v = scene_vci(&s, 0, s.operation);
			assert_true(machines_issue(&s.ms, 0, &v));
			for (uint32_t i = 0; i < when; i++)
				machines_step(&s.ms);
			struct machine_lock l = scene_lock(&s, 2);
			l.vpid = fixture_vpid(0);
			l.window = 1;
			l.capability = s.tb->port[0].origin.wdt[1].capability;
			int r = machine_window_lock(s.ms.m[0], &l);
			waits += r == -EINPROGRESS;
			for (uint32_t i = 0; r == -EINPROGRESS; i++) {
				machines_step(&s.ms);
				assert_true(i < 2000);
				r = machine_window_locked(s.ms.m[0], &l);
			}
			assert_int_equal(r, 0);
			memset(s.source, 0x55, BYTES);
			machines_run(&s.ms);
			assert_true(all_bytes(s.source, 0x55, BYTES));
			unsigned error = scene_error(&s, &n);
			refused += error == CAY_ERROR_ORIGIN_LOCKED;
			assert_true(!error || error == CAY_ERROR_ORIGIN_LOCKED);
			if (s.operation == PUT)
				assert_true(all_bytes(
					s.memory, error ? 0x22 : 0x11, BYTES));
			assert_int_equal(
				machine_window_unlock(s.ms.m[0], &l), 0);
			machines_close(&s.ms);
		}
		assert_true(waits && refused);
	}
}

/* ---- many holders ---- */

/* Of one port: locks, loads a word, stores it plus one, unlocks. */
struct counter {
	enum {
		IDLE,
		LOCKING,
		LOADING,
		STORING
	} state;
	uint64_t value;
	uint32_t done;
};

static void counter_step(struct scene *s, uint32_t port, struct counter *c)
{
	const struct machine_lock l = scene_lock(s, port);
	struct cay_vci v;
	struct cay_nqe n;
	int r;
	switch (c->state) {
	case IDLE:
	case LOCKING:
		r = c->state == IDLE ? machine_window_lock(machine_1(s), &l)
				     : machine_window_locked(machine_1(s), &l);
		if (r == -EAGAIN)
			return;
		assert_true(r == 0 || r == -EINPROGRESS);
		c->state = r ? LOCKING : LOADING;
		v = scene_vci(s, port, SHORT_GET);
		break;
	case LOADING:
		if (!machines_consume(&s->ms, port, &n))
			return;
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
		c->value = n.word[2] + 1;
		c->state = STORING;
		v = scene_vci(s, port, SHORT_PUT);
		v.word[CAY_VCI_WORD_OPERAND] = c->value;
		break;
	default:
		if (!machines_consume(&s->ms, port, &n))
			return;
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
		assert_int_equal(machine_window_unlock(machine_1(s), &l), 0);
		c->state = IDLE;
		c->done++;
		return;
	}
	if (c->state != LOCKING)
		assert_true(machines_issue(&s->ms, port, &v));
}

/* Port 0 accesses without a lock: it is refused, or between two locks. */
static void holders_exclude_each_other(void **state)
{
	for (uint32_t machines = 1; machines <= 4; machines++) {
		struct scene s = { .tb = *state };
		struct counter all[PORTS] = { 0 };
		struct cay_nqe n;
		unsigned refused = 0, granted = 0;
		scene_windows(&s);
		scene_open(&s, machines, machines % 2 * 3);
		memset(s.memory, 0, BYTES);
		for (uint32_t i = 0; i < 20000; i++) {
			/* At times, none of them begins. */
			for (uint32_t p = 1; p < PORTS; p++)
				if (all[p].state != IDLE || i % 1024 < 768)
					counter_step(&s, p, &all[p]);
			struct cay_vci v = scene_vci(&s, 0, SHORT_GET);
			if (i % 16 == 0)
				assert_true(machines_issue(&s.ms, 0, &v));
			while (machines_consume(&s.ms, 0, &n)) {
				refused += nqe_command(&n) != CAY_NOTIFY_CC;
				granted += nqe_command(&n) == CAY_NOTIFY_CC;
			}
			machines_step(&s.ms);
		}
		uint64_t sum = 0, value;
		for (uint32_t p = 1; p < PORTS; p++) {
			assert_true(all[p].done > 10);
			sum += all[p].done;
			/* It has stored, and not yet seen that. */
			sum += all[p].state == STORING;
		}
		machines_finish(&s.ms);
		memcpy(&value, s.memory, 8);
		assert_int_equal(value, sum);
		assert_true(refused && granted);
		machines_close(&s.ms);
	}
}

static unsigned error_of_put(struct scene *s, uint32_t from)
{
	struct cay_nqe n;
	struct cay_vci v = scene_vci(s, from, SHORT_PUT);
	assert_true(machines_issue(&s->ms, from, &v));
	machines_run(&s->ms);
	assert_true(machines_consume(&s->ms, from, &n));
	return nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT;
}

/* The locks of a port end with it, whatever node it was on. */
static void locks_end_with_their_holder(void **state)
{
	struct scene s = { .tb = *state };
	scene_windows(&s);
	for (uint32_t holder = 2; holder < 4; holder++) {
		struct machine_lock l;
		/* Port 3 is on the machine of port 1, port 2 is not. */
		scene_open(&s, 2, 0);
		lock(&s, holder);
		assert_int_equal(error_of_put(&s, holder), 0);
		assert_int_equal(error_of_put(&s, 0), CAY_ERROR_TARGET_LOCKED);
		if (holder == 3)
			machine_detach(s.ms.m[1], fixture_vpid(3));
		else
			machine_holder_gone(
				s.ms.m[1], &(struct machine_peer){
						   1, 1, fixture_vpid(2) });
		assert_int_equal(error_of_put(&s, 0), 0);
		/* The next port with its VPID does not hold them. */
		l = scene_lock(&s, 2);
		lock(&s, 2);
		l.holder.epoch += 2;
		assert_int_equal(machine_window_lock(s.ms.m[1], &l), 0);
		assert_int_equal(machine_window_unlock(s.ms.m[1], &l), 0);
		lock(&s, 2);
		machine_node_gone(s.ms.m[1], 1);
		struct machine_lock other = scene_lock(&s, 0);
		other.holder.node = 9;
		assert_int_equal(machine_window_lock(s.ms.m[1], &other), 0);
		machine_node_gone(s.ms.m[1], 9);
		machines_close(&s.ms);
	}
}

static void errors_of_locks(void **state)
{
	struct scene s = { .tb = *state };
	scene_windows(&s);
	scene_open(&s, 2, 0);
	struct machine *m = machine_1(&s);
	struct machine_lock l = scene_lock(&s, 2), other = scene_lock(&s, 0), w;
	assert_int_equal(machine_window_unlock(m, &l), -EPERM);
	assert_int_equal(machine_window_locked(m, &l), -EPERM);
	assert_int_equal(machine_window_lock(m, &l), 0);
	assert_int_equal(machine_window_lock(m, &l), -EALREADY);
	assert_int_equal(machine_window_locked(m, &l), 0);
	assert_int_equal(machine_window_lock(m, &other), -EAGAIN);
	assert_int_equal(machine_window_locked(m, &other), -EPERM);
	assert_int_equal(machine_window_unlock(m, &other), -EPERM);
	w = l;
	w.vpid = fixture_vpid(0); /* on the other machine */
	assert_int_equal(machine_window_lock(m, &w), -EPIPE);
	assert_int_equal(machine_window_unlock(m, &w), -EPIPE);
	w = l;
	w.window = UINT16_MAX;
	assert_int_equal(machine_window_lock(m, &w), -ENXIO);
	assert_int_equal(machine_window_unlock(m, &w), -ENXIO);
	w.window = 9; /* not open */
	assert_int_equal(machine_window_lock(m, &w), -ENXIO);
	w = other;
	w.capability ^= 1;
	assert_int_equal(machine_window_lock(m, &w), -EACCES);
	assert_int_equal(machine_window_unlock(m, &w), -EACCES);
	/* The holder may unlock a window that was revoked. */
	w = l;
	w.capability ^= 1;
	assert_int_equal(machine_window_unlock(m, &w), 0);
	assert_int_equal(machine_window_lock(m, &other), 0);
	assert_int_equal(machine_window_unlock(m, &other), 0);
	/* A holder that does not exist. */
	w = l;
	w.holder.node = 2;
	w.holder.vpid = 77;
	assert_int_equal(machine_window_lock(m, &w), -ENXIO);
	machines_close(&s.ms);
}

/* Windows on the same memory are locked together. */
static void windows_on_the_same_memory(void **state)
{
	struct scene s = { .tb = *state };
	scene_windows(&s);
	scene_open(&s, 2, 0);
	struct machine *m = machine_1(&s);
	struct cay_window_descriptor *wdt = s.tb->port[1].origin.wdt;
	struct target alias = { .window = 5 };
	assert_int_equal(fixture_window(&s.tb->fixture, 1, 5, wdt[2].start,
				 BYTES, TB_RIGHTS, &alias.capability),
		0);
	wdt[2].next = wdt[2].previous = 5;
	wdt[5].next = wdt[5].previous = 2;
	lock(&s, 2);
	struct machine_lock l = scene_lock(&s, 0);
	l.window = 5;
	l.capability = alias.capability;
	assert_int_equal(machine_window_lock(m, &l), -EAGAIN);
	unlock(&s, 2);
	assert_int_equal(machine_window_lock(m, &l), 0);
	assert_int_equal(error_of_put(&s, 2), CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(machine_window_unlock(m, &l), 0);
	assert_int_equal(error_of_put(&s, 2), 0);
	/* Software has damaged the links: no lock, and no endless loop. */
	wdt[2].next = UINT16_MAX;
	assert_int_equal(machine_window_lock(m, &l), -EAGAIN);
	wdt[2].next = 7;
	wdt[7].next = 8;
	wdt[8].next = 7;
	assert_int_equal(machine_window_lock(m, &l), -EAGAIN);
	assert_int_equal(error_of_put(&s, 2), 0);
	machines_close(&s.ms);
}

/* The table of holders is bounded; entries without a lock are reused. */
static void many_holders(void **state)
{
	struct scene s = { .tb = *state };
	struct machine_config c = *machine_preset("multi-wait");
	scene_windows(&s);
	c.holders = 2;
	machines_open(&s.ms, s.tb, &c, 2);
	struct machine *m = machine_1(&s);
	struct target more[2] = { tb_window(s.tb, 1, 6, 64, TB_RIGHTS),
		tb_window(s.tb, 1, 7, 64, TB_RIGHTS) };
	struct machine_lock l[3] = { scene_lock(&s, 0) };
	for (uint32_t i = 0; i < 3; i++) {
		l[i] = l[0];
		l[i].holder.vpid = (uint16_t)(100 + i);
		if (i) {
			l[i].window = more[i - 1].window;
			l[i].capability = more[i - 1].capability;
		}
	}
	for (uint32_t round = 0; round < 3; round++) {
		assert_int_equal(machine_window_lock(m, &l[0]), 0);
		assert_int_equal(machine_window_lock(m, &l[1]), 0);
		assert_int_equal(machine_window_lock(m, &l[2]), -ENOSPC);
		assert_int_equal(machine_window_unlock(m, &l[0]), 0);
		assert_int_equal(machine_window_lock(m, &l[2]), 0);
		assert_int_equal(machine_window_locked(m, &l[1]), 0);
		assert_int_equal(machine_window_unlock(m, &l[1]), 0);
		assert_int_equal(machine_window_unlock(m, &l[2]), 0);
	}
	machines_close(&s.ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_is_locked),
		TEST(the_window_of_the_origin_is_locked),
		TEST(holders_exclude_each_other),
		TEST(locks_end_with_their_holder),
		TEST(errors_of_locks),
		TEST(windows_on_the_same_memory),
		TEST(many_holders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
