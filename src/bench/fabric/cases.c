/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slice takes a millisecond or a few, so that the hand-overs before and after
 * it are representative. Of small messages, more than ten thousand iterations
 * are left if half of the rounds are kept.
 */
#include "bench/fabric/cases.h"

#include <stdio.h>

#include "bench/fabric/message.h"

#define MIB	 (1u << 20)
#define QUICK	 20		       /* times fewer rounds */
#define LIMIT_NS (60 * CLOCK_NS_PER_S) /* also of a set-up */

#define SMALL_PING                                                           \
	{                                                                    \
		.warm_up = 1, .batches = 4, .iterations = 32, .singles = 32, \
		.hops = 2                                                    \
	}
#define LONG_PING(batches_)                                                   \
	{                                                                     \
		.warm_up = 1, .batches = batches_, .iterations = 1, .hops = 2 \
	}
#define STREAM(messages_)                                                      \
	{                                                                      \
		.warm_up = 1, .batches = 2, .iterations = messages_, .hops = 1 \
	}

const struct traffic traffic[TRAFFIC_COUNT] = {
	{ "inject_8", TRAFFIC_INJECT, false, 8, SMALL_PING, 200 },
	{ "send_8", TRAFFIC_SEND, false, 8, SMALL_PING, 200 },
	{ "rate_8", TRAFFIC_STREAM, false, 8, STREAM(1024), 100 },
	{ "send_4096", TRAFFIC_SEND, true, 4096, LONG_PING(16), 200 },
	{ "send_65536", TRAFFIC_SEND, true, 65536, LONG_PING(8), 100 },
	{ "send_1048576", TRAFFIC_SEND, true, MIB, LONG_PING(4), 60 },
	{ "stream_1048576", TRAFFIC_STREAM, true, MIB,
		STREAM(MESSAGE_POOL_BYTES / MIB), 40 },
};

struct bench_case traffic_case(const struct traffic *t, bool quick)
{
	struct bench_case bc =
		case_pinned("messages", "one way, per message", t->bytes);
	uint32_t rounds = quick ? t->rounds / QUICK : t->rounds;

	snprintf(bc.label, sizeof(bc.label), "%s", t->name);
	snprintf(bc.key, sizeof(bc.key), "%s", t->name);
	bc.rewrite = t->rewrite;
	bc.measured = t->sampling;
	bc.timeout_ns = LIMIT_NS;
	case_set_rounds(&bc, rounds, rounds, LIMIT_NS);
	return bc;
}
