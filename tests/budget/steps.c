/* SPDX-License-Identifier: BSD-2-Clause */
/* See steps.h: the child traps before and after each path. */
#include "steps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__x86_64__)
void steps_run(const struct path *paths, unsigned count)
{
	(void)paths, (void)count;
}

int steps_main(const struct path *paths, unsigned count, void (*body)(void))
{
	(void)paths, (void)count, (void)body;
	return 77; /* int3 exists only on x86 */
}
#else

#define MARK() __asm__ volatile("int3" ::: "memory")

void steps_run(const struct path *paths, unsigned count)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (unsigned i = 0; i < count; i++) {
		MARK();
		paths[i].run();
		MARK();
	}
}

/* Percent that compilers other than the default one may exceed a budget by. */
#ifdef __clang__
#define BUDGET clang_budget
#define SLACK  5
#else
#define BUDGET budget
#define SLACK  (__GNUC__ == 12 ? 0 : 60)
#endif

/* Returns true if the child stopped at a mark, not after a step. */
static int at_mark(pid_t pid)
{
	siginfo_t why;
	ptrace(PTRACE_GETSIGINFO, pid, NULL, &why);
	return why.si_code == SI_KERNEL;
}

static void wait_trap(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "the traced process exited: %#x\n", status);
		exit(1);
	}
}

/* Counts from one mark to the next. */
static unsigned long count_steps(pid_t pid)
{
	unsigned long steps = 0;
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	wait_trap(pid);
	do {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		wait_trap(pid);
		steps++;
	} while (!at_mark(pid));
	return steps;
}

int steps_main(const struct path *paths, unsigned count, void (*body)(void))
{
	int failed = 0;
	pid_t pid = fork();
	if (pid == 0) {
		body();
		exit(0);
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned long steps = count_steps(pid);
		unsigned long limit = paths[i].BUDGET * (100 + SLACK) / 100;
		int over = steps > limit || steps < 5;
		printf("%-30s %4lu of %4lu%s\n", paths[i].name, steps, limit,
			over ? "  OVER" : "");
		failed |= over;
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, NULL, 0);
	return failed;
}
#endif
