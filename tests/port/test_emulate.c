/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated accesses: the owner executes them when it polls, in order, each
 * once, or not at all if they are cancelled.
 */
#include <stdatomic.h>

#include "emulate.h"
#include "port/port.h"

/* One window on ordinary memory, one in the arena, of the same port. */
struct two {
	struct rma_pair heap, arena;
};

static struct two two_open(void)
{
	struct two t;
	t.heap = rma_open(PLACE_HEAP, INSTRUCTION_BYTES, RIGHTS_ACCESS);
	t.arena = t.heap;
	t.arena.place = PLACE_ARENA;
	t.arena.memory =
		place_alloc(t.heap.owner, PLACE_ARENA, INSTRUCTION_BYTES);
	t.arena.window = open_window(t.heap.owner, t.arena.memory,
		INSTRUCTION_BYTES, RIGHTS_ACCESS, &t.arena.key);
	return t;
}

static void two_close(struct two *t)
{
	assert_int_equal(port_stats(t->heap.origin).refs_used, 0);
	close_window(t->arena.window);
	place_free(t->arena.owner, PLACE_ARENA, t->arena.memory);
	rma_close(&t->heap);
}

static int put(struct rma_pair *r, uint64_t at, uint64_t word, unsigned flags)
{
	return cay_put(r->origin, r->peer, r->key, at, &word, 8, word, flags);
}

/* ---- executed when the owner polls ---- */

static void executed_when_the_owner_polls(void **state)
{
	struct two t = two_open();
	struct rma_pair *r = &t.heap;
	(void)state;
	assert_int_equal(add(r, 1, 0), 0);
	assert_int_equal(cay_put_masked(r->origin, r->peer, r->key, 8, ~0ull,
				 0x0f, 2, CAY_ACK),
		0);
	check_empty(r->origin);
	assert_int_equal(word_at(r, 0), 0);
	assert_int_equal(word_at(r, 8), 0);
	assert_int_equal(cay_flush(r->origin, r->peer, 0), -EAGAIN);
	rma_poll_owner(r);
	assert_int_equal(word_at(r, 0), 1);
	assert_int_equal(word_at(r, 8), 0xffffffff);
	assert_int_equal(cay_flush(r->origin, r->peer, 0), 0);
	expect_complete(r->origin, 1, 0);
	expect_complete(r->origin, 2, 0);
	assert_int_equal(port_stats(r->origin).emulated_requested, 2);
	assert_int_equal(port_stats(r->owner).emulated_executed, 2);
	two_close(&t);
}

/* process_vm_readv() and process_vm_writev() need no poll of the owner. */
static void puts_and_gets_are_not_emulated(void **state)
{
	struct two t = two_open();
	struct rma_pair *r = &t.heap;
	uint64_t got = 0;
	(void)state;
	assert_int_equal(put(r, 0, 7, 0), 0);
	assert_int_equal(word_at(r, 0), 7);
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, 0, &got, 8, 0, 0), 0);
	assert_int_equal(got, 7);
	assert_int_equal(port_stats(r->origin).emulated_requested, 0);
	two_close(&t);
}

/* ---- order ---- */

/* Accesses after an emulated one to the same peer are emulated, too. */
static void order_is_kept(void **state)
{
	struct two t = two_open();
	uint64_t got = 0, previous = 0;
	(void)state;
	assert_int_equal(add(&t.heap, 1, 0), 0);
	assert_int_equal(put(&t.arena, 0, 5, 0), 0);
	assert_int_equal(cay_fetch_add_into(t.arena.origin, t.arena.peer,
				 t.arena.key, 0, 2, &previous, 0, 0),
		0);
	assert_int_equal(cay_get(t.arena.origin, t.arena.peer, t.arena.key, 0,
				 &got, 8, 0, 0),
		0);
	assert_int_equal(cay_put_masked(t.arena.origin, t.arena.peer,
				 t.arena.key, 0, 0xff00, 2, 0, 0),
		0);
	assert_int_equal(put(&t.heap, 8, 9, 0), 0);
	assert_int_equal(cay_send(t.heap.origin, t.heap.peer, 3, "m", 1, 0), 0);
	assert_true(word_at(&t.heap, 0) == 0 && word_at(&t.heap, 8) == 0);
	assert_true(word_at(&t.arena, 0) == 0 && got == 0 && previous == 0);
	/* The message arrives after all of them. */
	struct cay_event e;
	assert_true(poll_event(t.heap.owner, &e));
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	cay_release(t.heap.owner, &e);
	assert_true(word_at(&t.heap, 0) == 1 && word_at(&t.heap, 8) == 9);
	assert_int_equal(word_at(&t.arena, 0), 0xff07);
	expect_complete(t.heap.origin, 1, 0);
	rma_settle(&t.heap);
	assert_int_equal(got, 7);
	assert_int_equal(previous, 5);
	/* Accesses are direct again. */
	uint64_t carried = port_stats(t.heap.origin).emulated_requested;
	assert_int_equal(carried, 6);
	assert_int_equal(put(&t.arena, 0, 1, 0), 0);
	assert_int_equal(word_at(&t.arena, 0), 1);
	assert_int_equal(port_stats(t.heap.origin).emulated_requested, carried);
	two_close(&t);
}

