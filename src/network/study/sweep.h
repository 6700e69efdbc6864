/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One study after the other, each on a fresh network: over a list of loads, or
 * in search of the highest load that is steady. The calling thread does it, and
 * all calls back are made on it.
 */
#ifndef CAY_NETWORK_STUDY_SWEEP_H
#define CAY_NETWORK_STUDY_SWEEP_H

#include "network/study/study.h"

#define SWEEP_LOADS_MAX 1000

struct sweep {
	/* Everything but the load, which each point has its own of. */
	struct study_options study;
	/* A fresh network, and the end of it. 0 or -errno, which ends all. */
	int (*open)(void *context, struct network **);
	void (*close)(void *context, struct network *);
	/* A point is known; its network is still there. May be NULL. */
	void (*measured)(void *context, struct network *, double load,
		const struct study_result *);
	void *context;
};

struct sweep_outcome {
	/* The lowest load that was not steady, and the highest below it that
	 * was; 0: there was none. */
	double steady, unsteady;
	/* Of the last point. */
	enum study_verdict verdict;
	unsigned points;
};

/*
 * Loads from the lowest to the highest. Ends one point after the first that is
 * not steady, and at once with one that is deadlocked or stopped. 0 or -errno:
 * of open(), or of study_run().
 */
int sweep_loads(const struct sweep *, const double *loads, unsigned count,
	struct sweep_outcome *);

/*
 * Looks for the border between steady and not up to the load `most`, until it
 * is known within the share `precision` of itself. If `most` is steady,
 * unsteady is 0. A load that is unsettled is not steady. The same errors.
 */
int sweep_saturation(const struct sweep *, double most, double precision,
	struct sweep_outcome *);

#endif
