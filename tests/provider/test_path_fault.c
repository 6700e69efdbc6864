/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths of the provider whose ends are killed or write nonsense, and a
 * node that does not reply while they are set up.
 */
#include <signal.h>
#include <string.h>

#include "path.h"

static void path_open(struct stack *s, struct process *me)
{
	set_paths(AFTER);
	stack_open(s, &(struct options){ 0 });
	stack_join(s, me);
}

/* The next receive from rank 1 fails, and rank 2 can be reached. */
static void peer_ends(struct stack *s)
{
	struct fi_cq_err_entry e;
	uint64_t word, deadline = soon();
	ssize_t r;
	while ((r = fi_trecv(s->ep, &word, 8, NULL, s->peers[1], TAG_SMALL, 0,
			&word)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	if (r == 0) {
		assert_int_equal(cq_next_error(s->rxcq, &e), FI_EHOSTUNREACH);
		assert_ptr_equal(e.op_context, &word);
	} else {
		assert_int_equal(r, -FI_EHOSTUNREACH);
	}
}

static void wait_forever(struct process *me)
{
	child_send(me->parent, 1);
	for (;;)
		nap_ns(NS_PER_S);
}

/* ---- death ---- */

enum {
	LEFT = 300 /* messages that a dead process has sent: less than fit */
};

static void sender_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	path_open(&s, me);
	if (me->rank < 2)
		paths_establish(&s, me, !me->rank);
	if (me->rank == 1) {
		for (uint64_t i = 0; i < LEFT; i++) {
			small_send(&s, 0, i);
			/* Others take the queue. */
			if (i % 50 == 0)
				MUST(&s, fi_tinject(s.ep, s.peers, 48,
						 s.peers[0], TAG_SMALL));
		}
		wait_forever(me);
	}
	if (me->rank == 0) {
		char longer[64];
		child_send(me->parent, 1);
		child_receive(me->parent);
		for (uint64_t i = 0; i < LEFT; i++) {
			small_receive(&s, 1, i);
			if (i % 50)
				continue;
			MUST(&s, fi_trecv(s.ep, longer, 64, NULL, s.peers[1],
					 TAG_SMALL, 0, longer));
			cq_expect(s.rxcq, longer);
		}
		peer_ends(&s);
		small_exchange(&s, 2, 0, 2 * AFTER);
	} else {
		small_exchange(&s, 0, 0, 2 * AFTER);
	}
	stack_close(&s);
}

static void death_run(process_body *body, void *argument)
{
	struct group c;
	group_start(&c, 3, body, argument);
	child_receive(&c.children[1]);
	child_receive(&c.children[0]);
	group_kill(&c, 1);
	child_send(&c.children[0], 1);
	group_join(&c);
}

static void messages_of_a_dead_sender_arrive(void **state)
{
	(void)state;
	death_run(sender_body, NULL);
}

static void receiver_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	path_open(&s, me);
	if (me->rank < 2)
		paths_establish(&s, me, !me->rank);
	if (me->rank == 1)
		wait_forever(me);
	if (me->rank == 0) {
		uint64_t word = 0, deadline = soon();
		ssize_t r;
		child_send(me->parent, 1);
		child_receive(me->parent);
		do {
			r = fi_tinject(s.ep, &word, 8, s.peers[1], TAG_SMALL);
			stack_progress(&s);
			assert_true(now_ns() < deadline);
		} while (r == 0 || r == -FI_EAGAIN);
		assert_int_equal(r, -FI_EHOSTUNREACH);
		small_exchange(&s, 2, 0, 2 * AFTER);
	} else {
		small_exchange(&s, 0, 0, 2 * AFTER);
	}
	stack_close(&s);
}

static void sends_to_a_dead_receiver_fail(void **state)
{
	(void)state;
	death_run(receiver_body, NULL);
}

/* ---- nonsense ---- */

#define MAGIC 0x5ca1ab1e0ddba115ull

enum word {
	WORD_READY, /* rank 0 makes no progress any more */
	WORD_WRITTEN,
};

/* The slice of a message of 8 bytes. */
struct slice {
	uint64_t rest[4], header, data, tag, status;
};

typedef void scribble(struct slice *at, size_t slices, struct slice *message);

static void wrong_number(struct slice *at, size_t slices, struct slice *message)
{
	(void)at, (void)slices;
	message->header += 100000ull << 32;
}

static void wrong_kind(struct slice *at, size_t slices, struct slice *message)
{
	(void)at, (void)slices;
	message->header |= 0xf;
}

static void wrong_words(struct slice *at, size_t slices, struct slice *message)
{
	(void)at, (void)slices;
	/* An identifier and data in the payload, which has room for one. */
	message->header |= 0x70;
}

static void too_short(struct slice *at, size_t slices, struct slice *message)
{
	(void)at, (void)slices;
	message->status -= 12;
}

