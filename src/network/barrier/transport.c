/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers as a level of their own on the links: a message goes before all
 * flits and takes its link for one cycle. What a module says in a cycle waits
 * at the end of that cycle's work for its link; of several for the same link
 * one goes in each cycle, in order.
 *
 * Messages that come to a node in the same cycle are heard in the order of its
 * ports, so that it does not matter which thread has sent them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "network/engine/parts.h"

#define MODULE_DELAY 1 /* cycles from hearing something to saying something */

/* What is known of the host of a node, for each barrier. */
enum host_flags {
	HOST_TAKES_PART = 1,
	HOST_ARRIVED = 2, /* and has not been released since */
	HOST_RESETS = 4,  /* and has not heard of an error since */
};

/* Of a worker: what has come in this cycle, and what has not left yet. */
struct messages {
	struct wheel_list came, waiting;
} __attribute__((aligned(64)));

struct level {
	uint8_t *host; /* enum host_flags by barrier and node */
	struct messages *messages;
};

static struct messages *messages_of(const struct worker *w)
{
	return &w->network->level->messages[w->index];
}

static uint8_t *hosts_of(const struct network *n, unsigned id)
{
	return &n->level->host[(uint64_t)id * n->nodes];
}

/* ---- what hosts are told ---- */

static bool releases_grow(struct releases *l)
{
	uint64_t room = l->room ? 2 * l->room : 64;
	void *more = realloc(l->of, room * sizeof(*l->of));
	if (!more)
		return false;
	l->of = more;
	l->room = room;
	return true;
}

static void host_told(struct worker *w, const struct network_release *what)
{
	struct releases *l = &w->releases;
	if (l->count == l->room && !releases_grow(l)) {
		worker_fail(w, -ENOMEM);
		return;
	}
	l->of[l->count++] =
		(struct release){ .what = *what, .number = l->numbers++ };
}

/* The end of a round, at one of those who take part. */
static void round_ends(
	struct worker *w, uint64_t when, uint32_t node, unsigned id, int error)
{
	uint8_t *host = &hosts_of(w->network, id)[node];
	*host &= (uint8_t)~HOST_ARRIVED;
	if (error)
		*host &= (uint8_t)~HOST_RESETS;
	w->counters.barrier_releases += error == 0;
	w->counters.barrier_errors += error != 0;
	host_told(w, &(struct network_release){ .time = when,
			     .node = node,
			     .id = (uint8_t)id,
			     .error = error });
}

static int release_order(const void *a, const void *b)
{
	const struct release *x = a, *y = b;
	if (x->what.time != y->what.time)
		return x->what.time < y->what.time ? -1 : 1;
	if (x->what.node != y->what.node)
		return x->what.node < y->what.node ? -1 : 1;
	if (x->what.id != y->what.id)
		return x->what.id < y->what.id ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

int level_collect(struct network *n)
{
	struct releases *all = &n->releases;
	for (unsigned i = 0; i < n->workers; i++) {
		struct releases *l = &n->worker[i].releases;
		for (uint64_t k = 0; k < l->count; k++) {
			if (all->count == all->room && !releases_grow(all))
				return -ENOMEM;
			all->of[all->count++] = l->of[k];
		}
		l->count = 0;
	}
	if (all->count > all->taken)
		qsort(&all->of[all->taken], all->count - all->taken,
			sizeof(*all->of), release_order);
	return 0;
}

bool network_barrier_take(struct network *n, struct network_release *release)
{
	struct releases *l = &n->releases;
	if (l->taken == l->count) {
		l->taken = l->count = 0;
		return false;
	}
	*release = l->of[l->taken++].what;
	return true;
}

/* ---- what modules decide ---- */

static void module_sends(
	void *context, uint32_t node, unsigned port, struct barrier_message m)
{
	struct worker *w = context;
	wheel_add(&w->wheel, &messages_of(w)->waiting,
		port_of(w->network, node, port), (uint32_t)m.kind << 8 | m.id);
}

static void module_releases(
	void *context, uint32_t node, unsigned id, bool error)
{
	struct worker *w = context;
	round_ends(w, w->now, node, id, error ? -ECANCELED : 0);
}

static const struct barrier_calls module_calls = {
	.send = module_sends,
	.release = module_releases,
};

/* ---- links ---- */

/*
 * False: it has to wait. What should leave by a dead link is lost; the barrier
 * is renewed when all that is under way has come to an end.
 */
static bool message_leaves(struct worker *w, const struct wheel_event *m)
{
	struct network *n = w->network;
	const struct port *p = &n->port[m->place];
	uint32_t *busy = &n->link_count[m->place].busy;
	if (p->there == NO_PLACE)
		return true;
	if (time_ahead(w->now, *busy))
		return false;
	*busy = (uint32_t)(w->now + 1);
	unsigned late = link_repeat(w, m->place);
	wheel_put(&w->wheel,
		w->now + MODULE_DELAY + n->router.link_delay + late, p->worker,
		WHEEL_BARRIER, place_port(n, p->there), m->what);
	w->counters.barrier_messages++;
	return true;
}

static void messages_leave(struct worker *w, struct wheel_list *l)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < l->count; i++)
		if (!message_leaves(w, &l->event[i]))
			l->event[left++] = l->event[i];
	l->count = left;
}