static void free_order_is_direct(void **state)
{
	struct two t = two_open();
	uint64_t got = 0;
	(void)state;
	assert_int_equal(add(&t.heap, 1, 0), 0);
	assert_int_equal(put(&t.arena, 0, 5, CAY_FREE_ORDER), 0);
	assert_int_equal(word_at(&t.arena, 0), 5);
	assert_int_equal(put(&t.heap, 8, 6, CAY_FREE_ORDER), 0);
	assert_int_equal(word_at(&t.heap, 8), 6);
	assert_int_equal(cay_get(t.arena.origin, t.arena.peer, t.arena.key, 0,
				 &got, 8, 0, CAY_FREE_ORDER),
		0);
	assert_int_equal(got, 5);
	assert_int_equal(word_at(&t.heap, 0), 0);
	rma_complete(&t.heap, 1, 0);
	two_close(&t);
}

/* Accesses to other peers stay direct. */
static void other_peers_are_direct(void **state)
{
	struct two t = two_open();
	struct cay_port *other = open_port(NULL);
	struct rma_pair r = { .origin = t.heap.origin };
	uint64_t *word = cay_alloc(other, 8, 0);
	(void)state;
	r.peer = open_peer(r.origin, other);
	struct cay_window *w =
		open_window(other, word, 8, RIGHTS_ACCESS, &r.key);
	assert_int_equal(add(&t.heap, 1, 0), 0);
	assert_int_equal(put(&r, 0, 3, 0), 0);
	assert_int_equal(*word, 3);
	rma_complete(&t.heap, 1, 0);
	close_window(w);
	cay_peer_release(r.peer);
	close_port(other);
	two_close(&t);
}

/* A fence waits for all emulated accesses, to any peer. */
static void fences_wait(void **state)
{
	struct two t = two_open();
	(void)state;
	assert_int_equal(add(&t.heap, 1, 0), 0);
	assert_int_equal(put(&t.arena, 0, 5, CAY_FENCE), -EAGAIN);
	assert_int_equal(add(&t.heap, 2, CAY_FENCE), -EAGAIN);
	assert_int_equal(
		put(&t.arena, 0, 5, CAY_FENCE | CAY_FREE_ORDER), -EAGAIN);
	assert_int_equal(
		cay_send(t.heap.origin, t.heap.peer, 3, "m", 1, CAY_FENCE),
		-EAGAIN);
	assert_int_equal(word_at(&t.arena, 0), 0);
	rma_poll_owner(&t.heap);
	assert_int_equal(put(&t.arena, 0, 5, CAY_FENCE), 0);
	assert_int_equal(word_at(&t.arena, 0), 5);
	expect_complete(t.heap.origin, 1, 0);
	two_close(&t);
}

/* ---- backpressure ---- */

static void number_is_limited(void **state)
{
	struct two t = two_open();
	uint64_t sum = 0;
	(void)state;
	for (unsigned lap = 0; lap < 3; lap++) {
		uint64_t issued = 0;
		while (add(&t.heap, issued, 0) == 0)
			issued++;
		assert_int_equal(issued, 64);
		assert_int_equal(add(&t.heap, 0, 0), -EAGAIN);
		assert_int_equal(put(&t.arena, 0, 1, 0), -EAGAIN);
		assert_int_equal(port_stats(t.heap.origin).refs_used, 64);
		sum += issued;
		for (uint64_t i = 0; i < issued; i++)
			rma_complete(&t.heap, i, 0);
		assert_int_equal(word_at(&t.heap, 0), sum);
	}
	assert_int_equal(word_at(&t.arena, 0), 0);
	/* Those that were refused do not keep others off the fast path. */
	assert_int_equal(
		atomic_load(&t.heap.origin->origin.device.emulated_in_flight),
		0);
	two_close(&t);
}

