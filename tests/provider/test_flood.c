/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More unexpected messages than the receiver holds: it pauses the sender and no
 * other peer, and no message is lost.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum {
	MESSAGE_BYTES = 1024,
	FLOOD = 120000,
	/* Much less than the flood, and a bit more than a receiver holds. */
	HELD_BYTES = 2 << 20,
	MEMORY_MAX = 40 << 20,
	PINGS = 300,
};

enum tag {
	TAG_FLOOD,
	TAG_PING,
	TAG_WORD,
};

/* Words that the processes share. */
enum word {
	WORD_XOFF,
	WORD_CONFIRMED,
};

static void open_small_memory(struct stack *s, struct process *me)
{
	char text[32];
	snprintf(text, sizeof(text), "%d", HELD_BYTES);
	setenv("FI_CAY_UNEXPECTED_BYTES", text, 1);
	stack_open(s, &(struct options){ 0 });
	stack_join(s, me);
}

static uint64_t memory_used(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	assert_true(f != NULL);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * 4096ull;
}

/* A sanitizer keeps what was freed. */
static void memory_bounded(uint64_t before)
{
	if (!HARNESS_ADDRESS && !HARNESS_THREAD)
		assert_true(memory_used() - before < MEMORY_MAX);
}

static ssize_t flood_one(struct stack *s, unsigned to, uint64_t i)
{
	uint64_t message[MESSAGE_BYTES / 8];
	for (unsigned at = 0; at < COUNT(message); at++)
		message[at] = i;
	return fi_tinject(
		s->ep, message, sizeof(message), s->peers[to], TAG_FLOOD);
}

static void flood_check(const uint64_t *message, uint64_t i)
{
	for (unsigned at = 0; at < MESSAGE_BYTES / 8; at++)
		assert_int_equal(message[at], i);
}

static void flood_receive(struct stack *s, unsigned from, uint64_t count)
{
	uint64_t message[MESSAGE_BYTES / 8];
	for (uint64_t i = 0; i < count; i++) {
		MUST(s, fi_trecv(s->ep, message, sizeof(message), NULL,
				s->peers[from], TAG_FLOOD, 0, message));
		cq_expect(s->rxcq, message);
		flood_check(message, i);
	}
}

/* ---- a receiver flooded by one of two senders ---- */

static void ping(struct stack *s, unsigned peer, bool first)
{
	uint64_t word = 0;
	for (uint64_t i = 0; i < PINGS; i++) {
		if (first)
			MUST(s, fi_tinject(s->ep, &i, 8, s->peers[peer],
					TAG_PING));
		MUST(s, fi_trecv(s->ep, &word, 8, NULL, s->peers[peer],
				TAG_PING, 0, &word));
		cq_expect(s->rxcq, &word);
		assert_int_equal(word, i);
		if (!first)
			MUST(s, fi_tinject(s->ep, &i, 8, s->peers[peer],
					TAG_PING));
	}
}

static void wait_word(struct stack *s, struct process *me, enum word word)
{
	uint64_t deadline = soon();
	while (!atomic_load(process_word(me, word))) {
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
}

static void flooded(struct stack *s, struct process *me)
{
	uint64_t before = memory_used(), word = 5;
	ping(s, 2, true);
	wait_word(s, me, WORD_XOFF);
	ping(s, 2, true);
	MUST(s, fi_tinject(s->ep, &word, 8, s->peers[1], TAG_WORD));
	wait_word(s, me, WORD_CONFIRMED);
	ping(s, 2, true);
	memory_bounded(before);
	flood_receive(s, 1, scaled(FLOOD));
	memory_bounded(before);
	cq_expect_none(s->rxcq);
}

/* Sends until XOFF; it can still receive. */
static uint64_t flood_until_xoff(struct stack *s, struct process *me)
{
	uint64_t sent = 0, since = 0, word = 0;
	MUST(s, fi_trecv(s->ep, &word, 8, NULL, s->peers[0], TAG_WORD, 0,
			&word));
	for (;;) {
		ssize_t r = flood_one(s, 0, sent);
		if (r == 0) {
			assert_true(++sent < scaled(FLOOD));
			since = 0;
			continue;
		}
		assert_int_equal(r, -FI_EAGAIN);
		stack_progress(s);
		since = since ? since : now_ns();
		if (now_ns() - since > 200 * NS_PER_MS)
			break;
	}
	atomic_store(process_word(me, WORD_XOFF), 1);
	cq_expect(s->rxcq, &word);
	assert_int_equal(word, 5);
	/* The receiver polls, so that only XOFF stops the sender. */
	for (unsigned paused = 0; paused < 2000;) {
		if (flood_one(s, 0, sent) == 0) {
			assert_true(++sent * MESSAGE_BYTES < 2 * HELD_BYTES);
			continue;
		}
		paused++;
		nap_ns(20 * NS_PER_US);
	}
	atomic_store(process_word(me, WORD_CONFIRMED), 1);
	return sent;
}

static void flooder(struct stack *s, struct process *me)
{
	for (uint64_t i = flood_until_xoff(s, me); i < scaled(FLOOD); i++)
		MUST(s, flood_one(s, 0, i));
}

static void flood_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	open_small_memory(&s, me);
	if (me->rank == 0)
		flooded(&s, me);
	else if (me->rank == 1)
		flooder(&s, me);
	else
		for (unsigned i = 0; i < 3; i++)
			ping(&s, 0, false);
	stack_leave(&s, me);
}

