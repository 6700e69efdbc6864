/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barrier messages on the links. A message has priority over all flits and
 * occupies its link for one cycle. The messages that a module sends in a cycle
 * wait for their links; each link transfers one per cycle, in order.
 *
 * A node handles the messages of a cycle in the order of its ports, so that the
 * result does not depend on the threads that sent them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "network/engine/parts.h"

#define MODULE_DELAY 1 /* cycles from a received message to a sent one */

/* State of the host of a node, for each barrier. */
enum host_flags {
	HOST_PARTICIPATES = 1,
	HOST_ARRIVED = 2,   /* and the round has not ended since */
	HOST_RESETTING = 4, /* and no round has ended with an error since */
};

/* Messages of a worker: received in this cycle, and waiting for a link. */
struct messages {
	struct wheel_list received, waiting;
} __attribute__((aligned(64)));

struct barrier_transport {
	uint8_t *host; /* enum host_flags by barrier and node */
	struct messages *messages;
};

static struct messages *messages_of(const struct worker *w)
{
	return &w->network->transport->messages[w->index];
}

static uint8_t *hosts_of(const struct network *n, unsigned id)
{
	return &n->transport->host[(uint64_t)id * n->nodes];
}

/* ---- releases ---- */

static bool releases_grow(struct releases *l)
{
	uint64_t capacity = l->capacity ? 2 * l->capacity : 64;
	void *more = realloc(l->entry, capacity * sizeof(*l->entry));
	if (!more)
		return false;
	l->entry = more;
	l->capacity = capacity;
	return true;
}

static void release_add(struct worker *w, const struct network_release *release)
{
	struct releases *l = &w->releases;
	if (l->count == l->capacity && !releases_grow(l)) {
		worker_fail(w, -ENOMEM);
		return;
	}
	l->entry[l->count++] =
		(struct release){ .release = *release, .number = l->numbers++ };
}

/* A round ends at a participant. */
static void round_end(
	struct worker *w, uint64_t when, uint32_t node, unsigned id, int error)
{
	uint8_t *host = &hosts_of(w->network, id)[node];
	*host &= (uint8_t)~HOST_ARRIVED;
	if (error)
		*host &= (uint8_t)~HOST_RESETTING;
	w->counters.barrier_releases += error == 0;
	w->counters.barrier_errors += error != 0;
	release_add(w, &(struct network_release){ .time = when,
			       .node = node,
			       .id = (uint8_t)id,
			       .error = error });
}

