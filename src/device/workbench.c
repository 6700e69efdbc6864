/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's ports without node and processes; see workbench.h. */
#include "device/workbench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"

/* Nobody sleeps here. */
static void bench_ring(struct context *to)
{
	(void)to;
}

/* Whoever replaces a set here also ends what it has begun. */
static bool bench_orphaned(const struct arena *a)
{
	(void)a;
	return false;
}

/* Fresh memory is zeroed, and only what is touched exists. */
static int bench_map(struct arena *a, uint64_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	a->base = base;
	a->bytes = bytes;
	a->ring = bench_ring;
	a->orphaned = bench_orphaned;
	return 0;
}

static uint64_t bench_take(struct workbench *b, uint64_t bytes)
{
	uint64_t at = b->heap_end;
	b->heap_end += bits_round_up(bytes, ARENA_PAGE);
	return at;
}

/* Makes port i's configuration that of a fresh queue set. */
static void port_configure(struct workbench *b, uint32_t i, uint32_t epoch)
{
	struct queue_config *c = &b->port[i].config;
	c->vpid = workbench_vpid(i);
	c->epoch = epoch;
	c->queues_offset = bench_take(b, c->queues_bytes);
	b->port[i].sets++;
}

static struct context *context_new(const struct workbench *b, uint32_t i)
{
	const struct queue_config *config = &b->port[i].config;
	struct context *c = malloc(sizeof(*c));
	if (c && context_load(&b->arena, config->vpid, config->epoch, c) != 0) {
		free(c);
		c = NULL;
	}
	return c;
}

static void peer_fill(const struct workbench *b, uint32_t i, uint32_t peer)
{
	const struct queue_config *own = &b->port[i].config;
	const struct queue_config *to = &b->port[peer].config;
	struct peer_entry *table = (void *)(b->arena.base + own->tables_offset +
					    (uint64_t)own->peers_at * CAY_LINE);
	struct peer_entry *entry = &table[peer];
	unsigned char *control =
		(void *)arena_control(&b->arena, to->vpid, to->epoch);

	entry->vpid = to->vpid;
	entry->path = PATH_DIRECT;
	entry->where = (uint64_t)(control - b->arena.base);
	/* Release, as the node does it: the entry is in use from here on. */
	atomic_store_explicit(&entry->epoch, to->epoch, memory_order_release);
}

/* Peers hold on to the contexts that they have loaded. */
static void port_announce(struct workbench *b, uint32_t i)
{
	for (uint32_t from = 0; from < b->ports; from++)
		peer_fill(b, from, i);
}

static int port_resolve(struct workbench *b, uint32_t i)
{
	struct workbench_port *p = &b->port[i];
	for (uint32_t peer = 0; peer < b->ports; peer++) {
		struct context *c = context_new(b, peer);
		if (!c)
			return -ENOMEM;
		atomic_init(&p->slots[peer], c);
		p->routes[peer] = &p->slots[peer];
	}
	return 0;
}

/* The origin of whoever has the VPID now, in place of the one before. */
static int port_enter(struct workbench *b, uint32_t i)
{
	struct workbench_port *p = &b->port[i];
	struct context *own = context_new(b, i);
	if (!own)
		return -ENOMEM;
	if (p->origin.node)
		context_free(workbench_own(b, i));
	int r = origin_load(&p->origin, own, WORKBENCH_NODE);
	p->origin.routes = p->routes;
	p->origin.windows = p->windows;
	return r;
}

/* Takes the port's memory, in the arena and outside, and opens its queues. */
static int port_open(struct workbench *b, uint32_t i, uint64_t records)
{
	struct workbench_port *p = &b->port[i];
	p->slots = calloc(b->ports, sizeof(*p->slots));
	p->routes = calloc(b->ports, sizeof(*p->routes));
	if (!p->slots || !p->routes)
		return -ENOMEM;
	p->op = (struct op_record *)(void *)(b->arena.base + records) + i;
	atomic_init(&p->op->port, workbench_vpid(i));
	p->config.tables_offset = bench_take(b, p->config.tables_bytes);
	p->born = 1;
	port_configure(b, i, 1);
	queue_set_open(&b->arena, &p->config, p->born, POSTED_NONE);
	return 0;
}

static int ports_open(struct workbench *b)
{
	uint64_t records = bench_take(b, b->ports * sizeof(struct op_record));
	int r = 0;
	for (uint32_t i = 0; !r && i < b->ports; i++)
		r = port_open(b, i, records);
	for (uint32_t i = 0; !r && i < b->ports; i++)
		r = port_resolve(b, i);
	for (uint32_t i = 0; !r && i < b->ports; i++) {
		r = port_enter(b, i);
		port_announce(b, i);
	}
	return r;
}

