/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay on machines: set-up, windows and locks, the consumer's half. */
#include "trace/replay_machine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "trace/bytes.h"

/* ---- set-up ---- */

int replay_machine_queues(const struct trace *t,
	const struct replay_machine_options *o, struct queue_options *q)
{
	uint64_t longest = CAY_EAGER_MAX;
	if (o->machines == 0 || o->machines > REPLAY_MACHINES_MAX ||
		o->in_flight == 0 || o->in_flight > REPLAY_IN_FLIGHT_MAX ||
		machine_config_invalid(&o->config))
		return -EINVAL;
	for (uint32_t n = 0; n < t->count; n++) {
		const struct trace_instruction *i = &t->instruction[n];
		if (i->kind == TRACE_SEND && i->bytes > longest)
			longest = i->bytes;
	}
	/* In half of a ring a message always finds room. */
	uint8_t log2 = (uint8_t)bits_log2_up(2 * longest / RDR_UNIT);
	if (log2 > QUEUE_RDR_LOG2_MAX || log2 > QUEUE_SDR_LOG2_MAX)
		return -EFBIG;
	if (q->rdr_log2 < log2)
		q->rdr_log2 = log2;
	q->sdr_log2 = QUEUE_SDR_LOG2_DEFAULT;
	if (q->sdr_log2 < log2)
		q->sdr_log2 = log2;
	q->windows++; /* a descriptor for the staging memory, which is closed */
	return 0;
}

static int staging_open(struct replay *r, uint32_t port, struct origin *o)
{
	const struct trace *t = r->trace;
	struct staging *s = &r->machine->staging[port];
	s->sdr_bytes = o->sdr_bytes;
	s->bytes = 1u << 16;
	for (uint32_t n = 0; n < t->count; n++) {
		const struct trace_instruction *i = &t->instruction[n];
		bool access = i->kind == TRACE_PUT || i->kind == TRACE_GET;
		if (access && i->port == port && i->bytes > s->bytes)
			s->bytes = bits_round_up(i->bytes, CAY_LINE);
	}
	s->memory = malloc(s->bytes);
	s->windows = calloc(o->window_count, sizeof(*s->windows));
	if (!s->memory || !s->windows)
		return -ENOMEM;
	s->windows[o->window_count - 1] =
		(struct origin_window){ s->memory, s->bytes };
	o->windows = s->windows;
	o->routes = r->fixture.port[port].origin.routes;
	o->word_mode = r->fixture.port[port].origin.word_mode;
	return 0;
}

/* Machine i is node i + 1; its routes are numbered as the ports. */
static int port_attach(struct replay *r, uint32_t port)
{
	struct replay_machine *x = r->machine;
	uint32_t home = machine_of(x, port);
	struct machine *m = x->machine[home];
	/* One hop there, one hop back. */
	const struct routing_string string = { .tag = (uint16_t)(home + 1),
		.count = 4,
		.phit = { phit_make(0, 1, 0), STRING_PORT_ANY | STRING_RETURN,
			phit_make(1, 1, 0), STRING_PORT_ANY } };
	const struct context *own = fixture_own(&r->fixture, port);
	const struct machine_peer peer = { home + 1, own->epoch, own->vpid };
	int e = machine_attach(m, fixture_own(&r->fixture, port));
	for (uint32_t i = 0; e == 0 && i < x->options.machines; i++)
		if (i != home)
			e = machine_route(x->machine[i], port, &peer, &string);
	return e ? e
		 : staging_open(r, port, machine_origin(m, fixture_vpid(port)));
}

int replay_machine_open(
	struct replay *r, const struct replay_machine_options *o)
{
	struct replay_machine *x = calloc(1, sizeof(*x));
	r->machine = x;
	if (!x)
		return -ENOMEM;
	x->options = *o;
	x->random = o->seed;
	x->staging = calloc(r->trace->ports + 1, sizeof(*x->staging));
	int e = x->staging ? 0 : -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < o->machines; i++) {
		e = machine_open(&x->machine[i], &o->config, i + 1,
			r->trace->ports ? r->trace->ports : 1);
		if (e == 0)
			machine_delay(x->machine[i], o->delay, o->seed + i);
	}
	for (uint32_t p = 0; e == 0 && p < r->trace->ports; p++)
		e = port_attach(r, p);
	if (e == 0)
		e = wire_open(&x->wire, x->machine, o->machines, 4 * o->delay,
			o->seed);
	return e;
}

