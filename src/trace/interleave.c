/* SPDX-License-Identifier: BSD-2-Clause */
/* See interleave.h. */
#include "trace/interleave.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"

#define STATES_MAX (1u << 20)
#define TABLE_LOG2 10 /* of states, to begin with */
#define STORES_MAX 4  /* that may be late */
#define STEPS_MAX  8  /* of an instruction */

/* Something indivisible that an instruction does. */
enum step_kind {
	STEP_ROOM,    /* claims an entry at its target */
	STEP_NO_ROOM, /* finds none */
	STEP_STORE,
	STEP_LOAD,
	STEP_OPERATE, /* an atomic or a masked put */
	STEP_END,     /* its completion enters its port's own queue */
};

struct step {
	enum step_kind kind;
	uint64_t at; /* in the state's memory */
	uint32_t bytes;
	uint32_t from; /* in the instruction's payload, or in what it loads */
};

/* An instruction of a racing origin: what it does and what it saw. */
struct act {
	const struct trace_instruction *i;
	struct outcome_result seen;
	struct outcome_note end; /* its completion, if `completes` */
	bool completes, operates, loads;
	uint32_t steps;
	struct step step[STEPS_MAX];
	unsigned char data[CAY_FAST_PUT_BYTES];
	unsigned char *bulk; /* instead, if it is longer */
};

struct store {
	uint64_t at, word;
};

/* Where an origin is, and what it knows. */
struct place {
	uint32_t act, step;
	uint32_t late; /* stores that are not seen yet, oldest first */
	struct store store[STORES_MAX];
	uint64_t loaded[CAY_FAST_PUT_WORDS];
};

struct origin_acts {
	struct act *act;
	uint32_t count;
	uint32_t ends; /* completions that were matched */
};

struct search {
	const struct interleave *how;
	const struct trace *trace;
	const struct outcome *seen;
	struct oracle *oracle;
	struct outcome start;
	struct origin_acts *origin; /* by port */
	uint64_t *region_at;	    /* by region: in the state's memory */
	uint64_t bytes;		    /* of that memory */
	unsigned char *final;	    /* as it was seen in the end */
	uint64_t *visited;	    /* a hash set; 0 is free */
	uint64_t visited_size, states;
	uint32_t deepest; /* instructions that some order explains */
	char *text;
	size_t room;
};

/* A state: `place` by port, the entries claimed by port, and the memory. */
struct state {
	struct place place[INTERLEAVE_ORIGINS_MAX];
	uint32_t claimed[INTERLEAVE_ORIGINS_MAX];
	unsigned char memory[];
};

/* ---- what each instruction does ---- */

static void step_add(struct act *a, struct step s)
{
	a->step[a->steps++] = s;
}

/* Whole words one by one; anything else is one copy, and alone there. */
static void steps_move(struct act *a, uint64_t at, enum step_kind kind)
{
	uint64_t bytes = a->i->bytes;
	bool words = bytes <= CAY_FAST_PUT_BYTES && (at | bytes) % 8 == 0;
	uint32_t each = words ? 8 : (uint32_t)bytes;
	for (uint32_t from = 0; from < bytes; from += each)
		step_add(a, (struct step){ kind, at + from, each, from });
}

