/* SPDX-License-Identifier: BSD-2-Clause */
/* The topology and the network of `cay sim`, see sim.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/topology/graph.h"

/* A stream of random numbers that no node has. */
#define STREAM_FAULTS	  (1ull << 40)
#define NODES_OF_A_THREAD 8 /* at least */

/* ---- topologies ---- */

struct text {
	char *at;
	size_t length, room;
};

static int text_grow(struct text *t)
{
	size_t room = t->room ? 2 * t->room : 1u << 16;
	char *more = realloc(t->at, room);
	if (!more)
		return -ENOMEM;
	t->at = more;
	t->room = room;
	return 0;
}

/* Ends where it can no longer be a graph: streams may have no end. */
static int text_read(FILE *f, struct text *t)
{
	size_t n;
	do {
		if (t->length == t->room && text_grow(t))
			return -ENOMEM;
		char *to = t->at + t->length;
		n = fread(to, 1, t->room - t->length, f);
		t->length += n;
		if (memchr(to, 0, n))
			return -EILSEQ;
		if (t->length > GRAPH_TEXT_MAX)
			return -EFBIG;
	} while (n);
	return ferror(f) ? -errno : 0;
}

static int text_complain(const char *path, int r)
{
	if (r == -EILSEQ)
		return cli_error("sim", "%s: not a text", path);
	if (r == -EFBIG)
		return cli_error("sim", "%s: too long: more than %u bytes",
			path, GRAPH_TEXT_MAX);
	return cli_error("sim", "%s: %s", path, strerror(-r));
}

static int graph_parsed(
	const char *path, const struct text *text, struct topology *t)
{
	struct graph_complaint c = { 0 };
	int r = graph_parse(text->at, text->length, t, &c);
	if (r == -EINVAL)
		return cli_error("sim", "%s:%u: %s", path, c.line, c.why);
	return r ? text_complain(path, r) : CLI_OK;
}

static int graph_open(const char *path, struct topology *t)
{
	struct text text = { 0 };
	FILE *f;
	int status = sim_input_open(path, &f);
	if (status)
		return status;
	int r = text_read(f, &text);
	sim_input_close(f);
	status = r ? text_complain(path, r) : graph_parsed(path, &text, t);
	free(text.at);
	return status;
}

static const uint32_t cube_default[] = { 8, 8, 8 };

/* Of what has dimensions, or one number instead of them. */
static int shape_open(const struct sim_call *c, struct topology *t)
{
	const uint32_t *dims = c->dims_count ? c->dims : cube_default;
	uint32_t one = c->dims[0];
	unsigned count = c->dims_count;
	if (strcmp(c->topology, "torus") == 0)
		return topology_torus(t, dims, count ? count : 3);
	if (strcmp(c->topology, "mesh") == 0)
		return topology_mesh(t, dims, count ? count : 2);
	if (count > 1)
		return -EDOM;
	if (strcmp(c->topology, "hypercube") == 0)
		return topology_hypercube(t, count ? one : 6);
	if (strcmp(c->topology, "full") == 0)
		return topology_full(t, count ? one : 7);
	one = count ? one : 16;
	return topology_torus(t, &one, 1);
}

static int shape_complain(const struct sim_call *c, int r)
{
	bool cube = strcmp(c->topology, "hypercube") == 0;
	switch (r) {
	case -EDOM:
		return cli_usage_error("sim",
			"--dims %s: a %s has one number, of its %s",
			c->dims_text, c->topology,
			cube ? "dimensions" : "nodes");
	case -EINVAL:
		return cli_usage_error("sim", "--dims %s: %s", c->dims_text,
			cube ? "a hypercube has 1 dimension or more"
			     : "each must be 2 or more");
	case -E2BIG:
		return cli_usage_error("sim",
			"--dims %s: too large: at most %u nodes and %u links "
			"of each",
			c->dims_text, TOPOLOGY_NODES_MAX, TOPOLOGY_PORTS_MAX);
	default:
		return cli_error("sim", "%s", strerror(-r));
	}
}

