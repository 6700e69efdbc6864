/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives at the device: what arrives, what a full and an empty queue
 * do, and what becomes of a slot whose sender fails, leaves, is overtaken, or
 * dies before any of its accesses.
 */
#include "intrusion.h"
#include "small_node.h"

static void assert_posted(const struct cay_nqe *n, uint64_t length,
	uint64_t cookie, unsigned error)
{
	assert_true(nqe_valid(n));
	assert_int_equal(nqe_command(n),
		CAY_NOTIFY_POSTED_RECV | error << CAY_COMMAND_ERROR_SHIFT);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], length);
	assert_int_equal(n->word[CAY_NQE_WORD_COOKIE], cookie);
}

/* The next entry of port 1 tells of this cookie; its slot is given back. */
static void expect_posted(
	struct bench *b, uint64_t length, uint64_t cookie, unsigned error)
{
	struct cay_nqe n;
	assert_true(bench_take(b, 1, &n));
	assert_posted(&n, length, cookie, error);
	bench_posted_free(b, &n);
}

static uint64_t available(const struct bench *b)
{
	return atomic_load(&workbench_own(&b->w, 1)->posted_head->available);
}

static uint32_t count_in(const struct bench *b, enum posted_state state)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < workbench_own(&b->w, 1)->posted_entries; i++)
		count += bench_posted_state(b, i) == state;
	return count;
}

/* ---- what arrives ---- */

static void posted_recv_word_by_word(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	unsigned char *first = bench_post(b, 64, 0x111);
	unsigned char *second = bench_post(b, 300, 0x222);
	assert_int_equal(bench_send(b, 5, 64, 0), 0);
	assert_int_equal(bench_send(b, UINT64_MAX, 129, 0), 0);
	assert_true(bench_take(b, 1, &n));
	assert_posted(&n, 64, 0x111, 0);
	assert_int_equal(n.word[CAY_NQE_WORD_POSTED], 1);
	assert_memory_equal(first, b->data, 64);
	assert_true(bench_take(b, 1, &n));
	assert_posted(&n, 129, 0x222, 0);
	assert_true(n.word[0] == UINT64_MAX);
	assert_true(n.word[1] == (WORKBENCH_NODE | 0xa91ull << 32));
	assert_int_equal(n.word[CAY_NQE_WORD_POSTED], 2);
	assert_int_equal(n.word[5], 0);
	assert_int_equal(n.word[6], 0);
	assert_int_equal((n.word[7] >> 32) & 0xffff, workbench_vpid(0));
	assert_memory_equal(second, b->data, 129);
	assert_int_equal(second[129], 0);
	assert_int_equal(available(b), 0);
}

/* As much as fits, and not a byte more. */
static void longer_messages_are_truncated(void **state)
{
	struct bench *b = *state;
	static const struct {
		size_t buffer, length;
	} tries[] = { { 1, 41 }, { 40, 41 }, { 100, 101 }, { 63, 8192 },
		{ 8191, 8192 }, { 4096, 65536 } };
	for (size_t i = 0; i < ARRAY_COUNT(tries); i++) {
		unsigned char *at = bench_post(b, tries[i].buffer, i);
		memset(at, 0xee, tries[i].buffer + 1);
		assert_int_equal(bench_send(b, 1, tries[i].length, 0), 0);
		expect_posted(
			b, tries[i].length, i, CAY_ERROR_POSTED_TRUNCATED);
		assert_memory_equal(at, b->data, tries[i].buffer);
		assert_int_equal(at[tries[i].buffer], 0xee);
	}
}

