/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle computes the expected outcome of a trace from a sequential model
 * of the instruction set, written from cay_contract(7) and the manual pages of
 * the calls. It shares no code with the device.
 *
 *	struct outcome expected;
 *	oracle_run(&trace, ORACLE_CORRECT, &expected);
 *
 * Single-threaded.
 */
#ifndef CAY_TRACE_ORACLE_H
#define CAY_TRACE_ORACLE_H

#include "trace/outcome.h"

/*
 * Deliberate errors of the model. A test runs the oracle with each of them to
 * show that a device with that error would be detected.
 */
enum oracle_fault {
	ORACLE_CORRECT,
	ORACLE_SWAP_RESULT,  /* compare_swap: result is the compare operand */
	ORACLE_SWAP_ALWAYS,  /* compare_swap: stores unconditionally */
	ORACLE_ADD_PREVIOUS, /* fetch_add: previous is the sum */
	ORACLE_MASK,	     /* put_masked: stores the whole word */
	ORACLE_ERROR_ORDER,  /* checks rights before the capability */
	ORACLE_BOUNDS,	     /* accepts one byte past the end of a window */
	ORACLE_SILENT,	     /* no completion for a refusal without flags */
	ORACLE_NQ_ENTRIES,   /* one NQ entry more than there is */
	ORACLE_LOCK,	     /* ignores window locks */
	ORACLE_TRUNCATED,    /* no error for a truncated posted receive */
	ORACLE_COPIED,	     /* copied messages complete when they are read */
	ORACLE_FAULTS,
};

/*
 * Executes a whole trace and fills `out`, which the caller frees. Returns 0 or
 * -ENOMEM.
 */
int oracle_run(const struct trace *, enum oracle_fault, struct outcome *out);

#endif
