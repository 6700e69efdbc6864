/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quiescence: after a window is closed, revoked or locked, or a posted buffer
 * is freed, no earlier access writes to the memory any more. Three processes
 * put, get, add and fill posted receives; the owner and the node change the
 * state and wait until no op record names the memory, as the library does; from
 * then on the memory must not change. The processes are coroutines that can
 * switch before every access; in half of the schedules one dies at a random
 * access and the node's repair code runs.
 *
 * CAY_SCHEDULES is the number of schedules, CAY_SEED the first seed.
 */
#include "quiesce.h"

/* ---- waiting for quiescence ---- */

/*
 * True while the record names the window (Win-ID + 1) or, for 0, any memory of
 * the owner, as in node/window.c.
 */
static bool record_accesses(
	struct simulation *sim, const struct op_record *op, uint64_t window)
{
	uint64_t state = atomic_load(&op->state);
	scheduler_yield(&sim->scheduler);
	uint64_t named = atomic_load(&op->window);
	unsigned now = state & OP_STATE_MASK;
	return now != OP_IDLE &&
	       (uint16_t)(state >> OP_VPID_SHIFT) == fixture_vpid(OWNER) &&
	       (window ? named == window : named || now == OP_ACCESS);
}

static void wait_until_quiesced(struct simulation *sim, uint64_t window)
{
	for (;;) {
		bool quiesced = true;
		for (uint32_t i = 0; i < ORIGINS; i++)
			quiesced &=
				sim->accessor[i].dead ||
				!record_accesses(sim, sim->node.op[i], window);
		if (quiesced)
			return;
		scheduler_switch(&sim->scheduler);
	}
}

/* ---- owner and node ---- */

static void open_window(struct simulation *sim)
{
	uint32_t rights = TB_RIGHTS;
	if (scheduler_chance(&sim->scheduler, 2))
		rights |= CAY_RIGHT_NOTIFY_ACCESS;
	if (scheduler_chance(&sim->scheduler, 2))
		rights |= CAY_RIGHT_NOTIFY_REFUSAL;
	fixture_window(&sim->fixture, OWNER, 0, sim->memory, MEMORY_BYTES,
		rights, &sim->key.capability);
}

/*
 * After a change of the window: waits for quiescence, then checks for a while
 * that the memory does not change, except for the area of one origin (or NONE).
 */
static void quiesce_window(struct simulation *sim, uint32_t except)
{
	const unsigned char *memory = fixture_at(&sim->fixture, sim->memory);
	unsigned char copy[MEMORY_BYTES];
	scheduler_yield(&sim->scheduler);
	wait_until_quiesced(sim, 1);
	memcpy(copy, memory, MEMORY_BYTES);
	for (uint32_t i = 0; i < WATCH_SWITCHES * ORIGINS; i++) {
		uint32_t area = i % ORIGINS;
		if (area == 0)
			scheduler_switch(&sim->scheduler);
		if (area != except &&
			memcmp(memory + area * AREA_BYTES,
				copy + area * AREA_BYTES, AREA_BYTES) != 0)
			scheduler_fail(&sim->scheduler,
				"memory was written after it had quiesced");
	}
}

static void close_window(struct simulation *sim)
{
	atomic_store((_Atomic uint32_t *)&descriptor(sim)->rights, 0);
	quiesce_window(sim, NONE);
	open_window(sim);
}

static void revoke_window(struct simulation *sim)
{
	uint64_t capability = (sim->key.capability + 0x10001) &
			      CAY_CAPABILITY_MASK;
	uint64_t generation = descriptor(sim)->capability &
			      ~CAY_CAPABILITY_MASK;
	atomic_store((_Atomic uint64_t *)&descriptor(sim)->capability,
		capability | generation);
	quiesce_window(sim, NONE);
	sim->key.capability = capability;
}