static int release_order(const void *a, const void *b)
{
	const struct release *x = a, *y = b;
	if (x->release.time != y->release.time)
		return x->release.time < y->release.time ? -1 : 1;
	if (x->release.node != y->release.node)
		return x->release.node < y->release.node ? -1 : 1;
	if (x->release.id != y->release.id)
		return x->release.id < y->release.id ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

int transport_collect(struct network *n)
{
	struct releases *all = &n->releases;
	for (unsigned i = 0; i < n->workers; i++) {
		struct releases *l = &n->worker[i].releases;
		for (uint64_t k = 0; k < l->count; k++) {
			if (all->count == all->capacity && !releases_grow(all))
				return -ENOMEM;
			all->entry[all->count++] = l->entry[k];
		}
		l->count = 0;
	}
	if (all->count > all->polled)
		qsort(&all->entry[all->polled], all->count - all->polled,
			sizeof(*all->entry), release_order);
	return 0;
}

bool network_barrier_poll(struct network *n, struct network_release *release)
{
	struct releases *l = &n->releases;
	if (l->polled == l->count) {
		l->polled = l->count = 0;
		return false;
	}
	*release = l->entry[l->polled++].release;
	return true;
}

/* ---- calls of the barrier modules ---- */

static void module_send(
	void *context, uint32_t node, unsigned port, struct barrier_message m)
{
	struct worker *w = context;
	wheel_add(&w->wheel, &messages_of(w)->waiting,
		port_of(w->network, node, port), (uint32_t)m.kind << 8 | m.id);
}

static void module_release(
	void *context, uint32_t node, unsigned id, bool error)
{
	struct worker *w = context;
	round_end(w, w->now, node, id, error ? -ECANCELED : 0);
}

static const struct barrier_calls module_calls = {
	.send = module_send,
	.release = module_release,
};

/* ---- links ---- */

/*
 * Sends a message. Returns false if it has to wait for the link. A message to a
 * dead link is lost; the barrier is rebuilt when the network has drained.
 */
static bool message_send(struct worker *w, const struct wheel_event *m)
{
	struct network *n = w->network;
	const struct port_state *p = &n->port[m->index];
	uint32_t *busy_until = &n->link_state[m->index].busy_until;
	if (p->peer_vc == NO_VC)
		return true;
	if (time_ahead(w->now, *busy_until))
		return false;
	*busy_until = (uint32_t)(w->now + 1);
	int late = link_repeat(w, m->index);
	wheel_put(&w->wheel,
		w->now + MODULE_DELAY +
			(unsigned)((int)n->router.link_delay + late),
		p->peer_worker, WHEEL_BARRIER, vc_port(n, p->peer_vc),
		m->value);
	w->counters.barrier_messages++;
	return true;
}

void transport_receive(struct worker *w, uint32_t port, uint32_t message)
{
	wheel_add(&w->wheel, &messages_of(w)->received, port, message);
}

/* By port; a port receives at most one message per cycle. */
static int message_order(const void *a, const void *b)
{
	const struct wheel_event *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

void transport_step(struct worker *w)
{
	struct network *n = w->network;
	struct wheel_list *received = &messages_of(w)->received;
	struct wheel_list *waiting = &messages_of(w)->waiting;
	if (received->count == 0 && waiting->count == 0)
		return;
	if (received->count > 1)
		qsort(received->event, received->count,
			sizeof(*received->event), message_order);
	for (uint32_t i = 0; i < received->count; i++) {
		const struct wheel_event *m = &received->event[i];
		uint32_t node = port_node(n, m->index);
		if (!n->node[node].dead)
			barrier_receive(n->barriers, w, node,
				port_local(n, m->index),
				(struct barrier_message){ (uint8_t)m->value,
					(uint8_t)(m->value >> 8) });
	}
	received->count = 0;
	uint32_t left = 0;
	for (uint32_t i = 0; i < waiting->count; i++)
		if (!message_send(w, &waiting->event[i]))
			waiting->event[left++] = waiting->event[i];
	waiting->count = left;
}

bool transport_pending(const struct worker *w)
{
	return messages_of(w)->waiting.count;
}

/* ---- the interface ---- */

int network_barrier_set(
	struct network *n, unsigned id, const bool *participates)
{
	if (n->host_node)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < n->nodes; i++)
		if (participates[i] && n->node[i].dead)
			return -EHOSTUNREACH;
	int r = barrier_set(n->barriers, id, participates);
	if (r)
		return r;
	for (uint32_t i = 0; i < n->nodes; i++)
		hosts_of(n, id)[i] = participates[i] ? HOST_PARTICIPATES : 0;
	n->check_links = true; /* messages may occupy links */
	return 0;
}

static int event_schedule(struct network *n, uint64_t time,
	enum event_kind kind, uint32_t node, unsigned id)
{
	if (time < n->now || node >= n->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	return schedule_add(&n->schedule,
		&(struct scheduled_event){
			.time = time, .kind = kind, .node = node, .port = id });
}

int network_barrier_arrive(
	struct network *n, uint64_t time, uint32_t node, unsigned id)
{
	return event_schedule(n, time, EVENT_BARRIER_ARRIVE, node, id);
}

int network_barrier_reset(
	struct network *n, uint64_t time, uint32_t node, unsigned id)
{
	return event_schedule(n, time, EVENT_BARRIER_RESET, node, id);
}

void transport_event(struct network *n, const struct scheduled_event *e)
{
	struct worker *w = node_worker(n, e->node);
	bool arrive = e->kind == EVENT_BARRIER_ARRIVE;
	uint8_t *host = &hosts_of(n, e->port)[e->node];
	int r = -ENOTCONN;
	if (!n->node[e->node].dead) {
		/* Set before the call, in which the round may end. */
		if (*host & HOST_PARTICIPATES)
			*host |= arrive ? HOST_ARRIVED : HOST_RESETTING;
		r = arrive ? barrier_arrive(n->barriers, w, e->node, e->port)
			   : barrier_reset(n->barriers, w, e->node, e->port);
	}
	if (r)
		release_add(w, &(struct network_release){ .time = n->now,
				       .node = e->node,
				       .id = (uint8_t)e->port,
				       .error = r });
}

/* ---- after a failure ---- */

/*
 * Returns true if some node waits for the end of a round. The flags of hosts
 * also show nodes that are dead or disconnected, which the new tree does not.
 */
static bool round_in_progress(
	const struct network *n, unsigned id, const bool *participates)
{
	const uint8_t *host = hosts_of(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		if (host[i] & (HOST_ARRIVED | HOST_RESETTING))
			return true;
	return barrier_set(n->barriers, id, participates) == -EBUSY;
}

/* Moves a barrier to the new tree, with the participants that it reaches. */
static void barrier_move(struct network *n, struct barriers *fresh, unsigned id,
	bool *participates)
{
	uint8_t *host = hosts_of(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		participates[i] = false;
	for (uint32_t i = 0; i < n->tree.reached; i++) {
		uint32_t node = n->tree.order[i];
		participates[node] = host[node] & HOST_PARTICIPATES &&
				     !n->node[node].dead;
	}
	if (round_in_progress(n, id, participates))
		for (uint32_t i = 0; i < n->nodes; i++)
			if (host[i] & HOST_PARTICIPATES && !n->node[i].dead)
				round_end(node_worker(n, i), n->now, i, id,
					-ENETRESET);
	for (uint32_t i = 0; i < n->nodes; i++)
		host[i] = participates[i] ? HOST_PARTICIPATES : 0;
	barrier_set(fresh, id, participates); /* fails without participants */
}

int transport_rebuild(struct network *n)
{
	struct barriers *fresh;
	bool *participates = malloc(n->nodes * sizeof(*participates));
	int r = participates ? barrier_open(&fresh, &n->tree, &module_calls)
			     : -ENOMEM;
	if (r) {
		free(participates);
		return r;
	}
	/* Drop all messages. */
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel *w = &n->worker[i].wheel;
		for (uint64_t k = 0; k < wheel_list_count(w); k += WHEEL_KINDS)
			w->list[k + WHEEL_BARRIER].count = 0;
		messages_of(&n->worker[i])->waiting.count = 0;
	}
	for (unsigned id = 0; id < BARRIER_COUNT; id++)
		barrier_move(n, fresh, id, participates);
	barrier_close(n->barriers);
	n->barriers = fresh;
	free(participates);
	return 0;
}

/* ---- opening ---- */

int transport_open(struct network *n)
{
	struct barrier_transport *t = calloc(1, sizeof(*t));
	uint64_t bytes = n->workers * sizeof(*t->messages);
	if (!t)
		return -ENOMEM;
	n->transport = t;
	t->host = calloc((uint64_t)n->nodes * BARRIER_COUNT, sizeof(*t->host));
	t->messages = aligned_alloc(64, bytes);
	for (unsigned i = 0; t->messages && i < n->workers; i++)
		t->messages[i] = (struct messages){ 0 };
	if (!t->host || !t->messages)
		return -ENOMEM;
	return barrier_open(&n->barriers, &n->tree, &module_calls);
}

/* Also after transport_open() has failed. */
void transport_close(struct network *n)
{
	struct barrier_transport *t = n->transport;
	if (!t)
		return;
	for (unsigned i = 0; t->messages && i < n->workers; i++) {
		free(t->messages[i].received.event);
		free(t->messages[i].waiting.event);
	}
	free(t->messages);
	free(t->host);
	free(t);
	barrier_close(n->barriers);
}
