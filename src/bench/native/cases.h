/* SPDX-License-Identifier: BSD-2-Clause */
/* The benchmark cases of `cay bench`. */
#ifndef CAY_BENCH_NATIVE_CASES_H
#define CAY_BENCH_NATIVE_CASES_H

#include "bench/bench.h"
#include "bench/harness/case.h"

/* Makes the i-th case of a benchmark. Returns false if there are no more. */
bool case_make(struct bench_case *, const struct bench_options *,
	enum bench_kind, unsigned i);

/* A message; from_alloc selects the source of those above CAY_EAGER_MAX. */
void case_latency(struct bench_case *, const struct bench_options *,
	size_t bytes, bool from_alloc);

#endif