/* ---- flush ---- */

static void *serve_later(void *argument)
{
	nap_ns(20 * NS_PER_MS);
	rma_poll_owner(argument);
	return NULL;
}

static void flush_waits(void **state)
{
	struct two t = two_open();
	struct rma_pair *r = &t.heap;
	pthread_t thread;
	uint64_t previous = 7;
	(void)state;
	assert_int_equal(cay_fetch_add_into(r->origin, r->peer, r->key, 0, 1,
				 &previous, 0, 0),
		0);
	uint64_t deadline = now_ns() + 20 * NS_PER_MS;
	assert_int_equal(cay_flush(r->origin, r->peer, 0), -EAGAIN);
	assert_int_equal(cay_flush(r->origin, r->peer, deadline), -ETIMEDOUT);
	assert_true(now_ns() >= deadline);
	assert_int_equal(previous, 7);
	assert_int_equal(pthread_create(&thread, NULL, serve_later, r), 0);
	assert_int_equal(cay_flush(r->origin, r->peer, CAY_FOREVER), 0);
	assert_int_equal(previous, 0);
	pthread_join(thread, NULL);
	assert_int_equal(word_at(r, 0), 1);
	rma_settle(r);
	two_close(&t);
}

/* ---- cancelling ---- */

static void expect_withdrawn(struct rma_pair *r, const struct instruction *i,
	uint64_t tag, unsigned flags)
{
	struct cay_event e;
	next_event(r->origin, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, CAY_ERROR_TIMEOUT);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.command, instruction_command(i, flags));
	assert_int_equal(e.length, i->length);
	assert_int_equal(e.peer.vpid, cay_peer_addr(r->peer).vpid);
	if (i->properties & LOCATED) {
		assert_int_equal(e.offset, i->offset);
		assert_int_equal(e.window, r->key.window);
	}
	cay_release(r->origin, &e);
}

/* Each operation, after an emulated one, so that it is emulated, too. */
static void cancelled_accesses_are_not_executed(void **state)
{
	struct two t = two_open();
	(void)state;
	content_fill(t.arena.memory, INSTRUCTION_BYTES, 1);
	for (unsigned flags = 0; flags <= CAY_ACK; flags += CAY_ACK) {
		instruction_into = 99;
		memset(instruction_bytes, 0, sizeof(instruction_bytes));
		assert_int_equal(add(&t.heap, 1000, 0), 0);
		for (unsigned i = 0; i < COUNT(instructions); i++)
			assert_int_equal(
				instructions[i].issue(&t.arena, i, flags), 0);
		assert_int_equal(cay_cancel(t.heap.origin, 12345), 0);
		for (unsigned i = 0; i < COUNT(instructions); i++) {
			assert_int_equal(cay_cancel(t.heap.origin, i), 1);
			assert_int_equal(cay_cancel(t.heap.origin, i), 0);
			expect_withdrawn(&t.arena, &instructions[i], i, flags);
		}
		rma_complete(&t.heap, 1000, 0);
		rma_settle(&t.heap);
		assert_true(content_fits(t.arena.memory, INSTRUCTION_BYTES, 1));
		assert_int_equal(instruction_into, 99);
	}
	assert_int_equal(word_at(&t.heap, 0), 2);
	assert_int_equal(port_stats(t.heap.owner).emulated_executed, 2);
	two_close(&t);
}

static void cancel_all_with_one_tag(void **state)
{
	struct two t = two_open();
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(add(&t.heap, i % 2, 0), 0);
	assert_int_equal(cay_cancel(t.heap.origin, 1), 10);
	for (unsigned i = 0; i < 10; i++)
		expect_complete(t.heap.origin, 1, CAY_ERROR_TIMEOUT);
	for (unsigned i = 0; i < 10; i++)
		rma_complete(&t.heap, 0, 0);
	assert_int_equal(word_at(&t.heap, 0), 10);
	assert_int_equal(cay_cancel(t.heap.origin, 0), 0);
	two_close(&t);
}

