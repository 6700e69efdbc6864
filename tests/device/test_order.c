/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per origin and target, in the order of issue, across all instructions.
 *
 * Pairs: any two instructions, and an observer who looks before each of their
 * accesses: who sees the second must see the first. Schedules: three origins
 * with random programs, a receiver that takes entries and a reader that looks
 * at memory, as coroutines that may hand over before every access.
 *
 * CAY_SCHEDULES sets how many schedules, CAY_SEED which one is the first.
 */
#include "bench.h"
#include "coroutine.h"

#define ORIGINS	     3u
#define RECEIVER     3u /* port */
#define OPERATIONS   24u
#define SWITCHES_MAX 400000u
#define AREA_BYTES   200u
#define MESSAGE_MAX  300u
#define BUFFERS	     4u

/* What an origin can do; all but the last few leave a trace to be seen. */
enum kind {
	SEND_FAST,
	SEND_RDR,   /* or into a posted receive, if there is one */
	PUT_WORD,   /* 8 bytes */
	PUT_WORDS,  /* 24 bytes */
	PUT_NOTIFY, /* with a completion */
	PUT_AREA,   /* bulk */
	PUT_MASKED,
	PUT_TOLD, /* into a window that tells its owner */
	ADD,
	SWAP,
	VCI_PUT, /* from the work queue */
	VCI_SEND,
	TRACES,
	GET = TRACES, /* of what PUT_WORD has stored */
	GET_FAST,
	KINDS,
};

/* Everything of one origin lies apart from everything of the others. */
struct place {
	_Alignas(64) _Atomic uint64_t word[TRACES][8];
	_Alignas(64) unsigned char area[256];
};

struct memory {
	struct place origin[ORIGINS];
};

static bool is_entry(enum kind k)
{
	return k == SEND_FAST || k == SEND_RDR || k == PUT_TOLD ||
	       k == VCI_SEND;
}

struct world;

struct origin_party {
	struct party party;
	struct world *world;
	uint32_t number;
	uint8_t program[OPERATIONS + 1]; /* enum kind; from 1 on */
	uint32_t now;			 /* the operation that is issued */
	uint32_t asked, completed;	 /* completions */
	uint32_t last_completed;	 /* its tag */
	uint32_t taken;			 /* the last entry of it that was */
};

struct world {
	struct stage stage;
	struct fixture bench;
	struct counting counting;
	struct origin_party origin[ORIGINS];
	struct party receiver, reader;
	struct memory *memory;
	struct target open, told; /* windows on it */
	uint64_t next, rdr;	  /* of the receiver */
	uint64_t buffer;	  /* arena memory of posted receives */
	uint32_t buffers;	  /* that may be posted */
};

/* On the stage it never comes back; the test itself goes on. */
static void world_fail(struct world *w, const char *why)
{
	if (w->stage.now)
		stage_fail(&w->stage, why);
	else if (!w->stage.failure)
		w->stage.failure = why;
}

/* The last operation up to `k` that leaves a trace of this kind; 0 is none. */
static uint32_t last_of(
	const struct origin_party *o, enum kind kind, uint32_t k)
{
	while (k > 0 && o->program[k] != kind)
		k--;
	return k;
}

static uint32_t count_of(
	const struct origin_party *o, enum kind kind, uint32_t k)
{
	uint32_t count = 0;
	for (uint32_t i = 1; i <= k; i++)
		count += o->program[i] == kind;
	return count;
}

/* ---- issuing ---- */

static struct target target_of(
	const struct world *w, const struct origin_party *o, enum kind kind)
{
	struct target t = kind == PUT_TOLD ? w->told : w->open;
	t.offset = o->number * sizeof(struct place) +
		   (kind == PUT_AREA ? offsetof(struct place, area)
				     : offsetof(struct place, word) +
					       kind * CAY_LINE);
	return t;
}

static uint64_t tag_of(const struct origin_party *o, uint32_t k)
{
	return (uint64_t)o->number << 32 | k;
}

