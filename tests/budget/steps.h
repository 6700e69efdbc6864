/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the instructions of hot paths by single-stepping, so that a change
 * that makes messages slower fails independently of the machine's load. The
 * budgets are the counts of the default build with gcc 12, so that one more
 * instruction fails. clang has the counts of clang 14 and 5 % of slack, other
 * compilers 60 %.
 */
#ifndef CAY_TESTS_BUDGET_STEPS_H
#define CAY_TESTS_BUDGET_STEPS_H

struct path {
	const char *name;
	void (*run)(void);
	unsigned long budget, clang_budget;
};

/* Runs the paths; `body` calls it in the traced child after warming up. */
void steps_run(const struct path *, unsigned count);
/*
 * Forks a child that runs `body`, and counts. Returns the exit status: 1 if a
 * path exceeds its budget, 77 if this processor is not supported.
 */
int steps_main(const struct path *, unsigned count, void (*body)(void));

#endif