/* Gathered from pieces, some of them empty, and cut in the middle of one. */
static void pieces_are_joined(void **state)
{
	struct bench *b = *state;
	const struct iovec pieces[] = { { b->data, 30 }, { NULL, 0 },
		{ b->data + 30, 50 }, { b->data + 80, 20 } };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = workbench_vpid(0),
		.pieces = ARRAY_COUNT(pieces),
		.length = 100,
		.payload = pieces };
	static const size_t rooms[] = { 100, 99, 80, 79, 31, 30, 1 };
	for (size_t i = 0; i < ARRAY_COUNT(rooms); i++) {
		unsigned char *at = bench_post(b, rooms[i], i);
		assert_int_equal(
			counting_send(&b->w.port[0].origin, b->w.port[0].op,
				workbench_route(&b->w, 0, 1), &p),
			0);
		expect_posted(b, 100, i,
			rooms[i] < 100 ? CAY_ERROR_POSTED_TRUNCATED : 0);
		assert_memory_equal(at, b->data, rooms[i]);
		assert_int_equal(at[rooms[i]], 0);
	}
}

/* A work request takes one as a call does, also for a long message. */
static void work_requests_are_posted_too(void **state)
{
	struct bench *b = *state;
	struct origin *o = &b->w.port[0].origin;
	struct cay_nqe n;
	memcpy(o->sdr, b->data, 20000);
	struct cay_vci v = { { CAY_SEND | 1ull << 32, workbench_vpid(1), 7, 10,
		20 } };
	static const size_t lengths[] = { 40, 41, 8192, 8193, 19000 };
	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		unsigned char *at = bench_post(b, 20000, i);
		v.word[4] = lengths[i];
		bench_vci(b, &v);
		if (lengths[i] <= CAY_FAST_SEND_BYTES) {
			assert_true(bench_take(b, 1, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_FAST_RECV);
			continue;
		}
		/* The slot that the short one left is the first. */
		expect_posted(b, lengths[i], i - 1, 0);
		assert_memory_equal(at - 20480, b->data + 10, lengths[i]);
		if (lengths[i] > QUEUE_PAYLOAD_MAX) {
			assert_true(bench_take(b, 0, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
			assert_int_equal(n.word[2], lengths[i]);
			counting_completions_taken(o, 1);
		}
		assert_false(bench_take(b, 0, &n));
	}
	assert_int_equal(o->references, 0);
}

/* ---- without a buffer ---- */

static void exhausted_goes_to_the_rdr(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	bench_post(b, 64, 1);
	assert_int_equal(bench_send(b, 1, 50, 0), 0);
	assert_int_equal(bench_send(b, 2, 50, 0), 0);
	expect_posted(b, 50, 1, 0);
	assert_true(bench_take(b, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	/* Too long for the RDR: the caller must send a reference. */
	assert_int_equal(bench_send(b, 3, 8193, 0), -E2BIG);
	bench_post(b, 64, 2);
	assert_int_equal(bench_send(b, 4, 8193, 0), 0);
	expect_posted(b, 8193, 2, CAY_ERROR_POSTED_TRUNCATED);
}

static void held_senders_wait(void **state)
{
	struct bench *b = *state;
	workbench_posted_mode(&b->w, 1, POSTED_HELD);
	assert_int_equal(bench_send(b, 1, 41, 0), -EAGAIN);
	assert_int_equal(bench_send(b, 1, 9000, 0), -EAGAIN);
	assert_int_equal(bench_send(b, 1, 41, CAY_VCI_NOTIFY), -EAGAIN);
	assert_int_equal(b->w.port[0].origin.completions, 0);
	assert_true(bench_w(b, 1) == bench_r(b, 1));
	bench_post(b, 64, 1);
	assert_int_equal(bench_send(b, 1, 41, 0), 0);
	assert_int_equal(bench_send(b, 1, 41, 0), -EAGAIN);
	workbench_posted_mode(&b->w, 1, POSTED_RDR);
	assert_int_equal(bench_send(b, 1, 41, 0), 0);
}

/* A full queue: no buffer is taken for what nobody could be told of. */
static void full_queue_takes_no_buffer(void **state)
{
	struct bench *b = *state;
	struct cay_nqe n;
	bench_post(b, 64, 1);
	while (bench_fast(b, 1, 2, 8) == 0)
		continue;
	counting_begin(&b->c);
	assert_int_equal(bench_send(b, 1, 41, 0), -EAGAIN);
	counting_end();
	assert_int_equal(b->c.kind[HOST_POSTED].atomics, 0);
	assert_int_equal(count_in(b, POSTED_READY), 1);
	assert_int_equal(available(b), 1);
	/* But one that is urgent has room. */
	assert_int_equal(bench_send(b, 1, 41, CAY_VCI_PRIORITY), 0);
	assert_int_equal(count_in(b, POSTED_FILLED), 1);
	while (bench_take(b, 1, &n))
		continue;
}

/* ---- descriptors that lead nowhere ---- */

static void invalid_slots_are_passed_over(void **state)
{
	struct bench *b = *state;
	static const struct cay_posted_receive wrong[] = {
		{ .offset = 0, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET - 1, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 0 },
		{ .offset = ARENA_HEAP_OFFSET, .length = UINT64_MAX },
		{ .offset = UINT64_MAX - 10, .length = 64 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 64, .flags = 1 },
		{ .offset = ARENA_HEAP_OFFSET, .length = 64, .flags = 1 << 7 },
	};
	struct cay_posted_receive *slots = workbench_own(&b->w, 1)->posted;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		bench_post(b, 64, i);
		slots[i].offset = wrong[i].offset;
		slots[i].length = wrong[i].length;
		slots[i].flags = wrong[i].flags;
	}
	unsigned char *right = bench_post(b, 64, 99);
	assert_int_equal(bench_send(b, 1, 60, 0), 0);
	expect_posted(b, 60, 99, 0);
	assert_memory_equal(right, b->data, 60);
	/* They are their owner's again, not somebody's to fail at. */
	assert_int_equal(count_in(b, POSTED_READY), 0);
	assert_int_equal(count_in(b, POSTED_TAKEN), 0);
	assert_int_equal(available(b), 0);
	assert_int_equal(bench_send(b, 1, 60, 0), 0);
}

/* Slots in a circle: the hint goes round, and nothing is taken twice. */
static void slots_go_round(void **state)
{
	struct bench *b = *state;
	uint32_t entries = workbench_own(&b->w, 1)->posted_entries;
	uint64_t at = workbench_memory(&b->w, 64);
	for (uint32_t i = 0; i < entries; i++)
		assert_int_equal(workbench_post(&b->w, 1, at, 64, i), 0);
	assert_int_equal(workbench_post(&b->w, 1, at, 64, 0), -EAGAIN);
	for (uint32_t i = 0; i < 3 * entries; i++) {
		assert_int_equal(bench_send(b, 1, 41, 0), 0);
		expect_posted(b, 41, i, 0);
		assert_int_equal(
			workbench_post(&b->w, 1, at, 64, i + entries), 0);
		assert_int_equal(available(b), entries);
	}
}

/* ---- a sender that leaves ---- */

static struct op_record *op_of(struct bench *b)
{
	return b->w.port[0].op;
}

/*
 * A call that did not come back has left its name behind, and the slot TAKEN;
 * or somebody else's, or one of a port that had this VPID before.
 */
static void leftovers_come_back(void **state)
{
	struct bench *b = *state;
	struct context *own = workbench_own(&b->w, 1);
	uint64_t name = (uint64_t)workbench_vpid(1) << 32;
	uint64_t mine =
		(uint64_t)((unsigned char *)op_of(b) - b->w.arena.base) /
			sizeof(struct op_record)
		<< POSTED_TAKER_SHIFT;
	bench_post(b, 64, 1);
	bench_post(b, 64, 2);
	own->posted[0].state = mine | POSTED_TAKEN;
	own->posted[1].state = (mine + (1ull << POSTED_TAKER_SHIFT)) |
			       POSTED_TAKEN;
	atomic_store(&own->posted_head->available, 0);

	atomic_store(&op_of(b)->posted, name | 2);
	workbench_posted_mode(&b->w, 1, POSTED_HELD);
	assert_int_equal(bench_send(b, 1, 41, 0), -EAGAIN);
	assert_int_equal(atomic_load(&op_of(b)->posted), 0);
	assert_int_equal(count_in(b, POSTED_TAKEN), 2);
	assert_int_equal(available(b), 0);

	atomic_store(&op_of(b)->posted, name | 9999);
	assert_int_equal(bench_send(b, 1, 41, 0), -EAGAIN);

	atomic_store(&op_of(b)->posted, name | 1);
	assert_int_equal(bench_send(b, 1, 41, 0), 0);
	expect_posted(b, 41, 1, 0);
	assert_int_equal(available(b), 0);
}

/* ---- intrusions before every access ---- */

static void *buffers[2];

static void prepare_one(struct bench *b)
{
	buffers[0] = bench_post(b, 128, 42);
}

static void prepare_held(struct bench *b)
{
	prepare_one(b);
	workbench_posted_mode(&b->w, 1, POSTED_HELD);
}

static int send_100(struct bench *b)
{
	return bench_send(b, 42, 100, 0);
}

static int send_100_perhaps(struct bench *b)
{
	int r = send_100(b);
	return r == -EAGAIN ? 0 : r;
}

static int sends_from_2(struct bench *b)
{
	static unsigned char other[100];
	memset(other, 0x22, sizeof(other));
	const struct iovec payload = { other, sizeof(other) };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = workbench_vpid(2),
		.tag = 2,
		.pieces = 1,
		.length = sizeof(other),
		.payload = &payload };
	return counting_send(&b->w.port[2].origin, b->w.port[2].op,
		workbench_route(&b->w, 2, 1), &p);
}

static void rival_sends(struct bench *b)
{
	int r = sends_from_2(b);
	assert_true(r == 0 || r == -EAGAIN);
}

/* Two race for one buffer: one gets it, the other the RDR or nothing. */
static void check_one_each(struct bench *b)
{
	unsigned posted = 0, rdr = 0;
	struct cay_nqe n;
	while (bench_take(b, 1, &n)) {
		bool first = n.word[0] == 42;
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
			posted++;
			bench_posted_free(b, &n);
			if (first)
				assert_memory_equal(buffers[0], b->data, 100);
			else
				assert_int_equal(
					*(unsigned char *)buffers[0], 0x22);
		} else {
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
			rdr++;
		}
	}
	assert_int_equal(posted, 1);
	assert_in_range(rdr, 0, 1);
	assert_int_equal(available(b), 0);
	assert_int_equal(count_in(b, POSTED_FREE),
		workbench_own(&b->w, 1)->posted_entries);
}

static void two_senders_race_for_one_buffer(void **state)
{
	(void)state;
	intrude_everywhere(prepare_one, rival_sends, send_100, check_one_each);
	intrude_everywhere(
		prepare_held, rival_sends, send_100_perhaps, check_one_each);
}

/* The receiver cancels it, unless it is taken. */
static void receiver_cancels(struct bench *b)
{
	struct context *own = workbench_own(&b->w, 1);
	uint64_t ready = POSTED_READY;
	if (atomic_compare_exchange_strong(
		    (_Atomic uint64_t *)&own->posted[0].state, &ready,
		    POSTED_FREE))
		atomic_fetch_sub(&own->posted_head->available, 1);
}

static void check_posted_or_rdr(struct bench *b)
{
	struct cay_nqe n;
	assert_true(bench_take(b, 1, &n));
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV)
		bench_posted_free(b, &n);
	else
		assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	assert_false(bench_take(b, 1, &n));
	assert_int_equal(count_in(b, POSTED_TAKEN), 0);
	assert_int_equal(count_in(b, POSTED_FILLED), 0);
	assert_int_equal(available(b), count_in(b, POSTED_READY));
}

