/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes a network; see network.h and engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "network/engine/parts.h"

#define WORKER_NODES 2048 /* nodes of a worker whose state fits a cache */
#define WORKERS_MANY 32	  /* more do not pay: each reads a list of each other */

/* The hosts of the node that has most. */
static unsigned hosts_most(const struct topology *t)
{
	unsigned most = 1;
	for (uint32_t i = 0; t->first_host && i < t->nodes; i++)
		if (topology_host_count(t, i) > most)
			most = topology_host_count(t, i);
	return most;
}

/* Links that differ from those of the router. */
static void links_shape(struct network *n)
{
	const struct topology *t = n->topology;
	uint64_t ends = (uint64_t)t->nodes * t->ports, count = 0;
	double sum = 0;
	n->credits_alike = n->credits;
	for (uint64_t i = 0; t->link_kind && i < ends; i++) {
		const struct topology_link_kind *k = &t->link_kind[i];
		int delay = (int)(k->delay ? k->delay : n->router.link_delay);
		int more = delay - (int)n->router.link_delay;
		if (t->neighbour[i] == TOPOLOGY_NOWHERE)
			continue;
		sum += delay;
		count++;
		if (more || k->cycles > 1)
			n->check_links = true;
		if (more)
			n->credits_alike = false;
		more += k->cycles;
		if (more > (int)n->delay_more_most)
			n->delay_more_most = (unsigned)more;
	}
	n->link_delay_mean = count ? sum / (double)count : n->router.link_delay;
}

static void network_shape(struct network *n)
{
	const struct router *r = &n->router;
	n->nodes = n->topology->nodes;
	n->hosts = n->topology->hosts;
	n->host_node = n->topology->host_node;
	n->first_host = n->topology->first_host;
	n->links = n->topology->ports;
	n->network_ports = r->network_ports;
	n->channels = r->channels;
	n->host_ports = hosts_most(n->topology) * n->network_ports;
	n->port_multicast = n->links + n->host_ports;
	n->port_debug = n->port_multicast + 1;
	n->port_source = n->port_debug + 1;
	n->ports = n->port_source + n->host_ports;
	n->channel_bits = bits_log2_up(r->channels);
	n->port_bits = bits_log2_up(n->ports);
	n->node_shift = n->port_bits + n->channel_bits;
	n->channel_mask = (1u << n->channel_bits) - 1;
	n->port_mask = (1u << n->port_bits) - 1;
	n->local_mask = (1u << n->node_shift) - 1;
	n->depth_mask = (1u << bits_log2_up(r->buffer)) - 1;
	n->class_mask[CLASS_ANY] = (uint16_t)((1u << r->channels) - 1);
	n->tag_mask = (uint16_t)((1u << r->tag_bits) - 1);
	n->round_robin = r->arbiter == ROUTER_ROUND_ROBIN;
	n->credits = r->flow == ROUTER_CREDITS;
	n->check_links = n->options.error_rate > 0;
	links_shape(n);
}

