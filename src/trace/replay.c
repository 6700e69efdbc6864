/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay: set-up, instruction order and retries, end. See replay.h. */
#include "trace/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/replay_internal.h"

/* ---- set-up ---- */

static int port_open(struct replay *r, uint32_t port)
{
	const struct trace *t = r->trace;
	struct replay_port *p = &r->port[port];
	uint64_t payload = CAY_LINE; /* the longest that it issues */
	uint64_t posted = 0, posted_bytes = 0;
	for (uint32_t n = 0; n < t->count; n++) {
		const struct trace_instruction *i = &t->instruction[n];
		if (i->port != port)
			continue;
		if (trace_issues(i->kind) && i->bytes > payload)
			payload = i->bytes;
		if (i->kind != TRACE_RECEIVE_POST)
			continue;
		posted++;
		if (i->bytes > posted_bytes)
			posted_bytes = i->bytes;
	}
	/* Calls have no memory in the SDR. */
	if (t->port[port].words)
		r->fixture.port[port].origin.word_mode = WORD_MODE_TARGET;
	p->data = malloc(payload);
	p->region = calloc(t->queues.windows, sizeof(*p->region));
	if (!p->data || !p->region)
		return -ENOMEM;
	if (posted == 0)
		return 0;
	/* Buffers of one size, one for each slot that may be in use. */
	p->posted_each = bits_round_up(posted_bytes, CAY_LINE);
	p->posted = fixture_memory(&r->fixture,
		p->posted_each * bits_min(posted, t->queues.posted));
	return p->posted ? 0 : -EFBIG;
}

static int replay_set_up(struct replay *r, const struct trace *t,
	const struct platform *platform,
	const struct replay_machine_options *machine, struct outcome *out)
{
	const struct trace_queues *q = &t->queues;
	struct queue_options wish = {
		.nq_log2 = (uint8_t)bits_log2_up(q->nq_entries),
		.rdr_log2 = (uint8_t)bits_log2_up(q->rdr_bytes / RDR_UNIT),
		.posted_log2 = (uint8_t)bits_log2_up(q->posted),
		.windows = q->windows,
	};
	*r = (struct replay){ .trace = t, .platform = platform, .out = out };
	int e = machine ? replay_machine_queues(t, machine, &wish) : 0;
	if (e == 0)
		e = outcome_open(out, t);
	if (e)
		return e;
	e = fixture_open(&r->fixture, t->ports, &wish);
	if (e)
		goto err_outcome;
	r->port = calloc(t->ports + 1, sizeof(*r->port));
	r->memory = calloc(t->regions + 1, sizeof(*r->memory));
	if (!r->port || !r->memory)
		e = -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < t->regions; i++) {
		const struct trace_region *region = &t->region[i];
		uint64_t at = fixture_memory(
			&r->fixture, region->bytes + region->skew);
		e = at ? 0 : -EFBIG;
		r->memory[i] = at + region->skew;
	}
	for (uint32_t i = 0; e == 0 && i < t->ports; i++)
		e = port_open(r, i);
	if (e == 0 && machine)
		e = replay_machine_open(r, machine);
	if (e == 0)
		return 0;
	replay_close(r);
err_outcome:
	outcome_free(out);
	return e;
}

int replay_open(struct replay *r, const struct trace *t,
	const struct platform *platform, struct outcome *out)
{
	return replay_set_up(r, t, platform, NULL, out);
}

int replay_open_machine(struct replay *r, const struct trace *t,
	const struct replay_machine_options *options, struct outcome *out)
{
	return replay_set_up(r, t, &platform_counting, options, out);
}

void replay_close(struct replay *r)
{
	replay_machine_close(r);
	for (uint32_t i = 0; r->port && i < r->trace->ports; i++) {
		struct replay_port *p = &r->port[i];
		for (unsigned s = 0; s < ARRAY_COUNT(p->reference); s++)
			free(p->reference[s]);
		free(p->data);
		free(p->region);
	}
	free(r->port);
	free(r->memory);
	fixture_close(&r->fixture);
}

/* ---- instructions ---- */

/* Executes an instruction that the device does not execute. */
static int step_other(struct replay *r, const struct trace_instruction *i)
{
	if (r->machine)
		replay_machine_wait(r);
	switch (i->kind) {
	case TRACE_PEER_RESOLVE:
	case TRACE_PEER_RELEASE:
		return 0; /* the fixture has resolved all peers */
	case TRACE_FLUSH:
		if (r->platform->reference_pending(
			    &r->fixture.port[i->port].origin,
			    fixture_vpid(i->peer)))
			replay_drain(r, i->peer);
		return 0;
	case TRACE_DRAIN:
		replay_drain(r, i->port);
		return 0;
	case TRACE_PORT_CLOSE:
		replay_drain(r, i->port);
		if (r->machine)
			replay_machine_detach(r, i->port);
		replay_port_close(r, i->port);
		return 0;
	default:
		return replay_owner_step(r, i);
	}
}

int replay_issue(struct replay *r, uint32_t i)
{
	const struct trace_instruction *x = &r->trace->instruction[i];
	struct outcome_result *result = &r->out->result[i];
	*result = (struct outcome_result){ .retried = result->retried };
	if (!trace_issues(x->kind))
		result->result = step_other(r, x);
	else if (r->machine)
		result->result = replay_machine_issue(r, i);
	else
		result->result = replay_execute(r, x, &result->data_digest);
	return result->result;
}

void replay_step(struct replay *r, uint32_t i)
{
	if (replay_issue(r, i) != -EAGAIN ||
		!trace_retries(r->trace->instruction[i].kind))
		return;
	r->out->result[i].retried = true;
	replay_drain_all(r);
	replay_issue(r, i);
}

int replay_end(struct replay *r)
{
	const struct trace *t = r->trace;
	if (r->machine)
		replay_machine_wait(r);
	replay_drain_all(r);
	for (uint32_t i = 0; i < t->regions; i++)
		memcpy(r->out->memory[i], fixture_at(&r->fixture, r->memory[i]),
			t->region[i].bytes);
	if (r->out->failed)
		return -ENOMEM;
	return r->machine ? replay_machine_error(r) : 0;
}

int replay_run(struct replay *r)
{
	for (uint32_t i = 0; i < r->trace->count; i++)
		replay_step(r, i);
	return replay_end(r);
}