/* Locks the window for an origin, or for a process without a port here. */
static void lock_window(struct simulation *sim)
{
	uint32_t holder = scheduler_random(&sim->scheduler) % (ORIGINS + 1);
	uint64_t word = holder < ORIGINS
				? sim->fixture.port[holder].origin.lock_word
				: 0x7777ull << 32 | 99;
	_Atomic uint64_t *lock = (_Atomic uint64_t *)&descriptor(sim)->lock;
	atomic_store(lock, word);
	quiesce_window(sim, holder);
	atomic_store(lock, 0);
}

/* Cancels a posted buffer and frees it, as cay_free() does. */
static void free_buffer(struct simulation *sim)
{
	uint32_t number = scheduler_random(&sim->scheduler) % BUFFERS;
	struct context *own = owner_context(sim);
	for (uint32_t i = 0; i < own->posted_entries; i++) {
		struct cay_posted_receive *slot = &own->posted[i];
		uint64_t ready = POSTED_READY;
		if (slot->offset != sim->buffer[number])
			continue;
		if (atomic_compare_exchange_strong(
			    (_Atomic uint64_t *)&slot->state, &ready,
			    POSTED_FREE))
			atomic_fetch_sub(&own->posted_head->available, 1);
		else
			slot->length = 0;
	}
	scheduler_yield(&sim->scheduler);
	wait_until_quiesced(sim, 0);
	unsigned char *buffer = fixture_at(&sim->fixture, sim->buffer[number]);
	memset(buffer, 0xbb, BUFFER_BYTES);
	for (uint32_t i = 0; i < WATCH_SWITCHES * BUFFER_BYTES; i++) {
		if (i % BUFFER_BYTES == 0)
			scheduler_switch(&sim->scheduler);
		if (buffer[i % BUFFER_BYTES] != 0xbb)
			scheduler_fail(
				&sim->scheduler, "a freed buffer was written");
	}
}

static bool buffer_busy(const struct simulation *sim, uint32_t number)
{
	const struct context *own = owner_context(sim);
	for (uint32_t i = 0; i < own->posted_entries; i++)
		if (own->posted[i].offset == sim->buffer[number] &&
			own->posted[i].state != POSTED_FREE)
			return true;
	return false;
}

static void post_buffer(struct simulation *sim)
{
	uint32_t number = scheduler_random(&sim->scheduler) % BUFFERS;
	struct context *own = owner_context(sim);
	uint32_t next = sim->fixture.port[OWNER].origin.client.posted_write &
			(own->posted_entries - 1);
	/* A slot of length 0 was cancelled while a sender had claimed it. */
	uint64_t ready = POSTED_READY;
	if (own->posted[next].length == 0 &&
		atomic_compare_exchange_strong(
			(_Atomic uint64_t *)&own->posted[next].state, &ready,
			POSTED_FREE))
		atomic_fetch_sub(&own->posted_head->available, 1);
	if (!buffer_busy(sim, number))
		fixture_post(&sim->fixture, OWNER, sim->buffer[number],
			BUFFER_BYTES, number);
}

static void owner_run(void *argument)
{
	static void (*const actions[])(struct simulation *) = { close_window,
		revoke_window, lock_window, free_buffer, post_buffer,
		post_buffer };
	struct simulation *sim = argument;
	for (uint32_t i = 0; i < ACTIONS; i++) {
		actions[scheduler_random(&sim->scheduler) %
			ARRAY_COUNT(actions)](sim);
		for (uint32_t k = scheduler_random(&sim->scheduler) % 8; k > 0;
			k--)
			scheduler_switch(&sim->scheduler);
	}
}

/* A slot of length 0 was cancelled and is dropped, as in port/posted.c. */
static void receive_posted(struct simulation *sim, const struct cay_nqe *n)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	struct cay_posted_receive *slot = &owner_context(sim)->posted[index];
	if ((slot->state & POSTED_STATE_MASK) != POSTED_FILLED)
		scheduler_fail(&sim->scheduler,
			"an entry names a slot that is not filled");
	uint64_t length = bits_min(n->word[CAY_NQE_WORD_LENGTH], slot->length);
	const unsigned char *bytes = fixture_at(&sim->fixture, slot->offset);
	unsigned number = (unsigned)(n->word[7] >> 32 & 0xffff);
	for (uint64_t i = 0; i < length; i++)
		if (bytes[i] != number)
			scheduler_fail(&sim->scheduler, "a damaged message");
	slot->state = POSTED_FREE;
	sim->posted += length != 0;
	sim->dropped += length == 0;
}

