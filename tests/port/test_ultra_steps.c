/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Either side of an ULTRA path dies after each step of its units, at several
 * passes: the other side gets all that was published, or an event for each
 * message, and then learns of the death. It sleeps in between, so that a
 * wake-up that the dead process owed must come from the node.
 */
#include "device/step.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ultra.h"

#define MESSAGES 600 /* more than a path has slices */
#define PASSES	 3

extern void (*host_step_hook)(enum device_step);

/* What the dying side has done, for the survivor. */
struct shared {
	enum device_step step;
	unsigned pass;
	struct cay_addr survivor;
	_Atomic uint64_t published;
	_Atomic uint64_t taken;
	_Atomic bool armed;
};

static struct shared *shared;
static unsigned passes_left;

static void die_at_step(enum device_step step)
{
	if (!atomic_load(&shared->armed))
		return;
	if (step == STEP_PUBLISH)
		atomic_fetch_add(&shared->published, 1);
	if (step == shared->step && passes_left-- == 0)
		kill(getpid(), SIGKILL);
}

static void steps_begin(void)
{
	passes_left = shared->pass * 150;
	host_step_hook = die_at_step;
	atomic_store(&shared->armed, true);
}

/* Sends until it dies; some messages make it sleep for room. */
static void origin_run(struct child *parent, void *argument)
{
	(void)argument;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *out = ultra_connect(port, shared->survivor);
	child_send(parent, 1);
	steps_begin();
	for (uint64_t i = 0; i < MESSAGES; i++) {
		int r;
		while ((r = ultra_send_number(out, i, i % 49, 0)) == -EAGAIN)
			cay_wait(port, soon());
		assert_int_equal(r, 0);
	}
	/* The step does not exist on this side, or not in this pass. */
	kill(getpid(), SIGKILL);
}

static void origin_dies_at(enum device_step step, unsigned pass)
{
	struct child child;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	*shared = (struct shared){
		.step = step, .pass = pass, .survivor = cay_port_addr(port)
	};
	child_start(&child, origin_run, NULL);
	child_receive(&child);
	uint64_t received = 0;
	for (;;) {
		int r = ultra_recv_number(in, received);
		if (r == -EAGAIN) {
			assert_int_equal(cay_wait(port, soon()), 0);
			continue;
		}
		if (r == -EPIPE)
			break;
		assert_int_equal(r, received % 49);
		received++;
	}
	/* The last one may be stored and not counted. */
	uint64_t published = atomic_load(&shared->published);
	assert_true(received == published || received == published + 1);
	child_kill(&child);
	close_port(port);
}

/* Receives until it dies, and sleeps when there is nothing. */
static void target_run(struct child *parent, void *argument)
{
	(void)argument;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, shared->survivor, 64);
	child_send(parent, cay_port_addr(port).vpid);
	child_receive(parent);
	steps_begin();
	for (uint64_t i = 0; i < MESSAGES; i++) {
		int r;
		while ((r = ultra_recv_number(in, i)) == -EAGAIN)
			cay_wait(port, soon());
		assert_int_equal(r, i % 49);
		atomic_store(&shared->taken, i + 1);
	}
	kill(getpid(), SIGKILL);
}

/* In order; none is acknowledged after one that is lost. */
static void event_check(struct cay_port *port, const struct cay_event *e,
	uint64_t *events, uint64_t *good)
{
	assert_int_equal(e->kind, CAY_EVENT_ULTRA);
	assert_int_equal(e->tag, 4 * *events);
	assert_true(e->error == CAY_ERROR_GONE ||
		    (e->error == 0 && *good == *events));
	*good += e->error == 0;
	(*events)++;
	cay_release(port, e);
}

static void target_dies_at(enum device_step step, unsigned pass)
{
	struct child child;
	struct cay_port *port = open_port(NULL);
	*shared = (struct shared){
		.step = step, .pass = pass, .survivor = cay_port_addr(port)
	};
	child_start(&child, target_run, NULL);
	struct cay_addr to = { shared->survivor.node,
		(uint16_t)child_receive(&child) };
	struct cay_ultra *out = ultra_connect(port, to);
	child_send(&child, 1);
	uint64_t sent = 0, events = 0, good = 0;
	int r = 0;
	while (r != -EPIPE && sent < 2 * MESSAGES) {
		struct cay_event e;
		r = ultra_send_number(
			out, sent, sent % 49, sent % 4 ? 0 : CAY_ACK);
		if (r == 0)
			sent++;
		else if (r == -EAGAIN)
			assert_int_equal(cay_wait(port, soon()), 0);
		else
			assert_int_equal(r, -EPIPE);
		while (poll_event(port, &e))
			event_check(port, &e, &events, &good);
	}
	assert_int_equal(r, -EPIPE);
	while (4 * events < sent) {
		struct cay_event e;
		next_event(port, &e);
		event_check(port, &e, &events, &good);
	}
	/* Acknowledged ones were taken. */
	assert_true(good == 0 || 4 * (good - 1) <= atomic_load(&shared->taken));
	check_empty(port);
	child_kill(&child);
	close_port(port);
}

static void sides_die_at_each_step(void **state)
{
	(void)state;
	static const enum device_step steps[] = { STEP_ENTRY, STEP_PUBLISH,
		STEP_WAKE, STEP_TAKE, STEP_RETURN, STEP_SLEEP, STEP_NONE };
	shared = shared_memory(sizeof(*shared));
	for (unsigned i = 0; i < COUNT(steps); i++)
		for (unsigned pass = 0; pass < PASSES; pass++) {
			origin_dies_at(steps[i], pass);
			target_dies_at(steps[i], pass);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sides_die_at_each_step),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
