/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the search for an order is about: the instructions of racing origins, in
 * indivisible parts, and what each of them saw. interleave.c prepares it,
 * interleave_search.c searches.
 */
#ifndef CAY_TRACE_INTERLEAVE_SEARCH_H
#define CAY_TRACE_INTERLEAVE_SEARCH_H

#include "trace/interleave.h"

#define PARTS_MAX 8 /* of an instruction */

/* Something indivisible that an instruction does. */
enum part_kind {
	PART_CLAIM, /* claims an entry at its target */
	PART_FULL,  /* finds none */
	PART_STORE,
	PART_LOAD,
	PART_OPERATE, /* an atomic or a masked put */
	PART_END,     /* its completion enters its port's own queue */
};

struct part {
	enum part_kind kind;
	uint64_t at; /* in the state's memory */
	uint32_t bytes;
	uint32_t from; /* in the instruction's payload, or in what it loads */
};

/* An instruction of a racing origin: what it does and what it saw. */
struct act {
	const struct trace_instruction *i;
	struct outcome_result seen;
	struct outcome_note end; /* its completion, if `completes` */
	bool completes;
	uint32_t parts;
	struct part part[PARTS_MAX];
	unsigned char data[CAY_FAST_PUT_BYTES];
	unsigned char *bulk; /* instead, if it is longer */
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

/* 0, -ENOENT, -E2BIG, -ENOMEM, as interleave_explain(). */
int search_run(struct search *);

#endif
