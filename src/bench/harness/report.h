/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report: a table for people or one JSON object for programs, and every
 * sample as CSV.
 */
#ifndef CAY_BENCH_HARNESS_REPORT_H
#define CAY_BENCH_HARNESS_REPORT_H

#include "base/json.h"
#include "bench/harness/result.h"

/* Figures of remote memory, kept for one object at the end of the JSON. */
#define REPORT_RMA_MAX (9 * BENCH_SIZES_MAX)

struct report_rma {
	bool any; /* such a line was measured, refused or not */
	unsigned count;
	struct {
		char key[CASE_KEY_MAX];
		double line_ns, baseline_ns, cay_ns; /* p50 */
	} figure[REPORT_RMA_MAX];
};

struct report {
	FILE *out;
	FILE *samples; /* or NULL */
	bool json;
	struct json writer; /* of report_json.c */
	int core[2];
	const char *command;
	const char *meaning; /* of the table that is open; NULL: none is */
	int distance;	     /* that it has named, or REPORT_NO_DISTANCE */
	struct report_rma rma;
};

#define REPORT_NO_DISTANCE (-1)

void report_begin(struct report *);
void report_result(struct report *, const struct result *);
void report_failure(
	struct report *, const struct bench_case *, const char *why);
void report_end(struct report *);

/* The same in JSON: report_json.c. */
void report_json_begin(struct report *);
void report_json_result(struct report *, const struct result *);
void report_json_failure(
	struct report *, const struct bench_case *, const char *why);
void report_json_end(struct report *);

/* CSV: a heading, then one line per sample, kept or not. */
void report_samples_begin(FILE *);
void report_samples(
	FILE *, const struct bench_case *, const struct measurement *);

#endif