/* Any packet with flags; k is what it stores. */
static int issue_packet(struct origin_party *o, enum kind kind,
	unsigned command, unsigned flags, const uint64_t operand[2],
	const struct iovec *payload)
{
	struct world *w = o->world;
	struct fixture_port *port = &w->bench.port[o->number];
	struct target t = target_of(w, o, kind);
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = port->origin.vpid,
		.origin_lock = port->origin.lock_word,
		.tag = tag_of(o, o->now),
		.pieces = 1,
		.length = payload ? payload->iov_len : 8,
		.payload = payload,
		.window = t.window,
		.capability = t.capability,
		.offset = t.offset,
		.operand = { operand[0], operand[1] } };
	return counting_access(&port->origin, port->op,
		fixture_route(&w->bench, o->number, RECEIVER), &p);
}

static int issue_put(struct origin_party *o, enum kind kind, unsigned flags)
{
	static const uint64_t none[2];
	uint64_t words[3] = { o->now, o->now, o->now };
	size_t bytes = kind == PUT_WORDS ? 24 : 8;
	struct iovec payload = { words, bytes };
	return issue_packet(o, kind, CAY_FAST_PUT | (unsigned)(bytes / 8),
		flags, none, &payload);
}

static int issue_area(struct origin_party *o)
{
	struct world *w = o->world;
	struct fixture_port *port = &w->bench.port[o->number];
	struct target t = target_of(w, o, PUT_AREA);
	unsigned char bytes[AREA_BYTES];
	memset(bytes, (int)o->now, sizeof(bytes));
	return counting_put(&port->origin, port->op,
		fixture_route(&w->bench, o->number, RECEIVER), &t, bytes,
		sizeof(bytes), tag_of(o, o->now));
}

static int issue_word(struct origin_party *o)
{
	struct world *w = o->world;
	struct fixture_port *port = &w->bench.port[o->number];
	struct target t = target_of(w, o, PUT_WORD);
	uint64_t word = o->now;
	return counting_put(&port->origin, port->op,
		fixture_route(&w->bench, o->number, RECEIVER), &t, &word, 8,
		tag_of(o, o->now));
}

static size_t message_bytes(uint32_t k)
{
	return 41 + k * 10;
}

static int issue_send(struct origin_party *o, bool fast)
{
	struct world *w = o->world;
	struct fixture_port *port = &w->bench.port[o->number];
	_Atomic(struct context *) *to =
		fixture_route(&w->bench, o->number, RECEIVER);
	unsigned char bytes[MESSAGE_MAX];
	memset(bytes, (int)o->now, sizeof(bytes));
	if (fast)
		return counting_send_fast(&port->origin, port->op, to,
			tag_of(o, o->now), 0, bytes, o->now);
	const struct iovec payload = { bytes, message_bytes(o->now) };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = port->origin.vpid,
		.tag = tag_of(o, o->now),
		.pieces = 1,
		.length = payload.iov_len,
		.payload = &payload };
	return counting_send(&port->origin, port->op, to, &p);
}

/* -EAGAIN: it stays in the work queue, and is triggered again. */
static int issue_vci(struct origin_party *o, const struct cay_vci *v)
{
	struct fixture_port *port = &o->world->bench.port[o->number];
	if (port->origin.wq_write == port->origin.wq_read &&
		!counting_post(&port->origin, v))
		return -EINVAL;
	struct cay_answer a =
		counting_trigger(&port->origin, port->op, CAY_ISSUE_VCI, 1);
	return a.accepted ? 0 : -EAGAIN;
}

static int issue_vci_put(struct origin_party *o)
{
	struct target t = target_of(o->world, o, VCI_PUT);
	const struct cay_vci v = { { CAY_FAST_PUT | 1 |
					     (uint64_t)RECEIVER << 32,
		fixture_vpid(RECEIVER) | 8 << 16, tag_of(o, o->now),
		t.window | t.capability << 16, t.offset, o->now } };
	return issue_vci(o, &v);
}

