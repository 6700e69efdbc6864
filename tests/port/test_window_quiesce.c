/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quiescing: processes put into a window at full rate, in old and in new
 * threads. After close, revoke or lock returns, no store of theirs appears,
 * whatever step they had reached.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "remote.h"

#define BYTES  (64ul << 10)
#define THEIRS 0xaa
#define OURS   0x11

enum {
	PUTTERS = 2, /* processes with two threads, one of which is new */
	ROUNDS = 200
};

/* Shared by all processes. */
struct shared {
	_Atomic uint64_t capability;
	_Atomic uint32_t window, stop;
};

/* ---- origins ---- */

struct putter {
	struct shared *shared;
	struct rma_pair reach;
	_Atomic uint64_t seed;
	_Atomic bool disabled; /* the port, after too many old keys */
};

static unsigned char theirs[BYTES];

/*
 * Each of the two threads of a process writes its own half, to avoid a data
 * race.
 */
static void put_some(struct putter *p, struct random *random, unsigned half)
{
	struct rma_pair *r = &p->reach;
	size_t bytes = random_below(random, 4) ? 1 + random_below(random, 64)
					       : BYTES / 2;
	uint64_t at =
		half * BYTES / 2 + random_below(random, BYTES / 2 - bytes + 1);
	struct cay_key key = { .capability =
				       atomic_load(&p->shared->capability),
		.window = atomic_load(&p->shared->window) };
	int result = cay_put(r->origin, r->peer, key, at, theirs, bytes, 0, 0);
	if (result == -EACCES)
		atomic_store(&p->disabled, true);
	else
		assert_true(
			result == 0 || result == -EAGAIN || result == -EPIPE);
}

static bool putter_ends(struct putter *p)
{
	return atomic_load(&p->shared->stop) || atomic_load(&p->disabled);
}

static void *putter_run(void *argument)
{
	struct putter *p = argument;
	struct random random = { atomic_load(&p->seed) };
	while (!putter_ends(p))
		put_some(p, &random, 0);
	return NULL;
}

/* The first and last access of a thread. */
static void *putter_once(void *argument)
{
	struct putter *p = argument;
	struct random random = { atomic_load(&p->seed) };
	put_some(p, &random, 1);
	return NULL;
}

/* Refusals are reported as events, which are ignored. */
static void drain(struct cay_port *port)
{
	struct cay_event e;
	while (cay_poll(port, &e, 1) == 1)
		cay_release(port, &e);
}

static void putter_threads(struct putter *p)
{
	pthread_t old, fresh;
	struct random random = { atomic_load(&p->seed) };
	assert_int_equal(pthread_create(&old, NULL, putter_run, p), 0);
	while (!putter_ends(p)) {
		atomic_store(&p->seed, random_next(&random));
		assert_int_equal(
			pthread_create(&fresh, NULL, putter_once, p), 0);
		pthread_join(fresh, NULL);
		drain(p->reach.origin);
	}
	pthread_join(old, NULL);
}

static void putter_reach(struct putter *p)
{
	p->reach.origin = open_port(NULL);
	p->reach.peer = open_peer_named(p->reach.origin, "owner");
	atomic_store(&p->disabled, false);
}

static void putter_child(struct child *parent, void *argument)
{
	struct putter p = { .shared = argument, .seed = (uint64_t)getpid() };
	memset(theirs, THEIRS, sizeof(theirs));
	putter_reach(&p);
	child_send(parent, 1);
	for (;;) {
		putter_threads(&p);
		cay_peer_release(p.reach.peer);
		close_port(p.reach.origin);
		if (atomic_load(&p.shared->stop))
			return;
		putter_reach(&p);
	}
}

/* ---- owner ---- */

struct field {
	struct shared *shared;
	struct cay_port *owner;
	enum place place;
	unsigned char *memory;
	struct cay_window *window;
	struct child putters[PUTTERS];
};

static void field_key(struct field *f, struct cay_key key)
{
	atomic_store(&f->shared->window, key.window);
	atomic_store(&f->shared->capability, key.capability);
}

static void field_window(struct field *f)
{
	struct cay_key key;
	f->window =
		open_window(f->owner, f->memory, BYTES, CAY_RIGHT_WRITE, &key);
	field_key(f, key);
}

