/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans about remote memory: operations on a word, accesses of more bytes,
 * and messages into posted buffers. Each size that was asked for is a group of
 * lines; 8 bytes are the group of words.
 */
#include <stdio.h>

#include "base/bits.h"
#include "bench/harness/case.h"
#include "cay/message.h"

#define WORD_BYTES    8
#define WORD_ROUNDS   300
#define BULK_ROUNDS   60
#define BULK_LIMIT_NS (2 * CLOCK_NS_PER_S)
#define BULK_SHORT    256
#define BULK_LONG     (256u << 10) /* above it a slice is two trips */

/* What a figure is. */
enum meaning {
	MEANS_SEEN,    /* of a word: there, and as much back */
	MEANS_ORIGIN,  /* of a word: the target is idle */
	MEANS_BACK,    /* of a word: there and back */
	MEANS_ACCESS,  /* of many bytes, with the flush */
	MEANS_MESSAGE, /* of many bytes, there, and as much back */
};

static const char *const meanings[] = {
	[MEANS_SEEN] = "one way, until a polling target sees it",
	[MEANS_ORIGIN] = "per operation of the origin, the target idle",
	[MEANS_BACK] = "there and back, by the target when it polls",
	[MEANS_ACCESS] = "per access and its flush, by the window's memory",
	[MEANS_MESSAGE] = "one way of a message, by its source",
};

struct line {
	enum meaning meaning;
	const char *operation, *memory; /* key: "put", size, "_alloc" */
	const char *label;
	const struct workload *baseline, *candidate;
};

static const struct line word_lines[] = {
	{ MEANS_SEEN, "put", "", "put, seen", &baseline_put_workload,
		&cay_put_workload },
	{ MEANS_ORIGIN, "put_flush", "", "put + flush",
		&baseline_put_flush_workload, &cay_put_flush_workload },
	{ MEANS_ORIGIN, "fetch_add", "", "fetch-add, event",
		&baseline_fetch_add_workload, &cay_fetch_add_workload },
	{ MEANS_ORIGIN, "fetch_add_into", "", "fetch-add + flush",
		&baseline_fetch_add_workload, &cay_fetch_add_into_workload },
	{ MEANS_ORIGIN, "compare_swap", "", "cmp-swap, event",
		&baseline_compare_swap_workload, &cay_compare_swap_workload },
	{ MEANS_ORIGIN, "put_masked", "", "masked put + flush",
		&baseline_compare_swap_workload, &cay_masked_workload },
	{ MEANS_ORIGIN, "get_flush", "", "get + flush", &baseline_get_workload,
		&cay_get_workload },
	{ MEANS_ORIGIN, "get_event", "", "get, event", &baseline_get_workload,
		&cay_fast_get_workload },
	{ MEANS_BACK, "emulated", "", "fetch-add, emulated",
		&baseline_put_workload, &cay_emulated_workload },
};
#define BRIEF_LINES 3

static const struct line bulk_lines[] = {
	{ MEANS_ACCESS, "put", "_alloc", "put, cay_alloc",
		&bulk_memcpy_put_workload, &bulk_put_alloc_workload },
	{ MEANS_ACCESS, "put", "_malloc", "put, malloc",
		&bulk_memcpy_put_workload, &bulk_put_malloc_workload },
	{ MEANS_ACCESS, "get", "_alloc", "get, cay_alloc",
		&bulk_memcpy_get_workload, &bulk_get_alloc_workload },
	{ MEANS_ACCESS, "get", "_malloc", "get, malloc",
		&bulk_memcpy_get_workload, &bulk_get_malloc_workload },
};

/* And what happens to the same message without a posted buffer. */
static const struct line posted_lines[] = {
	{ MEANS_MESSAGE, "posted", "", "posted", &posted_copy_workload,
		&posted_cay_workload },
	{ MEANS_MESSAGE, "reference", "_alloc", "ref., cay_alloc",
		&posted_copy_workload, &cay_alloc_workload },
	{ MEANS_MESSAGE, "reference", "_malloc", "ref., malloc",
		&posted_copy_workload, &cay_malloc_workload },
};

