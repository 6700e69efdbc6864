/* SPDX-License-Identifier: BSD-2-Clause */
/* Heat maps of grids, see heat.h: a wedge per link, or a square per node. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plot/heat_draw.h"

#define PITCH_MOST   46
#define PITCH_LEAST  14
#define CELL_MOST    12
#define CELL_LEAST   3
#define WIDTH_WANTED 1200.0

/* Planes of columns and rows of nodes, `pitch` apart. */
struct grid {
	uint32_t columns, rows, planes;
	uint32_t planes_wide, planes_high;
	double pitch;
};

static struct grid grid_of(const struct heat *h, double least, double most)
{
	struct grid g = { .columns = h->size[0],
		.rows = h->dimensions > 1 ? h->size[1] : 1,
		.planes = h->dimensions > 2 ? h->size[2] : 1 };
	g.planes_wide = g.planes;
	if (g.planes > 4)
		g.planes_wide = (uint32_t)ceil(
			sqrt((double)g.planes * g.rows / g.columns));
	if (g.planes_wide == 0 || g.planes_wide > g.planes)
		g.planes_wide = g.planes;
	g.planes_high = (g.planes + g.planes_wide - 1) / g.planes_wide;
	double wide = (double)g.planes_wide * (g.columns + 1);
	g.pitch = fmin(most, fmax(least, floor(WIDTH_WANTED / wide)));
	return g;
}

/* The centre of a node. */
static struct svg_at node_centre(const struct grid *g, uint32_t node)
{
	uint32_t x = node % g->columns, y = node / g->columns % g->rows;
	uint32_t plane = node / g->columns / g->rows;
	uint64_t column = (uint64_t)plane % g->planes_wide * (g->columns + 1);
	uint64_t row = (uint64_t)plane / g->planes_wide * (g->rows + 1);
	return (struct svg_at){
		HEAT_MARGIN + ((double)(column + x) + 0.5) * g->pitch,
		HEAT_TOP + ((double)(row + y) + 0.5) * g->pitch,
	};
}

static void grid_extent(const struct grid *g, double *width, double *height)
{
	*width = 2 * HEAT_MARGIN + g->planes_wide * (g->columns + 1) * g->pitch;
	*height = g->planes_high * (g->rows + 1) * g->pitch;
}

/* ---- wedges ---- */

static void wedges_size(const struct heat *h, double *width, double *height)
{
	struct grid g = grid_of(h, PITCH_LEAST, PITCH_MOST);
	grid_extent(&g, width, height);
}

static struct svg_at towards(
	struct svg_at from, double x, double y, double length)
{
	return (struct svg_at){ from.x + x * length, from.y + y * length };
}

static void wedge_draw(struct svg *s, const struct heat *h,
	const struct grid *g, const struct heat_link *l, double most)
{
	static const double direction[6][2] = { { 1, 0 }, { -1, 0 }, { 0, 1 },
		{ 0, -1 }, { 0.7, -0.7 }, { -0.7, 0.7 } };
	struct svg_at middle = node_centre(g, l->from);
	double x = direction[l->port % 6][0], y = direction[l->port % 6][1];
	/* A link that wraps around, or to another plane, is short. */
	uint32_t stride = l->port / 2 == 0 ? 1 : g->columns;
	bool adjacent = l->port % 2 ? l->from == l->to + stride
				    : l->to == l->from + stride;
	double end = l->port < 4 && adjacent ? 0.85 : 0.45;
	heat_wedge(s, h, l, most, towards(middle, x, y, 0.15 * g->pitch),
		towards(middle, x, y, end * g->pitch), 0.17 * g->pitch);
}

static void node_draw(struct svg *s, const struct grid *g, uint32_t node)
{
	char name[32];
	struct svg_at at = node_centre(g, node);
	snprintf(name, sizeof(name), "node %u", node);
	svg_circle(s, at, 0.13 * g->pitch, "#ffffff", "#888888", name);
	if (g->pitch < 30)
		return;
	at.x -= 0.16 * g->pitch;
	at.y -= 0.22 * g->pitch;
	svg_text(s, at, SVG_END, 8, name + 5);
}

static int wedges_draw(struct svg *s, const struct heat *h, double most)
{
	struct grid g = grid_of(h, PITCH_LEAST, PITCH_MOST);
	for (uint64_t i = 0; i < h->count; i++)
		wedge_draw(s, h, &g, &h->link[i], most);
	for (uint32_t node = 0; node < h->nodes; node++)
		node_draw(s, &g, node);
	return 0;
}

const struct heat_layout heat_grid = { wedges_size, wedges_draw };

/* ---- squares: the most loaded link of each node ---- */

static void cells_size(const struct heat *h, double *width, double *height)
{
	struct grid g = grid_of(h, CELL_LEAST, CELL_MOST);
	grid_extent(&g, width, height);
}

static int cells_draw(struct svg *s, const struct heat *h, double most)
{
	struct grid g = grid_of(h, CELL_LEAST, CELL_MOST);
	const struct heat_link **of =
		calloc(h->nodes, sizeof(struct heat_link *));
	if (!of)
		return -ENOMEM;
	for (uint64_t i = 0; i < h->count; i++) {
		const struct heat_link *l = &h->link[i];
		if (!of[l->from] || (of[l->from]->dead && !l->dead) ||
			(!l->dead && l->load > of[l->from]->load))
			of[l->from] = l;
	}
	for (uint32_t node = 0; node < h->nodes; node++) {
		char colour[COLOUR_BYTES], hint[HEAT_HINT];
		struct svg_at at = node_centre(&g, node);
		if (!of[node])
			continue;
		heat_colour(of[node], most, colour);
		heat_hint(h, of[node], hint);
		svg_box(s,
			(struct svg_box){ at.x - g.pitch / 2,
				at.y - g.pitch / 2, g.pitch, g.pitch },
			colour, hint);
	}
	free(of);
	return 0;
}

const struct heat_layout heat_cells = { cells_size, cells_draw };
