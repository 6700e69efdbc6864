/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search for an order: depth first, over all orders of the parts, with the
 * states that lead nowhere remembered by their digests. See interleave.h.
 */
#include "trace/interleave_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"

#define STATES_MAX (1u << 20)
#define TABLE_LOG2 10 /* of states, to begin with */
#define STORES_MAX 4  /* that may be late */

struct store {
	uint64_t at, word;
};

/* Where an origin is, and what it knows. */
struct place {
	uint32_t act, part;
	uint32_t late; /* stores that are not seen yet, oldest first */
	struct store store[STORES_MAX];
	uint64_t loaded[CAY_FAST_PUT_WORDS];
};

/* A state: `place` by port, the entries claimed by port, and the memory. */
struct state {
	struct place place[INTERLEAVE_ORIGINS_MAX];
	uint32_t claimed[INTERLEAVE_ORIGINS_MAX];
	unsigned char memory[];
};

/* Never 0. */
static uint64_t state_digest(const struct search *s, const struct state *x)
{
	uint64_t digest = bytes_digest(x->memory, s->bytes);
	for (uint32_t p = 0; p < s->trace->ports; p++) {
		const struct place *at = &x->place[p];
		digest = bytes_mix(digest,
			(uint64_t)at->act << 32 | at->part << 16 | at->late);
		digest = bytes_mix(digest, x->claimed[p]);
		for (uint32_t i = 0; i < at->late; i++)
			digest = bytes_mix(bytes_mix(digest, at->store[i].at),
				at->store[i].word);
		if (at->part)
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

static bool part_load(const struct state *x, struct place *p,
	const struct act *a, const struct part *t)
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
static bool part_do(struct search *s, struct state *x, uint32_t port,
	const struct act *a, const struct part *t)
{
	struct place *p = &x->place[port];
	const unsigned char *data = a->bulk ? a->bulk : a->data;
	uint32_t room = oracle_room(s->oracle, a->i->peer,
		a->i->kind == TRACE_SEND ? a->i->flags : 0);
	uint64_t word;
	switch (t->kind) {
	case PART_CLAIM:
		return p->late == 0 && x->claimed[a->i->peer]++ < room;
	case PART_FULL:
		return x->claimed[a->i->peer] >= room;
	case PART_END:
		x->claimed[port]++;
		return p->late == 0;
	case PART_LOAD:
		return part_load(x, p, a, t);
	case PART_STORE:
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
		possible = a->parts == 0 ||
			   part_do(s, next, port, a, &a->part[p->part]);
		if (++p->part >= a->parts) {
			p->part = 0;
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

int search_run(struct search *s)
{
	struct state *x = calloc(1, sizeof(*x) + s->bytes);
	if (!x)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->trace->regions; i++)
		memcpy(x->memory + s->region_at[i], s->start.memory[i],
			s->trace->region[i].bytes);
	s->visited_size = 1u << TABLE_LOG2;
	s->visited = calloc(s->visited_size, sizeof(*s->visited));
	int r = s->visited ? search(s, x) : -ENOMEM;
	free(s->visited);
	free(x);
	return r;
}