void level_receive(struct worker *w, uint32_t port, uint32_t message)
{
	wheel_add(&w->wheel, &messages_of(w)->came, port, message);
}

static void message_heard(struct worker *w, const struct wheel_event *m)
{
	struct network *n = w->network;
	uint32_t node = port_node(n, m->place);
	if (n->node[node].dead)
		return;
	barrier_receive(n->barriers, w, node, port_local(n, m->place),
		(struct barrier_message){
			(uint8_t)m->what, (uint8_t)(m->what >> 8) });
}

/* In a cycle one message at most comes in by a port. */
static int message_order(const void *a, const void *b)
{
	const struct wheel_event *x = a, *y = b;
	return (x->place > y->place) - (x->place < y->place);
}

static void messages_heard(struct worker *w, struct wheel_list *l)
{
	if (l->count > 1)
		qsort(l->event, l->count, sizeof(*l->event), message_order);
	for (uint32_t i = 0; i < l->count; i++)
		message_heard(w, &l->event[i]);
	l->count = 0;
}

void level_step(struct worker *w)
{
	struct messages *m = messages_of(w);
	if (m->came.count)
		messages_heard(w, &m->came);
	if (m->waiting.count)
		messages_leave(w, &m->waiting);
}

bool level_waits(const struct worker *w)
{
	return messages_of(w)->waiting.count;
}

/* ---- from outside ---- */

int network_barrier_set(struct network *n, unsigned id, const bool *takes_part)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		if (takes_part[i] && n->node[i].dead)
			return -EHOSTUNREACH;
	int r = barrier_set(n->barriers, id, takes_part);
	if (r)
		return r;
	for (uint32_t i = 0; i < n->nodes; i++)
		hosts_of(n, id)[i] = takes_part[i] ? HOST_TAKES_PART : 0;
	n->patient = true; /* flits look whether their link is busy */
	return 0;
}

static int level_plan(struct network *n, uint64_t time, enum agenda_kind kind,
	uint32_t node, unsigned id)
{
	if (time < n->now || node >= n->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	return agenda_put(&n->agenda,
		&(struct agenda_item){
			.time = time, .kind = kind, .node = node, .port = id });
}

int network_barrier_arrive(
	struct network *n, uint64_t time, uint32_t node, unsigned id)
{
	return level_plan(n, time, AGENDA_BARRIER_ARRIVE, node, id);
}

int network_barrier_reset(
	struct network *n, uint64_t time, uint32_t node, unsigned id)
{
	return level_plan(n, time, AGENDA_BARRIER_RESET, node, id);
}

/* The flag is set before the call, because the round may end in it. */
static int host_does(
	struct worker *w, enum agenda_kind kind, uint32_t node, unsigned id)
{
	struct network *n = w->network;
	uint8_t *host = &hosts_of(n, id)[node];
	if (n->node[node].dead)
		return -ENOTCONN;
	if (kind == AGENDA_BARRIER_ARRIVE) {
		if (*host & HOST_TAKES_PART)
			*host |= HOST_ARRIVED;
		return barrier_arrive(n->barriers, w, node, id);
	}
	if (*host & HOST_TAKES_PART)
		*host |= HOST_RESETS;
	return barrier_reset(n->barriers, w, node, id);
}

void level_do(struct network *n, const struct agenda_item *item)
{
	struct worker *w = node_worker(n, item->node);
	int r = host_does(w, item->kind, item->node, item->port);
	if (r)
		host_told(w, &(struct network_release){ .time = n->now,
				     .node = item->node,
				     .id = (uint8_t)item->port,
				     .error = r });
}

/* ---- after a death ---- */

static void messages_drop(struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel *w = &n->worker[i].wheel;
		uint64_t lists = (w->mask + 1ull) * w->readers;
		for (uint64_t k = 0; k < lists; k++)
			w->list[k * WHEEL_KINDS + WHEEL_BARRIER].count = 0;
		messages_of(&n->worker[i])->waiting.count = 0;
	}
}

