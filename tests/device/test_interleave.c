/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three senders (two threads of one process, and another process), a receiver
 * and the node's repair, as coroutines on the counting platform that may hand
 * over before every single access, in thousands of schedules. Nothing may be
 * lost, doubled, damaged or out of a sender's order, and nobody may sleep for
 * ever; also when a process is abandoned at any access and repaired from its
 * records.
 *
 * CAY_SCHEDULES sets how many, CAY_SEED which one is the first. A failure
 * names the seed that repeats it.
 */
#include "bench.h"
#include "coroutine.h"

#define SENDERS	     3u
#define MESSAGES     12u
#define RECEIVER     2u /* port; senders are threads of ports 0, 0, 1 */
#define SWITCHES_MAX 200000u
#define LENGTH_MAX   8192u

static const uint32_t process_of[SENDERS] = { 0, 0, 1 };

struct world;

struct sender {
	struct party party;
	struct world *world;
	struct op_record *op;
	uint32_t number, process;
	uint32_t sent;	   /* messages whose call has returned */
	uint32_t asked;	   /* completions */
	uint32_t received; /* by the receiver */
	bool dead;
};

struct world {
	struct stage stage;
	struct fixture bench;
	struct counting counting;
	struct sender sender[SENDERS];
	struct party receiver, repair;
	uint64_t next;			   /* that the receiver will take */
	uint64_t rdr;			   /* up to which it has taken */
	uint64_t r;			   /* as it has returned it */
	uint32_t completed[SENDERS];	   /* completions, by process */
	uint32_t kill_process, kill_after; /* accesses; 0 is never */
	uint32_t deaths;
	bool completions; /* some senders ask for them */
};

/* ---- what a message is, known to both sides ---- */

static uint64_t message_hash(uint64_t tag)
{
	struct stage s = { .random = tag * 0x2545f4914f6cdd1dull };
	return stage_random(&s);
}

static size_t message_length(uint64_t tag)
{
	uint64_t h = message_hash(tag);
	switch (h % 8) {
	case 0:
		return LENGTH_MAX;
	case 1:
	case 2:
	case 3:
		return 41 + h / 8 % 300;
	default:
		return h / 8 % (CAY_FAST_SEND_BYTES + 1);
	}
}

static void message_fill(uint64_t tag, unsigned char *data)
{
	unsigned char byte = (unsigned char)message_hash(tag);
	for (size_t i = 0; i < message_length(tag); i++, byte += 7)
		data[i] = byte;
}

static bool message_right(uint64_t tag, const unsigned char *data)
{
	unsigned char expected[LENGTH_MAX];
	message_fill(tag, expected);
	return memcmp(expected, data, message_length(tag)) == 0;
}

/* ---- senders ---- */

static bool sender_notifies(const struct sender *s, uint64_t tag)
{
	/* Sender 1 shares a port with sender 0, which consumes there. */
	return s->world->completions && s->number != 1 &&
	       message_hash(tag) >> 60 < 6;
}

static int sender_issue(struct sender *s, uint64_t tag)
{
	struct origin *o = &s->world->bench.port[s->process].origin;
	unsigned char data[LENGTH_MAX];
	size_t length = message_length(tag), half = length / 2;
	bool notify = sender_notifies(s, tag);
	const struct iovec payload[2] = { { data, half },
		{ data + half, length - half } };
	const struct packet p = { .command = CAY_SEND,
		.flags = notify ? CAY_VCI_NOTIFY : 0,
		.origin_vpid = o->vpid,
		.tag = tag,
		.pieces = 2,
		.length = length,
		.payload = payload };

	message_fill(tag, data);
	_Atomic(struct context *) *to =
		fixture_route(&s->world->bench, s->process, RECEIVER);
	int r = tag % 2 && !notify && length <= CAY_FAST_SEND_BYTES
			? counting_send_fast(o, s->op, to, tag, 0, data, length)
			: counting_send(o, s->op, to, &p);
	s->asked += notify && r == 0;
	return r;
}

