/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the topology and the network of `cay sim`, with its faults. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/topology/class.h"
#include "network/topology/graph.h"

/* A random stream that no node uses. */
#define STREAM_FAULTS	 (1ull << 40)
#define NODES_PER_THREAD 8 /* at least */

/* ---- topologies ---- */

static int graph_error(const char *path, int r)
{
	if (r == -EILSEQ)
		return cli_error("sim", "%s: not a text", path);
	if (r == -EFBIG)
		return cli_error("sim", "%s: too long: more than %u bytes",
			path, GRAPH_TEXT_MAX);
	return cli_error("sim", "%s: %s", path, strerror(-r));
}

/* Reads a text up to the size of the largest graph: a stream may be endless. */
static int text_read(FILE *f, char **text, size_t *length)
{
	size_t capacity = 0, n;
	do {
		if (*length == capacity) {
			capacity = capacity ? 2 * capacity : 1u << 16;
			char *more = realloc(*text, capacity);
			if (!more)
				return -ENOMEM;
			*text = more;
		}
		char *to = *text + *length;
		n = fread(to, 1, capacity - *length, f);
		*length += n;
		if (memchr(to, 0, n))
			return -EILSEQ;
		if (*length > GRAPH_TEXT_MAX)
			return -EFBIG;
	} while (n);
	return ferror(f) ? -errno : 0;
}

static int graph_open(const char *path, struct topology *t)
{
	struct graph_error e = { 0 };
	char *text = NULL;
	size_t length = 0;
	FILE *f;
	int status = sim_input_open(path, &f);
	if (status)
		return status;
	int r = text_read(f, &text, &length);
	sim_input_close(f);
	if (r == 0)
		r = graph_parse(text, length, t, &e);
	free(text);
	if (r == -EINVAL)
		return cli_error("sim", "%s:%u: %s", path, e.line, e.why);
	return r ? graph_error(path, r) : CLI_OK;
}

static int dims_error(const struct sim_options *c, int r)
{
	const struct topology_class *k = c->class;
	switch (r) {
	case -EDOM:
		if (k->sizes_most == 1)
			return cli_usage_error("sim",
				"--dims %s: a %s has one number, of its %s",
				c->dims_text, k->name, k->sizes);
		return cli_usage_error("sim",
			"--dims %s: a %s has %u numbers: "
			"%s",
			c->dims_text, k->name, k->sizes_least, k->sizes);
	case -EINVAL:
		return cli_usage_error("sim",
			"--dims %s: each must be %u or more", c->dims_text,
			k->size_least);
	case -E2BIG:
		return cli_usage_error("sim",
			"--dims %s: too large: at most %u nodes with %u links "
			"each",
			c->dims_text, TOPOLOGY_NODES_MAX, TOPOLOGY_PORTS_MAX);
	default:
		return cli_error("sim", "%s", strerror(-r));
	}
}

/* Sets the hosts of all nodes. */
static int hosts_open(const struct sim_options *c, struct topology *t)
{
	uint8_t *count = t->host_node ? NULL : malloc(t->nodes);
	int r = t->host_node ? -EEXIST : -ENOMEM;
	if (count) {
		memset(count, (int)c->hosts, t->nodes);
		r = topology_hosts(t, count);
	}
	free(count);
	if (r == 0)
		return CLI_OK;
	topology_free(t);
	if (r == -EEXIST)
		return cli_usage_error("sim",
			"--hosts: a %s has hosts of its own", c->topology);
	if (r == -E2BIG)
		return cli_usage_error("sim", "--hosts %u: more than %u hosts",
			c->hosts, TOPOLOGY_NODES_MAX);
	return cli_error("sim", "%s", strerror(-r));
}

