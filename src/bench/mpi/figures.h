/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From slices to figures, by the rules of cay bench; see src/bench/README.md.
 * Nothing here knows of MPI.
 */
#ifndef CAY_BENCH_MPI_FIGURES_H
#define CAY_BENCH_MPI_FIGURES_H

#include <stddef.h>

#include "bench/harness/round.h"

enum {
	SLICES = 120,
	BATCHES = 4, /* of a slice, for each kind of operation */
};

enum kind {
	KIND_PUT = 0,
	KIND_ADD = 1,
	KIND_COUNT = 2
};

/* Where the target waits meanwhile. */
enum wait {
	WAIT_BARRIER = 0,
	WAIT_PROBE = 1,
	WAIT_COUNT = 2
};

struct slice {
	struct round round; /* the hand-overs before and after */
	double ns[KIND_COUNT][BATCHES];
};

struct figure {
	double ns;
	size_t samples;
	enum wait wait;
};

/* Every other slice waits in the other way. */
enum wait slice_wait(size_t slice);
const char *wait_name(enum wait);

/* Decides which slices count. Gives how many they are, or -ENOMEM. */
int slices_settle(struct slice *);

/* The p50 of that way of waiting which is better for this MPI. */
struct figure figure_of(const struct slice *, enum kind);

double figure_handover_ns(const struct slice *);

#endif
