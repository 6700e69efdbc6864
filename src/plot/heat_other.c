/* SPDX-License-Identifier: BSD-2-Clause */
/* Heat maps of networks that are not grids, see heat.h: circle and matrix. */
#include <math.h>

#include "plot/heat_draw.h"

#define PI	    3.14159265358979323846
#define RADIUS_MOST 300.0

/* ---- the circle ---- */

static double circle_radius(const struct heat *h)
{
	return fmin(RADIUS_MOST, fmax(80, 9.0 * h->nodes));
}

static void circle_size(const struct heat *h, double *width, double *height)
{
	*width = 2 * (circle_radius(h) + 2 * HEAT_MARGIN);
	*height = *width - HEAT_MARGIN;
}

/* Node 0 is at the top, the others follow clockwise. */
static struct svg_at circle_point(const struct heat *h, uint32_t node, double r)
{
	double middle = circle_radius(h) + 2 * HEAT_MARGIN;
	double angle = 2 * PI * node / h->nodes - PI / 2;
	return (struct svg_at){ middle + r * cos(angle),
		HEAT_TOP - HEAT_MARGIN + middle + r * sin(angle) };
}

/* Links between nodes that coincide are omitted. */
static void chord_draw(struct svg *s, const struct heat *h,
	const struct heat_link *l, double most)
{
	double r = circle_radius(h);
	struct svg_at from = circle_point(h, l->from, r);
	struct svg_at to = circle_point(h, l->to, r);
	double x = to.x - from.x, y = to.y - from.y, length = hypot(x, y);
	if (!(length > 16))
		return;
	double cut = 7 / length;
	from = (struct svg_at){ from.x + x * cut, from.y + y * cut };
	to = (struct svg_at){ to.x - x * cut, to.y - y * cut };
	heat_wedge(s, h, l, most, from, to, 5);
}

static void node_draw(struct svg *s, const struct heat *h, uint32_t node)
{
	char name[32];
	double r = circle_radius(h);
	struct svg_at label = circle_point(h, node, r + 16);
	snprintf(name, sizeof(name), "node %u", node);
	svg_circle(s, circle_point(h, node, r), 5, "#ffffff", "#888888", name);
	label.y += 3;
	svg_text(s, label, SVG_MIDDLE, 10, name + 5);
}

static int circle_draw(struct svg *s, const struct heat *h, double most)
{
	for (uint64_t i = 0; i < h->count; i++)
		chord_draw(s, h, &h->link[i], most);
	for (uint32_t node = 0; node < h->nodes; node++)
		node_draw(s, h, node);
	return 0;
}

const struct heat_layout heat_circle = { circle_size, circle_draw };

/* ---- the matrix: a row for each source ---- */

#define MATRIX_SIDE 760.0
#define MATRIX_EDGE 70.0 /* left of the matrix, for labels */

static void matrix_size(const struct heat *h, double *width, double *height)
{
	(void)h;
	*width = MATRIX_EDGE + MATRIX_SIDE + HEAT_MARGIN;
	*height = MATRIX_SIDE + 2 * HEAT_MARGIN;
}

static void matrix_frame(struct svg *s, const struct heat *h)
{
	struct svg_box all = { MATRIX_EDGE, HEAT_TOP + HEAT_MARGIN, MATRIX_SIDE,
		MATRIX_SIDE };
	char last[32];
	snprintf(last, sizeof(last), "to node %u", h->nodes - 1);
	svg_box(s, all, "#f6f6f6", NULL);
	svg_text(s, (struct svg_at){ all.x, all.y - 8 }, SVG_START, 11,
		"to node 0");
	svg_text(s, (struct svg_at){ all.x + all.width, all.y - 8 }, SVG_END,
		11, last);
	svg_text(s, (struct svg_at){ all.x - 6, all.y + 10 }, SVG_END, 11,
		"from 0");
	snprintf(last, sizeof(last), "from %u", h->nodes - 1);
	svg_text(s, (struct svg_at){ all.x - 6, all.y + all.height }, SVG_END,
		11, last);
}

static int matrix_draw(struct svg *s, const struct heat *h, double most)
{
	double cell = MATRIX_SIDE / h->nodes, side = fmax(cell, 0.5);
	char colour[COLOUR_BYTES], hint[HEAT_HINT];
	matrix_frame(s, h);
	for (uint64_t i = 0; i < h->count; i++) {
		const struct heat_link *l = &h->link[i];
		heat_colour(l, most, colour);
		heat_hint(h, l, hint);
		svg_box(s,
			(struct svg_box){ MATRIX_EDGE + l->to * cell,
				HEAT_TOP + HEAT_MARGIN + l->from * cell, side,
				side },
			colour, hint);
	}
	return 0;
}

const struct heat_layout heat_matrix = { matrix_size, matrix_draw };