/* A graph has no dimensions that routes could follow. */
static int rule_choose(struct sim_call *c)
{
	if (c->routing == ROUTING_DIMENSION_ORDER)
		return cli_usage_error("sim",
			"--routing dimension-order: a graph has no "
			"dimensions; try up-down");
	c->network.rule = ROUTING_UP_DOWN;
	return CLI_OK;
}

int sim_topology_open(struct sim_call *c, struct topology *t)
{
	if (c->graph) {
		int status = rule_choose(c);
		return status ? status : graph_open(c->graph, t);
	}
	int r = shape_open(c, t);
	return r ? shape_complain(c, r) : CLI_OK;
}

void sim_dims_text(const struct topology *t, char text[SIM_DIMS_BYTES])
{
	bool grid = t->kind == TOPOLOGY_TORUS || t->kind == TOPOLOGY_MESH;
	int n = 0;
	if (!grid) {
		bool cube = t->kind == TOPOLOGY_HYPERCUBE;
		snprintf(text, SIM_DIMS_BYTES, "%u",
			cube ? t->dimensions : t->nodes);
		return;
	}
	for (unsigned d = 0; d < t->dimensions; d++)
		n += snprintf(text + n, SIM_DIMS_BYTES - (size_t)n, "%s%u",
			d ? "x" : "", t->size[d]);
}

/* ---- whether all fits ---- */

static int check_length(const struct sim_call *c)
{
	uint32_t longest = length_longest(&c->study.length);
	if (router_accepts(&c->network.router, longest))
		return CLI_OK;
	return cli_usage_error("sim",
		"--length %s: buffers of %u flit%s do not hold such packets; "
		"try --buffer %u or --switching wormhole",
		c->length_text, c->network.router.buffer,
		plural(c->network.router.buffer), longest);
}

static int check_load(const struct sim_call *c, double load)
{
	double mean = length_mean(&c->study.length);
	if (load <= mean)
		return CLI_OK;
	return cli_usage_error("sim",
		"load %g: a node creates one packet in a cycle, here of %g "
		"flit%s; try a longer --length",
		load, mean, mean == 1 ? "" : "s");
}

static int check_loads(const struct sim_call *c)
{
	if (c->task == SIM_STUDY)
		return check_load(c, c->study.load);
	if (c->task == SIM_SWEEP)
		return check_load(c, c->loads[c->loads_count - 1]);
	return CLI_OK;
}

static uint64_t links_count(const struct topology *t)
{
	uint64_t ends = 0;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	return ends / 2;
}

static int check_random(
	const struct sim_random *f, const char *name, uint64_t there)
{
	if (f->count <= there)
		return CLI_OK;
	return cli_usage_error("sim",
		"--fail-random %s:%u: there are %llu %s in all", name, f->count,
		(unsigned long long)there, name);
}

static int check_randoms(const struct sim_call *c, const struct topology *t)
{
	int status = check_random(&c->random_links, "links", links_count(t));
	return status ? status
		      : check_random(&c->random_nodes, "nodes", t->nodes);
}

static int check_faults(const struct sim_call *c, const struct topology *t)
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
	return check_randoms(c, t);
}

/* More threads than cores, or with few nodes for each, are only slower. */
static void threads_limit(struct network_options *o, uint32_t nodes)
{
	cpu_set_t set;
	unsigned most = nodes / NODES_OF_A_THREAD;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		most = (unsigned)bits_min(most, (unsigned)CPU_COUNT(&set));
	if (o->threads > most)
		o->threads = most ? most : 1;
}

