/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * longjmp() out of cay_send() from a signal handler at random times, thousands
 * of times. Each message whose cay_send() returned 0 arrives once, an abandoned
 * one at most once, and neither the thread nor the receiver hangs.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum {
	SENDERS = 2,
	LAST = UINT32_MAX
};

/* State of a message, by sender and number. */
enum fate {
	FATE_NONE = 0,
	FATE_SENT,
	FATE_JUMPED,
};

#define MESSAGES_MAX 4000000u
#define COPIED_BYTES 9000u /* a long message */

struct ledger {
	_Atomic uint8_t fate[MESSAGES_MAX];
	_Atomic uint8_t came[MESSAGES_MAX];
};

struct plan {
	uint32_t jumps; /* of each sender */
	bool armed;	/* the receiver sleeps in epoll */
	struct ledger *ledger[SENDERS];
	uint32_t number; /* of the sender to be started */
};

/* ---- receiver ---- */

struct receiver {
	struct cay_port *port;
	int epoll; /* -1: sleeps in cay_wait() */
};

static void receiver_open(struct receiver *r, const struct plan *plan)
{
	struct epoll_event e = { .events = EPOLLIN };
	r->port = open_named("receiver");
	r->epoll = -1;
	if (!plan->armed)
		return;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(
		epoll_ctl(r->epoll, EPOLL_CTL_ADD, cay_port_fd(r->port), &e),
		0);
}

static void receiver_sleep(struct receiver *r)
{
	struct epoll_event e;
	if (r->epoll < 0)
		assert_int_equal(cay_wait(r->port, soon()), 0);
	else if (cay_port_arm(r->port) == 0)
		assert_int_equal(epoll_wait(r->epoll, &e, 1,
					 (int)(TIMEOUT_NS / NS_PER_MS)),
			1);
}

/* Returns true for the last message of a sender. */
static bool receiver_take(const struct plan *plan, const struct cay_event *e)
{
	uint32_t sender = (uint32_t)(e->tag >> 32);
	uint32_t number = (uint32_t)e->tag;
	assert_int_equal(e->kind, CAY_EVENT_MESSAGE);
	assert_true(sender < SENDERS);
	if (number == LAST)
		return true;
	assert_true(number < MESSAGES_MAX);
	assert_true(content_fits(e->data, e->length, e->tag));
	assert_int_equal(plan->ledger[sender]->came[number], 0);
	plan->ledger[sender]->came[number] = 1;
	return false;
}

static void receiver_run(struct child *parent, void *argument)
{
	const struct plan *plan = argument;
	struct receiver r;
	struct cay_event e;
	unsigned done = 0;
	(void)parent;
	receiver_open(&r, plan);
	while (done < SENDERS) {
		if (!poll_event(r.port, &e)) {
			receiver_sleep(&r);
			continue;
		}
		done += receiver_take(plan, &e);
		cay_release(r.port, &e);
	}
	close_port(r.port);
}

/* ---- senders: variables that must survive a longjmp are static ---- */

static struct {
	struct cay_port *port;
	struct cay_peer *peer;
	struct ledger *ledger;
	struct random random;
	timer_t timer;
	uint32_t number;
	uint32_t next;
	uint32_t jumps;
	unsigned char data[COPIED_BYTES];
} sender;

static sigjmp_buf back;
static volatile sig_atomic_t inside, fired;

static void on_timer(int signal_number)
{
	(void)signal_number;
	fired = 1;
	if (inside)
		siglongjmp(back, 1);
}

static void sender_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1 };
	struct sigaction action = { .sa_handler = on_timer };
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(
		timer_create(CLOCK_MONOTONIC, &event, &sender.timer), 0);
}

static void sender_arm(void)
{
	struct itimerspec in = { .it_value.tv_nsec =
					 1 + (long)random_below(
						     &sender.random, 80000) };
	fired = 0;
	assert_int_equal(timer_settime(sender.timer, 0, &in, NULL), 0);
}

static int sender_send(uint64_t tag, size_t size)
{
	inside = 1;
	int r = cay_send(sender.port, sender.peer, tag, sender.data, size, 0);
	inside = 0;
	return r;
}

/* Sends until the timer fires, possibly during a send. */
static void sender_burst(void)
{
	while (!fired && sender.next < MESSAGES_MAX - 1) {
		uint64_t tag = (uint64_t)sender.number << 32 | sender.next;
		size_t size = sender.next % 8	  ? 8
			      : sender.next % 128 ? 256
						  : COPIED_BYTES;
		content_fill(sender.data, size, tag);
		int r = sender_send(tag, size);
		if (r == -EAGAIN) {
			sched_yield();
			continue;
		}
		assert_int_equal(r, 0);
		sender.ledger->fate[sender.next++] = FATE_SENT;
	}
}

static void sender_try(void)
{
	if (sigsetjmp(back, 1) == 0) {
		sender_arm();
		sender_burst();
		return;
	}
	inside = 0;
	sender.ledger->fate[sender.next++] = FATE_JUMPED;
	sender.jumps++;
}

static void sender_run(struct child *parent, void *argument)
{
	const struct plan *plan = argument;
	uint64_t deadline = now_ns() + 2 * TIMEOUT_NS;
	(void)parent;
	sender.number = plan->number;
	sender.ledger = plan->ledger[plan->number];
	sender.random.state = plan->number;
	sender.port = open_port(NULL);
	sender.peer = open_peer_named(sender.port, "receiver");
	sender_timer();
	/*
	 * A fast machine may run out of numbers before the number of longjmps
	 * is reached.
	 */
	while (sender.jumps < plan->jumps && sender.next < MESSAGES_MAX - 1) {
		if (random_below(&sender.random, 4) == 0)
			random_pause(&sender.random, 100 * NS_PER_US);
		sender_try();
		assert_true(now_ns() < deadline);
	}
	assert_true(sender.jumps >= plan->jumps / 4);
	timer_delete(sender.timer);
	assert_int_equal(cay_send_wait(sender.port, sender.peer,
				 (uint64_t)sender.number << 32 | LAST, NULL, 0,
				 0, soon()),
		0);
	cay_peer_release(sender.peer);
	close_port(sender.port);
}

/* ---- tests ---- */

static void ledger_check(const struct ledger *l)
{
	for (uint32_t i = 0; i < MESSAGES_MAX; i++) {
		uint8_t fate = l->fate[i], came = l->came[i];
		assert_true(came <= (fate != FATE_NONE));
		assert_true(came == 1 || fate != FATE_SENT);
	}
}

static void jump(bool armed)
{
	struct plan plan = { .jumps = (uint32_t)scaled(4000), .armed = armed };
	struct child receiver, senders[SENDERS];
	for (uint32_t i = 0; i < SENDERS; i++)
		plan.ledger[i] = shared_memory(sizeof(struct ledger));
	child_start(&receiver, receiver_run, &plan);
	for (plan.number = 0; plan.number < SENDERS; plan.number++)
		child_start(&senders[plan.number], sender_run, &plan);
	for (uint32_t i = 0; i < SENDERS; i++)
		child_join(&senders[i]);
	child_join(&receiver);
	for (uint32_t i = 0; i < SENDERS; i++)
		ledger_check(plan.ledger[i]);
}

static void longjmp_while_the_receiver_waits(void **state)
{
	(void)state;
	jump(false);
}

static void longjmp_while_the_receiver_is_armed(void **state)
{
	(void)state;
	jump(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(longjmp_while_the_receiver_waits),
		TEST(longjmp_while_the_receiver_is_armed),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
