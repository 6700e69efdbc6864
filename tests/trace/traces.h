/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the trace tests: seeds and replays. */
#ifndef CAY_TESTS_TRACE_TRACES_H
#define CAY_TESTS_TRACE_TRACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "trace/bytes.h"
#include "trace/oracle.h"
#include "trace/random.h"
#include "trace/replay.h"

static inline uint64_t environment(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : fallback;
}

static inline uint64_t first_seed(void)
{
	return environment("CAY_SEED", 1);
}

/* Executes the whole trace on a platform. */
static inline void replay_all(const struct trace *t,
	const struct platform *platform, struct outcome *out)
{
	struct replay r;
	assert_int_equal(replay_open(&r, t, platform, out), 0);
	assert_int_equal(replay_run(&r), 0);
	replay_close(&r);
}

/* Number of instructions before the first that the device executes. */
static inline uint32_t setup_length(const struct trace *t)
{
	uint32_t n = 0;
	while (n < t->count && !trace_issues(t->instruction[n].kind))
		n++;
	return n;
}

/* Prints for example "traces: 4000 in 1.50 s, 2667 per second". */
static inline void speed_print(
	const char *what, uint64_t count, uint64_t start_ns)
{
	double s = (double)(clock_now_ns() - start_ns) / 1e9;
	printf("%s: %lu in %.2f s, %.0f per second\n", what,
		(unsigned long)count, s, (double)count / s);
}

#endif
