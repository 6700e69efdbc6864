/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of hot paths, counted by single-stepping, so that a change
 * which makes every message dearer fails whatever the machine is doing. The
 * budgets hold for optimised builds of gcc and clang; they are upper bounds
 * with little room, not goals.
 */
#ifndef CAY_TESTS_BUDGET_STEPS_H
#define CAY_TESTS_BUDGET_STEPS_H

struct path {
	const char *name;
	void (*run)(void);
	unsigned long budget;
};

/* In the child that `body` runs in, once everything is warm. */
void steps_run(const struct path *, unsigned count);
/* The exit status: 1 if a path is over its budget, 77 where none can count. */
int steps_main(const struct path *, unsigned count, void (*body)(void));

#endif
