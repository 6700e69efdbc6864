/* SPDX-License-Identifier: BSD-2-Clause */
/* The depth-first search over all orders of the steps. See linearize.h. */
#include "linearize_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"

#define STATES_MAX (1u << 20)
#define TABLE_LOG2 10 /* initial size of the hash set */
#define STORES_MAX 4  /* in a store buffer */

struct store {
	uint64_t at, word;
};

/* Position of an origin, its store buffer, and the words it has loaded. */
struct position {
	uint32_t operation, step;
	uint32_t buffered; /* stores not yet visible, oldest first */
	struct store store[STORES_MAX];
	uint64_t loaded[CAY_FAST_PUT_WORDS];
};

/* A state: position and claimed NQ entries by port, and the memory. */
struct state {
	struct position position[LINEARIZE_ORIGINS_MAX];
	uint32_t claimed[LINEARIZE_ORIGINS_MAX];
	unsigned char memory[];
};

/* Never 0. */
static uint64_t state_digest(const struct search *s, const struct state *x)
{
	uint64_t digest = bytes_digest(x->memory, s->bytes);
	for (uint32_t p = 0; p < s->trace->ports; p++) {
		const struct position *at = &x->position[p];
		digest = bytes_mix(digest, (uint64_t)at->operation << 32 |
						   at->step << 16 |
						   at->buffered);
		digest = bytes_mix(digest, x->claimed[p]);
		for (uint32_t i = 0; i < at->buffered; i++)
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

/* Keeps at least half of the table free. */
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

/* Returns 0 if the state is new, -ENOENT if it was visited before. */
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

/* Loads a word; an origin sees its own buffered stores. */
static uint64_t word_of(
	const struct state *x, const struct position *p, uint64_t at)
{
	uint64_t word;
	memcpy(&word, x->memory + at, sizeof(word));
	for (uint32_t i = 0; i < p->buffered; i++)
		if (p->store[i].at == at)
			word = p->store[i].word;
	return word;
}

static bool result_matches(struct search *s, const struct operation *a,
	uint64_t word, uint64_t *after)
{
	uint64_t result[2];
	*after = word;
	oracle_operate(a->i, s->options->fault, after, result);
	if (a->i->kind == TRACE_PUT_MASKED)
		return true;
	if (a->completes && (a->completion.word[1] != result[0] ||
				    a->completion.word[2] != result[1]))
		return false;
	return a->i->event || a->seen.data_digest == bytes_digest(&result[1],
							     sizeof(result[1]));
}

static bool load_matches(const struct operation *a, const struct position *p,
	const unsigned char *bulk)
{
	uint64_t bytes = a->i->bytes;
	const void *from = bulk ? bulk : (const void *)p->loaded;
	if (!a->i->event)
		return a->seen.data_digest == bytes_digest(from, bytes);
	uint64_t words[CAY_FAST_PUT_WORDS] = { 0 };
	memcpy(words, from, bytes);
	return a->completion.bytes == bytes &&
	       memcmp(words, a->completion.word, sizeof(words)) == 0;
}

static bool step_load(const struct state *x, struct position *p,
	const struct operation *a, const struct step *t)
{
	bool last = t->from + t->bytes == a->i->bytes;
	if (p->buffered && !(a->i->flags & CAY_FREE_ORDER))
		return false;
	if (t->bytes != 8 || t->at % 8)
		return load_matches(a, p, x->memory + t->at);
	p->loaded[t->from / 8] = word_of(x, p, t->at);
	return !last || load_matches(a, p, NULL);
}

/* Returns false if the step cannot have the observed result in this state. */
static bool step_execute(struct search *s, struct state *x, uint32_t port,
	const struct operation *a, const struct step *t)
{
	struct position *p = &x->position[port];
	const unsigned char *data = a->bulk ? a->bulk : a->data;
	uint32_t entries = oracle_free_entries(s->oracle, a->i->peer,
		a->i->kind == TRACE_SEND ? a->i->flags : 0);
	uint64_t word;
	switch (t->kind) {
	case STEP_CLAIM:
		return p->buffered == 0 && x->claimed[a->i->peer]++ < entries;
	case STEP_FULL:
		return x->claimed[a->i->peer] >= entries;
	case STEP_COMPLETE:
		x->claimed[port]++;
		return p->buffered == 0;
	case STEP_LOAD:
		return step_load(x, p, a, t);
	case STEP_STORE:
		if (s->options->store_buffer && t->bytes == 8) {
			if (p->buffered == STORES_MAX)
				return false;
			memcpy(&word, data + t->from, sizeof(word));
			p->store[p->buffered++] = (struct store){ t->at, word };
			return true;
		}
		memcpy(x->memory + t->at, data + t->from, t->bytes);
		return true;
	default:
		if (p->buffered ||
			!result_matches(s, a, word_of(x, p, t->at), &word))
			return false;
		memcpy(x->memory + t->at, &word, sizeof(word));
		return true;
	}
}

static int search(struct search *s, const struct state *x);

/*
 * Continues from `x` after the next step of a port or, with `drain`, after its
 * oldest buffered store has become visible.
 */
static int search_from(
	struct search *s, const struct state *x, uint32_t port, bool drain)
{
	size_t size = sizeof(*x) + s->bytes;
	struct state *next = malloc(size);
	if (!next)
		return -ENOMEM;
	memcpy(next, x, size);
	struct position *p = &next->position[port];
	bool possible = true;
	if (drain) {
		memcpy(next->memory + p->store[0].at, &p->store[0].word, 8);
		p->buffered--;
		memmove(&p->store[0], &p->store[1],
			p->buffered * sizeof(p->store[0]));
	} else {
		const struct operation *a =
			&s->origin[port].operation[p->operation];
		possible = a->steps == 0 ||
			   step_execute(s, next, port, a, &a->step[p->step]);
		if (++p->step >= a->steps) {
			p->step = 0;
			p->operation++;
			memset(p->loaded, 0, sizeof(p->loaded));
		}
	}
	int r = possible ? search(s, next) : -ENOENT;
	free(next);
	return r;
}

/* Describes the state that explains most instructions. */
static void depth_report(struct search *s, const struct state *x)
{
	uint32_t done = 0;
	for (uint32_t p = 0; p < s->trace->ports; p++)
		done += x->position[p].operation;
	if (done < s->deepest)
		return;
	s->deepest = done;
	size_t used = (size_t)snprintf(s->text, s->size,
		"no order explains more than %u instructions; next:", done);
	for (uint32_t p = 0; p < s->trace->ports && used < s->size; p++) {
		char line[TRACE_LINE_MAX] = "end, or a difference in memory";
		if (x->position[p].operation < s->origin[p].count)
			line[trace_line(s->origin[p]
						.operation[x->position[p]
								   .operation]
						.i,
				     line) -
				1] = 0;
		used += (size_t)snprintf(
			s->text + used, s->size - used, " [%s]", line);
	}
}

static int search(struct search *s, const struct state *x)
{
	bool end = true;
	int r = visit(s, x);
	if (r)
		return r;
	for (uint32_t p = 0; p < s->trace->ports; p++) {
		bool more = x->position[p].operation < s->origin[p].count;
		end &= !more && !x->position[p].buffered;
		r = x->position[p].buffered ? search_from(s, x, p, true)
					    : -ENOENT;
		if (r == -ENOENT && more)
			r = search_from(s, x, p, false);
		if (r != -ENOENT)
			return r;
	}
	if (end && memcmp(x->memory, s->final, s->bytes) == 0)
		return 0;
	depth_report(s, x);
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
