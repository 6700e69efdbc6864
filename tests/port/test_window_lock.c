/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks on windows: held by one port, on all windows of the same memory, and
 * released when the holder unlocks, closes or dies.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "instruction.h"

/* A window and two origins. */
struct rivals {
	struct rma_pair a, b;
};

static struct rivals rivals_open(enum place place)
{
	struct rivals v;
	v.a = rma_open(place, INSTRUCTION_BYTES, RIGHTS_ACCESS);
	v.b = v.a;
	v.b.origin = open_port(NULL);
	v.b.peer = open_peer(v.b.origin, v.b.owner);
	return v;
}

static void rivals_close(struct rivals *v)
{
	check_empty(v->b.origin);
	cay_peer_release(v->b.peer);
	close_port(v->b.origin);
	rma_close(&v->a);
}

static int lock(struct rma_pair *r, uint64_t deadline)
{
	return cay_window_lock(r->origin, r->peer, r->key, deadline);
}

static int unlock(struct rma_pair *r)
{
	return cay_window_unlock(r->origin, r->peer, r->key);
}

/* Checks that all operations complete with this error. */
static void all_end(struct rma_pair *r, int error)
{
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		assert_int_equal(instructions[i].issue(r, i, CAY_ACK), 0);
		rma_complete(r, i, error);
		assert_int_equal(rma_flush(r), error ? -EREMOTEIO : 0);
		rma_settle(r);
	}
}

/* The same without flags: the accesses of the fast path are refused, too. */
static void all_refused_without_flags(struct rma_pair *r)
{
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		assert_int_equal(instructions[i].issue(r, i, 0), 0);
		rma_complete(r, i, CAY_ERROR_TARGET_LOCKED);
		assert_int_equal(rma_flush(r), -EREMOTEIO);
		rma_settle(r);
	}
}

/* ---- exclusion ---- */