/* Who can still take part: alive, and reached by the tree. */
static void members_left(const struct network *n, unsigned id, bool *left)
{
	const uint8_t *host = hosts_of(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		left[i] = false;
	for (uint32_t i = 0; i < n->tree.reached; i++) {
		uint32_t node = n->tree.order[i];
		left[node] = host[node] & HOST_TAKES_PART &&
			     !n->node[node].dead;
	}
}

/* Does anybody wait for the end of a round? Also one who is dead or cut off,
 * whom the tree does not show any more. */
static bool round_open(const struct network *n, unsigned id, const bool *left)
{
	const uint8_t *host = hosts_of(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		if (host[i] & (HOST_ARRIVED | HOST_RESETS))
			return true;
	return barrier_set(n->barriers, id, left) == -EBUSY;
}

static void round_fails(struct network *n, unsigned id)
{
	const uint8_t *host = hosts_of(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		if (host[i] & HOST_TAKES_PART && !n->node[i].dead)
			round_ends(
				node_worker(n, i), n->now, i, id, -ENETRESET);
}

static void barrier_renew(
	struct network *n, struct barriers *fresh, unsigned id, bool *left)
{
	members_left(n, id, left);
	if (round_open(n, id, left))
		round_fails(n, id);
	for (uint32_t i = 0; i < n->nodes; i++)
		hosts_of(n, id)[i] = left[i] ? HOST_TAKES_PART : 0;
	barrier_set(fresh, id, left); /* not if nobody is left */
}

int level_renew(struct network *n)
{
	struct barriers *fresh;
	bool *left = malloc(n->nodes * sizeof(*left));
	int r = left ? barrier_open(&fresh, &n->tree, &module_calls) : -ENOMEM;
	if (r == 0) {
		messages_drop(n);
		for (unsigned id = 0; id < BARRIER_COUNT; id++)
			barrier_renew(n, fresh, id, left);
		barrier_close(n->barriers);
		n->barriers = fresh;
	}
	free(left);
	return r;
}

/* ---- opening ---- */

int level_open(struct network *n)
{
	struct level *l = calloc(1, sizeof(*l));
	uint64_t bytes = n->workers * sizeof(*l->messages);
	if (!l)
		return -ENOMEM;
	n->level = l;
	l->host = calloc((uint64_t)n->nodes * BARRIER_COUNT, sizeof(*l->host));
	l->messages = aligned_alloc(64, bytes);
	for (unsigned i = 0; l->messages && i < n->workers; i++)
		l->messages[i] = (struct messages){ 0 };
	if (!l->host || !l->messages)
		return -ENOMEM;
	return barrier_open(&n->barriers, &n->tree, &module_calls);
}

/* Also when it could not be opened. */
void level_close(struct network *n)
{
	struct level *l = n->level;
	if (!l)
		return;
	for (unsigned i = 0; l->messages && i < n->workers; i++) {
		free(l->messages[i].came.event);
		free(l->messages[i].waiting.event);
	}
	free(l->messages);
	free(l->host);
	free(l);
	barrier_close(n->barriers);
}
