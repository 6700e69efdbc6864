/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory ordering and atomicity of remote memory between real threads. Bulk
 * data in a window is ordinary memory, which a reader accesses only after a
 * message or a flag; ThreadSanitizer reports a missing ordering edge.
 */
#include "threads.h"

#define PUT_GET_ROUNDS 200000u

/* ---- a bulk put, then a signal ---- */

#define BULK_BYTES  1024u
#define AREA_STRIDE 4096u /* per worker, in the window */

enum signal {
	SIGNAL_FAST_SEND,
	SIGNAL_SEND,
	SIGNAL_PUT,
	SIGNAL_ADD,
	SIGNAL_KINDS
};

/* Each worker's flag has its own line. */
static uint64_t flag_at(uint32_t number)
{
	return (uint64_t)number * AREA_STRIDE + 2048;
}

/* The last round that the reader has checked, one line per worker. */
static _Atomic uint64_t acknowledged[THREADS_MAX][16];

static void writer_run(struct worker *w)
{
	unsigned char data[BULK_BYTES];
	uint64_t area = (uint64_t)w->number * AREA_STRIDE, unused, spins = 0;
	for (uint64_t i = 1; i <= w->t->rounds; i++) {
		int r = -EAGAIN;
		pattern_fill(data, sizeof(data), i);
		assert_true(worker_put(w, area, data, sizeof(data)) == 0);
		switch (i % SIGNAL_KINDS) {
		case SIGNAL_FAST_SEND:
		case SIGNAL_SEND:
			while (r == -EAGAIN)
				r = worker_send(w,
					(uint64_t)w->number << 32 | i, data,
					i % SIGNAL_KINDS == SIGNAL_FAST_SEND
						? 8
						: 100);
			break;
		case SIGNAL_PUT:
			r = worker_put(w, flag_at(w->number), &i, 8);
			break;
		default:
			/* SIGNAL_PUT has stored the previous round. */
			r = worker_atomic(
				w, flag_at(w->number), CAY_FAA, 1, 0, &unused);
		}
		assert_true(r == 0);
		while (atomic_load_explicit(&acknowledged[w->number][0],
			       memory_order_acquire) != i)
			spin(&spins);
	}
}

static void check_and_acknowledge(
	struct thread_test *t, uint32_t number, uint64_t i)
{
	const unsigned char *memory = fixture_at(&t->fixture, t->at);
	assert_true(
		pattern_matches(memory + number * AREA_STRIDE, BULK_BYTES, i));
	atomic_store_explicit(
		&acknowledged[number][0], i, memory_order_release);
}

static bool signalled_by_flag(uint64_t i)
{
	return i % SIGNAL_KINDS == SIGNAL_PUT || i % SIGNAL_KINDS == SIGNAL_ADD;
}

/* Waits for the signal of each round of each worker. */
static void *reader_run(void *argument)
{
	struct thread_test *t = argument;
	uint64_t round[THREADS_MAX] = { 0 }, left = 0, spins = 0;
	const uint32_t workers = t->fixture.ports - 1;
	struct cay_nqe n;
	for (left = workers * t->rounds; left > 0; spin(&spins)) {
		while (target_receive(t, &n)) {
			check_and_acknowledge(t, (uint32_t)(n.word[0] >> 32),
				(uint32_t)n.word[0]);
			round[n.word[0] >> 32]++;
			left--;
		}
		for (uint32_t i = 0; i < workers; i++) {
			_Atomic uint64_t *flag =
				fixture_at(&t->fixture, t->at + flag_at(i));
			/* SIGNAL_PUT stores the round, SIGNAL_ADD adds one. */
			uint64_t now = atomic_load_explicit(
				flag, memory_order_acquire);
			if (round[i] < t->rounds &&
				signalled_by_flag(round[i] + 1) &&
				now == round[i] + 1) {
				check_and_acknowledge(t, i, ++round[i]);
				left--;
			}
		}
	}
	return NULL;
}