static void too_long(struct slice *at, size_t slices, struct slice *message)
{
	(void)at, (void)slices;
	message->status |= 0xffff;
}

static void everything(struct slice *at, size_t slices, struct slice *message)
{
	struct random random = { 7 };
	unsigned char *bytes = (unsigned char *)at;
	uint64_t status = message->status;
	for (size_t i = 0; i < slices * sizeof(*at); i++)
		bytes[i] = (unsigned char)random_next(&random);
	message->status = status;
}

static scribble *const scribbles[] = { wrong_number, wrong_kind, wrong_words,
	too_short, too_long, everything };

/* Finds the slices that this process can write. */
static struct slice *slices_find(size_t *count)
{
	char line[512], rights[8];
	unsigned long from, to;
	struct slice *found = NULL;
	FILE *f = fopen("/proc/self/maps", "r");
	assert_true(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "cay-ultra-slices") ||
			sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 ||
			rights[1] != 'w')
			continue;
		assert_true(found == NULL);
		/* The first page is not a slice. */
		found = (struct slice *)(from + 4096);
		*count = (to - from - 4096) / sizeof(*found);
	}
	fclose(f);
	assert_true(found != NULL);
	return found;
}

static void scribbler_run(struct stack *s, struct process *me, scribble *method)
{
	size_t count = 0;
	struct slice *at = slices_find(&count), *message = NULL;
	while (!*process_word(me, WORD_READY))
		nap_ns(NS_PER_MS);
	small_send(s, 0, MAGIC);
	for (size_t i = 0; i < count; i++)
		if (at[i].data == MAGIC)
			message = &at[i];
	assert_true(message != NULL);
	method(at, count, message);
	*process_word(me, WORD_WRITTEN) = 1;
}

static void nonsense_body(struct process *me, void *argument)
{
	struct stack s;
	path_open(&s, me);
	if (me->rank < 2)
		paths_establish(&s, me, !me->rank);
	if (me->rank == 1) {
		scribbler_run(&s, me, scribbles[*(unsigned *)argument]);
		/* It lives until the others have finished. */
		process_barrier(me, NULL);
	} else if (me->rank == 0) {
		*process_word(me, WORD_READY) = 1;
		while (!*process_word(me, WORD_WRITTEN))
			nap_ns(NS_PER_MS);
		peer_ends(&s);
		small_exchange(&s, 2, 0, 1000);
		process_barrier(me, NULL);
	} else {
		small_exchange(&s, 0, 0, 1000);
		process_barrier(me, NULL);
	}
	stack_close(&s);
}

static void nonsense_ends_the_peer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(scribbles); i++)
		group_run(3, nonsense_body, &i);
}

/* A message that comes too early forever, until its sender exits. */
static void early_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	path_open(&s, me);
	if (me->rank < 2)
		paths_establish(&s, me, !me->rank);
	if (me->rank == 1) {
		size_t count = 0;
		struct slice *at = slices_find(&count);
		small_send(&s, 0, MAGIC);
		small_send(&s, 0, 1);
		small_send(&s, 0, 2);
		for (size_t i = 0; i < count; i++)
			if (at[i].data == MAGIC)
				at[i].header += 1ull << 32;
		wait_forever(me);
	}
	if (me->rank == 0) {
		child_send(me->parent, 1);
		child_receive(me->parent);
		peer_ends(&s);
		small_exchange(&s, 2, 0, 1000);
	} else {
		small_exchange(&s, 0, 0, 1000);
	}
	stack_close(&s);
}

static void a_missing_number_does_not_hide_a_death(void **state)
{
	(void)state;
	death_run(early_body, NULL);
}

/* ---- a node that does not reply ---- */

static void node_signal(int signal)
{
	assert_int_equal(kill(node_process(node_name()), signal), 0);
}

static void stopped_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	path_open(&s, me);
	small_exchange(&s, !me->rank, 0, AFTER / 2);
	process_barrier(me, &s);
	if (me->rank == 0)
		node_signal(SIGSTOP);
	process_barrier(me, &s);
	/* A path is wanted in the middle of this; nothing waits for it. */
	small_exchange(&s, !me->rank, 0, 20 * AFTER);
	process_barrier(me, &s);
	if (me->rank == 0)
		node_signal(SIGCONT);
	paths_establish(&s, me, !me->rank);
	stack_leave(&s, me);
}

static void a_stopped_node_delays_nothing(void **state)
{
	(void)state;
	group_run(2, stopped_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(messages_of_a_dead_sender_arrive),
		TEST(sends_to_a_dead_receiver_fail),
		TEST(nonsense_ends_the_peer),
		TEST(a_missing_number_does_not_hide_a_death),
		TEST(a_stopped_node_delays_nothing),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
