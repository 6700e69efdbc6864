/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interleavings of messages: three senders (two threads of one process and a
 * second process), a receiver and the node's repair are coroutines on the
 * counting platform that can switch before every access, in thousands of
 * schedules. No message is lost, duplicated, damaged or reordered, and no
 * thread sleeps forever; also if a process dies at a random access and its
 * entries are repaired.
 *
 * CAY_SCHEDULES is the number of schedules, CAY_SEED the first seed. A failure
 * prints the seed.
 */
#include "coroutine.h"
#include "testbench.h"

#define SENDERS	     3u
#define MESSAGES     12u
#define RECEIVER     2u /* port; senders are threads of ports 0, 0, 1 */
#define SWITCHES_MAX 200000u
#define LENGTH_MAX   8192u

static const uint32_t process_of[SENDERS] = { 0, 0, 1 };

struct simulation;

struct sender {
	struct coroutine coroutine;
	struct simulation *sim;
	struct op_record *op;
	uint32_t number, process;
	uint32_t sent;	 /* messages whose call has returned */
	uint32_t trying; /* messages of the call in progress */
	uint32_t completions_expected;
	uint32_t received; /* messages that the receiver got */
	bool dead;
};

struct simulation {
	struct scheduler scheduler;
	struct fixture fixture;
	struct counting counting;
	struct sender sender[SENDERS];
	struct coroutine receiver, repair;
	uint64_t next;			   /* entry to receive next */
	uint64_t rdr;			   /* payload units received */
	uint64_t r;			   /* R as last returned */
	uint32_t completed[SENDERS];	   /* completions by process */
	uint32_t kill_process, kill_after; /* accesses; 0 is never */
	uint32_t deaths;
	bool completions; /* some messages request them */
};

/* ---- messages: length and contents follow from the tag ---- */

