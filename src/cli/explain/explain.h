/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cay explain` finds out about an instruction: it is run on a fixture,
 * on the counting platform, in phases of one party each.
 */
#ifndef CAY_CLI_EXPLAIN_H
#define CAY_CLI_EXPLAIN_H

#include <stdbool.h>

#include "base/json.h"
#include "device/counting.h"
#include "device/fixture.h"

#define EXPLAIN_PHASES_MAX 3
#define EXPLAIN_TRACE_MAX  512

struct explain_phase {
	const char *name;
	const char *who; /* "origin" or "target" */
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
	uint64_t memory;     /* of the target's window or posted buffer */
	uint64_t capability; /* of that window */
	uint32_t errors;     /* bit i: it can end in enum cay_error i */
	char meaning[512];
};

struct explain_instruction {
	const char *name;
	uint64_t bytes_default, bytes_min, bytes_max;
	/* Makes the target ready and fills in the work request. 0 or -errno. */
	int (*prepare)(struct fixture *, struct explanation *);
	/* Issues it and takes what comes of it, all counted. 0 or -errno. */
	int (*run)(struct fixture *, struct explanation *);
};

#define EXPLAIN_INSTRUCTIONS 14
extern const struct explain_instruction
	explain_instructions[EXPLAIN_INSTRUCTIONS];

/* Runs it, on a fixture of its own. 0 or -errno. */
int explain_run(const struct explain_instruction *, uint64_t bytes,
	struct explanation *);

/* Which errors it can end in, found out by asking for it wrongly. */
int explain_errors(const struct explain_instruction *, uint32_t *errors);

/* ---- steps.c ---- */

struct tally {
	uint64_t loads, stores, atomics, bytes, lines, wakes;
};

struct step {
	enum device_step step; /* STEP_NONE: after the last one */
	struct tally kind[HOST_KINDS];
};

/* Of a whole phase; the thread's own op record is not shared. */
struct phase_sum {
	uint64_t lines_read; /* and not written */
	uint64_t lines_written, atomics, calls;
};

/* The next step of a trace, from *at on; false at its end. */
bool step_next(const struct explain_phase *, uint32_t *at, struct step *);
bool tally_empty(const struct tally *);
void tallies_sum(const struct step *, struct tally *total);
struct phase_sum phase_sum(const struct explain_phase *);

/* ---- output ---- */

void print_explanation(const struct explanation *);
void json_explanation(struct json *, const struct explanation *);
void table_heading(void);
void table_row(const struct explanation *);
void table_errors(void); /* what the codes of the rows mean */

/* ---- for the runs ---- */

#define EXPLAIN_TAG	0x1122334455667788ull
#define EXPLAIN_API_TAG 0xa91u

/* What is counted from phase_begin() to phase_end() is a phase. */
void phase_begin(struct fixture *, struct explanation *, const char *name,
	const char *who);
void phase_end(void);

/* Takes the oldest notification of a port, as its consumer would. */
int entry_take(
	struct fixture *, uint32_t port, struct explanation *, const char *);
/* All room goes back, as if everything had been released. */
void entry_return(struct fixture *, uint32_t port);

int target_takes(struct fixture *, struct explanation *);
int origin_takes(struct fixture *, struct explanation *);

struct packet packet_of(const struct fixture *, uint16_t command,
	const struct iovec *payload, unsigned flags);
void vci_fill(struct explanation *, unsigned command, unsigned flags);
/* A payload whose bytes tell their place. */
void payload_fill(const struct explanation *, unsigned char *data);

/* remote.c, in the table of run.c. */
int prepare_put(struct fixture *, struct explanation *);
int prepare_fast_put(struct fixture *, struct explanation *);
int prepare_masked_put(struct fixture *, struct explanation *);
int prepare_get(struct fixture *, struct explanation *);
int prepare_fast_get(struct fixture *, struct explanation *);
int prepare_faa(struct fixture *, struct explanation *);
int prepare_cas(struct fixture *, struct explanation *);
int prepare_emulated(struct fixture *, struct explanation *);
int prepare_posted(struct fixture *, struct explanation *);
int run_put(struct fixture *, struct explanation *);
int run_masked_put(struct fixture *, struct explanation *);
int run_get(struct fixture *, struct explanation *);
int run_fast_get(struct fixture *, struct explanation *);
int run_faa(struct fixture *, struct explanation *);
int run_faa_into(struct fixture *, struct explanation *);
int run_cas(struct fixture *, struct explanation *);
int run_emulated(struct fixture *, struct explanation *);
int run_posted(struct fixture *, struct explanation *);

#endif