int sim_network_check(struct sim_call *c, const struct topology *t)
{
	const char *why = NULL;
	struct router *r = &c->network.router;
	c->study.traffic.topology = t;
	c->study.traffic.to_self = r->to_self;
	threads_limit(&c->network, t->nodes);
	if (r->links_max && t->ports > r->links_max)
		return cli_usage_error("sim",
			"router %s has %u links, a node of this topology "
			"needs %u; try --router iq4",
			r->name, r->links_max, t->ports);
	if (router_check(r, &why))
		return cli_usage_error("sim", "router: %s", why);
	if (traffic_check(&c->study.traffic, &why))
		return cli_usage_error("sim", "traffic: %s", why);
	int status = check_length(c);
	if (status == CLI_OK)
		status = check_loads(c);
	return status ? status : check_faults(c, t);
}

/* ---- networks ---- */

struct place {
	uint32_t node;
	unsigned port;
};

/* Every link once: at the end that comes first. 0 or -ENOMEM. */
static int links_list(
	const struct topology *t, struct place **places, uint64_t *count)
{
	uint64_t ends = (uint64_t)t->nodes * t->ports;
	*places = malloc((ends + 1) * sizeof(**places));
	*count = 0;
	if (!*places)
		return -ENOMEM;
	for (uint64_t i = 0; i < ends; i++) {
		if (t->neighbour[i] == TOPOLOGY_NOWHERE)
			continue;
		uint64_t other =
			(uint64_t)t->neighbour[i] * t->ports + t->entrance[i];
		if (i < other)
			(*places)[(*count)++] =
				(struct place){ (uint32_t)(i / t->ports),
					(unsigned)(i % t->ports) };
	}
	return 0;
}

static int nodes_list(
	const struct topology *t, struct place **places, uint64_t *count)
{
	*places = calloc(t->nodes, sizeof(**places));
	*count = t->nodes;
	if (!*places)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nodes; i++)
		(*places)[i].node = i;
	return 0;
}

/* Draws without putting back. */
static int random_fail(struct sim_network *s, const struct sim_random *f,
	enum network_fault kind)
{
	struct random random =
		random_stream(s->call->network.seed, STREAM_FAULTS + kind);
	struct place *place;
	uint64_t count;
	if (f->count == 0)
		return 0;
	int r = kind == NETWORK_LINK_FAILS
			? links_list(&s->topology, &place, &count)
			: nodes_list(&s->topology, &place, &count);
	for (uint32_t i = 0; r == 0 && count && i < f->count; i++) {
		uint32_t k = random_below(&random, (uint32_t)count);
		r = network_fail(s->network, f->time, kind, place[k].node,
			place[k].port);
		place[k] = place[--count];
	}
	free(place);
	return r;
}

static int faults_set(struct sim_network *s)
{
	const struct sim_call *c = s->call;
	int r = 0;
	for (unsigned i = 0; i < c->faults && r == 0; i++) {
		const struct sim_fault *f = &c->fault[i];
		r = network_fail(
			s->network, f->time, f->kind, f->node, f->port);
	}
	if (r == 0)
		r = random_fail(s, &c->random_links, NETWORK_LINK_FAILS);
	return r ? r : random_fail(s, &c->random_nodes, NETWORK_NODE_FAILS);
}

/* One of its own, because links that die are taken out of it. */
static int topology_copy(struct topology *to, const struct topology *from)
{
	uint64_t ends = (uint64_t)from->nodes * from->ports;
	*to = *from;
	to->neighbour = malloc((ends + 1) * sizeof(*to->neighbour));
	to->entrance = malloc(ends + 1);
	if (!to->neighbour || !to->entrance) {
		topology_free(to);
		return -ENOMEM;
	}
	memcpy(to->neighbour, from->neighbour, ends * sizeof(*to->neighbour));
	memcpy(to->entrance, from->entrance, ends);
	return 0;
}

int sim_network_open(struct sim_network *s, const struct sim_call *c,
	const struct topology *t)
{
	const char *why = NULL;
	s->call = c;
	int r = topology_copy(&s->topology, t);
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	r = network_open(&s->network, &s->topology, &c->network, &why);
	if (r) {
		topology_free(&s->topology);
		return cli_error("sim", "%s", why ? why : strerror(-r));
	}
	r = faults_set(s);
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
