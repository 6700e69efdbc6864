/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of benchmark cases in its three formats. */
#include "bench/harness/report.h"

#include <errno.h>
#include <string.h>

#include "base/fields.h"

#define NO_DISTANCE (-1)

/* ---- fields ---- */

static const struct field case_fields[] = {
	FIELD(struct bench_case, bench, "bench", .kind = FIELD_STRING),
	FIELD(struct bench_case, label, "case", .kind = FIELD_CHARS),
	FIELD(struct bench_case, key, "key", .kind = FIELD_CHARS,
		.optional = true),
	FIELD(struct bench_case, bytes, "bytes"),
	FIELD(struct bench_case, ranks, "processes"),
	FIELDS_END,
};

static const struct field result_fields[] = {
	FIELD(struct result, foreign_load, "foreign_load", .kind = FIELD_REAL,
		.decimals = 3),
	FIELD(struct result, tried, "tried"),
	FIELD(struct result, by_status[ROUND_KEPT], "kept"),
	FIELD(struct result, by_status[ROUND_DRIFTED], "drifted"),
	FIELD(struct result, by_status[ROUND_PREEMPTED], "preempted"),
	FIELD(struct result, by_status[ROUND_OUTLIER], "outlier"),
	FIELD(struct result, disturbed, "disturbed", .kind = FIELD_BOOL),
	FIELDS_END,
};

static const struct field figure_fields[] = {
	FIELD(struct figure, p50_ns, "p50_ns", .title = "p50", .kind = FIELD_NS,
		.decimals = 2, .width = 8),
	FIELD(struct figure, p99_ns, "p99_ns", .title = "p99", .kind = FIELD_NS,
		.decimals = 2, .width = 8),
	FIELD(struct figure, p50_samples, "p50_samples"),
	FIELD(struct figure, p99_samples, "p99_samples"),
	FIELDS_END,
};

static const struct field target_fields[] = {
	FIELD(struct target, text, "target", .kind = FIELD_STRING),
	FIELD(struct target, limit_ns, "limit_ns", .kind = FIELD_REAL,
		.decimals = 2),
	FIELD(struct target, met, "met", .kind = FIELD_BOOL),
	FIELDS_END,
};

/* A line of the CSV file. */
struct sample_line {
	const char *bench, *label;
	uint32_t round;
	const char *status, *workload, *kind;
	double ns;
};

static const struct field sample_fields[] = {
	FIELD(struct sample_line, bench, NULL, .csv = "bench",
		.kind = FIELD_STRING),
	FIELD(struct sample_line, label, NULL, .csv = "case",
		.kind = FIELD_STRING),
	FIELD(struct sample_line, round, NULL, .csv = "round"),
	FIELD(struct sample_line, status, NULL, .csv = "status",
		.kind = FIELD_STRING),
	FIELD(struct sample_line, workload, NULL, .csv = "workload",
		.kind = FIELD_STRING),
	FIELD(struct sample_line, kind, NULL, .csv = "kind",
		.kind = FIELD_STRING),
	FIELD(struct sample_line, ns, NULL, .csv = "ns", .kind = FIELD_REAL,
		.decimals = 2),
	FIELDS_END,
};

/* ---- the table ---- */

/* Prints the columns of a figure, or their headings. */
static void table_figure(FILE *out, const struct figure *f)
{
	int widths[FIELDS_MAX];
	char line[64];

	fields_widths(figure_fields, widths);
	fields_line(figure_fields, f, widths, line, sizeof(line));
	fprintf(out, " %s", line);
}

/* Starts a row, and a table if the metric is another one. */
static void table_row(struct report *r, const struct bench_case *bc)
{
	FILE *out = r->out;

	if (!r->metric || strcmp(r->metric, bc->metric) != 0) {
		fprintf(out, "\n%s: ns %s\n%-24s", bc->bench, bc->metric, "");
		for (unsigned i = 0; i < bc->workloads; i++)
			fprintf(out, " %17s", bc->workload[i]->name);
		fprintf(out, "  Cay over Cay over  rounds\n%-24s", "");
		for (unsigned i = 0; i < bc->workloads; i++)
			table_figure(out, NULL);
		fprintf(out, " %9.9s %8.8s  kept/tried\n",
			bc->workload[CASE_REFERENCE]->name,
			bc->workload[CASE_BASELINE]->name);
		r->metric = bc->metric;
		r->distance = NO_DISTANCE;
	}
	fprintf(out, "%-24s", bc->label);
}

static void table_notes(struct report *r, const struct result *result)
{
	const struct bench_case *bc = result->bc;
	const char *baseline = bc->workload[CASE_BASELINE]->name;
	double baseline_ns = result->figure[CASE_BASELINE].p50_ns;
	double cay_ns = result->figure[CASE_CAY].p50_ns;
	struct target t[TARGETS_MAX];
	unsigned targets = result_targets(result, t);
	char dropped[DROPPED_MAX];

	for (unsigned i = 0; i < targets; i++)
		fprintf(r->out, "    target %s, here %.1f: %s\n", t[i].text,
			t[i].limit_ns, t[i].met ? "met" : "MISSED");
	if (bc->rate)
		fprintf(r->out,
			"    million messages per second: %s %.1f, "
			"Cay %.1f\n",
			baseline, 1e3 / baseline_ns, 1e3 / cay_ns);
	if (bc->bandwidth)
		fprintf(r->out, "    GB/s: %s %.1f, Cay %.1f\n", baseline,
			(double)bc->bytes / baseline_ns,
			(double)bc->bytes / cay_ns);
	if (result_has_distance(result)) {
		enum distance distance = result_distance(result);
		if ((int)distance != r->distance)
			fprintf(r->out, "    distance %s: %s\n",
				distance_name(distance),
				distance_text(distance));
		r->distance = (int)distance;
	}
	result_dropped(result, dropped);
	if (dropped[0] && !result->disturbed)
		fprintf(r->out, "    rounds dropped: %s\n", dropped);
}

