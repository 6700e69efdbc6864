/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Concurrent use of remote memory: origins in several processes and threads,
 * and local threads with atomic instructions. Words are not torn, neighbouring
 * bytes do not change, sums are exact, and puts appear in order.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "remote.h"

#define WORDS_BYTES 64
#define BULK_BYTES  (64ul << 10)

/* A window in the parent, an origin in each of its children. */
struct shared {
	struct cay_port *owner;
	struct cay_window *window;
	struct cay_key key;
	unsigned char *memory;
	size_t bytes;
	enum place place;
	_Atomic uint32_t *stop; /* shared by all processes */
	uint64_t rounds;
};

static struct shared shared_open(enum place place, size_t bytes)
{
	struct shared s = { .place = place, .bytes = bytes };
	s.owner = open_named("owner");
	s.memory = place_alloc(s.owner, place, bytes);
	s.window = open_window(s.owner, s.memory, bytes, RIGHTS_ACCESS, &s.key);
	s.stop = shared_memory(4096);
	return s;
}

static void shared_close(struct shared *s)
{
	check_empty(s->owner);
	close_window(s->window);
	place_free(s->owner, s->place, s->memory);
	close_port(s->owner);
	munmap(s->stop, 4096);
}

static struct rma_pair child_reach(const struct shared *s)
{
	struct rma_pair r = {
		.origin = open_port(NULL), .key = s->key, .bytes = s->bytes
	};
	r.peer = open_peer_named(r.origin, "owner");
	return r;
}

static void child_reach_close(struct rma_pair *r)
{
	check_empty(r->origin);
	cay_peer_release(r->peer);
	close_port(r->origin);
}

static _Atomic uint64_t *word_of(const struct shared *s, unsigned i)
{
	return (_Atomic uint64_t *)(void *)(s->memory + 8 * i);
}

/* ---- sums ---- */

enum {
	ORIGINS = 2,
	THREADS = 2
};

struct adder {
	struct rma_pair *reach;
	uint64_t rounds;
};

/* Every fourth one with compare-and-swap. */
static void add_once(struct rma_pair *r, uint64_t number)
{
	uint64_t previous = 0, seen;
	if (number % 4) {
		assert_int_equal(cay_fetch_add_into(r->origin, r->peer, r->key,
					 0, 1, &previous, 0, 0),
			0);
		return;
	}
	do {
		seen = previous;
		assert_int_equal(
			cay_compare_swap_into(r->origin, r->peer, r->key, 0,
				seen, seen + 1, &previous, 0, 0),
			0);
	} while (previous != seen);
}

static void *adder_run(void *argument)
{
	const struct adder *a = argument;
	for (uint64_t i = 0; i < a->rounds; i++)
		add_once(a->reach, i);
	return NULL;
}

/* Results in completions. */
static void add_and_take(struct rma_pair *r)
{
	struct cay_event e;
	assert_int_equal(
		cay_fetch_add(r->origin, r->peer, r->key, 0, 1, 7, 0), 0);
	next_event(r->origin, &e);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.result, e.previous + 1);
	cay_release(r->origin, &e);
}

static void adder_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	struct adder a = { &r, s->rounds };
	pthread_t threads[THREADS];
	(void)parent;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, adder_run, &a), 0);
	for (uint64_t i = 0; i < s->rounds; i++)
		add_and_take(&r);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	child_reach_close(&r);
}

static void sums_are_exact(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, WORDS_BYTES);
	struct child origins[ORIGINS];
	(void)state;
	s.rounds = scaled(20000);
	for (unsigned i = 0; i < ORIGINS; i++)
		child_start(&origins[i], adder_child, &s);
	for (uint64_t i = 0; i < s.rounds; i++)
		atomic_fetch_add(word_of(&s, 0), 1);
	for (unsigned i = 0; i < ORIGINS; i++)
		child_join(&origins[i]);
	assert_int_equal(atomic_load(word_of(&s, 0)),
		s.rounds * (1 + ORIGINS * (THREADS + 1)));
	assert_int_equal(atomic_load(word_of(&s, 1)), 0);
	shared_close(&s);
}

/* ---- words are not torn ---- */

static uint64_t whole(uint64_t number)
{
	return (number & 0xff) * 0x0101010101010101ull;
}

static bool is_whole(uint64_t word)
{
	return word == whole(word);
}

