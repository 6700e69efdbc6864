/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Automatic progress: operations complete although the application makes no
 * calls.
 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness.h"

#define LONG_BYTES (1ul << 20)
#define ROUNDS	   300

static void open_auto(struct stack *s)
{
	stack_open(s, &(struct options){ .progress = FI_PROGRESS_AUTO,
			      .threading = FI_THREAD_SAFE,
			      .wait = FI_WAIT_FD });
}

/* Waits without a call of libfabric. */
static void barrier_without_calls(struct process *me, unsigned word)
{
	uint64_t deadline = soon();
	atomic_fetch_add(process_word(me, word), 1);
	while (atomic_load(process_word(me, word)) < me->count) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
}

/* ---- a rendezvous message to a process that makes no calls ---- */

static void long_send(struct stack *s, const void *bytes)
{
	struct fi_cq_tagged_entry e;
	MUST(s, fi_send(s->ep, bytes, LONG_BYTES, NULL, s->peers[1], NULL));
	assert_int_equal(fi_cq_sread(s->txcq, &e, 1, NULL, 10000), 1);
}

/*
 * Copies the bytes before the completion is read. The store of the progress
 * thread precedes the completion of process 0, and that precedes the barrier;
 * TSan does not see an order that passes through another process.
 */
__attribute__((no_sanitize("thread"))) static void copy_unread(
	uint64_t *to, const volatile uint64_t *from)
{
	for (size_t i = 0; i < LONG_BYTES / sizeof(*to); i++)
		to[i] = from[i];
}

static void long_body(struct process *me, void *argument)
{
	void *bytes = malloc(LONG_BYTES), *copy = malloc(LONG_BYTES);
	struct stack s;
	(void)argument;
	open_auto(&s);
	stack_join(&s, me);
	if (me->rank == 0)
		content_fill(bytes, LONG_BYTES, 1);
	else
		MUST(&s, fi_recv(s.ep, bytes, LONG_BYTES, NULL, FI_ADDR_UNSPEC,
				 bytes));
	barrier_without_calls(me, 0);
	nap_ns(20 * NS_PER_MS); /* until the thread sleeps */
	if (me->rank == 0)
		long_send(&s, bytes);
	barrier_without_calls(me, 1);
	if (me->rank == 1) {
		copy_unread(copy, bytes);
		assert_true(content_fits(copy, LONG_BYTES, 1));
		cq_expect(s.rxcq, bytes);
	}
	stack_leave(&s, me);
	free(copy);
	free(bytes);
}

static void receives_rendezvous_messages(void **state)
{
	(void)state;
	group_run(2, long_body, NULL);
}

/* ---- while other threads poll and sleep ---- */

static void round_wait(struct stack *s, uint64_t i)
{
	struct fi_cq_tagged_entry e;
	if (i % 3 == 0)
		assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, 10000), 1);
	else
		cq_next(s->rxcq, &e);
}

static void mixed_body(struct process *me, void *argument)
{
	struct random random = { me->rank + 1 };
	struct stack s;
	uint64_t word;
	(void)argument;
	open_auto(&s);
	stack_join(&s, me);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		MUST(&s, fi_recv(s.ep, &word, sizeof(word), NULL,
				 FI_ADDR_UNSPEC, &word));
		random_pause(&random, 2 * NS_PER_MS);
		MUST(&s, fi_inject(s.ep, &i, sizeof(i), s.peers[!me->rank]));
		round_wait(&s, i);
		assert_int_equal(word, i);
	}
	stack_leave(&s, me);
}

static void coexists_with_other_pollers(void **state)
{
	(void)state;
	group_run(2, mixed_body, NULL);
}

/* ---- the thread itself ---- */

static bool thread_is(const char *task, const char *name)
{
	char path[300], text[32] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	FILE *f = fopen(path, "r");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = 0;
		fclose(f);
	}
	text[strcspn(text, "\n")] = 0;
	return strcmp(text, name) == 0;
}

static unsigned threads_named(const char *name)
{
	unsigned count = 0;
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");
	assert_true(d != NULL);
	while ((e = readdir(d)))
		count += e->d_name[0] != '.' && thread_is(e->d_name, name);
	closedir(d);
	return count;
}

static uint64_t cpu_ns(void)
{
	struct rusage r;
	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * NS_PER_US;
}

static void idle_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	assert_int_equal(threads_named("cay-progress"), 0);
	open_auto(&s);
	stack_join(&s, me);
	assert_int_equal(threads_named("cay-progress"), 1);
	nap_ns(20 * NS_PER_MS);
	uint64_t before = cpu_ns();
	nap_ns(300 * NS_PER_MS);
	assert_true(cpu_ns() - before < 30 * NS_PER_MS);
	stack_leave(&s, me);
	assert_int_equal(threads_named("cay-progress"), 0);
}

static void sleeps_when_idle(void **state)
{
	(void)state;
	group_run(1, idle_body, NULL);
}

static void restart_body(struct process *me, void *argument)
{
	(void)me;
	(void)argument;
	for (int i = 0; i < 20; i++) {
		struct stack s;
		open_auto(&s);
		stack_close(&s);
	}
}

static void starts_and_stops(void **state)
{
	(void)state;
	group_run(1, restart_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(receives_rendezvous_messages),
		TEST(coexists_with_other_pollers),
		TEST(sleeps_when_idle),
		TEST(starts_and_stops),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
