/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay explain` executes an instruction on a fixture with the counting
 * platform, in phases: one side at a time, the origin (port 0) or the target
 * (port 1).
 */
#ifndef CAY_CLI_EXPLAIN_H
#define CAY_CLI_EXPLAIN_H

#include <stdbool.h>

#include "base/json.h"
#include "cli/decode.h"
#include "device/counting.h"
#include "device/fixture.h"

#define EXPLAIN_PHASES_MAX 3
#define EXPLAIN_TRACE_MAX  512

struct explain_phase {
	const char *name;
	const char *side; /* "origin" or "target" */
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
	struct cay_vci vci; /* an equivalent work request; all 0: none */
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
	/* Sets up the target and the work request. Returns 0 or -errno. */
	int (*prepare)(struct fixture *, struct explanation *);
	/* Executes the phases. Returns 0 or -errno. */
	int (*run)(struct fixture *, struct explanation *);
	bool direct; /* no work request stands for it */
};

#define EXPLAIN_MESSAGES     6
#define EXPLAIN_ACCESSES     9
#define EXPLAIN_INSTRUCTIONS (EXPLAIN_MESSAGES + EXPLAIN_ACCESSES)
extern const struct explain_instruction explain_messages[EXPLAIN_MESSAGES],
	explain_accesses[EXPLAIN_ACCESSES];

/* The longest access: the counting platform records each line of a phase. */
#define EXPLAIN_BYTES_MAX 65536u

/* Executes an instruction on a fixture of its own. Returns 0 or -errno. */
int explain_run(const struct explain_instruction *, uint64_t bytes,
	struct explanation *);

/* Finds the errors that an instruction can end in. Returns 0 or -errno. */
int explain_errors(const struct explain_instruction *, uint32_t *errors);

/* ---- steps.c ---- */

/* Accesses of one kind. */
struct tally {
	uint64_t loads, stores, atomics, bytes, lines, wakes;
};

struct step {
	enum device_step step; /* STEP_NONE: after the last one */
	struct tally kind[HOST_KINDS];
};

/* Totals of a phase; the op record is private and does not count. */
struct phase_sum {
	uint64_t lines_read; /* and not written */
	uint64_t lines_written, atomics, calls;
};

/* Reads the next step of a trace, from *at on. Returns false at the end. */
bool step_next(const struct explain_phase *, uint32_t *at, struct step *);
bool tally_empty(const struct tally *);
void tallies_add(struct tally *total, const struct tally *);
struct phase_sum phase_sum(const struct explain_phase *);

/* ---- output.c ---- */

void print_explanation(const struct explanation *);
void json_explanation(struct json *, const struct explanation *);

/* Decoded fields, one per line, and as an array of objects. */
void print_fields(const char *title, const struct decode_field *, size_t count);
void json_fields(struct json *, const struct decode_field *, size_t count);

/* Markdown: the head of the table, a row, and the table of error codes. */
void table_head(void);
void table_row(const struct explanation *);
void table_errors(void);

/* ---- phase.c: common parts of the instructions ---- */

#define EXPLAIN_TAG	0x1122334455667788ull
#define EXPLAIN_API_TAG 0xa91u

/* Accesses between the two calls are counted as a phase. */
void phase_begin(struct fixture *, struct explanation *, const char *name,
	const char *side);
void phase_end(void);

/* Consumes the oldest notification of a port. Returns 0 or -EIO. */
int entry_consume(
	struct fixture *, uint32_t port, struct explanation *, const char *);
/* Returns all entries of a port to senders. */
void entries_return(struct fixture *, uint32_t port);

/* Phases in which a side receives its notification. Return 0 or -errno. */
int target_receives(struct fixture *, struct explanation *);
int origin_receives(struct fixture *, struct explanation *);

/* The completion of a reference that the target has consumed. */
struct completion completion_of(const struct explanation *, uint16_t command);

struct packet packet_of(const struct fixture *, uint16_t command,
	const struct iovec *payload, unsigned flags);

/* Fills in words 0 to 2 of the work request. */
void vci_fill(struct explanation *, unsigned command, unsigned flags);

/* Fills a payload with distinct bytes. */
void payload_fill(const struct explanation *, unsigned char *data);

#endif