static uint64_t message_hash(uint64_t tag)
{
	struct scheduler s = { .random = tag * 0x2545f4914f6cdd1dull };
	return scheduler_random(&s);
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

static bool message_intact(uint64_t tag, const unsigned char *data)
{
	unsigned char expected[LENGTH_MAX];
	message_fill(tag, expected);
	return memcmp(expected, data, message_length(tag)) == 0;
}

/* ---- senders ---- */

static bool sender_wants_completion(const struct sender *s, uint64_t tag)
{
	/* Sender 1 shares its port with sender 0, which receives there. */
	return s->sim->completions && s->number != 1 &&
	       message_hash(tag) >> 60 < 6;
}

static int sender_issue(struct sender *s, uint64_t tag)
{
	struct origin *o = &s->sim->fixture.port[s->process].origin;
	unsigned char data[LENGTH_MAX];
	size_t length = message_length(tag), half = length / 2;
	bool notify = sender_wants_completion(s, tag);
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
		fixture_route(&s->sim->fixture, s->process, RECEIVER);
	int r = tag % 2 && !notify && length <= CAY_FAST_SEND_BYTES
			? counting_send_fast(o, to, tag, data, length, s->op)
			: counting_send(o, s->op, to, &p);
	s->completions_expected += notify && r == 0;
	return r;
}

#define BURST_MAX 4

/* Returns how many messages from `first` on a burst can have. */
static uint32_t sender_burst_length(const struct sender *s, uint32_t first)
{
	uint32_t n = 0;
	while (n < BURST_MAX && first + n < MESSAGES) {
		uint64_t tag = (uint64_t)s->number << 32 | (first + n);
		if (message_length(tag) > CAY_FAST_SEND_BYTES ||
			sender_wants_completion(s, tag))
			break;
		n++;
	}
	return n;
}

/* Returns how many were sent, or -EAGAIN. */
static int sender_issue_burst(struct sender *s, uint32_t first, uint32_t count)
{
	unsigned char data[BURST_MAX][CAY_FAST_SEND_BYTES];
	struct cay_message messages[BURST_MAX];
	for (uint32_t i = 0; i < count; i++) {
		uint64_t tag = (uint64_t)s->number << 32 | (first + i);
		message_fill(tag, data[i]);
		messages[i] = (struct cay_message){ .tag = tag,
			.data = data[i],
			.length = message_length(tag) };
	}
	return counting_send_burst(&s->sim->fixture.port[s->process].origin,
		s->op, fixture_route(&s->sim->fixture, s->process, RECEIVER),
		messages, count);
}

/* Receives at most one completion at the sender's own port. */
static void sender_receive_completion(struct sender *s)
{
	struct simulation *sim = s->sim;
	struct context *own = fixture_own(&sim->fixture, s->process);
	uint64_t r = atomic_load(&own->control->r);
	if (s->number == 1 || !counting_peek(own, queue_nq(r)))
		return;
	struct cay_nqe *n = &own->nq[queue_nq(r) % TB_ENTRIES];
	if ((n->word[7] & 0xffff) != CAY_NOTIFY_CC)
		scheduler_fail(&sim->scheduler,
			"a notification other than a completion");
	sim->completed[s->process]++;
	counting_return_entries(own, queue_word(queue_nq(r) + 1, 0));
	counting_completions_returned(&sim->fixture.port[s->process].origin, 1);
}

/* Backpressure: retries later, or sets R_WAITERS and sleeps as on a futex. */
static int sender_wait(struct sender *s, uint64_t tag)
{
	struct simulation *sim = s->sim;
	_Atomic uint64_t *r = &fixture_own(&sim->fixture, RECEIVER)->control->r;

	sender_receive_completion(s);
	if (sender_wants_completion(s, tag) ||
		scheduler_chance(&sim->scheduler, 2)) {
		scheduler_switch(&sim->scheduler);
		return sender_issue(s, tag);
	}
	uint64_t seen = atomic_fetch_or(r, R_WAITERS) | R_WAITERS;
	int result = sender_issue(s, tag);
	if (result != -EAGAIN)
		return result;
	if (atomic_load(r) >> 32 == seen >> 32)
		scheduler_block(&sim->scheduler, &sim->counting.room_wakes);
	return sender_issue(s, tag);
}

static void sender_run(void *argument)
{
	struct sender *s = argument;
	while (s->sent < MESSAGES) {
		uint64_t tag = (uint64_t)s->number << 32 | s->sent;
		uint32_t burst = sender_burst_length(s, s->sent);
		s->trying = burst > 1 ? burst : 1;
		int r = burst > 1 ? sender_issue_burst(s, s->sent, burst) : 0;
		if (r > 0) {
			s->sent += (uint32_t)r;
			continue;
		}
		s->trying = 1;
		if (r == 0)
			r = sender_issue(s, tag);
		while (r == -EAGAIN)
			r = sender_wait(s, tag);
		if (r)
			scheduler_fail(&s->sim->scheduler, "a send failed");
		s->sent++;
		sender_receive_completion(s);
	}
	while (s->sim->completed[s->process] < s->completions_expected &&
		s->number != 1) {
		sender_receive_completion(s);
		scheduler_switch(&s->sim->scheduler);
	}
}

/* ---- receiver ---- */

static void check_message(struct simulation *sim, const struct cay_nqe *n)
{
	const struct context *own = fixture_own(&sim->fixture, RECEIVER);
	uint64_t tag = n->word[0];
	bool fast = (n->word[7] & 0xffff) == CAY_NOTIFY_FAST_RECV;
	const void *data = &n->word[2];
	uint64_t length = (n->word[7] >> CAY_NQE_BYTES_SHIFT) & 0xffff;

	if (!fast) {
		length = n->word[2];
		data = own->rdr + n->word[3] * RDR_UNIT;
	}
	if (tag >> 32 >= SENDERS)
		scheduler_fail(
			&sim->scheduler, "a message from an unknown sender");
	struct sender *s = &sim->sender[tag >> 32];
	if ((uint32_t)tag != s->received)
		scheduler_fail(&sim->scheduler,
			"a message is lost, duplicated or out of order");
	if (length != message_length(tag) || !message_intact(tag, data))
		scheduler_fail(&sim->scheduler, "a damaged message");
	s->received++;
}

static void receive_entry(struct simulation *sim)
{
	const struct context *own = fixture_own(&sim->fixture, RECEIVER);
	const struct cay_nqe *n = &own->nq[sim->next % TB_ENTRIES];
	unsigned command = n->word[7] & 0xffff;

	if (!nqe_valid(n))
		scheduler_fail(&sim->scheduler, "a damaged notification");
	if (command == CAY_NQE_INVALID && sim->deaths == 0)
		scheduler_fail(&sim->scheduler,
			"a void entry although no process died");
	if (command != CAY_NQE_INVALID)
		check_message(sim, n);
	bool extent = command == CAY_NOTIFY_RECV ||
		      (command == CAY_NQE_INVALID && nqe_bytes(n) == 1);
	if (extent)
		sim->rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	sim->next = (sim->next + 1) & QUEUE_NQ_MASK;
}

static void receiver_return(struct simulation *sim)
{
	uint64_t r = queue_word(sim->next, sim->rdr);
	if (r != sim->r)
		counting_return_entries(
			fixture_own(&sim->fixture, RECEIVER), r);
	sim->r = r;
}

/* In an empty queue, W includes payload that void entries have skipped. */
static void receiver_skip_void_payload(struct simulation *sim)
{
	const struct context *own = fixture_own(&sim->fixture, RECEIVER);
	uint64_t now = atomic_load(&own->control->w);
	if (queue_nq(now) == sim->next)
		sim->rdr = queue_rdr(now);
}

/* Comparison and sleep are atomic, as in the kernel's futex. */
static void receiver_sleep(struct simulation *sim)
{
	struct context *own = fixture_own(&sim->fixture, RECEIVER);
	bool armed = scheduler_chance(&sim->scheduler, 2);
	uint64_t flag = armed ? W_ARMED : W_SLEEP;
	uint32_t rings = sim->counting.rings;
	uint64_t seen = counting_sleep(own, sim->next, flag);
	if (!seen)
		return;
	scheduler_yield(&sim->scheduler);
	if (armed && rings == sim->counting.rings)
		scheduler_block(&sim->scheduler, &sim->counting.rings);
	if (!armed && atomic_load(&own->control->w) >> 32 == seen >> 32)
		scheduler_block(&sim->scheduler, &sim->counting.wakes);
	counting_cancel_sleep(own, flag);
}

static void receiver_run(void *argument)
{
	struct simulation *sim = argument;
	struct context *own = fixture_own(&sim->fixture, RECEIVER);
	for (;;) {
		if (counting_peek(own, sim->next)) {
			receive_entry(sim);
			if (scheduler_chance(&sim->scheduler, 3))
				receiver_return(sim);
			continue;
		}
		if (sim->deaths)
			receiver_skip_void_payload(sim);
		receiver_return(sim);
		if (scheduler_chance(&sim->scheduler, 2))
			receiver_sleep(sim);
		else
			scheduler_switch(&sim->scheduler);
	}
}

/* ---- death and repair ---- */

/* Called before every access of every coroutine; kills the victim. */
static void sim_before_access(void *argument)
{
	struct simulation *sim = argument;
	struct coroutine *now = sim->scheduler.current;
	bool victim = false;
	for (uint32_t i = 0; i < SENDERS; i++)
		victim |= &sim->sender[i].coroutine == now &&
			  sim->sender[i].process == sim->kill_process;
	if (!victim || sim->kill_after == 0 || --sim->kill_after > 0) {
		scheduler_yield(&sim->scheduler);
		return;
	}
	for (uint32_t i = 0; i < SENDERS; i++)
		if (sim->sender[i].process == sim->kill_process)
			sim->sender[i].dead = sim->sender[i].coroutine.done =
				true;
	sim->deaths++;
	scheduler_switch(&sim->scheduler);
}

static bool record_covers(const struct op_record *op, uint64_t position)
{
	uint64_t state = atomic_load(&op->state);
	return (state & OP_STATE_MASK) != OP_IDLE &&
	       (uint16_t)(state >> OP_VPID_SHIFT) == fixture_vpid(RECEIVER) &&
	       queue_in_range(position, queue_nq(atomic_load(&op->w_old)),
		       queue_nq(atomic_load(&op->w_new)));
}

/* Waits while a live thread is in TRY; true if one is in OWN. */
static bool live_thread_owns(struct simulation *sim, uint64_t position)
{
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct sender *s = &sim->sender[i];
		while (!s->dead && record_covers(s->op, position)) {
			uint64_t state = atomic_load(&s->op->state);
			if ((state & OP_STATE_MASK) == OP_OWN)
				return true;
			scheduler_switch(&sim->scheduler);
		}
	}
	return false;
}