static void cancel_wins_or_loses(void **state)
{
	(void)state;
	intrude_everywhere(
		prepare_one, receiver_cancels, send_100, check_posted_or_rdr);
}

/* Cancelled, and posted again elsewhere: the new buffer, or the RDR. */
static void receiver_posts_another(struct bench *b)
{
	struct context *own = workbench_own(&b->w, 1);
	receiver_cancels(b);
	if (bench_posted_state(b, 0) != POSTED_FREE)
		return;
	b->w.port[1].posted_next = 0;
	memset(buffers[0], 0, 128);
	buffers[1] = bench_post(b, 128, 43);
	(void)own;
}

static void check_right_buffer(struct bench *b)
{
	struct cay_nqe n;
	assert_true(bench_take(b, 1, &n));
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
		bool second = n.word[CAY_NQE_WORD_COOKIE] == 43;
		assert_memory_equal(buffers[second], b->data, 100);
		if (second)
			assert_int_equal(*(unsigned char *)buffers[0], 0);
	}
}

static void reposted_slot_has_its_new_buffer(void **state)
{
	(void)state;
	intrude_everywhere(prepare_one, receiver_posts_another, send_100,
		check_right_buffer);
}

/* Others fill the queue, or send and are received, wherever they like. */
static void others_fill_the_queue(struct bench *b)
{
	while (counting_send_fast(&b->w.port[2].origin, b->w.port[2].op,
		       workbench_route(&b->w, 2, 1), 1, 0, b->data, 8) == 0)
		continue;
}

