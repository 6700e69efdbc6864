/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report: a table, or one JSON object; and every sample as CSV.
 *
 *	struct report r = { .program = "cay bench", .command = ..., ... };
 *	if (report_begin(&r, NULL))
 *		return REPORT_FAILED;
 *	... measurement_run() and report_add() for each case
 *	return report_end(&r);
 */
#ifndef CAY_BENCH_HARNESS_REPORT_H
#define CAY_BENCH_HARNESS_REPORT_H

#include "base/json.h"
#include "bench/harness/result.h"

/* Exit status of a benchmark; 2 is wrong usage. */
enum report_status {
	REPORT_DONE = 0,
	REPORT_FAILED = 1,    /* or a missed target, with `check` */
	REPORT_DISTURBED = 3, /* at least one figure is for orientation only */
};

struct report {
	FILE *out;
	bool json;
	bool check;	     /* a missed target is a failure */
	const char *program; /* prefix of error messages */
	const char *command; /* as typed */
	const char *version; /* of what is measured, or NULL */
	const char *note;    /* line below the command, or NULL */
	int core[2];

	/* Results so far. */
	bool failed, disturbed, missed;

	/* Private to report.c. */
	FILE *samples;
	struct json writer;
	const char *metric; /* of the open table */
	int distance;	    /* last one printed in it, or -1 */
};

/* Starts the report; `samples` is a file name or NULL. Returns 0 or -errno. */
int report_begin(struct report *, const char *samples);

/* Adds the case; `error` is what measuring it returned. Rejects outliers. */
void report_add(struct report *, const struct bench_case *,
	struct measurement *, int error);

/* Ends the report. Returns the exit status. */
enum report_status report_end(struct report *);

/* ---- parts, for tests ---- */

void report_result(struct report *, const struct result *);
void report_failure(
	struct report *, const struct bench_case *, const char *reason);
/* Prints the headings if there is no measurement. */
void report_samples(
	FILE *, const struct bench_case *, const struct measurement *);

#endif