/* The consumer of a sender's own port: completions only. */
static void sender_collect(struct sender *s)
{
	struct world *w = s->world;
	struct context *own = fixture_own(&w->bench, s->process);
	uint64_t r = atomic_load(&own->control->r);
	if (s->number == 1 || !counting_peek(own, queue_nq(r)))
		return;
	struct cay_nqe *n = &own->nq[queue_nq(r) % BENCH_ENTRIES];
	if ((n->word[7] & 0xffff) != CAY_NOTIFY_CC)
		stage_fail(&w->stage, "something else than a completion");
	w->completed[s->process]++;
	counting_return_entries(own, queue_word(queue_nq(r) + 1, 0));
	counting_completions_returned(&w->bench.port[s->process].origin, 1);
}

/* No room: look again soon, or say so in R and sleep as on a futex. */
static int sender_wait(struct sender *s, uint64_t tag)
{
	struct world *w = s->world;
	_Atomic uint64_t *r = &fixture_own(&w->bench, RECEIVER)->control->r;

	sender_collect(s);
	if (sender_notifies(s, tag) || stage_chance(&w->stage, 2)) {
		stage_switch(&w->stage);
		return sender_issue(s, tag);
	}
	uint64_t seen = atomic_fetch_or(r, R_WAITERS) | R_WAITERS;
	int result = sender_issue(s, tag);
	if (result != -EAGAIN)
		return result;
	if (atomic_load(r) >> 32 == seen >> 32)
		stage_block(&w->stage, &w->counting.room_wakes);
	return sender_issue(s, tag);
}

static void sender_run(void *argument)
{
	struct sender *s = argument;
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint64_t tag = (uint64_t)s->number << 32 | i;
		int r = sender_issue(s, tag);
		while (r == -EAGAIN)
			r = sender_wait(s, tag);
		if (r)
			stage_fail(&s->world->stage, "a send failed");
		s->sent++;
		sender_collect(s);
	}
	while (s->world->completed[s->process] < s->asked && s->number != 1) {
		sender_collect(s);
		stage_switch(&s->world->stage);
	}
}

/* ---- the receiver ---- */

static void receiver_check(struct world *w, const struct cay_nqe *n)
{
	const struct context *own = fixture_own(&w->bench, RECEIVER);
	uint64_t tag = n->word[0];
	bool fast = (n->word[7] & 0xffff) == CAY_NOTIFY_FAST_RECV;
	const void *data = &n->word[2];
	uint64_t length = (n->word[7] >> CAY_NQE_BYTES_SHIFT) & 0xffff;

	if (!fast) {
		length = n->word[2];
		data = own->rdr + n->word[3] * RDR_UNIT;
	}
	if (tag >> 32 >= SENDERS)
		stage_fail(&w->stage, "a message from nobody");
	struct sender *s = &w->sender[tag >> 32];
	if ((uint32_t)tag != s->received)
		stage_fail(&w->stage, "lost, doubled or out of order");
	if (length != message_length(tag) || !message_right(tag, data))
		stage_fail(&w->stage, "a damaged message");
	s->received++;
}

static void receiver_take(struct world *w)
{
	const struct context *own = fixture_own(&w->bench, RECEIVER);
	const struct cay_nqe *n = &own->nq[w->next % BENCH_ENTRIES];
	unsigned command = n->word[7] & 0xffff;

	if (!nqe_valid(n))
		stage_fail(&w->stage, "a damaged notification");
	if (command == CAY_NQE_INVALID && w->deaths == 0)
		stage_fail(&w->stage, "a void entry although nobody died");
	if (command != CAY_NQE_INVALID)
		receiver_check(w, n);
	bool extent = command == CAY_NOTIFY_RECV ||
		      (command == CAY_NQE_INVALID && nqe_bytes(n) == 1);
	if (extent)
		w->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	w->next = (w->next + 1) & QUEUE_NQ_MASK;
}

static void receiver_return(struct world *w)
{
	uint64_t r = queue_word(w->next, w->rdr);
	if (r != w->r)
		counting_return_entries(fixture_own(&w->bench, RECEIVER), r);
	w->r = r;
}