static int send_100_or_full(struct bench *b)
{
	int r = send_100(b);
	/* Refused: whatever it had taken is there for the next. */
	if (r == -EAGAIN && count_in(b, POSTED_READY) == 1 && available(b) == 1)
		return 0;
	return r;
}

static void check_slot_is_whole(struct bench *b)
{
	struct cay_nqe n;
	while (bench_take(b, 1, &n))
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV)
			bench_posted_free(b, &n);
	assert_int_equal(count_in(b, POSTED_TAKEN), 0);
	assert_int_equal(count_in(b, POSTED_FILLED), 0);
	assert_int_equal(available(b), count_in(b, POSTED_READY));
	assert_int_equal(atomic_load(&op_of(b)->posted), 0);
	assert_int_equal(atomic_load(&op_of(b)->window), 0);
}

static void full_queue_gives_the_buffer_back(void **state)
{
	(void)state;
	intrude_everywhere(prepare_one, others_fill_the_queue, send_100_or_full,
		check_slot_is_whole);
}

static unsigned arrived; /* in its buffer, whoever has taken it */

static bool take_noting(struct bench *b)
{
	struct cay_nqe n;
	if (!bench_take(b, 1, &n))
		return false;
	if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
		assert_posted(&n, 100, 42, 0);
		arrived++;
	}
	return true;
}

