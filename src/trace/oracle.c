/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle: order, holding, consumers, owners. See oracle.h. */
#include "trace/oracle.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/oracle_model.h"

/* ---- the consumer ---- */

/* The target has taken a long message: its origin is told. */
static void end_long(
	struct oracle *o, uint32_t port, const struct model_entry *taken)
{
	const struct model_entry e = { .reserved = true,
		.reference = true,
		.from = NOBODY,
		.note = { .command = CAY_NOTIFY_CC,
			.peer = (uint16_t)port,
			.completed = taken->ends,
			.api_tag = taken->note.api_tag,
			.tag = taken->note.tag,
			.word = { taken->note.word[0] } } };
	o->port[taken->from].pending[port]--;
	model_notify(o, taken->from, &e);
}

static void drain(struct oracle *o, uint32_t port)
{
	struct model_port *p = &o->port[port];
	uint32_t completions = 0;
	for (uint32_t taken = 0; taken < p->count; taken++) {
		struct model_entry e = p->entry[taken];
		outcome_note(o->out, port, &e.note);
		completions += e.reserved;
		p->references -= e.reference;
		if (e.slot)
			p->slot[e.slot - 1].state = SLOT_FREE;
		if (e.from != NOBODY)
			end_long(o, port, &e);
	}
	p->count = 0;
	p->rdr_read = p->rdr_write;
	p->completions -= completions;
	for (uint32_t w = 0; w < o->trace->queues.windows; w++)
		p->window[w].told = false;
}

static void drain_all(struct oracle *o)
{
	bool more = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < o->trace->ports; i++) {
			more |= o->port[i].count != 0 && !o->port[i].closed;
			if (!o->port[i].closed)
				drain(o, i);
		}
	}
}

/* ---- owners ---- */

static int window_step(struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->port];
	bool shared = false;
	if (i->window >= o->trace->queues.windows)
		return -ENXIO;
	struct model_window *w = &p->window[i->window];
	if (i->kind == TRACE_WINDOW) {
		if (w->rights)
			return -EEXIST;
		*w = (struct model_window){ i->rights, i->key, i->region,
			i->region_at, i->bytes, false };
		if (i->data_bytes || i->seed)
			trace_payload(
				i, o->out->memory[i->region] + i->region_at);
		return 0;
	}
	if (!w->rights)
		return -ENXIO;
	if (i->kind == TRACE_WINDOW_REVOKE) {
		w->key = i->key;
		return 0;
	}
	w->rights = 0;
	for (uint32_t k = 0; k < o->trace->queues.windows; k++)
		shared |= p->window[k].rights &&
			  p->window[k].region == w->region;
	if (!shared)
		o->lock[w->region] = 0;
	return 0;
}

static int lock_step(struct oracle *o, const struct trace_instruction *i)
{
	const struct model_port *p = &o->port[i->peer];
	if (p->closed)
		return -EPIPE;
	if (i->window >= o->trace->queues.windows ||
		!p->window[i->window].rights)
		return -ENXIO;
	if (p->window[i->window].key != i->key)
		return -EACCES;
	uint32_t *lock = &o->lock[p->window[i->window].region];
	bool own = *lock == i->port + 1u;
	if (i->kind == TRACE_WINDOW_UNLOCK && !own)
		return -EPERM;
	if (i->kind == TRACE_WINDOW_LOCK && *lock)
		return own ? -EALREADY : -EAGAIN;
	*lock = i->kind == TRACE_WINDOW_LOCK ? i->port + 1u : 0;
	return 0;
}

static int posted_step(struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->port];
	uint32_t all = o->trace->queues.posted;
	int cancelled = 0;
	if (i->kind == TRACE_RECEIVE_MODE) {
		p->mode = i->mode == CAY_RECEIVE_POSTED_ONLY ? POSTED_ONLY
							     : POSTED_RDR;
		return 0;
	}
	if (i->kind == TRACE_RECEIVE_POST) {
		struct model_slot *slot = &p->slot[p->slot_post % all];
		if (slot->state != SLOT_FREE)
			return -EAGAIN;
		*slot = (struct model_slot){ SLOT_READY, i->bytes, i->cookie };
		p->slot_post++;
		if (p->mode == POSTED_NONE)
			p->mode = POSTED_RDR;
		return 0;
	}
	for (uint32_t k = 0; k < all; k++)
		if (p->slot[k].state == SLOT_READY &&
			p->slot[k].cookie == i->cookie) {
			p->slot[k].state = SLOT_FREE;
			cancelled++;
		}
	return cancelled;
}

