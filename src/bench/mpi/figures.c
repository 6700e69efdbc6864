/* SPDX-License-Identifier: BSD-2-Clause */
/* Which slices count, and what they say. */
#include "bench/mpi/figures.h"

#include <string.h>

#include "bench/harness/samples.h"

enum wait slice_wait(size_t slice)
{
	return slice % WAIT_COUNT;
}

const char *wait_name(enum wait wait)
{
	static const char *const name[WAIT_COUNT] = { "barrier", "probe" };

	return name[wait];
}

static size_t samples_collect(const struct slice *slices, enum kind kind,
	enum wait wait, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < SLICES; i++) {
		if (slice_wait(i) != wait ||
			slices[i].round.status != ROUND_KEPT)
			continue;
		memcpy(values + count, slices[i].ns[kind],
			sizeof(slices[i].ns[kind]));
		count += BATCHES;
	}
	return count;
}

struct figure figure_of(const struct slice *slices, enum kind kind)
{
	double values[SLICES * BATCHES];
	struct figure best = { 0 };

	for (enum wait wait = 0; wait < WAIT_COUNT; wait++) {
		size_t n = samples_collect(slices, kind, wait, values);
		double ns = samples_median(values, n);
		if (n && (best.ns == 0 || ns < best.ns))
			best = (struct figure){
				.ns = ns, .samples = n, .wait = wait
			};
	}
	return best;
}

double figure_handover_ns(const struct slice *slices)
{
	double values[SLICES];
	size_t count = 0;

	for (size_t i = 0; i < SLICES; i++)
		if (slices[i].round.status == ROUND_KEPT)
			values[count++] = round_reference_ns(&slices[i].round);
	return samples_median(values, count);
}

int slices_settle(struct slice *slices)
{
	const struct rules rules = {
		.agree = 1.10, .alike = 1.25, .unbroken = true
	};
	struct round rounds[SLICES];

	for (size_t i = 0; i < SLICES; i++) {
		rounds[i] = slices[i].round;
		rounds[i].status = round_status_of(&rounds[i], &rules);
	}
	int kept = rounds_reject_outliers(rounds, SLICES, &rules);
	for (size_t i = 0; i < SLICES; i++)
		slices[i].round = rounds[i];
	return kept;
}