static void bulk_put_is_visible_after_its_signal(void **state)
{
	struct thread_test t;
	struct worker workers[3] = { 0 };
	pthread_t reader;
	(void)state;
	thread_test_open(&t, 4, 4 * AREA_STRIDE, TB_RIGHTS);
	t.rounds = 10000 / SLOWDOWN;
	memset(acknowledged, 0, sizeof(acknowledged));
	assert_int_equal(pthread_create(&reader, NULL, reader_run, &t), 0);
	workers_run(&t, workers, 3, writer_run);
	pthread_join(reader, NULL);
	thread_test_close(&t);
}

/* ---- atomics ---- */

static void adder_run(struct worker *w)
{
	uint64_t previous, last = 0;
	for (uint64_t i = 0; i < w->t->rounds; i++) {
		assert_true(worker_atomic(w, 0, CAY_FAA, 1, 0, &previous) == 0);
		assert_true(i == 0 || previous > last);
		last = previous;
		/* Local atomics on the same word are equivalent. */
		if (i % 16 == 0)
			atomic_fetch_add((_Atomic uint64_t *)fixture_at(
						 &w->t->fixture, w->t->at + 64),
				1);
		else
			assert_true(worker_atomic(w, 64, CAY_FAA, 1, 0,
					    &previous) == 0);
	}
}

static void fetch_and_add_loses_nothing(void **state)
{
	struct thread_test t;
	struct worker workers[THREADS_MAX] = { 0 };
	(void)state;
	thread_test_open(&t, 5, 4096, CAY_RIGHT_ATOMIC);
	t.rounds = 60000 / SLOWDOWN;
	workers_run(&t, workers, 4, adder_run);
	const _Atomic uint64_t *memory = fixture_at(&t.fixture, t.at);
	assert_int_equal(memory[0], 4 * t.rounds);
	assert_int_equal(memory[8], 4 * t.rounds);
	thread_test_close(&t);
}

/* A lock by remote CAS; the data that it protects is read and written. */
static void locker_run(struct worker *w)
{
	uint64_t previous, spins = 0;
	for (uint64_t i = 0; i < w->t->rounds; i++) {
		uint64_t value[40];
		do {
			assert_true(worker_atomic(w, 0, CAY_CAS, 0, w->port,
					    &previous) == 0);
			spin(&spins);
		} while (previous != 0);
		assert_true(worker_get(w, 64, value, sizeof(value)) == 0);
		for (unsigned k = 0; k < ARRAY_COUNT(value); k++)
			assert_true(value[k] == value[0]);
		for (unsigned k = 0; k < ARRAY_COUNT(value); k++)
			value[k]++;
		assert_true(worker_put(w, 64, value, sizeof(value)) == 0);
		assert_true(worker_atomic(
				    w, 0, CAY_CAS, w->port, 0, &previous) == 0);
		assert_true(previous == w->port);
	}
}

static void compare_and_swap_makes_a_lock(void **state)
{
	struct thread_test t;
	struct worker workers[3] = { 0 };
	(void)state;
	thread_test_open(&t, 4, 4096, TB_RIGHTS);
	t.rounds = 4000 / SLOWDOWN;
	workers_run(&t, workers, 3, locker_run);
	const uint64_t *memory = fixture_at(&t.fixture, t.at + 64);
	assert_int_equal(memory[0], 3 * t.rounds);
	assert_int_equal(memory[39], 3 * t.rounds);
	thread_test_close(&t);
}