static bool receive_entry(struct simulation *sim)
{
	struct context *own = owner_context(sim);
	if (!counting_peek(own, sim->next))
		return false;
	const struct cay_nqe *n = &own->nq[sim->next % TB_ENTRIES];
	unsigned command = n->word[7] & CAY_COMMAND_MASK;
	if (!nqe_valid(n))
		scheduler_fail(&sim->scheduler, "a damaged entry");
	if (command == CAY_NOTIFY_POSTED_RECV)
		receive_posted(sim, n);
	if (command != CAY_NQE_INVALID && command != CAY_NOTIFY_FAST_RECV)
		sim->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	sim->next = (sim->next + 1) & QUEUE_NQ_MASK;
	return true;
}

static void consumer_run(void *argument)
{
	struct simulation *sim = argument;
	for (;;) {
		struct context *own = owner_context(sim);
		if (receive_entry(sim)) {
			counting_return_entries(
				own, queue_word(sim->next, sim->rdr));
			continue;
		}
		/* Void entries without extent may have skipped units. */
		uint64_t now = atomic_load(&own->control->w);
		if (queue_nq(now) == sim->next && queue_rdr(now) != sim->rdr) {
			sim->rdr = queue_rdr(now);
			counting_return_entries(
				own, queue_word(sim->next, sim->rdr));
		}
		scheduler_switch(&sim->scheduler);
	}
}

/* ---- death and repair ---- */

static void sim_before_access(void *argument)
{
	struct simulation *sim = argument;
	struct accessor *a = &sim->accessor[sim->victim];
	if (sim->scheduler.current != &a->coroutine || sim->kill_after == 0 ||
		--sim->kill_after > 0) {
		scheduler_yield(&sim->scheduler);
		return;
	}
	a->dead = a->coroutine.done = true;
	sim->deaths++;
	scheduler_switch(&sim->scheduler);
}

static void repair_run(void *argument)
{
	struct simulation *sim = argument;
	if (sim->deaths == 0)
		scheduler_block(&sim->scheduler, &sim->deaths);
	for (uint32_t i = 0; i < ORIGINS; i++)
		while (sim->accessor[i].dead &&
			!node_fixture_reap(&sim->node, i))
			scheduler_switch(&sim->scheduler);
}

/* ---- schedules ---- */

static int sim_open(struct simulation *sim, uint64_t seed)
{
	static const struct queue_options options = {
		.nq_log2 = TB_NQ_LOG2, .rdr_log2 = TB_RDR_LOG2, .posted_log2 = 2
	};
	memset(sim, 0, sizeof(*sim));
	if (fixture_open(&sim->fixture, ORIGINS + 1, &options) != 0 ||
		node_fixture_open(&sim->node, &sim->fixture, ORIGINS) != 0)
		return -ENOMEM;
	scheduler_open(&sim->scheduler, seed);
	sim->memory = fixture_memory(&sim->fixture, MEMORY_BYTES);
	for (uint32_t i = 0; i < BUFFERS; i++)
		sim->buffer[i] = fixture_memory(&sim->fixture, BUFFER_BYTES);
	sim->next = queue_nq(atomic_load(&owner_context(sim)->control->w));
	sim->counting.yield = sim_before_access;
	sim->counting.yield_argument = sim;
	open_window(sim);
	post_buffer(sim);
	return 0;
}

