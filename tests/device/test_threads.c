/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The units on the real platform, with threads that race: what memory orders
 * license. Window memory that is put in bulk is ordinary memory, which a
 * reader touches only after a message, a flag or a lap of its own; so
 * ThreadSanitizer sees it if an edge is missing.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/device.h"
#include "testbench.h"

/* Both platforms are linked; the real one has no header beside the other. */
#define DEVICE(name) device_##name
#include "device/entry.h"
#undef DEVICE

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SLOWER 10
#else
#define SLOWER 1
#endif

/* In any thread and any build. */
#define MUST(e)                                                          \
	do {                                                             \
		if (!(e)) {                                              \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #e);                           \
			abort();                                         \
		}                                                        \
	} while (0)

#define THREADS_MAX 4u
#define TARGET	    0u /* port; origins are ports 1 and on */
#define CROSSINGS   200000u

struct arm;

struct arena_test {
	struct fixture fixture;
	struct target window;
	uint64_t at; /* of its memory */
	pthread_barrier_t start;
	_Atomic bool stop;
	void (*body)(struct arm *);
	uint64_t rounds;
};

/* One thread, with a port and a record of its own. */
struct arm {
	struct arena_test *t;
	pthread_t thread;
	uint32_t number, port;
	uint64_t result[2];
	unsigned char *missed; /* by round */
};

static void test_open(
	struct arena_test *t, uint32_t ports, uint64_t bytes, uint32_t rights)
{
	const struct queue_options options = { .nq_log2 = 5, .rdr_log2 = 10 };
	memset(t, 0, sizeof(*t));
	assert_int_equal(fixture_open(&t->fixture, ports, &options), 0);
	t->at = fixture_memory(&t->fixture, bytes);
	assert_int_not_equal(t->at, 0);
	assert_int_equal(fixture_window(&t->fixture, TARGET, 0, t->at, bytes,
				 rights, &t->window.capability),
		0);
}

static void test_close(struct arena_test *t)
{
	fixture_close(&t->fixture);
}

static void *arm_run(void *argument)
{
	struct arm *a = argument;
	pthread_barrier_wait(&a->t->start);
	a->t->body(a);
	return NULL;
}

