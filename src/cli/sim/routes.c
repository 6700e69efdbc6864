/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --route` and `--metrics`: analyses without a simulation. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/topology/metric.h"

/* ---- hops of a path ---- */

void sim_walk_begin(struct sim_walk *w, const struct topology *t,
	const struct router *r, uint32_t from, const struct routing_path *path)
{
	*w = (struct sim_walk){
		.topology = t, .router = r, .path = path, .node = from
	};
}

/* A router with one group has low channels only. */
bool sim_walk_next(struct sim_walk *w)
{
	const uint32_t *leg = routing_path_legs(w->path);
	while (w->leg < w->path->count) {
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

int sim_routing_open(const struct sim_options *c, const struct topology *t,
	struct routing **s)
{
	const struct router *r = &c->network.router;
	const struct routing_options o = { .rule = c->network.rule,
		.grouping = r->grouping,
		.ties = r->ties,
		.groups = r->groups };
	return routing_open(s, t, &o);
}

/* ---- one route ---- */

struct route_pair {
	const struct sim_options *options;
	struct topology topology;
	struct routing_path there, back;
	struct routing_string string;
	bool has_string; /* the paths fit into a routing string */
};

static uint32_t path_hops(const struct routing_path *path)
{
	uint32_t hops = 0;
	for (unsigned i = 0; i < path->count; i++) {
		uint32_t leg = routing_path_legs(path)[i];
		hops += routing_leg_low(leg) + routing_leg_high(leg);
	}
	return hops;
}

static void path_print(const struct route_pair *p, const char *name,
	uint32_t from, const struct routing_path *path)
{
	char text[SIM_CHANNEL_BYTES];
	struct sim_walk w;
	uint32_t hops = path_hops(path);
	printf("%s: %u hop%s\n", name, hops, plural(hops));
	sim_walk_begin(
		&w, &p->topology, &p->options->network.router, from, path);
	while (sim_walk_next(&w)) {
		sim_channel_text(&p->topology, &w.at, text);
		printf("  %s\n", text);
	}
}

static void path_json(struct json *j, const struct route_pair *p,
	const char *key, uint32_t from, const struct routing_path *path)
{
	struct sim_walk w;
	sim_walk_begin(
		&w, &p->topology, &p->options->network.router, from, path);
	json_key(j, key);
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

static void route_print(const struct route_pair *p)
{
	path_print(p, "there", p->options->route_from, &p->there);
	path_print(p, "back", p->options->route_to, &p->back);
	if (!p->has_string) {
		printf("no routing string: it has phits for ports 0 to 5 and "
		       "%d phits at most\n",
			STRING_PHITS_MAX);
		return;
	}
	printf("routing string: tag 0x%04x, phits", p->string.tag);
	for (unsigned i = 0; i < p->string.count; i++)
		printf(" 0x%04x", p->string.phit[i]);
	printf("\n");
}

static void route_json(const struct route_pair *p)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, p->options, &p->topology);
	json_put_number(&j, "from", p->options->route_from);
	json_put_number(&j, "to", p->options->route_to);
	json_put_number(&j, "hops", path_hops(&p->there));
	path_json(&j, p, "there", p->options->route_from, &p->there);
	path_json(&j, p, "back", p->options->route_to, &p->back);
	json_key(&j, "routing_string");
	if (p->has_string) {
		json_object_begin(&j);
		json_put_number(&j, "tag", p->string.tag);
		json_key(&j, "phits");
		json_array_begin(&j);
		for (unsigned i = 0; i < p->string.count; i++)
			json_number(&j, p->string.phit[i]);
		json_array_end(&j);
		json_object_end(&j);
	} else {
		json_string(&j, NULL);
	}
	json_object_end(&j);
	sim_output_record(json_close(&j));
}

static int route_find(struct route_pair *p, struct routing *s)
{
	struct random random = random_stream(p->options->network.seed, 0);
	uint32_t from = p->options->route_from, to = p->options->route_to;
	int r = routing_find(s, from, to, &random, &p->there);
	if (r == 0)
		r = routing_find(s, to, from, &random, &p->back);
	if (r == -EHOSTUNREACH)
		return cli_error("sim", "no path from %u to %u", from, to);
	if (r)
		return cli_error("sim", "routes: %s", strerror(-r));
	/* The tag is the low bits of the node's number. */
	uint32_t mask = (1u << p->options->network.router.tag_bits) - 1;
	p->has_string = routing_string_of((uint16_t)(to & mask), &p->there,
				&p->back, &p->string) == 0;
	if (p->options->json)
		route_json(p);
	else
		route_print(p);
	return sim_output_flush();
}

int sim_route(struct sim_options *c)
{
	struct route_pair p = { .options = c };
	struct routing *s;
	int status = sim_topology_open(c, &p.topology);
	if (status)
		return status;
	uint32_t last = p.topology.nodes - 1;
	if (c->route_from > last || c->route_to > last) {
		status = cli_usage_error("sim",
			"--route %u:%u: the last node is %u", c->route_from,
			c->route_to, last);
		goto err_topology;
	}
	int r = sim_routing_open(c, &p.topology, &s);
	if (r) {
		status = cli_error("sim", "routes: %s", strerror(-r));
		goto err_topology;
	}
	status = route_find(&p, s);
	routing_close(s);
err_topology:
	topology_free(&p.topology);
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

static void metrics_json(const struct sim_options *c, const struct topology *t,
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
	/* Infinity, which is null, without channels. */
	json_put_fixed(&j, "uniform_load_bound", 1 / m->channel_load, 6);
	json_object_end(&j);
	sim_output_record(json_close(&j));
}

int sim_metrics(struct sim_options *c)
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
	return status ? status : sim_output_flush();
}
