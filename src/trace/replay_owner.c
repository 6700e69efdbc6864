/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay of the owners' operations on windows and posted receives, and of the
 * node's on locks. Single-threaded: not concurrent with origins.
 */
#include <errno.h>

#include "trace/replay_internal.h"

static _Atomic uint64_t *window_lock(struct cay_window_descriptor *d)
{
	return (_Atomic uint64_t *)&d->lock;
}

/* Returns NULL if the window is not open. */
static struct cay_window_descriptor *window_find(
	const struct replay *r, uint32_t port, uint32_t window)
{
	struct cay_window_descriptor *d = r->fixture.port[port].origin.wdt;
	return window < r->trace->queues.windows && d[window].rights
		       ? &d[window]
		       : NULL;
}

static void window_set_key(struct cay_window_descriptor *d, uint64_t key)
{
	atomic_store_explicit((_Atomic uint64_t *)&d->capability,
		(d->capability & ~CAY_CAPABILITY_MASK) | key,
		memory_order_release);
}

/* The next open window on a region, from Win-ID *w on; NULL: none. */
static struct cay_window_descriptor *region_next(
	const struct replay *r, uint32_t port, uint32_t region, uint32_t *w)
{
	while (*w < r->trace->queues.windows) {
		uint32_t id = (*w)++;
		struct cay_window_descriptor *d = window_find(r, port, id);
		if (d && r->port[port].region[id] == region)
			return d;
	}
	return NULL;
}

static uint64_t region_lock(
	const struct replay *r, uint32_t port, uint32_t region)
{
	uint32_t w = 0;
	struct cay_window_descriptor *d = region_next(r, port, region, &w);
	return d ? atomic_load_explicit(window_lock(d), memory_order_relaxed)
		 : 0;
}

/* Links an open window with the others on its region, as its owner does. */
static void window_link(struct replay *r, uint32_t port, uint16_t window)
{
	struct cay_window_descriptor *table = r->fixture.port[port].origin.wdt;
	struct cay_window_descriptor *d = &table[window];
	for (uint32_t w = 0; w < r->trace->queues.windows; w++) {
		if (w == window || !window_find(r, port, w) ||
			r->port[port].region[w] != r->port[port].region[window])
			continue;
		d->previous = (uint16_t)w;
		d->next = table[w].next;
		table[d->next].previous = table[w].next = window;
		return;
	}
}

static void window_unlink(struct replay *r, uint32_t port, uint16_t window)
{
	struct cay_window_descriptor *table = r->fixture.port[port].origin.wdt;
	const struct cay_window_descriptor *d = &table[window];
	table[d->previous].next = d->next;
	table[d->next].previous = d->previous;
}

static int window_step(struct replay *r, const struct trace_instruction *i)
{
	struct cay_window_descriptor *d = window_find(r, i->port, i->window);
	uint64_t unused;
	int e = 0;
	if (i->kind == TRACE_WINDOW) {
		uint64_t at = r->memory[i->region] + i->region_at;
		if (d)
			return -EEXIST;
		uint64_t lock = region_lock(r, i->port, i->region);
		if (i->data_bytes || i->seed)
			trace_payload(i, fixture_at(&r->fixture, at));
		e = fixture_window(&r->fixture, i->port, i->window, at,
			i->bytes, i->rights, &unused);
		if (e)
			return e;
		d = window_find(r, i->port, i->window);
		window_set_key(d, i->key);
		r->port[i->port].region[i->window] = i->region;
		atomic_store_explicit(
			window_lock(d), lock, memory_order_release);
		window_link(r, i->port, i->window);
		return 0;
	}
	if (!d)
		return -ENXIO;
	if (i->kind == TRACE_WINDOW_CLOSE) {
		window_unlink(r, i->port, i->window);
		e = fixture_window(&r->fixture, i->port, i->window, d->start, 1,
			0, &unused);
	} else {
		window_set_key(d, i->key);
	}
	if (r->machine)
		replay_machine_quiesce(r, i);
	return e;
}

/* A lock on one window is a lock on all windows of its region. */
static int lock_step(struct replay *r, const struct trace_instruction *i)
{
	struct cay_window_descriptor *d = window_find(r, i->peer, i->window);
	if (r->port[i->peer].closed)
		return -EPIPE;
	if (!d)
		return -ENXIO;
	if ((d->capability ^ i->key) & CAY_CAPABILITY_MASK)
		return -EACCES;
	if (r->machine)
		return replay_machine_lock(r, i);
	uint32_t region = r->port[i->peer].region[i->window], w = 0;
	uint64_t now = region_lock(r, i->peer, region);
	uint64_t own = r->fixture.port[i->port].origin.lock_word;
	bool lock = i->kind == TRACE_WINDOW_LOCK;
	if (lock && now)
		return now == own ? -EALREADY : -EAGAIN;
	if (!lock && now != own)
		return -EPERM;
	while ((d = region_next(r, i->peer, region, &w)))
		atomic_store_explicit(
			window_lock(d), lock ? own : 0, memory_order_release);
	return 0;
}

void replay_posted_free(struct replay *r, uint32_t port, uint64_t index)
{
	struct cay_posted_receive *slot =
		&fixture_own(&r->fixture, port)->posted[index];
	atomic_store_explicit((_Atomic uint64_t *)&slot->state, POSTED_FREE,
		memory_order_release);
}

static int receive_cancel(struct replay *r, const struct trace_instruction *i)
{
	struct context *own = fixture_own(&r->fixture, i->port);
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

int replay_owner_step(struct replay *r, const struct trace_instruction *i)
{
	const struct replay_port *p = &r->port[i->port];
	uint64_t slot;
	switch (i->kind) {
	case TRACE_WINDOW:
	case TRACE_WINDOW_CLOSE:
	case TRACE_WINDOW_REVOKE:
		return window_step(r, i);
	case TRACE_RECEIVE_POST:
		slot = r->fixture.port[i->port].origin.client.posted_write &
		       (r->trace->queues.posted - 1);
		return fixture_post(&r->fixture, i->port,
			p->posted + slot * p->posted_each, i->bytes, i->cookie);
	case TRACE_RECEIVE_CANCEL:
		return receive_cancel(r, i);
	case TRACE_RECEIVE_MODE:
		fixture_posted_mode(&r->fixture, i->port,
			i->mode == CAY_RECEIVE_POSTED_ONLY ? POSTED_ONLY
							   : POSTED_RDR);
		return 0;
	default:
		return lock_step(r, i);
	}
}

/* Closes the queue set and, as the node does, releases the port's locks. */
void replay_port_close(struct replay *r, uint32_t port)
{
	const struct queue_config *c = &r->fixture.port[port].config;
	queue_set_close(&r->fixture.arena, c->vpid, c->epoch);
	r->port[port].closed = true;
	if (r->machine)
		return; /* its machine has */
	for (uint32_t p = 0; p < r->trace->ports; p++)
		for (uint32_t w = 0; w < r->trace->queues.windows; w++) {
			uint64_t own = r->fixture.port[port].origin.lock_word;
			atomic_compare_exchange_strong(
				window_lock(&r->fixture.port[p].origin.wdt[w]),
				&own, 0);
		}
}
