/* SPDX-License-Identifier: BSD-2-Clause */
/* See outcome.h. */
#include "trace/outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cay/error.h"
#include "trace/bytes.h"

int outcome_open(struct outcome *o, const struct trace *t)
{
	uint32_t regions = t->regions ? t->regions : 1;
	*o = (struct outcome){ .trace = t,
		.port = calloc(t->ports + 1, sizeof(*o->port)),
		.result = calloc(t->count + 1, sizeof(*o->result)),
		.memory = calloc(regions, sizeof(*o->memory)) };
	if (!o->port || !o->result || !o->memory)
		goto err_free;
	for (uint32_t i = 0; i < t->regions; i++) {
		/* One more: an oracle may be made to believe in it. */
		o->memory[i] = calloc(1, t->region[i].bytes + 1);
		if (!o->memory[i])
			goto err_free;
	}
	return 0;
err_free:
	outcome_free(o);
	return -ENOMEM;
}

void outcome_free(struct outcome *o)
{
	for (uint32_t i = 0; o->port && i < o->trace->ports; i++)
		free(o->port[i].note);
	for (uint32_t i = 0; o->memory && i < o->trace->regions; i++)
		free(o->memory[i]);
	free(o->port);
	free(o->result);
	free(o->memory);
	*o = (struct outcome){ 0 };
}

void outcome_note(
	struct outcome *o, uint32_t port, const struct outcome_note *n)
{
	struct outcome_port *p = &o->port[port];
	if (p->count == p->room) {
		uint32_t room = p->room ? 2 * p->room : 16;
		struct outcome_note *grown =
			realloc(p->note, room * sizeof(*grown));
		if (!grown) {
			o->failed = true;
			return;
		}
		p->note = grown;
		p->room = room;
	}
	p->note[p->count++] = *n;
}

uint64_t outcome_memory_digest(const struct outcome *o, uint32_t region)
{
	return bytes_digest(o->memory[region], o->trace->region[region].bytes);
}

uint64_t outcome_notes_digest(const struct outcome *o, uint32_t port)
{
	const struct outcome_port *p = &o->port[port];
	uint64_t digest = p->count;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct outcome_note *n = &p->note[i];
		digest = bytes_mix(
			digest, n->command | (uint64_t)n->bytes << 16 |
					(uint64_t)n->peer << 32 |
					(uint64_t)n->completed << 48);
		digest = bytes_mix(digest, n->api_tag);
		digest = bytes_mix(digest, n->tag);
		for (int w = 0; w < 3; w++)
			digest = bytes_mix(digest, n->word[w]);
		digest = bytes_mix(digest, n->payload);
	}
	return digest;
}

void outcome_describe(const struct outcome_note *n, char *text, size_t room)
{
	unsigned error = outcome_error(n);
	snprintf(text, room,
		"%s from %u%s%s of %s tag 0x%" PRIx64 " api_tag 0x%" PRIx32
		" bytes %u words 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
		" payload %016" PRIx64,
		cay_command_name(outcome_command(n)), n->peer,
		error ? " error " : "", error ? cay_error_name(error) : "",
		n->completed ? cay_command_name(n->completed) : "nothing",
		n->tag, n->api_tag, n->bytes, n->word[0], n->word[1],
		n->word[2], n->payload);
}

bool outcome_note_same(
	const struct outcome_note *a, const struct outcome_note *b)
{
	return a->command == b->command && a->bytes == b->bytes &&
	       a->peer == b->peer && a->completed == b->completed &&
	       a->api_tag == b->api_tag && a->tag == b->tag &&
	       memcmp(a->word, b->word, sizeof(a->word)) == 0 &&
	       a->payload == b->payload;
}

static void notes_describe(uint32_t port, uint32_t at,
	const struct outcome_note *a, const struct outcome_note *b, char *text,
	size_t room)
{
	char one[300] = "nothing more", other[300] = "nothing more";
	if (a)
		outcome_describe(a, one, sizeof(one));
	if (b)
		outcome_describe(b, other, sizeof(other));
	snprintf(text, room, "port %u, notification %u: %s; %s", port, at, one,
		other);
}