/*
 * Voids an entry of a dead thread. A thread in TRY may or may not have
 * claimed it, so its extent is unknown.
 */
static void repair_entry(
	struct simulation *sim, const struct op_record *op, uint64_t position)
{
	struct context *to = fixture_own(&sim->fixture, RECEIVER);
	bool owned = (atomic_load(&op->state) & OP_STATE_MASK) == OP_OWN;
	int64_t rdr = (int64_t)queue_rdr(atomic_load(&op->w_new));

	if (!record_covers(op, position))
		return;
	scheduler_yield(&sim->scheduler);
	uint64_t distance =
		queue_ahead(queue_nq(atomic_load(&to->control->w)), position);
	bool claimed = distance >= 1 && distance <= QUEUE_NQ_MASK / 2;
	if (!owned && (!claimed || live_thread_owns(sim, position)))
		return;
	scheduler_yield(&sim->scheduler);
	counting_void_entry(to, position, owned ? rdr : -1);
}

/* Wakes the receiver in any case: the dead thread may have been about to. */
static void repair_run(void *argument)
{
	struct simulation *sim = argument;
	if (sim->deaths == 0)
		scheduler_block(&sim->scheduler, &sim->deaths);
	for (uint32_t i = 0; i < SENDERS; i++) {
		const struct op_record *op = sim->sender[i].op;
		uint64_t first = atomic_load(&op->w_old);
		for (uint64_t n = 0; sim->sender[i].dead && n < BURST_MAX; n++)
			repair_entry(sim, op, queue_nq(first + n));
	}
	sim->counting.wakes++;
	sim->counting.rings++;
}