static int issue_vci_send(struct origin_party *o)
{
	struct fixture_port *port = &o->world->bench.port[o->number];
	const struct cay_vci v = { { CAY_SEND | (uint64_t)RECEIVER << 32,
		fixture_vpid(RECEIVER), tag_of(o, o->now), 0,
		message_bytes(o->now) } };
	memset(port->origin.sdr, (int)o->now, MESSAGE_MAX);
	return issue_vci(o, &v);
}

static int issue_get(struct origin_party *o)
{
	struct world *w = o->world;
	struct fixture_port *port = &w->bench.port[o->number];
	struct target t = target_of(w, o, PUT_WORD);
	uint64_t word = UINT64_MAX;
	int r = counting_get(&port->origin, port->op,
		fixture_route(&w->bench, o->number, RECEIVER), &t, &word, 8,
		tag_of(o, o->now));
	if (r == 0 && word != last_of(o, PUT_WORD, o->now))
		world_fail(w, "a get overtook a put");
	return r;
}

static int issue(struct origin_party *o)
{
	const uint64_t none[2] = { 0, 0 };
	const uint64_t mask[2] = { o->now, 0x0f };
	const uint64_t one[2] = { 1, 0 };
	const uint64_t swap[2] = { last_of(o, SWAP, o->now - 1), o->now };
	uint64_t fetched[3];
	struct iovec got = { fetched, 8 };
	switch ((enum kind)o->program[o->now]) {
	case SEND_FAST:
	case SEND_RDR:
		return issue_send(o, o->program[o->now] == SEND_FAST);
	case PUT_WORD:
		return issue_word(o);
	case PUT_WORDS:
		return issue_put(o, PUT_WORDS, CAY_VCI_INTERRUPT);
	case PUT_NOTIFY:
		return issue_put(o, PUT_NOTIFY, CAY_VCI_NOTIFY);
	case PUT_AREA:
		return issue_area(o);
	case PUT_MASKED:
		return issue_packet(
			o, PUT_MASKED, CAY_MISALIGNED_PUT, 0, mask, NULL);
	case PUT_TOLD:
		return issue_put(o, PUT_TOLD, 0);
	case ADD:
		return issue_packet(o, ADD, CAY_FAA, 0, one, NULL);
	case SWAP:
		return issue_packet(o, SWAP, CAY_CAS, 0, swap, NULL);
	case VCI_PUT:
		return issue_vci_put(o);
	case VCI_SEND:
		return issue_vci_send(o);
	case GET:
		return issue_get(o);
	default:
		return issue_packet(
			o, PUT_WORD, CAY_FAST_GET | 1, 0, none, &got);
	}
}

static bool completes(enum kind k)
{
	return k == PUT_NOTIFY || k == ADD || k == SWAP || k == GET_FAST;
}

/* ---- the origin's own completions ---- */

static void completion_check(struct origin_party *o, const struct cay_nqe *n)
{
	struct world *w = o->world;
	uint32_t k = (uint32_t)n->word[0];
	if ((n->word[7] & 0xffff) != CAY_NOTIFY_CC || k > o->now) {
		world_fail(w, "not a completion, or an error");
		return;
	}
	if (k <= o->last_completed)
		world_fail(w, "a completion out of order");
	o->last_completed = k;
	switch ((enum kind)o->program[k]) {
	case ADD:
		if (n->word[3] != count_of(o, ADD, k))
			world_fail(w, "a wrong sum");
		break;
	case SWAP:
		if (n->word[3] != k || n->word[4] != last_of(o, SWAP, k - 1))
			world_fail(w, "a swap that failed");
		break;
	case GET_FAST:
		if (n->word[2] != last_of(o, PUT_WORD, k))
			world_fail(w, "a fast get overtook a put");
		break;
	default:
		break;
	}
}

