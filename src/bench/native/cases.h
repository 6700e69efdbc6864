/* SPDX-License-Identifier: BSD-2-Clause */
/* The benchmark cases of `cay bench`. */
#ifndef CAY_BENCH_NATIVE_CASES_H
#define CAY_BENCH_NATIVE_CASES_H

#include "bench/bench.h"
#include "bench/harness/case.h"

/* Makes the i-th case of a benchmark. Returns false if there are no more. */
bool case_make(struct bench_case *, const struct bench_options *,
	enum bench_kind, unsigned i);

/* How a message above CAY_EAGER_MAX is sent. */
enum latency_form {
	LATENCY_COPIED,
	LATENCY_MALLOC, /* borrowed, from this memory */
	LATENCY_FETCH,	/* the same, fetched into a buffer */
	LATENCY_ALLOC,
	LATENCY_FORMS,
};

void case_latency(struct bench_case *, const struct bench_options *,
	size_t bytes, enum latency_form);

#endif
