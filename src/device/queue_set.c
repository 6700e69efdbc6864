/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing queue sets; see queue_set.h. */
#include "device/queue_set.h"

#include "base/bits.h"
#include "base/futex.h"
#include "device/queue.h"

static uint8_t log2_or(uint8_t requested, uint8_t fallback)
{
	return requested ? requested : fallback;
}

static uint32_t count_or(uint32_t requested, uint32_t fallback)
{
	return requested ? requested : fallback;
}

/* Appends whole pages to an extent; returns their offset in lines. */
static uint32_t extent_append(uint64_t *extent_bytes, uint64_t bytes)
{
	uint64_t at = *extent_bytes;
	*extent_bytes = at + bits_round_up(bytes, ARENA_PAGE);
	return (uint32_t)(at / CAY_LINE);
}

static void layout_sizes(
	struct queue_config *c, const struct queue_options *options)
{
	c->nq_log2 = log2_or(options->nq_log2, QUEUE_NQ_LOG2_DEFAULT);
	c->rdr_log2 = log2_or(options->rdr_log2, QUEUE_RDR_LOG2_DEFAULT);
	c->wq_log2 = log2_or(options->wq_log2, QUEUE_WQ_LOG2_DEFAULT);
	c->sdr_log2 = log2_or(options->sdr_log2, QUEUE_SDR_LOG2_DEFAULT);
	c->refs_log2 = QUEUE_REFS_LOG2;
	c->posted_log2 =
		log2_or(options->posted_log2, QUEUE_POSTED_LOG2_DEFAULT);
	c->peers = count_or(options->peers, QUEUE_PEERS_DEFAULT);
	c->windows = count_or(options->windows, QUEUE_WINDOWS_DEFAULT);
}

/*
 * A quarter for completions, so that an origin may have many operations in
 * flight; a sixteenth for priority messages, which may pass a full queue.
 */
static void layout_reserves(struct queue_config *c)
{
	uint32_t entries = 1u << c->nq_log2;
	c->cq_reserve = entries / 4;
	c->priority_reserve = entries < 16 ? 1 : entries / 16;
}

/* Each part has its own pages, so that each can be mapped separately. */
static void layout_offsets(struct queue_config *c)
{
	uint64_t queues = 0, tables = 0;

	c->nq_at = extent_append(&queues, (uint64_t)CAY_LINE << c->nq_log2);
	c->rdr_at = extent_append(&queues, (uint64_t)RDR_UNIT << c->rdr_log2);
	c->queues_bytes = queues;

	c->wq_at = extent_append(&tables, (uint64_t)CAY_LINE << c->wq_log2);
	c->sdr_at = extent_append(&tables, (uint64_t)RDR_UNIT << c->sdr_log2);
	c->refs_at = extent_append(&tables, QUEUE_REFS_BYTES);
	c->peers_at = extent_append(
		&tables, (uint64_t)c->peers * sizeof(struct peer_entry));
	c->wdt_at = extent_append(&tables,
		(uint64_t)c->windows * sizeof(struct cay_window_descriptor));
	c->posted_at = extent_append(
		&tables, ((uint64_t)CAY_LINE << c->posted_log2) + CAY_LINE);
	c->tables_bytes = tables;
}

void queue_set_layout(
	struct queue_config *config, const struct queue_options *options)
{
	*config = (struct queue_config){ 0 };
	layout_sizes(config, options);
	layout_reserves(config);
	layout_offsets(config);
}

/*
 * Stores everything except W. Plain and relaxed stores: Q1 orders those that
 * context_load() reads, Q2 those that a claim reads.
 */
static void control_fill(struct queue_control *control,
	const struct queue_config *config, uint64_t start,
	enum posted_mode posted)
{
	control->config = *config;
	control->fenced_count = 0;
	atomic_store_explicit(
		&control->migration, QUEUE_STABLE, memory_order_relaxed);
	atomic_store_explicit(&control->doorbell, 0, memory_order_relaxed);
	atomic_store_explicit(&control->posted, posted, memory_order_relaxed);
	atomic_store_explicit(
		&control->access_epoch, config->epoch, memory_order_relaxed);
	atomic_store_explicit(&control->r, start, memory_order_relaxed);
}

/*
 * Ordering edges:
 *   Q1 store epoch (release) pairs with the acquire load of it in
 *      context_load(), context.c: a thread that reads this epoch reads its
 *      configuration.
 *   Q2 store W (release) pairs with N1, load W (acquire), in notify_claim(): a
 *      sender that reads a W of this set reads this epoch at N1e, or a later
 *      one, and so fails with a context of the previous set. The CAS (N2) of a
 *      sender that has loaded an older W fails, because no value of W is used
 *      twice: counts start two laps after those of the previous set.
 *   Q3 store the entry's epoch (release) pairs with the acquire load in
 *      context_current_epoch(), context.c: a thread that reads it reads
 *      first_epoch, and finds the control open.
 *
 * A thread that loads a context of the previous set at the same time may copy a
 * mixture of two configurations. Its offsets are checked as always, and claims
 * with it fail: W is closed until Q2, and the epoch differs at N1e afterwards.
 */
void queue_set_open(const struct arena *a, const struct queue_config *config,
	uint32_t first_epoch, enum posted_mode posted)
{
	struct queue_control *control =
		arena_control(a, config->vpid, config->epoch);
	struct arena_entry *entry = &arena_directory(a)[config->vpid];
	/* Relaxed: this thread, or one that it has waited for, closed it. */
	uint64_t old_w =
		atomic_load_explicit(&control->w, memory_order_relaxed);
	uint64_t start =
		queue_word(queue_restart(queue_nq(old_w), config->nq_log2), 0);

	control_fill(control, config, start, posted);
	atomic_store_explicit(
		&control->epoch, config->epoch, memory_order_release); /* Q1 */
	atomic_store_explicit(
		&control->w, start, memory_order_release); /* Q2 */

	atomic_store_explicit(
		&entry->first_epoch, first_epoch, memory_order_relaxed);
	atomic_store_explicit(
		&entry->epoch, config->epoch, memory_order_release); /* Q3 */
}

/*
 * Acquire and release. Every later claim reads CLOSED in W (N1, or the failed
 * N2) and fails; every earlier claim is included in the W that is read here,
 * and so is its TRY (X1 in record.c), which repair reads. R gets the flag after
 * W, so that a sender that sees it in R and retries finds it in W.
 */
uint64_t queue_set_close(const struct arena *a, uint16_t vpid, uint32_t epoch)
{
	struct queue_control *control = arena_control(a, vpid, epoch);
	/* The node issues a membarrier before it scans for accesses. */
	atomic_store_explicit(&control->access_epoch, 0, memory_order_release);
	uint64_t w = atomic_fetch_or_explicit(
		&control->w, W_CLOSED, memory_order_acq_rel);
	atomic_fetch_or_explicit(&control->r, R_CLOSED, memory_order_acq_rel);
	futex_wake_upper(&control->w);
	futex_wake_lower(&control->r);
	return w;
}

void queue_set_forget(const struct arena *a, uint16_t vpid)
{
	/* Release: a thread that reads 0 here also finds W closed. */
	atomic_store_explicit(
		&arena_directory(a)[vpid].epoch, 0, memory_order_release);
}