int sim_topology_open(struct sim_options *c, struct topology *t)
{
	const struct topology_class *k = c->class;
	if (c->graph && c->hosts)
		return cli_usage_error(
			"sim", "--hosts: a graph has hosts of its own");
	if (c->graph) {
		/* Refused before the file is read. */
		const struct topology empty = { .class = k };
		const struct routing_options o = {
			.channels = c->network.router.channels
		};
		const char *why =
			routing_refuse(c->network.routing, &empty, &o);
		if (why)
			return cli_usage_error("sim", "--routing %s: %s",
				routing_class_name(c->network.routing), why);
		return graph_open(c->graph, t);
	}
	const uint32_t *size = c->dims_count ? c->dims : k->standard;
	unsigned count = c->dims_count ? c->dims_count : k->standard_count;
	if (count < k->sizes_least || count > k->sizes_most)
		return dims_error(c, -EDOM);
	int r = k->open(t, size, count);
	if (r)
		return dims_error(c, r);
	return c->hosts ? hosts_open(c, t) : CLI_OK;
}

void sim_dims_text(const struct sim_options *c, const struct topology *t,
	char text[SIM_DIMS_BYTES])
{
	const struct topology_class *k = c->class;
	const uint32_t *size = c->dims_count ? c->dims : k->standard;
	unsigned count = c->dims_count ? c->dims_count : k->standard_count;
	int n = 0;
	if (count == 0)
		snprintf(text, SIM_DIMS_BYTES, "%u", t->nodes);
	for (unsigned i = 0; i < count; i++)
		n += snprintf(text + n, SIM_DIMS_BYTES - (size_t)n, "%s%u",
			i ? "x" : "", size[i]);
}

/* ---- checks of the options against the topology ---- */

static int load_check(const struct sim_options *c)
{
	uint32_t longest = length_longest(&c->study.length);
	double mean = length_mean(&c->study.length), load = 0;
	if (!router_accepts(&c->network.router, longest))
		return cli_usage_error("sim",
			"--length %s: buffers of %u flit%s do not hold such "
			"packets; try --buffer %u or --switching wormhole",
			c->length_text, c->network.router.buffer,
			plural(c->network.router.buffer), longest);
	if (c->task == SIM_STUDY)
		load = c->study.load;
	if (c->task == SIM_SWEEP)
		load = c->loads[c->loads_count - 1];
	if (load > mean)
		return cli_usage_error("sim",
			"load %g: a node creates at most one packet per cycle, "
			"here of %g flit%s; try a longer --length",
			load, mean, mean == 1 ? "" : "s");
	return CLI_OK;
}

static int random_check(
	const struct sim_random *f, const char *name, uint64_t all)
{
	if (f->count <= all)
		return CLI_OK;
	return cli_usage_error("sim",
		"--fail-random %s:%u: there are %llu %s in all", name, f->count,
		(unsigned long long)all, name);
}

static int faults_check(const struct sim_options *c, const struct topology *t)
{
	for (unsigned i = 0; i < c->faults; i++) {
		const struct sim_fault *f = &c->fault[i];
		if (f->node >= t->nodes)
			return cli_usage_error("sim",
				"--fail: there is no node %u; the last is %u",
				f->node, t->nodes - 1);
		if (f->kind != NETWORK_NODE_FAILS &&
			(f->port >= t->ports ||
				topology_next(t, f->node, f->port) ==
					TOPOLOGY_NOWHERE))
			return cli_usage_error("sim",
				"--fail: node %u has no link at port %u",
				f->node, f->port);
	}
	uint64_t ends = 0;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	int status = random_check(&c->random_links, "links", ends / 2);
	return status ? status
		      : random_check(&c->random_nodes, "nodes", t->nodes);
}

