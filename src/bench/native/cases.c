/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The benchmark cases. A slice takes about 100 microseconds and a round a few
 * milliseconds at most, because the distance between two cores may change at
 * any time.
 */
#include "bench/native/cases.h"

#include <stdio.h>

#include "bench/native/workloads.h"
#include "cay/contract.h"
#include "cay/error.h"
#include "cay/message.h"
#include "cay/ultra.h"

#define TRIES_PER_ROUND 4
#define LIMIT_NS	(3 * CLOCK_NS_PER_S) /* for the default rounds */
#define LONG_BYTES	(256u << 10) /* above it a slice has two batches */

const char *bench_name(enum bench_kind kind)
{
	static const char *const name[BENCH_KINDS] = { "latency", "rate",
		"ring", "sleep", "rma", "ultra" };
	return name[kind];
}

/* ---- parts of a case ---- */

/* "4 KiB put" */
static void set_label(struct bench_case *bc, const char *text)
{
	size_t bytes = bc->bytes;
	const char *unit = "B";

	if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) {
		bytes >>= 20;
		unit = "MiB";
	} else if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) {
		bytes >>= 10;
		unit = "KiB";
	}
	snprintf(bc->label, sizeof(bc->label), "%zu %s %s", bytes, unit, text);
}

static void set_workloads(struct bench_case *bc,
	const struct workload *baseline, const struct workload *cay)
{
	bc->workload[CASE_BASELINE] = baseline;
	bc->workload[CASE_CAY] = cay;
	bc->workloads = CASE_CAY + 1;
	bc->shared_bytes = WORKLOAD_SHARED_BYTES;
	bc->error_text = cay_strerror;
}

/* `usual` rounds unless the options say otherwise. */
static void set_rounds(
	struct bench_case *bc, const struct bench_options *o, uint32_t usual)
{
	uint32_t rounds = o->rounds ? o->rounds : usual;

	case_set_rounds(bc, rounds, TRIES_PER_ROUND * rounds,
		LIMIT_NS * (rounds > usual ? rounds / usual : 1));
}

/*
 * Where ranks sleep and wake, preemption is part of what is measured, and the
 * reference is a mechanism of the kernel.
 */
static struct bench_case case_sleeping(const char *bench, const char *metric,
	unsigned ranks, const struct workload *reference)
{
	return (struct bench_case){ .bench = bench,
		.metric = metric,
		.bytes = 8,
		.ranks = ranks,
		.workload = { reference },
		.rules = { .drift_max = 1.25,
			.outlier_factor = 1.50,
			.foreign_load_max = 0.10 } };
}

/* ---- latency ---- */

#define TARGET_BYTES 8 /* of the message that has a target */

void case_latency(struct bench_case *bc, const struct bench_options *o,
	size_t bytes, enum latency_form form)
{
	*bc = case_pinned("latency", "one way, half a round trip", bytes);
	bc->rewrite = !o->resend;
	bc->target = bytes == TARGET_BYTES ? TARGET_MESSAGE : TARGET_NONE;
	if (bytes <= CAY_EAGER_MAX) {
		bool fast = bytes <= CAY_FAST_SEND_BYTES;
		/* Batches that take about as long as the smallest message's. */
		uint32_t iterations = bytes <= 256    ? 32
				      : bytes <= 2048 ? 16
						      : 8;
		set_label(bc, fast ? "Fast Send" : "Send");
		set_workloads(bc,
			fast ? &baseline_fast_workload
			     : &baseline_send_workload,
			&cay_message_workload);
		bc->measured = (struct sampling){ .batches = 16,
			.iterations = iterations,
			.singles = 4 * iterations,
			.hops = 2 };
		set_rounds(bc, o, 400);
	} else {
		/* One iteration per batch, because of the rewrite. */
		bool large = bytes > LONG_BYTES;
		static const struct {
			const char *label;
			const struct workload *workload;
		} forms[] = {
			[LATENCY_COPIED] = { "copied", &cay_copied_workload },
			[LATENCY_MALLOC] = { "borrowed, malloc",
				&cay_malloc_workload },
			[LATENCY_FETCH] = { "borrowed, fetched",
				&cay_fetch_workload },
			[LATENCY_ALLOC] = { "borrowed, cay_alloc",
				&cay_alloc_workload },
		};
		set_label(bc, forms[form].label);
		set_workloads(
			bc, &baseline_reference_workload, forms[form].workload);
		bc->measured = (struct sampling){
			.batches = large ? 2 : 8, .iterations = 1, .hops = 2
		};
		set_rounds(bc, o, large ? 100 : 200);
	}
}

static bool latency_make(
	struct bench_case *bc, const struct bench_options *o, unsigned i)
{
	static const size_t brief[] = { 8, 64, 4096, 65536 };
	static const size_t all[] = { 0, 8, 40, 64, 1024, 4096, 8192, 65536,
		1048576 };
	const size_t *sizes = o->size_count ? o->sizes : o->brief ? brief : all;
	unsigned count = o->size_count ? o->size_count
			 : o->brief    ? ARRAY_COUNT(brief)
				       : ARRAY_COUNT(all);

