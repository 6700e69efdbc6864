/* SPDX-License-Identifier: BSD-2-Clause */
/* What trials say, as JSON: figures of the slices that count, every sample. */
#ifndef CAY_BENCH_FABRIC_RESULT_H
#define CAY_BENCH_FABRIC_RESULT_H

#include "bench/fabric/trial.h"

struct figure {
	double p50_ns, p99_ns; /* of a message, one way */
	size_t p50_samples, p99_samples;
};

/* 0 or -ENOMEM. */
int result_figure(const struct trial *, unsigned carrier, struct figure *);
double result_handover_ns(const struct trial *);

/* One member of an object: "kind":{...}; 0 or -ENOMEM. */
int result_print(const struct trial *, const struct carrier *);

#endif
