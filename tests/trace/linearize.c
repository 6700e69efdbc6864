/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits operations into steps, and checks everything that does not depend on
 * the order of origins. See linearize.h.
 */
#include "linearize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linearize_search.h"

/* ---- steps of an operation ---- */

static void step_add(struct operation *a, struct step p)
{
	a->step[a->steps++] = p;
}

/* One step per word; other copies are one step, as nothing races with them. */
static void steps_move(struct operation *a, uint64_t at, enum step_kind kind)
{
	uint64_t bytes = a->i->bytes;
	bool words = bytes <= CAY_FAST_PUT_BYTES && (at | bytes) % 8 == 0;
	uint32_t each = words ? 8 : (uint32_t)bytes;
	for (uint32_t from = 0; from < bytes; from += each)
		step_add(a, (struct step){ kind, at + from, each, from });
}

static void steps_access(struct search *s, struct operation *a)
{
	uint64_t at;
	uint32_t region = oracle_region(s->oracle, a->i, &at);
	at += s->region_at[region];
	if (oracle_notifies_owner(s->oracle, a->i))
		step_add(a, (struct step){ .kind = STEP_CLAIM });
	if (a->i->kind == TRACE_PUT) {
		steps_move(a, at, STEP_STORE);
	} else if (a->i->kind == TRACE_GET) {
		steps_move(a, at, STEP_LOAD);
	} else {
		step_add(a, (struct step){ STEP_OPERATE, at, 8, 0 });
	}
}

static int reject(struct search *s, const struct operation *a, const char *what)
{
	char line[TRACE_LINE_MAX];
	line[trace_line(a->i, line) - 1] = 0;
	snprintf(s->text, s->size, "%s: %s (result %d)", line, what,
		a->seen.result);
	return -ENOENT;
}

/* Advances *at to the next completion of the port. */
static bool completion_find(const struct outcome_port *p, uint32_t *at)
{
	while (*at < p->count && outcome_command(&p->nqe[*at]) != CAY_NOTIFY_CC)
		(*at)++;
	return *at < p->count;
}

/* Matches the next completion of the origin with the operation. */
static int completion_match(struct search *s, struct operation *a,
	enum cay_error error, uint32_t *next)
{
	const struct outcome_port *p = &s->seen->port[a->i->port];
	if (!completion_find(p, next))
		return reject(s, a, "completion is missing");
	struct outcome_nqe expected = oracle_completion(a->i, error);
	a->completion = p->nqe[(*next)++];
	a->completes = true;
	if (a->completion.command != expected.command ||
		a->completion.completed != expected.completed ||
		a->completion.tag != expected.tag ||
		a->completion.peer != expected.peer)
		return reject(s, a, "completion of another operation");
	/* Data that was read depends on the order; the search compares it. */
	bool reads = a->i->event || a->i->kind == TRACE_FETCH_ADD ||
		     a->i->kind == TRACE_COMPARE_SWAP;
	if ((error || !reads) && memcmp(a->completion.word, expected.word,
					 sizeof(expected.word)) != 0)
		return reject(s, a, "wrong completion");
	return 0;
}

/* Checks the order-independent results and adds the steps. */
static int operation_prepare(
	struct search *s, struct operation *a, uint32_t *next)
{
	bool completes = trace_completes(a->i);
	bool send = a->i->kind == TRACE_SEND;
	struct history *o = &s->origin[a->i->port];
	enum cay_error error = send ? CAY_ERROR_NONE
				    : oracle_refusal(s->oracle, a->i);
	bool reserves = completes || error;
	bool reserved = o->completions < s->oracle->keep_completions;

	if (reserves && !reserved)
		return a->seen.result == -EAGAIN
			       ? 0
			       : reject(s, a, "completion cannot be reserved");
	if (a->seen.result == -EAGAIN) {
		if (error || (!send && !oracle_notifies_owner(s->oracle, a->i)))
			return reject(
				s, a, "-EAGAIN, but it needs no NQ entry");
		step_add(a, (struct step){ .kind = STEP_FULL });
		return 0;
	}
	if (a->seen.result != (error ? 1 : 0))
		return reject(s, a, "result is wrong in any order");
	if (reserves) {
		int r = completion_match(s, a, error, next);
		if (r)
			return r;
		o->completions++;
	}
	if (send)
		step_add(a, (struct step){ .kind = STEP_CLAIM });
	else if (!error)
		steps_access(s, a);
	if (a->completes)
		step_add(a, (struct step){ .kind = STEP_COMPLETE });
	return 0;
}

