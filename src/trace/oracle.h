/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle: what a trace must come to, from a model of the instruction set
 * that executes one instruction after the other and shares no code with the
 * device. It is written from cay_contract(7) and the manual pages of the calls.
 *
 *	struct outcome expected;
 *	oracle_run(&trace, ORACLE_RIGHT, &expected);
 *
 * One thread.
 */
#ifndef CAY_TRACE_ORACLE_H
#define CAY_TRACE_ORACLE_H

#include "trace/outcome.h"

/*
 * What the model is made to get wrong, so that a test can see that it would be
 * noticed.
 */
enum oracle_fault {
	ORACLE_RIGHT,
	ORACLE_SWAP_RESULT,  /* compare_swap: result is what was compared */
	ORACLE_SWAP_ALWAYS,  /* compare_swap: stores in any case */
	ORACLE_ADD_PREVIOUS, /* fetch_add: previous is the sum */
	ORACLE_MASK,	     /* put_masked: stores the whole word */
	ORACLE_ERROR_ORDER,  /* rights are looked at before capabilities */
	ORACLE_BOUNDS,	     /* one byte past the end is inside */
	ORACLE_SILENT,	     /* a refusal without flags has no completion */
	ORACLE_ROOM,	     /* one entry more than there is */
	ORACLE_LOCK,	     /* nobody looks at locks */
	ORACLE_TRUNCATED,    /* a message too long for its buffer is right */
	ORACLE_FAULTS,
};

struct oracle;

/* Fills `out`, which is the caller's to free. NULL: no memory. */
struct oracle *oracle_open(
	const struct trace *, enum oracle_fault, struct outcome *out);

/* Executes instruction i, held if there is no room. */
void oracle_step(struct oracle *, uint32_t i);

/* Everybody drains until nothing is left. 0 or -ENOMEM. */
int oracle_end(struct oracle *);
void oracle_close(struct oracle *);

/* All of it. 0 or -ENOMEM. */
int oracle_run(const struct trace *, enum oracle_fault, struct outcome *out);

/* ---- for who explains races; see interleave.h ---- */

/* Why a window would refuse this access now. */
enum cay_error oracle_refusal(
	const struct oracle *, const struct trace_instruction *);

/* Where an access that is not refused goes: the region, and the place in it. */
uint32_t oracle_place(
	const struct oracle *, const struct trace_instruction *, uint64_t *at);

/* Must the owner of the window be told of it? */
bool oracle_tells(const struct oracle *, const struct trace_instruction *);

/* Entries that messages may still use at a port. */
uint32_t oracle_room(const struct oracle *, uint32_t port, unsigned flags);

/* Completions that a port may have under way. */
uint32_t oracle_completions(const struct oracle *);

/* Does it end in a completion, refused or not? */
bool oracle_completes(const struct trace_instruction *);

/* What its end says, but for what it has read. */
struct outcome_note oracle_completion(
	const struct trace_instruction *, enum cay_error);

/* What its target is notified of: a message of up to CAY_EAGER_MAX bytes. */
struct outcome_note oracle_message(
	const struct oracle *, const struct trace_instruction *);

/* What the owner of a window is told of an access. */
struct outcome_note oracle_access(
	const struct trace_instruction *, enum cay_error);

/* Carries out an atomic or a masked put on a word. */
void oracle_operate(const struct trace_instruction *, enum oracle_fault,
	uint64_t *word, uint64_t result[2]);

#endif
