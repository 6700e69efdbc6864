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

/* Fresh memory is zeroed, and only what is touched exists. */
/* Whoever replaces a set here also ends what it has begun. */
static bool bench_orphaned(const struct arena *a)
{
	(void)a;
	return false;
}

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
	queue_set_open(&b->arena, &p->config, p->born);
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
	int r = bench_map(
		&b->arena, ARENA_HEAP_OFFSET + ARENA_PAGE + ports * each);
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
	queue_set_open(&b->arena, &p->config, p->born);
	queue_set_close(&b->arena, p->config.vpid, former);
	port_announce(b, port);
	return same_port ? 0 : port_enter(b, port);
}
