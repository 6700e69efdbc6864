/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crash points: one scenario for each combination of step, kind of operation
 * and failure mode. Scenarios run in parallel, since they mostly wait.
 *
 * usage: crash [kind [step-number [mode [pass]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

#define PARALLEL      20
#define SCENARIOS_MAX 2048

static struct scenario scenarios[SCENARIOS_MAX];
static pid_t running[SCENARIOS_MAX];
static int verdicts[SCENARIOS_MAX];
static unsigned scenario_count;

static bool mode_fits(const struct kind *k, enum device_step step, int mode)
{
	bool is_target = k->family == FAMILY_RECEIVE ||
			 k->family == FAMILY_EXECUTE;
	bool locks = k->family == FAMILY_LOCK;
	switch (mode) {
	case MODE_DIE_BESIDE:
		/* Only one party holds the lock. */
		return !is_target && !locks;
	case MODE_FENCE:
		return !is_target && kind_passes(k, STEP_CLAIMED);
	case MODE_TOGETHER:
		return !is_target && step >= STEP_CLAIMED &&
		       step < STEP_PUBLISH && kind_blocks(k, step);
	case MODE_ORPHAN:
		return !is_target && !locks &&
		       (step <= STEP_IDLE || step == STEP_RECLAIM);
	default:
		return true;
	}
}

static void scenarios_add(const struct kind *k, enum device_step step)
{
	for (unsigned pass = 0; pass < kind_times(k, step); pass++)
		for (int mode = 0; mode < MODE_COUNT; mode++)
			if (mode_fits(k, step, mode))
				scenarios[scenario_count++] = (struct scenario){
					k, step, (enum mode)mode, pass
				};
}

/* Some kind must reach each step, else the table is wrong. */
static unsigned steps_missed(void)
{
	bool reached[STEP_COUNT] = { false };
	unsigned missed = 0;
	for (unsigned i = 0; i < scenario_count; i++)
		if (verdicts[i] == 0)
			reached[scenarios[i].step] = true;
	for (int step = STEP_STAGED; step < STEP_COUNT; step++)
		if (!reached[step]) {
			printf("no scenario reached '%s'\n",
				device_step_name((enum device_step)step));
			missed++;
		}
	return missed;
}

static int scenarios_run(void)
{
	unsigned passed = 0, failed = 0, started = 0, ended = 0;
	for (; ended < scenario_count; ended++) {
		for (; started < scenario_count && started - ended < PARALLEL;
			started++) {
			running[started] = fork();
			if (running[started] == 0)
				_exit(scenario_run(&scenarios[started]));
		}
		int status;
		pid_t pid = wait(&status);
		for (unsigned i = 0; i < started; i++)
			if (running[i] == pid)
				verdicts[i] = WIFEXITED(status)
						      ? WEXITSTATUS(status)
						      : 1;
	}
	for (unsigned i = 0; i < scenario_count; i++) {
		passed += verdicts[i] == 0;
		failed += verdicts[i] == 1;
	}
	printf("%u scenarios passed, %u failed, %u did not reach their step\n",
		passed, failed, scenario_count - passed - failed);
	return failed || (scenario_count > 1 && steps_missed());
}

static int scenario_one(int argc, char **argv)
{
	struct scenario s = { kind_named(argv[1]), STEP_TRY, MODE_DIE, 0 };
	if (!s.kind) {
		fprintf(stderr, "no such kind: %s\n", argv[1]);
		return 1;
	}
	if (argc > 2)
		s.step = (enum device_step)atoi(argv[2]);
	for (int mode = 0; argc > 3 && mode < MODE_COUNT; mode++)
		if (strcmp(argv[3], mode_name((enum mode)mode)) == 0)
			s.mode = (enum mode)mode;
	if (argc > 4)
		s.pass = (unsigned)atoi(argv[4]);
	int r = scenario_run(&s);
	printf("%s\n", r == 0	 ? "passed"
		       : r == 77 ? "step not reached"
				 : "failed");
	return r;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return scenario_one(argc, argv);
	for (unsigned i = 0; i < kind_count; i++)
		for (int step = 1; step < STEP_COUNT; step++)
			if (kind_passes(&kinds[i], (enum device_step)step))
				scenarios_add(
					&kinds[i], (enum device_step)step);
	return scenarios_run();
}
