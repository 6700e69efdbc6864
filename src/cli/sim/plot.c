/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves and heat maps of `cay sim`; see sim.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "cli/sim/sim.h"
#include "plot/curve.h"
#include "plot/heat.h"

/* ---- latency over load ---- */

static double latency_mean(const struct study_result *r)
{
	return r->packet_latency;
}

static double latency_network(const struct study_result *r)
{
	return r->network_latency;
}

static double latency_p99(const struct study_result *r)
{
	return (double)r->latency_p99;
}

static const struct {
	const char *label;
	double (*value)(const struct study_result *);
} lines[] = {
	{ "mean", latency_mean },
	{ "99th percentile", latency_p99 },
	{ "mean in the network", latency_network },
};

#define LINES ARRAY_COUNT(lines)

static void points_fill(const struct sim_outcome *o,
	double (*value)(const struct study_result *), struct curve_point *to)
{
	for (unsigned i = 0; i < o->count; i++) {
		const struct study_result *r = &o->point[i].result;
		to[i] = (struct curve_point){ .x = o->point[i].load,
			.y = r->packets ? value(r) : NAN,
			.saturated = r->verdict != STUDY_STEADY };
	}
}

static int curves_write(
	const struct sim_outcome *o, struct curve_point *point, FILE *to)
{
	struct curve_series series[LINES];
	char title[SIM_TITLE_BYTES], length[64];
	for (unsigned i = 0; i < LINES; i++) {
		struct curve_point *its = &point[i * o->count];
		points_fill(o, lines[i].value, its);
		series[i] =
			(struct curve_series){ lines[i].label, its, o->count };
	}
	sim_title(o, title);
	snprintf(length, sizeof(length), "length of packets %s, seed %llu",
		o->call->length_text,
		(unsigned long long)o->call->network.seed);
	const struct curve c = { .title = title,
		.subtitle = length,
		.x_label = "offered load in flits per node and cycle",
		.y_label = "latency in cycles",
		.series = series,
		.count = LINES,
		.limit = o->saturated > 0 ? o->steady : 0 };
	return curve_write(to, &c);
}

int sim_svg_write(const struct sim_outcome *o, FILE *to)
{
	struct curve_point *point =
		malloc((o->count * LINES + 1) * sizeof(*point));
	if (!point)
		return -ENOMEM;
	int r = curves_write(o, point, to);
	free(point);
	return r;
}

/* ---- load of links ---- */

static void links_fill(const struct sim_outcome *o, struct heat_link *to)
{
	double cycles = o->link_cycles ? (double)o->link_cycles : 1;
	for (uint64_t i = 0; i < o->links; i++) {
		const struct network_link *l = &o->link[i];
		to[i] = (struct heat_link){ .from = l->from,
			.to = l->to,
			.port = l->port,
			.load = (double)l->flits / cycles,
			.dead = l->dead };
	}
}

static int heat_links_write(
	const struct sim_outcome *o, const struct heat_link *link, FILE *to)
{
	const struct topology *t = &o->topology;
	bool grid = t->kind == TOPOLOGY_TORUS || t->kind == TOPOLOGY_MESH;
	char title[SIM_TITLE_BYTES], load[64];
	struct heat h = { .title = title,
		.subtitle = load,
		.unit = "flits per cycle",
		.nodes = t->nodes,
		.dimensions = grid ? t->dimensions : 0,
		.link = link,
		.count = o->links };
	for (unsigned d = 0; d < h.dimensions; d++)
		h.size[d] = t->size[d];
	sim_title(o, title);
	snprintf(load, sizeof(load),
		"load of links at %.4g flits per node "
		"and cycle",
		o->point[0].result.offered);
	return heat_write(to, &h);
}

int sim_heat_write(const struct sim_outcome *o, FILE *to)
{
	struct heat_link *link = malloc((o->links + 1) * sizeof(*link));
	if (!link)
		return -ENOMEM;
	links_fill(o, link);
	int r = heat_links_write(o, link, to);
	free(link);
	return r;
}
