/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State of the counting platform: sums by kind, the set of written lines, the
 * trace. The hooks of host_counting.h call it on the thread that called
 * counting_begin(); nothing here is shared.
 */
#include "device/host_counting.h"

static _Thread_local struct counting *counting_now;

static const char *const kind_names[HOST_KINDS] = {
	[HOST_W] = "W",
	[HOST_R] = "R",
	[HOST_MIGRATION] = "migration",
	[HOST_NQE] = "notification",
	[HOST_RDR] = "payload",
	[HOST_REFERENCE] = "reference",
	[HOST_STAGING] = "staging",
	[HOST_RECORD] = "op record",
	[HOST_PEER] = "peer table",
	[HOST_WQ] = "work queue",
	[HOST_WINDOW] = "window",
	[HOST_MEMORY] = "memory",
	[HOST_POSTED] = "posted receive",
	[HOST_CONTEXT] = "context table",
	[HOST_PACKET] = "packet",
	[HOST_SLICE] = "slice",
	[HOST_RETURN] = "return page",
};

const char *counting_kind_name(enum host_kind kind)
{
	return kind < HOST_KINDS ? kind_names[kind] : "unknown";
}

void counting_begin(struct counting *c)
{
	struct counting fresh = { .arena = c->arena,
		.trace = c->trace,
		.trace_max = c->trace_max,
		.yield = c->yield,
		.yield_argument = c->yield_argument };
	*c = fresh;
	counting_now = c;
}

void counting_end(void)
{
	counting_now = NULL;
}

uint64_t counting_lines_shared(const struct counting *c)
{
	uint64_t lines = 0;
	for (int kind = 0; kind < HOST_KINDS; kind++)
		if (kind != HOST_RECORD)
			lines += c->kind[kind].lines;
	return lines;
}

void counting_yield(void)
{
	struct counting *c = counting_now;
	if (c && c->yield)
		c->yield(c->yield_argument);
}

/* Returns the offset of an address in the arena, or COUNTING_OUTSIDE. */
static uint64_t counting_at(const struct counting *c, const void *address)
{
	if (!c->arena)
		return COUNTING_OUTSIDE;
	uint64_t at = (uint64_t)(uintptr_t)address -
		      (uint64_t)(uintptr_t)c->arena->base;
	return at < c->arena->mapped_bytes ? at : COUNTING_OUTSIDE;
}

/* Adds a line to the set; returns true if it is new. */
static bool counting_line_add(struct counting *c, uint64_t line)
{
	const uint64_t mask = (1u << COUNTING_LINES_LOG2) - 1;
	uint64_t name = line + 1; /* 0 marks a free slot */
	uint64_t slot = name * 0x9e3779b97f4a7c15ull >>
			(64 - COUNTING_LINES_LOG2);

	for (uint64_t i = 0; i <= mask; i++, slot = (slot + 1) & mask) {
		if (c->line[slot] == name)
			return false;
		if (c->line[slot] == 0) {
			c->line[slot] = name;
			return true;
		}
	}
	c->lines_lost++;
	return false;
}

static uint32_t counting_lines_add(
	struct counting *c, uint64_t at, size_t bytes)
{
	uint32_t fresh = 0;
	if (at == COUNTING_OUTSIDE || bytes == 0)
		return 0;
	for (uint64_t line = at / CAY_LINE; line <= (at + bytes - 1) / CAY_LINE;
		line++)
		fresh += counting_line_add(c, line);
	return fresh;
}

static void counting_trace(struct counting *c, struct counting_entry entry)
{
	if (c->trace_count < c->trace_max)
		c->trace[c->trace_count] = entry;
	c->trace_count++;
}

static void counting_sum_add(struct counting_sum *sum, enum counting_what what,
	size_t bytes, uint32_t lines)
{
	sum->loads += what == COUNTING_LOAD;
	sum->stores += what == COUNTING_STORE;
	sum->atomics += what == COUNTING_ATOMIC;
	sum->copied_bytes += what == COUNTING_COPY ? bytes : 0;
	sum->lines += lines;
}

void counting_note(enum host_access access, enum host_kind kind,
	const void *address, size_t bytes, bool written)
{
	struct counting *c = counting_now;
	enum counting_what what = (enum counting_what)access;
	if (!c)
		return;
	uint64_t at = counting_at(c, address);
	uint32_t lines = written ? counting_lines_add(c, at, bytes) : 0;
	counting_sum_add(&c->kind[kind], what, bytes, lines);
	counting_trace(c, (struct counting_entry){ .what = what,
				  .kind = kind,
				  .bytes = (uint32_t)bytes,
				  .lines = lines,
				  .at = at });
}

void counting_note_step(enum device_step step)
{
	struct counting *c = counting_now;
	if (c)
		counting_trace(
			c, (struct counting_entry){ .what = COUNTING_STEP,
				   .step = step,
				   .at = COUNTING_OUTSIDE });
}

static void counting_note_wake(struct counting *c, enum host_kind kind)
{
	counting_trace(c, (struct counting_entry){ .what = COUNTING_WAKE,
				  .kind = kind,
				  .at = COUNTING_OUTSIDE });
}

void counting_note_interrupt(uint64_t flags)
{
	struct counting *c = counting_now;
	if (!c)
		return;
	c->wakes += (flags & W_SLEEP) != 0;
	c->rings += (flags & W_ARMED) != 0;
	counting_note_wake(c, HOST_W);
}

void counting_note_room(void)
{
	struct counting *c = counting_now;
	if (!c)
		return;
	c->room_wakes++;
	counting_note_wake(c, HOST_R);
}
