/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports of a device without a node or other processes; see fixture.h. */
#include "device/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"

/* No port of the fixture sleeps in epoll. */
static void fixture_ring(struct context *to)
{
	(void)to;
}

/* A test that starts a migration also finishes it. */
static bool fixture_orphaned(const struct arena *a)
{
	(void)a;
	return false;
}

/* The mapping is zeroed and populated on first touch. */
static int fixture_map(struct arena *a, uint64_t bytes, uint32_t stride)
{
	struct arena_header layout = { 0 };
	arena_header_layout(&layout, bytes, stride);
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	a->base = base;
	a->mapped_bytes = bytes;
	arena_set_layout(a, &layout);
	a->ring_doorbell = fixture_ring;
	a->orphaned = fixture_orphaned;
	return 0;
}

static uint64_t fixture_allocate(struct fixture *b, uint64_t bytes)
{
	uint64_t at = b->heap_end;
	b->heap_end += bits_round_up(bytes, ARENA_PAGE);
	return at;
}

/* Sets port i's configuration to that of a new queue set. */
static void port_configure(struct fixture *b, uint32_t i, uint32_t epoch)
{
	struct queue_config *c = &b->port[i].config;
	c->vpid = fixture_vpid(i);
	c->epoch = epoch;
	c->queues_offset = fixture_allocate(b, c->queues_bytes);
	b->port[i].sets++;
}

static struct context *context_new(const struct fixture *b, uint32_t i)
{
	const struct queue_config *config = &b->port[i].config;
	struct context *c = malloc(sizeof(*c));
	if (c && context_load(&b->arena, config->vpid, config->epoch, c) != 0) {
		free(c);
		c = NULL;
	}
	return c;
}

static void peer_fill(const struct fixture *b, uint32_t i, uint32_t peer)
{
	const struct queue_config *own = &b->port[i].config;
	const struct queue_config *to = &b->port[peer].config;
	struct peer_entry *table = (void *)(b->arena.base + own->tables_offset +
					    (uint64_t)own->peers_at * CAY_LINE);
	struct peer_entry *entry = &table[peer];

	entry->vpid = to->vpid;
	entry->path = PATH_DIRECT;
	entry->control_offset =
		arena_control_offset(&b->arena, to->vpid, to->epoch);
	/* Release, as the node does it: the entry is in use from here on. */
	atomic_store_explicit(&entry->epoch, to->epoch, memory_order_release);
}

/* Updates the peer tables only; loaded contexts stay as they are. */
static void port_announce(struct fixture *b, uint32_t i)
{
	for (uint32_t from = 0; from < b->ports; from++)
		peer_fill(b, from, i);
}

static int port_resolve(struct fixture *b, uint32_t i)
{
	struct fixture_port *p = &b->port[i];
	for (uint32_t peer = 0; peer < b->ports; peer++) {
		struct context *c = context_new(b, peer);
		if (!c)
			return -ENOMEM;
		atomic_init(&p->slots[peer], c);
		p->routes[peer] = &p->slots[peer];
	}
	return 0;
}

/* Loads the origin of the port that has the VPID now. */
static int port_load_origin(struct fixture *b, uint32_t i)
{
	struct fixture_port *p = &b->port[i];
	struct context *own = context_new(b, i);
	if (!own)
		return -ENOMEM;
	if (p->origin.node)
		context_free(fixture_own(b, i));
	int r = origin_load(&p->origin, own, FIXTURE_NODE);
	p->origin.routes = p->routes;
	p->origin.windows = p->windows;
	return r;
}

