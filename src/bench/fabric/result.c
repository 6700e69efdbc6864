/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * p50 is taken over batches, so that looking at the clock does not count; p99
 * over trips that were timed one by one, where a batch has more than one.
 */
#include "bench/fabric/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static size_t result_collect(const struct trial *t, unsigned carrier,
	enum sample_kind kind, double *ns)
{
	size_t count = 0;

	for (uint32_t i = 0; i < t->log->count; i++) {
		const struct sample *s = &t->log->at[i];
		if (s->workload == carrier && s->kind == (uint16_t)kind &&
			t->rounds[s->round].status == ROUND_KEPT)
			ns[count++] = s->ns;
	}
	samples_sort(ns, count);
	return count;
}

int result_figure(const struct trial *t, unsigned carrier, struct figure *f)
{
	double *ns = malloc((t->log->count + 1) * sizeof(*ns));
	size_t count;

	if (!ns)
		return -ENOMEM;
	count = result_collect(t, carrier, SAMPLE_BATCH, ns);
	f->p50_ns = samples_percentile(ns, count, 0.5);
	f->p50_samples = count;
	if (t->kind->each)
		count = result_collect(t, carrier, SAMPLE_TRIP, ns);
	f->p99_ns = samples_percentile(ns, count, 0.99);
	f->p99_samples = count;
	free(ns);
	return 0;
}

double result_handover_ns(const struct trial *t)
{
	double *ns = malloc((t->kind->slices + 1) * sizeof(*ns));
	size_t count = 0;

	if (!ns)
		return 0;
	for (unsigned i = 0; i < t->kind->slices; i++)
		if (t->rounds[i].status == ROUND_KEPT)
			ns[count++] = round_reference_ns(&t->rounds[i]);
	double median = samples_median(ns, count);
	free(ns);
	return median;
}

static void print_samples(
	const struct trial *t, unsigned carrier, enum sample_kind kind)
{
	const char *comma = "";

	for (uint32_t i = 0; i < t->log->count; i++) {
		const struct sample *s = &t->log->at[i];
		if (s->workload != carrier || s->kind != (uint16_t)kind)
			continue;
		printf("%s%.1f", comma, s->ns);
		comma = ",";
	}
}

static int print_carrier(const struct trial *t, unsigned i, const char *name)
{
	struct figure f;
	int r = result_figure(t, i, &f);

	if (r)
		return r;
	printf("%s\"%s\":{\"p50_ns\":%.2f,\"p50_samples\":%zu,"
	       "\"p99_ns\":%.2f,\"p99_samples\":%zu,",
		i ? "," : "", name, f.p50_ns, f.p50_samples, f.p99_ns,
		f.p99_samples);
	printf("\"batches_ns\":[");
	print_samples(t, i, SAMPLE_BATCH);
	printf("],\"trips_ns\":[");
	print_samples(t, i, SAMPLE_TRIP);
	printf("]}");
	return 0;
}

/* Slices in order, so that samples can be told apart by their verdict. */
static void print_slices(const struct trial *t)
{
	printf("\"slices\":[");
	for (unsigned i = 0; i < t->kind->slices; i++)
		printf("%s[%.1f,\"%s\"]", i ? "," : "",
			round_reference_ns(&t->rounds[i]),
			round_status_name(t->rounds[i].status));
	printf("]");
}

int result_print(const struct trial *t, const struct carrier *carriers)
{
	const struct kind *k = t->kind;
	bool refused = t->kept < (k->slices + 1) / 2;
	int r = 0;

	printf("\"%s\":{\"bytes\":%zu,\"count\":%u,\"tried\":%u,\"kept\":%u,"
	       "\"refused\":%s,",
		k->name, k->bytes, k->count, k->slices, t->kept,
		refused ? "true" : "false");
	if (!refused) {
		printf("\"handover_ns\":%.2f,", result_handover_ns(t));
		printf("\"carriers\":{");
		for (unsigned i = 0; !r && i < t->carriers; i++)
			r = print_carrier(t, i, carriers[i].name);
		printf("},");
	}
	print_slices(t);
	printf("}");
	return r;
}
