/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace in memory; see trace.h. */
#include "trace/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/arena.h"
#include "trace/bytes.h"
#include "trace/format.h"

void trace_open(struct trace *t)
{
	*t = (struct trace){
		.queues = { .nq_entries = 1u << QUEUE_NQ_LOG2_DEFAULT,
			.windows = QUEUE_WINDOWS_DEFAULT,
			.posted = 1u << QUEUE_POSTED_LOG2_DEFAULT,
			.rdr_bytes = (uint64_t)RDR_UNIT
				     << QUEUE_RDR_LOG2_DEFAULT },
	};
}

void trace_free(struct trace *t)
{
	free(t->instruction);
	free(t->region);
	trace_open(t);
}

void trace_queues_join(struct trace_queues *to, const struct trace_queues *q)
{
	if (q->nq_entries > to->nq_entries)
		to->nq_entries = q->nq_entries;
	if (q->rdr_bytes > to->rdr_bytes)
		to->rdr_bytes = q->rdr_bytes;
	if (q->windows > to->windows)
		to->windows = q->windows;
	if (q->posted > to->posted)
		to->posted = q->posted;
}

int trace_add(struct trace *t, const struct trace_instruction *i)
{
	if (t->count == t->room) {
		uint32_t room = t->room ? 2 * t->room : 64;
		struct trace_instruction *grown =
			realloc(t->instruction, room * sizeof(*t->instruction));
		if (!grown)
			return -ENOMEM;
		t->instruction = grown;
		t->room = room;
	}
	t->instruction[t->count++] = *i;
	return 0;
}

void trace_payload(const struct trace_instruction *i, unsigned char *to)
{
	if (i->data_bytes) {
		memcpy(to, i->data, i->data_bytes);
		memset(to + i->data_bytes, 0, i->bytes - i->data_bytes);
	} else if (i->seed) {
		bytes_generate(i->seed, to, i->bytes);
	} else {
		memset(to, 0, i->bytes);
	}
}

