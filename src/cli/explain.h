/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cay explain` finds out about an instruction: it is run on a workbench,
 * on the counting platform, in phases of one party each.
 */
#ifndef CAY_CLI_EXPLAIN_H
#define CAY_CLI_EXPLAIN_H

#include <stdbool.h>

#include "device/counting.h"
#include "device/workbench.h"

#define EXPLAIN_PHASES_MAX 3
#define EXPLAIN_TRACE_MAX  512

struct explain_phase {
	const char *name;
	struct counting counting;
	struct counting_entry trace[EXPLAIN_TRACE_MAX];
};

struct explain_entry {
	const char *name;
	struct cay_nqe nqe;
};

struct explanation {
	const char *instruction;
	uint64_t bytes;
	/* The work request that asks for the same; all 0 if none can. */
	struct cay_vci vci;
	uint32_t phases, entries;
	struct explain_phase phase[EXPLAIN_PHASES_MAX];
	struct explain_entry entry[2];
	char meaning[512];
};

struct explain_instruction {
	const char *name;
	uint64_t bytes_default, bytes_min, bytes_max;
	int (*run)(struct workbench *, struct explanation *);
};

#define EXPLAIN_INSTRUCTIONS 4
extern const struct explain_instruction
	explain_instructions[EXPLAIN_INSTRUCTIONS];

/* Runs it, on a workbench of its own. 0 or -errno. */
int explain_run(const struct explain_instruction *, uint64_t bytes,
	struct explanation *);

#endif
