/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window is closed or revoked during an access: at every cycle, on one
 * machine and on two. After machine_window_quiesce() returns 0 its memory is
 * not used.
 */
#include "machine_access.h"

/* Waits as cay_window_close() does. Returns the cycles that it took. */
static uint32_t quiesce(struct scene *s)
{
	uint32_t cycles = 0;
	for (; machine_window_quiesce(
		     machine_1(s), fixture_vpid(1), s->window.window);
		cycles++) {
		machines_step(&s->ms);
		assert_true(cycles < 2);
	}
	return cycles;
}

static void withdraw_at(
	struct scene *s, bool revoke, uint32_t when, unsigned *waits)
{
	struct fixture *f = &s->tb->fixture;
	struct cay_window_descriptor *d =
		&s->tb->port[1].origin.wdt[s->window.window];
	uint32_t rights = d->rights;
	uint64_t at = d->start;
	struct cay_nqe n;
	for (uint32_t i = 0; i < when; i++)
		machines_step(&s->ms);
	if (revoke)
		d->capability ^= 1;
	else
		fixture_window(f, 1, s->window.window, at, BYTES, 0,
			&s->window.capability);
	*waits += quiesce(s) != 0;
	/* From here on the memory is used for something else. */
	memset(s->memory, 0x33, BYTES);
	machines_run(&s->ms);
	assert_true(all_bytes(s->memory, 0x33, BYTES));
	unsigned error = scene_error(s, &n);
	if (s->operation == GET)
		for (uint32_t i = 0; i < BYTES; i++)
			assert_int_not_equal(s->source[i], 0x33);
	if (s->operation == SHORT_GET && !error)
		assert_int_equal((unsigned char)n.word[2], 0x22);
	if (error)
		assert_int_equal(error, revoke ? CAY_ERROR_CAPABILITY
					       : CAY_ERROR_TARGET_WINDOW);
	/* What the owner was told of is what happened. */
	unsigned notified = 0;
	while (machines_consume(&s->ms, 1, &n))
		notified += (nqe_command(&n) & CAY_COMMAND_MASK) ==
			    CAY_NOTIFY_RMA;
	assert_int_equal(notified, s->operation == PUT_NOTIFIED && !error);
	for (uint32_t i = 0; i < s->ms.count; i++)
		assert_true(machine_idle(s->ms.m[i]));
	fixture_window(f, 1, s->window.window, at, BYTES, rights,
		&s->window.capability);
}

static void a_window_is_withdrawn(void **state)
{
	unsigned waits = 0;
	for (enum operation o = 0; o < OPERATIONS; o++) {
		struct scene s = { .tb = *state, .operation = o };
		scene_windows(&s);
		for (uint32_t kind = 0; kind < 8; kind++)
			for (uint32_t when = 0; when < 60; when++) {
				scene_open(&s, 1 + kind % 2, kind / 4 * 3);
				struct cay_vci v = scene_vci(&s, 0, o);
				assert_true(machines_issue(&s.ms, 0, &v));
				withdraw_at(&s, kind & 2, when, &waits);
				machines_close(&s.ms);
			}
	}
	assert_true(waits > OPERATIONS);
}

/* A wire that carries no responses while it is blocked. */
struct blocked {
	struct wire_port port; /* first */
	struct machine **to;
	bool blocked;
};

static bool blocked_send(struct wire_port *port, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	struct blocked *b = (struct blocked *)port;
	return !(b->blocked && response) &&
	       machine_receive(b->to[node - 1], bytes, size) != -EAGAIN;
}

/*
 * An access that was checked waits behind one whose response finds no room: the
 * owner does not wait for it, and it is refused.
 */
static void accesses_that_wait_are_checked_again(void **state)
{
	static const enum operation all[] = { SHORT_GET, GET, ADD };
	for (unsigned k = 0; k < ARRAY_COUNT(all); k++) {
		struct scene s = { .tb = *state, .operation = all[k] };
		struct blocked b = { { blocked_send }, s.ms.m, true };
		struct machine_config c = *machine_preset("multi-wait");
		struct cay_nqe n;
		scene_windows(&s);
		struct target other = tb_window(s.tb, 1, 3, 64, TB_RIGHTS);
		c.responders = 1;
		machines_open(&s.ms, s.tb, &c, 2);
		memset(s.memory, 0x22, BYTES);
		machine_connect(s.ms.m[1], &b.port);
		struct cay_vci v = scene_vci(&s, 0, SHORT_GET);
		v.word[CAY_VCI_WORD_WINDOW] =
			other.window | other.capability
					       << CAY_VCI_CAPABILITY_SHIFT;
		assert_true(machines_issue(&s.ms, 0, &v));
		v = scene_vci(&s, 0, all[k]);
		assert_true(machines_issue(&s.ms, 0, &v));
		for (uint32_t i = 0; i < 200; i++)
			machines_step(&s.ms);
		fixture_window(&s.tb->fixture, 1, s.window.window,
			s.tb->port[1].origin.wdt[s.window.window].start, BYTES,
			0, &s.window.capability);
		assert_int_equal(quiesce(&s), 0);
		memset(s.memory, 0x33, BYTES);
		b.blocked = false;
		machines_run(&s.ms);
		assert_true(all_bytes(s.memory, 0x33, BYTES));
		assert_int_equal(scene_error(&s, &n), 0);
		assert_int_equal(scene_error(&s, &n), CAY_ERROR_TARGET_WINDOW);
		machines_close(&s.ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_is_withdrawn),
		TEST(accesses_that_wait_are_checked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