static void locked_for_others(enum place place)
{
	struct rivals v = rivals_open(place);
	assert_int_equal(lock(&v.a, 0), 0);
	all_end(&v.a, 0);
	all_end(&v.b, CAY_ERROR_TARGET_LOCKED);
	all_refused_without_flags(&v.b);
	assert_int_equal(lock(&v.b, 0), -EAGAIN);
	assert_int_equal(unlock(&v.b), -EPERM);
	assert_int_equal(lock(&v.a, 0), -EALREADY);
	assert_int_equal(lock(&v.a, CAY_FOREVER), -EALREADY);
	assert_int_equal(unlock(&v.a), 0);
	assert_int_equal(unlock(&v.a), -EPERM);
	all_end(&v.a, 0);
	all_end(&v.b, 0);
	assert_int_equal(lock(&v.b, soon()), 0);
	all_end(&v.a, CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(unlock(&v.b), 0);
	rivals_close(&v);
}

static void exclusive(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		locked_for_others(place);
}

/* The owner of the window can lock it like any port. */
static void owners_may_lock(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	struct rma_pair self = v.a;
	(void)state;
	self.origin = v.a.owner;
	self.peer = open_peer(self.origin, self.owner);
	assert_int_equal(lock(&self, 0), 0);
	all_end(&v.a, CAY_ERROR_TARGET_LOCKED);
	all_end(&self, 0);
	assert_int_equal(unlock(&self), 0);
	assert_int_equal(lock(&v.a, 0), 0);
	all_end(&self, CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(unlock(&v.a), 0);
	cay_peer_release(self.peer);
	rivals_close(&v);
}

static void invalid_keys(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	struct rma_pair r = v.a;
	(void)state;
	r.key.capability ^= 1;
	assert_int_equal(lock(&r, 0), -EACCES);
	assert_int_equal(unlock(&r), -EACCES);
	r = v.a;
	static const uint32_t none[] = { 1, 63, 64, 65535, 65536, UINT32_MAX };
	for (unsigned i = 0; i < COUNT(none); i++) {
		r.key.window = none[i];
		assert_int_equal(lock(&r, 0), -ENXIO);
		assert_int_equal(unlock(&r), -ENXIO);
	}
	close_window(v.a.window);
	assert_int_equal(lock(&v.a, soon()), -ENXIO);
	v.a.window = NULL;
	rivals_close(&v);
}

static void deadlines(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	(void)state;
	assert_int_equal(lock(&v.a, 0), 0);
	uint64_t before = now_ns();
	assert_int_equal(lock(&v.b, before + 20 * NS_PER_MS), -ETIMEDOUT);
	assert_true(now_ns() >= before + 20 * NS_PER_MS);
	/* A deadline in the past. */
	assert_int_equal(lock(&v.b, 1), -ETIMEDOUT);
	assert_int_equal(unlock(&v.a), 0);
	assert_int_equal(lock(&v.b, 1), 0);
	assert_int_equal(unlock(&v.b), 0);
	rivals_close(&v);
}

static void *unlock_later(void *argument)
{
	nap_ns(20 * NS_PER_MS);
	assert_int_equal(unlock(argument), 0);
	return NULL;
}

static void waits_until_unlocked(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	pthread_t thread;
	(void)state;
	assert_int_equal(lock(&v.a, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, unlock_later, &v.a), 0);
	assert_int_equal(lock(&v.b, CAY_FOREVER), 0);
	pthread_join(thread, NULL);
	all_end(&v.b, 0);
	assert_int_equal(unlock(&v.b), 0);
	rivals_close(&v);
}

/* ---- all windows on the same memory ---- */

struct linked {
	struct rivals v;
	struct cay_window *window[4];
	struct cay_key key[4];
};

/* Ranges in the memory; the last one overlaps no other. */
static const size_t extents[4][2] = { { 0, 128 }, { 0, 64 }, { 56, 16 },
	{ 128, 8 } };

static struct linked linked_open(enum place place)
{
	struct linked l;
	l.v = rivals_open(place);
	close_window(l.v.a.window);
	place_free(l.v.a.owner, place, l.v.a.memory);
	l.v.a.memory = place_alloc(l.v.a.owner, place, 256);
	for (unsigned i = 0; i < 4; i++)
		l.window[i] = open_window(l.v.a.owner,
			l.v.a.memory + extents[i][0], extents[i][1],
			RIGHTS_ACCESS, &l.key[i]);
	l.v.a.window = NULL;
	return l;
}

static void linked_close(struct linked *l)
{
	for (unsigned i = 0; i < 4; i++)
		if (l->window[i])
			close_window(l->window[i]);
	rivals_close(&l->v);
}

/* Checks the result of an access by b through this window. */
static void check_access(struct linked *l, unsigned i, int error)
{
	struct rma_pair r = l->v.b;
	r.key = l->key[i];
	assert_int_equal(
		cay_put(r.origin, r.peer, r.key, 0, "x", 1, i, CAY_ACK), 0);
	rma_complete(&r, i, error);
	assert_int_equal(cay_fetch_add(r.origin, r.peer, r.key, 0, 1, i, 0), 0);
	rma_complete(&r, i, error);
}

static void check_locked(struct linked *l, bool locked)
{
	int error = locked ? CAY_ERROR_TARGET_LOCKED : 0;
	for (unsigned i = 0; i < 3; i++)
		if (l->window[i])
			check_access(l, i, error);
	check_access(l, 3, 0);
}

/* Locked through one, unlocked through another. */
static void linked_windows(enum place place)
{
	struct linked l = linked_open(place);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++) {
			struct rma_pair a = l.v.a, b = l.v.b;
			a.key = l.key[i];
			b.key = l.key[j];
			assert_int_equal(lock(&a, 0), 0);
			check_locked(&l, true);
			assert_int_equal(lock(&b, 0), -EAGAIN);
			a.key = l.key[j];
			assert_int_equal(lock(&a, 0), -EALREADY);
			assert_int_equal(unlock(&a), 0);
			check_locked(&l, false);
		}
	linked_close(&l);
}

static void lock_covers_all_windows_on_the_memory(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		linked_windows(place);
}

/* Two windows that overlap a third one, but not each other. */
static void new_window_joins_overlapping_rings(void **state)
{
	struct linked l = linked_open(PLACE_ARENA);
	struct rma_pair a = l.v.a, b = l.v.b;
	(void)state;
	close_window(l.window[0]);
	close_window(l.window[2]);
	l.window[0] = NULL;
	/* [0, 64), [128, 136), then [32, 132). */
	l.window[2] = open_window(
		a.owner, a.memory + 32, 100, RIGHTS_ACCESS, &l.key[2]);
	a.key = l.key[1];
	b.key = l.key[2];
	assert_int_equal(lock(&a, 0), 0);
	check_access(&l, 2, CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(lock(&b, 0), -EAGAIN);
	assert_int_equal(unlock(&a), 0);
	a.key = l.key[3];
	assert_int_equal(lock(&a, 0), 0);
	check_access(&l, 2, CAY_ERROR_TARGET_LOCKED);
	assert_int_equal(lock(&b, 0), -EAGAIN);
	assert_int_equal(unlock(&a), 0);
	assert_int_equal(lock(&b, 0), 0);
	a.key = l.key[1];
	assert_int_equal(lock(&a, 0), -EAGAIN);
	a.key = l.key[3];
	assert_int_equal(lock(&a, 0), -EAGAIN);
	assert_int_equal(unlock(&b), 0);
	linked_close(&l);
}

static void new_windows_inherit_the_lock(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		struct linked l = linked_open(place);
		struct rma_pair a = l.v.a;
		a.key = l.key[0];
		assert_int_equal(lock(&a, 0), 0);
		close_window(l.window[2]);
		l.window[2] = open_window(
			a.owner, a.memory + 120, 8, RIGHTS_ACCESS, &l.key[2]);
		check_locked(&l, true);
		/* Closing one window does not change the lock of the others. */
		close_window(l.window[1]);
		l.window[1] = NULL;
		check_locked(&l, true);
		assert_int_equal(unlock(&a), 0);
		check_locked(&l, false);
		linked_close(&l);
	}
}

/* A lock taken through a window that was closed can be released. */
static void unlock_after_close_and_revoke(void **state)
{
	struct linked l = linked_open(PLACE_ARENA);
	struct rma_pair a = l.v.a, b = l.v.b;
	struct cay_key old = l.key[1];
	(void)state;
	a.key = old;
	assert_int_equal(lock(&a, 0), 0);
	assert_int_equal(cay_window_revoke(l.window[1], &l.key[1]), 0);
	check_locked(&l, true);
	assert_int_equal(lock(&a, 0), -EACCES);
	b.key = old;
	assert_int_equal(unlock(&b), -EACCES);
	assert_int_equal(unlock(&a), 0);
	check_locked(&l, false);
	a.key = l.key[1];
	assert_int_equal(lock(&a, 0), 0);
	close_window(l.window[1]);
	l.window[1] = NULL;
	check_locked(&l, true);
	assert_int_equal(lock(&a, 0), -ENXIO);
	assert_int_equal(unlock(&a), 0);
	check_locked(&l, false);
	linked_close(&l);
}

/* ---- close and death of the holder ---- */

static void close_releases_locks(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	struct cay_port *third = open_port(NULL);
	struct rma_pair c = v.a;
	(void)state;
	c.origin = third;
	c.peer = open_peer(third, v.a.owner);
	assert_int_equal(lock(&c, 0), 0);
	all_end(&v.a, CAY_ERROR_TARGET_LOCKED);
	cay_peer_release(c.peer);
	close_port(third);
	assert_int_equal(lock(&v.b, 0), 0);
	assert_int_equal(unlock(&v.b), 0);
	rivals_close(&v);
}

struct holder {
	struct cay_key key;
	uint64_t rounds;
	_Atomic uint64_t *inside; /* shared: current holder */
};

static void holder_child(struct child *parent, void *argument)
{
	const struct holder *h = argument;
	struct rma_pair r = { .origin = open_port(NULL), .key = h->key };
	r.peer = open_peer_named(r.origin, "owner");
	assert_int_equal(lock(&r, soon()), 0);
	child_send(parent, 1);
	child_receive(parent);
}

static void death_releases_locks(void **state)
{
	struct cay_port *owner = open_named("owner"), *b = open_port(NULL);
	struct rma_pair r = { .origin = b, .owner = owner, .bytes = 128 };
	struct holder h;
	(void)state;
	r.peer = open_peer(b, owner);
	r.memory = place_alloc(owner, PLACE_ARENA, r.bytes);
	r.window = open_window(owner, r.memory, r.bytes, RIGHTS_ACCESS, &r.key);
	h.key = r.key;
	for (unsigned i = 0; i < 20; i++) {
		struct child child;
		child_start(&child, holder_child, &h);
		child_receive(&child);
		assert_int_equal(lock(&r, 0), -EAGAIN);
		all_end(&r, CAY_ERROR_TARGET_LOCKED);
		child_kill(&child);
		assert_int_equal(lock(&r, soon()), 0);
		assert_int_equal(unlock(&r), 0);
		all_end(&r, 0);
	}
	rma_close(&r);
}

/* The owner of the window dies while it is locked. */
static void owner_child(struct child *parent, void *argument)
{
	struct cay_port *port = open_named("mortal");
	struct cay_key key;
	(void)argument;
	open_window(port, place_alloc(port, PLACE_ARENA, 128), 128,
		RIGHTS_ACCESS, &key);
	key_send(parent, key);
	child_receive(parent);
}

static void death_of_the_owner(void **state)
{
	struct cay_port *port = open_port(NULL);
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct child child;
		child_start(&child, owner_child, NULL);
		struct rma_pair r = { .origin = port,
			.key = key_receive(&child) };
		r.peer = open_peer_named(port, "mortal");
		uint16_t vpid = cay_peer_addr(r.peer).vpid;
		assert_int_equal(lock(&r, 0), 0);
		child_kill(&child);
		expect_gone(port, vpid);
		assert_int_equal(unlock(&r), -EPIPE);
		assert_int_equal(lock(&r, soon()), -EPIPE);
		cay_peer_release(r.peer);
	}
	close_port(port);
}