/* Allocates the port's memory and opens its queue set. */
static int port_open(struct fixture *b, uint32_t i, uint64_t records)
{
	struct fixture_port *p = &b->port[i];
	p->slots = calloc(b->ports, sizeof(*p->slots));
	p->routes = calloc(b->ports, sizeof(*p->routes));
	if (!p->slots || !p->routes)
		return -ENOMEM;
	p->op = (struct op_record *)(void *)(b->arena.base + records) + i;
	atomic_init(&p->op->port, fixture_vpid(i));
	p->config.tables_offset = fixture_allocate(b, p->config.tables_bytes);
	p->first_epoch = 1;
	port_configure(b, i, 1);
	queue_set_open(&b->arena, &p->config, p->first_epoch, POSTED_NONE);
	return 0;
}

static int ports_open(struct fixture *b)
{
	uint64_t records =
		fixture_allocate(b, b->ports * sizeof(struct op_record));
	int r = 0;
	for (uint32_t i = 0; !r && i < b->ports; i++)
		r = port_open(b, i, records);
	for (uint32_t i = 0; !r && i < b->ports; i++)
		r = port_resolve(b, i);
	for (uint32_t i = 0; !r && i < b->ports; i++) {
		r = port_load_origin(b, i);
		port_announce(b, i);
	}
	return r;
}

int fixture_open(
	struct fixture *b, uint32_t ports, const struct queue_options *options)
{
	return fixture_open_stride(b, ports, options, ARENA_STRIDE_PACKED);
}

int fixture_open_stride(struct fixture *b, uint32_t ports,
	const struct queue_options *options, uint32_t control_stride)
{
	struct queue_config config;
	struct queue_options w = *options;
	w.peers = ports;
	queue_set_layout(&config, &w);
	uint64_t each = config.tables_bytes +
			config.queues_bytes * FIXTURE_SETS_MAX +
			sizeof(struct op_record);

	memset(b, 0, sizeof(*b));
	b->heap_end = ARENA_HEAP_OFFSET;
	int r = fixture_map(&b->arena,
		ARENA_SIZE_FOR(ARENA_PAGE + ports * each + FIXTURE_MEMORY,
			control_stride),
		control_stride);
	if (r)
		return r;
	b->port = calloc(ports, sizeof(*b->port));
	b->ports = b->port ? ports : 0;
	for (uint32_t i = 0; i < b->ports; i++)
		b->port[i].config = config;
	r = b->port ? ports_open(b) : -ENOMEM;
	if (r)
		fixture_close(b);
	return r;
}

static void port_close(struct fixture *b, uint32_t i)
{
	struct fixture_port *p = &b->port[i];
	for (uint32_t peer = 0; p->slots && peer < b->ports; peer++)
		context_free(atomic_load_explicit(
			&p->slots[peer], memory_order_relaxed));
	context_free(fixture_own(b, i));
	free(p->slots);
	free(p->routes);
	free(p->windows);
}

void fixture_close(struct fixture *b)
{
	for (uint32_t i = 0; i < b->ports; i++)
		port_close(b, i);
	free(b->port);
	munmap(b->arena.base, b->arena.mapped_bytes);
	memset(b, 0, sizeof(*b));
}

int fixture_reopen(struct fixture *b, uint32_t port, bool same_port)
{
	struct fixture_port *p = &b->port[port];
	uint32_t previous = p->config.epoch;
	if (p->sets == FIXTURE_SETS_MAX)
		return -ENOSPC;
	port_configure(b, port, previous + 1);
	if (!same_port)
		p->first_epoch = previous + 1;
	queue_set_open(&b->arena, &p->config, p->first_epoch,
		same_port ? (enum posted_mode)atomic_load_explicit(
				    &arena_control(
					    &b->arena, p->config.vpid, previous)
					     ->posted,
				    memory_order_relaxed)
			  : POSTED_NONE);
	queue_set_close(&b->arena, p->config.vpid, previous);
	port_announce(b, port);
	return same_port ? 0 : port_load_origin(b, port);
}

/* ---- memory, windows, posted receives ---- */

