/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * longjmp() out of cay_send() after each numbered step. The next call of the
 * thread repairs entries that were claimed and not published, and no call waits
 * for an abandoned record. Needs the library with CAY_HOST_STEPS.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <time.h>

#include "device/step.h"
#include "harness.h"

extern void (*host_step_hook)(enum device_step);

#define COPIED_BYTES 20000u /* a long message, copied */
#define COPIED_SLOTS 64u

/* Step after which the thread leaves its next call; 0: none. */
static _Thread_local enum device_step jump_after;
static _Thread_local unsigned jump_passes; /* passes of the step before that */
/*
 * If set, the thread reports here before the longjmp and waits for permission.
 */
static _Thread_local _Atomic int *meet;
static _Thread_local jmp_buf back;

enum {
	MEET_ARRIVED = 1,
	MEET_LEAVE = 2
};

static void meet_wait(_Atomic int *at, int value)
{
	uint64_t deadline = soon();
	while (*at != value) {
		assert_true(now_ns() < deadline);
		sched_yield();
	}
}

static void on_step(enum device_step step)
{
	if (step != jump_after || jump_passes-- != 0)
		return;
	jump_passes = 0;
	jump_after = STEP_NONE;
	if (meet) {
		*meet = MEET_ARRIVED;
		meet_wait(meet, MEET_LEAVE);
	}
	longjmp(back, 1);
}

struct way {
	struct cay_port *from, *to;
	struct cay_peer *peer;
};

static struct way way_open(void)
{
	struct way w;
	host_step_hook = on_step;
	w.from = open_port(NULL);
	w.to = open_port(NULL);
	w.peer = open_peer(w.from, w.to);
	return w;
}

static void way_close(struct way *w)
{
	check_empty(w->to);
	assert_int_equal(port_stats(w->to).nq_used, 0);
	assert_int_equal(port_stats(w->to).rdr_used, 0);
	assert_int_equal(port_stats(w->from).copied_used, 0);
	cay_peer_release(w->peer);
	close_port(w->from);
	close_port(w->to);
}

static void send_tag(struct way *w, uint64_t tag, size_t length)
{
	unsigned char data[COPIED_BYTES];
	content_fill(data, length, tag);
	assert_int_equal(cay_send(w->from, w->peer, tag, data, length, 0), 0);
}

/*
 * Returns true if the call was left after this step, false if it has no such
 * step.
 */
static bool send_jump(
	struct way *w, uint64_t tag, size_t length, enum device_step step)
{
	jump_after = step;
	if (setjmp(back) == 0) {
		send_tag(w, tag, length);
		jump_after = STEP_NONE;
		return false;
	}
	return true;
}

/* ---- one thread, each step ---- */

/* An abandoned message arrives only if it was published. */
static void check_left(
	struct way *w, bool left, enum device_step step, size_t length)
{
	if (!left || (step >= STEP_PUBLISH && step != STEP_RECLAIM))
		expect_message(w->to, 1, length, 1);
	expect_message(w->to, 2, length, 2);
	check_empty(w->to);
}

static void every_step(void **state)
{
	static const size_t lengths[] = { 8, 40, 41, 1000 };
	struct way w = way_open();
	unsigned left = 0;
	(void)state;
	for (unsigned repeat = 0; repeat < 20; repeat++)
		for (int step = STEP_TRY; step <= STEP_IDLE; step++)
			for (unsigned i = 0; i < COUNT(lengths); i++) {
				bool jumped = send_jump(&w, 1, lengths[i],
					(enum device_step)step);
				left += jumped;
				send_tag(&w, 2, lengths[i]);
				check_left(&w, jumped, (enum device_step)step,
					lengths[i]);
			}
	assert_true(left >= 20 * 5 * COUNT(lengths));
	way_close(&w);
}

/* ---- bursts ---- */

#define BURST 4