static bool notes_differ(const struct outcome *a, const struct outcome *b,
	uint32_t port, char *text, size_t room)
{
	const struct outcome_port *x = &a->port[port], *y = &b->port[port];
	for (uint32_t i = 0; i < x->count || i < y->count; i++) {
		const struct outcome_note *n = i < x->count ? &x->note[i]
							    : NULL;
		const struct outcome_note *m = i < y->count ? &y->note[i]
							    : NULL;
		if (n && m && outcome_note_same(n, m))
			continue;
		notes_describe(port, i, n, m, text, room);
		return true;
	}
	return false;
}

static bool memory_differs(const struct outcome *a, const struct outcome *b,
	uint32_t region, char *text, size_t room)
{
	const struct trace_region *r = &a->trace->region[region];
	if (memcmp(a->memory[region], b->memory[region], r->bytes) == 0)
		return false;
	uint64_t at = 0;
	while (a->memory[region][at] == b->memory[region][at])
		at++;
	snprintf(text, room,
		"memory %u of port %u, byte %" PRIu64 ": 0x%02x; 0x%02x",
		region, r->port, at, a->memory[region][at],
		b->memory[region][at]);
	return true;
}

static bool results_differ(const struct outcome *a, const struct outcome *b,
	uint32_t i, bool held_too, char *text, size_t room)
{
	const struct outcome_result *x = &a->result[i], *y = &b->result[i];
	if (x->result == y->result && x->got == y->got &&
		(!held_too || x->held == y->held))
		return false;
	char line[TRACE_LINE_MAX];
	size_t length = trace_line(&a->trace->instruction[i], line);
	line[length - 1] = 0;
	snprintf(text, room,
		"instruction %u (%s): result %d%s got %016" PRIx64
		"; result %d%s got %016" PRIx64,
		i, line, x->result, x->held ? " held" : "", x->got, y->result,
		y->held ? " held" : "", y->got);
	return true;
}

bool outcome_differs(const struct outcome *a, const struct outcome *b,
	char *text, size_t room)
{
	const struct trace *t = a->trace;
	for (uint32_t i = 0; i < t->count; i++)
		if (results_differ(a, b, i, true, text, room))
			return true;
	for (uint32_t i = 0; i < t->ports; i++)
		if (notes_differ(a, b, i, text, room))
			return true;
	for (uint32_t i = 0; i < t->regions; i++)
		if (memory_differs(a, b, i, text, room))
			return true;
	return false;
}

/* ---- by origin ---- */

/*
 * The next notification from `i` on that `origin` has caused; NULL: none. The
 * end of an instruction is its own issuer's, whoever it was for.
 */
static const struct outcome_note *note_of(const struct outcome_port *p,
	uint32_t port, uint32_t origin, uint32_t *i)
{
	while (*i < p->count) {
		const struct outcome_note *n = &p->note[(*i)++];
		unsigned command = outcome_command(n);
		uint32_t by = command == CAY_NOTIFY_CC ? port : n->peer;
		bool told = command == CAY_NOTIFY_RMA && outcome_error(n);
		if (by == origin && !told)
			return n;
	}
	return NULL;
}

static bool notes_differ_of(const struct outcome *a, const struct outcome *b,
	uint32_t port, uint32_t origin, char *text, size_t room)
{
	uint32_t i = 0, k = 0;
	for (;;) {
		const struct outcome_note *n =
			note_of(&a->port[port], port, origin, &i);
		const struct outcome_note *m =
			note_of(&b->port[port], port, origin, &k);
		if (!n && !m)
			return false;
		if (n && m && outcome_note_same(n, m))
			continue;
		notes_describe(port, i, n, m, text, room);
		return true;
	}
}

bool outcome_differs_by_origin(const struct outcome *a, const struct outcome *b,
	char *text, size_t room)
{
	const struct trace *t = a->trace;
	for (uint32_t i = 0; i < t->count; i++)
		if (results_differ(a, b, i, false, text, room))
			return true;
	for (uint32_t port = 0; port < t->ports; port++)
		for (uint32_t origin = 0; origin < t->ports; origin++)
			if (notes_differ_of(a, b, port, origin, text, room))
				return true;
	for (uint32_t i = 0; i < t->regions; i++)
		if (memory_differs(a, b, i, text, room))
			return true;
	return false;
}
