/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crash scenarios: a receiver that also owns windows, a survivor that keeps
 * sending and accessing them, and a victim that dies or stops at one numbered
 * step of the device, each a process of its own with a node of its own. What
 * was promised is noted on a shared page and checked by whoever is left.
 */
#ifndef CAY_TESTS_CRASH_SCENARIO_H
#define CAY_TESTS_CRASH_SCENARIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cay/cay.h"
#include "device/step.h"
#include "kind.h"

enum mode {
	MODE_DIE,	 /* SIGKILL at the step */
	MODE_STOP,	 /* SIGSTOP for a while, then go on */
	MODE_DIE_BESIDE, /* die while another process is stopped at it */
	MODE_FENCE,	 /* stopped, fenced off by the node, goes on later */
	MODE_ORPHAN,	 /* stopped while the receiver dies, goes on later */
	MODE_TOGETHER,	 /* die together with one that tried for its entry */
	MODE_COUNT,
};

struct scenario {
	const struct kind *kind;
	enum device_step step;
	enum mode mode;
	unsigned pass; /* the n-th time that the step is passed, from 0 */
};

const char *mode_name(enum mode);

/*
 * Runs one in this process and its children. 0, 77 if the step is never
 * passed by that kind, else 1 with what went wrong on stderr.
 */
int scenario_run(const struct scenario *);

#endif