/* ---- schedules ---- */

static int sim_open(struct simulation *sim, uint64_t seed)
{
	static const struct queue_options options = { .nq_log2 = TB_NQ_LOG2,
		.rdr_log2 = TB_RDR_LOG2 };
	memset(sim, 0, sizeof(*sim));
	if (fixture_open(&sim->fixture, 4, &options) != 0)
		return -ENOMEM;
	scheduler_open(&sim->scheduler, seed);
	sim->r = atomic_load(&fixture_own(&sim->fixture, RECEIVER)->control->r);
	sim->next = queue_nq(sim->r);
	sim->completions = scheduler_chance(&sim->scheduler, 2);
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct sender *s = &sim->sender[i];
		s->sim = sim;
		s->number = i;
		s->process = process_of[i];
		s->op = sim->fixture.port[i == 2 ? 3 : i].op;
		scheduler_add(&sim->scheduler, &s->coroutine, sender_run, s);
	}
	scheduler_add(&sim->scheduler, &sim->receiver, receiver_run, sim);
	scheduler_add(&sim->scheduler, &sim->repair, repair_run, sim);
	sim->counting.arena = &sim->fixture.arena;
	sim->counting.yield = sim_before_access;
	sim->counting.yield_argument = sim;
	return 0;
}

static void sim_close(struct simulation *sim)
{
	scheduler_close(&sim->scheduler);
	fixture_close(&sim->fixture);
}

/* Returns the failure of a schedule that has ended, or NULL. */
static const char *sim_verdict(const struct simulation *sim)
{
	const struct context *own = fixture_own(&sim->fixture, RECEIVER);
	if (sim->scheduler.failure)
		return sim->scheduler.failure;
	if (queue_nq(atomic_load(&own->control->w)) != sim->next)
		return "the receiver sleeps although an entry is there";
	for (uint32_t i = 0; i < SENDERS; i++) {
		const struct sender *s = &sim->sender[i];
		if (!s->coroutine.done)
			return "a sender sleeps although the queue is not full";
		if (!s->dead && s->received != MESSAGES)
			return "a message is missing";
		if (!s->dead && s->number != 1 &&
			sim->completed[s->process] != s->completions_expected)
			return "the number of completions is wrong";
		/* Messages in progress at death may have been published. */
		if (s->received < s->sent || s->received > s->sent + s->trying)
			return "a message of a dead sender is missing";
	}
	return NULL;
}

static void run_schedule(
	uint64_t seed, uint32_t kill_process, uint32_t kill_after)
{
	static struct simulation sim;
	assert_int_equal(sim_open(&sim, seed), 0);
	sim.kill_process = kill_process;
	sim.kill_after = kill_after;
	counting_begin(&sim.counting);
	scheduler_run(&sim.scheduler, SWITCHES_MAX);
	counting_end();
	const char *failure = sim_verdict(&sim);
	sim_close(&sim);
	if (failure)
		fail_msg("CAY_SEED=%lu CAY_SCHEDULES=1 (process %u dies after "
			 "%u accesses): %s",
			seed, kill_process, kill_after, failure);
}

static void all_processes_survive(void **state)
{
	(void)state;
	uint64_t seed = environment_number("CAY_SEED", 1);
	uint64_t schedules = environment_number("CAY_SCHEDULES", 3000);
	for (uint64_t i = 0; i < schedules; i++)
		run_schedule(seed + i, 0, 0);
}

static void one_process_dies(void **state)
{
	(void)state;
	uint64_t seed = environment_number("CAY_SEED", 1);
	uint64_t schedules = environment_number("CAY_SCHEDULES", 3000);
	for (uint64_t i = 0; i < schedules; i++) {
		struct scheduler s = { .random = ~(seed + i) };
		uint32_t process = scheduler_random(&s) % 2;
		run_schedule(seed + i, process, 1 + scheduler_random(&s) % 400);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processes_survive),
		cmocka_unit_test(one_process_dies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