static void origin_collect(struct origin_party *o)
{
	struct world *w = o->world;
	struct context *own = fixture_own(&w->bench, o->number);
	uint64_t r = atomic_load(&own->control->r);
	while (counting_peek(own, queue_nq(r))) {
		completion_check(o, &own->nq[queue_nq(r) % BENCH_ENTRIES]);
		r = queue_word(queue_nq(r) + 1, 0);
		counting_return_entries(own, r);
		counting_completions_returned(
			&w->bench.port[o->number].origin, 1);
		o->completed++;
	}
}

static void origin_run(void *argument)
{
	struct origin_party *o = argument;
	struct world *w = o->world;
	for (o->now = 1; o->now <= OPERATIONS; o->now++) {
		int r = issue(o);
		while (r == -EAGAIN) {
			origin_collect(o);
			stage_switch(&w->stage);
			r = issue(o);
		}
		if (r)
			world_fail(w, "an operation failed");
		o->asked += completes((enum kind)o->program[o->now]);
		if (stage_chance(&w->stage, 2))
			origin_collect(o);
	}
	o->now = OPERATIONS;
	while (o->completed < o->asked) {
		origin_collect(o);
		stage_switch(&w->stage);
	}
}

/* ---- what must be seen by now ---- */

static uint64_t word_now(
	const struct world *w, const struct origin_party *o, enum kind kind)
{
	const struct place *p = &w->memory->origin[o->number];
	if (kind == PUT_AREA)
		return p->area[AREA_BYTES - 1];
	return atomic_load(&p->word[kind][kind == PUT_WORDS ? 2 : 0]);
}

/* Everything that `o` had issued up to `k` and that leaves its trace. */
static void memory_check(struct world *w, const struct origin_party *o,
	uint32_t k, const char *what)
{
	for (enum kind kind = PUT_WORD; kind < TRACES; kind++) {
		uint64_t least = kind == ADD ? count_of(o, kind, k)
					     : last_of(o, kind, k);
		if (!is_entry(kind) && word_now(w, o, kind) < least)
			world_fail(w, what);
	}
	if (word_now(w, o, PUT_TOLD) < last_of(o, PUT_TOLD, k))
		world_fail(w, what);
}

static bool entry_published(struct world *w, uint64_t tag)
{
	struct context *own = fixture_own(&w->bench, RECEIVER);
	uint64_t end = queue_nq(atomic_load(&own->control->w));
	for (uint64_t i = w->next; i != end; i = (i + 1) & QUEUE_NQ_MASK) {
		const struct cay_nqe *n = &own->nq[i % BENCH_ENTRIES];
		if (n->word[7] >> 48 == queue_generation(i, own->nq_log2) &&
			n->word[0] == tag)
			return true;
	}
	return false;
}

/* All entries before operation `k` are published or taken. */
static void entries_check(
	struct world *w, const struct origin_party *o, uint32_t k)
{
	for (uint32_t i = o->taken + 1; i < k; i++)
		if (is_entry((enum kind)o->program[i]) &&
			!entry_published(w, tag_of(o, i)))
			world_fail(w, "memory is seen before an earlier entry");
}

/* ---- the receiver and the reader ---- */

static void receiver_post(struct world *w)
{
	while (w->buffers && fixture_post(&w->bench, RECEIVER, w->buffer,
				     MESSAGE_MAX, 0) == 0)
		w->buffers--;
}

static void entry_check(struct world *w, const struct cay_nqe *n)
{
	uint32_t number = (uint32_t)(n->word[0] >> 32);
	uint32_t k = (uint32_t)n->word[0];
	if (!nqe_valid(n) || number >= ORIGINS || k == 0 || k > OPERATIONS) {
		world_fail(w, "a damaged entry");
		return;
	}
	struct origin_party *o = &w->origin[number];
	for (uint32_t i = o->taken + 1; i < k; i++)
		if (is_entry((enum kind)o->program[i]))
			world_fail(w, "entries out of order");
	if (k <= o->taken)
		world_fail(w, "an entry twice or out of order");
	o->taken = k;
	memory_check(w, o, k, "an entry is seen before earlier memory");
}