static void sim_spawn(struct simulation *sim)
{
	for (uint32_t i = 0; i < ORIGINS; i++) {
		struct accessor *a = &sim->accessor[i];
		a->sim = sim;
		a->number = i;
		a->key = sim->key;
		scheduler_add(&sim->scheduler, &a->coroutine, accessor_run, a);
	}
	scheduler_add(&sim->scheduler, &sim->owner, owner_run, sim);
	scheduler_add(&sim->scheduler, &sim->consumer, consumer_run, sim);
	scheduler_add(&sim->scheduler, &sim->repair, repair_run, sim);
}

static bool sim_done(const void *argument)
{
	const struct simulation *sim = argument;
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (!sim->accessor[i].coroutine.done)
			return false;
	return sim->owner.done && (sim->repair.done || sim->deaths == 0) &&
	       queue_nq(atomic_load(&owner_context(sim)->control->w)) ==
		       sim->next;
}

static const char *sim_verdict(const struct simulation *sim)
{
	const struct context *own = owner_context(sim);
	uint64_t ready = 0;
	if (sim->scheduler.failure)
		return sim->scheduler.failure;
	for (uint32_t i = 0; i < own->posted_entries; i++) {
		unsigned state = own->posted[i].state & POSTED_STATE_MASK;
		if (state != POSTED_FREE && state != POSTED_READY)
			return "a slot is neither free nor ready";
		ready += state == POSTED_READY;
	}
	uint64_t available = atomic_load(&own->posted_head->available);
	if (available < ready || available > ready + sim->deaths)
		return "the counter of available slots is wrong";
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (atomic_load(&sim->node.op[i]->state) != OP_IDLE ||
			atomic_load(&sim->node.op[i]->window) ||
			atomic_load(&sim->node.op[i]->posted))
			return "an op record is not idle";
	return NULL;
}

static struct {
	uint64_t done, refused, posted, dropped, deaths;
} totals;

static void add_totals(const struct simulation *sim)
{
	for (uint32_t i = 0; i < ORIGINS; i++) {
		totals.done += sim->accessor[i].done;
		totals.refused += sim->accessor[i].refused;
	}
	totals.posted += sim->posted;
	totals.dropped += sim->dropped;
	totals.deaths += sim->deaths;
}

static void run_schedule(uint64_t seed, bool with_death)
{
	static struct simulation sim;
	struct scheduler random = { .random = ~seed };
	assert_int_equal(sim_open(&sim, seed), 0);
	if (with_death) {
		sim.victim = scheduler_random(&random) % ORIGINS;
		sim.kill_after = 1 + scheduler_random(&random) % 600;
	}
	sim_spawn(&sim);
	counting_begin(&sim.counting);
	scheduler_run_until(&sim.scheduler, SWITCHES_MAX, sim_done, &sim);
	counting_end();
	const char *failure = sim_verdict(&sim);
	add_totals(&sim);
	scheduler_close(&sim.scheduler);
	node_fixture_close(&sim.node);
	fixture_close(&sim.fixture);
	if (failure)
		fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1%s: %s", seed,
			with_death ? " (one process dies)" : "", failure);
}

static void all_processes_survive(void **state)
{
	uint64_t seed = environment_number("CAY_SEED", 1);
	uint64_t last = seed + environment_number("CAY_SCHEDULES", 1500);
	(void)state;
	for (; seed < last; seed++)
		run_schedule(seed, false);
}

static void one_process_dies(void **state)
{
	uint64_t seed = environment_number("CAY_SEED", 1);
	uint64_t last = seed + environment_number("CAY_SCHEDULES", 1500);
	(void)state;
	for (; seed < last; seed++)
		run_schedule(seed, true);
}

/* Accesses, refusals, posted messages, cancellations and deaths occurred. */
static void schedules_covered_all_cases(void **state)
{
	(void)state;
	if (environment_number("CAY_SCHEDULES", 1500) < 100)
		return;
	assert_true(totals.done > 1000);
	assert_true(totals.refused > 100);
	assert_true(totals.posted > 100);
	assert_true(totals.dropped > 0);
	assert_true(totals.deaths > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processes_survive),
		cmocka_unit_test(one_process_dies),
		cmocka_unit_test(schedules_covered_all_cases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
