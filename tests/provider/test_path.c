/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths of the provider: pairs of endpoints get and lose them in the
 * middle of streams of all kinds of messages, whose order stays.
 */
#include <poll.h>
#include <string.h>

#include "path.h"

/* ---- a stream of all kinds of messages, in both directions ---- */

enum {
	MESSAGES = 6000,
	WINDOW = 24, /* receives posted, of each kind */
	LONG_BYTES = 70000,
	DATA_LARGE = 0x70000000,
};

/* A message, as both sides derive it from its number. */
struct message {
	bool tagged, data, delivered, inject;
	unsigned segments;
	size_t bytes;
	uint64_t tag, cq_data;
};

static struct message message_of(unsigned sender, uint64_t number)
{
	struct random random = { number * 2 + sender + 1 };
	struct message m = { .segments = 1 };
	uint64_t kind = random_below(&random, 100);
	random_next(&random);
	m.tagged = random_below(&random, 4) != 0;
	m.data = random_below(&random, 8) == 0;
	m.cq_data = random_below(&random, 2) ? number & 0xffff
					     : DATA_LARGE + number;
	m.delivered = random_below(&random, 16) == 0;
	m.tag = random_next(&random);
	m.bytes = kind < 90   ? random_below(&random, 50)
		  : kind < 99 ? random_below(&random, 3000)
			      : LONG_BYTES;
	m.inject = !m.delivered && m.bytes < 4096 &&
		   random_below(&random, 2) == 0;
	if (!m.inject && random_below(&random, 4) == 0)
		m.segments = 3;
	return m;
}

struct side {
	struct stack *s;
	unsigned rank, peer;
	uint64_t sent, to_send;
	unsigned tx_pending;
	unsigned char *out; /* LONG_BYTES for each message in flight */
	/* Receives in the order of their posting: [tagged]. */
	uint64_t posted[2], expected[2]; /* message numbers to expect next */
	uint64_t received, to_receive;
	unsigned char *in[2]; /* WINDOW buffers */
};

static ssize_t side_post_send(struct side *side, const struct message *m)
{
	unsigned char *bytes =
		side->out + (side->sent % WINDOW) * (size_t)LONG_BYTES;
	size_t third = m->bytes / 3;
	struct iovec iov[3] = { { bytes, third }, { bytes + third, third },
		{ bytes + 2 * third, m->bytes - 2 * third } };
	fi_addr_t to = side->s->peers[side->peer];
	struct fid_ep *ep = side->s->ep;
	content_fill(bytes, m->bytes, side->sent);
	if (m->inject && m->tagged)
		return m->data ? fi_tinjectdata(ep, bytes, m->bytes, m->cq_data,
					 to, m->tag)
			       : fi_tinject(ep, bytes, m->bytes, to, m->tag);
	if (m->inject)
		return m->data ? fi_injectdata(
					 ep, bytes, m->bytes, m->cq_data, to)
			       : fi_inject(ep, bytes, m->bytes, to);
	if (m->segments == 1 && !m->delivered && m->tagged && !m->data)
		return fi_tsend(ep, bytes, m->bytes, NULL, to, m->tag, side);
	if (m->segments == 1)
		iov[0].iov_len = m->bytes;
	uint64_t flags = FI_COMPLETION |
			 (m->delivered ? FI_DELIVERY_COMPLETE : 0) |
			 (m->data ? FI_REMOTE_CQ_DATA : 0);
	const struct fi_msg_tagged t = { .msg_iov = iov,
		.iov_count = m->segments,
		.addr = to,
		.tag = m->tag,
		.context = side,
		.data = m->cq_data };
	const struct fi_msg u = { .msg_iov = iov,
		.iov_count = m->segments,
		.addr = to,
		.context = side,
		.data = m->cq_data };
	return m->tagged ? fi_tsendmsg(ep, &t, flags)
			 : fi_sendmsg(ep, &u, flags);
}

static void side_send(struct side *side)
{
	struct fi_cq_tagged_entry e;
	while (cq_poll(side->s->txcq, &e))
		side->tx_pending--;
	/* A buffer of the window is free when all completions came. */
	if (side->sent % WINDOW == 0 && side->tx_pending)
		return;
	for (unsigned burst = 0; side->sent < side->to_send && burst < WINDOW;
		burst++) {
		if (side->sent % WINDOW == 0 && side->tx_pending)
			return;
		struct message m = message_of(side->rank, side->sent);
		ssize_t r = side_post_send(side, &m);
		if (r == -FI_EAGAIN)
			return;
		assert_int_equal(r, 0);
		side->sent++;
		side->tx_pending += !m.inject;
	}
}