/* Long messages as well: the target receives nothing. */
static void long_messages_are_cancelled(void **state)
{
	struct two t = two_open();
	struct rma_pair *r = &t.heap;
	unsigned char *mapped = cay_alloc(r->origin, 10000, 0);
	unsigned char *plain = calloc(1, 10000);
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(cay_send(r->origin, r->peer, 2 * i, mapped,
					 10000, CAY_BORROW),
			0);
		assert_int_equal(cay_send(r->origin, r->peer, 2 * i + 1, plain,
					 10000, CAY_BORROW),
			0);
		assert_int_equal(cay_cancel(r->origin, 2 * i), 1);
		assert_int_equal(cay_cancel(r->origin, 2 * i + 1), 1);
		expect_complete(r->origin, 2 * i, CAY_ERROR_TIMEOUT);
		expect_complete(r->origin, 2 * i + 1, CAY_ERROR_TIMEOUT);
		check_empty(r->owner);
	}
	free(plain);
	cay_free(r->origin, mapped);
	two_close(&t);
}

/* Cancel races with execution: exactly one of them wins. */
struct race {
	struct rma_pair *reach;
	_Atomic bool stop;
};

static void *race_execute(void *argument)
{
	struct race *race = argument;
	while (!atomic_load(&race->stop))
		rma_poll_owner(race->reach);
	return NULL;
}

static void cancelled_or_executed(void **state)
{
	struct two t = two_open();
	struct race race = { .reach = &t.heap };
	struct random random = { 5 };
	uint64_t done = 0, withdrawn = 0;
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, race_execute, &race), 0);
	for (uint64_t i = 0; i < scaled(20000); i++) {
		struct cay_event e;
		/* The scheduler may not run the owner's thread for a while. */
		while (add(&t.heap, i, 0) == -EAGAIN)
			check_empty(t.heap.origin);
		for (uint64_t n = random_below(&random, 300); n; n--)
			atomic_signal_fence(memory_order_seq_cst);
		int cancelled = cay_cancel(t.heap.origin, i);
		next_event(t.heap.origin, &e);
		assert_int_equal(e.tag, i);
		assert_int_equal(e.error, cancelled ? CAY_ERROR_TIMEOUT : 0);
		withdrawn += (uint64_t)cancelled;
		if (!cancelled)
			assert_int_equal(e.result, ++done);
		cay_release(t.heap.origin, &e);
	}
	atomic_store(&race.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(done + withdrawn, scaled(20000));
	assert_int_equal(word_at(&t.heap, 0), done);
	two_close(&t);
}

/* ---- changes of the window before execution ---- */

static void window_changes_before_execution(void **state)
{
	struct two t = two_open();
	struct rma_pair *r = &t.heap;
	struct cay_key new;
	(void)state;
	assert_int_equal(add(r, 1, 0), 0);
	assert_int_equal(cay_window_revoke(r->window, &new), 0);
	rma_complete(r, 1, CAY_ERROR_CAPABILITY);
	r->key = new;
	struct cay_peer *self = open_peer(r->owner, r->owner);
	assert_int_equal(add(r, 2, 0), 0);
	assert_int_equal(cay_window_lock(r->owner, self, new, 0), 0);
	rma_complete(r, 2, CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(cay_window_unlock(r->owner, self, new), 0);
	/* The origin's own lock does not exclude it. */
	assert_int_equal(add(r, 3, 0), 0);
	assert_int_equal(cay_window_lock(r->origin, r->peer, new, 0), 0);
	rma_complete(r, 3, 0);
	assert_int_equal(cay_window_unlock(r->origin, r->peer, new), 0);
	assert_int_equal(word_at(r, 0), 1);
	assert_int_equal(add(r, 4, 0), 0);
	close_window(r->window);
	rma_complete(r, 4, CAY_ERROR_TARGET_WINDOW);
	assert_int_equal(word_at(r, 0), 1);
	r->window = NULL;
	cay_peer_release(self);
	two_close(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(executed_when_the_owner_polls),
		TEST(puts_and_gets_are_not_emulated),
		TEST(order_is_kept),
		TEST(free_order_is_direct),
		TEST(other_peers_are_direct),
		TEST(fences_wait),
		TEST(number_is_limited),
		TEST(flush_waits),
		TEST(cancelled_accesses_are_not_executed),
		TEST(cancel_all_with_one_tag),
		TEST(long_messages_are_cancelled),
		TEST(cancelled_or_executed),
		TEST(window_changes_before_execution),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
