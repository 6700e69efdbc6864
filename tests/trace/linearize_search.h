/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of racing origins as atomic steps, and the observed results.
 * linearize.c builds them, linearize_search.c searches for an order.
 */
#ifndef CAY_TESTS_TRACE_LINEARIZE_SEARCH_H
#define CAY_TESTS_TRACE_LINEARIZE_SEARCH_H

#include "linearize.h"
#include "trace/oracle_model.h"

#define STEPS_MAX 8 /* of an operation */

/* An atomic step of an operation. */
enum step_kind {
	STEP_CLAIM, /* claims an NQ entry of the target */
	STEP_FULL,  /* finds the target's NQ full */
	STEP_STORE,
	STEP_LOAD,
	STEP_OPERATE,  /* an atomic or a masked put */
	STEP_COMPLETE, /* writes the completion into the origin's NQ */
};

struct step {
	enum step_kind kind;
	uint64_t at; /* in the state's memory */
	uint32_t bytes;
	uint32_t from; /* offset in the payload, or in the loaded data */
};

/* An instruction of a racing origin and its observed results. */
struct operation {
	const struct trace_instruction *i;
	struct outcome_result seen;
	struct outcome_nqe completion; /* if `completes` */
	bool completes;
	uint32_t steps;
	struct step step[STEPS_MAX];
	unsigned char data[CAY_FAST_PUT_BYTES];
	unsigned char *bulk; /* instead of data, if it is longer */
};

/* The operations of an origin in program order. */
struct history {
	struct operation *operation;
	uint32_t count;
	uint32_t completions;
};

struct search {
	const struct linearize_options *options;
	const struct trace *trace;
	const struct outcome *seen;
	struct oracle *oracle;	/* in the state after the set-up */
	struct outcome start;	/* of the set-up */
	struct history *origin; /* by port */
	uint64_t *region_at;	/* by region: offset in the state's memory */
	uint64_t bytes;		/* size of that memory */
	unsigned char *final;	/* its observed contents at the end */
	uint64_t *visited;	/* hash set of digests; 0 is free */
	uint64_t visited_size, states;
	uint32_t deepest; /* most instructions that an order explained */
	char *text;
	size_t size;
};

/* Returns as linearize(). */
int search_run(struct search *);

#endif
