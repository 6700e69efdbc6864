/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle: instruction order, retries, consumers, owners. See oracle.h. */
#include "trace/oracle.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/oracle_model.h"

/* ---- consumers ---- */

static void drain(struct oracle *o, uint32_t port)
{
	struct model_port *p = &o->port[port];
	uint32_t completions = 0;
	for (uint32_t n = 0; n < p->count; n++) {
		struct model_entry e = p->entry[n];
		outcome_add(o->out, port, &e.nqe);
		completions += e.reserved;
		p->references -= e.reference;
		if (e.slot)
			p->slot[e.slot - 1].state = SLOT_FREE;
		if (e.sender == NO_PORT)
			continue;
		if (e.copied) {
			o->port[e.sender].copied--;
			if (o->fault != ORACLE_COPIED ||
				!oracle_free_entries(o, e.sender, 0))
				continue;
		}
		/* Consuming a borrowed message completes it. */
		const struct model_entry completion = { .reserved = !e.copied,
			.reference = !e.copied,
			.sender = NO_PORT,
			.nqe = { .command = CAY_NOTIFY_CC,
				.peer = (uint16_t)port,
				.completed = e.command,
				.api_tag = e.nqe.api_tag,
				.tag = e.nqe.tag,
				.word = { e.nqe.word[0] } } };
		o->port[e.sender].pending[port] -= !e.copied;
		oracle_notify(o, e.sender, &completion);
	}
	p->count = 0;
	p->rdr_read = p->rdr_write;
	p->completions -= completions;
	for (uint32_t w = 0; w < o->trace->queues.windows; w++)
		p->window[w].refusal_notified = false;
}

/* Draining one port may complete messages of another: repeats until idle. */
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

/* ---- instructions ---- */

static int issue(struct oracle *o, const struct trace_instruction *i,
	uint64_t *data_digest)
{
	bool completes = trace_completes(i);
	int r = -EPIPE;
	/* A fence waits for all borrowed messages of the port. */
	for (uint32_t p = 0; i->flags & CAY_FENCE && p < o->trace->ports; p++)
		if (o->port[i->port].pending[p])
			return -EAGAIN;
	if (completes && !oracle_reserve(o, i->port))
		return -EAGAIN;
	if (!o->port[i->peer].closed)
		r = i->kind == TRACE_SEND
			    ? oracle_send(o, i)
			    : oracle_access(o, i, completes, data_digest);
	if (r < 0 && completes)
		o->port[i->port].completions--;
	return r;
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
		drain(o, i->port);
		o->port[i->port].closed = true;
		for (uint32_t r = 0; r < o->trace->regions; r++)
			if (o->lock[r] == i->port + 1u)
				o->lock[r] = 0;
		return 0;
	default:
		return issue(o, i, &o->out->result[n].data_digest);
	}
}

void oracle_step(struct oracle *o, uint32_t n)
{
	struct outcome_result *result = &o->out->result[n];
	result->result = step(o, n);
	if (result->result != -EAGAIN ||
		!trace_retries(o->trace->instruction[n].kind))
		return;
	result->retried = true;
	drain_all(o);
	result->result = step(o, n);
}

/* ---- set-up and end ---- */

struct oracle *oracle_open(
	const struct trace *t, enum oracle_fault fault, struct outcome *out)
{
	const struct trace_queues *q = &t->queues;
	uint32_t n = q->nq_entries;
	uint64_t longest = CAY_LINE;
	struct oracle *o = calloc(1, sizeof(*o));
	if (!o || outcome_open(out, t) != 0) {
		free(o);
		return NULL;
	}
	*o = (struct oracle){ .trace = t,
		.fault = fault,
		.out = out,
		.nq_entries = n + (fault == ORACLE_NQ_ENTRIES),
		.keep_completions = n / 4,
		.keep_priority = n / 16 ? n / 16 : 1 };
	for (uint32_t i = 0; i < t->count; i++)
		if (t->instruction[i].kind == TRACE_SEND &&
			t->instruction[i].bytes > longest)
			longest = t->instruction[i].bytes;
	o->data = malloc(longest);
	o->port = calloc(t->ports + 1, sizeof(*o->port));
	o->lock = calloc(t->regions + 1, sizeof(*o->lock));
	bool opened = o->port && o->lock && o->data;
	for (uint32_t i = 0; opened && i < t->ports; i++) {
		struct model_port *p = &o->port[i];
		p->words = t->port[i].words;
		p->window = calloc(q->windows, sizeof(*p->window));
		p->entry = calloc(n + 1u, sizeof(*p->entry));
		p->slot = calloc(q->posted, sizeof(*p->slot));
		p->pending = calloc(t->ports, sizeof(*p->pending));
		opened = p->window && p->entry && p->slot && p->pending;
	}
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

int oracle_run(
	const struct trace *t, enum oracle_fault fault, struct outcome *out)
{
	struct oracle *o = oracle_open(t, fault, out);
	if (!o)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		oracle_step(o, i);
	drain_all(o);
	oracle_close(o);
	if (!out->failed)
		return 0;
	outcome_free(out);
	return -ENOMEM;
}
