/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay on machines: each instruction is a VCI, posted and triggered. The user
 * tag of a VCI is 1 + the index of its instruction, so that a completion names
 * the instruction; the tag of the trace is restored in what is recorded.
 */
#include <errno.h>

#include "base/bits.h"
#include "trace/bytes.h"
#include "trace/replay_machine.h"

/* Cycles without a retirement after which the ports drain. */
#define PATIENCE_CYCLES 2000u

/* ---- cycles ---- */

static uint64_t machines_retired(const struct replay_machine *x)
{
	uint64_t retired = 0;
	for (uint32_t i = 0; i < x->options.machines; i++)
		retired += machine_counts(x->machine[i])->retired;
	return retired;
}

/*
 * Runs until nothing is left to do, or nothing was retired for a while. Returns
 * true if all instructions are.
 */
static bool machines_run(struct replay_machine *x)
{
	uint64_t patience = PATIENCE_CYCLES + 100ull * x->options.delay;
	uint64_t retired = machines_retired(x), since = x->cycles;
	while (machines_step(x)) {
		uint64_t now = machines_retired(x);
		if (now != retired)
			since = x->cycles;
		retired = now;
		if (retired != x->issued && x->cycles - since > patience)
			return false;
	}
	return machines_retired(x) == x->issued;
}

static uint64_t notifications(const struct replay *r)
{
	uint64_t count = 0;
	for (uint32_t p = 0; p < r->trace->ports; p++)
		count += queue_nq(atomic_load_explicit(
			&fixture_own(&r->fixture, p)->control->r,
			memory_order_relaxed));
	return count;
}

/*
 * Instructions that do not end wait for room at their target, or for one of
 * their port's completions: then all ports drain, as for a retry.
 */
void replay_machine_wait(struct replay *r)
{
	struct replay_machine *x = r->machine;
	while (!x->held && !machines_run(x)) {
		uint64_t retired = machines_retired(x);
		uint64_t consumed = notifications(r);
		x->stalls++;
		for (uint32_t f = 0; f < x->flights; f++)
			r->out->result[x->flight[f].instruction].retried = true;
		replay_drain_all(r);
		if (notifications(r) == consumed && !machines_run(x))
			x->held = machines_retired(x) == retired;
	}
	for (uint32_t f = 0; f < x->flights; f++) {
		const struct flight *y = &x->flight[f];
		struct outcome_result *result = &r->out->result[y->instruction];
		if (y->data && result->result == 0)
			result->data_digest = bytes_digest(y->data,
				r->trace->instruction[y->instruction].bytes);
	}
	x->flights = 0;
	for (uint32_t p = 0; p < r->trace->ports; p++)
		x->staging[p].used = x->staging[p].sdr_used = 0;
}

/* ---- instructions ---- */

static struct cay_window_descriptor *window_of(
	const struct replay *r, const struct trace_instruction *i)
{
	struct cay_window_descriptor *d =
		&r->fixture.port[i->peer].origin.wdt[i->window];
	return i->window < r->trace->queues.windows && d->rights ? d : NULL;
}

/* Sets the memory that an access touches, if it is inside the window. */
static void flight_memory(const struct replay *r,
	const struct trace_instruction *i, struct flight *f)
{
	const struct cay_window_descriptor *d = window_of(r, i);
	if (i->kind == TRACE_SEND || !d ||
		!bits_inside(i->offset, trace_length(i), d->length))
		return;
	f->from = d->start + i->offset;
	f->to = f->from + trace_length(i);
}

/* Returns true if the owner is notified of a refusal; one stands for many. */
static bool notifies_refusal(
	const struct replay *r, const struct trace_instruction *i)
{
	const struct cay_window_descriptor *d = window_of(r, i);
	unsigned needed = trace_is_atomic(i->kind) ? CAY_RIGHT_ATOMIC
			  : i->kind == TRACE_GET   ? CAY_RIGHT_READ
						   : CAY_RIGHT_WRITE;
	if (i->kind == TRACE_SEND || !d ||
		!(d->rights & CAY_RIGHT_NOTIFY_REFUSAL))
		return false;
	return !(d->rights & needed) || d->lock ||
	       (d->capability ^ i->key) & CAY_CAPABILITY_MASK ||
	       !bits_inside(i->offset, trace_length(i), d->length) ||
	       (trace_is_word(i->kind) && (d->start + i->offset) % 8) ||
	       (trace_is_word(i->kind) && i->offset % 8) ||
	       (r->trace->port[i->port].words &&
		       (i->offset | trace_length(i)) % 8);
}

