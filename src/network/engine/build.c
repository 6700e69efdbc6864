/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a network, and closing it; see network.h and engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "network/engine/parts.h"

#define WORKER_NODES   2048 /* of a worker: what they need fits a cache */
#define WORKERS_WANTED 32   /* each reads a list of each other */

static void network_shape(struct network *n)
{
	const struct router *r = &n->router;
	n->nodes = n->topology->nodes;
	n->links = n->topology->ports;
	n->network_ports = r->network_ports;
	n->channels = r->channels;
	n->port_multicast = n->links + n->network_ports;
	n->port_debug = n->port_multicast + 1;
	n->port_source = n->port_debug + 1;
	n->ports = n->port_source + n->network_ports;
	n->channel_bits = bits_log2_up(r->channels);
	n->port_bits = bits_log2_up(n->ports);
	n->node_shift = n->port_bits + n->channel_bits;
	n->channel_mask = (1u << n->channel_bits) - 1;
	n->port_mask = (1u << n->port_bits) - 1;
	n->local_mask = (1u << n->node_shift) - 1;
	n->depth_mask = (1u << bits_log2_up(r->buffer)) - 1;
	n->group_mask[GROUP_ANY] = (uint16_t)((1u << r->channels) - 1);
	n->group_mask[PATH_LOW] = (uint16_t)router_group_mask(r, PATH_LOW);
	n->group_mask[PATH_HIGH] = (uint16_t)router_group_mask(r, PATH_HIGH);
	/* Without a date line nothing is high, and the low group has all. */
	if (n->topology->kind != TOPOLOGY_TORUS)
		n->group_mask[PATH_LOW] = n->group_mask[GROUP_ANY];
	n->tag_mask = (uint16_t)((1u << r->tag_bits) - 1);
	n->round_robin = r->arbiter == ROUTER_ROUND_ROBIN;
	n->credits = r->flow == ROUTER_CREDITS;
	n->patient = n->options.error_rate > 0;
}

/*
 * All arrays lie in one mapping of zeroes, and the kernel is asked for large
 * pages: what a cycle touches is spread over all of it. Buffers are not among
 * them: most of a ring is never touched, and need not be there.
 */
struct part {
	void *array; /* a pointer to it */
	uint64_t bytes;
};

static void *map_zeroes(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static bool parts_map(
	struct network *n, const struct part *part, unsigned count)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < count; i++)
		bytes += bits_round_up(part[i].bytes, 128);
	n->map_bytes = bits_round_up(bytes, 1 << 21);
	n->map = map_zeroes(n->map_bytes);
	if (!n->map)
		return false;
	madvise(n->map, n->map_bytes, MADV_HUGEPAGE);
	char *at = n->map;
	for (unsigned i = 0; i < count; i++) {
		memcpy(part[i].array, &at, sizeof(at));
		at += bits_round_up(part[i].bytes, 128);
	}
	return true;
}

static bool network_arrays(struct network *n)
{
	uint64_t nodes = n->nodes, ports = nodes << n->port_bits;
	uint64_t places = nodes << n->node_shift;
	uint64_t tagged = n->router.arbiter < ROUTER_SMART ? 0 : places;
	const struct part parts[] = {
		{ &n->input, places * sizeof(*n->input) },
		{ &n->output, places * sizeof(*n->output) },
		{ &n->port, ports * sizeof(*n->port) },
		{ &n->node, nodes * sizeof(*n->node) },
		{ &n->source, nodes * n->network_ports * sizeof(*n->source) },
		{ &n->input_tag, tagged * sizeof(*n->input_tag) },
		{ &n->output_tag, tagged * sizeof(*n->output_tag) },
		{ &n->link_end, ports * sizeof(*n->link_end) },
		{ &n->link_count, ports * sizeof(*n->link_count) },
		{ &n->input_packet, places * sizeof(*n->input_packet) },
		{ &n->worker_of, nodes },
	};
	if (!parts_map(n, parts, ARRAY_COUNT(parts)))
		return false;
	if (!tagged) {
		n->input_tag = NULL;
		n->output_tag = NULL;
	}
	n->buffer_bytes = places * (n->depth_mask + 1ull) * sizeof(*n->buffer);
	n->buffer = map_zeroes(n->buffer_bytes);
	return n->buffer;
}

