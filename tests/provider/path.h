/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of ULTRA paths share. The status of the node shows the ends of
 * paths of a process; the entries of a port's queue show which way messages
 * have taken.
 */
#ifndef CAY_TESTS_PROVIDER_PATH_H
#define CAY_TESTS_PROVIDER_PATH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../port/status.h"
#include "harness.h"

/* The tests run on busy machines. Before the provider is loaded. */
static inline void set_paths(unsigned long messages)
{
	char text[32];
	snprintf(text, sizeof(text), "%lu", messages);
	assert_int_equal(setenv("FI_CAY_ULTRA_MESSAGES", text, 1), 0);
	assert_int_equal(setenv("FI_CAY_ULTRA_ALWAYS", "1", 1), 0);
}

/* Likewise. */
static inline void set_number(const char *name, unsigned long value)
{
	char text[32];
	snprintf(text, sizeof(text), "%lu", value);
	assert_int_equal(setenv(name, text, 1), 0);
}

static inline unsigned paths_now(void)
{
	return status_process(getpid()).paths;
}

/* Makes progress until this process has so many ends of paths. */
static inline void paths_await(struct stack *s, unsigned count)
{
	uint64_t deadline = soon();
	while (paths_now() != count) {
		for (unsigned i = 0; i < 1000; i++)
			stack_progress(s);
		assert_true(now_ns() < deadline);
	}
}

/* ---- small messages, numbered ---- */

enum {
	TAG_SMALL = 70
};

static inline void small_send(struct stack *s, unsigned to, uint64_t number)
{
	MUST(s, fi_tinject(s->ep, &number, sizeof(number), s->peers[to],
			TAG_SMALL));
}

static inline void small_receive(
	struct stack *s, unsigned from, uint64_t number)
{
	uint64_t word = ~number;
	MUST(s, fi_trecv(s->ep, &word, sizeof(word), NULL, s->peers[from],
			TAG_SMALL, 0, &word));
	cq_expect(s->rxcq, &word);
	assert_int_equal(word, number);
}

/* Exchanges messages in turns, so that each process makes progress. */
static inline void small_exchange(
	struct stack *s, unsigned with, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		small_send(s, with, i);
		small_receive(s, with, i);
	}
}

/* ---- two processes with paths in both directions ---- */

#define AFTER 200 /* messages */

enum {
	WORD_USED = 40 /* and following, by rank */
};

/* Exchanges messages with another process until both receive on paths. */
static inline void paths_establish(
	struct stack *s, struct process *me, unsigned with)
{
	const uint64_t turn = 50;
	uint64_t deadline = soon() + TIMEOUT_NS;
	small_exchange(s, with, 0, 2 * AFTER);
	for (bool used = false; !used;) {
		uint64_t before = status_received(getpid());
		small_exchange(s, with, 0, turn);
		*process_word(me, WORD_USED + me->rank) =
			status_received(getpid()) - before < turn / 2;
		/* Both have set their word, and none begins another turn. */
		small_exchange(s, with, 0, 1);
		used = *process_word(me, WORD_USED + me->rank) &&
		       *process_word(me, WORD_USED + with);
		assert_true(now_ns() < deadline);
	}
}

#endif
