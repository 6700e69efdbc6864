/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crash scenarios: a receiver, a survivor that keeps sending, and a victim
 * that dies or stops at one numbered step of the device, each a process of its
 * own with a node of its own. What was promised is noted on a shared page and
 * checked by whoever is left.
 */
#ifndef CAY_TESTS_CRASH_SCENARIO_H
#define CAY_TESTS_CRASH_SCENARIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cay/cay.h"
#include "device/step.h"

enum kind {
	KIND_FAST,   /* 40 bytes and less */
	KIND_SEND,   /* through the RDR */
	KIND_LONG,   /* by reference from cay_alloc() memory */
	KIND_STAGED, /* by reference from ordinary memory */
	KIND_ACK,    /* with a completion in the victim's own queue */
	KIND_TAKE,   /* the victim receives long messages */
	KIND_COUNT,
};

enum mode {
	MODE_DIE,	 /* SIGKILL at the step */
	MODE_STOP,	 /* SIGSTOP for a while, then go on */
	MODE_DIE_BESIDE, /* die while another process is stopped at it */
	MODE_FENCE,	 /* stopped, fenced off by the node, goes on later */
	MODE_COUNT,
};

struct scenario {
	enum kind kind;
	enum device_step step;
	enum mode mode;
	unsigned pass; /* the n-th time that the step is passed, from 0 */
};

const char *kind_name(enum kind);
const char *mode_name(enum mode);

/*
 * Runs one in this process and its children. 0, 77 if the step is never
 * passed by that kind, else 1 with what went wrong on stderr.
 */
int scenario_run(const struct scenario *);

#endif
