/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated accesses between processes: the owner or the origin ends before they
 * are executed, many origins add to one word, and the memory is gone.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulate.h"
#include "status.h"

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
