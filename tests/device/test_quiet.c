/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is taken away from those who access it. Three processes put,
 * get, add and fill posted receives; the owner closes, revokes and frees, the
 * node locks, each as they do it: store the word, then wait until no record
 * names the memory. From then on not a byte of it may change. Coroutines that
 * may hand over before every access, thousands of schedules; in half of them
 * a process dies at any access and the node's own code repairs after it.
 *
 * CAY_SCHEDULES sets how many, CAY_SEED which one is the first.
 */
#include "bench.h"
#include "coroutine.h"
#include "small_node.h"

#define ORIGINS	     3u
#define OWNER	     3u /* port */
#define ROUNDS	     40u
#define ACTIONS	     12u
#define SWITCHES_MAX 400000u
#define PLACE_BYTES  512u
#define MEMORY_BYTES (ORIGINS * PLACE_BYTES)
#define BUFFERS	     3u
#define BUFFER_BYTES 512u
#define NOBODY	     UINT32_MAX

struct world;

struct accessor {
	struct party party;
	struct world *world;
	uint32_t number;
	struct target key; /* what it believes */
	uint32_t done, refused, rounds;
	bool dead;
};

struct world {
	struct stage stage;
	struct fixture bench;
	struct small_node node;
	struct counting counting;
	struct accessor accessor[ORIGINS];
	struct party owner, consumer, undertaker;
	struct target key; /* the right one */
	uint64_t at;	   /* of the window's memory */
	uint64_t buffer[BUFFERS];
	uint64_t next, rdr;
	/* What may not change: a copy of it, but for one origin's part. */
	bool sealed;
	uint32_t except;
	unsigned char copy[MEMORY_BYTES];
	uint32_t sealed_buffer; /* or NOBODY */
	uint32_t actions, accesses, posted, dropped;
	uint32_t kill, kill_after, deaths; /* process, accesses; 0: never */
	bool closing;			   /* the owner has finished */
};

static struct context *owner_of(const struct world *w)
{
	return fixture_own(&w->bench, OWNER);
}

static struct cay_window_descriptor *descriptor(const struct world *w)
{
	return &w->bench.port[OWNER].origin.wdt[0];
}

/* ---- those who access ---- */

static int access_packet(struct accessor *a, unsigned command, unsigned flags,
	uint64_t offset, void *bytes, size_t length)
{
	struct world *w = a->world;
	struct origin *o = &w->bench.port[a->number].origin;
	const struct iovec payload = { bytes, length };
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = o->vpid,
		.origin_lock = o->lock_word,
		.pieces = 1,
		.length = length,
		.payload = bytes ? &payload : NULL,
		.window = a->key.window,
		.capability = a->key.capability,
		.offset = a->number * PLACE_BYTES + offset,
		.operand = { 1, 0xff } };
	return counting_access(o, w->node.op[a->number],
		fixture_route(&w->bench, a->number, OWNER), &p);
}

static int access_straight(struct accessor *a, size_t length)
{
	struct world *w = a->world;
	struct target t = a->key;
	unsigned char bytes[PLACE_BYTES];
	memset(bytes, (int)(a->done + 1), sizeof(bytes));
	t.offset = a->number * PLACE_BYTES;
	return counting_put(&w->bench.port[a->number].origin,
		w->node.op[a->number],
		fixture_route(&w->bench, a->number, OWNER), &t, bytes, length,
		0);
}

static int access_posted(struct accessor *a)
{
	struct world *w = a->world;
	struct origin *o = &w->bench.port[a->number].origin;
	unsigned char bytes[BUFFER_BYTES];
	size_t length = 41 + stage_random(&w->stage) % (BUFFER_BYTES - 41);
	memset(bytes, (int)(a->number + 1), sizeof(bytes));
	const struct iovec payload = { bytes, length };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = o->vpid,
		.pieces = 1,
		.length = length,
		.payload = &payload };
	return counting_send(o, w->node.op[a->number],
		fixture_route(&w->bench, a->number, OWNER), &p);
}

