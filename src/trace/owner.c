/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaying what owners do with their windows and posted receives, and what
 * the node does for them. One thread, or before and after the others.
 */
#include <errno.h>
#include <string.h>

#include "trace/replay_parts.h"

/* As it stands in a lock; see window_lock_word(). */
static uint64_t lock_word(const struct replay *r, uint32_t port)
{
	return r->bench.port[port].origin.self;
}

static _Atomic uint64_t *window_lock(struct cay_window_descriptor *d)
{
	return (_Atomic uint64_t *)&d->lock;
}

static void window_key(struct cay_window_descriptor *d, uint64_t key)
{
	atomic_store_explicit((_Atomic uint64_t *)&d->capability,
		(d->capability & ~CAY_CAPABILITY_MASK) | key,
		memory_order_release);
}

/* The lock of the open windows on this memory. */
static uint64_t region_lock(
	const struct replay *r, uint32_t port, uint32_t region)
{
	for (uint32_t w = 0; w < r->trace->queues.windows; w++) {
		struct cay_window_descriptor *d =
			replay_window(r, port, (uint16_t)w);
		if (d->rights && r->port[port].region[w] == region)
			return atomic_load_explicit(
				window_lock(d), memory_order_relaxed);
	}
	return 0;
}

/* A lock on one window is a lock on all that lie on the same memory. */
static void region_set_lock(
	struct replay *r, uint32_t port, uint32_t region, uint64_t lock)
{
	for (uint32_t w = 0; w < r->trace->queues.windows; w++) {
		struct cay_window_descriptor *d =
			replay_window(r, port, (uint16_t)w);
		if (d->rights && r->port[port].region[w] == region)
			atomic_store_explicit(
				window_lock(d), lock, memory_order_release);
	}
}

static int window_open(struct replay *r, const struct trace_instruction *i)
{
	struct cay_window_descriptor *d = replay_window(r, i->port, i->window);
	uint64_t at = r->memory[i->region] + i->region_at;
	uint64_t unused;
	if (d->rights)
		return -EEXIST;
	uint64_t lock = region_lock(r, i->port, i->region);
	if (i->data_bytes || i->seed)
		trace_payload(i, workbench_at(&r->bench, at));
	int e = workbench_window(&r->bench, i->port, i->window, at, i->bytes,
		i->rights, &unused);
	if (e)
		return e;
	window_key(d, i->key);
	r->port[i->port].region[i->window] = i->region;
	atomic_store_explicit(window_lock(d), lock, memory_order_release);
	return 0;
}

static int window_close(struct replay *r, const struct trace_instruction *i)
{
	if (i->window >= r->trace->queues.windows ||
		!replay_window(r, i->port, i->window)->rights)
		return -ENXIO;
	uint64_t start = replay_window(r, i->port, i->window)->start;
	uint64_t unused;
	return workbench_window(
		&r->bench, i->port, i->window, start, 1, 0, &unused);
}

static int window_revoke(struct replay *r, const struct trace_instruction *i)
{
	if (i->window >= r->trace->queues.windows ||
		!replay_window(r, i->port, i->window)->rights)
		return -ENXIO;
	window_key(replay_window(r, i->port, i->window), i->key);
	return 0;
}

/* As window_named() of node/window.c. */
static int window_named(struct replay *r, const struct trace_instruction *i)
{
	if (r->port[i->peer].closed)
		return -EPIPE;
	if (i->window >= r->trace->queues.windows)
		return -ENXIO;
	const struct cay_window_descriptor *d =
		replay_window(r, i->peer, i->window);
	if (!d->rights)
		return -ENXIO;
	return (d->capability ^ i->key) & CAY_CAPABILITY_MASK ? -EACCES : 0;
}

static int lock_step(struct replay *r, const struct trace_instruction *i)
{
	int e = window_named(r, i);
	if (e)
		return e;
	uint32_t region = r->port[i->peer].region[i->window];
	uint64_t now = region_lock(r, i->peer, region);
	uint64_t own = lock_word(r, i->port);
	if (i->kind == TRACE_WINDOW_LOCK) {
		if (now)
			return now == own ? -EALREADY : -EAGAIN;
		region_set_lock(r, i->peer, region, own);
		return 0;
	}
	if (now != own)
		return -EPERM;
	region_set_lock(r, i->peer, region, 0);
	return 0;
}

/* ---- posted receives ---- */

static struct cay_posted_receive *posted_slot(
	const struct replay *r, uint32_t port, uint64_t index)
{
	return &workbench_own(&r->bench, port)->posted[index];
}

static int receive_post(struct replay *r, const struct trace_instruction *i)
{
	const struct replay_port *p = &r->port[i->port];
	uint64_t slot = r->bench.port[i->port].posted_next &
			(r->trace->queues.posted - 1);
	return workbench_post(&r->bench, i->port,
		p->posted + slot * p->posted_each, i->bytes, i->cookie);
}

void owner_posted_free(struct replay *r, uint32_t port, uint64_t index)
{
	atomic_store_explicit(
		(_Atomic uint64_t *)&posted_slot(r, port, index)->state,
		POSTED_FREE, memory_order_release);
}

static int receive_cancel(struct replay *r, const struct trace_instruction *i)
{
	struct context *own = workbench_own(&r->bench, i->port);
	int count = 0;
	for (uint32_t k = 0; k < own->posted_entries; k++) {
		struct cay_posted_receive *slot = &own->posted[k];
		uint64_t ready = POSTED_READY;
		if (slot->cookie != i->cookie ||
			!atomic_compare_exchange_strong(
				(_Atomic uint64_t *)&slot->state, &ready,
				POSTED_FREE))
			continue;
		atomic_fetch_sub(&own->posted_head->available, 1);
		count++;
	}
	return count;
}

static int receive_mode(struct replay *r, const struct trace_instruction *i)
{
	workbench_posted_mode(&r->bench, i->port,
		i->mode == CAY_RECEIVE_POSTED_ONLY ? POSTED_ONLY : POSTED_RDR);
	return 0;
}

int owner_step(struct replay *r, const struct trace_instruction *i)
{
	switch (i->kind) {
	case TRACE_WINDOW:
		return window_open(r, i);
	case TRACE_WINDOW_CLOSE:
		return window_close(r, i);
	case TRACE_WINDOW_REVOKE:
		return window_revoke(r, i);
	case TRACE_RECEIVE_POST:
		return receive_post(r, i);
	case TRACE_RECEIVE_CANCEL:
		return receive_cancel(r, i);
	case TRACE_RECEIVE_MODE:
		return receive_mode(r, i);
	default:
		return lock_step(r, i);
	}
}

/* As the node does it: what the port has locked is free. */
int owner_close(struct replay *r, uint32_t port)
{
	const struct queue_config *c = &r->bench.port[port].config;
	uint64_t own = lock_word(r, port);
	queue_set_close(&r->bench.arena, c->vpid, c->epoch);
	r->port[port].closed = true;
	for (uint32_t p = 0; p < r->trace->ports; p++)
		for (uint32_t w = 0; w < r->trace->queues.windows; w++) {
			struct cay_window_descriptor *d =
				replay_window(r, p, (uint16_t)w);
			uint64_t mine = own;
			atomic_compare_exchange_strong(
				window_lock(d), &mine, 0);
		}
	return 0;
}