static unsigned char *side_buffer(struct side *side, int tagged, uint64_t i)
{
	return side->in[tagged] + (i % WINDOW) * (size_t)LONG_BYTES;
}

static void side_post_receive(struct side *side, int tagged)
{
	unsigned char *to = side_buffer(side, tagged, side->posted[tagged]);
	if (tagged)
		MUST(side->s,
			fi_trecv(side->s->ep, to, LONG_BYTES, NULL,
				side->s->peers[side->peer], 0, ~0ull, to));
	else
		MUST(side->s, fi_recv(side->s->ep, to, LONG_BYTES, NULL,
				      side->s->peers[side->peer], to));
	side->posted[tagged]++;
}

/* Returns the number of the i-th message of this kind. */
static uint64_t side_number(struct side *side, int tagged, uint64_t from)
{
	while (message_of(side->peer, from).tagged != (bool)tagged)
		from++;
	return from;
}

struct slot {
	bool done;
	struct fi_cq_tagged_entry e;
};

/* Checks the completed receives in the order in which they were posted. */
static void side_receive(
	struct side *side, struct slot slots[2][WINDOW], uint64_t checked[2])
{
	struct fi_cq_tagged_entry e;
	while (cq_poll(side->s->rxcq, &e)) {
		unsigned char *to = e.op_context;
		int tagged = to >= side->in[1] &&
			     to < side->in[1] + WINDOW * (size_t)LONG_BYTES;
		size_t i = (size_t)(to - side->in[tagged]) / LONG_BYTES;
		assert_false(slots[tagged][i].done);
		slots[tagged][i] = (struct slot){ true, e };
	}
	for (int tagged = 0; tagged < 2; tagged++)
		while (slots[tagged][checked[tagged] % WINDOW].done) {
			struct slot *slot =
				&slots[tagged][checked[tagged] % WINDOW];
			uint64_t n = side_number(
				side, tagged, side->expected[tagged]);
			struct message m = message_of(side->peer, n);
			assert_int_equal(slot->e.len, m.bytes);
			assert_true(content_fits(
				side_buffer(side, tagged, checked[tagged]),
				m.bytes, n));
			assert_int_equal(
				!!(slot->e.flags & FI_REMOTE_CQ_DATA), m.data);
			if (m.data)
				assert_int_equal(slot->e.data, m.cq_data);
			if (tagged)
				assert_int_equal(slot->e.tag, m.tag);
			slot->done = false;
			side->expected[tagged] = n + 1;
			side->received++;
			checked[tagged]++;
			side_post_receive(side, tagged);
		}
}

static void side_open(struct side *side, struct stack *s, struct process *me)
{
	*side = (struct side){ .s = s, .rank = me->rank, .peer = !me->rank };
	side->out = malloc(WINDOW * (size_t)LONG_BYTES);
	for (int tagged = 0; tagged < 2; tagged++) {
		side->in[tagged] = malloc(WINDOW * (size_t)LONG_BYTES);
		assert_true(side->out && side->in[tagged]);
		for (int i = 0; i < WINDOW; i++)
			side_post_receive(side, tagged);
	}
}

static void side_close(struct side *side)
{
	free(side->out);
	free(side->in[0]);
	free(side->in[1]);
}

static void stream_open(struct stack *s, struct process *me, unsigned idle_ms)
{
	set_paths(AFTER);
	set_number("FI_CAY_ULTRA_IDLE_MS", idle_ms);
	stack_open(s, &(struct options){ 0 });
	stack_join(s, me);
}

/* In each round a path is opened in the middle of the stream, and closed. */
static void stream_body(struct process *me, void *argument)
{
	const unsigned rounds = 3;
	struct slot slots[2][WINDOW] = { 0 };
	uint64_t checked[2] = { 0, 0 };
	struct stack s;
	struct side side;
	(void)argument;
	stream_open(&s, me, 700);
	side_open(&side, &s, me);
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t deadline = now_ns() + 4 * TIMEOUT_NS, turns = 0;
		bool seen = false;
		side.to_send += scaled(MESSAGES);
		side.to_receive += scaled(MESSAGES);
		while (side.sent < side.to_send || side.tx_pending ||
			side.received < side.to_receive) {
			side_send(&side);
			side_receive(&side, slots, checked);
			assert_true(now_ns() < deadline);
			/* An end of each direction, in the middle of it. */
			if (!seen && ++turns % 64 == 0)
				seen = paths_now() == 2;
		}
		assert_true(seen);
		process_barrier(me, &s);
		paths_await(&s, 0);
		process_barrier(me, &s);
	}
	side_close(&side);
	stack_leave(&s, me);
}

