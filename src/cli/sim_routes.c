/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay sim --check`, `--route` and `--metrics`: what can be said without
 * simulating anything. See sim.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim.h"
#include "network/metric.h"

/* ---- ways, hop by hop ---- */

struct walk {
	const struct topology *topology;
	const struct router *router;
	const struct space_way *way;
	unsigned leg;
	uint32_t hop;	   /* of the leg */
	struct channel at; /* the hop */
	uint32_t node;	   /* where it leads */
};

static void walk_begin(struct walk *w, const struct topology *t,
	const struct router *r, uint32_t from, const struct space_way *way)
{
	*w = (struct walk){
		.topology = t, .router = r, .way = way, .node = from
	};
}

/* Without groups, both are the same channels. */
static bool walk_next(struct walk *w)
{
	const uint32_t *leg = space_way_legs(w->way);
	while (w->leg < w->way->count) {
		uint32_t low = space_leg_low(leg[w->leg]);
		uint32_t high = space_leg_high(leg[w->leg]);
		if (w->hop < low + high) {
			bool is_high = w->hop++ >= low && w->router->groups > 1;
			w->at = (struct channel){ .node = w->node,
				.port = (uint8_t)space_leg_port(leg[w->leg]),
				.group = is_high ? PATH_HIGH : PATH_LOW };
			w->node =
				topology_next(w->topology, w->node, w->at.port);
			return true;
		}
		w->leg++;
		w->hop = 0;
	}
	return false;
}

static int space_of(
	const struct sim_call *c, const struct topology *t, struct space **s)
{
	const struct router *r = &c->network.router;
	const struct space_options o = { .rule = c->network.rule,
		.grouping = r->grouping,
		.ties = r->ties,
		.groups = r->groups };
	return space_open(s, t, &o);
}

/* ---- deadlock ---- */

struct check {
	struct sim_call *call;
	struct topology topology;
	struct dependency dependency;
	struct space *space;
	uint64_t unreachable; /* pairs */
};

/* One dependency at a time: a way may have more legs than a route. */
static int way_depend(
	struct check *k, uint32_t from, const struct space_way *way)
{
	struct walk w;
	struct channel before = { 0 };
	struct route two;
	int r = 0;
	two.count = 2;
	walk_begin(&w, &k->topology, &k->call->network.router, from, way);
	for (bool first = true; r == 0 && walk_next(&w); first = false) {
		const struct channel *hop[] = { &before, &w.at };
		for (int i = 0; i < 2; i++)
			two.leg[i] = (struct route_leg){ hop[i]->port,
				hop[i]->group == PATH_LOW,
				hop[i]->group == PATH_HIGH };
		if (!first)
			r = dependency_add(&k->dependency, before.node, &two);
		before = w.at;
	}
	return r;
}

/* Where each packet draws its direction, all of them must go together. */
static int ties_depend(struct check *k, uint32_t from, uint32_t to)
{
	const struct topology *t = &k->topology;
	const struct router *router = &k->call->network.router;
	struct route route;
	int r = 0;
	for (unsigned down = 0; r == 0 && down < 1u << t->dimensions; down++) {
		r = route_dimension_order(
			t, router->grouping, down, from, to, &route);
		if (r == 0)
			r = dependency_add(&k->dependency, from, &route);
	}
	return r;
}

static int pair_depend(struct check *k, uint32_t from, uint32_t to)
{
	const struct network_options *n = &k->call->network;
	struct random random = { 0 };
	struct space_way way;
	if (k->topology.kind == TOPOLOGY_TORUS &&
		n->rule == SPACE_DIMENSION_ORDER &&
		n->router.ties == ROUTE_TIES_RANDOM)
		return ties_depend(k, from, to);
	int r = space_find(k->space, from, to, &random, &way);
	if (r != -EHOSTUNREACH)
		return r ? r : way_depend(k, from, &way);
	k->unreachable++;
	return 0;
}

static int pairs_depend(struct check *k)
{
	uint32_t nodes = k->topology.nodes;
	int r = 0;
	for (uint32_t from = 0; r == 0 && from < nodes; from++) {
		for (uint32_t to = 0; r == 0 && to < nodes; to++)
			r = pair_depend(k, from, to);
		sim_progress("node %u of %u", from, nodes);
		if (r == 0 && sim_interrupted())
			r = -EINTR;
	}
	sim_progress_end();
	return r;
}

static void check_print(const struct check *k, const struct sim_cycle *c)
{
	uint64_t nodes = k->topology.nodes;
	if (k->unreachable)
		printf("%" PRIu64 " pairs of nodes are not connected\n",
			k->unreachable);
	if (c->count == 0) {
		printf("free of deadlock: the routes of all %" PRIu64
		       " pairs of nodes form no cycle\n",
			nodes * (nodes - 1) - k->unreachable);
		return;
	}
	printf("not free of deadlock. ");
	sim_print_cycle(&k->topology, c);
}

static void check_json(const struct check *k, const struct sim_cycle *c)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, k->call, &k->topology);
	json_put_bool(&j, "deadlock_free", c->count == 0);
	json_put_number(&j, "unreachable_pairs", k->unreachable);
	json_key(&j, "cycle");
	sim_json_cycle(&j, &k->topology, c);
	json_object_end(&j);
	json_close(&j);
}

static int check_show(const struct check *k)
{
	struct sim_cycle c;
	int r = dependency_cycle(&k->dependency, &c.channel, &c.count);
	if (r)
		return option_failed("sim", "%s", strerror(-r));
	if (k->call->json)
		check_json(k, &c);
	else
		check_print(k, &c);
	free(c.channel);
	int status = option_output_end("sim");
	return status == CLI_OK && c.count ? CLI_FAILED : status;
}

static int check_all(struct check *k)
{
	int r = space_of(k->call, &k->topology, &k->space);
	if (r == 0)
		r = dependency_open(&k->dependency, &k->topology);
	if (r == 0)
		r = pairs_depend(k);
	if (r == -EINTR)
		return SIM_INTERRUPTED;
	if (r)
		return option_failed("sim", "routes: %s", strerror(-r));
	return check_show(k);
}

int sim_check(struct sim_call *c)
{
	struct check k = { .call = c };
	int status = sim_topology_open(c, &k.topology);
	if (status)
		return status;
	sim_progress_begin();
	status = check_all(&k);
	if (k.dependency.follows)
		dependency_free(&k.dependency);
	if (k.space)
		space_close(k.space);
	topology_free(&k.topology);
	return status;
}

/* ---- one route ---- */

struct journey {
	struct sim_call *call;
	struct topology topology;
	struct space_way there, back;
	struct path path;
	bool has_path; /* a router of the contract has six links */
};

static uint32_t way_hops(const struct space_way *way)
{
	uint32_t hops = 0;
	for (unsigned i = 0; i < way->count; i++) {
		uint32_t leg = space_way_legs(way)[i];
		hops += space_leg_low(leg) + space_leg_high(leg);
	}
	return hops;
}

static void way_print(const struct journey *y, const char *name, uint32_t from,
	const struct space_way *way)
{
	char text[SIM_CHANNEL_BYTES];
	struct walk w;
	printf("%s: %u hops\n", name, way_hops(way));
	walk_begin(&w, &y->topology, &y->call->network.router, from, way);
	while (walk_next(&w)) {
		sim_channel_text(&y->topology, &w.at, text);
		printf("  %s\n", text);
	}
}

static void journey_print(const struct journey *y)
{
	way_print(y, "there", y->call->route_from, &y->there);
	way_print(y, "back", y->call->route_to, &y->back);
	if (!y->has_path) {
		printf("no routing string: it has phits for ports 0 to 5 and "
		       "%d phits at most\n",
			PATH_PHITS_MAX);
		return;
	}
	printf("routing string: tag 0x%04x, phits", y->path.tag);
	for (unsigned i = 0; i < y->path.count; i++)
		printf(" 0x%04x", y->path.phit[i]);
	printf("\n");
}

static void way_json(struct json *j, const struct journey *y, const char *name,
	uint32_t from, const struct space_way *way)
{
	struct walk w;
	walk_begin(&w, &y->topology, &y->call->network.router, from, way);
	json_key(j, name);
	json_array_begin(j);
	while (walk_next(&w)) {
		json_object_begin(j);
		json_put_number(j, "node", w.at.node);
		json_put_number(j, "port", w.at.port);
		json_put_string(
			j, "group", w.at.group == PATH_HIGH ? "high" : "low");
		json_put_number(j, "to", w.node);
		json_object_end(j);
	}
	json_array_end(j);
}

static void path_json(struct json *j, const struct path *p)
{
	json_object_begin(j);
	json_put_number(j, "tag", p->tag);
	json_key(j, "phits");
	json_array_begin(j);
	for (unsigned i = 0; i < p->count; i++)
		json_number(j, p->phit[i]);
	json_array_end(j);
	json_object_end(j);
}

static void journey_json(const struct journey *y)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, y->call, &y->topology);
	json_put_number(&j, "from", y->call->route_from);
	json_put_number(&j, "to", y->call->route_to);
	json_put_number(&j, "hops", way_hops(&y->there));
	way_json(&j, y, "there", y->call->route_from, &y->there);
	way_json(&j, y, "back", y->call->route_to, &y->back);
	json_key(&j, "routing_string");
	if (y->has_path)
		path_json(&j, &y->path);
	else
		json_string(&j, NULL);
	json_object_end(&j);
	json_close(&j);
}

/* The first bits of a node's number, as many as the router has for it. */
static uint16_t journey_tag(const struct journey *y)
{
	unsigned bits = y->call->network.router.tag_bits;
	return (uint16_t)(y->call->route_to & ((1u << bits) - 1));
}

static int journey_find(struct journey *y, struct space *s)
{
	struct random random = random_stream(y->call->network.seed, 0);
	uint32_t from = y->call->route_from, to = y->call->route_to;
	int r = space_find(s, from, to, &random, &y->there);
	if (r == 0)
		r = space_find(s, to, from, &random, &y->back);
	if (r == -EHOSTUNREACH)
		return option_failed(
			"sim", "no way leads from %u to %u", from, to);
	if (r)
		return option_failed("sim", "routes: %s", strerror(-r));
	y->has_path =
		space_path(journey_tag(y), &y->there, &y->back, &y->path) == 0;
	if (y->call->json)
		journey_json(y);
	else
		journey_print(y);
	return option_output_end("sim");
}

static int journey_all(struct journey *y)
{
	uint32_t nodes = y->topology.nodes;
	struct space *s;
	if (y->call->route_from >= nodes || y->call->route_to >= nodes)
		return option_misused("sim",
			"--route %u:%u: the last node is %u",
			y->call->route_from, y->call->route_to, nodes - 1);
	int r = space_of(y->call, &y->topology, &s);
	if (r)
		return option_failed("sim", "routes: %s", strerror(-r));
	int status = journey_find(y, s);
	space_close(s);
	return status;
}

int sim_route(struct sim_call *c)
{
	struct journey y = { .call = c };
	int status = sim_topology_open(c, &y.topology);
	if (status)
		return status;
	status = journey_all(&y);
	topology_free(&y.topology);
	return status;
}

/* ---- metrics ---- */

static void metrics_print(const struct metric *m)
{
	printf("nodes                      %" PRIu64 "\n", m->nodes);
	printf("links                      %" PRIu64 "\n", m->links);
	printf("diameter                   %u hops\n", m->diameter);
	printf("mean distance              %.4f hops\n", m->distance);
	printf("mean distance to others    %.4f hops\n", m->distance_far);
	if (m->bisection)
		printf("bisection                  %" PRIu64 " channels\n",
			m->bisection);
	printf("channel load, uniform      %.4f flits per cycle at load 1\n",
		m->channel_load);
	if (m->channel_load > 0)
		printf("highest load, uniform      %.4f flits per node and "
		       "cycle\n",
			1 / m->channel_load);
}

static void metrics_json(const struct sim_call *c, const struct topology *t,
	const struct metric *m)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, c, t);
	json_put_number(&j, "links", m->links);
	json_put_number(&j, "diameter", m->diameter);
	json_put_fixed(&j, "mean_distance", m->distance, 6);
	json_put_fixed(&j, "mean_distance_to_others", m->distance_far, 6);
	json_key(&j, "bisection_channels");
	if (m->bisection)
		json_number(&j, m->bisection);
	else
		json_string(&j, NULL);
	json_put_fixed(&j, "uniform_channel_load", m->channel_load, 6);
	/* Not finite, and null, where there are no channels. */
	json_put_fixed(&j, "uniform_load_bound", 1 / m->channel_load, 6);
	json_object_end(&j);
	json_close(&j);
}

int sim_metrics(struct sim_call *c)
{
	struct topology t;
	struct metric m;
	int status = sim_topology_open(c, &t);
	if (status)
		return status;
	int r = metric_of(&t, &m);
	if (r == -EHOSTUNREACH)
		status = option_failed("sim", "not all nodes are connected");
	else if (r == -E2BIG)
		status = option_failed("sim",
			"too many nodes to search from each: more than %d",
			METRIC_SEARCH_MAX);
	else if (r)
		status = option_failed("sim", "%s", strerror(-r));
	else if (c->json)
		metrics_json(c, &t, &m);
	else
		metrics_print(&m);
	topology_free(&t);
	return status ? status : option_output_end("sim");
}
