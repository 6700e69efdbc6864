/* SPDX-License-Identifier: BSD-2-Clause */
/* See heat.h. */
#include "plot/heat.h"

#include <errno.h>
#include <math.h>

#include "plot/heat_draw.h"

#define WIDTH_LEAST  520
#define LEGEND	     60 /* below the map */
#define SCALE_WIDTH  260
#define SCALE_STEPS  52
#define GRID_NODES   4096 /* above that wedges are too many to be seen */
#define CIRCLE_NODES 64

/* ---- links ---- */

void heat_colour(
	const struct heat_link *l, double most, char colour[COLOUR_BYTES])
{
	if (l->dead)
		snprintf(colour, COLOUR_BYTES, "%s", COLOUR_GREY);
	else
		colour_share(l->load / most, colour);
}

void heat_hint(
	const struct heat *h, const struct heat_link *l, char hint[HEAT_HINT])
{
	if (l->dead)
		snprintf(hint, HEAT_HINT, "%u to %u, port %u: dead", l->from,
			l->to, l->port);
	else
		snprintf(hint, HEAT_HINT, "%u to %u, port %u: %.4g %s", l->from,
			l->to, l->port, l->load, h->unit);
}

void heat_wedge(struct svg *s, const struct heat *h, const struct heat_link *l,
	double most, struct svg_at from, struct svg_at to, double width)
{
	char colour[COLOUR_BYTES], hint[HEAT_HINT];
	double x = to.x - from.x, y = to.y - from.y, length = hypot(x, y);
	if (!(length > 0))
		return;
	/* One to the right of the way, where right is down for rightwards. */
	struct svg_at right = { -y / length * width, x / length * width };
	const struct svg_at corner[] = {
		{ from.x + right.x * 0.15, from.y + right.y * 0.15 },
		{ from.x + right.x * 1.15, from.y + right.y * 1.15 },
		{ to.x + right.x * 0.4, to.y + right.y * 0.4 },
	};
	heat_colour(l, most, colour);
	heat_hint(h, l, hint);
	svg_polygon(s, corner, 3, colour, hint);
}

/* ---- the whole ---- */

static int heat_check(const struct heat *h)
{
	uint64_t nodes = 1;
	if (h->dimensions > HEAT_DIMENSIONS_MAX || h->nodes == 0)
		return -EINVAL;
	for (unsigned d = 0; d < h->dimensions; d++) {
		if (h->size[d] == 0 || h->size[d] > h->nodes)
			return -EINVAL;
		nodes *= h->size[d];
	}
	if (h->dimensions && nodes != h->nodes)
		return -EINVAL;
	for (uint64_t i = 0; i < h->count; i++)
		if (h->link[i].from >= h->nodes || h->link[i].to >= h->nodes)
			return -EINVAL;
	return 0;
}

/* The dark end of the scale. */
static double most_load(const struct heat *h)
{
	double most = 0;
	for (uint64_t i = 0; i < h->count; i++)
		if (!h->link[i].dead)
			most = fmax(most, h->link[i].load);
	return most > 0 && isfinite(most) ? most : 1;
}

static const struct heat_layout *layout_of(const struct heat *h)
{
	if (h->dimensions)
		return h->nodes <= GRID_NODES ? &heat_grid : &heat_cells;
	return h->nodes <= CIRCLE_NODES ? &heat_circle : &heat_matrix;
}

static void heading(struct svg *s, const struct heat *h)
{
	svg_text(
		s, (struct svg_at){ HEAT_MARGIN, 28 }, SVG_START, 16, h->title);
	if (h->subtitle)
		svg_text(s, (struct svg_at){ HEAT_MARGIN, 47 }, SVG_START, 12,
			h->subtitle);
}

static bool any_dead(const struct heat *h)
{
	for (uint64_t i = 0; i < h->count; i++)
		if (h->link[i].dead)
			return true;
	return false;
}

static void scale(struct svg *s, const struct heat *h, double most, double y)
{
	double x = HEAT_MARGIN, step = (double)SCALE_WIDTH / SCALE_STEPS;
	char colour[COLOUR_BYTES], text[64];
	for (int i = 0; i < SCALE_STEPS; i++) {
		colour_share((i + 0.5) / SCALE_STEPS, colour);
		/* A little more, so that no gap is seen. */
		svg_box(s, (struct svg_box){ x + i * step, y, step + 0.3, 12 },
			colour, NULL);
	}
	svg_text(s, (struct svg_at){ x, y + 27 }, SVG_START, 12, "0");
	snprintf(text, sizeof(text), "%.3g %s", most, h->unit);
	svg_text(s, (struct svg_at){ x + SCALE_WIDTH, y + 27 }, SVG_END, 12,
		text);
	if (!any_dead(h))
		return;
	x += SCALE_WIDTH + 20;
	svg_box(s, (struct svg_box){ x, y, 12, 12 }, COLOUR_GREY, NULL);
	svg_text(s, (struct svg_at){ x + 18, y + 11 }, SVG_START, 12, "dead");
}

int heat_write(FILE *to, const struct heat *h)
{
	double width, height, most;
	struct svg s;
	int r = heat_check(h);
	if (r)
		return r;
	const struct heat_layout *layout = layout_of(h);
	most = most_load(h);
	layout->size(h, &width, &height);
	svg_open(&s, to, fmax(width, WIDTH_LEAST), HEAT_TOP + height + LEGEND,
		h->title);
	heading(&s, h);
	r = layout->draw(&s, h, most);
	scale(&s, h, most, HEAT_TOP + height + 10);
	int closed = svg_close(&s);
	return r ? r : closed;
}