/* A slot is free again as soon as its entry is taken. */
static void posted_free(struct world *w, const struct cay_nqe *n)
{
	struct context *own = fixture_own(&w->bench, RECEIVER);
	struct cay_posted_receive *slot = &own->posted[n->word[4] - 1];
	if ((slot->state & POSTED_STATE_MASK) != POSTED_FILLED)
		world_fail(w, "an entry tells of a slot not filled");
	slot->state = POSTED_FREE;
	w->buffers++;
}

static void receiver_run(void *argument)
{
	struct world *w = argument;
	struct context *own = fixture_own(&w->bench, RECEIVER);
	for (;;) {
		if (stage_chance(&w->stage, 2))
			receiver_post(w);
		if (!counting_peek(own, w->next)) {
			stage_switch(&w->stage);
			continue;
		}
		const struct cay_nqe *n = &own->nq[w->next % BENCH_ENTRIES];
		unsigned command = n->word[7] & 0xffff;
		entry_check(w, n);
		if (command == CAY_NOTIFY_POSTED_RECV)
			posted_free(w, n);
		if (command != CAY_NOTIFY_FAST_RECV)
			w->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
		w->next = (w->next + 1) & QUEUE_NQ_MASK;
		counting_return_entries(own, queue_word(w->next, w->rdr));
	}
}

static void reader_run(void *argument)
{
	struct world *w = argument;
	for (;;) {
		const struct origin_party *o =
			&w->origin[stage_random(&w->stage) % ORIGINS];
		enum kind kind = PUT_WORD +
				 stage_random(&w->stage) % (TRACES - PUT_WORD);
		if (kind == VCI_SEND || kind == ADD)
			kind = PUT_WORD;
		uint32_t k = (uint32_t)word_now(w, o, kind);
		if (k) {
			memory_check(w, o, k,
				"memory is seen before earlier memory");
			entries_check(w, o, k);
		}
		stage_switch(&w->stage);
	}
}

/* ---- a schedule ---- */

static void world_access(void *argument)
{
	stage_yield(&((struct world *)argument)->stage);
}

static int world_windows(struct world *w)
{
	struct fixture *b = &w->bench;
	uint64_t at = fixture_memory(b, sizeof(struct memory));
	w->buffer = fixture_memory(b, MESSAGE_MAX);
	if (!at || !w->buffer)
		return -ENOMEM;
	w->memory = fixture_at(b, at);
	w->told.window = 1;
	int r = fixture_window(b, RECEIVER, 0, at, sizeof(struct memory),
		BENCH_RIGHTS, &w->open.capability);
	return r ? r
		 : fixture_window(b, RECEIVER, 1, at, sizeof(struct memory),
			   BENCH_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS,
			   &w->told.capability);
}

static int world_open(struct world *w, uint64_t seed)
{
	static const struct queue_options options = { .nq_log2 = BENCH_NQ_LOG2,
		.rdr_log2 = BENCH_RDR_LOG2 };
	memset(w, 0, sizeof(*w));
	if (fixture_open(&w->bench, ORIGINS + 1, &options) != 0 ||
		world_windows(w) != 0)
		return -ENOMEM;
	stage_open(&w->stage, seed);
	w->next = queue_nq(
		atomic_load(&fixture_own(&w->bench, RECEIVER)->control->w));
	w->counting.yield = world_access;
	w->counting.yield_argument = w;
	for (uint32_t i = 0; i < ORIGINS; i++) {
		w->origin[i].world = w;
		w->origin[i].number = i;
	}
	return 0;
}

static void world_cast(struct world *w)
{
	struct stage *s = &w->stage;
	w->buffers = stage_chance(s, 2) ? BUFFERS : 0;
	if (w->buffers && stage_chance(s, 2))
		fixture_posted_mode(&w->bench, RECEIVER, POSTED_ONLY);
	for (uint32_t i = 0; i < ORIGINS; i++) {
		struct origin_party *o = &w->origin[i];
		for (uint32_t k = 1; k <= OPERATIONS; k++)
			o->program[k] = (uint8_t)(stage_random(s) % KINDS);
		stage_add(s, &o->party, origin_run, o);
	}
	stage_add(s, &w->receiver, receiver_run, w);
	stage_add(s, &w->reader, reader_run, w);
}

