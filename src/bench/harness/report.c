/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of benchmark cases in its three formats. */
#include "bench/harness/report.h"

#include <errno.h>
#include <string.h>

#define NS_DECIMALS    2 /* more than the clock is worth */
#define RATIO_DECIMALS 3
#define NO_DISTANCE    (-1)

/* ---- fields ---- */

/* A figure's fields. Those with a heading are columns of the table. */
static const struct {
	const char *key, *heading;
	size_t offset;
	bool count; /* size_t, else double */
} figure_fields[] = {
	{ "p50_ns", "p50", offsetof(struct figure, p50_ns), false },
	{ "p99_ns", "p99", offsetof(struct figure, p99_ns), false },
	{ "p50_samples", NULL, offsetof(struct figure, p50_samples), true },
	{ "p99_samples", NULL, offsetof(struct figure, p99_samples), true },
};

static double figure_ns(const struct figure *f, unsigned field)
{
	return *(const double *)((const char *)f + figure_fields[field].offset);
}

static size_t figure_count(const struct figure *f, unsigned field)
{
	return *(const size_t *)((const char *)f + figure_fields[field].offset);
}

/* ---- the table ---- */

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
			for (unsigned k = 0; k < ARRAY_COUNT(figure_fields);
				k++)
				if (figure_fields[k].heading)
					fprintf(out, " %8s",
						figure_fields[k].heading);
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
	if (dropped[0])
		fprintf(r->out, "    rounds dropped: %s\n", dropped);
}

static void table_result(struct report *r, const struct result *result)
{
	char refused[REFUSED_MAX];

	table_row(r, result->bc);
	if (result->refused) {
		result_refused(result, refused);
		fprintf(r->out, " refused: %s\n", refused);
		return;
	}
	for (unsigned i = 0; i < result->bc->workloads; i++)
		for (unsigned k = 0; k < ARRAY_COUNT(figure_fields); k++) {
			if (!figure_fields[k].heading)
				continue;
			double ns = figure_ns(&result->figure[i], k);
			fprintf(r->out, ns < 99.95 ? " %8.1f" : " %8.0f", ns);
		}
	fprintf(r->out, " %9.2f %8.2f  %u/%u\n",
		result_ratio(result, CASE_REFERENCE),
		result_ratio(result, CASE_BASELINE),
		result->by_status[ROUND_KEPT], result->tried);
	table_notes(r, result);
}

/* ---- JSON ---- */

static void json_case(struct json *j, const struct bench_case *bc)
{
	json_object_begin(j);
	json_put_string(j, "bench", bc->bench);
	json_put_string(j, "case", bc->label);
	if (bc->key[0])
		json_put_string(j, "key", bc->key);
	json_put_number(j, "bytes", bc->bytes);
	json_put_number(j, "processes", bc->ranks);
}

static void json_figures(struct json *j, const struct result *result)
{
	const struct bench_case *bc = result->bc;
	struct target t[TARGETS_MAX];
	unsigned targets = result_targets(result, t);

	for (unsigned i = 0; i < bc->workloads; i++) {
		const struct figure *f = &result->figure[i];
		json_key(j, bc->workload[i]->name);
		json_object_begin(j);
		for (unsigned k = 0; k < ARRAY_COUNT(figure_fields); k++)
			if (figure_fields[k].count)
				json_put_number(j, figure_fields[k].key,
					figure_count(f, k));
			else
				json_put_fixed(j, figure_fields[k].key,
					figure_ns(f, k), NS_DECIMALS);
		json_object_end(j);
	}
	json_key(j, "ratio");
	json_object_begin(j);
	for (unsigned i = 0; i + 1 < bc->workloads; i++)
		json_put_fixed(j, bc->workload[i]->name,
			result_ratio(result, i), RATIO_DECIMALS);
	json_object_end(j);
	if (result_has_distance(result))
		json_put_string(
			j, "distance", distance_name(result_distance(result)));
	if (targets == 0)
		return;
	json_key(j, "targets");
	json_array_begin(j);
	for (unsigned i = 0; i < targets; i++) {
		json_object_begin(j);
		json_put_string(j, "target", t[i].text);
		json_put_fixed(j, "limit_ns", t[i].limit_ns, NS_DECIMALS);
		json_put_bool(j, "met", t[i].met);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_result(struct json *j, const struct result *result)
{
	char refused[REFUSED_MAX];

	json_case(j, result->bc);
	json_put_fixed(j, "foreign_load", result->foreign_load, RATIO_DECIMALS);
	json_put_number(j, "tried", result->tried);
	for (unsigned s = 0; s < ROUND_STATUSES; s++)
		json_put_number(j, round_status_name(s), result->by_status[s]);
	json_put_bool(j, "refused", result->refused);
	if (result->refused) {
		result_refused(result, refused);
		json_put_string(j, "why", refused);
	} else {
		json_figures(j, result);
	}
	json_object_end(j);
}

/* ---- CSV ---- */

static const char csv_heading[] = "bench,case,round,status,workload,kind,ns\n";

void report_samples(
	FILE *out, const struct bench_case *bc, const struct measurement *m)
{
	const struct samples *s = m->samples;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->round >= m->rounds) /* unfinished */
			continue;
		fprintf(out, "%s,%s,%u,%s,%s,%s,%.2f\n", bc->bench, bc->label,
			at->round,
			round_status_name(m->round[at->round].status),
			bc->workload[at->workload]->name,
			at->kind == SAMPLE_BATCH ? "batch" : "single", at->ns);
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
		fputs(csv_heading, r->samples);
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
	r->disturbed |= result->refused;
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
		json_case(&r->writer, bc);
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