static void steps_access(struct search *s, struct act *a)
{
	uint64_t at;
	uint32_t region = oracle_place(s->oracle, a->i, &at);
	at += s->region_at[region];
	if (oracle_tells(s->oracle, a->i))
		step_add(a, (struct step){ .kind = STEP_ROOM });
	if (a->i->kind == TRACE_PUT) {
		steps_move(a, at, STEP_STORE);
	} else if (a->i->kind == TRACE_GET) {
		a->loads = true;
		steps_move(a, at, STEP_LOAD);
	} else {
		a->operates = true;
		step_add(a, (struct step){ STEP_OPERATE, at, 8, 0 });
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

/* The next completion of the origin must be this one's. */
static int act_end(
	struct search *s, struct act *a, enum cay_error error, uint32_t *ends)
{
	const struct outcome_port *p = &s->seen->port[a->i->port];
	while (*ends < p->count &&
		outcome_command(&p->note[*ends]) != CAY_NOTIFY_CC)
		(*ends)++;
	if (*ends == p->count)
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
		step_add(a, (struct step){ .kind = STEP_NO_ROOM });
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
		step_add(a, (struct step){ .kind = STEP_ROOM });
	else if (!error)
		steps_access(s, a);
	if (a->completes)
		step_add(a, (struct step){ .kind = STEP_END });
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
	}
	return 0;
}

/* ---- the search ---- */

/* Never 0. */
static uint64_t state_digest(const struct search *s, const struct state *x)
{
	uint64_t digest = bytes_digest(x->memory, s->bytes);
	for (uint32_t p = 0; p < s->trace->ports; p++) {
		const struct place *at = &x->place[p];
		digest = bytes_mix(digest,
			(uint64_t)at->act << 32 | at->step << 16 | at->late);
		digest = bytes_mix(digest, x->claimed[p]);
		for (uint32_t i = 0; i < at->late; i++)
			digest = bytes_mix(bytes_mix(digest, at->store[i].at),
				at->store[i].word);
		if (at->step)
			for (int i = 0; i < CAY_FAST_PUT_WORDS; i++)
				digest = bytes_mix(digest, at->loaded[i]);
	}
	return digest + (digest == 0);
}

static uint64_t *table_find(uint64_t *table, uint64_t size, uint64_t digest)
{
	uint64_t at = digest & (size - 1);
	while (table[at] && table[at] != digest)
		at = (at + 1) & (size - 1);
	return &table[at];
}

/* At least half of it stays free. */
static int table_grow(struct search *s)
{
	uint64_t size = 2 * s->visited_size;
	if (2 * s->states < s->visited_size)
		return 0;
	uint64_t *grown = calloc(size, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (uint64_t i = 0; i < s->visited_size; i++)
		if (s->visited[i])
			*table_find(grown, size, s->visited[i]) = s->visited[i];
	free(s->visited);
	s->visited = grown;
	s->visited_size = size;
	return 0;
}

/* 0: it is new, and known from now on; -ENOENT: it was known. */
static int visit(struct search *s, const struct state *x)
{
	uint64_t digest = state_digest(s, x);
	int r = table_grow(s);
	if (r)
		return r;
	uint64_t *at = table_find(s->visited, s->visited_size, digest);
	if (*at)
		return -ENOENT;
	*at = digest;
	return ++s->states > STATES_MAX ? -E2BIG : 0;
}

/* Its own stores an origin sees at once. */
static uint64_t word_of(
	const struct state *x, const struct place *p, uint64_t at)
{
	uint64_t word;
	memcpy(&word, x->memory + at, sizeof(word));
	for (uint32_t i = 0; i < p->late; i++)
		if (p->store[i].at == at)
			word = p->store[i].word;
	return word;
}

static bool result_fits(
	struct search *s, const struct act *a, uint64_t word, uint64_t *after)
{
	uint64_t result[2];
	*after = word;
	oracle_operate(a->i, s->how->fault, after, result);
	if (a->i->kind == TRACE_PUT_MASKED)
		return true;
	if (a->completes &&
		(a->end.word[1] != result[0] || a->end.word[2] != result[1]))
		return false;
	return a->i->event ||
	       a->seen.got == bytes_digest(&result[1], sizeof(result[1]));
}

static bool load_fits(
	const struct act *a, const struct place *p, const unsigned char *bulk)
{
	uint64_t bytes = a->i->bytes;
	const void *from = bulk ? bulk : (const void *)p->loaded;
	if (!a->i->event)
		return a->seen.got == bytes_digest(from, bytes);
	uint64_t words[CAY_FAST_PUT_WORDS] = { 0 };
	memcpy(words, from, bytes);
	return a->end.bytes == bytes &&
	       memcmp(words, a->end.word, sizeof(words)) == 0;
}

static bool step_load(const struct state *x, struct place *p,
	const struct act *a, const struct step *t)
{
	bool last = t->from + t->bytes == a->i->bytes;
	if (p->late && !(a->i->flags & CAY_FREE_ORDER))
		return false;
	if (t->bytes != 8 || t->at % 8)
		return load_fits(a, p, x->memory + t->at);
	p->loaded[t->from / 8] = word_of(x, p, t->at);
	return !last || load_fits(a, p, NULL);
}

/* False: what was seen cannot come of it now. */
static bool step_do(struct search *s, struct state *x, uint32_t port,
	const struct act *a, const struct step *t)
{
	struct place *p = &x->place[port];
	const unsigned char *data = a->bulk ? a->bulk : a->data;
	uint32_t room = oracle_room(s->oracle, a->i->peer,
		a->i->kind == TRACE_SEND ? a->i->flags : 0);
	uint64_t word;
	switch (t->kind) {
	case STEP_ROOM:
		return p->late == 0 && x->claimed[a->i->peer]++ < room;
	case STEP_NO_ROOM:
		return x->claimed[a->i->peer] >= room;
	case STEP_END:
		x->claimed[port]++;
		return p->late == 0;
	case STEP_LOAD:
		return step_load(x, p, a, t);
	case STEP_STORE:
		if (s->how->late_stores && t->bytes == 8) {
			if (p->late == STORES_MAX)
				return false;
			memcpy(&word, data + t->from, sizeof(word));
			p->store[p->late++] = (struct store){ t->at, word };
			return true;
		}
		memcpy(x->memory + t->at, data + t->from, t->bytes);
		return true;
	default:
		if (p->late || !result_fits(s, a, word_of(x, p, t->at), &word))
			return false;
		memcpy(x->memory + t->at, &word, sizeof(word));
		return true;
	}
}

static int search(struct search *s, const struct state *x);

/* As `x`, one step of a port further, or its oldest late store. */
static int search_from(
	struct search *s, const struct state *x, uint32_t port, bool late)
{
	size_t size = sizeof(*x) + s->bytes;
	struct state *next = malloc(size);
	if (!next)
		return -ENOMEM;
	memcpy(next, x, size);
	struct place *p = &next->place[port];
	bool possible = true;
	if (late) {
		memcpy(next->memory + p->store[0].at, &p->store[0].word, 8);
		p->late--;
		memmove(&p->store[0], &p->store[1],
			p->late * sizeof(p->store[0]));
	} else {
		const struct act *a = &s->origin[port].act[p->act];
		possible = a->steps == 0 ||
			   step_do(s, next, port, a, &a->step[p->step]);
		if (++p->step >= a->steps) {
			p->step = 0;
			p->act++;
			memset(p->loaded, 0, sizeof(p->loaded));
		}
	}
	int r = possible ? search(s, next) : -ENOENT;
	free(next);
	return r;
}

static void note_depth(struct search *s, const struct state *x)
{
	uint32_t done = 0;
	for (uint32_t p = 0; p < s->trace->ports; p++)
		done += x->place[p].act;
	if (done < s->deepest)
		return;
	s->deepest = done;
	size_t used = (size_t)snprintf(s->text, s->room,
		"no order explains more than %u instructions; there:", done);
	for (uint32_t p = 0; p < s->trace->ports && used < s->room; p++) {
		char line[TRACE_LINE_MAX] = "the end, or what is in memory";
		if (x->place[p].act < s->origin[p].count)
			line[trace_line(s->origin[p].act[x->place[p].act].i,
				     line) -
				1] = 0;
		used += (size_t)snprintf(
			s->text + used, s->room - used, " [%s]", line);
	}
}

static int search(struct search *s, const struct state *x)
{
	bool end = true;
	int r = visit(s, x);
	if (r)
		return r;
	for (uint32_t p = 0; p < s->trace->ports; p++) {
		bool more = x->place[p].act < s->origin[p].count;
		end &= !more && !x->place[p].late;
		r = x->place[p].late ? search_from(s, x, p, true) : -ENOENT;
		if (r == -ENOENT && more)
			r = search_from(s, x, p, false);
		if (r != -ENOENT)
			return r;
	}
	if (end && memcmp(x->memory, s->final, s->bytes) == 0)
		return 0;
	note_depth(s, x);
	return -ENOENT;
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
	s->visited_size = 1u << TABLE_LOG2;
	s->visited = calloc(s->visited_size, sizeof(*s->visited));
	if (!s->origin || !s->visited)
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
	free(s->visited);
	free(s->region_at);
	free(s->final);
}

static int search_run(struct search *s)
{
	struct state *x = calloc(1, sizeof(*x) + s->bytes);
	if (!x)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->trace->regions; i++)
		memcpy(x->memory + s->region_at[i], s->start.memory[i],
			s->trace->region[i].bytes);
	int r = search(s, x);
	free(x);
	return r;
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