static int access_any(struct accessor *a)
{
	unsigned char bytes[256];
	memset(bytes, (int)(a->done + 1), sizeof(bytes));
	switch (stage_random(&a->world->stage) % 8) {
	case 0:
		return access_straight(a, 8);
	case 1:
		return access_straight(a, PLACE_BYTES);
	case 2:
		return access_packet(a, CAY_FAA, 0, 8, NULL, 8);
	case 3:
		return access_packet(a, CAY_MISALIGNED_PUT, 0, 16, NULL, 8);
	case 4:
		return access_packet(
			a, CAY_PUT, CAY_VCI_NOTIFY, 24, bytes, 200);
	case 5:
		return access_packet(a, CAY_GET, 0, 0, bytes, 100);
	default:
		return access_posted(a);
	}
}

/* The consumer of its own port: completions only. */
static void accessor_collect(struct accessor *a)
{
	struct world *w = a->world;
	struct context *own = fixture_own(&w->bench, a->number);
	uint64_t r = atomic_load(&own->control->r);
	while (counting_peek(own, queue_nq(r))) {
		r = queue_word(queue_nq(r) + 1, 0);
		counting_return_entries(own, r);
		counting_completions_returned(
			&w->bench.port[a->number].origin, 1);
	}
}

static void accessor_run(void *argument)
{
	struct accessor *a = argument;
	struct world *w = a->world;
	for (; a->rounds < ROUNDS; a->rounds++) {
		if (stage_chance(&w->stage, 3))
			a->key = w->key;
		int r = access_any(a);
		if (r == 0)
			a->done++;
		else if (r == 1)
			a->refused++;
		else if (r != -EAGAIN)
			stage_fail(&w->stage, "an access failed");
		accessor_collect(a);
		if (r == -EAGAIN)
			stage_switch(&w->stage);
	}
}

/* ---- what may not change ---- */

static void seal(struct world *w, uint32_t except)
{
	memcpy(w->copy, fixture_at(&w->bench, w->at), MEMORY_BYTES);
	w->except = except;
	w->sealed = true;
}

static void seal_check(struct world *w)
{
	const unsigned char *now = fixture_at(&w->bench, w->at);
	for (uint32_t i = 0; w->sealed && i < ORIGINS; i++)
		if (i != w->except &&
			memcmp(now + i * PLACE_BYTES, w->copy + i * PLACE_BYTES,
				PLACE_BYTES) != 0)
			stage_fail(&w->stage,
				"memory was written after it was quiet");
	if (w->sealed_buffer == NOBODY)
		return;
	now = fixture_at(&w->bench, w->buffer[w->sealed_buffer]);
	for (uint32_t i = 0; i < BUFFER_BYTES; i++)
		if (now[i] != 0xbb)
			stage_fail(&w->stage, "a freed buffer was written");
}

/* As node/window.c: `window` is one more than the Win-ID, 0 is any memory. */
static bool record_accesses(
	struct world *w, const struct op_record *op, uint64_t window)
{
	uint64_t state = atomic_load(&op->state);
	stage_yield(&w->stage);
	uint64_t named = atomic_load(&op->window);
	unsigned now = state & OP_STATE_MASK;
	return now != OP_IDLE &&
	       (uint16_t)(state >> OP_VPID_SHIFT) == fixture_vpid(OWNER) &&
	       (window ? named == window : named || now == OP_ACCESS);
}

static void wait_quiet(struct world *w, uint64_t window)
{
	for (;;) {
		bool quiet = true;
		for (uint32_t i = 0; i < ORIGINS; i++)
			quiet &= w->accessor[i].dead ||
				 !record_accesses(w, w->node.op[i], window);
		if (quiet)
			return;
		stage_switch(&w->stage);
	}
}

/* Looks for a while. */
static void watch(struct world *w)
{
	for (uint32_t i = 0; i < 6; i++) {
		stage_switch(&w->stage);
		seal_check(w);
	}
}

/* ---- the owner, and the node for it ---- */