static int port_close(struct oracle *o, uint32_t port)
{
	drain(o, port);
	o->port[port].closed = true;
	for (uint32_t i = 0; i < o->trace->regions; i++)
		if (o->lock[i] == port + 1)
			o->lock[i] = 0;
	return 0;
}

static int step(struct oracle *o, uint32_t n)
{
	const struct trace_instruction *i = &o->trace->instruction[n];
	switch (i->kind) {
	case TRACE_WINDOW:
	case TRACE_WINDOW_CLOSE:
	case TRACE_WINDOW_REVOKE:
		return window_step(o, i);
	case TRACE_WINDOW_LOCK:
	case TRACE_WINDOW_UNLOCK:
		return lock_step(o, i);
	case TRACE_RECEIVE_MODE:
	case TRACE_RECEIVE_POST:
	case TRACE_RECEIVE_CANCEL:
		return posted_step(o, i);
	case TRACE_PEER_RESOLVE:
	case TRACE_PEER_RELEASE:
		return 0;
	case TRACE_FLUSH:
		if (o->port[i->port].pending[i->peer])
			drain(o, i->peer);
		return 0;
	case TRACE_DRAIN:
		drain(o, i->port);
		return 0;
	case TRACE_PORT_CLOSE:
		return port_close(o, i->port);
	default:
		return model_issue(o, i, &o->out->result[n].got);
	}
}

void oracle_step(struct oracle *o, uint32_t n)
{
	struct outcome_result *result = &o->out->result[n];
	enum trace_kind kind = o->trace->instruction[n].kind;
	bool waits = trace_issues(kind) || kind == TRACE_RECEIVE_POST;
	result->result = step(o, n);
	if (result->result != -EAGAIN || !waits)
		return;
	result->held = true;
	drain_all(o);
	result->result = step(o, n);
}

/* ---- set-up ---- */

/* A quarter stays free for completions, and some for what has priority. */
static void room_open(struct oracle *o)
{
	uint32_t n = o->trace->queues.nq_entries;
	o->nq_entries = n + (o->fault == ORACLE_ROOM);
	o->keep_completions = n / 4;
	o->keep_priority = n / 16 ? n / 16 : 1;
}

static bool port_open(struct oracle *o, uint32_t port)
{
	const struct trace_queues *q = &o->trace->queues;
	struct model_port *p = &o->port[port];
	p->words = o->trace->port[port].words;
	p->window = calloc(q->windows, sizeof(*p->window));
	p->entry = calloc(q->nq_entries + 1u, sizeof(*p->entry));
	p->slot = calloc(q->posted, sizeof(*p->slot));
	p->pending = calloc(o->trace->ports, sizeof(*p->pending));
	return p->window && p->entry && p->slot && p->pending;
}

static unsigned char *data_open(const struct trace *t)
{
	uint64_t most = CAY_LINE;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->instruction[i].kind == TRACE_SEND &&
			t->instruction[i].bytes > most)
			most = t->instruction[i].bytes;
	return malloc(most);
}

struct oracle *oracle_open(
	const struct trace *t, enum oracle_fault fault, struct outcome *out)
{
	struct oracle *o = calloc(1, sizeof(*o));
	if (!o || outcome_open(out, t) != 0) {
		free(o);
		return NULL;
	}
	*o = (struct oracle){ .trace = t, .fault = fault, .out = out };
	room_open(o);
	o->port = calloc(t->ports + 1, sizeof(*o->port));
	o->lock = calloc(t->regions + 1, sizeof(*o->lock));
	o->data = data_open(t);
	bool opened = o->port && o->lock && o->data;
	for (uint32_t i = 0; opened && i < t->ports; i++)
		opened = port_open(o, i);
	if (opened)
		return o;
	oracle_close(o);
	outcome_free(out);
	return NULL;
}

void oracle_close(struct oracle *o)
{
	for (uint32_t i = 0; o->port && i < o->trace->ports; i++) {
		free(o->port[i].window);
		free(o->port[i].entry);
		free(o->port[i].slot);
		free(o->port[i].pending);
	}
	free(o->port);
	free(o->lock);
	free(o->data);
	free(o);
}

int oracle_end(struct oracle *o)
{
	drain_all(o);
	return o->out->failed ? -ENOMEM : 0;
}

int oracle_run(
	const struct trace *t, enum oracle_fault fault, struct outcome *out)
{
	struct oracle *o = oracle_open(t, fault, out);
	if (!o)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		oracle_step(o, i);
	int r = oracle_end(o);
	oracle_close(o);
	if (r)
		outcome_free(out);
	return r;
}
