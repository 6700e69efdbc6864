/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several studies, each on a fresh network: over a list of loads, or a search
 * for the highest steady load. All callbacks are made on the calling thread.
 */
#ifndef CAY_NETWORK_STUDY_SWEEP_H
#define CAY_NETWORK_STUDY_SWEEP_H

#include "network/study/study.h"

#define SWEEP_LOADS_MAX 1000

struct sweep {
	/* Options of all points, except the load. */
	struct study_options study;
	/* Opens a fresh network. Returns 0, or -errno, which ends the sweep. */
	int (*open)(void *context, struct network **);
	void (*close)(void *context, struct network *);
	/* Called after each study, before close(). May be NULL. */
	void (*measured)(void *context, struct network *, double load,
		const struct study_result *);
	void *context;
};

struct sweep_outcome {
	double unsteady; /* the lowest load that was not steady; 0: none */
	double steady;	 /* the highest steady load below that; 0: none */
	/* Verdict of the last point. */
	enum study_verdict verdict;
	unsigned points;
};

/*
 * Studies loads in ascending order. Ends one point after the first that is not
 * steady, and at once after a deadlock or a stop. Returns 0, or -errno of
 * open() or of study_run().
 */
int sweep_loads(const struct sweep *, const double *loads, unsigned count,
	struct sweep_outcome *);

/*
 * Searches for the saturation load, up to `most`, by bisection to the relative
 * precision `precision`. If `most` is steady, `unsteady` is 0. An unsettled
 * load counts as not steady. Returns as sweep_loads().
 */
int sweep_saturation(const struct sweep *, double most, double precision,
	struct sweep_outcome *);

#endif