	for (unsigned s = 0; s < count; s++) {
		unsigned cases = sizes[s] > CAY_EAGER_MAX ? LATENCY_FORMS : 1;
		if (i < cases) {
			case_latency(bc, o, sizes[s], (enum latency_form)i);
			return true;
		}
		i -= cases;
	}
	return false;
}

/* ---- rate, ring, sleep ---- */

static void rate_make(struct bench_case *bc, const struct bench_options *o)
{
	*bc = case_pinned("rate", "per message of a stream", 8);
	set_label(bc, "one way");
	set_workloads(bc, &baseline_rate_workload, &cay_rate_workload);
	bc->rate = true;
	bc->measured = (struct sampling){
		.batches = 2, .iterations = 4096, .hops = 1
	};
	set_rounds(bc, o, 200);
}

static void ring_make(struct bench_case *bc, const struct bench_options *o)
{
	*bc = case_sleeping("ring", "per hop of a token, receivers asleep",
		o->processes, &socket_workload);
	snprintf(bc->label, sizeof(bc->label), "%u processes on 2 cores",
		o->processes);
	set_workloads(bc, &ring_futex_workload, &ring_cay_workload);
	bc->measured = (struct sampling){
		.batches = 4, .iterations = 4, .hops = o->processes
	};
	bc->reference = bc->measured;
	bc->reference.batches = 3;
	set_rounds(bc, o, 100);
}

static void sleep_make(struct bench_case *bc, const struct bench_options *o)
{
	*bc = case_sleeping("sleep", "from send to answer of a sleeping peer",
		2, &sleep_futex_workload);
	snprintf(bc->label, sizeof(bc->label), "sleeping receiver");
	set_workloads(bc, &sleep_eventfd_workload, &sleep_cay_workload);
	bc->measured =
		(struct sampling){ .batches = 8, .iterations = 1, .hops = 1 };
	bc->reference = bc->measured;
	set_rounds(bc, o, 150);
}

/* ---- ULTRA ---- */

/* Latencies of messages in one line, then a stream. */
static bool ultra_make(
	struct bench_case *bc, const struct bench_options *o, unsigned i)
{
	static const size_t sizes[] = { 8, CAY_ULTRA_LINE_MAX };

	if (i < ARRAY_COUNT(sizes)) {
		*bc = case_pinned(
			"ultra", "one way, half a round trip", sizes[i]);
		set_workloads(bc, &baseline_line_workload, &cay_ultra_workload);
		bc->measured = (struct sampling){ .batches = 16,
			.iterations = 32,
			.singles = 128,
			.hops = 2 };
		set_label(bc, "ULTRA");
		set_rounds(bc, o, 400);
		return true;
	}
	*bc = case_pinned("ultra", "per message of a stream", 8);
	set_label(bc, "ULTRA");
	set_workloads(
		bc, &baseline_line_stream_workload, &cay_ultra_stream_workload);
	bc->rate = true;
	bc->measured = (struct sampling){
		.batches = 2, .iterations = 4096, .hops = 1
	};
	set_rounds(bc, o, 200);
	return i == ARRAY_COUNT(sizes);
}

/* ---- remote memory ---- */

#define WORD_BYTES    8 /* this size means operations on a word */
#define BRIEF_CASES   3
#define BULK_LIMIT_NS (2 * CLOCK_NS_PER_S)

/* Metrics. The first and the last are ping-pong, the others one-sided. */
static const char one_way[] = "one way, until a polling target sees it";
static const char origin[] = "per operation of the origin, the target idle";
static const char emulated[] = "there and back, executed by the polling target";
static const char accesses[] =
	"per access and its flush, by the window's memory";
static const char messages[] = "one way of a message, by its source";

struct rma_case {
	const char *metric;
	const char *operation, *memory; /* key: "put", size, "_alloc" */
	const char *label;
	const struct workload *baseline, *cay;
};

static const struct rma_case word_cases[] = {
	{ one_way, "put", "", "put, seen", &baseline_put_workload,
		&cay_put_workload },
	{ origin, "put_flush", "", "put + flush", &baseline_put_flush_workload,
		&cay_put_flush_workload },
	{ origin, "fetch_add", "", "fetch-add, event",
		&baseline_fetch_add_workload, &cay_fetch_add_workload },
	{ origin, "fetch_add_into", "", "fetch-add + flush",
		&baseline_fetch_add_workload, &cay_fetch_add_into_workload },
	{ origin, "compare_swap", "", "cmp-swap, event",
		&baseline_compare_swap_workload, &cay_compare_swap_workload },
	{ origin, "put_masked", "", "masked put + flush",
		&baseline_compare_swap_workload, &cay_put_masked_workload },
	{ origin, "get_flush", "", "get + flush", &baseline_get_workload,
		&cay_get_flush_workload },
	{ origin, "get_event", "", "get, event", &baseline_get_workload,
		&cay_get_event_workload },
	{ emulated, "emulated", "", "fetch-add, emulated",
		&baseline_put_workload, &cay_emulated_workload },
};