static void window_open_again(struct world *w)
{
	uint32_t rights = BENCH_RIGHTS;
	if (stage_chance(&w->stage, 2))
		rights |= CAY_RIGHT_NOTIFY_ACCESS;
	if (stage_chance(&w->stage, 2))
		rights |= CAY_RIGHT_NOTIFY_REFUSAL;
	fixture_window(&w->bench, OWNER, 0, w->at, MEMORY_BYTES, rights,
		&w->key.capability);
}

static void act_close(struct world *w)
{
	atomic_store((_Atomic uint32_t *)&descriptor(w)->rights, 0);
	stage_yield(&w->stage);
	wait_quiet(w, 1);
	seal(w, NOBODY);
	watch(w);
	w->sealed = false;
	window_open_again(w);
}

static void act_revoke(struct world *w)
{
	uint64_t capability = (w->key.capability + 0x10001) &
			      CAY_CAPABILITY_MASK;
	uint64_t generation = descriptor(w)->capability & ~CAY_CAPABILITY_MASK;
	atomic_store((_Atomic uint64_t *)&descriptor(w)->capability,
		capability | generation);
	stage_yield(&w->stage);
	wait_quiet(w, 1);
	seal(w, NOBODY);
	watch(w);
	w->sealed = false;
	w->key.capability = capability;
}

static void act_lock(struct world *w)
{
	uint32_t holder = stage_random(&w->stage) % (ORIGINS + 1);
	uint64_t word = holder < ORIGINS
				? w->bench.port[holder].origin.lock_word
				: 0x7777ull << 32 | 99;
	_Atomic uint64_t *lock = (_Atomic uint64_t *)&descriptor(w)->lock;
	atomic_store(lock, word);
	stage_yield(&w->stage);
	wait_quiet(w, 1);
	seal(w, holder);
	watch(w);
	w->sealed = false;
	atomic_store(lock, 0);
}

/* As port/posted.c and cay_free(). */
static void act_free(struct world *w)
{
	uint32_t number = stage_random(&w->stage) % BUFFERS;
	struct context *own = owner_of(w);
	for (uint32_t i = 0; i < own->posted_entries; i++) {
		struct cay_posted_receive *slot = &own->posted[i];
		uint64_t ready = POSTED_READY;
		if (slot->offset != w->buffer[number])
			continue;
		if (atomic_compare_exchange_strong(
			    (_Atomic uint64_t *)&slot->state, &ready,
			    POSTED_FREE))
			atomic_fetch_sub(&own->posted_head->available, 1);
		else
			slot->length = 0;
	}
	stage_yield(&w->stage);
	wait_quiet(w, 0);
	memset(fixture_at(&w->bench, w->buffer[number]), 0xbb, BUFFER_BYTES);
	w->sealed_buffer = number;
	watch(w);
	w->sealed_buffer = NOBODY;
}

static bool buffer_busy(const struct world *w, uint32_t number)
{
	const struct context *own = owner_of(w);
	for (uint32_t i = 0; i < own->posted_entries; i++)
		if (own->posted[i].offset == w->buffer[number] &&
			own->posted[i].state != POSTED_FREE)
			return true;
	return false;
}

static void act_post(struct world *w)
{
	uint32_t number = stage_random(&w->stage) % BUFFERS;
	struct context *own = owner_of(w);
	uint32_t next = w->bench.port[OWNER].posted_next &
			(own->posted_entries - 1);
	/* One of those that came back without a length. */
	uint64_t ready = POSTED_READY;
	if (own->posted[next].length == 0 &&
		atomic_compare_exchange_strong(
			(_Atomic uint64_t *)&own->posted[next].state, &ready,
			POSTED_FREE))
		atomic_fetch_sub(&own->posted_head->available, 1);
	if (!buffer_busy(w, number))
		fixture_post(&w->bench, OWNER, w->buffer[number], BUFFER_BYTES,
			number);
}

static void owner_run(void *argument)
{
	static void (*const acts[])(struct world *) = { act_close, act_revoke,
		act_lock, act_free, act_post, act_post };
	struct world *w = argument;
	for (; w->actions < ACTIONS; w->actions++) {
		acts[stage_random(&w->stage) % ARRAY_COUNT(acts)](w);
		for (uint32_t i = stage_random(&w->stage) % 8; i > 0; i--)
			stage_switch(&w->stage);
	}
	w->closing = true;
}

