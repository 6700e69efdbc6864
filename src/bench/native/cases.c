/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans: which workloads stand beside each other, and in which portions. A
 * slice takes some 100 microseconds, a round some milliseconds at most, since
 * the distance between two cores may change at any time.
 */
#include "bench/harness/case.h"

#include <stdio.h>

#include "cay/contract.h"
#include "cay/message.h"

#define TRIES_PER_ROUND 4 /* at most, before a run gives up */
#define LIMIT_NS	(3 * CLOCK_NS_PER_S) /* for the usual rounds */

static const struct shape handover_shape = {
	.batches = 8,
	.trips = 32,
	.singles = 64,
	.hops = 2,
};

/* Two cores that do nothing else: what they do in a row must repeat. */
static const struct rules quiet_rules = {
	.agree = 1.10,
	.alike = 1.25,
	.unbroken = true,
	.foreign = 1,
};

/* Where processes sleep and wake, switches are what is measured. */
static const struct rules busy_rules = {
	.agree = 1.25,
	.alike = 1.50,
	.foreign = 0.10,
};

const char *bench_name(enum bench_kind kind)
{
	static const char *const name[BENCH_KINDS] = { "latency", "rate",
		"ring", "sleep", "rma" };
	return name[kind];
}

void case_rounds(
	struct bench_case *p, const struct bench_options *o, uint32_t rounds)
{
	p->rounds = o->rounds ? o->rounds : rounds;
	p->tries = TRIES_PER_ROUND * p->rounds;
	p->rules.enough = (p->rounds + 1) / 2;
	p->limit_ns = LIMIT_NS * (p->rounds > rounds ? p->rounds / rounds : 1);
}

uint32_t case_samples_max(const struct bench_case *p)
{
	uint32_t reference = p->reference.batches + p->reference.singles;
	uint32_t measured = p->measured.batches + p->measured.singles;

	/* The warm-up takes place one after the other in the first round's. */
	return p->tries * (CASE_WORKLOADS_MAX * reference +
				  (CASE_WORKLOADS_MAX - 1) * measured);
}

void case_label(struct bench_case *p, size_t bytes, const char *way)
{
	if (bytes >= 1u << 20 && bytes % (1u << 20) == 0)
		snprintf(p->label, sizeof(p->label), "%zu MiB %s", bytes >> 20,
			way);
	else if (bytes >= 1u << 10 && bytes % (1u << 10) == 0)
		snprintf(p->label, sizeof(p->label), "%zu KiB %s", bytes >> 10,
			way);
	else
		snprintf(p->label, sizeof(p->label), "%zu B %s", bytes, way);
}

struct bench_case case_quiet(enum bench_kind kind,
	const struct bench_options *o, size_t bytes, const char *meaning)
{
	return (struct bench_case){ .kind = kind,
		.bench = bench_name(kind),
		.meaning = meaning,
		.bytes = bytes,
		.fresh = !o->resend,
		.ranks = 2,
		.workload = { &handover_workload },
		.reference = handover_shape,
		.rules = quiet_rules };
}

/* ---- latency ---- */

#define GOAL_BYTES 8 /* of the message that has a target */

bool case_latency_size(const struct bench_options *o, unsigned i, size_t *bytes)
{
	static const size_t brief[] = { 8, 64, 4096, 65536 };
	static const size_t all[] = { 0, 8, 40, 64, 1024, 4096, 8192, 65536,
		1048576 };
	const size_t *sizes = o->size_count ? o->sizes : o->brief ? brief : all;
	unsigned count = o->size_count ? o->size_count
			 : o->brief    ? ARRAY_COUNT(brief)
				       : ARRAY_COUNT(all);

	if (i >= count)
		return false;
	*bytes = sizes[i];
	return true;
}

/* Trips that take about as long as 32 of the smallest. */
static uint32_t case_trips(size_t bytes)
{
	return bytes <= 256 ? 32 : bytes <= 2048 ? 16 : 8;
}

static void case_short(
	struct bench_case *p, const struct bench_options *o, size_t bytes)
{
	bool fast = bytes <= CAY_FAST_SEND_BYTES;
	uint32_t trips = case_trips(bytes);

	case_label(p, bytes, fast ? "Fast Send" : "Send");
	p->workload[CASE_BASELINE] = fast ? &baseline_fast_workload
					  : &baseline_send_workload;
	p->workload[CASE_CAY] = &cay_message_workload;
	p->measured = (struct shape){
		.batches = 16, .trips = trips, .singles = 4 * trips, .hops = 2
	};
	case_rounds(p, o, 400);
}

/* Each trip is a batch, because the source is written anew before each. */
static void case_long(struct bench_case *p, const struct bench_options *o,
	size_t bytes, bool from_alloc)
{
	case_label(p, bytes, from_alloc ? "from cay_alloc" : "from malloc");
	p->workload[CASE_BASELINE] = &baseline_reference_workload;
	p->workload[CASE_CAY] = from_alloc ? &cay_alloc_workload
					   : &cay_malloc_workload;
	p->measured = (struct shape){
		.batches = bytes > 256u << 10 ? 2 : 8, .trips = 1, .hops = 2
	};
	case_rounds(p, o, bytes > 256u << 10 ? 100 : 200);
}

void case_latency(struct bench_case *p, const struct bench_options *o,
	size_t bytes, bool from_alloc)
{
	*p = case_quiet(BENCH_LATENCY, o, bytes, "one way, half a round trip");
	p->goal = bytes == GOAL_BYTES ? GOAL_MESSAGE : GOAL_NONE;
	if (bytes <= CAY_EAGER_MAX)
		case_short(p, o, bytes);
	else
		case_long(p, o, bytes, from_alloc);
}

/* ---- the others ---- */

void case_rate(struct bench_case *p, const struct bench_options *o)
{
	*p = case_quiet(
		BENCH_RATE, o, 8, "per message of an uninterrupted stream");
	case_label(p, 8, "one way");
	p->workload[CASE_BASELINE] = &baseline_rate_workload;
	p->workload[CASE_CAY] = &cay_rate_workload;
	p->measured = (struct shape){ .batches = 2, .trips = 4096, .hops = 1 };
	case_rounds(p, o, 200);
}

void case_ring(struct bench_case *p, const struct bench_options *o)
{
	*p = (struct bench_case){ .kind = BENCH_RING,
		.bench = bench_name(BENCH_RING),
		.meaning = "per hop of a token among sleeping processes",
		.bytes = 8,
		.ranks = o->processes,
		.workload = { &ring_socket_workload, &ring_word_workload,
			&ring_cay_workload },
		.reference = { 3, 4, 0, o->processes },
		.measured = { 4, 4, 0, o->processes },
		.rules = busy_rules };
	snprintf(p->label, sizeof(p->label), "%u processes on 2 cores",
		o->processes);
	case_rounds(p, o, 100);
}

void case_sleep(struct bench_case *p, const struct bench_options *o)
{
	*p = (struct bench_case){ .kind = BENCH_SLEEP,
		.bench = bench_name(BENCH_SLEEP),
		.meaning = "from sending until the answer of a sleeper",
		.label = "sleeping receiver",
		.bytes = 8,
		.ranks = 2,
		.workload = { &sleep_futex_workload, &sleep_eventfd_workload,
			&sleep_cay_workload },
		.reference = { .batches = 8, .trips = 1, .hops = 1 },
		.measured = { .batches = 8, .trips = 1, .hops = 1 },
		.rules = busy_rules };
	case_rounds(p, o, 150);
}
