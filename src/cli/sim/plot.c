/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves and heat maps of `cay sim`. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/sim/sim.h"
#include "network/topology/class.h"
#include "plot/curve.h"
#include "plot/heat.h"

/* ---- latency over load ---- */

enum {
	LINES = 3
};

static int curves_write(
	const struct sim_results *o, struct curve_point *point, FILE *to)
{
	static const char *const labels[LINES] = { "mean", "99th percentile",
		"mean in the network" };
	struct curve_series series[LINES];
	char title[SIM_TITLE_BYTES], length[64];
	for (unsigned i = 0; i < o->count; i++) {
		const struct study_result *r = &o->point[i].result;
		const double latency[LINES] = { r->packet_latency,
			(double)r->latency_p99, r->network_latency };
		for (unsigned k = 0; k < LINES; k++)
			point[k * o->count + i] = (struct curve_point){
				.x = o->point[i].load,
				.y = r->packets ? latency[k] : NAN,
				.saturated = r->verdict != STUDY_STEADY
			};
	}
	for (unsigned k = 0; k < LINES; k++)
		series[k] = (struct curve_series){ labels[k],
			&point[k * o->count], o->count };
	sim_title(o, title);
	snprintf(length, sizeof(length), "length of packets %s, seed %llu",
		o->options->length_text,
		(unsigned long long)o->options->network.seed);
	const struct curve c = { .title = title,
		.subtitle = length,
		.x_label = "offered load in flits per node and cycle",
		.y_label = "latency in cycles",
		.series = series,
		.count = LINES,
		.limit = o->saturated > 0 ? o->steady : 0 };
	return curve_write(to, &c);
}

int sim_svg_write(const struct sim_results *o, FILE *to)
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

int sim_heat_write(const struct sim_results *o, FILE *to)
{
	const struct topology *t = &o->topology;
	double cycles = o->link_cycles ? (double)o->link_cycles : 1;
	char title[SIM_TITLE_BYTES], load[64];
	struct heat_link *link = malloc((o->links + 1) * sizeof(*link));
	if (!link)
		return -ENOMEM;
	for (uint64_t i = 0; i < o->links; i++) {
		const struct network_link *l = &o->link[i];
		link[i] = (struct heat_link){ .from = l->from,
			.to = l->to,
			.port = l->port,
			.load = (double)l->flits / cycles,
			.dead = l->dead };
	}
	struct heat h = { .title = title,
		.subtitle = load,
		.unit = "flits per cycle",
		.nodes = t->nodes,
		.dimensions = t->class->grid && t->dimensions <= 3
				      ? t->dimensions
				      : 0,
		.link = link,
		.count = o->links };
	for (unsigned d = 0; d < h.dimensions; d++)
		h.size[d] = t->size[d];
	sim_title(o, title);
	snprintf(load, sizeof(load),
		"load of links at %.4g flits per node and cycle",
		o->point[0].result.offered);
	int r = heat_write(to, &h);
	free(link);
	return r;
}
