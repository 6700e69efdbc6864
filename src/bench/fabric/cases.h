/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The benchmark cases of two-sided messages, for libfabric and for MPI. This
 * file depends on neither of them.
 */
#ifndef CAY_BENCH_FABRIC_CASES_H
#define CAY_BENCH_FABRIC_CASES_H

#include "bench/harness/case.h"

enum traffic_form {
	TRAFFIC_INJECT, /* ping-pong; the sender may reuse its buffer at once */
	TRAFFIC_SEND,	/* ping-pong */
	TRAFFIC_STREAM, /* to rank 1, which answers the last message */
};

struct traffic {
	const char *name; /* "send_8" */
	enum traffic_form form;
	bool rewrite; /* of the sources, before each batch */
	size_t bytes;
	struct sampling sampling;
	uint32_t rounds;
};

#define TRAFFIC_COUNT 7
extern const struct traffic traffic[TRAFFIC_COUNT];

/* Returns the case, without its workloads; quick: with few rounds. */
struct bench_case traffic_case(const struct traffic *, bool quick);

#endif