static struct field field_open(enum place place)
{
	struct field f = { .place = place, .shared = shared_memory(4096) };
	f.owner = open_named("owner");
	f.memory = place_alloc(f.owner, place, BYTES);
	field_window(&f);
	for (unsigned i = 0; i < PUTTERS; i++)
		child_start(&f.putters[i], putter_child, f.shared);
	for (unsigned i = 0; i < PUTTERS; i++)
		child_receive(&f.putters[i]);
	return f;
}

static void field_close(struct field *f)
{
	atomic_store(&f->shared->stop, 1);
	for (unsigned i = 0; i < PUTTERS; i++)
		child_join(&f->putters[i]);
	close_window(f->window);
	place_free(f->owner, f->place, f->memory);
	close_port(f->owner);
	munmap(f->shared, 4096);
}

static unsigned char byte_load(const unsigned char *byte)
{
	return atomic_load_explicit(
		(const _Atomic unsigned char *)byte, memory_order_relaxed);
}

/* Waits until a put has arrived. */
static void field_wait(const struct field *f)
{
	uint64_t deadline = soon();
	for (size_t i = 0; byte_load(&f->memory[i]) != THEIRS;
		i = (i + 1) % BYTES)
		if (i == 0)
			assert_true(now_ns() < deadline);
}

/* Checks that the memory stays unchanged. */
static void field_check(const struct field *f, struct random *random)
{
	memset(f->memory, OURS, BYTES);
	for (uint64_t n = 1 + random_below(random, 3); n; n--)
		for (size_t i = 0; i < BYTES; i++)
			assert_int_equal(byte_load(&f->memory[i]), OURS);
}

/* ---- close, revoke, lock ---- */

static void close_in(enum place place)
{
	struct field f = field_open(place);
	struct random random = { 1 };
	for (uint64_t i = 0; i < scaled(ROUNDS); i++) {
		field_wait(&f);
		random_pause(&random, 100 * NS_PER_US);
		close_window(f.window);
		field_check(&f, &random);
		field_window(&f);
	}
	field_close(&f);
}

static void no_store_after_close(void **state)
{
	(void)state;
	close_in(PLACE_ARENA);
	close_in(PLACE_HEAP);
}

static void revoke_in(enum place place)
{
	struct field f = field_open(place);
	struct random random = { 2 };
	for (uint64_t i = 0; i < scaled(ROUNDS); i++) {
		struct cay_key key;
		field_wait(&f);
		random_pause(&random, 100 * NS_PER_US);
		assert_int_equal(cay_window_revoke(f.window, &key), 0);
		field_check(&f, &random);
		field_key(&f, key);
	}
	field_close(&f);
}

static void no_store_after_revoke(void **state)
{
	(void)state;
	revoke_in(PLACE_ARENA);
	revoke_in(PLACE_HEAP);
}

static void lock_in(enum place place)
{
	struct field f = field_open(place);
	struct cay_peer *self = open_peer(f.owner, f.owner);
	struct random random = { 3 };
	struct cay_key key;
	cay_window_key(f.window, &key);
	for (uint64_t i = 0; i < scaled(ROUNDS); i++) {
		field_wait(&f);
		random_pause(&random, 100 * NS_PER_US);
		assert_int_equal(
			cay_window_lock(f.owner, self, key, soon()), 0);
		field_check(&f, &random);
		assert_int_equal(cay_window_unlock(f.owner, self, key), 0);
	}
	cay_peer_release(self);
	field_close(&f);
}

static void no_store_after_lock(void **state)
{
	(void)state;
	lock_in(PLACE_ARENA);
	lock_in(PLACE_HEAP);
}

/* cay_port_close() quiesces, too. */
static void port_close_in(enum place place)
{
	struct field f = { .place = place, .shared = shared_memory(4096) };
	struct random random = { 4 };
	/* Another port keeps the arena mapped. */
	struct cay_port *other = open_port(NULL);
	f.memory = place_alloc(other, place, BYTES);
	for (uint64_t i = 0; i < scaled(ROUNDS) / 20; i++) {
		atomic_store(&f.shared->stop, 0);
		f.owner = open_named("owner");
		field_window(&f);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_start(&f.putters[j], putter_child, f.shared);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_receive(&f.putters[j]);
		field_wait(&f);
		close_port(f.owner);
		field_check(&f, &random);
		atomic_store(&f.shared->stop, 1);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_join(&f.putters[j]);
	}
	place_free(other, place, f.memory);
	close_port(other);
	munmap(f.shared, 4096);
}