static struct bench_case case_line(
	const struct bench_options *o, const struct line *line, size_t bytes)
{
	struct bench_case p =
		case_quiet(BENCH_RMA, o, bytes, meanings[line->meaning]);

	case_label(&p, bytes, line->label);
	p.workload[CASE_BASELINE] = line->baseline;
	p.workload[CASE_CAY] = line->candidate;
	return p;
}

/* A trip that is seen and answered is two. */
static uint32_t line_hops(const struct line *line)
{
	return line->meaning == MEANS_SEEN || line->meaning == MEANS_MESSAGE
		       ? 2
		       : 1;
}

static bool case_word(struct bench_case *p, const struct bench_options *o,
	const struct line *line)
{
	*p = case_line(o, line, WORD_BYTES);
	snprintf(p->key, sizeof(p->key), "%s", line->operation);
	p->goal = line->meaning == MEANS_SEEN ? GOAL_PUT : GOAL_NONE;
	/* What a process must do for another takes a hundred times as long. */
	p->measured = line->meaning == MEANS_BACK
			      ? (struct shape){ 8, 4, 0, line_hops(line) }
			      : (struct shape){ 16, 32, 128, line_hops(line) };
	case_rounds(p, o, WORD_ROUNDS);
	return true;
}

/*
 * Each trip is a batch, because both sides prepare their memory for it; but a
 * short one would be less than looking at the clock.
 */
static bool case_bytes(struct bench_case *p, const struct bench_options *o,
	const struct line *line, size_t bytes)
{
	*p = case_line(o, line, bytes);
	snprintf(p->key, sizeof(p->key), "%s_%zu%s", line->operation, bytes,
		line->memory);
	p->bandwidth = true;
	p->measured = (struct shape){ .batches = bytes > BULK_LONG ? 2 : 8,
		.trips = bytes <= BULK_SHORT ? 32 : 1,
		.hops = line_hops(line) };
	case_rounds(p, o, BULK_ROUNDS);
	p->limit_ns = bits_min(p->limit_ns, BULK_LIMIT_NS);
	return true;
}

/* ---- which lines a size has ---- */

static unsigned word_count(size_t bytes)
{
	return bytes == WORD_BYTES ? ARRAY_COUNT(word_lines) : 0;
}

static unsigned bulk_count(size_t bytes)
{
	return bytes == WORD_BYTES ? 0 : ARRAY_COUNT(bulk_lines);
}

static unsigned posted_count(size_t bytes)
{
	return bytes > CAY_EAGER_MAX ? ARRAY_COUNT(posted_lines) : 0;
}

/* First the words, then all accesses, then all messages. */
static bool case_sizes(struct bench_case *p, const struct bench_options *o,
	const size_t *sizes, unsigned count, unsigned i)
{
	for (unsigned s = 0; s < count; i -= word_count(sizes[s++]))
		if (i < word_count(sizes[s]))
			return case_word(p, o, &word_lines[i]);
	for (unsigned s = 0; s < count; i -= bulk_count(sizes[s++]))
		if (i < bulk_count(sizes[s]))
			return case_bytes(p, o, &bulk_lines[i], sizes[s]);
	for (unsigned s = 0; s < count; i -= posted_count(sizes[s++]))
		if (i < posted_count(sizes[s]))
			return case_bytes(p, o, &posted_lines[i], sizes[s]);
	return false;
}

bool case_rma(struct bench_case *p, const struct bench_options *o, unsigned i)
{
	static const size_t all[] = { WORD_BYTES, 4096, 65536, 1048576 };

	if (o->size_count)
		return case_sizes(p, o, o->sizes, o->size_count, i);
	if (o->brief && i >= BRIEF_LINES)
		return false;
	return case_sizes(p, o, all, ARRAY_COUNT(all), i);
}