static void laps_from_2(struct bench *b)
{
	for (uint32_t i = 0; i < 3 * BENCH_ENTRIES; i++)
		if (counting_send_fast(&b->w.port[2].origin, b->w.port[2].op,
			    workbench_route(&b->w, 2, 1), 1, 0, b->data,
			    8) != 0 ||
			!take_noting(b))
			return;
}

static void prepare_old_r(struct bench *b)
{
	prepare_one(b);
	arrived = 0;
	for (uint32_t i = 0; i < BENCH_ROOM; i++) {
		assert_int_equal(bench_fast(b, 1, 0, 8), 0);
		assert_true(take_noting(b));
	}
}

static void check_arrived(struct bench *b)
{
	while (take_noting(b))
		continue;
	assert_int_equal(arrived, 1);
}

/* Who compares an old W with a new R must not believe the queue full. */
static void overtaken_sender_is_not_refused(void **state)
{
	(void)state;
	intrude_everywhere(prepare_old_r, laps_from_2, send_100, check_arrived);
}

/*
 * The owner closes the port: once the record says nothing any more, its memory
 * may be anybody's, and nobody may write there.
 */
static struct op_record *watched;
static bool gone; /* the memory of slots and buffers */

static void owner_closes(struct bench *b)
{
	queue_set_close(&b->w.arena, workbench_vpid(1), 1);
}

