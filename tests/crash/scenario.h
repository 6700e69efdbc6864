/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crash scenarios: a receiver that owns windows, a survivor that sends messages
 * and accesses the windows, and a victim that dies or stops at one numbered
 * step of the device. Each is a process; each scenario has its own node.
 * Guarantees are recorded on a shared page and checked at the end.
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
	MODE_STOP,	 /* SIGSTOP for a while, then continue */
	MODE_DIE_BESIDE, /* die while another party is stopped at the step */
	MODE_FENCE,	 /* stopped, fenced by the node, continues later */
	MODE_ORPHAN,	 /* stopped while the receiver dies, continues later */
	MODE_TOGETHER,	 /* die with a party that claims the same entry */
	MODE_COUNT,
};

struct scenario {
	const struct kind *kind;
	enum device_step step;
	enum mode mode;
	unsigned pass; /* the n-th pass of the step, from 0 */
};

const char *mode_name(enum mode);

/*
 * Runs a scenario in this process and its children. Returns 0, 77 if the kind
 * never passes the step, or 1 with a message on stderr.
 */
int scenario_run(const struct scenario *);

#endif
