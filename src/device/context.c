/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Context load: copies the configuration of a queue set once, checks it and
 * keeps pointers. Set-up path, any thread.
 */
#include "device/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/queue.h"

static void *queue_region(const struct arena *a, uint64_t extent, uint32_t at)
{
	return a->base + extent + (uint64_t)at * CAY_LINE;
}

void context_from_config(const struct arena *a,
	const struct queue_config *config, struct context *c)
{
	memset(c, 0, sizeof(*c));
	c->control = arena_control(a, config->vpid, config->epoch);
	c->nq = queue_region(a, config->queues_offset, config->nq_at);
	c->rdr = queue_region(a, config->queues_offset, config->rdr_at);
	c->refs = queue_region(a, config->tables_offset, config->refs_at);
	c->wdt = queue_region(a, config->tables_offset, config->wdt_at);
	c->windows = config->windows;
	c->posted_head =
		queue_region(a, config->tables_offset, config->posted_at);
	c->posted = (struct cay_posted_receive *)(c->posted_head + 1);
	c->posted_entries = 1u << config->posted_log2;
	c->epoch = config->epoch;
	c->vpid = config->vpid;
	c->nq_log2 = config->nq_log2;
	c->rdr_log2 = config->rdr_log2;
	c->nq_entries = 1u << config->nq_log2;
	c->rdr_units = 1u << config->rdr_log2;
	c->cq_reserve = config->cq_reserve;
	c->priority_reserve = config->priority_reserve;
	c->op_state = op_state_word(0, c->vpid, c->epoch);
	c->arena = a;
	c->heap = a->base + ARENA_HEAP_OFFSET;
	c->heap_bytes = a->bytes - ARENA_HEAP_OFFSET;
	atomic_init(&c->r_seen,
		atomic_load_explicit(&c->control->r, memory_order_acquire));
}

int context_load(
	const struct arena *a, uint16_t vpid, uint32_t epoch, struct context *c)
{
	struct queue_control *control = arena_control(a, vpid, epoch);
	/* Pairs with the release in queue_set_open(). */
	if (atomic_load_explicit(&control->epoch, memory_order_acquire) !=
		epoch)
		return -EPIPE;
	struct queue_config config = control->config;
	if (config.epoch != epoch || config.vpid != vpid ||
		!queue_config_valid(&config, a->bytes))
		return -EBADMSG;
	context_from_config(a, &config, c);
	return 0;
}

/* Returns the current epoch of the port of `c`; 0 if it is gone. */
static uint32_t context_current_epoch(const struct context *c)
{
	struct arena_entry *entry = &arena_directory(c->arena)[c->vpid];
	/* Pairs with Q3 in queue_set.c: first_epoch is stored first. */
	uint32_t epoch =
		atomic_load_explicit(&entry->epoch, memory_order_acquire);
	uint32_t first_epoch =
		atomic_load_explicit(&entry->first_epoch, memory_order_acquire);
	bool same = epoch != 0 && c->epoch >= first_epoch && c->epoch < epoch;
	return same ? epoch : 0;
}

bool context_follow_migration(
	_Atomic(struct context *) *slot, struct context *old)
{
	if (atomic_load_explicit(slot, memory_order_acquire) != old)
		return true;
	uint32_t epoch = context_current_epoch(old);
	if (!epoch)
		return false;
	struct context *new = malloc(sizeof(*new));
	if (!new)
		return false;
	if (context_load(old->arena, old->vpid, epoch, new) != 0) {
		free(new);
		return false;
	}
	new->previous = old;
	/* Other threads may still use `old`: it is freed with the slot. */
	if (!atomic_compare_exchange_strong_explicit(slot, &old, new,
		    memory_order_acq_rel, memory_order_acquire))
		free(new);
	return true;
}

void context_free(struct context *c)
{
	while (c) {
		struct context *previous = c->previous;
		free(c);
		c = previous;
	}
}

int origin_load(struct origin *o, struct context *own, uint32_t node)
{
	const struct arena *a = own->arena;
	struct queue_config c = own->control->config;
	if (!queue_config_valid(&c, a->bytes))
		return -EBADMSG;

	memset(o, 0, sizeof(*o));
	atomic_init(&o->device.own, own);
	o->node = node;
	o->vpid = own->vpid;
	o->cq_reserve = own->cq_reserve;
	o->refs = own->refs;
	o->peers = queue_region(a, c.tables_offset, c.peers_at);
	o->peer_count = c.peers;
	o->wq = queue_region(a, c.tables_offset, c.wq_at);
	o->wq_log2 = c.wq_log2;
	o->sdr = queue_region(a, c.tables_offset, c.sdr_at);
	o->sdr_bytes = (uint64_t)RDR_UNIT << c.sdr_log2;
	o->wdt = own->wdt;
	o->window_count = c.windows;
	o->lock_word = window_lock_word(own->vpid,
		atomic_load_explicit(&arena_directory(a)[own->vpid].first_epoch,
			memory_order_acquire));
	return 0;
}
