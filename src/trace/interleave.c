/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explaining races: what each instruction does and saw, and whatever of it is
 * the same in any order. See interleave.h.
 */
#include "trace/interleave.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/interleave_search.h"

/* ---- what each instruction does ---- */

static void part_add(struct act *a, struct part p)
{
	a->part[a->parts++] = p;
}

/* Whole words one by one; anything else is one copy, and alone there. */
static void parts_move(struct act *a, uint64_t at, enum part_kind kind)
{
	uint64_t bytes = a->i->bytes;
	bool words = bytes <= CAY_FAST_PUT_BYTES && (at | bytes) % 8 == 0;
	uint32_t each = words ? 8 : (uint32_t)bytes;
	for (uint32_t from = 0; from < bytes; from += each)
		part_add(a, (struct part){ kind, at + from, each, from });
}

static void parts_access(struct search *s, struct act *a)
{
	uint64_t at;
	uint32_t region = oracle_place(s->oracle, a->i, &at);
	at += s->region_at[region];
	if (oracle_tells(s->oracle, a->i))
		part_add(a, (struct part){ .kind = PART_CLAIM });
	if (a->i->kind == TRACE_PUT) {
		parts_move(a, at, PART_STORE);
	} else if (a->i->kind == TRACE_GET) {
		parts_move(a, at, PART_LOAD);
	} else {
		part_add(a, (struct part){ PART_OPERATE, at, 8, 0 });
	}
}

static int complain(struct search *s, const struct act *a, const char *what)
{
	char line[TRACE_LINE_MAX];
	line[trace_line(a->i, line) - 1] = 0;
	snprintf(s->text, s->room, "%s: %s (result %d)", line, what,
		a->seen.result);
	return -ENOENT;
}

/* Is there a completion in what the port has seen, from *at on? */
static bool end_find(const struct outcome_port *p, uint32_t *at)
{
	while (*at < p->count &&
		outcome_command(&p->note[*at]) != CAY_NOTIFY_CC)
		(*at)++;
	return *at < p->count;
}

/* The next completion of the origin must be this one's. */
static int act_end(
	struct search *s, struct act *a, enum cay_error error, uint32_t *ends)
{
	const struct outcome_port *p = &s->seen->port[a->i->port];
	if (!end_find(p, ends))
		return complain(s, a, "it has no completion");
	struct outcome_note expected = oracle_completion(a->i, error);
	a->end = p->note[(*ends)++];
	a->completes = true;
	if (a->end.command != expected.command ||
		a->end.completed != expected.completed ||
		a->end.tag != expected.tag || a->end.peer != expected.peer)
		return complain(s, a, "its completion is another one");
	/* What was read is compared when an order says what it must be. */
	bool reads = a->i->event || a->i->kind == TRACE_FETCH_ADD ||
		     a->i->kind == TRACE_COMPARE_SWAP;
	if ((error || !reads) &&
		memcmp(a->end.word, expected.word, sizeof(expected.word)) != 0)
		return complain(s, a, "its completion says something else");
	return 0;
}

/* What it must have given, as far as that does not depend on the order. */
static int act_prepare(struct search *s, struct act *a, uint32_t *ends)
{
	bool completes = oracle_completes(a->i);
	bool send = a->i->kind == TRACE_SEND;
	struct origin_acts *o = &s->origin[a->i->port];
	enum cay_error error = send ? CAY_ERROR_NONE
				    : oracle_refusal(s->oracle, a->i);
	bool reserves = completes || error;
	bool reserved = o->ends < oracle_completions(s->oracle);

	if (reserves && !reserved)
		return a->seen.result == -EAGAIN
			       ? 0
			       : complain(s, a, "there is no room for its end");
	if (a->seen.result == -EAGAIN) {
		if (error || (!send && !oracle_tells(s->oracle, a->i)))
			return complain(s, a, "it needs no room");
		part_add(a, (struct part){ .kind = PART_FULL });
		return 0;
	}
	if (a->seen.result != (error ? 1 : 0))
		return complain(s, a, "its result is wrong in any order");
	if (reserves) {
		int r = act_end(s, a, error, ends);
		if (r)
			return r;
		o->ends++;
	}
	if (send)
		part_add(a, (struct part){ .kind = PART_CLAIM });
	else if (!error)
		parts_access(s, a);
	if (a->completes)
		part_add(a, (struct part){ .kind = PART_END });
	return 0;
}