static const struct rma_case bulk_cases[] = {
	{ accesses, "put", "_alloc", "put, cay_alloc", &memcpy_put_workload,
		&cay_put_alloc_workload },
	{ accesses, "put", "_malloc", "put, malloc", &memcpy_put_workload,
		&cay_put_malloc_workload },
	{ accesses, "get", "_alloc", "get, cay_alloc", &memcpy_get_workload,
		&cay_get_alloc_workload },
	{ accesses, "get", "_malloc", "get, malloc", &memcpy_get_workload,
		&cay_get_malloc_workload },
};

/* A message into a posted buffer, and the same message in other forms. */
static const struct rma_case posted_cases[] = {
	{ messages, "posted", "", "posted", &copy_workload,
		&cay_posted_workload },
	{ messages, "copied", "", "copied", &copy_workload,
		&cay_copied_workload },
	{ messages, "reference", "_alloc", "ref., cay_alloc", &copy_workload,
		&cay_alloc_workload },
	{ messages, "reference", "_malloc", "ref., malloc", &copy_workload,
		&cay_malloc_workload },
};

static bool word_make(struct bench_case *bc, const struct bench_options *o,
	const struct rma_case *c)
{
	*bc = case_pinned("rma", c->metric, WORD_BYTES);
	set_label(bc, c->label);
	snprintf(bc->key, sizeof(bc->key), "%s", c->operation);
	set_workloads(bc, c->baseline, c->cay);
	bc->target = c->metric == one_way ? TARGET_PUT : TARGET_NONE;
	bc->measured = (struct sampling){ .batches = 16,
		.iterations = 32,
		.singles = 128,
		.hops = c->metric == one_way ? 2 : 1 };
	/* An emulated operation takes a hundred times as long. */
	if (c->metric == emulated)
		bc->measured = (struct sampling){
			.batches = 8, .iterations = 4, .hops = 1
		};
	set_rounds(bc, o, 300);
	return true;
}

/*
 * One iteration per batch, because both sides touch their memory before it;
 * more if it is shorter than reading the clock.
 */
static bool bytes_make(struct bench_case *bc, const struct bench_options *o,
	const struct rma_case *c, size_t bytes)
{
	*bc = case_pinned("rma", c->metric, bytes);
	bc->rewrite = !o->resend;
	set_label(bc, c->label);
	snprintf(bc->key, sizeof(bc->key), "%s_%zu%s", c->operation, bytes,
		c->memory);
	set_workloads(bc, c->baseline, c->cay);
	bc->bandwidth = true;
	bc->measured = (struct sampling){ .batches = bytes > LONG_BYTES ? 2 : 8,
		.iterations = bytes <= 256 ? 32 : 1,
		.hops = c->metric == messages ? 2 : 1 };
	set_rounds(bc, o, 60);
	bc->limit_ns = bits_min(bc->limit_ns, BULK_LIMIT_NS);
	return true;
}

/* First the words, then all accesses, then all messages. */
static bool rma_make(
	struct bench_case *bc, const struct bench_options *o, unsigned i)
{
	static const size_t all[] = { WORD_BYTES, 4096, 65536, 1048576 };
	const size_t *sizes = o->size_count ? o->sizes : all;
	unsigned count = o->size_count ? o->size_count : ARRAY_COUNT(all);

	if (o->brief && !o->size_count && i >= BRIEF_CASES)
		return false;
	for (unsigned s = 0; s < count; s++)
		if (sizes[s] == WORD_BYTES) {
			if (i < ARRAY_COUNT(word_cases))
				return word_make(bc, o, &word_cases[i]);
			i -= ARRAY_COUNT(word_cases);
		}
	for (unsigned s = 0; s < count; s++)
		if (sizes[s] != WORD_BYTES) {
			if (i < ARRAY_COUNT(bulk_cases))
				return bytes_make(
					bc, o, &bulk_cases[i], sizes[s]);
			i -= ARRAY_COUNT(bulk_cases);
		}
	for (unsigned s = 0; s < count; s++)
		if (sizes[s] > CAY_EAGER_MAX) {
			if (i < ARRAY_COUNT(posted_cases))
				return bytes_make(
					bc, o, &posted_cases[i], sizes[s]);
			i -= ARRAY_COUNT(posted_cases);
		}
	return false;
}

bool case_make(struct bench_case *bc, const struct bench_options *o,
	enum bench_kind kind, unsigned i)
{
	switch (kind) {
	case BENCH_LATENCY:
		return latency_make(bc, o, i);
	case BENCH_RMA:
		return rma_make(bc, o, i);
	case BENCH_ULTRA:
		return ultra_make(bc, o, i);
	case BENCH_RATE:
		rate_make(bc, o);
		break;
	case BENCH_RING:
		ring_make(bc, o);
		break;
	default:
		sleep_make(bc, o);
		break;
	}
	return i == 0;
}
