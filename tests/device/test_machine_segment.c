/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segmented transfers and death: an origin or a target is detached, or a node
 * is gone, at every cycle of a transfer. What was claimed becomes void, room
 * and posted receives are given back, nothing is left in the machine, and the
 * ports can be used again.
 */
#include "machine.h"

#define PORTS 3
#define BYTES 9000u /* nine packets */
#define MTU   1024u

enum operation {
	SEND,
	SEND_POSTED,
	PUT,
	PUT_NOTIFIED, /* the owner of the window is notified */
	GET,
	OPERATIONS,
};

enum death {
	ORIGIN,
	TARGET,
	NODE_OF_ORIGIN,
	NODE_OF_TARGET,
	DEATHS,
};

struct transfer {
	struct testbench *tb;
	struct machines ms;
	struct target window[2]; /* plain, notified */
	unsigned char *posted;
	enum operation operation;
};

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

static void transfer_windows(struct transfer *t)
{
	uint64_t unused, at = fixture_memory(&t->tb->fixture, 16384);
	assert_int_equal(fixture_window(&t->tb->fixture, 0, 1, at, 16384,
				 TB_RIGHTS, &unused),
		0);
	t->window[0] = tb_window(t->tb, 1, 2, 16384, TB_RIGHTS);
	t->window[1] = tb_window(
		t->tb, 1, 3, 16384, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	memcpy(fixture_at(&t->tb->fixture, at), t->tb->data, BYTES);
	memcpy(t->tb->port[0].origin.sdr, t->tb->data, BYTES);
}

static struct cay_vci transfer_vci(const struct transfer *t, uint64_t tag)
{
	const struct target *w = &t->window[t->operation == PUT_NOTIFIED];
	if (t->operation == SEND || t->operation == SEND_POSTED)
		return vci_send(&t->ms, 0, 1, CAY_VCI_NOTIFY, tag, BYTES);
	return vci_copy(&t->ms, 0, 1, t->operation == GET ? CAY_GET : CAY_PUT,
		CAY_VCI_NOTIFY, tag, 1, w, BYTES);
}

/* Opens the machines and issues a transfer from port 0 to port 1. */
static void transfer_begin(
	struct transfer *t, uint32_t machines, uint32_t delay)
{
	struct machine_config c = *machine_preset("multi-wait");
	c.mtu = MTU;
	machines_open(&t->ms, t->tb, &c, machines);
	if (delay)
		machines_delay(&t->ms, delay, delay);
	fixture_posted_mode(&t->tb->fixture, 1,
		t->operation == SEND_POSTED ? POSTED_ONLY : POSTED_NONE);
	struct cay_vci v = transfer_vci(t, 7);
	assert_true(machines_issue(&t->ms, 0, &v));
}

static void attach(struct machines *ms, uint32_t port)
{
	struct machine *m = ms->m[machines_of(ms, port)];
	assert_int_equal(
		machine_attach(m, fixture_own(&ms->tb->fixture, port)), 0);
	struct origin *o = machine_origin(m, fixture_vpid(port));
	o->routes = ms->tb->port[port].origin.routes;
	o->windows = ms->tb->port[port].origin.windows;
	/* Its queues are empty. */
	struct queue_control *c = fixture_own(&ms->tb->fixture, port)->control;
	atomic_store(&c->r, atomic_load(&c->w) & ~W_FLAGS);
	memset(o->wq, 0, sizeof(struct cay_vci) << o->wq_log2);
}

/* Consumes what the target got; returns true if the transfer was notified. */
static bool transfer_result(struct transfer *t, unsigned *voids)
{
	bool notified = false;
	struct cay_nqe n;
	*voids = 0;
	while (machines_receive(&t->ms, 1, &n)) {
		unsigned command = nqe_command(&n) & CAY_COMMAND_MASK;
		if (command == CAY_NQE_INVALID)
			++*voids;
		else if (n.word[CAY_NQE_WORD_TAG] == 7)
			notified = true;
		if (command == CAY_NOTIFY_POSTED_RECV) {
			assert_memory_equal(t->posted, t->tb->data, BYTES);
			tb_posted_free(t->tb, &n);
		}
		if (command == CAY_NOTIFY_RECV)
			assert_memory_equal(
				fixture_own(&t->tb->fixture, 1)->rdr +
					n.word[CAY_NQE_WORD_START] * RDR_UNIT,
				t->tb->data, BYTES);
		machines_return(&t->ms, 1, &n);
	}
	return notified;
}

/* The same transfer once more must succeed: nothing is left behind. */
static void transfer_again(struct transfer *t)
{
	struct cay_nqe n;
	unsigned voids;
	while (machines_consume(&t->ms, 0, &n))
		;
	struct cay_vci v = transfer_vci(t, 7);
	assert_true(machines_issue(&t->ms, 0, &v));
	machines_run(&t->ms);
	assert_true(machines_consume(&t->ms, 0, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
	bool notified = transfer_result(t, &voids);
	assert_int_equal(notified, t->operation != PUT && t->operation != GET);
	assert_int_equal(voids, 0);
}

static void post_if_free(struct transfer *t)
{
	if (t->operation != SEND_POSTED)
		return;
	for (uint32_t i = 0;
		i < fixture_own(&t->tb->fixture, 1)->posted_entries; i++)
		if (tb_posted_state(t->tb, i) == POSTED_READY)
			return;
	t->posted = tb_post_receive(t->tb, 16384, 1);
	fixture_posted_mode(&t->tb->fixture, 1, POSTED_ONLY);
}

/* The receives of a dead port end with it. */
static void receives_end(struct transfer *t)
{
	struct context *own = fixture_own(&t->tb->fixture, 1);
	for (uint32_t i = 0; i < own->posted_entries; i++)
		own->posted[i].state = POSTED_FREE;
	own->posted_head->available = 0;
	own->posted_head->next = 0;
	t->tb->port[1].origin.client.posted_write = 0;
}

static void die(struct transfer *t, enum death death)
{
	struct machines *ms = &t->ms;
	uint32_t port = death == TARGET || death == NODE_OF_TARGET;
	uint32_t node = machines_of(ms, port);
	if (death == ORIGIN || death == TARGET) {
		machine_detach(ms->m[node], fixture_vpid(port));
		return;
	}
	wire_cut(ms->wire, node + 1);
	machine_node_gone(ms->m[1 - node], node + 1);
}

/* Returns true if the death came before the end of the transfer. */
static bool death_at(struct transfer *t, enum death death, uint32_t when,
	uint32_t machines, uint32_t delay)
{
	struct cay_nqe n;
	unsigned voids;
	post_if_free(t);
	transfer_begin(t, machines, delay);
	bool busy = true;
	for (uint32_t i = 0; i < when; i++)
		busy = machines_step(&t->ms);
	die(t, death);
	machines_run(&t->ms);
	uint32_t dead = death == TARGET || death == NODE_OF_TARGET;
	uint32_t survivor = machines_of(&t->ms, 1 - dead);
	assert_true(machine_idle(t->ms.m[survivor]));
	bool node = death == NODE_OF_ORIGIN || death == NODE_OF_TARGET;
	if (!node)
		assert_true(machine_idle(t->ms.m[1 % t->ms.count]));
	if (dead == 1) {
		/* The origin knows: either it was done, or it failed. */
		assert_true(machines_consume(&t->ms, 0, &n));
		unsigned error = nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT;
		assert_true(error == CAY_ERROR_NONE || error == CAY_ERROR_GONE);
		assert_false(machines_consume(&t->ms, 0, &n));
	}
	bool notified = transfer_result(t, &voids);
	assert_true(voids <= 1 && !(voids && notified));
	if (dead == 0)
		assert_int_equal(
			queue_rdr(tb_r(t->tb, 1)), queue_rdr(tb_w(t->tb, 1)));
	else if (!node)
		attach(&t->ms, 1);
	if (death == ORIGIN)
		attach(&t->ms, 0);
	if (dead == 1)
		receives_end(t);
	if (!node) {
		post_if_free(t);
		transfer_again(t);
		assert_true(machine_idle(t->ms.m[0]));
	}
	machines_close(&t->ms);
	return busy;
}

static void run(struct testbench *tb, enum death death, uint32_t machines)
{
	struct transfer t = { .tb = tb };
	transfer_windows(&t);
	for (uint32_t delay = 0; delay <= 3; delay += 3)
		for (t.operation = SEND; t.operation < OPERATIONS;
			t.operation++) {
			uint32_t when = 0;
			while (death_at(&t, death, when, machines, delay))
				when++;
			assert_true(when > BYTES / MTU);
		}
}

static void origin_is_detached(void **state)
{
	run(*state, ORIGIN, 1);
}

static void origin_on_another_node_is_detached(void **state)
{
	run(*state, ORIGIN, 2);
}

static void target_is_detached(void **state)
{
	run(*state, TARGET, 1);
}

static void target_on_another_node_is_detached(void **state)
{
	run(*state, TARGET, 2);
}

static void node_of_the_origin_is_gone(void **state)
{
	run(*state, NODE_OF_ORIGIN, 2);
}

static void node_of_the_target_is_gone(void **state)
{
	run(*state, NODE_OF_TARGET, 2);
}

/*
 * From the cycle on in which the entry of an abandoned message is void, its
 * segments, which may still be in a unit, do not use its room.
 */
static void void_room_is_not_used(void **state)
{
	struct transfer t = { .tb = *state };
	struct context *own = fixture_own(&t.tb->fixture, 1);
	const size_t bytes = (size_t)own->rdr_units * RDR_UNIT;
	transfer_windows(&t);
	unsigned voids = 0;
	for (uint32_t seed = 1; seed <= 20; seed++)
		for (uint32_t when = 10; when < 80; when++) {
			struct cay_nqe n;
			transfer_begin(&t, 1, 0);
			machines_delay(&t.ms, 8, seed);
			for (uint32_t i = 0; i < when; i++)
				machines_step(&t.ms);
			machine_detach(t.ms.m[0], fixture_vpid(0));
			bool busy = true, seen = false;
			while (busy) {
				busy = machines_step(&t.ms);
				if (seen || !machines_consume(&t.ms, 1, &n))
					continue;
				seen = true;
				memset(own->rdr, 0xee, bytes);
			}
			assert_true(machine_idle(t.ms.m[0]));
			voids += seen && (nqe_command(&n) & CAY_COMMAND_MASK) ==
						 CAY_NQE_INVALID;
			for (size_t i = 0; seen && i < bytes; i++)
				assert_int_equal(own->rdr[i], 0xee);
			machines_close(&t.ms);
		}
	assert_true(voids > 100);
}

/*
 * The target is detached, and another port gets its place in the machine at
 * once: nothing of the transfer reaches that port.
 */
static void a_place_is_used_again_at_once(void **state)
{
	struct transfer t = { .tb = *state };
	transfer_windows(&t);
	for (t.operation = SEND; t.operation < OPERATIONS; t.operation++) {
		bool busy = true;
		for (uint32_t when = 0; busy; when++) {
			struct cay_nqe n;
			post_if_free(&t);
			transfer_begin(&t, 1, when % 3);
			for (uint32_t i = 0; i < when; i++)
				busy = machines_step(&t.ms);
			uint64_t w = tb_w(t.tb, 2);
			machine_detach(t.ms.m[0], fixture_vpid(2));
			machine_detach(t.ms.m[0], fixture_vpid(1));
			attach(&t.ms, 2);
			machines_run(&t.ms);
			assert_true(machine_idle(t.ms.m[0]));
			assert_int_equal(tb_w(t.tb, 2), w);
			assert_false(machines_consume(&t.ms, 2, &n));
			while (machines_consume(&t.ms, 0, &n))
				;
			attach(&t.ms, 1);
			receives_end(&t);
			machines_close(&t.ms);
		}
	}
}

/* The origin closes its window, or opens another one in its place. */
static void the_window_of_the_origin_is_closed(void **state)
{
	struct transfer t = { .tb = *state };
	struct fixture *f = &t.tb->fixture;
	transfer_windows(&t);
	const struct cay_window_descriptor *d = &t.tb->port[0].origin.wdt[1];
	uint64_t at = d->start, other = fixture_memory(f, 16384), unused;
	for (uint32_t reopen = 0; reopen < 2; reopen++)
		for (t.operation = PUT; t.operation <= GET; t.operation++) {
			bool busy = true;
			unsigned failed = 0;
			for (uint32_t when = 0; busy; when++) {
				struct cay_nqe n;
				unsigned voids;
				fixture_window(
					f, 0, 1, at, 16384, TB_RIGHTS, &unused);
				memset(fixture_at(f, at), 0x11, BYTES);
				memset(fixture_at(f, other), 0x22, BYTES);
				transfer_begin(&t, 1 + when % 2, 0);
				for (uint32_t i = 0; i < when; i++)
					busy = machines_step(&t.ms);
				fixture_window(f, 0, 1, reopen ? other : at,
					16384, reopen ? TB_RIGHTS : 0, &unused);
				memset(fixture_at(f, at), 0x33, BYTES);
				machines_run(&t.ms);
				/* From then on the memory is not used. */
				assert_int_equal(
					*(unsigned char *)fixture_at(f, at),
					0x33);
				assert_memory_equal(fixture_at(f, at),
					(unsigned char *)fixture_at(f, at) + 1,
					BYTES - 1);
				assert_memory_equal(fixture_at(f, other),
					(unsigned char *)fixture_at(f, other) +
						1,
					BYTES - 1);
				const unsigned char *to = fixture_at(
					f, t.tb->port[1].origin.wdt[2].start);
				for (uint32_t i = 0; t.operation == PUT &&
						     i < BYTES && to[i] != 0;
					i++)
					assert_true(to[i] != 0x33);
				assert_true(machines_consume(&t.ms, 0, &n));
				unsigned error = nqe_command(&n) >>
						 CAY_COMMAND_ERROR_SHIFT;
				assert_true(error == CAY_ERROR_NONE ||
					    error == CAY_ERROR_ORIGIN_WINDOW);
				failed += error != 0;
				transfer_result(&t, &voids);
				assert_true(voids == 0 || error);
				for (uint32_t i = 0; i < t.ms.count; i++)
					assert_true(machine_idle(t.ms.m[i]));
				machines_close(&t.ms);
			}
			assert_true(failed > BYTES / MTU);
		}
}

/* The target closes its window: the rest of the transfer is refused. */
static void the_window_of_the_target_is_closed(void **state)
{
	struct transfer t = { .tb = *state };
	struct fixture *f = &t.tb->fixture;
	transfer_windows(&t);
	for (t.operation = PUT; t.operation <= GET; t.operation++) {
		bool busy = true;
		unsigned failed = 0;
		for (uint32_t when = 0; busy; when++) {
			struct cay_nqe n;
			unsigned voids;
			uint16_t id = t.operation == PUT_NOTIFIED ? 3 : 2;
			struct cay_window_descriptor *d =
				&t.tb->port[1].origin.wdt[id];
			uint64_t at = d->start;
			transfer_begin(&t, 1 + when % 2, 0);
			for (uint32_t i = 0; i < when; i++)
				busy = machines_step(&t.ms);
			uint32_t rights = d->rights;
			fixture_window(f, 1, id, at, 16384, 0,
				&t.window[id - 2].capability);
			machines_run(&t.ms);
			assert_true(machines_consume(&t.ms, 0, &n));
			unsigned error = nqe_command(&n) >>
					 CAY_COMMAND_ERROR_SHIFT;
			assert_true(error == CAY_ERROR_NONE ||
				    error == CAY_ERROR_TARGET_WINDOW);
			failed += error != 0;
			bool notified = transfer_result(&t, &voids);
			assert_true(!(error && notified));
			for (uint32_t i = 0; i < t.ms.count; i++)
				assert_true(machine_idle(t.ms.m[i]));
			fixture_window(f, 1, id, at, 16384, rights,
				&t.window[id - 2].capability);
			machines_close(&t.ms);
		}
		assert_true(failed > BYTES / MTU);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(origin_is_detached),
		TEST(origin_on_another_node_is_detached),
		TEST(target_is_detached),
		TEST(target_on_another_node_is_detached),
		TEST(node_of_the_origin_is_gone),
		TEST(node_of_the_target_is_gone),
		TEST(void_room_is_not_used),
		TEST(a_place_is_used_again_at_once),
		TEST(the_window_of_the_origin_is_closed),
		TEST(the_window_of_the_target_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
