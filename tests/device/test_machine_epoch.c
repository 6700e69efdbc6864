/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port is closed, and another one opened with its VPID, while packets are on
 * their way to it or from it: at every cycle, on one machine and on two. The
 * new port gets nothing that was meant for the former one, holds none of its
 * locks, and no response.
 */
#include "machine.h"

#define BYTES 2048u
#define MTU   256u
#define TAG   0x77

enum operation {
	SHORT_SEND,
	SEND,
	SHORT_PUT,
	PUT,
	SHORT_GET,
	GET,
	ADD,
	OPERATIONS,
};

struct scene {
	struct testbench *tb;
	struct machines ms;
	struct target window;
	enum operation operation;
	uint32_t delay;
};

/* The same window, with the same capability, whichever port has the VPID. */
static void window_open(struct scene *s, uint32_t port)
{
	struct fixture *f = &s->tb->fixture;
	struct cay_window_descriptor *d = &s->tb->port[port].origin.wdt[1];
	uint64_t at = fixture_memory(f, BYTES), unused;
	assert_int_not_equal(at, 0);
	assert_int_equal(
		fixture_window(f, port, 1, at, BYTES, TB_RIGHTS, &unused), 0);
	d->capability = 0x1234;
}

static unsigned char *window_memory(const struct scene *s, uint32_t port)
{
	return fixture_at(
		&s->tb->fixture, s->tb->port[port].origin.wdt[1].start);
}

static void scene_open(struct scene *s, uint32_t machines)
{
	struct machine_config c = *machine_preset("multi-wait");
	void *tb = NULL;
	assert_int_equal(tb_setup(&tb), 0);
	s->tb = tb;
	c.mtu = MTU;
	window_open(s, 0);
	window_open(s, 1);
	s->window = (struct target){ .window = 1, .capability = 0x1234 };
	machines_open(&s->ms, s->tb, &c, machines);
	machines_delay(&s->ms, s->delay, 5);
	memset(window_memory(s, 0), 0x11, BYTES);
}

static void scene_close(struct scene *s)
{
	void *tb = s->tb;
	machines_close(&s->ms);
	tb_teardown(&tb);
}

static struct cay_vci scene_vci(const struct scene *s)
{
	static const unsigned commands[OPERATIONS] = {
		[SHORT_SEND] = CAY_FAST_SEND | 1,
		[SEND] = CAY_SEND,
		[SHORT_PUT] = CAY_FAST_PUT | 1,
		[PUT] = CAY_PUT,
		[SHORT_GET] = CAY_FAST_GET | 1,
		[GET] = CAY_GET,
		[ADD] = CAY_FAA,
	};
	unsigned command = commands[s->operation];
	if (s->operation == SHORT_SEND)
		return vci_fast(&s->ms, 0, 1, CAY_VCI_NOTIFY, TAG);
	if (s->operation == SEND)
		return vci_send(&s->ms, 0, 1, CAY_VCI_NOTIFY, TAG, BYTES);
	struct cay_vci v = vci_copy(&s->ms, 0, 1, command, CAY_VCI_NOTIFY, TAG,
		1, &s->window, BYTES);
	if (s->operation == PUT || s->operation == GET)
		return v;
	if (s->operation != ADD)
		v.word[CAY_VCI_WORD_TARGET] |= 8ull << CAY_VCI_BYTES_SHIFT;
	v.word[CAY_VCI_WORD_OPERAND] = 1;
	v.word[CAY_VCI_WORD_OPERAND + 1] = 0;
	v.word[CAY_VCI_WORD_OPERAND + 2] = 0;
	return v;
}

/* Closes a port and opens another one with its VPID, in the same cycle. */
static void replace(struct scene *s, uint32_t port)
{
	struct machine *m = s->ms.m[machines_of(&s->ms, port)];
	machine_detach(m, fixture_vpid(port));
	assert_int_equal(fixture_reopen(&s->tb->fixture, port, false), 0);
	window_open(s, port);
	memset(window_memory(s, port), 0x55, BYTES);
	assert_int_equal(
		machine_attach(m, fixture_own(&s->tb->fixture, port)), 0);
	struct origin *o = machine_origin(m, fixture_vpid(port));
	o->routes = s->tb->port[port].origin.routes;
	o->windows = s->tb->port[port].origin.windows;
}

static void assert_untouched(struct scene *s, uint32_t port)
{
	const unsigned char *at = window_memory(s, port);
	struct cay_nqe n;
	assert_false(machines_receive(&s->ms, port, &n));
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(at[i], 0x55);
	for (uint32_t i = 0; i < s->ms.count; i++)
		assert_true(machine_idle(s->ms.m[i]));
}