static void reuse_when_quiet(struct bench *b)
{
	struct context *own = workbench_own(&b->w, 1);
	if (gone || atomic_load(&own->control->gate) ||
		atomic_load(&watched->state) != OP_IDLE)
		return;
	memset(own->posted_head, 0x55, 64 * 8);
	memset(buffers[0], 0x55, 128);
	gone = true;
}

static void close_and_reuse(void *argument)
{
	struct intrusion *i = argument;
	if (i->accesses++ == i->at)
		owner_closes(i->bench);
	reuse_when_quiet(i->bench);
}

static void nothing_is_written_after_the_record_is_idle(void **state)
{
	(void)state;
	unsigned accesses = 1;
	for (unsigned at = 0; at < accesses; at++) {
		void *fresh = NULL;
		assert_int_equal(bench_setup_ports(&fresh, 2), 0);
		struct bench *b = fresh;
		struct intrusion i = { .bench = b, .at = at };
		prepare_one(b);
		watched = op_of(b);
		gone = false;
		b->c.yield = close_and_reuse;
		b->c.yield_argument = &i;
		counting_begin(&b->c);
		int r = send_100(b);
		counting_end();
		accesses = i.accesses;
		assert_true(r == 0 || r == -EPIPE);
		unsigned char *head =
			(void *)workbench_own(&b->w, 1)->posted_head;
		for (unsigned k = 0; gone && k < 64 * 8; k++)
			if (head[k] != 0x55)
				fail_msg("closed before access %u: byte %u of "
					 "somebody else's memory is %#x",
					at, k, head[k]);
		bench_teardown(&fresh);
	}
}

/* ---- the node replaces the queue set ---- */

static void node_replaces_1(struct bench *b)
{
	const struct op_record *op = op_of(b);
	struct context *former = workbench_own(&b->w, 1);
	struct queue_control *c = former->control;
	unsigned state = atomic_load(&op->state) & OP_STATE_MASK;
	uint64_t position = queue_nq(atomic_load(&op->w_old));

	if (state == OP_TRY)
		return;
	atomic_store(&c->moving, QUEUE_MOVING);
	assert_int_equal(workbench_reopen(&b->w, 1, true), 0);
	workbench_own(&b->w, 1);
	atomic_store(&arena_control(&b->w.arena, workbench_vpid(1), 2)->posted,
		POSTED_RDR);
	if (state == OP_OWN && !counting_peek(former, position)) {
		c->fenced[0].from = position;
		c->fenced[0].to = position + 1;
		c->fenced_count = 1;
	}
	atomic_store(&c->moving, QUEUE_MOVED);
}

/* What is fenced is void, whatever is stored there. */
static unsigned messages_in(struct bench *b, struct cay_nqe *last)
{
	struct context *own = workbench_own(&b->w, 1);
	unsigned count = 0;
	struct cay_nqe n;
	for (;;) {
		uint64_t position = queue_nq(bench_r(b, 1));
		if (!bench_take(b, 1, &n))
			return count;
		if (queue_fenced(own->control, position))
			continue;
		*last = n;
		count++;
	}
}

static void check_once_in_either_set(struct bench *b)
{
	struct workbench_port *p = &b->w.port[1];
	struct cay_nqe n = { 0 };
	unsigned count = messages_in(b, &n);
	if (p->config.epoch > 1) {
		assert_true(context_follow(
			&p->origin.own, workbench_own(&b->w, 1)));
		count += messages_in(b, &n);
	}
	assert_int_equal(count, 1);
	assert_posted(&n, 100, 42, 0);
	assert_memory_equal(buffers[0], b->data, 100);
	bench_posted_free(b, &n);
	assert_int_equal(available(b), 0);
	assert_int_equal(count_in(b, POSTED_FREE),
		workbench_own(&b->w, 1)->posted_entries);
	assert_int_equal(atomic_load(&op_of(b)->state), OP_IDLE);
}