static void order_survives_switches(void **state)
{
	(void)state;
	group_run(2, stream_body, NULL);
}

/* ---- which way messages take ---- */

static void ways_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stream_open(&s, me, 600000);
	paths_establish(&s, me, !me->rank);
	process_barrier(me, &s);
	uint64_t before = status_received(getpid());
	process_barrier(me, &s);
	small_exchange(&s, !me->rank, 0, 1000);
	process_barrier(me, &s);
	assert_true(status_received(getpid()) - before < 10);
	stack_leave(&s, me);
}

static void small_messages_take_the_path(void **state)
{
	(void)state;
	group_run(2, ways_body, NULL);
}

static void off_body(struct process *me, void *argument)
{
	unsigned off = *(unsigned *)argument;
	struct stack s;
	if (me->rank == off || off == 2)
		set_number("FI_CAY_ULTRA_PATHS", 0);
	stream_open(&s, me, 600000);
	small_exchange(&s, !me->rank, 0, 1000);
	process_barrier(me, &s);
	assert_int_equal(paths_now(), 0);
	stack_leave(&s, me);
}

/* ---- where they do not pay ---- */

/* A message at a time: no poll finds two. */
static void ping_pong(struct stack *s, const struct process *me, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (me->rank == 0)
			small_send(s, 1, i);
		small_receive(s, !me->rank, i);
		if (me->rank == 1)
			small_send(s, 0, i);
	}
}

static void one_by_one_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	set_paths(AFTER);
	set_number("FI_CAY_ULTRA_ALWAYS", 0);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	ping_pong(&s, me, 10 * AFTER);
	process_barrier(me, &s);
	assert_int_equal(paths_now(), 0);
	stack_leave(&s, me);
}

static void no_path_for_messages_one_by_one(void **state)
{
	(void)state;
	group_run(2, one_by_one_body, NULL);
}

static void no_paths_if_either_side_wants_none(void **state)
{
	(void)state;
	for (unsigned off = 0; off <= 2; off++)
		group_run(2, off_body, &off);
}

/* ---- the bound ---- */

static void bound_body(struct process *me, void *argument)
{
	const unsigned limit = 2, rounds = 1000;
	struct stack s;
	(void)argument;
	set_number("FI_CAY_ULTRA_PATHS", limit);
	stream_open(&s, me, 600000);
	for (unsigned i = 0; i < rounds; i++) {
		if (me->rank)
			small_send(&s, 0, i);
		for (unsigned r = 1; me->rank == 0 && r < me->count; r++)
			small_receive(&s, r, i);
		if (i % 100 == 0 && me->rank == 0)
			assert_true(paths_now() <= limit);
	}
	process_barrier(me, &s);
	if (me->rank == 0)
		assert_int_equal(paths_now(), limit);
	stack_leave(&s, me);
}

static void paths_are_bounded(void **state)
{
	(void)state;
	group_run(6, bound_body, NULL);
}

enum word {
	WORD_COUNT = 10, /* and following: messages that rank 0 has got */
	WORD_STOP = 20,
};

/* Sends messages until there is a path. */
static void yield_send(struct stack *s, struct process *me)
{
	uint64_t deadline = soon(), i = 0;
	for (; paths_now() == 0; i++) {
		small_send(s, 0, i);
		while (*process_word(me, WORD_COUNT + me->rank) <= i)
			stack_progress(s);
		assert_true(now_ns() < deadline);
	}
	*process_word(me, WORD_STOP + me->rank) = 1;
	small_send(s, 0, i);
}

/* Each pair in turn; the path of the previous one is idle. */
static void yield_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	set_number("FI_CAY_ULTRA_PATHS", 1);
	stream_open(&s, me, 2000);
	for (unsigned r = 1; r < me->count; r++) {
		if (me->rank == r)
			yield_send(&s, me);
		uint64_t i = 0;
		while (me->rank == 0 && !*process_word(me, WORD_STOP + r)) {
			small_receive(&s, r, i++);
			*process_word(me, WORD_COUNT + r) = i;
		}
		process_barrier(me, &s);
	}
	assert_int_equal(paths_now(), me->rank == 1 ? 0 : 1);
	stack_leave(&s, me);
}

static void idle_pairs_yield_their_path(void **state)
{
	(void)state;
	group_run(3, yield_body, NULL);
}