static void port_prepare(struct network *n, uint32_t node, unsigned local)
{
	struct port *p = &n->port[port_of(n, node, local)];
	bool link = port_is_link(n, local), source = local >= n->port_source;
	bool counts = source || (link && n->credits);
	for (unsigned c = 0; c < n->channels; c++)
		n->output[place_of(n, node, local, c)] = (struct output){
			.credits = counts ? (uint16_t)n->router.buffer
					  : CREDITS_ENDLESS,
			.waiter = NO_PLACE
		};
	p->free = n->group_mask[GROUP_ANY];
	p->there = NO_PLACE;
	if (!link)
		return;
	uint32_t peer = topology_next(n->topology, node, local);
	n->link_end[port_of(n, node, local)] = peer;
	if (peer == TOPOLOGY_NOWHERE) {
		p->flags = PORT_MASKED;
		n->masks = true;
		return;
	}
	uint64_t at = (uint64_t)node * n->links + local;
	n->link_count[port_of(n, node, local)].errors =
		random_stream(n->options.seed, 2 * at + 1);
	p->there = place_of(n, peer, n->topology->entrance[at], 0);
	p->worker = n->worker_of[peer];
}

static void node_prepare(struct network *n, uint32_t node)
{
	uint64_t seed = n->options.seed;
	n->node[node].random = random_stream(seed, 2ull * node);
	for (unsigned p = 0; p < n->ports; p++)
		port_prepare(n, node, p);
	for (unsigned p = 0; p < n->network_ports; p++) {
		struct source *s = &node_sources(n, node)[p];
		s->packet = s->first = s->tail = PACKET_NONE;
		s->last = (uint8_t)(n->channels - 1);
	}
}

static int worker_prepare(struct network *n, unsigned index)
{
	const struct router *r = &n->router;
	struct worker *w = &n->worker[index];
	uint64_t most = r->link_delay + LINK_ERRORS_MAX * r->retry_delay;
	most = most > r->credit_delay ? most : r->credit_delay;
	most = most > r->channel_delay ? most : r->channel_delay;
	most += r->inject_delay + r->inject_credit_delay + r->eject_delay +
		n->options.host_delay;
	w->network = n;
	w->index = index;
	w->first = (uint32_t)((uint64_t)n->nodes * index / n->workers);
	w->end = (uint32_t)((uint64_t)n->nodes * (index + 1) / n->workers);
	for (uint32_t i = w->first; i < w->end; i++)
		n->worker_of[i] = (uint8_t)index;
	w->pool = (struct packet_pool){ .table = &n->packets,
		.first = PACKET_NONE };
	return wheel_open(&w->wheel, (unsigned)most + 1, n->workers);
}

static int workers_open(struct network *n)
{
	uint64_t bytes = n->workers * sizeof(*n->worker);
	int r = 0;
	n->worker = aligned_alloc(128, bytes);
	if (!n->worker)
		return -ENOMEM;
	for (unsigned i = 0; i < n->workers; i++)
		n->worker[i] = (struct worker){ 0 };
	for (unsigned i = 0; i < n->workers && r == 0; i++)
		r = worker_prepare(n, i);
	return r;
}

/* In order, all packets between two nodes must go the same way. */
static enum route_ties network_ties(const struct router *r)
{
	return r->ordered && r->ties == ROUTE_TIES_RANDOM ? ROUTE_TIES_PAIR
							  : r->ties;
}

static int network_routes(struct network *n)
{
	struct space_options options = { .rule = n->options.rule,
		.grouping = n->router.grouping,
		.ties = network_ties(&n->router),
		.groups = n->router.groups };
	int r = space_open(&n->space, n->topology, &options);
	if (r)
		return r;
	n->around = around_needed(n);
	r = tree_open(&n->tree, n->topology, 0);
	return r ? r : level_open(n);
}