static int act_payload(struct act *a)
{
	if (a->i->kind != TRACE_PUT)
		return 0;
	if (a->i->bytes <= sizeof(a->data)) {
		trace_payload(a->i, a->data);
		return 0;
	}
	a->bulk = malloc(a->i->bytes);
	if (!a->bulk)
		return -ENOMEM;
	trace_payload(a->i, a->bulk);
	return 0;
}

static int acts_open(struct search *s)
{
	const struct trace *t = s->trace;
	for (uint32_t p = 0; p < t->ports; p++) {
		struct origin_acts *o = &s->origin[p];
		uint32_t ends = 0;
		o->act = calloc(t->count + 1, sizeof(*o->act));
		if (!o->act)
			return -ENOMEM;
		for (uint32_t i = s->how->setup; i < t->count; i++) {
			if (t->instruction[i].port != p)
				continue;
			struct act *a = &o->act[o->count++];
			a->i = &t->instruction[i];
			a->seen = s->seen->result[i];
			int r = act_payload(a);
			if (r == 0)
				r = act_prepare(s, a, &ends);
			if (r)
				return r;
		}
		if (end_find(&s->seen->port[p], &ends)) {
			snprintf(s->text, s->room,
				"port %u has a completion too many", p);
			return -ENOENT;
		}
	}
	return 0;
}

/* ---- what does not depend on the order ---- */

/* The next one that the origin has caused at a port, as in outcome.c. */
static const struct outcome_note *note_next(
	const struct outcome_port *p, uint32_t origin, uint32_t *at)
{
	while (*at < p->count) {
		const struct outcome_note *n = &p->note[(*at)++];
		unsigned command = outcome_command(n);
		bool counts = command != CAY_NOTIFY_CC &&
			      (command != CAY_NOTIFY_RMA || !outcome_error(n));
		if (counts && n->peer == origin)
			return n;
	}
	return NULL;
}

/* Everything that went through has arrived, in its origin's order. */
static int messages_check(struct search *s, uint32_t origin, uint32_t target)
{
	const struct origin_acts *o = &s->origin[origin];
	const struct outcome_port *p = &s->seen->port[target];
	uint32_t at = 0;
	for (uint32_t i = 0; i < o->count; i++) {
		const struct act *a = &o->act[i];
		bool send = a->i->kind == TRACE_SEND;
		if (a->i->peer != target || a->seen.result != 0 ||
			(!send && !oracle_tells(s->oracle, a->i)))
			continue;
		struct outcome_note expected =
			send ? oracle_message(s->oracle, a->i)
			     : oracle_access(a->i, CAY_ERROR_NONE);
		const struct outcome_note *n = note_next(p, origin, &at);
		if (!n || !outcome_note_same(n, &expected))
			return complain(s, a, "it has not arrived as it was");
	}
	if (!note_next(p, origin, &at))
		return 0;
	snprintf(s->text, s->room, "port %u has something more from port %u",
		target, origin);
	return -ENOENT;
}

static int all_messages_check(struct search *s)
{
	int r = 0;
	for (uint32_t o = 0; r == 0 && o < s->trace->ports; o++)
		for (uint32_t t = 0; r == 0 && t < s->trace->ports; t++)
			r = messages_check(s, o, t);
	return r;
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
	s->oracle = oracle_open(t, s->how->fault, &s->start);
	if (!s->oracle)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->how->setup; i++)
		oracle_step(s->oracle, i);
	int r = memory_open(s);
	return r ? r : acts_open(s);
}

static void search_close(struct search *s)
{
	for (uint32_t p = 0; s->origin && p < s->trace->ports; p++) {
		for (uint32_t i = 0; i < s->origin[p].count; i++)
			free(s->origin[p].act[i].bulk);
		free(s->origin[p].act);
	}
	if (s->oracle) {
		oracle_close(s->oracle);
		outcome_free(&s->start);
	}
	free(s->origin);
	free(s->region_at);
	free(s->final);
}

int interleave_explain(const struct interleave *how, const struct outcome *seen,
	uint64_t *states, char *text, size_t room)
{
	struct search s = { .how = how,
		.trace = seen->trace,
		.seen = seen,
		.text = text,
		.room = room };
	if (seen->trace->ports > INTERLEAVE_ORIGINS_MAX)
		return -E2BIG;
	int r = search_open(&s);
	if (r == 0)
		r = all_messages_check(&s);
	if (r == 0)
		r = search_run(&s);
	*states = s.states;
	search_close(&s);
	return r;
}