int workbench_open(
	struct workbench *b, uint32_t ports, const struct queue_wish *wish)
{
	struct queue_config config;
	struct queue_wish w = *wish;
	w.peers = ports;
	queue_set_layout(&config, &w);
	uint64_t each = config.tables_bytes +
			config.queues_bytes * WORKBENCH_SETS_MAX +
			sizeof(struct op_record);

	memset(b, 0, sizeof(*b));
	b->heap_end = ARENA_HEAP_OFFSET;
	int r = bench_map(&b->arena, ARENA_HEAP_OFFSET + ARENA_PAGE +
					     ports * each + WORKBENCH_MEMORY);
	if (r)
		return r;
	b->port = calloc(ports, sizeof(*b->port));
	b->ports = b->port ? ports : 0;
	for (uint32_t i = 0; i < b->ports; i++)
		b->port[i].config = config;
	r = b->port ? ports_open(b) : -ENOMEM;
	if (r)
		workbench_close(b);
	return r;
}

static void port_close(struct workbench *b, uint32_t i)
{
	struct workbench_port *p = &b->port[i];
	for (uint32_t peer = 0; p->slots && peer < b->ports; peer++)
		context_free(atomic_load_explicit(
			&p->slots[peer], memory_order_relaxed));
	context_free(workbench_own(b, i));
	free(p->slots);
	free(p->routes);
	free(p->windows);
}

void workbench_close(struct workbench *b)
{
	for (uint32_t i = 0; i < b->ports; i++)
		port_close(b, i);
	free(b->port);
	munmap(b->arena.base, b->arena.bytes);
	memset(b, 0, sizeof(*b));
}

int workbench_reopen(struct workbench *b, uint32_t port, bool same_port)
{
	struct workbench_port *p = &b->port[port];
	uint32_t former = p->config.epoch;
	if (p->sets == WORKBENCH_SETS_MAX)
		return -ENOSPC;
	port_configure(b, port, former + 1);
	if (!same_port)
		p->born = former + 1;
	queue_set_open(&b->arena, &p->config, p->born,
		same_port ? (enum posted_mode)atomic_load_explicit(
				    &arena_control(
					    &b->arena, p->config.vpid, former)
					     ->posted,
				    memory_order_relaxed)
			  : POSTED_NONE);
	queue_set_close(&b->arena, p->config.vpid, former);
	port_announce(b, port);
	return same_port ? 0 : port_enter(b, port);
}

/* ---- memory, windows, posted receives ---- */

uint64_t workbench_memory(struct workbench *b, uint64_t bytes)
{
	/* What ports may still need comes first. */
	uint64_t used = b->heap_end;
	for (uint32_t i = 0; i < b->ports; i++)
		used += (WORKBENCH_SETS_MAX - b->port[i].sets) *
			b->port[i].config.queues_bytes;
	if (!bits_inside(
		    used, bits_round_up(bytes, ARENA_PAGE), b->arena.bytes))
		return 0;
	return bench_take(b, bytes);
}

static bool bench_inside(
	const struct workbench *b, uint64_t offset, uint64_t bytes)
{
	return offset >= ARENA_HEAP_OFFSET && bytes != 0 &&
	       bits_inside(offset, bytes, b->arena.bytes);
}

/* Differs by port, window and use, and is never 0. */
static uint64_t capability_next(uint32_t port, uint16_t id, uint64_t former)
{
	uint64_t name = former + ((uint64_t)port << 16 | id) + 1;
	return (name * 0x9e3779b97f4a7c15ull >> 16 & CAY_CAPABILITY_MASK) | 1;
}

/* The fields, then the rights, as window_publish() of port/window.c. */
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

int workbench_window(struct workbench *b, uint32_t port, uint16_t id,
	uint64_t offset, uint64_t bytes, uint32_t rights, uint64_t *capability)
{
	struct workbench_port *p = &b->port[port];
	struct origin *o = &p->origin;
	if (id >= o->window_count || !bench_inside(b, offset, bytes))
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

void workbench_posted_mode(
	struct workbench *b, uint32_t port, enum posted_mode mode)
{
	atomic_store_explicit(&workbench_own(b, port)->control->posted, mode,
		memory_order_release);
}

int workbench_post(struct workbench *b, uint32_t port, uint64_t offset,
	uint64_t bytes, uint64_t cookie)
{
	struct workbench_port *p = &b->port[port];
	struct context *own = workbench_own(b, port);
	struct cay_posted_receive *slot =
		&own->posted[p->posted_next & (own->posted_entries - 1)];
	_Atomic uint64_t *state = (_Atomic uint64_t *)&slot->state;
	if (!bench_inside(b, offset, bytes))
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
		workbench_posted_mode(b, port, POSTED_RDR);
	p->posted_next++;
	return 0;
}