int sim_network_check(struct sim_options *c, const struct topology *t)
{
	const char *why = NULL;
	struct router *r = &c->network.router;
	c->study.traffic.topology = t;
	c->study.traffic.to_self = r->to_self;
	/* More threads than cores, or with few nodes each, are slower. */
	cpu_set_t cores;
	unsigned threads = t->nodes / NODES_PER_THREAD;
	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		threads = (unsigned)bits_min(
			threads, (unsigned)CPU_COUNT(&cores));
	if (c->network.threads > threads)
		c->network.threads = threads ? threads : 1;
	if (r->links_max && t->ports > r->links_max)
		return cli_usage_error("sim",
			"router %s has %u links, a node of this topology "
			"needs %u; try --router iq4",
			r->name, r->links_max, t->ports);
	if (router_check(r, &why))
		return cli_usage_error("sim", "router: %s", why);
	const struct traffic *traffic = &c->study.traffic;
	if (traffic->pattern == TRAFFIC_HOT_SPOT && traffic->spot >= t->hosts)
		return cli_usage_error("sim",
			"--hot-spot: %u is not a node; the last is %u",
			traffic->spot, t->hosts - 1);
	if (traffic_check(traffic, &why))
		return cli_usage_error("sim", "traffic: %s", why);
	int status = load_check(c);
	return status ? status : faults_check(c, t);
}

/* ---- the network and its faults ---- */

/* Schedules faults of nodes, or of links at their first end, which it draws
 * without replacement. */
static int random_fail(struct sim_network *s, const struct sim_random *f,
	enum network_fault kind)
{
	const struct topology *t = &s->topology;
	struct random random =
		random_stream(s->options->network.seed, STREAM_FAULTS + kind);
	uint64_t ends = (uint64_t)t->nodes * t->ports, count = 0;
	uint64_t *place = malloc((ends + t->nodes) * sizeof(*place));
	int r = 0;
	if (!place)
		return -ENOMEM;
	for (uint64_t i = 0; i < t->nodes && kind == NETWORK_NODE_FAILS; i++)
		place[count++] = i;
	for (uint64_t i = 0; i < ends && kind == NETWORK_LINK_FAILS; i++)
		if (t->neighbour[i] != TOPOLOGY_NOWHERE &&
			i < (uint64_t)t->neighbour[i] * t->ports +
					t->peer_port[i])
			place[count++] = i;
	for (uint32_t i = 0; r == 0 && count && i < f->count; i++) {
		uint32_t k = random_below(&random, (uint32_t)count);
		if (kind == NETWORK_NODE_FAILS)
			r = network_fail(s->network, f->time, kind,
				(uint32_t)place[k], 0);
		else
			r = network_fail(s->network, f->time, kind,
				(uint32_t)(place[k] / t->ports),
				(unsigned)(place[k] % t->ports));
		place[k] = place[--count];
	}
	free(place);
	return r;
}

static int faults_schedule(struct sim_network *s)
{
	const struct sim_options *c = s->options;
	int r = 0;
	for (unsigned i = 0; i < c->faults && r == 0; i++) {
		const struct sim_fault *f = &c->fault[i];
		r = network_fail(
			s->network, f->time, f->kind, f->node, f->port);
	}
	if (r == 0 && c->random_links.count)
		r = random_fail(s, &c->random_links, NETWORK_LINK_FAILS);
	if (r == 0 && c->random_nodes.count)
		r = random_fail(s, &c->random_nodes, NETWORK_NODE_FAILS);
	return r;
}

int sim_network_open(struct sim_network *s, const struct sim_options *c,
	const struct topology *t)
{
	const char *why = NULL;
	s->options = c;
	/* The network removes dead links from its own copy. */
	int r = topology_copy(&s->topology, t);
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	r = network_open(&s->network, &s->topology, &c->network, &why);
	if (r) {
		topology_free(&s->topology);
		return cli_error("sim", "%s", why ? why : strerror(-r));
	}
	r = faults_schedule(s);
	if (r == 0)
		return CLI_OK;
	sim_network_close(s);
	return cli_error("sim", "faults: %s", strerror(-r));
}

void sim_network_close(struct sim_network *s)
{
	network_close(s->network);
	topology_free(&s->topology);
}
