/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace, step by step, and what a phase comes to. */
#include <string.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

static void tally_add(struct tally *t, const struct counting_entry *e)
{
	t->loads += e->what == COUNTING_LOAD;
	t->stores += e->what == COUNTING_STORE || e->what == COUNTING_COPY;
	t->atomics += e->what == COUNTING_ATOMIC;
	t->wakes += e->what == COUNTING_WAKE;
	t->bytes += e->bytes;
	t->lines += e->lines;
}

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
		tally_add(&s->kind[e->kind], e);
	}
	return any;
}

void tallies_sum(const struct step *s, struct tally *total)
{
	for (int k = 0; k < HOST_KINDS; k++) {
		total[k].loads += s->kind[k].loads;
		total[k].stores += s->kind[k].stores;
		total[k].atomics += s->kind[k].atomics;
		total[k].bytes += s->kind[k].bytes;
		total[k].lines += s->kind[k].lines;
		total[k].wakes += s->kind[k].wakes;
	}
}

/* ---- a whole phase ---- */

static bool line_written(const struct explain_phase *p, uint64_t line)
{
	for (uint32_t i = 0; i < ARRAY_COUNT(p->counting.line); i++)
		if (p->counting.line[i] == line + 1)
			return true;
	return false;
}

/* Is it shared memory that this entry reads in place? */
static bool entry_reads(const struct counting_entry *e)
{
	return e->kind != HOST_RECORD && e->at != COUNTING_OUTSIDE &&
	       (e->what == COUNTING_LOAD || e->what == COUNTING_ATOMIC);
}

static bool read_before(
	const struct explain_phase *p, uint32_t end, uint64_t line)
{
	for (uint32_t i = 0; i < end; i++)
		if (entry_reads(&p->trace[i]) &&
			p->trace[i].at / CAY_LINE == line)
			return true;
	return false;
}

/* Lines of the i-th entry that nothing before it has read. */
static uint64_t lines_read(const struct explain_phase *p, uint32_t i)
{
	const struct counting_entry *e = &p->trace[i];
	/* Out of a window: what is noted is where the copy went to. */
	if (e->what == COUNTING_COPY && e->kind == HOST_MEMORY &&
		e->at == COUNTING_OUTSIDE)
		return (e->bytes + CAY_LINE - 1) / CAY_LINE;
	uint64_t line = e->at / CAY_LINE;
	return entry_reads(e) && !line_written(p, line) &&
	       !read_before(p, i, line);
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