int trace_complain(
	struct trace_complaint *c, uint32_t line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	c->line = line;
	vsnprintf(c->text, sizeof(c->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- regions: memory that windows share ---- */

/* Orders windows by port and address; those without one come as they are. */
static int window_order(const void *a, const void *b)
{
	const struct trace_instruction *x =
		*(struct trace_instruction *const *)a;
	const struct trace_instruction *y =
		*(struct trace_instruction *const *)b;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Gives the next window, in that order, its place. */
static void region_place(
	struct trace *t, struct trace_instruction *w, uint64_t *start)
{
	struct trace_region *last = t->regions ? &t->region[t->regions - 1]
					       : NULL;
	bool shared = last && w->base && last->port == w->port && *start &&
		      w->base - *start < last->bytes;
	if (!shared) {
		last = &t->region[t->regions++];
		*last = (struct trace_region){ .port = w->port,
			.skew = (uint32_t)(w->base % ARENA_PAGE) };
		*start = w->base;
	}
	w->region = t->regions - 1;
	w->region_at = w->base - *start;
	if (w->region_at + w->bytes > last->bytes)
		last->bytes = w->region_at + w->bytes;
}

static int regions_find(struct trace *t)
{
	uint32_t windows = 0, n = 0;
	uint64_t start = 0;
	for (uint32_t i = 0; i < t->count; i++)
		windows += t->instruction[i].kind == TRACE_WINDOW;
	free(t->region);
	t->regions = 0;
	t->region = calloc(windows ? windows : 1, sizeof(*t->region));
	struct trace_instruction **order = calloc(
		windows ? windows : 1, sizeof(struct trace_instruction *));
	if (!t->region || !order) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->count; i++)
		if (t->instruction[i].kind == TRACE_WINDOW)
			order[n++] = &t->instruction[i];
	qsort(order, windows, sizeof(struct trace_instruction *), window_order);
	for (uint32_t i = 0; i < windows; i++)
		region_place(t, order[i], &start);
	free(order);
	return 0;
}

/* ---- sense ---- */

static int window_check(const struct trace *t,
	const struct trace_instruction *i, struct trace_complaint *c)
{
	const unsigned access = CAY_RIGHT_READ | CAY_RIGHT_WRITE |
				CAY_RIGHT_ATOMIC;
	if (i->window >= t->queues.windows)
		return trace_complain(c, i->line, "a port has windows 0 to %u",
			t->queues.windows - 1);
	if (!(i->rights & access))
		return trace_complain(c, i->line,
			"a window needs the right to read, write or atomic");
	if (i->bytes == 0)
		return trace_complain(c, i->line, "a window has some bytes");
	if (i->base + i->bytes < i->base)
		return trace_complain(
			c, i->line, "a window ends before it begins");
	return 0;
}

static int bytes_check(
	const struct trace_instruction *i, struct trace_complaint *c)
{
	if (i->bytes > TRACE_BYTES_MAX)
		return trace_complain(
			c, i->line, "more than %llu bytes", TRACE_BYTES_MAX);
	if (i->data_bytes > i->bytes || (i->data_bytes && i->seed))
		return trace_complain(c, i->line,
			"data= is all of the bytes, or else bytes= and seed=");
	if (i->kind == TRACE_GET && i->event &&
		(i->bytes == 0 || i->bytes > CAY_FAST_PUT_BYTES))
		return trace_complain(c, i->line,
			"1 to %u bytes fit into an event", CAY_FAST_PUT_BYTES);
	if (i->kind == TRACE_RECEIVE_POST && i->bytes == 0)
		return trace_complain(
			c, i->line, "a posted buffer has some bytes");
	return 0;
}

static int instruction_check(const struct trace *t,
	const struct trace_instruction *i, bool *closed,
	struct trace_complaint *c)
{
	if (i->kind == TRACE_PORT_OPEN)
		return trace_complain(
			c, i->line, "ports are opened by the lines 'port'");
	if (i->port >= t->ports || i->peer >= t->ports)
		return trace_complain(c, i->line, "there is no port %u",
			i->port >= t->ports ? i->port : i->peer);
	if (closed[i->port])
		return trace_complain(
			c, i->line, "port %u is closed already", i->port);
	int r = i->kind == TRACE_WINDOW ? window_check(t, i, c) : 0;
	closed[i->port] = i->kind == TRACE_PORT_CLOSE;
	return r ? r : bytes_check(i, c);
}

/* A power of two, between powers of two. */
static bool size_fits(uint64_t value, unsigned low_log2, unsigned high_log2)
{
	return value >= 1ull << low_log2 && value <= 1ull << high_log2 &&
	       (value & (value - 1)) == 0;
}

static int queues_check(const struct trace *t, struct trace_complaint *c)
{
	const struct trace_queues *q = &t->queues;
	if (!size_fits(q->nq_entries, QUEUE_NQ_LOG2_MIN, QUEUE_NQ_LOG2_MAX))
		return trace_complain(c, 0,
			"nq_entries: a power of two, %u to "
			"%u",
			1u << QUEUE_NQ_LOG2_MIN, 1u << QUEUE_NQ_LOG2_MAX);
	if (!size_fits(q->rdr_bytes / RDR_UNIT, QUEUE_RDR_LOG2_MIN,
		    QUEUE_RDR_LOG2_MAX) ||
		q->rdr_bytes % RDR_UNIT)
		return trace_complain(c, 0,
			"rdr_bytes: a power of two, %u to "
			"%u",
			RDR_UNIT << QUEUE_RDR_LOG2_MIN,
			RDR_UNIT << QUEUE_RDR_LOG2_MAX);
	if (!size_fits(q->posted, 1, QUEUE_POSTED_LOG2_MAX))
		return trace_complain(c, 0, "posted: a power of two, 2 to %u",
			1u << QUEUE_POSTED_LOG2_MAX);
	if (q->windows == 0 || q->windows > CAY_VPIDS)
		return trace_complain(c, 0, "windows: 1 to %u", CAY_VPIDS);
	return 0;
}

int trace_check(struct trace *t, struct trace_complaint *c)
{
	bool closed[TRACE_PORTS_MAX] = { false };
	int r = queues_check(t, c);
	for (uint32_t i = 0; r == 0 && i < t->count; i++)
		r = instruction_check(t, &t->instruction[i], closed, c);
	return r ? r : regions_find(t);
}