static void a_flood_pauses_only_its_sender(void **state)
{
	(void)state;
	group_run(3, flood_body, NULL);
}

/* ---- two flood each other ---- */

/* Receives the flood of the other; one receive is always posted. */
static bool mutual_take(struct stack *s, uint64_t *message, uint64_t i)
{
	struct fi_cq_tagged_entry e;
	if (!cq_poll(s->rxcq, &e))
		return false;
	flood_check(message, i);
	return true;
}

static void mutual_post(struct stack *s, unsigned from, uint64_t *message)
{
	MUST(s, fi_trecv(s->ep, message, MESSAGE_BYTES, NULL, s->peers[from],
			TAG_FLOOD, 0, message));
}

/* Receives only when it cannot send, or has sent everything. */
static void mutual_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t sent = 0, taken = 0, message[MESSAGE_BYTES / 8];
	uint64_t count = scaled(FLOOD / 4), deadline = soon();
	unsigned peer = 1 - me->rank;
	(void)argument;
	open_small_memory(&s, me);
	mutual_post(&s, peer, message);
	while (sent < count || taken < count) {
		ssize_t r = sent < count ? flood_one(&s, peer, sent)
					 : -FI_EAGAIN;
		assert_true(now_ns() < deadline);
		if (r == 0) {
			sent++;
			continue;
		}
		assert_int_equal(r, -FI_EAGAIN);
		if (mutual_take(&s, message, taken) && ++taken < count)
			mutual_post(&s, peer, message);
	}
	stack_leave(&s, me);
}

static void two_floods_do_not_deadlock(void **state)
{
	(void)state;
	group_run(2, mutual_body, NULL);
}

/* ---- all to one, posted late ---- */

static void funnel_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t count = scaled(FLOOD / 10);
	(void)argument;
	open_small_memory(&s, me);
	if (me->rank == 0) {
		nap_ns(100 * NS_PER_MS);
		for (unsigned from = me->count; --from > 0;)
			flood_receive(&s, from, count);
	} else {
		for (uint64_t i = 0; i < count; i++)
			MUST(&s, flood_one(&s, 0, i));
	}
	stack_leave(&s, me);
}

/* The sender that is received last waits, and loses nothing. */
static void several_senders_are_paused_and_resumed(void **state)
{
	(void)state;
	group_run(4, funnel_body, NULL);
}

/* ---- an awaited message behind unexpected ones ---- */

static void behind_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t count = scaled(FLOOD / 10), word = 0;
	(void)argument;
	open_small_memory(&s, me);
	if (me->rank == 0) {
		MUST(&s, fi_trecv(s.ep, &word, 8, NULL, s.peers[1], TAG_WORD, 0,
				 &word));
		cq_expect(s.rxcq, &word);
		assert_int_equal(word, count);
		flood_receive(&s, 1, count);
	} else {
		for (uint64_t i = 0; i < count; i++)
			MUST(&s, flood_one(&s, 0, i));
		MUST(&s, fi_tinject(s.ep, &count, 8, s.peers[0], TAG_WORD));
	}
	stack_leave(&s, me);
}

/* A receiver that awaits a message of a peer does not pause that peer. */
static void a_receive_reaches_behind_a_flood(void **state)
{
	(void)state;
	group_run(2, behind_body, NULL);
}

/* ---- rendezvous messages need no memory of the receiver ---- */

enum {
	LONGS = 500,
	LONG_BYTES = 100000,
};

static void longs_send(struct stack *s, unsigned char *buffer)
{
	for (uint64_t i = 0; i < LONGS; i++)
		MUST(s, fi_tsend(s->ep, buffer, LONG_BYTES, NULL, s->peers[0],
				TAG_FLOOD, s));
	for (uint64_t i = 0; i < LONGS; i++)
		cq_expect(s->txcq, s);
}

static void longs_receive(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	uint64_t before = memory_used();
	uint64_t until = now_ns() + 50 * NS_PER_MS;
	while (now_ns() < until)
		stack_progress(s);
	for (uint64_t i = 0; i < LONGS; i++) {
		memset(buffer, 0, LONG_BYTES);
		MUST(s, fi_trecv(s->ep, buffer, LONG_BYTES, NULL, s->peers[1],
				TAG_FLOOD, 0, s));
		cq_expect(s->rxcq, s);
		assert_true(content_fits(buffer, LONG_BYTES, 2));
	}
	(void)me;
	memory_bounded(before);
}

static void longs_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = malloc(LONG_BYTES);
	(void)argument;
	content_fill(buffer, LONG_BYTES, 2);
	open_small_memory(&s, me);
	if (me->rank == 0)
		longs_receive(&s, me, buffer);
	else
		longs_send(&s, buffer);
	stack_leave(&s, me);
	free(buffer);
}

static void rendezvous_messages_wait_at_their_sender(void **state)
{
	(void)state;
	group_run(2, longs_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_flood_pauses_only_its_sender),
		TEST(two_floods_do_not_deadlock),
		TEST(several_senders_are_paused_and_resumed),
		TEST(a_receive_reaches_behind_a_flood),
		TEST(rendezvous_messages_wait_at_their_sender),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