uint64_t fixture_memory(struct fixture *b, uint64_t bytes)
{
	/* Queue sets that ports may still open are reserved. */
	uint64_t used = b->heap_end;
	for (uint32_t i = 0; i < b->ports; i++)
		used += (FIXTURE_SETS_MAX - b->port[i].sets) *
			b->port[i].config.queues_bytes;
	if (!bits_inside(
		    used, bits_round_up(bytes, ARENA_PAGE), b->arena.bytes))
		return 0;
	return fixture_allocate(b, bytes);
}

static bool fixture_inside(
	const struct fixture *b, uint64_t offset, uint64_t bytes)
{
	return offset >= ARENA_HEAP_OFFSET && bytes != 0 &&
	       bits_inside(offset, bytes, b->arena.bytes);
}

/* Differs by port, window and use, and is never 0. */
static uint64_t capability_next(uint32_t port, uint16_t id, uint64_t previous)
{
	uint64_t name = previous + ((uint64_t)port << 16 | id) + 1;
	return (name * 0x9e3779b97f4a7c15ull >> 16 & CAY_CAPABILITY_MASK) | 1;
}

/* Rights last, as in window_publish() of port/window.c. */
static uint64_t window_write(struct cay_window_descriptor *d, uint64_t offset,
	uint64_t bytes, uint32_t rights, uint64_t capability)
{
	uint64_t generation = (d->capability >> 48) + 1;
	d->start = offset;
	d->length = bytes;
	d->pid = 0;
	d->refusals = d->notified = 0;
	atomic_store_explicit((_Atomic uint64_t *)&d->capability,
		capability | generation << 48, memory_order_relaxed);
	atomic_store_explicit(
		(_Atomic uint32_t *)&d->rights, rights, memory_order_release);
	return capability;
}

int fixture_window(struct fixture *b, uint32_t port, uint16_t id,
	uint64_t offset, uint64_t bytes, uint32_t rights, uint64_t *capability)
{
	struct fixture_port *p = &b->port[port];
	struct origin *o = &p->origin;
	if (id >= o->window_count || !fixture_inside(b, offset, bytes))
		return -EINVAL;
	if (!p->windows)
		p->windows = calloc(o->window_count, sizeof(*p->windows));
	if (!p->windows)
		return -ENOMEM;
	struct cay_window_descriptor *d = &o->wdt[id];
	o->windows = p->windows;
	o->windows[id] =
		rights ? (struct origin_window){ b->arena.base + offset, bytes }
		       : (struct origin_window){ 0 };
	d->previous = d->next = id;
	*capability = window_write(d, offset, bytes, rights,
		capability_next(port, id, d->capability));
	return 0;
}

void fixture_posted_mode(
	struct fixture *b, uint32_t port, enum posted_mode mode)
{
	atomic_store_explicit(&fixture_own(b, port)->control->posted, mode,
		memory_order_release);
}

int fixture_post(struct fixture *b, uint32_t port, uint64_t offset,
	uint64_t bytes, uint64_t cookie)
{
	struct fixture_port *p = &b->port[port];
	struct context *own = fixture_own(b, port);
	struct cay_posted_receive *slot =
		&own->posted[p->origin.client.posted_write &
			     (own->posted_entries - 1)];
	_Atomic uint64_t *state = (_Atomic uint64_t *)&slot->state;
	if (!fixture_inside(b, offset, bytes))
		return -EINVAL;
	if ((atomic_load_explicit(state, memory_order_acquire) &
		    POSTED_STATE_MASK) != POSTED_FREE)
		return -EAGAIN;
	slot->offset = offset;
	slot->length = bytes;
	slot->cookie = cookie;
	slot->flags = 0;
	atomic_store_explicit(state, POSTED_READY, memory_order_release);
	atomic_fetch_add_explicit(
		&own->posted_head->available, 1, memory_order_release);
	if (atomic_load_explicit(&own->control->posted, memory_order_relaxed) ==
		POSTED_NONE)
		fixture_posted_mode(b, port, POSTED_RDR);
	p->origin.client.posted_write++;
	return 0;
}
