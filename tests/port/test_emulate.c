/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated accesses: the owner executes them when it polls, in order, each
 * once, or not at all if they are cancelled or the owner is gone.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instruction.h"
#include "port/port.h"
#include "status.h"

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

static uint64_t word_at(const struct rma_pair *r, size_t at)
{
	uint64_t word;
	memcpy(&word, r->memory + at, sizeof(word));
	return word;
}

static int add(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_fetch_add(r->origin, r->peer, r->key, 0, 1, tag, flags);
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

/* ---- death of the owner ---- */

enum {
	PENDING = 20
};

static void silent_owner(struct child *parent, void *argument)
{
	struct cay_port *port = open_named("silent");
	unsigned char *memory = place_alloc(port, PLACE_HEAP, 128);
	struct cay_key key;
	open_window(port, memory, 128, RIGHTS_ACCESS, &key);
	key_send(parent, key);
	child_receive(parent);
	if (argument) /* the owner closes without polling */
		close_port(port);
	child_send(parent, 1);
	child_receive(parent);
}

/*
 * Each kind, also without a requested completion, completes with an error; GONE
 * follows.
 */
static void pending_at_the_gone(bool closes)
{
	struct child child;
	struct rma_pair r = { .origin = open_port(NULL) };
	child_start(&child, silent_owner, closes ? &r : NULL);
	r.key = key_receive(&child);
	r.peer = open_peer_named(r.origin, "silent");
	uint16_t vpid = cay_peer_addr(r.peer).vpid;
	instruction_into = 99;
	assert_int_equal(add(&r, 0, 0), 0);
	for (unsigned i = 0; i < COUNT(instructions); i++)
		assert_int_equal(instructions[i].issue(&r, i + 1, 0), 0);
	assert_int_equal(cay_flush(r.origin, r.peer, 0), -EAGAIN);
	if (closes) {
		child_send(&child, 1);
		child_receive(&child);
	} else {
		kill(child.pid, SIGKILL);
	}
	assert_int_equal(cay_flush(r.origin, r.peer, soon()), 0);
	for (unsigned i = 0; i <= COUNT(instructions); i++) {
		struct cay_event e;
		next_event(r.origin, &e);
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, CAY_ERROR_GONE);
		assert_int_equal(e.tag, i);
		if (i) {
			const struct instruction *x = &instructions[i - 1];
			assert_int_equal(e.command, x->command);
			assert_int_equal(e.length, x->length);
			if (x->properties & LOCATED)
				assert_int_equal(e.offset, x->offset);
		}
		cay_release(r.origin, &e);
	}
	expect_gone(r.origin, vpid);
	check_empty(r.origin);
	assert_int_equal(instruction_into, 99);
	assert_int_equal(add(&r, 0, 0), -EPIPE);
	assert_int_equal(port_stats(r.origin).refs_used, 0);
	child_kill(&child);
	cay_peer_release(r.peer);
	close_port(r.origin);
}

static void owner_dies(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		pending_at_the_gone(false);
}

static void owner_closes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		pending_at_the_gone(true);
}

/* ---- death of the origin ---- */

struct leaver {
	struct cay_key key;
	bool closes;
};

static void leaving_origin(struct child *parent, void *argument)
{
	const struct leaver *l = argument;
	struct rma_pair r = { .origin = open_port(NULL), .key = l->key };
	r.peer = open_peer_named(r.origin, "owner");
	for (unsigned i = 0; i < PENDING; i++)
		assert_int_equal(add(&r, i, 0), 0);
	if (l->closes) {
		cay_peer_release(r.peer);
		close_port(r.origin);
	}
	child_send(parent, 1);
	child_receive(parent);
}

/* Issued accesses are executed once, and all memory is freed. */
static void origin_goes(bool closes)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, PLACE_HEAP, 128);
	struct leaver l = { .closes = closes };
	struct rma_pair r = { .owner = owner, .memory = memory };
	struct cay_window *w =
		open_window(owner, memory, 128, RIGHTS_ACCESS, &l.key);
	uint64_t heap_used = status_settled().heap_used;
	struct child child;
	child_start(&child, leaving_origin, &l);
	child_receive(&child);
	if (!closes)
		child_kill(&child);
	assert_int_equal(word_at(&r, 0), 0);
	check_empty(owner);
	assert_int_equal(word_at(&r, 0), PENDING);
	if (closes) {
		child_send(&child, 1);
		child_join(&child);
	}
	assert_int_equal(status_settled().heap_used, heap_used);
	check_empty(owner);
	assert_int_equal(word_at(&r, 0), PENDING);
	close_window(w);
	free(memory);
	close_port(owner);
}

static void origin_dies(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		origin_goes(false);
}

static void origin_closes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		origin_goes(true);
}

/* Owners and origins are killed at random times; no call hangs. */
static void busy_origin(struct child *parent, void *argument)
{
	const struct leaver *l = argument;
	struct rma_pair r = { .origin = open_port(NULL), .key = l->key };
	struct cay_event e;
	r.peer = open_peer_named(r.origin, "owner");
	child_send(parent, 1);
	for (uint64_t i = 0;; i++) {
		while (add(&r, i, 0) == 0)
			;
		while (poll_event(r.origin, &e))
			cay_release(r.origin, &e);
	}
}