/* Leaves a burst after the n-th pass of a step; what is published arrives. */
static void every_step_of_a_burst(void **state)
{
	static const unsigned char data[BURST][8];
	struct cay_message messages[BURST];
	struct way w = way_open();
	(void)state;
	for (uint64_t i = 0; i < BURST; i++)
		messages[i] = (struct cay_message){
			.tag = i, .data = data[i], .length = 8
		};
	for (int step = STEP_TRY; step <= STEP_IDLE; step++)
		for (jump_passes = 0; jump_passes < BURST; jump_passes++) {
			volatile unsigned pass = jump_passes;
			struct cay_event e;
			uint64_t arrived = 0, published = BURST;
			jump_after = (enum device_step)step;
			if (setjmp(back) == 0)
				assert_int_equal(cay_send_burst(w.from, w.peer,
							 messages, BURST),
					BURST);
			else if (step < STEP_PUBLISH)
				published = step == STEP_ENTRY ? pass : 0;
			else if (step == STEP_PUBLISH)
				published = pass + 1;
			jump_after = STEP_NONE;
			jump_passes = pass;
			send_tag(&w, 9, 8);
			for (next_event(w.to, &e); e.tag != 9;
				next_event(w.to, &e), arrived++) {
				assert_int_equal(e.tag, arrived);
				cay_release(w.to, &e);
			}
			cay_release(w.to, &e);
			assert_int_equal(arrived, published);
		}
	jump_passes = 0;
	way_close(&w);
}

/* Abandoned slots and blocks come back, else there would soon be none. */
static void every_step_of_a_copied_message(void **state)
{
	struct way w = way_open();
	(void)state;
	for (int step = STEP_STAGED; step <= STEP_RECLAIM; step++) {
		unsigned left = 0;
		for (unsigned i = 0; i < 2 * COPIED_SLOTS; i++) {
			bool jumped = send_jump(
				&w, 1, COPIED_BYTES, (enum device_step)step);
			left += jumped;
			send_tag(&w, 2, COPIED_BYTES);
			check_left(&w, jumped, (enum device_step)step,
				COPIED_BYTES);
		}
		if (step == STEP_STAGED || step == STEP_REFERENCE ||
			step == STEP_PUBLISH || step == STEP_SENT ||
			step == STEP_RECLAIM)
			assert_true(left >= COPIED_SLOTS);
	}
	way_close(&w);
}

/* ---- two threads claim one entry ---- */

struct thread {
	pthread_t thread;
	struct way *way;
	enum device_step step;
	_Atomic int meet;
	_Atomic int again; /* permits the second call */
	_Atomic int done;
	uint64_t tag;
};

/* Leaves its first call after a step, and makes a second one when permitted. */
static void *thread_run(void *argument)
{
	struct thread *t = argument;
	meet = &t->meet;
	assert_true(send_jump(t->way, 0, 8, t->step));
	meet = NULL;
	meet_wait(&t->again, 1);
	send_tag(t->way, t->tag, 8);
	t->done = 1;
	return NULL;
}

static void thread_start(
	struct thread *t, struct way *w, enum device_step step, uint64_t tag)
{
	*t = (struct thread){ .way = w, .step = step, .tag = tag };
	assert_int_equal(pthread_create(&t->thread, NULL, thread_run, t), 0);
	meet_wait(&t->meet, MEET_ARRIVED);
}

static void thread_join(struct thread *t)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(TIMEOUT_NS / NS_PER_S);
	assert_int_equal(pthread_timedjoin_np(t->thread, NULL, &end), 0);
}

/*
 * `loser` is about to claim an entry that `winner` claims; then both leave
 * their calls.
 */
static void leave_both(struct way *w, struct thread *loser,
	struct thread *winner, enum device_step won)
{
	thread_start(loser, w, STEP_TRY, 1);
	thread_start(winner, w, won, 2);
	winner->meet = MEET_LEAVE;
	loser->meet = MEET_LEAVE;
}