/* ---- contention ---- */

/* Get, add, put: the sum is exact only under mutual exclusion. */
static void sum_under_lock(struct rma_pair *r, struct holder *h)
{
	uint64_t sum = 0;
	assert_int_equal(lock(r, soon()), 0);
	assert_int_equal(atomic_fetch_add(h->inside, 1), 0);
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, 0, &sum, 8, 0, 0), 0);
	assert_int_equal(cay_flush(r->origin, r->peer, soon()), 0);
	sum++;
	assert_int_equal(
		cay_put(r->origin, r->peer, r->key, 0, &sum, 8, 0, 0), 0);
	assert_int_equal(atomic_fetch_sub(h->inside, 1), 1);
	assert_int_equal(unlock(r), 0);
}

static void summing_child(struct child *parent, void *argument)
{
	struct holder *h = argument;
	struct rma_pair r = { .origin = open_port(NULL), .key = h->key };
	r.peer = open_peer_named(r.origin, "owner");
	for (uint64_t i = 0; i < h->rounds; i++)
		sum_under_lock(&r, h);
	cay_peer_release(r.peer);
	close_port(r.origin);
	child_send(parent, 1);
}

static void sums_in(enum place place)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, place, 64);
	struct holder h = { .rounds = scaled(300),
		.inside = shared_memory(4096) };
	struct cay_window *w = open_window(
		owner, memory, 64, CAY_RIGHT_READ | CAY_RIGHT_WRITE, &h.key);
	struct child children[4];
	uint64_t sum;
	for (unsigned i = 0; i < COUNT(children); i++)
		child_start(&children[i], summing_child, &h);
	for (unsigned i = 0; i < COUNT(children); i++) {
		child_receive(&children[i]);
		child_join(&children[i]);
	}
	memcpy(&sum, memory, 8);
	assert_int_equal(sum, h.rounds * COUNT(children));
	close_window(w);
	place_free(owner, place, memory);
	close_port(owner);
	munmap((void *)h.inside, 4096);
}

