/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaying: set-up, order, holding, the end. See replay.h. */
#include "trace/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/replay_parts.h"

/* ---- set-up ---- */

/* The largest payload that a port has to have room for. */
static uint64_t data_bytes(const struct trace *t, uint32_t port)
{
	uint64_t most = CAY_LINE;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trace_instruction *x = &t->instruction[i];
		if (x->port == port && trace_issues(x->kind) && x->bytes > most)
			most = x->bytes;
	}
	return most;
}

/* Buffers of one size, one for each slot that may be in use. */
static int posted_open(struct replay *r, uint32_t port)
{
	struct replay_port *p = &r->port[port];
	uint64_t count = 0, most = 0;
	for (uint32_t i = 0; i < r->trace->count; i++) {
		const struct trace_instruction *x = &r->trace->instruction[i];
		if (x->kind != TRACE_RECEIVE_POST || x->port != port)
			continue;
		count++;
		most = x->bytes > most ? x->bytes : most;
	}
	if (count == 0)
		return 0;
	p->posted_each = bits_round_up(most, CAY_LINE);
	p->posted = workbench_memory(&r->bench,
		p->posted_each * bits_min(count, r->trace->queues.posted));
	return p->posted ? 0 : -EFBIG;
}

static int port_open(struct replay *r, uint32_t port)
{
	struct replay_port *p = &r->port[port];
	r->bench.port[port].origin.words = r->trace->port[port].words;
	p->data = malloc(data_bytes(r->trace, port));
	p->region = calloc(r->trace->queues.windows, sizeof(*p->region));
	return p->data && p->region ? posted_open(r, port) : -ENOMEM;
}

static int regions_open(struct replay *r)
{
	const struct trace *t = r->trace;
	r->memory = calloc(t->regions ? t->regions : 1, sizeof(*r->memory));
	if (!r->memory)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->regions; i++) {
		uint64_t at = workbench_memory(
			&r->bench, t->region[i].bytes + t->region[i].skew);
		if (!at)
			return -EFBIG;
		r->memory[i] = at + t->region[i].skew;
	}
	return 0;
}

static struct queue_wish queues_wish(const struct trace_queues *q)
{
	return (struct queue_wish){
		.nq_log2 = (uint8_t)bits_log2_up(q->nq_entries),
		.rdr_log2 = (uint8_t)bits_log2_up(q->rdr_bytes / RDR_UNIT),
		.posted_log2 = (uint8_t)bits_log2_up(q->posted),
		.windows = q->windows,
	};
}

int replay_open(struct replay *r, const struct trace *t,
	const struct platform *platform, struct outcome *out)
{
	const struct queue_wish wish = queues_wish(&t->queues);
	*r = (struct replay){ .trace = t, .platform = platform, .out = out };
	int e = outcome_open(out, t);
	if (e)
		return e;
	e = workbench_open(&r->bench, t->ports, &wish);
	if (e)
		goto err_outcome;
	r->port = calloc(t->ports + 1, sizeof(*r->port));
	e = r->port ? regions_open(r) : -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < t->ports; i++)
		e = port_open(r, i);
	if (e == 0)
		return 0;
	replay_close(r);
err_outcome:
	outcome_free(out);
	return e;
}

void replay_close(struct replay *r)
{
	for (uint32_t i = 0; r->port && i < r->trace->ports; i++) {
		for (unsigned s = 0; s < ARRAY_COUNT(r->port[i].sent); s++)
			free(r->port[i].sent[s].data);
		free(r->port[i].data);
		free(r->port[i].region);
	}
	free(r->port);
	free(r->memory);
	workbench_close(&r->bench);
}

/* ---- order ---- */

/* What comes to one when another drains is taken too. */
static void drain_all(struct replay *r)
{
	bool more = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < r->trace->ports; i++) {
			uint32_t before = r->out->port[i].count;
			replay_drain(r, i);
			more |= r->out->port[i].count != before;
		}
	}
}

/* Of the node, the library and the consumer: they never wait for room. */
static int step_other(struct replay *r, const struct trace_instruction *i)
{
	switch (i->kind) {
	case TRACE_PEER_RESOLVE:
	case TRACE_PEER_RELEASE:
		return 0; /* all know each other */
	case TRACE_FLUSH:
		if (r->platform->reference_pending(
			    &r->bench.port[i->port].origin,
			    workbench_vpid(i->peer)))
			replay_drain(r, i->peer);
		return 0;
	case TRACE_DRAIN:
		replay_drain(r, i->port);
		return 0;
	case TRACE_PORT_CLOSE:
		replay_drain(r, i->port);
		return owner_close(r, i->port);
	default:
		return owner_step(r, i);
	}
}

int replay_issue(struct replay *r, uint32_t i)
{
	const struct trace_instruction *x = &r->trace->instruction[i];
	struct outcome_result *result = &r->out->result[i];
	result->got = 0;
	result->result = trace_issues(x->kind) ? issue(r, x, &result->got)
					       : step_other(r, x);
	return result->result;
}

void replay_step(struct replay *r, uint32_t i)
{
	const struct trace_instruction *x = &r->trace->instruction[i];
	bool waits = trace_issues(x->kind) || x->kind == TRACE_RECEIVE_POST;
	if (replay_issue(r, i) != -EAGAIN || !waits)
		return;
	r->out->result[i].held = true;
	drain_all(r);
	replay_issue(r, i);
}

int replay_end(struct replay *r)
{
	const struct trace *t = r->trace;
	drain_all(r);
	for (uint32_t i = 0; i < t->regions; i++)
		memcpy(r->out->memory[i], workbench_at(&r->bench, r->memory[i]),
			t->region[i].bytes);
	return r->out->failed ? -ENOMEM : 0;
}

int replay_run(struct replay *r)
{
	for (uint32_t i = 0; i < r->trace->count; i++)
		replay_step(r, i);
	return replay_end(r);
}