/* When it has taken all, W says what a void without extent has skipped. */
static void receiver_settle(struct world *w)
{
	const struct context *own = fixture_own(&w->bench, RECEIVER);
	uint64_t now = atomic_load(&own->control->w);
	if (queue_nq(now) == w->next)
		w->rdr = queue_rdr(now);
}

/* As the kernel does it: the comparison and the sleep are one. */
static void receiver_sleep(struct world *w)
{
	struct context *own = fixture_own(&w->bench, RECEIVER);
	bool armed = stage_chance(&w->stage, 2);
	uint64_t flag = armed ? W_ARMED : W_SLEEP;
	uint32_t rings = w->counting.rings;
	uint64_t seen = counting_sleep(own, w->next, flag);
	if (!seen)
		return;
	stage_yield(&w->stage);
	if (armed && rings == w->counting.rings)
		stage_block(&w->stage, &w->counting.rings);
	if (!armed && atomic_load(&own->control->w) >> 32 == seen >> 32)
		stage_block(&w->stage, &w->counting.wakes);
	counting_cancel_sleep(own, flag);
}

static void receiver_run(void *argument)
{
	struct world *w = argument;
	struct context *own = fixture_own(&w->bench, RECEIVER);
	for (;;) {
		if (counting_peek(own, w->next)) {
			receiver_take(w);
			if (stage_chance(&w->stage, 3))
				receiver_return(w);
			continue;
		}
		if (w->deaths)
			receiver_settle(w);
		receiver_return(w);
		if (stage_chance(&w->stage, 2))
			receiver_sleep(w);
		else
			stage_switch(&w->stage);
	}
}

/* ---- death and repair ---- */

/* Every access of every party comes by here. */
static void world_access(void *argument)
{
	struct world *w = argument;
	struct party *now = w->stage.now;
	bool doomed = false;
	for (uint32_t i = 0; i < SENDERS; i++)
		doomed |= &w->sender[i].party == now &&
			  w->sender[i].process == w->kill_process;
	if (!doomed || w->kill_after == 0 || --w->kill_after > 0) {
		stage_yield(&w->stage);
		return;
	}
	for (uint32_t i = 0; i < SENDERS; i++)
		if (w->sender[i].process == w->kill_process)
			w->sender[i].dead = w->sender[i].party.done = true;
	w->deaths++;
	stage_switch(&w->stage);
}

static bool record_covers(const struct op_record *op, uint64_t position)
{
	uint64_t state = atomic_load(&op->state);
	return (state & OP_STATE_MASK) != OP_IDLE &&
	       (uint16_t)(state >> OP_VPID_SHIFT) == fixture_vpid(RECEIVER) &&
	       queue_nq(atomic_load(&op->w_old)) == position;
}

/* Waits while a living thread says TRY; true if one of them says OWN. */
static bool living_owns(struct world *w, uint64_t position)
{
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct sender *s = &w->sender[i];
		while (!s->dead && record_covers(s->op, position)) {
			uint64_t state = atomic_load(&s->op->state);
			if ((state & OP_STATE_MASK) == OP_OWN)
				return true;
			stage_switch(&w->stage);
		}
	}
	return false;
}

/* Whether a TRY has led to a claim is not known, so nor is its extent. */
static void record_repair(struct world *w, const struct op_record *op)
{
	struct context *to = fixture_own(&w->bench, RECEIVER);
	bool owned = (atomic_load(&op->state) & OP_STATE_MASK) == OP_OWN;
	uint64_t position = queue_nq(atomic_load(&op->w_old));
	int64_t rdr = (int64_t)queue_rdr(atomic_load(&op->w_new));

	if (!record_covers(op, position))
		return;
	stage_yield(&w->stage);
	uint64_t ahead =
		queue_ahead(queue_nq(atomic_load(&to->control->w)), position);
	bool claimed = ahead >= 1 && ahead <= QUEUE_NQ_MASK / 2;
	if (!owned && (!claimed || living_owns(w, position)))
		return;
	stage_yield(&w->stage);
	counting_void_entry(to, position, owned ? rdr : -1);
}

