/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A toy network for barrier messages: in order on each link, in any order among
 * links, as chosen by a seed or by the test. It checks each release, and fails
 * the test if a release is wrong.
 */
#ifndef CAY_TESTS_NETWORK_BARRIER_TOY_H
#define CAY_TESTS_NETWORK_BARRIER_TOY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/barrier/barrier.h"
#include "network/traffic/random.h"

#define NODES_MAX  64
#define ROUNDS_MAX 256
/* Up: UP, RESET_UP and RESET_DONE, then again UP and RESET_UP. */
#define IN_FLIGHT_MAX 5
#define QUEUE_MAX     (IN_FLIGHT_MAX * BARRIER_COUNT)

/* One direction of a link. */
struct queue {
	struct barrier_message message[QUEUE_MAX];
	unsigned used;
	unsigned slowness; /* of 4 */
};

/* Expected state of one barrier. */
struct watch {
	bool in[NODES_MAX];
	bool arrived[NODES_MAX];
	uint32_t round[NODES_MAX]; /* rounds whose end it has seen */
	uint32_t owed[NODES_MAX];  /* the round of its reset, plus 1; or 0 */
	bool failed[ROUNDS_MAX];
	uint32_t ended; /* rounds whose end some node has seen */
	uint32_t resets, errors;
};

struct toy {
	struct topology net;
	struct tree tree;
	struct barriers *barriers;
	struct queue *queue; /* by node and port, at the sender */
	uint32_t *waiting;   /* queues that are not empty */
	uint32_t waiting_count;
	struct random random;
	struct watch watch[BARRIER_COUNT];
	uint64_t sent;
	uint32_t eager; /* rounds in which hosts arrive when released */
	bool touchy;	/* they reset if the round was released */
};

/* ---- links ---- */

static void toy_send(
	void *context, uint32_t node, unsigned port, struct barrier_message m)
{
	struct toy *t = context;
	uint32_t at = node * t->net.ports + port;
	struct queue *q = &t->queue[at];
	unsigned same = 0;
	assert_true(tree_ports(&t->tree, node) >> port & 1);
	for (unsigned i = 0; i < q->used; i++)
		same += q->message[i].id == m.id;
	assert_true(same < IN_FLIGHT_MAX);
	if (q->used == 0)
		t->waiting[t->waiting_count++] = at;
	q->message[q->used++] = m;
	t->sent++;
}

/* Delivers the oldest message of a link. */
static void toy_deliver_at(struct toy *t, uint32_t waiting)
{
	uint32_t at = t->waiting[waiting];
	struct queue *q = &t->queue[at];
	struct barrier_message m = q->message[0];
	memmove(&q->message[0], &q->message[1], --q->used * sizeof(m));
	if (q->used == 0)
		t->waiting[waiting] = t->waiting[--t->waiting_count];
	barrier_receive(
		t->barriers, t, t->net.neighbour[at], t->net.peer_port[at], m);
}

/* Delivers a message of the link between two nodes; fails if there is none. */
static inline void toy_deliver(struct toy *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < t->waiting_count; i++) {
		uint32_t at = t->waiting[i];
		if (at / t->net.ports == from && t->net.neighbour[at] == to) {
			toy_deliver_at(t, i);
			return;
		}
	}
	fail_msg("nothing is on its way from %u to %u", from, to);
}

static void toy_deliver_any(struct toy *t)
{
	uint32_t i = random_below(&t->random, t->waiting_count);
	const struct queue *q = &t->queue[t->waiting[i]];
	if (random_below(&t->random, 4) >= q->slowness)
		toy_deliver_at(t, i);
}

/* ---- hosts ---- */

static void toy_arrive(struct toy *t, uint32_t node, unsigned id)
{
	struct watch *w = &t->watch[id];
	assert_false(w->arrived[node]);
	w->arrived[node] = true;
	assert_int_equal(barrier_arrive(t->barriers, t, node, id), 0);
}

