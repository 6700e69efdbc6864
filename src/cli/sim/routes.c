/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --route` and `--metrics`: analyses without a simulation. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/topology/metric.h"

int sim_routing_open(const struct sim_options *c, const struct topology *t,
	struct routing **s)
{
	const struct router *r = &c->network.router;
	const struct routing_options o = { .class = c->network.routing,
		.grouping = r->grouping,
		.ties = r->ties,
		.groups = r->groups,
		.channels = r->channels,
		.ordered = r->ordered };
	const char *why = NULL;
	int e = routing_open(s, t, &o, &why);
	if (e == -EINVAL || e == -E2BIG)
		return cli_usage_error("sim", "--routing %s: %s",
			routing_class_name(c->network.routing), why);
	return e ? cli_error("sim", "routes: %s", strerror(-e)) : CLI_OK;
}

/* ---- one route ---- */

struct route_pair {
	const struct sim_options *options;
	struct topology topology;
	struct routing_path there, back;
	struct routing_string string;
	bool has_string; /* the paths fit into a routing string */
};

static void path_print(const struct route_pair *p, const char *name,
	uint32_t from, const struct routing_path *path)
{
	char text[SIM_CHANNEL_BYTES];
	struct routing_walk w;
	uint32_t hops = routing_path_hops(path);
	printf("%s: %u hop%s\n", name, hops, plural(hops));
	routing_walk_begin(&w, &p->topology, from, path);
	while (routing_walk_next(&w)) {
		const struct channel at = { .node = w.from,
			.port = (uint8_t)w.port,
			.class = (uint8_t)w.class,
			.vc = CHANNEL_VC_ANY };
		sim_channel_text(&p->topology, &at, text);
		printf("  %s\n", text);
	}
}

static void path_json(struct json *j, const struct route_pair *p,
	const char *key, uint32_t from, const struct routing_path *path)
{
	struct routing_walk w;
	routing_walk_begin(&w, &p->topology, from, path);
	json_key(j, key);
	json_array_begin(j);
	while (routing_walk_next(&w)) {
		json_object_begin(j);
		json_put_number(j, "node", w.from);
		json_put_number(j, "port", w.port);
		json_put_number(j, "class", w.class);
		json_put_number(j, "to", w.to);
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
	json_put_number(&j, "hops", routing_path_hops(&p->there));
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
	status = sim_routing_open(c, &p.topology, &s);
	if (status)
		goto err_topology;
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
