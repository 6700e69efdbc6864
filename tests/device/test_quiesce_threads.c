/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ownership of memory between real threads: a closed window quiesces, and a
 * posted buffer has one writer. The memory is ordinary memory, so that
 * ThreadSanitizer reports a missing ordering edge.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"

/* ---- closing a window, with membarrier() ---- */

static bool membarrier_available(void)
{
	return syscall(SYS_membarrier,
		       MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool record_names_window(const struct op_record *op)
{
	/* Acquire pairs with X4 and X5 in device/record.c. */
	uint64_t state = atomic_load_explicit(&op->state, memory_order_acquire);
	uint64_t named =
		atomic_load_explicit(&op->window, memory_order_acquire);
	return (state & OP_STATE_MASK) != OP_IDLE && named == 1;
}

static void accessor_run(struct worker *w)
{
	struct context *own = fixture_own(&w->t->fixture, w->port);
	struct origin *o = &w->t->fixture.port[w->port].origin;
	unsigned char data[256];
	memset(data, (int)w->port, sizeof(data));
	while (!atomic_load_explicit(&w->t->stop, memory_order_relaxed)) {
		int r = worker_put(w, w->number * 1024ull, data,
			w->result[0] % 2 ? 256 : 8);
		assert_true(r == 0 || r == 1);
		w->result[r]++;
		uint64_t at = atomic_load_explicit(
			&own->control->r, memory_order_relaxed);
		while (device_peek(own, queue_nq(at))) {
			at = queue_word(queue_nq(at) + 1, 0);
			device_return_entries(own, at);
			device_completions_returned(o, 1);
		}
	}
}

/* After rights 0, membarrier and the records, no access is left. */
static void *closer_run(void *argument)
{
	struct thread_test *t = argument;
	struct cay_window_descriptor *d =
		&t->fixture.port[TARGET].origin.wdt[0];
	_Atomic uint32_t *rights = (_Atomic uint32_t *)&d->rights;
	unsigned char *memory = fixture_at(&t->fixture, t->at);
	for (uint64_t i = 0; i < t->rounds; i++) {
		uint64_t spins = 0;
		atomic_store_explicit(rights, 0, memory_order_release);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		for (uint32_t p = 1; p < t->fixture.ports; p++)
			while (record_names_window(t->fixture.port[p].op))
				spin(&spins);
		memset(memory, 0xcc, 4096);
		sched_yield();
		for (unsigned k = 0; k < 4096; k++)
			assert_true(memory[k] == 0xcc);
		atomic_store_explicit(
			rights, CAY_RIGHT_WRITE, memory_order_release);
		sched_yield();
	}
	atomic_store(&t->stop, true);
	return NULL;
}

static void closed_window_is_not_written(void **state)
{
	struct thread_test t;
	struct worker workers[3] = { 0 };
	pthread_t closer;
	(void)state;
	if (!membarrier_available())
		skip();
	thread_test_open(&t, 4, 4096, CAY_RIGHT_WRITE);
	t.rounds = 10000 / SLOWDOWN;
	assert_int_equal(pthread_create(&closer, NULL, closer_run, &t), 0);
	workers_run(&t, workers, 3, accessor_run);
	pthread_join(closer, NULL);
	for (unsigned i = 0; i < 3; i++)
		assert_true(workers[i].result[0] > 0);
	thread_test_close(&t);
}

/* ---- posted receives ---- */

#define BUFFER_BYTES 4096u

static void sender_run(struct worker *w)
{
	unsigned char data[BUFFER_BYTES];
	uint64_t spins = 0;
	for (uint64_t i = 0; i < w->t->rounds; i++) {
		size_t bytes = i % 7 == 0 ? i % 41 : 41 + i * 37 % 4000;
		pattern_fill(data, bytes, i);
		while (worker_send(w, (uint64_t)w->number << 32 | i, data,
			       bytes) == -EAGAIN)
			spin(&spins);
	}
}

static void repost(struct thread_test *t, const struct cay_nqe *n)
{
	struct context *own = fixture_own(&t->fixture, TARGET);
	struct cay_posted_receive *slot = &own->posted[n->word[4] - 1];
	_Atomic uint64_t *state = (_Atomic uint64_t *)&slot->state;
	assert_true((atomic_load_explicit(state, memory_order_acquire) &
			    POSTED_STATE_MASK) == POSTED_FILLED);
	assert_true(pattern_matches(fixture_at(&t->fixture, slot->offset),
		n->word[2], (uint32_t)n->word[0]));
	atomic_store_explicit(state, POSTED_FREE, memory_order_release);
	uint64_t at = slot->offset;
	while (fixture_post(&t->fixture, TARGET, at, BUFFER_BYTES, 0) ==
		-EAGAIN)
		t->fixture.port[TARGET].origin.client.posted_write++;
}

static void check_message(struct thread_test *t, const struct cay_nqe *n)
{
	const struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t i = (uint32_t)n->word[0];
	switch (n->word[7] & 0xffff) {
	case CAY_NOTIFY_POSTED_RECV:
		repost(t, n);
		break;
	case CAY_NOTIFY_RECV:
		assert_true(pattern_matches(
			own->rdr + n->word[3] * RDR_UNIT, n->word[2], i));
		break;
	default:
		assert_true((n->word[7] & 0xffff) == CAY_NOTIFY_FAST_RECV);
		assert_true(pattern_matches(
			&n->word[2], n->word[7] >> 16 & 0xffff, i));
	}
}

/* The payload is checked before its units are returned. */
static void *receiver_run(void *argument)
{
	struct thread_test *t = argument;
	struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t next[THREADS_MAX] = { 0 }, spins = 0;
	uint64_t r = atomic_load(&own->control->r), rdr = queue_rdr(r);
	for (uint64_t left = (t->fixture.ports - 1) * t->rounds; left > 0;) {
		if (!device_peek(own, queue_nq(r))) {
			spin(&spins);
			continue;
		}
		struct cay_nqe n = *device_entry(own, queue_nq(r));
		assert_true((uint32_t)n.word[0] == next[n.word[0] >> 32]++);
		check_message(t, &n);
		if ((n.word[7] & 0xffff) != CAY_NOTIFY_FAST_RECV)
			rdr = n.word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
		r = queue_word(queue_nq(r) + 1, rdr);
		device_return_entries(own, r);
		left--;
	}
	return NULL;
}

static void run_posted(enum posted_mode mode, uint32_t buffers)
{
	struct thread_test t;
	struct worker workers[3] = { 0 };
	pthread_t receiver;
	thread_test_open(&t, 4, 4096, CAY_RIGHT_WRITE);
	t.rounds = 10000 / SLOWDOWN;
	for (uint32_t i = 0; i < buffers; i++)
		assert_int_equal(
			fixture_post(&t.fixture, TARGET,
				fixture_memory(&t.fixture, BUFFER_BYTES),
				BUFFER_BYTES, i),
			0);
	fixture_posted_mode(&t.fixture, TARGET, mode);
	assert_int_equal(pthread_create(&receiver, NULL, receiver_run, &t), 0);
	workers_run(&t, workers, 3, sender_run);
	pthread_join(receiver, NULL);
	const struct context *own = fixture_own(&t.fixture, TARGET);
	assert_int_equal(own->posted_head->available, buffers);
	thread_test_close(&t);
}

static void posted_buffers_have_one_writer(void **state)
{
	(void)state;
	run_posted(POSTED_ONLY, 1);
	run_posted(POSTED_ONLY, 5);
	run_posted(POSTED_RDR, 2);
	run_posted(POSTED_RDR, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_window_is_not_written),
		cmocka_unit_test(posted_buffers_have_one_writer),
	};
	/* cmocka cannot jump back to its runner from a thread. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