static bool world_done(const struct world *w)
{
	for (uint32_t i = 0; i < ORIGINS; i++)
		if (!w->origin[i].party.done)
			return false;
	return true;
}

/* Receiver and reader never end: whoever is left plays on for a while. */
static void world_play(struct world *w)
{
	for (uint32_t i = 0; i < SWITCHES_MAX && !w->stage.failure; i++) {
		if (world_done(w) && i % 64 == 0 &&
			queue_nq(atomic_load(&fixture_own(&w->bench, RECEIVER)
						      ->control->w)) == w->next)
			return;
		w->stage.now = stage_pick(&w->stage);
		swapcontext(&w->stage.home, &w->stage.now->context);
	}
	if (!w->stage.failure)
		w->stage.failure = "it does not come to an end";
}

static void world_judge(struct world *w)
{
	for (uint32_t i = 0; i < ORIGINS && !w->stage.failure; i++) {
		const struct origin_party *o = &w->origin[i];
		memory_check(w, o, OPERATIONS, "something is missing");
		for (uint32_t k = o->taken + 1; k <= OPERATIONS; k++)
			if (is_entry((enum kind)o->program[k]))
				w->stage.failure = "an entry is missing";
		if (o->completed != o->asked)
			w->stage.failure = "a completion is missing";
	}
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void schedules(void **state)
{
	static struct world w;
	uint64_t seed = environment("CAY_SEED", 1);
	uint64_t last = seed + environment("CAY_SCHEDULES", 3000);
	(void)state;
	for (; seed < last; seed++) {
		assert_int_equal(world_open(&w, seed), 0);
		world_cast(&w);
		counting_begin(&w.counting);
		world_play(&w);
		counting_end();
		world_judge(&w);
		const char *failure = w.stage.failure;
		stage_close(&w.stage);
		fixture_close(&w.bench);
		if (failure)
			fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1: %s", seed,
				failure);
	}
}

/* ---- pairs: an observer before every access ---- */

static void observe(void *argument)
{
	struct world *w = argument;
	const struct origin_party *o = &w->origin[0];
	uint32_t seen = 0;
	for (uint32_t k = 1; k <= 2; k++) {
		enum kind kind = (enum kind)o->program[k];
		bool there =
			kind >= TRACES ? false
			: is_entry(kind)
				? entry_published(w, tag_of(o, k))
				: word_now(w, o, kind) >=
					  (kind == ADD ? count_of(o, ADD, k)
						       : k);
		if (there)
			seen = k;
	}
	if (seen == 0)
		return;
	memory_check(w, o, seen, "memory is out of order");
	entries_check(w, o, seen);
}

static const char *pair_play(enum kind first, enum kind second, bool posted)
{
	static struct world w;
	assert_int_equal(world_open(&w, 1), 0);
	struct origin_party *o = &w.origin[0];
	o->program[1] = (uint8_t)first;
	o->program[2] = (uint8_t)second;
	w.buffers = posted ? 2 : 0;
	receiver_post(&w);
	w.counting.yield = observe;
	counting_begin(&w.counting);
	for (o->now = 1; o->now <= 2; o->now++)
		assert_int_equal(issue(o), 0);
	observe(&w);
	counting_end();
	o->now = 2;
	world_judge(&w);
	fixture_close(&w.bench);
	return w.stage.failure;
}

static void pairs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * KINDS * KINDS; i++) {
		enum kind first = (enum kind)(i / 2 / KINDS);
		enum kind second = (enum kind)(i / 2 % KINDS);
		const char *failure = pair_play(first, second, i % 2);
		/* Nobody takes entries and completions here. */
		if (failure && strcmp(failure, "an entry is missing") != 0 &&
			strcmp(failure, "a completion is missing") != 0)
			fail_msg("%u, then %u: %s", first, second, failure);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),
		cmocka_unit_test(schedules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
