/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ordering: operations of one origin to one target take effect in the order of
 * issue, whatever their kinds.
 *
 * Pairs: all pairs of operations, observed before each of their accesses; when
 * the second has taken effect, so has the first. Schedules: three origins with
 * random programs, a receiver and a reader of the memory, as coroutines that
 * can switch before every access.
 *
 * CAY_SCHEDULES is the number of schedules, CAY_SEED the first seed.
 */
#include "ordering.h"

/* ---- completions at the origin ---- */

static void check_completion(struct issuer *o, const struct cay_nqe *n)
{
	struct simulation *sim = o->sim;
	uint32_t k = (uint32_t)n->word[0];
	if ((n->word[7] & 0xffff) != CAY_NOTIFY_CC || k > o->current) {
		sim_fail(sim, "an error, or not a completion");
		return;
	}
	if (k <= o->last_completion)
		sim_fail(sim, "a completion out of order");
	o->last_completion = k;
	switch ((enum operation)o->program[k]) {
	case FETCH_ADD:
		if (n->word[3] != count_issued(o, FETCH_ADD, k))
			sim_fail(sim, "a fetch-and-add returned a wrong sum");
		break;
	case COMPARE_SWAP:
		if (n->word[3] != k ||
			n->word[4] != last_issued(o, COMPARE_SWAP, k - 1))
			sim_fail(sim, "a compare-and-swap failed");
		break;
	case GET_FAST:
		if (n->word[2] != last_issued(o, PUT_WORD, k))
			sim_fail(sim, "a fast get overtook a put");
		break;
	default:
		break;
	}
}

static void issuer_drain_completions(struct issuer *o)
{
	struct simulation *sim = o->sim;
	struct context *own = fixture_own(&sim->fixture, o->number);
	uint64_t r = atomic_load(&own->control->r);
	while (counting_peek(own, queue_nq(r))) {
		check_completion(o, &own->nq[queue_nq(r) % TB_ENTRIES]);
		r = queue_word(queue_nq(r) + 1, 0);
		counting_return_entries(own, r);
		counting_completions_returned(
			&sim->fixture.port[o->number].origin, 1);
		o->completions++;
	}
}

static void issuer_run(void *argument)
{
	struct issuer *o = argument;
	struct simulation *sim = o->sim;
	for (o->current = 1; o->current <= OPERATIONS; o->current++) {
		int r = issue(o);
		while (r == -EAGAIN) {
			issuer_drain_completions(o);
			scheduler_switch(&sim->scheduler);
			r = issue(o);
		}
		if (r)
			sim_fail(sim, "an operation failed");
		o->completions_expected +=
			has_completion((enum operation)o->program[o->current]);
		if (scheduler_chance(&sim->scheduler, 2))
			issuer_drain_completions(o);
	}
	o->current = OPERATIONS;
	while (o->completions < o->completions_expected) {
		issuer_drain_completions(o);
		scheduler_switch(&sim->scheduler);
	}
}

/* ---- checks of visibility ---- */

static uint64_t result_now(const struct simulation *sim, const struct issuer *o,
	enum operation kind)
{
	const struct results *p = &sim->memory->origin[o->number];
	if (kind == PUT_BULK)
		return p->bulk[BULK_BYTES - 1];
	return atomic_load(&p->word[kind][kind == PUT_WORDS ? 2 : 0]);
}

/* Fails unless the memory shows all operations of `o` up to number k. */
static void check_memory(struct simulation *sim, const struct issuer *o,
	uint32_t k, const char *message)
{
	for (enum operation kind = PUT_WORD; kind < OBSERVABLE; kind++) {
		uint64_t least = kind == FETCH_ADD ? count_issued(o, kind, k)
						   : last_issued(o, kind, k);
		if (!notifies_target(kind) && result_now(sim, o, kind) < least)
			sim_fail(sim, message);
	}
	if (result_now(sim, o, PUT_NOTIFY_OWNER) <
		last_issued(o, PUT_NOTIFY_OWNER, k))
		sim_fail(sim, message);
}

static bool entry_published(struct simulation *sim, uint64_t tag)
{
	struct context *own = fixture_own(&sim->fixture, RECEIVER);
	uint64_t end = queue_nq(atomic_load(&own->control->w));
	for (uint64_t i = sim->next; i != end; i = (i + 1) & QUEUE_NQ_MASK) {
		const struct cay_nqe *n = &own->nq[i % TB_ENTRIES];
		if (n->word[7] >> 48 == queue_generation(i, own->nq_log2) &&
			n->word[0] == tag)
			return true;
	}
	return false;
}

/* Fails unless the entries of all operations before k are published. */
static void check_entries(
	struct simulation *sim, const struct issuer *o, uint32_t k)
{
	for (uint32_t i = o->last_received + 1; i < k; i++)
		if (notifies_target((enum operation)o->program[i]) &&
			!entry_published(sim, tag_of(o, i)))
			sim_fail(sim, "a memory access is visible before an "
				      "earlier entry");
}