/* As posted_event() of port/posted.c: no length, no event. */
static void posted_take(struct world *w, const struct cay_nqe *n)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	struct cay_posted_receive *slot = &owner_of(w)->posted[index];
	if ((slot->state & POSTED_STATE_MASK) != POSTED_FILLED)
		stage_fail(&w->stage, "an entry tells of a slot not filled");
	uint64_t length = bits_min(n->word[CAY_NQE_WORD_LENGTH], slot->length);
	const unsigned char *bytes = fixture_at(&w->bench, slot->offset);
	unsigned number = (unsigned)(n->word[7] >> 32 & 0xffff);
	for (uint64_t i = 0; i < length; i++)
		if (bytes[i] != number)
			stage_fail(&w->stage, "a damaged message");
	slot->state = POSTED_FREE;
	w->posted += length != 0;
	w->dropped += length == 0;
}

static bool consume(struct world *w)
{
	struct context *own = owner_of(w);
	if (!counting_peek(own, w->next))
		return false;
	const struct cay_nqe *n = &own->nq[w->next % BENCH_ENTRIES];
	unsigned command = n->word[7] & CAY_COMMAND_MASK;
	if (!nqe_valid(n))
		stage_fail(&w->stage, "a damaged entry");
	if (command == CAY_NOTIFY_POSTED_RECV)
		posted_take(w, n);
	if (command != CAY_NQE_INVALID && command != CAY_NOTIFY_FAST_RECV)
		w->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	w->next = (w->next + 1) & QUEUE_NQ_MASK;
	return true;
}

static void consumer_run(void *argument)
{
	struct world *w = argument;
	for (;;) {
		struct context *own = owner_of(w);
		if (consume(w)) {
			counting_return_entries(
				own, queue_word(w->next, w->rdr));
			continue;
		}
		/* What a void without extent has skipped. */
		uint64_t now = atomic_load(&own->control->w);
		if (queue_nq(now) == w->next && queue_rdr(now) != w->rdr) {
			w->rdr = queue_rdr(now);
			counting_return_entries(
				own, queue_word(w->next, w->rdr));
		}
		stage_switch(&w->stage);
	}
}

/* ---- death ---- */

static void world_access(void *argument)
{
	struct world *w = argument;
	struct accessor *a = &w->accessor[w->kill];
	w->accesses++;
	if (w->stage.now != &a->party || w->kill_after == 0 ||
		--w->kill_after > 0) {
		stage_yield(&w->stage);
		return;
	}
	a->dead = a->party.done = true;
	w->deaths++;
	stage_switch(&w->stage);
}

static void undertaker_run(void *argument)
{
	struct world *w = argument;
	if (w->deaths == 0)
		stage_block(&w->stage, &w->deaths);
	for (uint32_t i = 0; i < ORIGINS; i++)
		while (w->accessor[i].dead && !small_node_reap(&w->node, i))
			stage_switch(&w->stage);
}

/* ---- a schedule ---- */

static int world_open(struct world *w, uint64_t seed)
{
	static const struct queue_options options = { .nq_log2 = BENCH_NQ_LOG2,
		.rdr_log2 = BENCH_RDR_LOG2,
		.posted_log2 = 2 };
	memset(w, 0, sizeof(*w));
	if (fixture_open(&w->bench, ORIGINS + 1, &options) != 0 ||
		small_node_open(&w->node, &w->bench, ORIGINS) != 0)
		return -ENOMEM;
	stage_open(&w->stage, seed);
	w->at = fixture_memory(&w->bench, MEMORY_BYTES);
	for (uint32_t i = 0; i < BUFFERS; i++)
		w->buffer[i] = fixture_memory(&w->bench, BUFFER_BYTES);
	w->sealed_buffer = NOBODY;
	w->next = queue_nq(atomic_load(&owner_of(w)->control->w));
	w->counting.yield = world_access;
	w->counting.yield_argument = w;
	window_open_again(w);
	act_post(w);
	return 0;
}