/* The dead may have owed a wake-up, so repair wakes in any case. */
static void repair_run(void *argument)
{
	struct world *w = argument;
	if (w->deaths == 0)
		stage_block(&w->stage, &w->deaths);
	for (uint32_t i = 0; i < SENDERS; i++)
		if (w->sender[i].dead)
			record_repair(w, w->sender[i].op);
	w->counting.wakes++;
	w->counting.rings++;
}

/* ---- a schedule ---- */

static int world_open(struct world *w, uint64_t seed)
{
	static const struct queue_options options = { .nq_log2 = BENCH_NQ_LOG2,
		.rdr_log2 = BENCH_RDR_LOG2 };
	memset(w, 0, sizeof(*w));
	if (fixture_open(&w->bench, 4, &options) != 0)
		return -ENOMEM;
	stage_open(&w->stage, seed);
	w->r = atomic_load(&fixture_own(&w->bench, RECEIVER)->control->r);
	w->next = queue_nq(w->r);
	w->completions = stage_chance(&w->stage, 2);
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct sender *s = &w->sender[i];
		s->world = w;
		s->number = i;
		s->process = process_of[i];
		s->op = w->bench.port[i == 2 ? 3 : i].op;
		stage_add(&w->stage, &s->party, sender_run, s);
	}
	stage_add(&w->stage, &w->receiver, receiver_run, w);
	stage_add(&w->stage, &w->repair, repair_run, w);
	w->counting.arena = &w->bench.arena;
	w->counting.yield = world_access;
	w->counting.yield_argument = w;
	return 0;
}

static void world_close(struct world *w)
{
	stage_close(&w->stage);
	fixture_close(&w->bench);
}

/* NULL, or what is wrong now that nobody can go on. */
static const char *world_judge(const struct world *w)
{
	const struct context *own = fixture_own(&w->bench, RECEIVER);
	if (w->stage.failure)
		return w->stage.failure;
	if (queue_nq(atomic_load(&own->control->w)) != w->next)
		return "the receiver sleeps although there is something";
	for (uint32_t i = 0; i < SENDERS; i++) {
		const struct sender *s = &w->sender[i];
		if (!s->party.done)
			return "a sender sleeps although there is room";
		if (!s->dead && s->received != MESSAGES)
			return "not everything has arrived";
		if (!s->dead && s->number != 1 &&
			w->completed[s->process] != s->asked)
			return "a completion is missing or too many";
		/* The one in the middle of which it died may count. */
		if (s->received < s->sent || s->received > s->sent + 1)
			return "what a dead sender had sent is not there";
	}
	return NULL;
}

static void world_play(
	uint64_t seed, uint32_t kill_process, uint32_t kill_after)
{
	static struct world w;
	assert_int_equal(world_open(&w, seed), 0);
	w.kill_process = kill_process;
	w.kill_after = kill_after;
	counting_begin(&w.counting);
	stage_play(&w.stage, SWITCHES_MAX);
	counting_end();
	const char *wrong = world_judge(&w);
	world_close(&w);
	if (wrong)
		fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1 (process %u dies after "
			 "%u accesses): %s",
			seed, kill_process, kill_after, wrong);
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void all_live(void **state)
{
	(void)state;
	uint64_t seed = environment("CAY_SEED", 1);
	uint64_t schedules = environment("CAY_SCHEDULES", 3000);
	for (uint64_t i = 0; i < schedules; i++)
		world_play(seed + i, 0, 0);
}

static void one_process_dies(void **state)
{
	(void)state;
	uint64_t seed = environment("CAY_SEED", 1);
	uint64_t schedules = environment("CAY_SCHEDULES", 3000);
	for (uint64_t i = 0; i < schedules; i++) {
		struct stage s = { .random = ~(seed + i) };
		uint32_t process = stage_random(&s) % 2;
		world_play(seed + i, process, 1 + stage_random(&s) % 400);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_live),
		cmocka_unit_test(one_process_dies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