static void fenced_sender_issues_again(void **state)
{
	(void)state;
	intrude_everywhere(prepare_one, node_replaces_1, send_100,
		check_once_in_either_set);
}

/* ---- death before every access, and repair by the node's own code ---- */

struct mortal {
	struct bench *b;
	jmp_buf dead;
	unsigned at, accesses;
	unsigned before_at; /* and before which something else happens */
	void (*before)(struct bench *);
	bool busy;
};

static void die(void *argument)
{
	struct mortal *m = argument;
	if (m->busy)
		return;
	if (m->accesses == m->before_at && m->before) {
		m->busy = true;
		m->before(m->b);
		m->busy = false;
	}
	if (m->accesses++ != m->at)
		return;
	counting_end();
	longjmp(m->dead, 1);
}

/* Runs the send and lets it die; false if it was over before. */
static bool die_before(struct mortal *m, struct op_record *op)
{
	struct bench *b = m->b;
	volatile bool died = false;
	b->w.port[0].op = op;
	b->c.yield = die;
	b->c.yield_argument = m;
	if (setjmp(m->dead) == 0) {
		counting_begin(&b->c);
		int r = send_100(b);
		counting_end();
		assert_true(r == 0 || (m->before && r == -EAGAIN));
	} else {
		died = true;
	}
	b->c.yield = NULL;
	return died;
}

/* The message is there or the buffer is, never both, never neither. */
static void check_nothing_lost(struct bench *b, unsigned at)
{
	struct cay_nqe n;
	unsigned posted = 0;
	while (bench_take(b, 1, &n))
		if (nqe_command(&n) == CAY_NOTIFY_POSTED_RECV) {
			assert_memory_equal(buffers[0], b->data, 100);
			bench_posted_free(b, &n);
			posted++;
		}
	if (posted + count_in(b, POSTED_READY) != 1 ||
		count_in(b, POSTED_TAKEN) || count_in(b, POSTED_FILLED))
		fail_msg("died before access %u: %u messages, %u ready, %u "
			 "taken, %u filled",
			at, posted, count_in(b, POSTED_READY),
			count_in(b, POSTED_TAKEN), count_in(b, POSTED_FILLED));
	/* Whoever looks for it finds it. */
	assert_true(available(b) >= count_in(b, POSTED_READY));
	assert_int_equal(sends_from_2(b), 0);
	assert_true(bench_take(b, 1, &n));
	assert_int_equal(nqe_command(&n),
		posted ? CAY_NOTIFY_RECV : CAY_NOTIFY_POSTED_RECV);
}

struct death {
	unsigned at, before_at;
	void (*before)(struct bench *);
	void (*after)(struct bench *, struct small_node *);
};

static bool dies_and_is_repaired(const struct death *d)
{
	void *fresh = NULL;
	struct small_node node;
	assert_int_equal(bench_setup_ports(&fresh, 3), 0);
	struct bench *b = fresh;
	struct mortal m = { .b = b,
		.at = d->at,
		.before_at = d->before_at,
		.before = d->before };
	assert_int_equal(small_node_open(&node, &b->w, 2), 0);
	prepare_one(b);
	bool died = die_before(&m, node.op[0]);
	if (d->after)
		d->after(b, &node);
	if (died)
		assert_true(small_node_bury(&node, 0));
	check_nothing_lost(b, d->at);
	assert_int_equal(atomic_load(&node.op[0]->posted), 0);
	assert_int_equal(atomic_load(&node.op[0]->state), OP_IDLE);
	small_node_close(&node);
	bench_teardown(&fresh);
	return died;
}