static bool may_be_posted(
	const struct replay *r, const struct trace_instruction *i)
{
	return i->kind == TRACE_SEND && i->bytes > CAY_FAST_SEND_BYTES &&
	       atomic_load_explicit(
		       &fixture_own(&r->fixture, i->peer)->control->posted,
		       memory_order_relaxed) != POSTED_NONE;
}

/*
 * Returns true if the outcome depends on the order of an instruction and one in
 * flight, and no scoreboard keeps that order.
 */
static bool must_wait(const struct replay *r, const struct trace_instruction *i)
{
	const struct replay_machine *x = r->machine;
	struct flight own = { 0 };
	flight_memory(r, i, &own);
	bool wait = x->flights == x->options.in_flight ||
		    i->flags & CAY_FREE_ORDER || may_be_posted(r, i) ||
		    notifies_refusal(r, i);
	for (uint32_t f = 0; !wait && f < x->flights; f++) {
		const struct flight *y = &x->flight[f];
		const struct trace_instruction *other =
			&r->trace->instruction[y->instruction];
		wait = other->flags & CAY_FREE_ORDER ||
		       (other->port != i->port && own.from < y->to &&
			       y->from < own.to);
	}
	return wait;
}

/* Returns true if a message would be held until its target posts a receive. */
static bool would_be_held(
	const struct replay *r, const struct trace_instruction *i)
{
	const struct context *to = fixture_own(&r->fixture, i->peer);
	if (!may_be_posted(r, i) || r->port[i->peer].closed ||
		atomic_load_explicit(&to->control->posted,
			memory_order_relaxed) != POSTED_ONLY)
		return false;
	for (uint32_t k = 0; k < to->posted_entries; k++)
		if ((to->posted[k].state & POSTED_STATE_MASK) == POSTED_READY)
			return false;
	return true;
}

/* Takes staging memory; the caller has checked for room. */
static uint64_t stage(uint64_t *used, uint64_t bytes)
{
	uint64_t at = *used;
	*used += bits_round_up(bytes, 8);
	return at;
}

static bool staging_full(
	const struct replay *r, const struct trace_instruction *i)
{
	const struct staging *s = &r->machine->staging[i->port];
	uint64_t bytes = bits_round_up(i->bytes, 8);
	return bytes > s->bytes - s->used || bytes > s->sdr_bytes - s->sdr_used;
}

/* The payload is in the VCI, in the SDR, or in the origin window. */
static void payload_stage(const struct replay *r,
	const struct trace_instruction *i, struct cay_vci *v, struct flight *f)
{
	struct replay_machine *x = r->machine;
	struct staging *s = &x->staging[i->port];
	const struct origin *o = machine_origin(
		x->machine[machine_of(x, i->port)], fixture_vpid(i->port));
	uint64_t at;
	switch (command_operation((unsigned)v->word[0])) {
	case CAY_FAST_SEND:
		trace_payload(i, (void *)&v->word[CAY_VCI_WORD_DATA]);
		break;
	case CAY_FAST_PUT:
		trace_payload(i, (void *)&v->word[CAY_VCI_WORD_OPERAND]);
		break;
	case CAY_SEND:
		at = stage(&s->sdr_used, i->bytes);
		trace_payload(i, o->sdr + at);
		v->word[CAY_VCI_WORD_SDR_OFFSET] = at;
		v->word[CAY_VCI_WORD_LENGTH] = i->bytes;
		break;
	case CAY_PUT:
	case CAY_GET:
		at = stage(&s->used, i->bytes);
		if (i->kind == TRACE_PUT)
			trace_payload(i, s->memory + at);
		else
			f->data = s->memory + at;
		v->word[CAY_VCI_WORD_ORIGIN] = o->window_count - 1;
		v->word[CAY_VCI_WORD_ORIGIN_OFFSET] = at;
		v->word[CAY_VCI_WORD_BYTES] = i->bytes;
		break;
	default:
		v->word[CAY_VCI_WORD_OPERAND] = i->operand[0];
		v->word[CAY_VCI_WORD_OPERAND + 1] = i->operand[1];
	}
}