/* ---- receiver and reader ---- */

static void post_receives(struct simulation *sim)
{
	while (sim->buffers && fixture_post(&sim->fixture, RECEIVER,
				       sim->buffer, MESSAGE_MAX, 0) == 0)
		sim->buffers--;
}

static void check_entry(struct simulation *sim, const struct cay_nqe *n)
{
	uint32_t number = (uint32_t)(n->word[0] >> 32);
	uint32_t k = (uint32_t)n->word[0];
	if (!nqe_valid(n) || number >= ORIGINS || k == 0 || k > OPERATIONS) {
		sim_fail(sim, "a damaged entry");
		return;
	}
	struct issuer *o = &sim->origin[number];
	for (uint32_t i = o->last_received + 1; i < k; i++)
		if (notifies_target((enum operation)o->program[i]))
			sim_fail(sim, "entries out of order");
	if (k <= o->last_received)
		sim_fail(sim, "an entry is duplicated or out of order");
	o->last_received = k;
	check_memory(sim, o, k,
		"an entry is visible before an earlier memory access");
}

static void free_posted_slot(struct simulation *sim, const struct cay_nqe *n)
{
	struct context *own = fixture_own(&sim->fixture, RECEIVER);
	struct cay_posted_receive *slot = &own->posted[n->word[4] - 1];
	if ((slot->state & POSTED_STATE_MASK) != POSTED_FILLED)
		sim_fail(sim, "an entry names a slot that is not filled");
	slot->state = POSTED_FREE;
	sim->buffers++;
}

static void receiver_run(void *argument)
{
	struct simulation *sim = argument;
	struct context *own = fixture_own(&sim->fixture, RECEIVER);
	for (;;) {
		if (scheduler_chance(&sim->scheduler, 2))
			post_receives(sim);
		if (!counting_peek(own, sim->next)) {
			scheduler_switch(&sim->scheduler);
			continue;
		}
		const struct cay_nqe *n = &own->nq[sim->next % TB_ENTRIES];
		unsigned command = n->word[7] & 0xffff;
		check_entry(sim, n);
		if (command == CAY_NOTIFY_POSTED_RECV)
			free_posted_slot(sim, n);
		if (command != CAY_NOTIFY_FAST_RECV)
			sim->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
		sim->next = (sim->next + 1) & QUEUE_NQ_MASK;
		counting_return_entries(own, queue_word(sim->next, sim->rdr));
	}
}

static void reader_run(void *argument)
{
	struct simulation *sim = argument;
	for (;;) {
		const struct issuer *o =
			&sim->origin[scheduler_random(&sim->scheduler) %
				     ORIGINS];
		enum operation kind =
			PUT_WORD + scheduler_random(&sim->scheduler) %
					   (OBSERVABLE - PUT_WORD);
		if (kind == VCI_SEND || kind == FETCH_ADD)
			kind = PUT_WORD;
		uint32_t k = (uint32_t)result_now(sim, o, kind);
		if (k) {
			check_memory(sim, o, k,
				"a memory access is visible before an earlier "
				"one");
			check_entries(sim, o, k);
		}
		scheduler_switch(&sim->scheduler);
	}
}

/* ---- random schedules ---- */

static void sim_before_access(void *argument)
{
	scheduler_yield(&((struct simulation *)argument)->scheduler);
}

static int sim_windows(struct simulation *sim)
{
	struct fixture *f = &sim->fixture;
	uint64_t at = fixture_memory(f, sizeof(struct memory));
	sim->buffer = fixture_memory(f, MESSAGE_MAX);
	if (!at || !sim->buffer)
		return -ENOMEM;
	sim->memory = fixture_at(f, at);
	sim->notifying.window = 1;
	int r = fixture_window(f, RECEIVER, 0, at, sizeof(struct memory),
		TB_RIGHTS, &sim->plain.capability);
	return r ? r
		 : fixture_window(f, RECEIVER, 1, at, sizeof(struct memory),
			   TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS,
			   &sim->notifying.capability);
}

static int sim_open(struct simulation *sim, uint64_t seed)
{
	static const struct queue_options options = { .nq_log2 = TB_NQ_LOG2,
		.rdr_log2 = TB_RDR_LOG2 };
	memset(sim, 0, sizeof(*sim));
	if (fixture_open(&sim->fixture, ORIGINS + 1, &options) != 0 ||
		sim_windows(sim) != 0)
		return -ENOMEM;
	scheduler_open(&sim->scheduler, seed);
	sim->next = queue_nq(
		atomic_load(&fixture_own(&sim->fixture, RECEIVER)->control->w));
	sim->counting.yield = sim_before_access;
	sim->counting.yield_argument = sim;
	for (uint32_t i = 0; i < ORIGINS; i++) {
		sim->origin[i].sim = sim;
		sim->origin[i].number = i;
	}
	return 0;
}