static void dead_sender_loses_no_buffer(void **state)
{
	(void)state;
	struct death d = { 0 };
	while (dies_and_is_repaired(&d))
		d.at++;
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/*
 * Another one has tried for the same entry and lost, and dies too. It is
 * repaired first, and the entry becomes void on its account.
 */
static void rival_dies_first(struct bench *b, struct small_node *node)
{
	struct op_record *op = node->op[0], *rival = node->op[1];
	(void)b;
	if ((atomic_load(&op->state) & OP_STATE_MASK) != OP_OWN)
		return;
	atomic_store(&rival->w_old, atomic_load(&op->w_old));
	atomic_store(&rival->w_new, atomic_load(&op->w_new));
	atomic_store(
		&rival->state, op_state_word(OP_TRY, workbench_vpid(1), 1));
	node->process[0].state = PROCESS_DEAD;
	assert_true(small_node_bury(node, 1));
}

static void entry_voided_for_a_rival_gives_the_buffer_back(void **state)
{
	(void)state;
	struct death d = { .after = rival_dies_first };
	while (dies_and_is_repaired(&d))
		d.at++;
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/* Fenced off first, as one that is stopped would be, and dies then. */
static void follow_1(struct bench *b, struct small_node *node)
{
	struct workbench_port *p = &b->w.port[1];
	if (p->config.epoch == 1)
		return;
	small_node_port(node, &b->w, 1);
	/* The receiver takes what is left in the old set, then goes on. */
	struct context *own = workbench_own(&b->w, 1);
	struct cay_nqe n;
	for (;;) {
		uint64_t position = queue_nq(bench_r(b, 1));
		if (!bench_take(b, 1, &n))
			break;
		if (!queue_fenced(own->control, position)) {
			assert_posted(&n, 100, 42, 0);
			bench_posted_free(b, &n);
			/* As if it had been posted again at once. */
			b->w.port[1].posted_next = 0;
			assert_int_equal(
				workbench_post(&b->w, 1, own->posted[0].offset,
					128, 42),
				0);
		}
	}
	assert_true(context_follow(&p->origin.own, own));
	context_follow(
		workbench_route(&b->w, 2, 1), *workbench_route(&b->w, 2, 1));
}

static void fenced_and_dead_sender_loses_no_buffer(void **state)
{
	(void)state;
	struct death d = { .before = node_replaces_1, .after = follow_1 };
	for (; dies_and_is_repaired(&d); d.at++)
		for (d.before_at = 0; d.before_at < d.at; d.before_at++)
			dies_and_is_repaired(&d);
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

/* Refused because others have filled the queue, and dies in giving it back. */
static void refused_and_dead_sender_loses_no_buffer(void **state)
{
	(void)state;
	struct death d = { .before = others_fill_the_queue };
	for (; dies_and_is_repaired(&d); d.at++)
		for (d.before_at = 0; d.before_at < d.at; d.before_at++)
			dies_and_is_repaired(&d);
	assert_in_range(d.at, 30, ACCESSES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(posted_recv_word_by_word),
		BENCH_TEST(longer_messages_are_truncated),
		BENCH_TEST(pieces_are_joined),
		BENCH_TEST(work_requests_are_posted_too),
		BENCH_TEST(exhausted_goes_to_the_rdr),
		BENCH_TEST(held_senders_wait),
		BENCH_TEST(full_queue_takes_no_buffer),
		BENCH_TEST(invalid_slots_are_passed_over),
		BENCH_TEST(slots_go_round),
		BENCH_TEST(leftovers_come_back),
		cmocka_unit_test(two_senders_race_for_one_buffer),
		cmocka_unit_test(cancel_wins_or_loses),
		cmocka_unit_test(reposted_slot_has_its_new_buffer),
		cmocka_unit_test(full_queue_gives_the_buffer_back),
		cmocka_unit_test(overtaken_sender_is_not_refused),
		cmocka_unit_test(nothing_is_written_after_the_record_is_idle),
		cmocka_unit_test(fenced_sender_issues_again),
		cmocka_unit_test(dead_sender_loses_no_buffer),
		cmocka_unit_test(
			entry_voided_for_a_rival_gives_the_buffer_back),
		cmocka_unit_test(fenced_and_dead_sender_loses_no_buffer),
		cmocka_unit_test(refused_and_dead_sender_loses_no_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