/* ---- backpressure ---- */

enum {
	FLOOD = 20000,
	HELD_BYTES = 64 << 10
};

/* More unexpected messages than the receiver holds. */
static void flood_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t sent = 0;
	(void)argument;
	set_number("FI_CAY_UNEXPECTED_BYTES", HELD_BYTES);
	stream_open(&s, me, 600000);
	paths_establish(&s, me, !me->rank);
	if (me->rank == 1) {
		uint64_t quiet = now_ns() + NS_PER_S;
		/* Until nothing has been accepted for a second. */
		while (sent < FLOOD && now_ns() < quiet) {
			if (fi_tinject(s.ep, &sent, 8, s.peers[0], TAG_SMALL))
				continue;
			sent++;
			quiet = now_ns() + NS_PER_S;
		}
		assert_true(sent < FLOOD);
		*process_word(me, 0) = sent;
	} else {
		while (!*process_word(me, 0))
			stack_progress(&s);
	}
	process_barrier(me, &s);
	if (me->rank == 1)
		while (sent < FLOOD)
			small_send(&s, 0, sent++);
	else
		for (uint64_t i = 0; i < FLOOD; i++)
			small_receive(&s, 1, i);
	stack_leave(&s, me);
}

static void a_receiver_pauses_the_path(void **state)
{
	(void)state;
	group_run(2, flood_body, NULL);
}

/* A receiver that makes no progress: the path fills up. */
static void full_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t sent = 0;
	(void)argument;
	stream_open(&s, me, 600000);
	paths_establish(&s, me, !me->rank);
	process_barrier(me, &s);
	if (me->rank == 1)
		while (fi_tinject(s.ep, &sent, 8, s.peers[0], TAG_SMALL) == 0)
			sent++;
	process_barrier(me, NULL);
	if (me->rank == 1) {
		/* Of 512 slices, a quarter may not have been returned yet. */
		assert_in_range(sent, 384, 512);
		while (sent < 5000)
			small_send(&s, 0, sent++);
	} else {
		for (uint64_t i = 0; i < 5000; i++)
			small_receive(&s, 1, i);
	}
	stack_leave(&s, me);
}

static void a_full_path_refuses(void **state)
{
	(void)state;
	group_run(2, full_body, NULL);
}

/* ---- sleeping ---- */

typedef void sleeper(struct stack *);

static void by_sread(struct stack *s)
{
	struct fi_cq_tagged_entry e;
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, 15000), 1);
}

static void by_descriptor(struct stack *s)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid = &s->rxcq->fid;
	struct pollfd p = { .events = POLLIN };
	assert_int_equal(fi_control(fid, FI_GETWAIT, &p.fd), 0);
	while (fi_cq_read(s->rxcq, &e, 1) == -FI_EAGAIN)
		if (fi_trywait(s->fabric, &fid, 1) == 0)
			assert_int_equal(poll(&p, 1, 15000), 1);
}

static void sleep_body(struct process *me, void *argument)
{
	sleeper *sleep = *(sleeper **)argument;
	struct random random = { me->rank + 1 };
	struct stack s;
	uint64_t word, rounds = scaled(2000);
	set_number("FI_CAY_SPIN_US", 0);
	set_paths(AFTER);
	stack_open(&s, &(struct options){ .wait = FI_WAIT_FD });
	stack_join(&s, me);
	for (uint64_t i = 0; i < rounds; i++) {
		if (i % 2 == me->rank) {
			random_pause(&random, 200 * NS_PER_US);
			small_send(&s, !me->rank, i);
			continue;
		}
		MUST(&s, fi_trecv(s.ep, &word, 8, NULL, s.peers[!me->rank],
				 TAG_SMALL, 0, &word));
		sleep(&s);
		assert_int_equal(word, i);
	}
	process_barrier(me, &s);
	assert_int_equal(paths_now(), 2);
	stack_leave(&s, me);
}

static void readers_sleep(void **state)
{
	static sleeper *const sleepers[] = { by_sread, by_descriptor };
	(void)state;
	for (unsigned i = 0; i < COUNT(sleepers); i++)
		group_run(2, sleep_body, (void *)&sleepers[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(order_survives_switches),
		TEST(small_messages_take_the_path),
		TEST(no_path_for_messages_one_by_one),
		TEST(no_paths_if_either_side_wants_none),
		TEST(paths_are_bounded),
		TEST(idle_pairs_yield_their_path),
		TEST(a_receiver_pauses_the_path),
		TEST(a_full_path_refuses),
		TEST(readers_sleep),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
