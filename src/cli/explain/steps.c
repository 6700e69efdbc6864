/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps in the trace of a phase, and its totals. */
#include <string.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

bool tally_empty(const struct tally *t)
{
	return t->loads + t->stores + t->atomics + t->wakes == 0;
}

bool step_next(const struct explain_phase *p, uint32_t *at, struct step *s)
{
	bool any = false;
	uint32_t end = p->counting.trace_count < EXPLAIN_TRACE_MAX
			       ? p->counting.trace_count
			       : EXPLAIN_TRACE_MAX;
	memset(s, 0, sizeof(*s));
	while (*at < end) {
		const struct counting_entry *e = &p->trace[(*at)++];
		any = true;
		if (e->what == COUNTING_STEP) {
			s->step = e->step;
			return true;
		}
		struct tally *t = &s->kind[e->kind];
		t->loads += e->what == COUNTING_LOAD;
		t->stores += e->what == COUNTING_STORE ||
			     e->what == COUNTING_COPY;
		t->atomics += e->what == COUNTING_ATOMIC;
		t->wakes += e->what == COUNTING_WAKE;
		t->bytes += e->bytes;
		t->lines += e->lines;
	}
	return any;
}

void tallies_add(struct tally *total, const struct tally *t)
{
	for (int k = 0; k < HOST_KINDS; k++) {
		total[k].loads += t[k].loads;
		total[k].stores += t[k].stores;
		total[k].atomics += t[k].atomics;
		total[k].bytes += t[k].bytes;
		total[k].lines += t[k].lines;
		total[k].wakes += t[k].wakes;
	}
}

/* ---- totals of a phase ---- */

/* Returns true if the entry reads shared memory in place. */
static bool entry_reads(const struct counting_entry *e)
{
	return e->kind != HOST_RECORD && e->at != COUNTING_OUTSIDE &&
	       (e->what == COUNTING_LOAD || e->what == COUNTING_ATOMIC);
}

/* Counts the lines of entry i that no earlier entry has read. */
static uint64_t lines_read(const struct explain_phase *p, uint32_t i)
{
	const struct counting_entry *e = &p->trace[i];
	/* A copy out of a window is recorded with its destination. */
	if (e->what == COUNTING_COPY && e->kind == HOST_MEMORY &&
		e->at == COUNTING_OUTSIDE)
		return (e->bytes + CAY_LINE - 1) / CAY_LINE;
	if (!entry_reads(e))
		return 0;
	uint64_t line = e->at / CAY_LINE;
	for (uint32_t k = 0; k < ARRAY_COUNT(p->counting.line); k++)
		if (p->counting.line[k] == line + 1) /* written as well */
			return 0;
	for (uint32_t k = 0; k < i; k++)
		if (entry_reads(&p->trace[k]) &&
			p->trace[k].at / CAY_LINE == line)
			return 0;
	return 1;
}

struct phase_sum phase_sum(const struct explain_phase *p)
{
	const struct counting *c = &p->counting;
	uint64_t end = bits_min(c->trace_count, EXPLAIN_TRACE_MAX);
	struct phase_sum sum = { .lines_written = counting_lines_shared(c),
		.calls = c->wakes + c->rings + c->room_wakes };
	for (int k = 0; k < HOST_KINDS; k++)
		sum.atomics += c->kind[k].atomics;
	for (uint32_t i = 0; i < end; i++)
		sum.lines_read += lines_read(p, i);
	return sum;
}