static void put_words(struct rma_pair *r, uint64_t i)
{
	uint64_t words[3] = { whole(i), whole(i), whole(i) };
	switch (i % 4) {
	case 0:
		assert_int_equal(cay_put_masked(r->origin, r->peer, r->key, 0,
					 whole(i), 0xff, 0, 0),
			0);
		break;
	default:
		assert_int_equal(cay_put(r->origin, r->peer, r->key, 0, words,
					 8 * (i % 4), 0, 0),
			0);
	}
}

static void writer_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	(void)parent;
	for (uint64_t i = 0; i < s->rounds; i++)
		put_words(&r, i);
	atomic_store(s->stop, 1);
	child_reach_close(&r);
}

static void puts_are_not_torn(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, WORDS_BYTES);
	struct child writer;
	uint64_t looks = 0;
	(void)state;
	s.rounds = scaled(1000000);
	child_start(&writer, writer_child, &s);
	while (!atomic_load(s.stop))
		for (unsigned i = 0; i < 3; i++, looks++)
			assert_true(is_whole(atomic_load(word_of(&s, i))));
	assert_true(looks > 0);
	child_join(&writer);
	shared_close(&s);
}

static void reader_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	(void)parent;
	for (uint64_t i = 0; i < s->rounds; i++) {
		uint64_t words[3] = { 0 };
		assert_int_equal(cay_get(r.origin, r.peer, r.key, 0, words,
					 8 * (1 + i % 3), 0, 0),
			0);
		assert_int_equal(cay_flush(r.origin, r.peer, soon()), 0);
		for (unsigned j = 0; j < 3; j++)
			assert_true(is_whole(words[j]));
	}
	atomic_store(s->stop, 1);
	child_reach_close(&r);
}

static void gets_are_not_torn(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, WORDS_BYTES);
	struct child reader;
	(void)state;
	s.rounds = scaled(1000000);
	child_start(&reader, reader_child, &s);
	for (uint64_t i = 0; !atomic_load(s.stop); i++)
		atomic_store(word_of(&s, i % 3), whole(i));
	child_join(&reader);
	shared_close(&s);
}

/* ---- masked puts ---- */

#define MASK_REMOTE 0x5au
#define MASK_LOCAL  0xa5u

static void masker_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	struct random random = { 3 };
	(void)parent;
	for (uint64_t i = 0; i < s->rounds; i++) {
		unsigned enables = (unsigned)random_next(&random) & MASK_REMOTE;
		assert_int_equal(
			cay_put_masked(r.origin, r.peer, r.key, 8,
				random_next(&random), (uint8_t)enables, 0, 0),
			0);
	}
	assert_int_equal(cay_put_masked(r.origin, r.peer, r.key, 8, ~0ull,
				 MASK_REMOTE, 0, 0),
		0);
	atomic_store(s->stop, 1);
	child_reach_close(&r);
}

/* Only this thread stores to these bytes, so its last value must be there. */
static void hammer(unsigned char *word, unsigned char last, unsigned char next)
{
	for (unsigned i = 0; i < 8; i++) {
		_Atomic unsigned char *byte = (_Atomic unsigned char *)word + i;
		if (!(MASK_LOCAL >> i & 1))
			continue;
		assert_int_equal(
			atomic_load_explicit(byte, memory_order_relaxed), last);
		atomic_store_explicit(byte, next, memory_order_relaxed);
	}
}

static void masked_puts_change_no_other_byte(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, WORDS_BYTES);
	struct child masker;
	unsigned char value = 0;
	(void)state;
	s.rounds = scaled(2000000);
	child_start(&masker, masker_child, &s);
	for (; !atomic_load(s.stop); value++)
		hammer(s.memory + 8, value, (unsigned char)(value + 1));
	child_join(&masker);
	hammer(s.memory + 8, value, 0);
	assert_int_equal(atomic_load(word_of(&s, 1)), 0x00ff00ffff00ff00ull);
	assert_int_equal(atomic_load(word_of(&s, 0)), 0);
	assert_int_equal(atomic_load(word_of(&s, 2)), 0);
	shared_close(&s);
}

/* ---- order of puts ---- */