static void sim_spawn(struct simulation *sim)
{
	struct scheduler *s = &sim->scheduler;
	sim->buffers = scheduler_chance(s, 2) ? BUFFERS : 0;
	if (sim->buffers && scheduler_chance(s, 2))
		fixture_posted_mode(&sim->fixture, RECEIVER, POSTED_ONLY);
	for (uint32_t i = 0; i < ORIGINS; i++) {
		struct issuer *o = &sim->origin[i];
		for (uint32_t k = 1; k <= OPERATIONS; k++)
			o->program[k] = (uint8_t)(scheduler_random(s) %
						  OPERATION_KINDS);
		scheduler_add(s, &o->coroutine, issuer_run, o);
	}
	scheduler_add(s, &sim->receiver, receiver_run, sim);
	scheduler_add(s, &sim->reader, reader_run, sim);
}

/* Checked every 64 switches: receiver and reader run on for a while. */
static bool sim_done(const void *argument)
{
	const struct simulation *sim = argument;
	const struct context *own = fixture_own(&sim->fixture, RECEIVER);
	if (sim->scheduler.switches % 64 != 0)
		return false;
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (!sim->origin[i].coroutine.done)
			return false;
	return queue_nq(atomic_load(&own->control->w)) == sim->next;
}

static void sim_verdict(struct simulation *sim)
{
	for (uint32_t i = 0; i < ORIGINS && !sim->scheduler.failure; i++) {
		const struct issuer *o = &sim->origin[i];
		check_memory(sim, o, OPERATIONS, "a memory access is missing");
		for (uint32_t k = o->last_received + 1; k <= OPERATIONS; k++)
			if (notifies_target((enum operation)o->program[k]))
				sim->scheduler.failure = "an entry is missing";
		if (o->completions != o->completions_expected)
			sim->scheduler.failure = "a completion is missing";
	}
}

static void random_schedules_keep_order(void **state)
{
	static struct simulation sim;
	uint64_t seed = environment_number("CAY_SEED", 1);
	uint64_t last = seed + environment_number("CAY_SCHEDULES", 3000);
	(void)state;
	for (; seed < last; seed++) {
		assert_int_equal(sim_open(&sim, seed), 0);
		sim_spawn(&sim);
		counting_begin(&sim.counting);
		scheduler_run_until(
			&sim.scheduler, SWITCHES_MAX, sim_done, &sim);
		counting_end();
		sim_verdict(&sim);
		const char *failure = sim.scheduler.failure;
		scheduler_close(&sim.scheduler);
		fixture_close(&sim.fixture);
		if (failure)
			fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1: %s", seed,
				failure);
	}
}

/* ---- pairs of operations ---- */

static void observe(void *argument)
{
	struct simulation *sim = argument;
	const struct issuer *o = &sim->origin[0];
	uint32_t seen = 0;
	for (uint32_t k = 1; k <= 2; k++) {
		enum operation kind = (enum operation)o->program[k];
		bool visible =
			kind >= OBSERVABLE ? false
			: notifies_target(kind)
				? entry_published(sim, tag_of(o, k))
				: result_now(sim, o, kind) >=
					  (kind == FETCH_ADD
							  ? count_issued(o,
								    FETCH_ADD,
								    k)
							  : k);
		if (visible)
			seen = k;
	}
	if (seen == 0)
		return;
	check_memory(sim, o, seen, "memory accesses are out of order");
	check_entries(sim, o, seen);
}

static const char *run_pair(
	enum operation first, enum operation second, bool posted)
{
	static struct simulation sim;
	assert_int_equal(sim_open(&sim, 1), 0);
	struct issuer *o = &sim.origin[0];
	o->program[1] = (uint8_t)first;
	o->program[2] = (uint8_t)second;
	sim.buffers = posted ? 2 : 0;
	post_receives(&sim);
	sim.counting.yield = observe;
	counting_begin(&sim.counting);
	for (o->current = 1; o->current <= 2; o->current++)
		assert_int_equal(issue(o), 0);
	observe(&sim);
	counting_end();
	o->current = 2;
	sim_verdict(&sim);
	fixture_close(&sim.fixture);
	return sim.scheduler.failure;
}

static void pairs_of_operations_keep_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * OPERATION_KINDS * OPERATION_KINDS; i++) {
		enum operation first =
			(enum operation)(i / 2 / OPERATION_KINDS);
		enum operation second =
			(enum operation)(i / 2 % OPERATION_KINDS);
		const char *failure = run_pair(first, second, i % 2);
		/* Without a receiver, entries and completions remain queued. */
		if (failure && strcmp(failure, "an entry is missing") != 0 &&
			strcmp(failure, "a completion is missing") != 0)
			fail_msg("%u, then %u: %s", first, second, failure);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_of_operations_keep_order),
		cmocka_unit_test(random_schedules_keep_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