static void toy_reset(struct toy *t, uint32_t node, unsigned id)
{
	struct watch *w = &t->watch[id];
	w->resets++;
	if (w->in[node] && !w->owed[node])
		w->owed[node] = w->round[node] + 1;
	assert_int_equal(barrier_reset(t->barriers, t, node, id), 0);
}

/* The first node sees the end of a round. */
static void watch_end(struct watch *w, uint32_t nodes, bool error)
{
	assert_true(w->ended < ROUNDS_MAX);
	for (uint32_t node = 0; node < nodes; node++)
		if (w->in[node] && !error) {
			assert_int_equal(w->round[node], w->ended);
			assert_true(w->arrived[node]);
		}
	w->errors += error;
	assert_true(w->errors <= w->resets);
	w->failed[w->ended++] = error;
}

static void toy_release(void *context, uint32_t node, unsigned id, bool error)
{
	struct toy *t = context;
	struct watch *w = &t->watch[id];
	uint32_t round = w->round[node];
	assert_true(w->in[node]);
	if (round == w->ended)
		watch_end(w, t->net.nodes, error);
	assert_int_equal(w->failed[round], error);
	/* Its reset ends the round that it was made in, or the next one. */
	if (w->owed[node])
		assert_true(round + 1 == w->owed[node] ||
			    (round == w->owed[node] && error));
	if (error)
		w->owed[node] = 0;
	w->arrived[node] = false;
	w->round[node]++;
	if (t->touchy && !error)
		toy_reset(t, node, id);
	else if (w->round[node] < t->eager)
		toy_arrive(t, node, id);
}

/* No message is in flight: all rounds and resets are complete. */
static void toy_check_idle(const struct toy *t, unsigned id)
{
	const struct watch *w = &t->watch[id];
	uint32_t members = 0, arrived = 0;
	assert_int_equal(t->waiting_count, 0);
	for (uint32_t node = 0; node < t->net.nodes; node++) {
		if (!w->in[node])
			continue;
		members++;
		arrived += w->arrived[node];
		assert_int_equal(w->round[node], w->ended);
		assert_int_equal(w->owed[node], 0);
	}
	assert_true(members == 0 || arrived < members);
	assert_true(w->resets == 0 || w->errors > 0);
}

static inline void toy_settle(struct toy *t)
{
	while (t->waiting_count)
		toy_deliver_any(t);
	for (unsigned id = 0; id < BARRIER_COUNT; id++)
		toy_check_idle(t, id);
}

/* ---- set-up ---- */

static inline void toy_set(struct toy *t, unsigned id, const bool *in)
{
	memcpy(t->watch[id].in, in, t->net.nodes * sizeof(*in));
	assert_int_equal(barrier_set(t->barriers, id, in), 0);
}

/* Uses t->net, which toy_close() frees. */
static inline void toy_open(struct toy *t, uint32_t root, uint64_t seed)
{
	const struct barrier_calls calls = { toy_send, toy_release };
	uint32_t links = t->net.nodes * t->net.ports;
	assert_true(t->net.nodes <= NODES_MAX);
	t->random = random_stream(seed, 1);
	t->queue = calloc(links + 1, sizeof(*t->queue));
	t->waiting = calloc(links + 1, sizeof(*t->waiting));
	assert_non_null(t->queue);
	assert_non_null(t->waiting);
	for (uint32_t i = 0; i < links; i++)
		t->queue[i].slowness = random_below(&t->random, 4);
	assert_int_equal(tree_open(&t->tree, &t->net, root), 0);
	assert_int_equal(barrier_open(&t->barriers, &t->tree, &calls), 0);
}

static inline void toy_close(struct toy *t)
{
	barrier_close(t->barriers);
	tree_free(&t->tree);
	topology_free(&t->net);
	free(t->queue);
	free(t->waiting);
}

#endif