static int histories_open(struct search *s)
{
	const struct trace *t = s->trace;
	for (uint32_t p = 0; p < t->ports; p++) {
		struct history *o = &s->origin[p];
		uint32_t next = 0;
		o->operation = calloc(t->count + 1, sizeof(*o->operation));
		if (!o->operation)
			return -ENOMEM;
		for (uint32_t i = s->options->setup; i < t->count; i++) {
			if (t->instruction[i].port != p)
				continue;
			struct operation *a = &o->operation[o->count++];
			a->i = &t->instruction[i];
			a->seen = s->seen->result[i];
			if (a->i->kind == TRACE_PUT &&
				a->i->bytes > sizeof(a->data)) {
				a->bulk = malloc(a->i->bytes);
				if (!a->bulk)
					return -ENOMEM;
			}
			if (a->i->kind == TRACE_PUT)
				trace_payload(
					a->i, a->bulk ? a->bulk : a->data);
			int r = operation_prepare(s, a, &next);
			if (r)
				return r;
		}
		if (completion_find(&s->seen->port[p], &next)) {
			snprintf(s->text, s->size,
				"port %u has an unexpected completion", p);
			return -ENOENT;
		}
	}
	return 0;
}

/* ---- notifications of targets ---- */

/* The next message or notice of an access that the origin caused. */
static const struct outcome_nqe *notification_next(
	const struct outcome_port *p, uint32_t origin, uint32_t *at)
{
	while (*at < p->count) {
		const struct outcome_nqe *n = &p->nqe[(*at)++];
		unsigned command = outcome_command(n);
		bool counts = command != CAY_NOTIFY_CC &&
			      (command != CAY_NOTIFY_RMA || !outcome_error(n));
		if (counts && n->peer == origin)
			return n;
	}
	return NULL;
}

/* All messages and notices of the origin have arrived, in its order. */
static int messages_check(struct search *s, uint32_t origin, uint32_t target)
{
	const struct history *o = &s->origin[origin];
	const struct outcome_port *p = &s->seen->port[target];
	uint32_t at = 0;
	for (uint32_t i = 0; i < o->count; i++) {
		const struct operation *a = &o->operation[i];
		bool send = a->i->kind == TRACE_SEND;
		if (a->i->peer != target || a->seen.result != 0 ||
			(!send && !oracle_notifies_owner(s->oracle, a->i)))
			continue;
		struct outcome_nqe expected =
			send ? oracle_message(s->oracle, a->i)
			     : oracle_access_notice(a->i, CAY_ERROR_NONE);
		const struct outcome_nqe *n = notification_next(p, origin, &at);
		if (!n || !outcome_nqe_equal(n, &expected))
			return reject(
				s, a, "notification is missing or differs");
	}
	if (!notification_next(p, origin, &at))
		return 0;
	snprintf(s->text, s->size,
		"port %u has an unexpected notification from port %u", target,
		origin);
	return -ENOENT;
}

/* ---- set-up ---- */

static int memory_open(struct search *s)
{
	const struct trace *t = s->trace;
	s->region_at = calloc(t->regions + 1, sizeof(*s->region_at));
	if (!s->region_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->regions; i++) {
		s->region_at[i] = s->bytes;
		s->bytes += (t->region[i].bytes + 7) / 8 * 8;
	}
	s->final = calloc(1, s->bytes + 1);
	if (!s->final)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->regions; i++)
		memcpy(s->final + s->region_at[i], s->seen->memory[i],
			t->region[i].bytes);
	return 0;
}

static int search_open(struct search *s)
{
	const struct trace *t = s->trace;
	s->origin = calloc(t->ports + 1, sizeof(*s->origin));
	if (!s->origin)
		return -ENOMEM;
	s->oracle = oracle_open(t, s->options->fault, &s->start);
	if (!s->oracle)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->options->setup; i++)
		oracle_step(s->oracle, i);
	int r = memory_open(s);
	return r ? r : histories_open(s);
}

static void search_close(struct search *s)
{
	for (uint32_t p = 0; s->origin && p < s->trace->ports; p++) {
		for (uint32_t i = 0; i < s->origin[p].count; i++)
			free(s->origin[p].operation[i].bulk);
		free(s->origin[p].operation);
	}
	if (s->oracle) {
		oracle_close(s->oracle);
		outcome_free(&s->start);
	}
	free(s->origin);
	free(s->region_at);
	free(s->final);
}

int linearize(const struct linearize_options *options,
	const struct outcome *seen, uint64_t *states, char *text, size_t size)
{
	struct search s = { .options = options,
		.trace = seen->trace,
		.seen = seen,
		.text = text,
		.size = size };
	if (seen->trace->ports > LINEARIZE_ORIGINS_MAX)
		return -E2BIG;
	int r = search_open(&s);
	for (uint32_t o = 0; r == 0 && o < s.trace->ports; o++)
		for (uint32_t t = 0; r == 0 && t < s.trace->ports; t++)
			r = messages_check(&s, o, t);
	if (r == 0)
		r = search_run(&s);
	*states = s.states;
	search_close(&s);
	return r;
}
