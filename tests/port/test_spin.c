/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spinning before sleeping: the decision with injected times and preemption
 * counts, and a thread pinned to a core of its own on a machine with other
 * runnable threads.
 */
#include <sched.h>
#include <stdatomic.h>

#include "harness.h"
#include "port/spin.h"

#define MS NS_PER_MS

static uint64_t preemptions, samples;

static uint64_t injected(void)
{
	samples++;
	return preemptions;
}

/* ---- decision ---- */

static void undisturbed_thread_spins(void **state)
{
	struct spin s = { 0 };
	(void)state;
	preemptions = 1000; /* from before the first wait */
	for (uint64_t t = 1000 * MS; t < 2000 * MS; t += MS)
		assert_true(spin_allowed(&s, t, injected));
}

/* Four per second, as kernel threads cause them on an idle machine. */
static void rare_preemptions_hardly_matter(void **state)
{
	struct spin s = { 0 };
	unsigned allowed = 0;
	(void)state;
	for (uint64_t t = 1; t <= 10000; t++) {
		preemptions += t % 250 == 0;
		allowed += spin_allowed(&s, t * MS, injected);
	}
	assert_in_range(allowed, 9000, 10000);

	/* A thread that waits seldom is judged by the average rate. */
	s = (struct spin){ 0 };
	assert_true(spin_allowed(&s, 1000 * MS, injected));
	preemptions += 10;
	assert_true(spin_allowed(&s, 2000 * MS, injected));
	preemptions += 100;
	assert_false(spin_allowed(&s, 3000 * MS, injected));
}

/* A thread that spins is preempted once per ms, one that sleeps is not. */
static void contention_stops_spinning(void **state)
{
	struct spin s = { 0 };
	unsigned allowed = 0;
	(void)state;
	for (uint64_t t = 1; t <= 10000; t++) {
		bool spins = spin_allowed(&s, t * MS, injected);
		preemptions += spins;
		allowed += spins;
	}
	/* One sample of 5 ms in 85. */
	assert_in_range(allowed, 1, 1000);

	/* Without contention spinning resumes within the longest back-off. */
	uint64_t t = 10001 * MS;
	while (!spin_allowed(&s, t, injected))
		t += MS;
	assert_true(t <= 10001 * MS + SPIN_BACKOFF_NS_MAX);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(spin_allowed(&s, t += MS, injected));
	assert_true(s.backoff_ns < SPIN_BACKOFF_NS_MIN);
}

static void sampled_at_most_every_5_ms(void **state)
{
	struct spin s = { 0 };
	(void)state;
	samples = 0;
	for (uint64_t t = 0; t < 100 * MS; t += 10 * NS_PER_US)
		spin_allowed(&s, 1000 * MS + t, injected);
	assert_in_range(samples, 1, 20);
}

/* ---- a pinned thread ---- */

#define ROUND 100

struct echo {
	int core;
	_Atomic bool stop;
};

static void pin(int core)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Answers each message after a microsecond; never sleeps. */
static void *echo_run(void *argument)
{
	struct echo *echo = argument;
	struct cay_port *port = open_named("echo");
	struct cay_peer *peer = open_peer_named(port, "pinned");
	struct cay_event e;
	pin(echo->core);
	while (!echo->stop) {
		if (!poll_event(port, &e))
			continue;
		if (e.kind == CAY_EVENT_MESSAGE) {
			for (uint64_t end = now_ns() + NS_PER_US;
				now_ns() < end;)
				;
			assert_int_equal(
				cay_send(port, peer, e.tag, NULL, 0, 0), 0);
		}
		cay_release(port, &e);
	}
	cay_peer_release(peer);
	close_port(port);
	return NULL;
}

/* Returns how many of ROUND waits slept. */
static uint64_t round_trips(struct cay_port *port, struct cay_peer *peer)
{
	uint64_t before = port_stats(port).sleeps;
	for (uint64_t i = 0; i < ROUND; i++) {
		assert_int_equal(cay_send(port, peer, i, NULL, 0, 0), 0);
		assert_int_equal(cay_wait(port, soon()), 0);
		expect_message(port, i, 0, 0);
	}
	return port_stats(port).sleeps - before;
}

/*
 * The echo thread alone makes more runnable threads than the pinned one has
 * cores. Other processes may use the core, so that only some rounds spin.
 */
static void pinned_thread_spins(void **state)
{
	cpu_set_t before;
	int cores[2], found = 0;
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &before))
			cores[found++] = i;
	if (found < 2)
		skip();
	struct echo echo = { .core = cores[1] };
	pthread_t thread;
	struct cay_port *port = open_named("pinned");
	assert_int_equal(pthread_create(&thread, NULL, echo_run, &echo), 0);
	struct cay_peer *peer = open_peer_named(port, "echo");
	pin(cores[0]);
	uint64_t deadline = soon(), sleeps;
	do
		sleeps = round_trips(port, peer);
	while (sleeps > ROUND / 2 && now_ns() < deadline);
	assert_in_range(sleeps, 0, ROUND / 2);

	echo.stop = true;
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	cay_peer_release(peer);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(undisturbed_thread_spins),
		TEST(rare_preemptions_hardly_matter),
		TEST(contention_stops_spinning),
		TEST(sampled_at_most_every_5_ms),
		TEST(pinned_thread_spins),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
