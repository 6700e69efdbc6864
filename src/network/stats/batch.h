/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How well a mean is known, by batch means: what comes one after the other
 * depends on each other, but the means of long batches hardly do. Batches get
 * longer as more comes, so that there are always a few.
 */
#ifndef CAY_NETWORK_STATS_BATCH_H
#define CAY_NETWORK_STATS_BATCH_H

#include <stdint.h>

#define BATCHES_MAX 32 /* even */

struct batch {
	uint64_t count, sum; /* values, and their sum */
};

/* All zeroes: empty. */
struct batches {
	unsigned count;	 /* batches that are full */
	unsigned longer; /* a batch is 2^longer additions, ... */
	uint64_t added;	 /* ... of which the next one has so many */
	struct batch of[BATCHES_MAX];
};

void batches_add(struct batches *, uint64_t count, uint64_t sum);
/* Of all that is in full batches; 0 if there is nothing. */
double batches_mean(const struct batches *);
/* Half the width of its 95 % interval; HUGE_VAL with less than two batches. */
double batches_error(const struct batches *);
/* The same as a share of the mean. */
double batches_precision(const struct batches *);

#endif