static void contention_between_processes(void **state)
{
	(void)state;
	sums_in(PLACE_ARENA);
	sums_in(PLACE_HEAP);
}

/* Holders are killed at random times; the lock is always released. */
static void random_deaths(void **state)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, PLACE_ARENA, 64);
	struct holder h = { .rounds = UINT64_MAX, .inside = NULL };
	struct random random = { now_ns() };
	struct cay_window *w =
		open_window(owner, memory, 64, RIGHTS_ACCESS, &h.key);
	struct cay_port *last = open_port(NULL);
	struct rma_pair r = { .origin = last, .key = h.key };
	(void)state;
	r.peer = open_peer(last, owner);
	for (unsigned i = 0; i < 30; i++) {
		struct child children[3];
		for (unsigned j = 0; j < COUNT(children); j++)
			child_start(&children[j], holder_child, &h);
		nap_ns(random_below(&random, 10 * NS_PER_MS));
		for (unsigned j = 0; j < COUNT(children); j++)
			child_kill(&children[j]);
		assert_int_equal(lock(&r, soon()), 0);
		assert_int_equal(unlock(&r), 0);
	}
	cay_peer_release(r.peer);
	close_port(last);
	close_window(w);
	cay_free(owner, memory);
	close_port(owner);
}

/* ---- windows opened and closed while others lock ---- */