/* Runs `body` on so many threads, whose ports are 1 and on. */
static void arms_run(struct arena_test *t, struct arm *arms, uint32_t count,
	void (*body)(struct arm *))
{
	t->body = body;
	pthread_barrier_init(&t->start, NULL, count);
	for (uint32_t i = 0; i < count; i++) {
		arms[i].t = t;
		arms[i].number = i;
		arms[i].port = i + 1;
		assert_int_equal(pthread_create(&arms[i].thread, NULL, arm_run,
					 &arms[i]),
			0);
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(arms[i].thread, NULL);
	pthread_barrier_destroy(&t->start);
}

static void relax(uint64_t *spins)
{
	if (++*spins % 64 == 0)
		sched_yield();
}

/* ---- what every arm can do to the target ---- */

static _Atomic(struct context *) *route(const struct arm *a)
{
	return fixture_route(&a->t->fixture, a->port, TARGET);
}

static struct target at_offset(const struct arm *a, uint64_t offset)
{
	struct target t = a->t->window;
	t.offset = offset;
	return t;
}

static int arm_put(
	struct arm *a, uint64_t offset, const void *data, size_t bytes)
{
	struct target t = at_offset(a, offset);
	struct fixture_port *p = &a->t->fixture.port[a->port];
	return device_put(&p->origin, p->op, route(a), &t, data, bytes, 0);
}

static int arm_get(struct arm *a, uint64_t offset, void *data, size_t bytes)
{
	struct target t = at_offset(a, offset);
	struct fixture_port *p = &a->t->fixture.port[a->port];
	return device_get(&p->origin, p->op, route(a), &t, data, bytes, 0);
}

static int arm_atomic(struct arm *a, uint64_t offset, uint16_t command,
	uint64_t first, uint64_t second, uint64_t *previous)
{
	struct target t = at_offset(a, offset);
	struct fixture_port *p = &a->t->fixture.port[a->port];
	const uint64_t operand[2] = { first, second };
	return device_atomic(
		&p->origin, p->op, route(a), &t, command, operand, previous, 0);
}

static int arm_send(struct arm *a, uint64_t tag, const void *data, size_t bytes)
{
	struct fixture_port *p = &a->t->fixture.port[a->port];
	const struct iovec payload = { (void *)(uintptr_t)data, bytes };
	const struct packet packet = { .command = CAY_SEND,
		.origin_vpid = p->origin.vpid,
		.tag = tag,
		.pieces = 1,
		.length = bytes,
		.payload = &payload };
	return bytes <= CAY_FAST_SEND_BYTES
		       ? device_send_fast(&p->origin, p->op, route(a), tag, 0,
				 data, bytes)
		       : device_send(&p->origin, p->op, route(a), &packet);
}

/* The target's consumer: the next entry, copied; its room goes back. */
static bool target_take(struct arena_test *t, struct cay_nqe *copy)
{
	struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	uint64_t rdr = queue_rdr(r);
	if (!device_peek(own, queue_nq(r)))
		return false;
	*copy = *device_entry(own, queue_nq(r));
	if ((copy->word[7] & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
		rdr = copy->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	device_return_entries(own, queue_word(queue_nq(r) + 1, rdr));
	return true;
}

static void content_fill(void *to, size_t bytes, uint64_t seed)
{
	unsigned char *at = to;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(seed * 31 + i);
}

static bool content_fits(const void *from, size_t bytes, uint64_t seed)
{
	const unsigned char *at = from;
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)(seed * 31 + i))
			return false;
	return true;
}

/* ---- a put in bulk, then whatever tells of it ---- */

#define AREA_BYTES 1024u
#define AREA	   4096u /* of each arm, in the window */

enum telling {
	TELL_FAST,
	TELL_SEND,
	TELL_WORD,
	TELL_ADD,
	TELL_KINDS
};

/* Each arm's flag and the target's answer, on lines of their own. */
static uint64_t flag_at(uint32_t number)
{
	return (uint64_t)number * AREA + 2048;
}

static _Atomic uint64_t answers[THREADS_MAX][16];

static void teller_run(struct arm *a)
{
	unsigned char data[AREA_BYTES];
	uint64_t area = (uint64_t)a->number * AREA, unused, spins = 0;
	for (uint64_t i = 1; i <= a->t->rounds; i++) {
		int r = -EAGAIN;
		content_fill(data, sizeof(data), i);
		MUST(arm_put(a, area, data, sizeof(data)) == 0);
		switch (i % TELL_KINDS) {
		case TELL_FAST:
		case TELL_SEND:
			while (r == -EAGAIN)
				r = arm_send(a, (uint64_t)a->number << 32 | i,
					data,
					i % TELL_KINDS == TELL_FAST ? 8 : 100);
			break;
		case TELL_WORD:
			r = arm_put(a, flag_at(a->number), &i, 8);
			break;
		default:
			/* The flag is what was told last by word or sum. */
			r = arm_atomic(
				a, flag_at(a->number), CAY_FAA, 1, 0, &unused);
		}
		MUST(r == 0);
		while (atomic_load_explicit(&answers[a->number][0],
			       memory_order_acquire) != i)
			relax(&spins);
	}
}

static void told(struct arena_test *t, uint32_t number, uint64_t i)
{
	const unsigned char *memory = fixture_at(&t->fixture, t->at);
	MUST(content_fits(memory + number * AREA, AREA_BYTES, i));
	atomic_store_explicit(&answers[number][0], i, memory_order_release);
}

static bool by_flag(uint64_t i)
{
	return i % TELL_KINDS == TELL_WORD || i % TELL_KINDS == TELL_ADD;
}

/* Waits for round i of each arm in whichever way it is told. */
static void *listener_run(void *argument)
{
	struct arena_test *t = argument;
	uint64_t round[THREADS_MAX] = { 0 }, left = 0, spins = 0;
	const uint32_t arms = t->fixture.ports - 1;
	struct cay_nqe n;
	for (left = arms * t->rounds; left > 0; relax(&spins)) {
		while (target_take(t, &n)) {
			told(t, (uint32_t)(n.word[0] >> 32),
				(uint32_t)n.word[0]);
			round[n.word[0] >> 32]++;
			left--;
		}
		for (uint32_t i = 0; i < arms; i++) {
			_Atomic uint64_t *flag =
				fixture_at(&t->fixture, t->at + flag_at(i));
			/* TELL_WORD stores the round, TELL_ADD one more. */
			uint64_t now = atomic_load_explicit(
				flag, memory_order_acquire);
			if (round[i] < t->rounds && by_flag(round[i] + 1) &&
				now == round[i] + 1) {
				told(t, i, ++round[i]);
				left--;
			}
		}
	}
	return NULL;
}

static void bulk_is_there_when_it_is_told_of(void **state)
{
	struct arena_test t;
	struct arm arms[3] = { 0 };
	pthread_t listener;
	(void)state;
	test_open(&t, 4, 4 * AREA, TB_RIGHTS);
	t.rounds = 10000 / SLOWER;
	memset(answers, 0, sizeof(answers));
	assert_int_equal(pthread_create(&listener, NULL, listener_run, &t), 0);
	arms_run(&t, arms, 3, teller_run);
	pthread_join(listener, NULL);
	test_close(&t);
}

/* ---- atomics ---- */

static void adder_run(struct arm *a)
{
	uint64_t previous, last = 0;
	for (uint64_t i = 0; i < a->t->rounds; i++) {
		MUST(arm_atomic(a, 0, CAY_FAA, 1, 0, &previous) == 0);
		MUST(i == 0 || previous > last);
		last = previous;
		/* And the same by hand, as a local thread would. */
		if (i % 16 == 0)
			atomic_fetch_add((_Atomic uint64_t *)fixture_at(
						 &a->t->fixture, a->t->at + 64),
				1);
		else
			MUST(arm_atomic(a, 64, CAY_FAA, 1, 0, &previous) == 0);
	}
}

static void sums_are_right(void **state)
{
	struct arena_test t;
	struct arm arms[THREADS_MAX] = { 0 };
	(void)state;
	test_open(&t, 5, 4096, CAY_RIGHT_ATOMIC);
	t.rounds = 60000 / SLOWER;
	arms_run(&t, arms, 4, adder_run);
	const _Atomic uint64_t *memory = fixture_at(&t.fixture, t.at);
	assert_int_equal(memory[0], 4 * t.rounds);
	assert_int_equal(memory[8], 4 * t.rounds);
	test_close(&t);
}

/* A lock made of CAS; what it guards is got and put. */
static void locker_run(struct arm *a)
{
	uint64_t previous, spins = 0;
	for (uint64_t i = 0; i < a->t->rounds; i++) {
		uint64_t value[40];
		do {
			MUST(arm_atomic(a, 0, CAY_CAS, 0, a->port, &previous) ==
				0);
			relax(&spins);
		} while (previous != 0);
		MUST(arm_get(a, 64, value, sizeof(value)) == 0);
		for (unsigned k = 0; k < ARRAY_COUNT(value); k++)
			MUST(value[k] == value[0]);
		for (unsigned k = 0; k < ARRAY_COUNT(value); k++)
			value[k]++;
		MUST(arm_put(a, 64, value, sizeof(value)) == 0);
		MUST(arm_atomic(a, 0, CAY_CAS, a->port, 0, &previous) == 0);
		MUST(previous == a->port);
	}
}

static void swaps_make_a_lock(void **state)
{
	struct arena_test t;
	struct arm arms[3] = { 0 };
	(void)state;
	test_open(&t, 4, 4096, TB_RIGHTS);
	t.rounds = 4000 / SLOWER;
	arms_run(&t, arms, 3, locker_run);
	const uint64_t *memory = fixture_at(&t.fixture, t.at + 64);
	assert_int_equal(memory[0], 3 * t.rounds);
	assert_int_equal(memory[39], 3 * t.rounds);
	test_close(&t);
}

/* Bytes of one word by different arms: none undoes another's. */
static void masker_run(struct arm *a)
{
	struct fixture_port *p = &a->t->fixture.port[a->port];
	for (uint64_t i = 1; i <= a->t->rounds; i++) {
		const struct packet packet = { .command = CAY_MISALIGNED_PUT,
			.origin_vpid = p->origin.vpid,
			.length = 8,
			.capability = a->t->window.capability,
			.operand = { (i & 0xffff) << 16 * a->number,
				3ull << 2 * a->number } };
		uint64_t word;
		MUST(device_access(&p->origin, p->op, route(a), &packet) == 0);
		MUST(arm_get(a, 0, &word, 8) == 0);
		MUST((word >> 16 * a->number & 0xffff) == (i & 0xffff));
	}
}

static void masked_puts_do_not_meet(void **state)
{
	struct arena_test t;
	struct arm arms[THREADS_MAX] = { 0 };
	(void)state;
	test_open(&t, 5, 4096, TB_RIGHTS);
	t.rounds = 60000 / SLOWER;
	arms_run(&t, arms, 4, masker_run);
	test_close(&t);
}

/* ---- aligned words appear at once ---- */

static void tearer_run(struct arm *a)
{
	uint64_t word = 0x0101010101010101ull * a->port, seen[3];
	for (uint64_t i = 0; i < a->t->rounds; i++) {
		uint64_t words[3] = { word, word, word };
		MUST(arm_put(a, 64, words, i % 2 ? 8 : 24) == 0);
		MUST(arm_get(a, 64, seen, 24) == 0);
		for (unsigned k = 0; k < 3; k++)
			MUST(seen[k] ==
				(seen[k] & 0xff) * 0x0101010101010101ull);
	}
}

static void words_are_never_torn(void **state)
{
	struct arena_test t;
	struct arm arms[THREADS_MAX] = { 0 };
	(void)state;
	test_open(&t, 5, 4096, TB_RIGHTS);
	t.rounds = 60000 / SLOWER;
	arms_run(&t, arms, 4, tearer_run);
	test_close(&t);
}

/* ---- a get after a put ---- */

/*
 * Each arm puts a word and then gets the other's, at one target: one of them
 * is there first, so they cannot both miss it.
 */
static void crosser_run(struct arm *a)
{
	_Atomic uint64_t *meeting = fixture_at(&a->t->fixture, a->t->at + 2048);
	uint64_t spins = 0;
	for (uint64_t i = 1; i <= a->t->rounds; i++) {
		uint64_t seen;
		atomic_fetch_add(meeting, 1);
		while (atomic_load(meeting) < 2 * i)
			relax(&spins);
		MUST(arm_put(a, a->number * 128ull, &i, 8) == 0);
		MUST(arm_get(a, (1 - a->number) * 128ull, &seen, 8) == 0);
		a->missed[i] = seen < i;
	}
}

static void get_does_not_overtake_a_put(void **state)
{
	struct arena_test t;
	struct arm arms[2] = { 0 };
	(void)state;
	test_open(&t, 3, 4096, TB_RIGHTS);
	t.rounds = CROSSINGS / SLOWER;
	for (int i = 0; i < 2; i++)
		assert_non_null(arms[i].missed = calloc(CROSSINGS + 1, 1));
	arms_run(&t, arms, 2, crosser_run);
	uint64_t both = 0;
	for (uint64_t i = 1; i <= t.rounds; i++)
		both += arms[0].missed[i] && arms[1].missed[i];
	for (int i = 0; i < 2; i++)
		free(arms[i].missed);
	test_close(&t);
	assert_int_equal(both, 0);
}

/* ---- closing a window, with a real barrier ---- */

static bool barrier_here(void)
{
	return syscall(SYS_membarrier,
		       MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool record_names(const struct op_record *op)
{
	/* Acquire pairs with X4 and X5 in device/record.c. */
	uint64_t state = atomic_load_explicit(&op->state, memory_order_acquire);
	uint64_t named =
		atomic_load_explicit(&op->window, memory_order_acquire);
	return (state & OP_STATE_MASK) != OP_IDLE && named == 1;
}

static void visitor_run(struct arm *a)
{
	struct context *own = fixture_own(&a->t->fixture, a->port);
	struct origin *o = &a->t->fixture.port[a->port].origin;
	unsigned char data[256];
	memset(data, (int)a->port, sizeof(data));
	while (!atomic_load_explicit(&a->t->stop, memory_order_relaxed)) {
		int r = arm_put(a, a->number * 1024ull, data,
			a->result[0] % 2 ? 256 : 8);
		MUST(r == 0 || r == 1);
		a->result[r]++;
		uint64_t at = atomic_load_explicit(
			&own->control->r, memory_order_relaxed);
		while (device_peek(own, queue_nq(at))) {
			at = queue_word(queue_nq(at) + 1, 0);
			device_return_entries(own, at);
			device_completions_returned(o, 1);
		}
	}
}

/* rights 0, barrier, wait for the records: then it is ordinary memory. */
static void *closer_run(void *argument)
{
	struct arena_test *t = argument;
	struct cay_window_descriptor *d =
		&t->fixture.port[TARGET].origin.wdt[0];
	_Atomic uint32_t *rights = (_Atomic uint32_t *)&d->rights;
	unsigned char *memory = fixture_at(&t->fixture, t->at);
	for (uint64_t i = 0; i < t->rounds; i++) {
		uint64_t spins = 0;
		atomic_store_explicit(rights, 0, memory_order_release);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		for (uint32_t p = 1; p < t->fixture.ports; p++)
			while (record_names(t->fixture.port[p].op))
				relax(&spins);
		memset(memory, 0xcc, 4096);
		sched_yield();
		for (unsigned k = 0; k < 4096; k++)
			MUST(memory[k] == 0xcc);
		atomic_store_explicit(
			rights, CAY_RIGHT_WRITE, memory_order_release);
		sched_yield();
	}
	atomic_store(&t->stop, true);
	return NULL;
}

static void nobody_is_inside_a_closed_window(void **state)
{
	struct arena_test t;
	struct arm arms[3] = { 0 };
	pthread_t closer;
	(void)state;
	if (!barrier_here())
		skip();
	test_open(&t, 4, 4096, CAY_RIGHT_WRITE);
	t.rounds = 10000 / SLOWER;
	assert_int_equal(pthread_create(&closer, NULL, closer_run, &t), 0);
	arms_run(&t, arms, 3, visitor_run);
	pthread_join(closer, NULL);
	for (unsigned i = 0; i < 3; i++)
		assert_true(arms[i].result[0] > 0);
	test_close(&t);
}

/* ---- posted receives ---- */

#define BUFFER_BYTES 4096u

static void poster_run(struct arm *a)
{
	unsigned char data[BUFFER_BYTES];
	uint64_t spins = 0;
	for (uint64_t i = 0; i < a->t->rounds; i++) {
		size_t bytes = i % 7 == 0 ? i % 41 : 41 + i * 37 % 4000;
		content_fill(data, bytes, i);
		while (arm_send(a, (uint64_t)a->number << 32 | i, data,
			       bytes) == -EAGAIN)
			relax(&spins);
	}
}

static void posted_back(struct arena_test *t, const struct cay_nqe *n)
{
	struct context *own = fixture_own(&t->fixture, TARGET);
	struct cay_posted_receive *slot = &own->posted[n->word[4] - 1];
	_Atomic uint64_t *state = (_Atomic uint64_t *)&slot->state;
	MUST((atomic_load_explicit(state, memory_order_acquire) &
		     POSTED_STATE_MASK) == POSTED_FILLED);
	MUST(content_fits(fixture_at(&t->fixture, slot->offset), n->word[2],
		(uint32_t)n->word[0]));
	atomic_store_explicit(state, POSTED_FREE, memory_order_release);
	uint64_t at = slot->offset;
	while (fixture_post(&t->fixture, TARGET, at, BUFFER_BYTES, 0) ==
		-EAGAIN)
		t->fixture.port[TARGET].posted_next++;
}

static void message_check(struct arena_test *t, const struct cay_nqe *n)
{
	const struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t i = (uint32_t)n->word[0];
	switch (n->word[7] & 0xffff) {
	case CAY_NOTIFY_POSTED_RECV:
		posted_back(t, n);
		break;
	case CAY_NOTIFY_RECV:
		MUST(content_fits(
			own->rdr + n->word[3] * RDR_UNIT, n->word[2], i));
		break;
	default:
		MUST((n->word[7] & 0xffff) == CAY_NOTIFY_FAST_RECV);
		MUST(content_fits(&n->word[2], n->word[7] >> 16 & 0xffff, i));
	}
}

/* Payload is checked before its room goes back, so not by target_take(). */
static void *taker_run(void *argument)
{
	struct arena_test *t = argument;
	struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t next[THREADS_MAX] = { 0 }, spins = 0;
	uint64_t r = atomic_load(&own->control->r), rdr = queue_rdr(r);
	for (uint64_t left = (t->fixture.ports - 1) * t->rounds; left > 0;) {
		if (!device_peek(own, queue_nq(r))) {
			relax(&spins);
			continue;
		}
		struct cay_nqe n = *device_entry(own, queue_nq(r));
		MUST((uint32_t)n.word[0] == next[n.word[0] >> 32]++);
		message_check(t, &n);
		if ((n.word[7] & 0xffff) != CAY_NOTIFY_FAST_RECV)
			rdr = n.word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
		r = queue_word(queue_nq(r) + 1, rdr);
		device_return_entries(own, r);
		left--;
	}
	return NULL;
}

static void posted_play(enum posted_mode mode, uint32_t buffers)
{
	struct arena_test t;
	struct arm arms[3] = { 0 };
	pthread_t taker;
	test_open(&t, 4, 4096, CAY_RIGHT_WRITE);
	t.rounds = 10000 / SLOWER;
	for (uint32_t i = 0; i < buffers; i++)
		assert_int_equal(
			fixture_post(&t.fixture, TARGET,
				fixture_memory(&t.fixture, BUFFER_BYTES),
				BUFFER_BYTES, i),
			0);
	fixture_posted_mode(&t.fixture, TARGET, mode);
	assert_int_equal(pthread_create(&taker, NULL, taker_run, &t), 0);
	arms_run(&t, arms, 3, poster_run);
	pthread_join(taker, NULL);
	const struct context *own = fixture_own(&t.fixture, TARGET);
	assert_int_equal(own->posted_head->available, buffers);
	test_close(&t);
}

static void posted_buffers_are_nobody_elses(void **state)
{
	(void)state;
	posted_play(POSTED_ONLY, 1);
	posted_play(POSTED_ONLY, 5);
	posted_play(POSTED_RDR, 2);
	posted_play(POSTED_RDR, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bulk_is_there_when_it_is_told_of),
		cmocka_unit_test(sums_are_right),
		cmocka_unit_test(swaps_make_a_lock),
		cmocka_unit_test(masked_puts_do_not_meet),
		cmocka_unit_test(words_are_never_torn),
		cmocka_unit_test(get_does_not_overtake_a_put),
		cmocka_unit_test(nobody_is_inside_a_closed_window),
		cmocka_unit_test(posted_buffers_are_nobody_elses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