static void table_result(struct report *r, const struct result *result)
{
	char why[DISTURBED_MAX];

	table_row(r, result->bc);
	result_disturbed(result, why);
	if (!result->figure[CASE_REFERENCE].p50_samples) {
		fprintf(r->out, " no figure: %s\n", why);
		return;
	}
	for (unsigned i = 0; i < result->bc->workloads; i++)
		table_figure(r->out, &result->figure[i]);
	fprintf(r->out, " %9.2f %8.2f  %u/%u\n",
		result_ratio(result, CASE_REFERENCE),
		result_ratio(result, CASE_BASELINE),
		result->by_status[ROUND_KEPT], result->tried);
	if (result->disturbed)
		fprintf(r->out, "    disturbed, for orientation: %s\n", why);
	table_notes(r, result);
}

/* ---- JSON ---- */

static void json_figures(struct json *j, const struct result *result)
{
	const struct bench_case *bc = result->bc;
	struct target t[TARGETS_MAX];
	unsigned targets = result_targets(result, t);

	for (unsigned i = 0; i < bc->workloads; i++) {
		json_key(j, bc->workload[i]->name);
		json_object_begin(j);
		fields_json(j, figure_fields, &result->figure[i]);
		json_object_end(j);
	}
	json_key(j, "ratio");
	json_object_begin(j);
	for (unsigned i = 0; i + 1 < bc->workloads; i++)
		json_put_fixed(
			j, bc->workload[i]->name, result_ratio(result, i), 3);
	json_object_end(j);
	if (result_has_distance(result))
		json_put_string(
			j, "distance", distance_name(result_distance(result)));
	if (targets)
		fields_json_array(
			j, "targets", target_fields, t, targets, sizeof(t[0]));
}

static void json_result(struct json *j, const struct result *result)
{
	char why[DISTURBED_MAX];

	json_object_begin(j);
	fields_json(j, case_fields, result->bc);
	fields_json(j, result_fields, result);
	if (result->disturbed) {
		result_disturbed(result, why);
		json_put_string(j, "why", why);
	}
	json_figures(j, result);
	json_object_end(j);
}

/* ---- CSV ---- */

void report_samples(
	FILE *out, const struct bench_case *bc, const struct measurement *m)
{
	if (!m)
		fields_csv(out, sample_fields, NULL);
	for (uint32_t i = 0; m && i < m->samples->count; i++) {
		const struct sample *s = &m->samples->at[i];
		if (s->round >= m->rounds) /* unfinished */
			continue;
		const struct sample_line line = { bc->bench, bc->label,
			s->round, round_status_name(m->round[s->round].status),
			bc->workload[s->workload]->name,
			s->kind == SAMPLE_BATCH ? "batch" : "single", s->ns };
		fields_csv(out, sample_fields, &line);
	}
}

/* ---- the report ---- */

int report_begin(struct report *r, const char *samples)
{
	struct json *j = &r->writer;

	if (samples) {
		r->samples = fopen(samples, "w");
		if (!r->samples) {
			int error = -errno;
			fprintf(stderr, "%s: %s: %s\n", r->program, samples,
				strerror(-error));
			return error;
		}
		report_samples(r->samples, NULL, NULL);
	}
	if (!r->json) {
		fprintf(r->out,
			"# %s\n# on cores %d and %d: two processes "
			"have one each, more share both\n",
			r->command, r->core[0], r->core[1]);
		if (r->note)
			fprintf(r->out, "# %s\n", r->note);
		return 0;
	}
	json_open(j, r->out);
	json_object_begin(j);
	json_put_string(j, "command", r->command);
	if (r->version)
		json_put_string(j, "version", r->version);
	json_key(j, "cores");
	json_array_begin(j);
	json_signed(j, r->core[0]);
	json_signed(j, r->core[1]);
	json_array_end(j);
	json_key(j, "results");
	json_array_begin(j);
	return 0;
}

void report_result(struct report *r, const struct result *result)
{
	r->disturbed |= result->disturbed;
	r->missed |= result_missed(result);
	if (r->json)
		json_result(&r->writer, result);
	else
		table_result(r, result);
	fflush(r->out);
}

void report_failure(
	struct report *r, const struct bench_case *bc, const char *reason)
{
	r->failed = true;
	fprintf(stderr, "%s: %s\n", r->program, reason);
	if (r->json) {
		json_object_begin(&r->writer);
		fields_json(&r->writer, case_fields, bc);
		json_put_string(&r->writer, "failure", reason);
		json_object_end(&r->writer);
	} else {
		table_row(r, bc);
		fprintf(r->out, " failed: %s\n", reason);
	}
	fflush(r->out);
}

void report_add(struct report *r, const struct bench_case *bc,
	struct measurement *m, int error)
{
	struct result result;

	if (error) {
		report_failure(r, bc, m->failure);
	} else if (result_of(bc, m, &result)) {
		report_failure(r, bc, "out of memory");
	} else {
		report_result(r, &result);
		if (r->samples)
			report_samples(r->samples, bc, m);
	}
}

enum report_status report_end(struct report *r)
{
	if (r->json) {
		json_array_end(&r->writer);
		json_object_end(&r->writer);
		json_close(&r->writer);
	}
	fflush(r->out);
	if (r->samples && fclose(r->samples)) {
		fprintf(stderr, "%s: samples: %s\n", r->program,
			strerror(errno));
		return REPORT_FAILED;
	}
	if (r->failed || (r->check && r->missed))
		return REPORT_FAILED;
	return r->disturbed ? REPORT_DISTURBED : REPORT_DONE;
}
