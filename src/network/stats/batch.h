/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Confidence interval of a mean by batch means: successive values are
 * correlated, but the means of long batches hardly are. Batches are joined in
 * pairs when there are too many.
 */
#ifndef CAY_NETWORK_STATS_BATCH_H
#define CAY_NETWORK_STATS_BATCH_H

#include <stdint.h>

#define BATCHES_MAX 32 /* even */

struct batch {
	uint64_t count, sum; /* of values */
};

/* All zeroes: empty. */
struct batches {
	unsigned count;	    /* complete batches */
	unsigned log2_size; /* a batch is 2^log2_size additions */
	uint64_t added;	    /* additions to the incomplete batch */
	struct batch of[BATCHES_MAX];
};

void batches_add(struct batches *, uint64_t count, uint64_t sum);
/* Mean of all complete batches; 0 if there is none. */
double batches_mean(const struct batches *);
/* Half width of the 95 % interval; HUGE_VAL with fewer than two batches. */
double batches_error(const struct batches *);
/* Half width as a share of the mean. */
double batches_precision(const struct batches *);

#endif