static void expect_both(struct way *w)
{
	struct cay_event e;
	uint64_t tags = 0;
	for (unsigned i = 0; i < 2; i++) {
		next_event(w->to, &e);
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		tags |= e.tag;
		cay_release(w->to, &e);
	}
	assert_int_equal(tags, 3);
}

static void both_call_again(enum device_step won)
{
	struct way w = way_open();
	struct thread loser, winner;
	leave_both(&w, &loser, &winner, won);
	loser.again = winner.again = 1;
	thread_join(&loser);
	thread_join(&winner);
	expect_both(&w);
	way_close(&w);
}

static void abandoned_threads_do_not_wait_for_each_other(void **state)
{
	(void)state;
	for (unsigned repeat = 0; repeat < 20; repeat++) {
		both_call_again(STEP_CLAIMED);
		both_call_again(STEP_OWN);
		both_call_again(STEP_ENTRY);
	}
}

/* The winner makes no further call for a long time. */
static void only_the_loser_calls_again(enum device_step won)
{
	struct way w = way_open();
	struct thread loser, winner;
	leave_both(&w, &loser, &winner, won);
	loser.again = 1;
	thread_join(&loser);
	winner.again = 1;
	thread_join(&winner);
	expect_both(&w);
	way_close(&w);
}

static void no_call_waits_for_an_abandoned_thread(void **state)
{
	(void)state;
	only_the_loser_calls_again(STEP_CLAIMED);
	only_the_loser_calls_again(STEP_OWN);
	only_the_loser_calls_again(STEP_ENTRY);
}

/* The winner's thread exits instead, which repairs its entry. */
static void *ending_run(void *argument)
{
	struct thread *t = argument;
	meet = &t->meet;
	assert_true(send_jump(t->way, 0, 8, t->step));
	return NULL;
}

static void exit_of_an_abandoned_thread_repairs(void **state)
{
	static const enum device_step steps[] = { STEP_TRY, STEP_CLAIMED,
		STEP_OWN, STEP_ENTRY };
	struct way w = way_open();
	(void)state;
	for (unsigned i = 0; i < COUNT(steps); i++) {
		struct thread t = { .way = &w, .step = steps[i] };
		assert_int_equal(
			pthread_create(&t.thread, NULL, ending_run, &t), 0);
		meet_wait(&t.meet, MEET_ARRIVED);
		t.meet = MEET_LEAVE;
		thread_join(&t);
		send_tag(&w, i, 100);
		expect_message(w.to, i, 100, i);
	}
	way_close(&w);
}

/* The slots of threads that have exited are found when all are in use. */
static void *copying_run(void *argument)
{
	struct thread *t = argument;
	assert_true(send_jump(t->way, 0, COPIED_BYTES, t->step));
	return NULL;
}

static void exit_of_a_copying_thread_repairs(void **state)
{
	static const enum device_step steps[] = { STEP_STAGED, STEP_REFERENCE,
		STEP_CLAIMED, STEP_ENTRY };
	struct way w = way_open();
	(void)state;
	for (unsigned i = 0; i < 2 * COPIED_SLOTS; i++) {
		struct thread t = { .way = &w,
			.step = steps[i % COUNT(steps)] };
		assert_int_equal(
			pthread_create(&t.thread, NULL, copying_run, &t), 0);
		thread_join(&t);
	}
	for (unsigned i = 0; i < COPIED_SLOTS; i++)
		send_tag(&w, i, COPIED_BYTES);
	for (unsigned i = 0; i < COPIED_SLOTS; i++)
		expect_message(w.to, i, COPIED_BYTES, i);
	way_close(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_step),
		TEST(every_step_of_a_burst),
		TEST(every_step_of_a_copied_message),
		TEST(exit_of_a_copying_thread_repairs),
		TEST(exit_of_an_abandoned_thread_repairs),
		TEST(abandoned_threads_do_not_wait_for_each_other),
		TEST(no_call_waits_for_an_abandoned_thread),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