/* The first word is the flag, the second its last value seen by the parent. */
static uint64_t flag_seen(struct rma_pair *r)
{
	uint64_t word = 0;
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, 8, &word, 8, 0, 0), 0);
	assert_int_equal(cay_flush(r->origin, r->peer, soon()), 0);
	return word;
}

static void raise_flag(struct rma_pair *r, uint64_t number)
{
	uint64_t before;
	switch (number % 4) {
	case 0:
		assert_int_equal(cay_put(r->origin, r->peer, r->key, 0, &number,
					 8, 0, 0),
			0);
		break;
	case 1:
		assert_int_equal(cay_put_masked(r->origin, r->peer, r->key, 0,
					 number, 0xff, 0, 0),
			0);
		break;
	case 2:
		assert_int_equal(cay_fetch_add_into(r->origin, r->peer, r->key,
					 0, 1, &before, 0, 0),
			0);
		break;
	default:
		assert_int_equal(
			cay_compare_swap_into(r->origin, r->peer, r->key, 0,
				number - 1, number, &before, 0, 0),
			0);
	}
}

static size_t data_bytes(uint64_t number)
{
	static const size_t sizes[] = { 1, 8, 24, 25, 100, 4096, BULK_BYTES };
	return sizes[number / 4 % COUNT(sizes)];
}

static void flag_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	unsigned char *data = malloc(BULK_BYTES);
	(void)parent;
	for (uint64_t i = 1; i <= s->rounds; i++) {
		size_t bytes = data_bytes(i);
		content_fill(data, bytes, i);
		assert_int_equal(
			cay_put(r.origin, r.peer, r.key, 64, data, bytes, 0, 0),
			0);
		raise_flag(&r, i);
		while (flag_seen(&r) != i)
			sched_yield();
	}
	free(data);
	child_reach_close(&r);
}

static void puts_appear_in_order(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, 64 + BULK_BYTES);
	struct child origin;
	(void)state;
	s.rounds = scaled(2000);
	child_start(&origin, flag_child, &s);
	for (uint64_t i = 1; i <= s.rounds; i++) {
		while (atomic_load(word_of(&s, 0)) != i)
			sched_yield();
		assert_true(content_fits(s.memory + 64, data_bytes(i), i));
		atomic_store(word_of(&s, 1), i);
	}
	child_join(&origin);
	shared_close(&s);
}

/* Puts and messages to one peer take effect in order of issue. */
static void sender_child(struct child *parent, void *argument)
{
	const struct shared *s = argument;
	struct rma_pair r = child_reach(s);
	unsigned char *data = malloc(BULK_BYTES);
	(void)parent;
	for (uint64_t i = 1; i <= s->rounds; i++) {
		size_t bytes = data_bytes(i);
		content_fill(data, bytes, i);
		assert_int_equal(
			cay_put(r.origin, r.peer, r.key, 64, data, bytes, 0, 0),
			0);
		assert_int_equal(
			cay_send(r.origin, r.peer, i, data, 1 + i % 100, 0), 0);
		assert_int_equal(
			cay_put(r.origin, r.peer, r.key, 0, &i, 8, 0, 0), 0);
		while (flag_seen(&r) != i)
			sched_yield();
	}
	free(data);
	child_reach_close(&r);
}

static void puts_and_messages_are_ordered(void **state)
{
	struct shared s = shared_open(PLACE_ARENA, 64 + BULK_BYTES);
	struct child origin;
	struct cay_event e;
	(void)state;
	s.rounds = scaled(2000);
	child_start(&origin, sender_child, &s);
	for (uint64_t i = 1; i <= s.rounds; i++) {
		if (i % 2) /* the put signals the message */
			while (atomic_load(word_of(&s, 0)) != i)
				sched_yield();
		else
			assert_int_equal(cay_wait(s.owner, soon()), 0);
		assert_true(poll_event(s.owner, &e));
		assert_int_equal(e.tag, i);
		cay_release(s.owner, &e);
		assert_true(content_fits(s.memory + 64, data_bytes(i), i));
		while (atomic_load(word_of(&s, 0)) != i)
			sched_yield();
		atomic_store(word_of(&s, 1), i);
	}
	child_join(&origin);
	shared_close(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sums_are_exact),
		TEST(puts_are_not_torn),
		TEST(gets_are_not_torn),
		TEST(masked_puts_change_no_other_byte),
		TEST(puts_appear_in_order),
		TEST(puts_and_messages_are_ordered),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