/* Legs that a way of dimension order may have; a graph has none of these. */
static unsigned legs_most(const struct topology *t)
{
	bool ring = t->kind == TOPOLOGY_TORUS;
	unsigned legs = 0;
	if (!ring && t->kind != TOPOLOGY_MESH)
		return 0;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t hops = ring ? t->size[d] / 2 : t->size[d] - 1;
		legs += (hops + SPACE_HOPS_MAX - 1) / SPACE_HOPS_MAX;
	}
	return legs;
}

static int network_check_options(const struct topology *t,
	const struct network_options *o, const char **why)
{
	if (router_check(&o->router, why))
		return -EINVAL;
	*why = "this router has fewer links than the topology needs; --router "
	       "iq4 has any number";
	if (o->router.links_max && t->ports > o->router.links_max)
		return -EINVAL;
	*why = "a way has six legs of 4095 hops at most: a dimension is too "
	       "long";
	if (o->rule == SPACE_DIMENSION_ORDER &&
		legs_most(t) > SPACE_LEGS_INLINE)
		return -E2BIG;
	*why = "a network has 64 threads at most";
	if (o->threads > NETWORK_THREADS_MAX)
		return -EINVAL;
	*why = "an error rate is from 0 to 0.5";
	if (!(o->error_rate >= 0 && o->error_rate <= 0.5))
		return -EINVAL;
	*why = "a host takes 1000 cycles at most";
	return o->host_delay > ROUTER_DELAY_MAX ? -EINVAL : 0;
}

static unsigned network_threads(
	const struct network_options *o, const struct topology *t)
{
	return (unsigned)bits_min(o->threads ? o->threads : 1, t->nodes);
}

/* One for each thread at least; more, if that leaves each enough to do. */
static unsigned network_workers(unsigned threads, uint32_t nodes)
{
	uint64_t wanted = bits_min(nodes / WORKER_NODES, WORKERS_WANTED);
	return wanted < threads ? threads : (unsigned)wanted;
}

static int network_build(struct network *n)
{
	if (!network_arrays(n))
		return -ENOMEM;
	int r = packet_table_open(&n->packets);
	if (r == 0)
		r = record_table_open(n);
	if (r == 0)
		r = workers_open(n);
	if (r)
		return r;
	for (uint32_t i = 0; i < n->nodes; i++)
		node_prepare(n, i);
	r = network_routes(n);
	return r ? r : crew_open(n, network_threads(&n->options, n->topology));
}

int network_open(struct network **network, struct topology *t,
	const struct network_options *options, const char **why)
{
	int r = network_check_options(t, options, why);
	if (r)
		return r;
	struct network *n = calloc(1, sizeof(*n));
	*why = "not enough memory";
	if (!n)
		return -ENOMEM;
	n->topology = t;
	n->options = *options;
	n->router = options->router;
	n->workers = network_workers(network_threads(options, t), t->nodes);
	network_shape(n);
	r = network_build(n);
	if (r) {
		if (r == -EINVAL)
			*why = "a graph has no dimensions: its routes are "
			       "up/down";
		network_close(n);
		return r;
	}
	*network = n;
	*why = NULL;
	return 0;
}

static void workers_close(struct network *n)
{
	for (unsigned i = 0; n->worker && i < n->workers; i++) {
		struct worker *w = &n->worker[i];
		wheel_close(&w->wheel);
		for (unsigned k = 0; k < 2; k++) {
			free(w->asking[k].of);
			free(w->moving[k].of);
			free(w->sending[k].of);
		}
		free(w->alarms.of);
		free(w->asker);
		free(w->mover);
		free(w->contested);
		record_drop(&w->deliveries);
		free(w->releases.of);
	}
	free(n->worker);
}

void network_close(struct network *n)
{
	if (!n)
		return;
	crew_close(n);
	if (n->worker)
		load_close(n);
	workers_close(n);
	level_close(n);
	tree_free(&n->tree);
	space_close(n->space);
	record_drop(&n->deliveries);
	free(n->releases.of);
	record_table_close(n);
	packet_table_close(&n->packets);
	agenda_free(&n->agenda);
	free(n->detour);
	if (n->buffer)
		munmap(n->buffer, n->buffer_bytes);
	if (n->map)
		munmap(n->map, n->map_bytes);
	free(n);
}
