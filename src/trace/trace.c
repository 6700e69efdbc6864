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
	if (t->count == t->capacity) {
		uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
		struct trace_instruction *grown = realloc(
			t->instruction, capacity * sizeof(*t->instruction));
		if (!grown)
			return -ENOMEM;
		t->instruction = grown;
		t->capacity = capacity;
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

int trace_reject(struct trace_error *e, uint32_t line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	e->line = line;
	vsnprintf(e->text, sizeof(e->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- regions: memory that windows share ---- */

/* Orders windows by port, then by address, then as in the trace. */
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

static int regions_assign(struct trace *t)
{
	uint32_t windows = 0, n = 0;
	uint64_t start = 0; /* address of the last region */
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
	for (uint32_t i = 0; i < windows; i++) {
		struct trace_instruction *w = order[i];
		struct trace_region *last =
			t->regions ? &t->region[t->regions - 1] : NULL;
		bool shared = last && w->base && last->port == w->port &&
			      start && w->base - start < last->bytes;
		if (!shared) {
			last = &t->region[t->regions++];
			*last = (struct trace_region){ .port = w->port,
				.skew = (uint32_t)(w->base % ARENA_PAGE) };
			start = w->base;
		}
		w->region = t->regions - 1;
		w->region_at = w->base - start;
		if (w->region_at + w->bytes > last->bytes)
			last->bytes = w->region_at + w->bytes;
	}
	free(order);
	return 0;
}

/* ---- checks ---- */

static int instruction_check(const struct trace *t,
	const struct trace_instruction *i, bool *closed, struct trace_error *e)
{
	const unsigned access = CAY_RIGHT_READ | CAY_RIGHT_WRITE |
				CAY_RIGHT_ATOMIC;
	if (i->kind == TRACE_PORT_OPEN)
		return trace_reject(
			e, i->line, "ports are declared with 'port'");
	if (i->port >= t->ports || i->peer >= t->ports)
		return trace_reject(e, i->line, "there is no port %u",
			i->port >= t->ports ? i->port : i->peer);
	if (closed[i->port])
		return trace_reject(e, i->line, "port %u is closed", i->port);
	closed[i->port] = i->kind == TRACE_PORT_CLOSE;
	bool window = i->kind == TRACE_WINDOW;
	if (window && i->window >= t->queues.windows)
		return trace_reject(e, i->line,
			"window must be between 0 and %u",
			t->queues.windows - 1);
	if (window && !(i->rights & access))
		return trace_reject(e, i->line,
			"a window needs the right read, write or atomic");
	if (window && i->bytes == 0)
		return trace_reject(e, i->line, "the window is empty");
	if (window && i->base + i->bytes < i->base)
		return trace_reject(
			e, i->line, "the window exceeds the address space");
	if (i->bytes > TRACE_BYTES_MAX)
		return trace_reject(
			e, i->line, "more than %llu bytes", TRACE_BYTES_MAX);
	if (i->data_bytes > i->bytes || (i->data_bytes && i->seed))
		return trace_reject(e, i->line,
			"data= excludes seed= and cannot exceed bytes=");
	if (i->kind == TRACE_GET && i->event &&
		(i->bytes == 0 || i->bytes > CAY_FAST_PUT_BYTES))
		return trace_reject(e, i->line, "an event holds 1 to %u bytes",
			CAY_FAST_PUT_BYTES);
	if (i->kind == TRACE_RECEIVE_POST && i->bytes == 0)
		return trace_reject(e, i->line, "the posted buffer is empty");
	return 0;
}

static bool is_power_of_two(
	uint64_t value, unsigned low_log2, unsigned high_log2)
{
	return value >= 1ull << low_log2 && value <= 1ull << high_log2 &&
	       (value & (value - 1)) == 0;
}

static int queues_check(const struct trace_queues *q, struct trace_error *e)
{
	if (!is_power_of_two(
		    q->nq_entries, QUEUE_NQ_LOG2_MIN, QUEUE_NQ_LOG2_MAX))
		return trace_reject(e, 0,
			"nq_entries must be a power of two from %u to %u",
			1u << QUEUE_NQ_LOG2_MIN, 1u << QUEUE_NQ_LOG2_MAX);
	if (!is_power_of_two(q->rdr_bytes / RDR_UNIT, QUEUE_RDR_LOG2_MIN,
		    QUEUE_RDR_LOG2_MAX) ||
		q->rdr_bytes % RDR_UNIT)
		return trace_reject(e, 0,
			"rdr_bytes must be a power of two from %u to %u",
			RDR_UNIT << QUEUE_RDR_LOG2_MIN,
			RDR_UNIT << QUEUE_RDR_LOG2_MAX);
	if (!is_power_of_two(q->posted, 1, QUEUE_POSTED_LOG2_MAX))
		return trace_reject(e, 0,
			"posted must be a power of two from 2 to %u",
			1u << QUEUE_POSTED_LOG2_MAX);
	if (q->windows == 0 || q->windows > CAY_VPIDS)
		return trace_reject(
			e, 0, "windows must be between 1 and %u", CAY_VPIDS);
	return 0;
}

int trace_check(struct trace *t, struct trace_error *e)
{
	bool closed[TRACE_PORTS_MAX] = { false };
	int r = queues_check(&t->queues, e);
	for (uint32_t i = 0; r == 0 && i < t->count; i++)
		r = instruction_check(t, &t->instruction[i], closed, e);
	return r ? r : regions_assign(t);
}