static void no_store_after_port_close(void **state)
{
	(void)state;
	port_close_in(PLACE_ARENA);
	port_close_in(PLACE_HEAP);
}

/* ---- one long access, observed from its first byte ---- */

#define LONG_BYTES STATIC_BYTES

struct inside {
	struct cay_key key;
	unsigned former; /* earlier accesses of the same thread */
};

static void inside_child(struct child *parent, void *argument)
{
	const struct inside *in = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "owner");
	unsigned char *all = malloc(LONG_BYTES);
	memset(all, THEIRS, LONG_BYTES);
	for (unsigned i = 0; i < in->former; i++)
		assert_int_equal(
			cay_put(port, peer, in->key, 0, "", 1, 0, 0), 0);
	child_receive(parent);
	assert_int_equal(
		cay_put(port, peer, in->key, 0, all, LONG_BYTES, 0, 0), 0);
	check_empty(port);
	free(all);
	cay_peer_release(peer);
	close_port(port);
}

static void end_by_close(struct cay_port *owner, struct cay_window *w)
{
	(void)owner;
	close_window(w);
}

static void end_by_revoke(struct cay_port *owner, struct cay_window *w)
{
	struct cay_key key;
	(void)owner;
	assert_int_equal(cay_window_revoke(w, &key), 0);
}

static void end_by_lock(struct cay_port *owner, struct cay_window *w)
{
	struct cay_peer *self = open_peer(owner, owner);
	struct cay_key key;
	cay_window_key(w, &key);
	assert_int_equal(cay_window_lock(owner, self, key, soon()), 0);
	cay_peer_release(self);
}

/* The call waits for the access in progress: all its bytes are stored. */
static void wait_for_one(enum place place, unsigned former,
	void (*end)(struct cay_port *, struct cay_window *))
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, place, LONG_BYTES);
	struct inside in = { .former = former };
	struct child child;
	struct cay_window *w = open_window(
		owner, memory, LONG_BYTES, CAY_RIGHT_WRITE, &in.key);
	child_start(&child, inside_child, &in);
	child_send(&child, 1);
	while (byte_load(&memory[0]) != THEIRS)
		;
	end(owner, w);
	assert_int_equal(byte_load(&memory[LONG_BYTES - 1]), THEIRS);
	child_join(&child);
	/*
	 * The port is closed before its memory is freed: end() may have left
	 * the window.
	 */
	if (place == PLACE_ARENA)
		cay_free(owner, memory);
	close_port(owner);
	if (place == PLACE_HEAP)
		free(memory);
}

static void close_waits_for_an_access_in_progress(void **state)
{
	static void (*const ends[])(struct cay_port *, struct cay_window *) = {
		end_by_close, end_by_revoke, end_by_lock
	};
	(void)state;
	for (unsigned i = 0; i < scaled(10); i++)
		for (enum place place = 0; place < PLACES; place++)
			for (unsigned j = 0; j < COUNT(ends); j++)
				wait_for_one(place, i % 2, ends[j]);
}

/* ---- death during an access ---- */

static void dead_origins_are_not_waited_for(void **state)
{
	struct field f = { .place = PLACE_ARENA,
		.shared = shared_memory(4096) };
	struct random random = { now_ns() };
	(void)state;
	f.owner = open_named("owner");
	f.memory = place_alloc(f.owner, f.place, BYTES);
	for (uint64_t i = 0; i < scaled(60); i++) {
		field_window(&f);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_start(&f.putters[j], putter_child, f.shared);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_receive(&f.putters[j]);
		random_pause(&random, 3 * NS_PER_MS);
		for (unsigned j = 0; j < PUTTERS; j++)
			kill(f.putters[j].pid, SIGKILL);
		if (i % 2)
			close_window(f.window);
		for (unsigned j = 0; j < PUTTERS; j++)
			child_kill(&f.putters[j]);
		if (i % 2 == 0)
			close_window(f.window);
		field_check(&f, &random);
	}
	place_free(f.owner, f.place, f.memory);
	close_port(f.owner);
	munmap(f.shared, 4096);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(close_waits_for_an_access_in_progress),
		TEST(no_store_after_close),
		TEST(no_store_after_revoke),
		TEST(no_store_after_lock),
		TEST(no_store_after_port_close),
		TEST(dead_origins_are_not_waited_for),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