void replay_machine_close(struct replay *r)
{
	struct replay_machine *x = r->machine;
	if (!x)
		return;
	wire_close(x->wire);
	for (uint32_t i = 0; i < x->options.machines; i++)
		machine_close(x->machine[i]);
	for (uint32_t p = 0; x->staging && p < r->trace->ports; p++) {
		free(x->staging[p].memory);
		free(x->staging[p].windows);
	}
	free(x->staging);
	free(x);
	r->machine = NULL;
}

/* Also ends the locks and paths of the port on the other machines. */
void replay_machine_detach(struct replay *r, uint32_t port)
{
	struct replay_machine *x = r->machine;
	uint32_t home = machine_of(x, port);
	const struct machine_peer peer = { home + 1,
		r->fixture.port[port].first_epoch, fixture_vpid(port) };
	machine_detach(x->machine[home], fixture_vpid(port));
	for (uint32_t i = 0; i < x->options.machines; i++)
		machine_holder_gone(x->machine[i], &peer);
}

int replay_machine_error(const struct replay *r)
{
	return r->machine->held ? -EBUSY : 0;
}

/* ---- windows and locks ---- */

void replay_machine_quiesce(struct replay *r, const struct trace_instruction *i)
{
	struct replay_machine *x = r->machine;
	while (machine_window_quiesce(x->machine[machine_of(x, i->port)],
		fixture_vpid(i->port), i->window))
		machines_step(x);
}

int replay_machine_lock(struct replay *r, const struct trace_instruction *i)
{
	struct replay_machine *x = r->machine;
	struct machine *m = x->machine[machine_of(x, i->peer)];
	const struct machine_lock lock = { .vpid = fixture_vpid(i->peer),
		.window = i->window,
		.capability = i->key,
		.holder = { .node = machine_of(x, i->port) + 1,
			.epoch = r->fixture.port[i->port].first_epoch,
			.vpid = fixture_vpid(i->port) } };
	if (i->kind == TRACE_WINDOW_UNLOCK)
		return machine_window_unlock(m, &lock);
	int e = machine_window_lock(m, &lock);
	for (; e == -EINPROGRESS; e = machine_window_locked(m, &lock))
		machines_step(x);
	return e;
}

/* ---- the consumer ---- */

bool replay_machine_consumed(struct replay *r, struct outcome_nqe *n)
{
	if (n->tag == 0 || n->tag > r->trace->count)
		return true;
	const struct trace_instruction *i = &r->trace->instruction[n->tag - 1];
	struct outcome_result *result = &r->out->result[n->tag - 1];
	unsigned error = outcome_error(n);
	n->tag = i->tag;
	if (outcome_command(n) != CAY_NOTIFY_CC)
		return true;
	if (error) {
		result->result = error == CAY_ERROR_GONE ? -EPIPE : 1;
		result->data_digest = 0;
		return error != CAY_ERROR_GONE;
	}
	if (trace_is_atomic(i->kind) && !i->event)
		result->data_digest =
			bytes_digest(&n->word[2], sizeof(n->word[2]));
	return trace_completes(i);
}

void replay_machine_returned(
	struct replay *r, uint32_t port, uint64_t word, uint32_t completions)
{
	struct replay_machine *x = r->machine;
	/* Entries are returned before the reservations that rely on them. */
	machine_return_entries(fixture_own(&r->fixture, port), word);
	machine_completions_returned(x->machine[machine_of(x, port)],
		fixture_vpid(port), completions);
}

struct replay_machine_totals replay_machine_totals(const struct replay *r)
{
	const struct replay_machine *x = r->machine;
	struct replay_machine_totals all = { .cycles = x->cycles,
		.packets = wire_packets(x->wire),
		.stalls = x->stalls };
	for (uint32_t i = 0; i < x->options.machines; i++) {
		const struct machine_counts *c = machine_counts(x->machine[i]);
		all.refused += c->refused;
		all.parked += c->parked;
	}
	return all;
}
