/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of a posted receive whose sender is overtaken, refused, closed
 * or fenced off before any of its accesses, or dies there; what the dead leave
 * is repaired by the node's own code.
 */
#include "intrusion.h"
#include "posted.h"
#include "small_node.h"

static void *buffers[2];

static void prepare_one(struct bench *b)
{
	buffers[0] = bench_post(b, 128, 42);
}

static void prepare_held(struct bench *b)
{
	prepare_one(b);
	fixture_posted_mode(&b->w, 1, POSTED_ONLY);
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
		.origin_vpid = fixture_vpid(2),
		.tag = 2,
		.pieces = 1,
		.length = sizeof(other),
		.payload = &payload };
	return counting_send(&b->w.port[2].origin, b->w.port[2].op,
		fixture_route(&b->w, 2, 1), &p);
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
		fixture_own(&b->w, 1)->posted_entries);
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
	struct context *own = fixture_own(&b->w, 1);
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
	assert_int_equal(count_in(b, POSTED_CLAIMED), 0);
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
	struct context *own = fixture_own(&b->w, 1);
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
		       fixture_route(&b->w, 2, 1), 1, 0, b->data, 8) == 0)
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
	assert_int_equal(count_in(b, POSTED_CLAIMED), 0);
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
			    fixture_route(&b->w, 2, 1), 1, 0, b->data,
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
	queue_set_close(&b->w.arena, fixture_vpid(1), 1);
}

static void reuse_when_quiet(struct bench *b)
{
	struct context *own = fixture_own(&b->w, 1);
	if (gone || atomic_load(&own->control->access_epoch) ||
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
			(void *)fixture_own(&b->w, 1)->posted_head;
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
	struct context *former = fixture_own(&b->w, 1);
	struct queue_control *c = former->control;
	unsigned state = atomic_load(&op->state) & OP_STATE_MASK;
	uint64_t position = queue_nq(atomic_load(&op->w_old));

	if (state == OP_TRY)
		return;
	atomic_store(&c->migration, QUEUE_MIGRATING);
	assert_int_equal(fixture_reopen(&b->w, 1, true), 0);
	fixture_own(&b->w, 1);
	atomic_store(&arena_control(&b->w.arena, fixture_vpid(1), 2)->posted,
		POSTED_RDR);
	if (state == OP_OWN && !counting_peek(former, position)) {
		c->fenced[0].from = position;
		c->fenced[0].to = position + 1;
		c->fenced_count = 1;
	}
	atomic_store(&c->migration, QUEUE_MIGRATED);
}

/* What is fenced is void, whatever is stored there. */
static unsigned messages_in(struct bench *b, struct cay_nqe *last)
{
	struct context *own = fixture_own(&b->w, 1);
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
	struct fixture_port *p = &b->w.port[1];
	struct cay_nqe n = { 0 };
	unsigned count = messages_in(b, &n);
	if (p->config.epoch > 1) {
		assert_true(context_follow_migration(
			&p->origin.own, fixture_own(&b->w, 1)));
		count += messages_in(b, &n);
	}
	assert_int_equal(count, 1);
	assert_posted(&n, 100, 42, 0);
	assert_memory_equal(buffers[0], b->data, 100);
	bench_posted_free(b, &n);
	assert_int_equal(available(b), 0);
	assert_int_equal(count_in(b, POSTED_FREE),
		fixture_own(&b->w, 1)->posted_entries);
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
		count_in(b, POSTED_CLAIMED) || count_in(b, POSTED_FILLED))
		fail_msg("died before access %u: %u messages, %u ready, %u "
			 "taken, %u filled",
			at, posted, count_in(b, POSTED_READY),
			count_in(b, POSTED_CLAIMED),
			count_in(b, POSTED_FILLED));
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
		assert_true(small_node_reap(&node, 0));
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
	atomic_store(&rival->state, op_state_word(OP_TRY, fixture_vpid(1), 1));
	node->process[0].state = PROCESS_EXITED;
	assert_true(small_node_reap(node, 1));
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
	struct fixture_port *p = &b->w.port[1];
	if (p->config.epoch == 1)
		return;
	small_node_port(node, &b->w, 1);
	/* The receiver takes what is left in the old set, then goes on. */
	struct context *own = fixture_own(&b->w, 1);
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
				fixture_post(&b->w, 1, own->posted[0].offset,
					128, 42),
				0);
		}
	}
	assert_true(context_follow_migration(&p->origin.own, own));
	context_follow_migration(
		fixture_route(&b->w, 2, 1), *fixture_route(&b->w, 2, 1));
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