static void the_target_is_replaced(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 4 * OPERATIONS; kind++) {
		struct scene s = { .operation = kind / 4,
			.delay = kind & 2 ? 3 : 0 };
		bool busy = true;
		unsigned gone = 0, done = 0;
		for (uint32_t when = 0; busy; when++) {
			struct cay_nqe n;
			scene_open(&s, 1 + kind % 2);
			struct cay_vci v = scene_vci(&s);
			assert_true(machines_issue(&s.ms, 0, &v));
			for (uint32_t i = 0; i < when; i++)
				busy = machines_step(&s.ms);
			replace(&s, 1);
			machines_run(&s.ms);
			assert_untouched(&s, 1);
			assert_true(machines_consume(&s.ms, 0, &n));
			unsigned error = nqe_command(&n) >>
					 CAY_COMMAND_ERROR_SHIFT;
			assert_true(error == 0 || error == CAY_ERROR_GONE);
			gone += error != 0;
			done += error == 0;
			assert_false(machines_consume(&s.ms, 0, &n));
			scene_close(&s);
		}
		assert_true(gone > 5 && done);
	}
}

static void the_origin_is_replaced(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 4 * OPERATIONS; kind++) {
		struct scene s = { .operation = kind / 4,
			.delay = kind & 2 ? 3 : 0 };
		bool busy = true;
		for (uint32_t when = 0; busy; when++) {
			struct cay_nqe n;
			scene_open(&s, 1 + kind % 2);
			struct cay_vci v = scene_vci(&s);
			assert_true(machines_issue(&s.ms, 0, &v));
			for (uint32_t i = 0; i < when; i++)
				busy = machines_step(&s.ms);
			replace(&s, 0);
			machines_run(&s.ms);
			assert_untouched(&s, 0);
			/* The new port works. */
			s.operation = SHORT_SEND;
			v = scene_vci(&s);
			v.word[CAY_VCI_WORD_TAG]++;
			assert_true(machines_issue(&s.ms, 0, &v));
			machines_run(&s.ms);
			assert_true(machines_consume(&s.ms, 0, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
			assert_int_equal(n.word[CAY_NQE_WORD_TAG], TAG + 1);
			s.operation = kind / 4;
			scene_close(&s);
		}
	}
}

/*
 * A packet of the former port of a VPID is on its way to a window that the new
 * port has locked.
 */
static void the_lock_of_the_new_port(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++) {
		struct scene s = { .operation = SHORT_PUT,
			.delay = kind & 2 ? 3 : 0 };
		bool busy = true;
		unsigned refused = 0;
		for (uint32_t when = 0; busy; when++) {
			scene_open(&s, 1 + kind % 2);
			struct machine *m = s.ms.m[kind % 2];
			struct cay_vci v = scene_vci(&s);
			assert_true(machines_issue(&s.ms, 0, &v));
			for (uint32_t i = 0; i < when; i++)
				busy = machines_step(&s.ms);
			replace(&s, 0);
			struct machine_lock l = { .vpid = fixture_vpid(1),
				.window = 1,
				.capability = s.window.capability,
				.holder = { 1, s.tb->port[0].first_epoch,
					fixture_vpid(0) } };
			int r = machine_window_lock(m, &l);
			for (; r == -EINPROGRESS;
				r = machine_window_locked(m, &l))
				machines_step(&s.ms);
			assert_int_equal(r, 0);
			unsigned char before = *window_memory(&s, 1);
			machines_run(&s.ms);
			assert_int_equal(*window_memory(&s, 1), before);
			refused += before == 0;
			scene_close(&s);
		}
		assert_true(refused > 5);
	}
}

/* A wire that loses everything. */
static bool lost_send(struct wire_port *port, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	(void)port;
	(void)node;
	(void)response;
	(void)bytes;
	(void)size;
	return true;
}

/* An ACK of the port that the request was for, to the port that sent it. */
static void responses_have_both_epochs(void **state)
{
	static const struct {
		uint32_t origin, target;
	} epochs[] = { { 0, 1 }, { 2, 1 }, { 1, 0 }, { 1, 2 }, { 1, 1 } };
	struct routing_string string = { .count = 1,
		.phit = { STRING_PORT_ANY } };
	struct wire_port lost = { lost_send };
	struct scene s = { .operation = SHORT_SEND };
	struct cay_nqe n;
	(void)state;
	scene_open(&s, 2);
	machine_connect(s.ms.m[0], &lost);
	struct cay_vci v = scene_vci(&s);
	assert_true(machines_issue(&s.ms, 0, &v));
	machines_run(&s.ms);
	for (unsigned i = 0; i < ARRAY_COUNT(epochs); i++) {
		const struct packet_header h = { .command = CAY_ACKNOWLEDGE,
			.last = true,
			.origin_vpid = fixture_vpid(1),
			.target_vpid = fixture_vpid(0),
			.origin_node = 2,
			.origin_epoch = epochs[i].origin,
			.target_epoch = epochs[i].target,
			.request = 1u << 16, /* the first */
			.completed = CAY_FAST_SEND | 1 };
		unsigned char bytes[PACKET_BYTES_MAX(MTU)];
		int size = packet_encode(
			&h, &string, NULL, 0, MTU, bytes, sizeof(bytes));
		assert_true(size > 0);
		assert_int_equal(
			machine_receive(s.ms.m[0], bytes, (size_t)size), 0);
		machines_run(&s.ms);
		assert_int_equal(machines_consume(&s.ms, 0, &n),
			epochs[i].origin == 1 && epochs[i].target == 1);
	}
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_target_is_replaced),
		cmocka_unit_test(the_origin_is_replaced),
		cmocka_unit_test(the_lock_of_the_new_port),
		cmocka_unit_test(responses_have_both_epochs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