static void random_deaths(void **state)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, PLACE_HEAP, 128);
	struct leaver l = { .closes = false };
	struct random random = { now_ns() };
	struct cay_window *w =
		open_window(owner, memory, 128, RIGHTS_ACCESS, &l.key);
	uint64_t heap_used = status_settled().heap_used;
	(void)state;
	for (uint64_t i = 0; i < scaled(40); i++) {
		struct child children[2];
		struct cay_event e;
		for (unsigned j = 0; j < COUNT(children); j++)
			child_start(&children[j], busy_origin, &l);
		for (unsigned j = 0; j < COUNT(children); j++)
			child_receive(&children[j]);
		uint64_t until = now_ns() + random_below(&random, NS_PER_MS);
		do
			assert_true(!poll_event(owner, &e));
		while (now_ns() < until);
		for (unsigned j = 0; j < COUNT(children); j++)
			child_kill(&children[j]);
	}
	uint64_t deadline = soon();
	while (status_read().zombies || status_read().heap_used != heap_used) {
		check_empty(owner);
		assert_true(now_ns() < deadline);
	}
	close_window(w);
	free(memory);
	close_port(owner);
}

/* ---- concurrency ---- */

struct summer {
	struct rma_pair *reach;
	uint64_t rounds;
};

static void *summer_run(void *argument)
{
	const struct summer *s = argument;
	struct rma_pair *r = s->reach;
	uint64_t previous;
	for (uint64_t i = 0; i < s->rounds;)
		i += cay_fetch_add_into(r->origin, r->peer, r->key, 0, 1,
			     &previous, 0, 0) == 0;
	return NULL;
}

static struct cay_key summer_key;

static void summing_child(struct child *parent, void *argument)
{
	struct rma_pair r = { .origin = open_port(NULL), .key = summer_key };
	struct summer s = { &r, *(uint64_t *)argument };
	pthread_t threads[2];
	struct cay_event e;
	r.peer = open_peer_named(r.origin, "owner");
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, summer_run, &s), 0);
	while (cay_flush(r.origin, r.peer, 0) ||
		port_stats(r.origin).issued < COUNT(threads) * s.rounds)
		assert_true(!poll_event(r.origin, &e));
	for (unsigned i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	rma_settle(&r);
	child_send(parent, 1);
	cay_peer_release(r.peer);
	close_port(r.origin);
}

/* Threads of several processes, and threads of the owner with C11 atomics. */
static void sums_are_exact(void **state)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, PLACE_HEAP, 64);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)memory;
	struct cay_window *w =
		open_window(owner, memory, 64, RIGHTS_ACCESS, &summer_key);
	uint64_t rounds = scaled(3000), own = 0;
	struct child children[2];
	struct cay_event e;
	(void)state;
	for (unsigned i = 0; i < COUNT(children); i++)
		child_start(&children[i], summing_child, &rounds);
	for (unsigned i = 0; i < COUNT(children); i++) {
		while (!child_has_sent(&children[i])) {
			atomic_fetch_add(word, 1);
			own++;
			assert_true(!poll_event(owner, &e));
		}
		child_join(&children[i]);
	}
	assert_int_equal(atomic_load(word), own + 4 * rounds);
	close_window(w);
	free(memory);
	close_port(owner);
}

/* ---- memory that was unmapped or protected ---- */

/* Each emulated access completes with the error; the owner continues. */
static void carried_ends_in(struct rma_pair *r, int error)
{
	assert_int_equal(
		cay_fetch_add(r->origin, r->peer, r->key, 0, 1, 1, 0), 0);
	rma_complete(r, 1, error);
	assert_int_equal(
		cay_compare_swap(r->origin, r->peer, r->key, 8, 0, 1, 2, 0), 0);
	rma_complete(r, 2, error);
	assert_int_equal(cay_put_masked(r->origin, r->peer, r->key, 16, ~0ull,
				 0xff, 3, CAY_NOTIFY),
		0);
	rma_complete(r, 3, error);
}

/* The memory is read-only or unmapped in the owner. */
static void unmapped_memory(void **state)
{
	struct rma_pair r = { .place = PLACE_HEAP, .bytes = 4096 };
	(void)state;
	r.owner = open_port(NULL);
	r.origin = open_port(NULL);
	r.peer = open_peer(r.origin, r.owner);
	r.memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(r.memory != MAP_FAILED);
	r.window = open_window(r.owner, r.memory, 4096, RIGHTS_ACCESS, &r.key);
	carried_ends_in(&r, CAY_ERROR_NONE);
	assert_int_equal(mprotect(r.memory, 4096, PROT_READ), 0);
	carried_ends_in(&r, CAY_ERROR_MEMORY);
	assert_int_equal(munmap(r.memory, 4096), 0);
	carried_ends_in(&r, CAY_ERROR_MEMORY);
	close_window(r.window);
	cay_peer_release(r.peer);
	close_port(r.origin);
	close_port(r.owner);
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
		TEST(owner_dies),
		TEST(owner_closes),
		TEST(origin_dies),
		TEST(origin_closes),
		TEST(random_deaths),
		TEST(unmapped_memory),
		TEST(sums_are_exact),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