static void *map_zeroes(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

/*
 * All arrays are in one mapping of zeroes, with large pages if possible: the
 * accesses of a cycle spread over all of it. The buffers are not part of it:
 * most of a ring is never touched.
 */
static bool network_arrays(struct network *n)
{
	uint64_t nodes = n->nodes, ports = nodes << n->port_bits;
	uint64_t vcs = nodes << n->node_shift, bytes = 0;
	uint64_t tagged = n->router.arbiter < ROUTER_SMART ? 0 : vcs;
	const struct array {
		void *pointer; /* to the pointer that is set */
		uint64_t bytes;
	} arrays[] = {
		{ &n->input, vcs * sizeof(*n->input) },
		{ &n->output, vcs * sizeof(*n->output) },
		{ &n->port, ports * sizeof(*n->port) },
		{ &n->node, nodes * sizeof(*n->node) },
		{ &n->source, (uint64_t)n->hosts * n->network_ports *
				      sizeof(*n->source) },
		{ &n->input_tag, tagged * sizeof(*n->input_tag) },
		{ &n->output_tag, tagged * sizeof(*n->output_tag) },
		{ &n->link_end, ports * sizeof(*n->link_end) },
		{ &n->link_state, ports * sizeof(*n->link_state) },
		{ &n->input_packet, vcs * sizeof(*n->input_packet) },
		{ &n->worker_of, nodes },
	};
	for (unsigned i = 0; i < ARRAY_COUNT(arrays); i++)
		bytes += bits_round_up(arrays[i].bytes, 128);
	n->map_bytes = bits_round_up(bytes, 1 << 21);
	n->map = map_zeroes(n->map_bytes);
	if (!n->map)
		return false;
	madvise(n->map, n->map_bytes, MADV_HUGEPAGE);
	char *at = n->map;
	for (unsigned i = 0; i < ARRAY_COUNT(arrays); i++) {
		memcpy(arrays[i].pointer, &at, sizeof(at));
		at += bits_round_up(arrays[i].bytes, 128);
	}
	if (!tagged) {
		n->input_tag = NULL;
		n->output_tag = NULL;
	}
	n->buffer_bytes = vcs * (n->depth_mask + 1ull) * sizeof(*n->buffer);
	n->buffer = map_zeroes(n->buffer_bytes);
	return n->buffer;
}

static void port_open(struct network *n, uint32_t node, unsigned local)
{
	uint32_t port = port_of(n, node, local);
	struct port_state *p = &n->port[port];
	bool link = port_is_link(n, local), source = local >= n->port_source;
	bool counted = source || (link && n->credits);
	for (unsigned c = 0; c < n->channels; c++)
		n->output[vc_of(n, node, local, c)] = (struct output_vc){
			.credits = counted ? (uint16_t)n->router.buffer
					   : CREDITS_UNLIMITED,
			.blocked_input = NO_VC
		};
	p->free_vcs = n->class_mask[CLASS_ANY];
	p->peer_vc = NO_VC;
	if (!link)
		return;
	uint32_t peer = topology_next(n->topology, node, local);
	n->link_end[port] = peer;
	if (peer == TOPOLOGY_NOWHERE) {
		p->flags = PORT_MASKED;
		n->any_masked = true;
		return;
	}
	uint64_t at = (uint64_t)node * n->links + local;
	n->link_state[port].error_random =
		random_stream(n->options.seed, 2 * at + 1);
	n->link_state[port].cycles = 1;
	if (n->topology->link_kind) {
		const struct topology_link_kind *k =
			&n->topology->link_kind[at];
		if (k->delay)
			n->link_state[port].delay_more =
				(int16_t)((int)k->delay -
					  (int)n->router.link_delay);
		if (k->cycles)
			n->link_state[port].cycles = k->cycles;
	}
	p->peer_vc = vc_of(n, peer, n->topology->peer_port[at], 0);
	p->peer_worker = n->worker_of[peer];
}

static int workers_open(struct network *n)
{
	const struct router *r = &n->router;
	/* The longest delay of an event, or more. */
	unsigned delay = r->link_delay + NETWORK_LINK_ERRORS * r->retry_delay;
	delay = delay > r->credit_delay ? delay : r->credit_delay;
	delay += n->delay_more_most * (1 + 2 * NETWORK_LINK_ERRORS);
	delay = delay > r->channel_delay ? delay : r->channel_delay;
	delay += r->inject_delay + r->inject_credit_delay + r->eject_delay +
		 n->options.host_delay;
	n->worker = aligned_alloc(128, n->workers * sizeof(*n->worker));
	if (!n->worker)
		return -ENOMEM;
	for (unsigned i = 0; i < n->workers; i++)
		n->worker[i] = (struct worker){
			.network = n,
			.index = i,
			.first =
				(uint32_t)((uint64_t)n->nodes * i / n->workers),
			.end = (uint32_t)((uint64_t)n->nodes * (i + 1) /
					  n->workers),
			.pool = { .table = &n->packets, .free = PACKET_NONE },
		};
	for (unsigned i = 0; i < n->workers; i++) {
		struct worker *w = &n->worker[i];
		for (uint32_t node = w->first; node < w->end; node++)
			n->worker_of[node] = (uint8_t)i;
		int e = wheel_open(&w->wheel, delay + 1, n->workers);
		if (e)
			return e;
	}
	return 0;
}

static int routes_open(struct network *n, const char **why)
{
	struct routing_options options = { .class = n->options.routing,
		.grouping = n->router.grouping,
		.ties = n->router.ties,
		.groups = n->router.groups,
		.channels = n->router.channels,
		.ordered = n->router.ordered };
	int r = routing_open(&n->routing, n->topology, &options, why);
	if (r)
		return r;
	for (unsigned c = 0; c < routing_classes(n->routing); c++)
		n->class_mask[c] = (uint16_t)routing_class_mask(n->routing, c);
	n->rerouting = reroute_needed(n);
	r = tree_open(&n->tree, n->topology, 0);
	return r ? r : transport_open(n);
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
	*why = "a node has at most 64 ports: links, two for each network port "
	       "of its hosts, and two more; try fewer hosts";
	if (t->ports + 2 * hosts_most(t) * o->router.network_ports + 2 >
		PORTS_MAX)
		return -E2BIG;
	*why = "a router with XON/XOFF needs links of equal delay";
	if (t->link_kind && o->router.flow == ROUTER_XON_XOFF)
		return -EINVAL;
	*why = "a network has at most 64 threads";
	if (o->threads > NETWORK_THREADS_MAX)
		return -EINVAL;
	*why = "an error rate is from 0 to 0.5";
	if (!(o->error_rate >= 0 && o->error_rate <= 0.5))
		return -EINVAL;
	*why = "a host takes at most 1000 cycles";
	return o->host_delay > ROUTER_DELAY_MAX ? -EINVAL : 0;
}

static int network_build(struct network *n, unsigned threads, const char **why)
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
	for (uint32_t node = 0; node < n->nodes; node++) {
		n->node[node].random =
			random_stream(n->options.seed, 2ull * node);
		for (unsigned i = 0; i < n->ports; i++)
			port_open(n, node, i);
	}
	for (uint64_t i = 0; i < (uint64_t)n->hosts * n->network_ports; i++) {
		struct source_queue *s = &n->source[i];
		s->packet = s->first = s->tail = PACKET_NONE;
		s->last_channel = (uint8_t)(n->channels - 1);
	}
	r = routes_open(n, why);
	return r ? r : thread_pool_open(n, threads);
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
	/* One worker per thread; more, if each has enough nodes. */
	unsigned threads = (unsigned)bits_min(
		options->threads ? options->threads : 1, t->nodes);
	n->workers = (unsigned)bits_min(t->nodes / WORKER_NODES, WORKERS_MANY);
	if (n->workers < threads)
		n->workers = threads;
	network_shape(n);
	r = network_build(n, threads, why);
	if (r) {
		network_close(n);
		return r;
	}
	*network = n;
	*why = NULL;
	return 0;
}

void network_close(struct network *n)
{
	if (!n)
		return;
	thread_pool_close(n);
	if (n->worker)
		load_close(n);
	for (unsigned i = 0; n->worker && i < n->workers; i++) {
		struct worker *w = &n->worker[i];
		wheel_close(&w->wheel);
		for (unsigned k = 0; k < 2; k++) {
			free(w->vc_worklist[k].entry);
			free(w->switch_worklist[k].entry);
			free(w->source_worklist[k].entry);
		}
		free(w->interrupts.entry);
		free(w->vc_request);
		free(w->switch_request);
		free(w->conflicts);
		deliveries_free(&w->deliveries);
		free(w->releases.entry);
	}
	free(n->worker);
	transport_close(n);
	tree_free(&n->tree);
	routing_close(n->routing);
	deliveries_free(&n->deliveries);
	free(n->releases.entry);
	record_table_close(n);
	packet_table_close(&n->packets);
	schedule_free(&n->schedule);
	free(n->detour);
	if (n->buffer)
		munmap(n->buffer, n->buffer_bytes);
	if (n->map)
		munmap(n->map, n->map_bytes);
	free(n);
}