static unsigned command_of(const struct trace_instruction *i)
{
	unsigned words = (unsigned)(i->bytes + 7) / 8;
	bool fast = i->bytes >= 1 && i->bytes <= CAY_FAST_PUT_BYTES;
	unsigned ack = i->flags & CAY_ACK ? CAY_COMMAND_ACK : 0;
	switch (i->kind) {
	case TRACE_SEND:
		return ack |
		       (i->bytes <= CAY_FAST_SEND_BYTES ? CAY_FAST_SEND | words
							: CAY_SEND);
	case TRACE_PUT:
		return ack | (fast ? CAY_FAST_PUT | words : CAY_PUT);
	case TRACE_PUT_MASKED:
		return ack | CAY_MISALIGNED_PUT;
	case TRACE_GET: /* the result is the acknowledgement */
		return i->event ? CAY_FAST_GET | words : CAY_GET;
	default:
		return i->kind == TRACE_FETCH_ADD ? CAY_FAA : CAY_CAS;
	}
}

static struct cay_vci vci_of(const struct replay *r, uint32_t n)
{
	const struct trace_instruction *i = &r->trace->instruction[n];
	const struct replay_machine *x = r->machine;
	bool local = machine_of(x, i->port) == machine_of(x, i->peer);
	bool reads = i->kind == TRACE_GET || trace_is_atomic(i->kind);
	uint64_t flags = i->flags & CAY_VCI_FLAGS;
	unsigned command = command_of(i);
	unsigned operation = command_operation(command);
	if (i->flags & CAY_BORROW || (reads && i->flags & CAY_ACK))
		flags |= CAY_VCI_NOTIFY;
	struct cay_vci v = {
		.word = { command |
				  (local ? 1ull : 2ull)
					  << CAY_VCI_ROUTING_LENGTH_SHIFT |
				  flags << CAY_VCI_FLAGS_SHIFT |
				  (uint64_t)i->peer
					  << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(i->peer) |
				(uint64_t)i->api_tag << CAY_VCI_API_TAG_SHIFT,
			n + 1ull }
	};
	if (operation == CAY_FAST_SEND || operation == CAY_FAST_PUT ||
		operation == CAY_FAST_GET)
		v.word[CAY_VCI_WORD_TARGET] |= i->bytes << CAY_VCI_BYTES_SHIFT;
	if (i->kind == TRACE_SEND)
		return v;
	v.word[CAY_VCI_WORD_WINDOW] = i->window |
				      i->key << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OFFSET] = i->offset;
	return v;
}

int replay_machine_issue(struct replay *r, uint32_t n)
{
	const struct trace_instruction *i = &r->trace->instruction[n];
	struct replay_machine *x = r->machine;
	struct machine *m = x->machine[machine_of(x, i->port)];
	uint16_t vpid = fixture_vpid(i->port);
	struct flight f = { .instruction = n };
	struct cay_vci v = vci_of(r, n);

	if (must_wait(r, i) || staging_full(r, i))
		replay_machine_wait(r);
	if (would_be_held(r, i))
		return -EAGAIN;
	/* The VCI is filled in before the next cycle. */
	while (!machine_trigger(m, vpid, CAY_ISSUE_VCI, 1).accepted) {
		if (x->held)
			return -EBUSY;
		replay_machine_wait(r);
	}
	payload_stage(r, i, &v, &f);
	x->held |= !machine_post(m, vpid, &v);
	flight_memory(r, i, &f);
	x->flight[x->flights++] = f;
	x->issued++;
	/* Other instructions follow after some cycles. */
	uint64_t cycles =
		x->options.in_flight == 1 ? 0 : bytes_random(&x->random) % 8;
	while (cycles-- && machines_step(x))
		;
	if (x->options.in_flight == 1)
		replay_machine_wait(r);
	return r->out->result[n].result;
}