struct opener {
	struct cay_port *owner;
	unsigned char *memory;
	_Atomic bool stop;
	_Atomic uint64_t rounds;
};

static void *opener_run(void *argument)
{
	struct opener *o = argument;
	struct cay_key key;
	while (!atomic_load(&o->stop)) {
		struct cay_window *w[3];
		for (unsigned i = 0; i < COUNT(w); i++)
			w[i] = open_window(o->owner, o->memory + 8 * i, 16,
				RIGHTS_ACCESS, &key);
		for (unsigned i = 0; i < COUNT(w); i++)
			close_window(w[i]);
		atomic_fetch_add(&o->rounds, 1);
	}
	return NULL;
}

/* No window keeps the lock of a dead or former holder. */
static void windows_open_and_close_meanwhile(void **state)
{
	struct rivals v = rivals_open(PLACE_ARENA);
	struct opener o = { .owner = v.a.owner, .memory = v.a.memory };
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, opener_run, &o), 0);
	for (uint64_t i = 0;
		i < scaled(2000) || atomic_load(&o.rounds) < scaled(200); i++) {
		struct rma_pair *r = i % 2 ? &v.a : &v.b;
		assert_int_equal(lock(r, soon()), 0);
		assert_int_equal(unlock(r), 0);
	}
	atomic_store(&o.stop, true);
	pthread_join(thread, NULL);
	all_end(&v.a, 0);
	all_end(&v.b, 0);
	rivals_close(&v);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(exclusive),
		TEST(owners_may_lock),
		TEST(invalid_keys),
		TEST(deadlines),
		TEST(waits_until_unlocked),
		TEST(lock_covers_all_windows_on_the_memory),
		TEST(new_window_joins_overlapping_rings),
		TEST(new_windows_inherit_the_lock),
		TEST(unlock_after_close_and_revoke),
		TEST(close_releases_locks),
		TEST(death_releases_locks),
		TEST(death_of_the_owner),
		TEST(contention_between_processes),
		TEST(random_deaths),
		TEST(windows_open_and_close_meanwhile),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