static void world_cast(struct world *w)
{
	for (uint32_t i = 0; i < ORIGINS; i++) {
		struct accessor *a = &w->accessor[i];
		a->world = w;
		a->number = i;
		a->key = w->key;
		stage_add(&w->stage, &a->party, accessor_run, a);
	}
	stage_add(&w->stage, &w->owner, owner_run, w);
	stage_add(&w->stage, &w->consumer, consumer_run, w);
	stage_add(&w->stage, &w->undertaker, undertaker_run, w);
}

static bool world_done(const struct world *w)
{
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (!w->accessor[i].party.done)
			return false;
	return w->owner.done && (w->undertaker.done || w->deaths == 0) &&
	       queue_nq(atomic_load(&owner_of(w)->control->w)) == w->next;
}

static void world_play(struct world *w)
{
	for (uint32_t i = 0; i < SWITCHES_MAX && !w->stage.failure; i++) {
		if (world_done(w))
			return;
		w->stage.now = stage_pick(&w->stage);
		w->stage.now->blocked_on = NULL;
		swapcontext(&w->stage.home, &w->stage.now->context);
	}
	if (!w->stage.failure)
		w->stage.failure = "it does not come to an end";
}

static const char *world_judge(const struct world *w)
{
	const struct context *own = owner_of(w);
	uint64_t ready = 0;
	if (w->stage.failure)
		return w->stage.failure;
	for (uint32_t i = 0; i < own->posted_entries; i++) {
		unsigned state = own->posted[i].state & POSTED_STATE_MASK;
		if (state != POSTED_FREE && state != POSTED_READY)
			return "a slot is lost";
		ready += state == POSTED_READY;
	}
	uint64_t available = atomic_load(&own->posted_head->available);
	if (available < ready || available > ready + w->deaths)
		return "what is said to be available is not";
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (atomic_load(&w->node.op[i]->state) != OP_IDLE ||
			atomic_load(&w->node.op[i]->window) ||
			atomic_load(&w->node.op[i]->posted))
			return "a record is not idle";
	return NULL;
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static struct {
	uint64_t done, refused, posted, dropped, deaths;
} totals;

static void world_add_up(const struct world *w)
{
	for (uint32_t i = 0; i < ORIGINS; i++) {
		totals.done += w->accessor[i].done;
		totals.refused += w->accessor[i].refused;
	}
	totals.posted += w->posted;
	totals.dropped += w->dropped;
	totals.deaths += w->deaths;
}

static void play(uint64_t seed, bool deadly)
{
	static struct world w;
	struct stage dice = { .random = ~seed };
	assert_int_equal(world_open(&w, seed), 0);
	if (deadly) {
		w.kill = stage_random(&dice) % ORIGINS;
		w.kill_after = 1 + stage_random(&dice) % 600;
	}
	world_cast(&w);
	counting_begin(&w.counting);
	world_play(&w);
	counting_end();
	const char *wrong = world_judge(&w);
	world_add_up(&w);
	stage_close(&w.stage);
	small_node_close(&w.node);
	fixture_close(&w.bench);
	if (wrong)
		fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1%s: %s", seed,
			deadly ? " (somebody dies)" : "", wrong);
}

static void all_live(void **state)
{
	uint64_t seed = environment("CAY_SEED", 1);
	uint64_t last = seed + environment("CAY_SCHEDULES", 1500);
	(void)state;
	for (; seed < last; seed++)
		play(seed, false);
}

static void one_dies(void **state)
{
	uint64_t seed = environment("CAY_SEED", 1);
	uint64_t last = seed + environment("CAY_SCHEDULES", 1500);
	(void)state;
	for (; seed < last; seed++)
		play(seed, true);
}

/* Everything that is to be tested has happened. */
static void it_was_a_test(void **state)
{
	(void)state;
	if (environment("CAY_SCHEDULES", 1500) < 100)
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
		cmocka_unit_test(all_live),
		cmocka_unit_test(one_dies),
		cmocka_unit_test(it_was_a_test),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