/* The workers write different bytes of one word. */
static void masked_writer_run(struct worker *w)
{
	struct fixture_port *p = &w->t->fixture.port[w->port];
	for (uint64_t i = 1; i <= w->t->rounds; i++) {
		const struct packet packet = { .command = CAY_MISALIGNED_PUT,
			.origin_vpid = p->origin.vpid,
			.length = 8,
			.capability = w->t->window.capability,
			.operand = { (i & 0xffff) << 16 * w->number,
				3ull << 2 * w->number } };
		uint64_t word;
		assert_true(device_access(&p->origin, p->op, route_to_target(w),
				    &packet) == 0);
		assert_true(worker_get(w, 0, &word, 8) == 0);
		assert_true((word >> 16 * w->number & 0xffff) == (i & 0xffff));
	}
}

static void masked_puts_keep_other_bytes(void **state)
{
	struct thread_test t;
	struct worker workers[THREADS_MAX] = { 0 };
	(void)state;
	thread_test_open(&t, 5, 4096, TB_RIGHTS);
	t.rounds = 60000 / SLOWDOWN;
	workers_run(&t, workers, 4, masked_writer_run);
	thread_test_close(&t);
}

/* ---- atomicity of aligned words ---- */

static void word_writer_run(struct worker *w)
{
	uint64_t word = 0x0101010101010101ull * w->port, seen[3];
	for (uint64_t i = 0; i < w->t->rounds; i++) {
		uint64_t words[3] = { word, word, word };
		assert_true(worker_put(w, 64, words, i % 2 ? 8 : 24) == 0);
		assert_true(worker_get(w, 64, seen, 24) == 0);
		for (unsigned k = 0; k < 3; k++)
			assert_true(seen[k] ==
				    (seen[k] & 0xff) * 0x0101010101010101ull);
	}
}

static void aligned_words_are_not_torn(void **state)
{
	struct thread_test t;
	struct worker workers[THREADS_MAX] = { 0 };
	(void)state;
	thread_test_open(&t, 5, 4096, TB_RIGHTS);
	t.rounds = 60000 / SLOWDOWN;
	workers_run(&t, workers, 4, word_writer_run);
	thread_test_close(&t);
}

/* ---- a get after a put ---- */

/*
 * Each worker puts a word and then gets the word of the other worker: at least
 * one of them must see the other's put (store buffering is not allowed).
 */
static void put_then_get_run(struct worker *w)
{
	_Atomic uint64_t *arrivals =
		fixture_at(&w->t->fixture, w->t->at + 2048);
	uint64_t spins = 0;
	for (uint64_t i = 1; i <= w->t->rounds; i++) {
		uint64_t seen;
		atomic_fetch_add(arrivals, 1);
		while (atomic_load(arrivals) < 2 * i)
			spin(&spins);
		assert_true(worker_put(w, w->number * 128ull, &i, 8) == 0);
		assert_true(
			worker_get(w, (1 - w->number) * 128ull, &seen, 8) == 0);
		w->missed[i] = seen < i;
	}
}

static void get_does_not_overtake_a_put(void **state)
{
	struct thread_test t;
	struct worker workers[2] = { 0 };
	(void)state;
	thread_test_open(&t, 3, 4096, TB_RIGHTS);
	t.rounds = PUT_GET_ROUNDS / SLOWDOWN;
	for (int i = 0; i < 2; i++)
		assert_non_null(
			workers[i].missed = calloc(PUT_GET_ROUNDS + 1, 1));
	workers_run(&t, workers, 2, put_then_get_run);
	uint64_t both = 0;
	for (uint64_t i = 1; i <= t.rounds; i++)
		both += workers[0].missed[i] && workers[1].missed[i];
	for (int i = 0; i < 2; i++)
		free(workers[i].missed);
	thread_test_close(&t);
	assert_int_equal(both, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bulk_put_is_visible_after_its_signal),
		cmocka_unit_test(fetch_and_add_loses_nothing),
		cmocka_unit_test(compare_and_swap_makes_a_lock),
		cmocka_unit_test(masked_puts_keep_other_bytes),
		cmocka_unit_test(aligned_words_are_not_torn),
		cmocka_unit_test(get_does_not_overtake_a_put),
	};
	/* cmocka cannot jump back to its runner from a thread. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
