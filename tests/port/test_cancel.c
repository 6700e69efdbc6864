/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads are cancelled or exit at random times. Completed sends arrive, the
 * send in progress may arrive, and other threads continue. The receiver sleeps
 * in epoll, so that senders ring the doorbell, which is a cancellation point
 * inside a call.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "status.h"

enum {
	WAVE = 4,
	LAST = 1000000
};

/* How a thread exits. */
enum ending {
	END_CANCELLED_ANYWHERE,
	END_CANCELLED_BETWEEN, /* not inside a call */
	END_LEAVES,
};

/* By sender: sends that returned 0, and received messages. */
struct tally {
	_Atomic uint32_t sent, came;
};

struct plan {
	enum ending ending;
	uint32_t waves;
	struct tally *tally; /* shared with the receiver */
};

/* ---- receiver ---- */

static void receiver_sleep(struct cay_port *port, int epoll)
{
	struct epoll_event e;
	if (cay_port_arm(port) == 0)
		assert_int_equal(
			epoll_wait(epoll, &e, 1, (int)(TIMEOUT_NS / NS_PER_MS)),
			1);
}

/*
 * Messages of each sender arrive in order, once. Returns false after the last
 * one.
 */
static bool receiver_count(struct plan *plan, const struct cay_event *e)
{
	uint32_t sender = (uint32_t)(e->tag >> 32);
	assert_int_equal(e->kind, CAY_EVENT_MESSAGE);
	if (sender == LAST)
		return false;
	assert_true(sender < plan->waves * WAVE);
	assert_int_equal(plan->tally[sender].came, (uint32_t)e->tag);
	plan->tally[sender].came++;
	return true;
}

static void receiver_run(struct child *parent, void *argument)
{
	struct cay_port *port = open_named("receiver");
	struct epoll_event added = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct cay_event e;
	bool more = true;
	(void)parent;
	assert_int_equal(
		epoll_ctl(epoll, EPOLL_CTL_ADD, cay_port_fd(port), &added), 0);
	while (more) {
		if (!poll_event(port, &e)) {
			receiver_sleep(port, epoll);
			continue;
		}
		more = receiver_count(argument, &e);
		cay_release(port, &e);
	}
	close_port(port);
}

/* ---- senders ---- */

struct sender {
	pthread_t thread;
	struct plan *plan;
	struct cay_port *port;
	struct cay_peer *peer;
	uint32_t number;
	_Atomic bool started;
};

/*
 * AddressSanitizer does not notice that a cancelled thread has left its stack
 * frames, in whose place the cleanup of the library runs.
 */
static void stack_forget(void *unused)
{
	(void)unused;
#if HARNESS_ADDRESS
	void __asan_unpoison_memory_region(const volatile void *, size_t);
	const size_t below = 65536;
	__asan_unpoison_memory_region(
		(char *)__builtin_frame_address(0) - below, below);
#endif
}

static void sender_send(struct sender *s, uint32_t count)
{
	uint64_t tag = (uint64_t)s->number << 32 | count;
	int r;
	while ((r = cay_send(s->port, s->peer, tag, &tag, sizeof(tag), 0)) ==
		-EAGAIN)
		sched_yield();
	assert_int_equal(r, 0);
	s->plan->tally[s->number].sent = count + 1;
}

/* A cancellation point for all kinds of threads. */
static void sender_between(struct sender *s)
{
	int state;
	if (s->plan->ending != END_CANCELLED_BETWEEN)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	pthread_testcancel();
	pthread_setcancelstate(state, &state);
}

static void sender_loop(struct sender *s)
{
	struct random r = { s->number };
	bool leaves = s->plan->ending == END_LEAVES;
	uint64_t most = leaves ? random_below(&r, 100) : UINT32_MAX;
	for (uint32_t i = 0; i < most; i++) {
		sender_send(s, i);
		random_pause(&r, 50 * NS_PER_US);
		sender_between(s);
	}
}

static void *sender_run(void *argument)
{
	struct sender *s = argument;
	int state;
	if (s->plan->ending == END_CANCELLED_BETWEEN)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	s->started = true;
	pthread_cleanup_push(stack_forget, NULL);
	sender_loop(s);
	pthread_cleanup_pop(0);
	pthread_exit(NULL);
}

static void sender_end(struct sender *s)
{
	struct timespec t;
	if (s->plan->ending != END_LEAVES)
		pthread_cancel(s->thread);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (time_t)(TIMEOUT_NS / NS_PER_S);
	assert_int_equal(pthread_timedjoin_np(s->thread, NULL, &t), 0);
}

static void wave_run(struct sender *wave, struct random *r)
{
	for (unsigned i = 0; i < WAVE; i++) {
		wave[i].started = false;
		assert_int_equal(pthread_create(&wave[i].thread, NULL,
					 sender_run, &wave[i]),
			0);
	}
	for (unsigned i = 0; i < WAVE; i++)
		while (!wave[i].started)
			sched_yield();
	random_pause(r, NS_PER_MS);
	for (unsigned i = 0; i < WAVE; i++)
		sender_end(&wave[i]);
}

static void waves_run(
	struct plan *plan, struct cay_port *port, struct cay_peer *peer)
{
	struct random r = { 11 };
	struct sender wave[WAVE];
	for (uint32_t w = 0; w < plan->waves; w++) {
		for (uint32_t i = 0; i < WAVE; i++) {
			wave[i].plan = plan;
			wave[i].port = port;
			wave[i].peer = peer;
			wave[i].number = w * WAVE + i;
		}
		wave_run(wave, &r);
	}
}

/*
 * A thread cancelled inside a call may have sent one more message than it
 * counted.
 */
static void tally_check(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->waves * WAVE; i++) {
		uint32_t more = plan->tally[i].came - plan->tally[i].sent;
		assert_true(more <= (plan->ending == END_CANCELLED_ANYWHERE));
	}
}

static void end_by(enum ending ending)
{
	struct plan plan = { .ending = ending, .waves = scaled(400) };
	struct cay_port *port = open_port(NULL);
	struct child receiver;
	plan.tally = shared_memory(plan.waves * WAVE * sizeof(*plan.tally));
	child_start(&receiver, receiver_run, &plan);
	struct cay_peer *peer = open_peer_named(port, "receiver");
	waves_run(&plan, port, peer);
	/* All records are free again except that of this thread. */
	assert_int_equal(status_process(getpid()).records, 0);
	assert_int_equal(cay_send_wait(port, peer, (uint64_t)LAST << 32, NULL,
				 0, 0, soon()),
		0);
	child_join(&receiver);
	tally_check(&plan);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
}

static void cancelled_between_calls(void **state)
{
	(void)state;
	end_by(END_CANCELLED_BETWEEN);
}

static void exit_between_calls(void **state)
{
	(void)state;
	end_by(END_LEAVES);
}

static void cancelled_anywhere(void **state)
{
	(void)state;
	/* ThreadSanitizer's interceptors cannot be cancelled. */
	if (HARNESS_THREAD)
		skip();
	end_by(END_CANCELLED_ANYWHERE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(cancelled_between_calls),
		TEST(exit_between_calls),
		TEST(cancelled_anywhere),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
