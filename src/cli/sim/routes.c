/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay sim --route` and `--metrics`: what can be said without simulating
 * anything. See sim.h; for --check, check.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/topology/metric.h"

/* ---- ways, hop by hop ---- */

void sim_walk_begin(struct sim_walk *w, const struct topology *t,
	const struct router *r, uint32_t from, const struct routing_path *way)
{
	*w = (struct sim_walk){
		.topology = t, .router = r, .way = way, .node = from
	};
}

/* Without groups, both are the same channels. */
bool sim_walk_next(struct sim_walk *w)
{
	const uint32_t *leg = routing_path_legs(w->way);
	while (w->leg < w->way->count) {
		uint32_t low = routing_leg_low(leg[w->leg]);
		uint32_t high = routing_leg_high(leg[w->leg]);
		if (w->hop < low + high) {
			bool is_high = w->hop++ >= low && w->router->groups > 1;
			w->at = (struct channel){ .node = w->node,
				.port = (uint8_t)routing_leg_port(leg[w->leg]),
				.group = is_high ? GROUP_HIGH : GROUP_LOW };
			w->node =
				topology_next(w->topology, w->node, w->at.port);
			return true;
		}
		w->leg++;
		w->hop = 0;
	}
	return false;
}

int sim_routing_open(
	const struct sim_call *c, const struct topology *t, struct routing **s)
{
	const struct router *r = &c->network.router;
	const struct routing_options o = { .rule = c->network.rule,
		.grouping = r->grouping,
		.ties = r->ties,
		.groups = r->groups };
	return routing_open(s, t, &o);
}

/* ---- one route ---- */

struct journey {
	struct sim_call *call;
	struct topology topology;
	struct routing_path there, back;
	struct routing_string path;
	bool has_path; /* a router of the contract has six links */
};

static uint32_t way_hops(const struct routing_path *way)
{
	uint32_t hops = 0;
	for (unsigned i = 0; i < way->count; i++) {
		uint32_t leg = routing_path_legs(way)[i];
		hops += routing_leg_low(leg) + routing_leg_high(leg);
	}
	return hops;
}

static void way_print(const struct journey *y, const char *name, uint32_t from,
	const struct routing_path *way)
{
	char text[SIM_CHANNEL_BYTES];
	struct sim_walk w;
	uint32_t hops = way_hops(way);
	printf("%s: %u hop%s\n", name, hops, plural(hops));
	sim_walk_begin(&w, &y->topology, &y->call->network.router, from, way);
	while (sim_walk_next(&w)) {
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
			STRING_PHITS_MAX);
		return;
	}
	printf("routing string: tag 0x%04x, phits", y->path.tag);
	for (unsigned i = 0; i < y->path.count; i++)
		printf(" 0x%04x", y->path.phit[i]);
	printf("\n");
}

static void way_json(struct json *j, const struct journey *y, const char *name,
	uint32_t from, const struct routing_path *way)
{
	struct sim_walk w;
	sim_walk_begin(&w, &y->topology, &y->call->network.router, from, way);
	json_key(j, name);
	json_array_begin(j);
	while (sim_walk_next(&w)) {
		json_object_begin(j);
		json_put_number(j, "node", w.at.node);
		json_put_number(j, "port", w.at.port);
		json_put_string(
			j, "group", w.at.group == GROUP_HIGH ? "high" : "low");
		json_put_number(j, "to", w.node);
		json_object_end(j);
	}
	json_array_end(j);
}

static void path_json(struct json *j, const struct routing_string *p)
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
	sim_output_note(json_close(&j));
}

/* The first bits of a node's number, as many as the router has for it. */
static uint16_t journey_tag(const struct journey *y)
{
	unsigned bits = y->call->network.router.tag_bits;
	return (uint16_t)(y->call->route_to & ((1u << bits) - 1));
}

static int journey_find(struct journey *y, struct routing *s)
{
	struct random random = random_stream(y->call->network.seed, 0);
	uint32_t from = y->call->route_from, to = y->call->route_to;
	int r = routing_find(s, from, to, &random, &y->there);
	if (r == 0)
		r = routing_find(s, to, from, &random, &y->back);
	if (r == -EHOSTUNREACH)
		return cli_error("sim", "no way leads from %u to %u", from, to);
	if (r)
		return cli_error("sim", "routes: %s", strerror(-r));
	y->has_path = routing_string_of(journey_tag(y), &y->there, &y->back,
			      &y->path) == 0;
	if (y->call->json)
		journey_json(y);
	else
		journey_print(y);
	return sim_output_end();
}

static int journey_all(struct journey *y)
{
	uint32_t nodes = y->topology.nodes;
	struct routing *s;
	if (y->call->route_from >= nodes || y->call->route_to >= nodes)
		return cli_usage_error("sim",
			"--route %u:%u: the last node is %u",
			y->call->route_from, y->call->route_to, nodes - 1);
	int r = sim_routing_open(y->call, &y->topology, &s);
	if (r)
		return cli_error("sim", "routes: %s", strerror(-r));
	int status = journey_find(y, s);
	routing_close(s);
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
	printf("diameter                   %u hop%s\n", m->diameter,
		plural(m->diameter));
	printf("mean distance              %.4f hops\n", m->distance);
	printf("mean distance to others    %.4f hops\n", m->distance_far);
	if (m->bisection)
		printf("bisection                  %" PRIu64 " channel%s\n",
			m->bisection, plural(m->bisection));
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
	sim_output_note(json_close(&j));
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
		status = cli_error("sim", "not all nodes are connected");
	else if (r == -E2BIG)
		status = cli_error("sim",
			"too many nodes to search from each: more than %d",
			METRIC_SEARCH_MAX);
	else if (r)
		status = cli_error("sim", "%s", strerror(-r));
	else if (c->json)
		metrics_json(c, &t, &m);
	else
		metrics_print(&m);
	topology_free(&t);
	return status ? status : sim_output_end();
}
