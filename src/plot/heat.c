/* SPDX-License-Identifier: BSD-2-Clause */
/* See heat.h. */
#include "plot/heat.h"

#include <errno.h>
#include <math.h>

#include "plot/heat_draw.h"

#define WIDTH_LEAST  520
#define LEGEND	     60 /* height, below the map */
#define SCALE_WIDTH  260
#define SCALE_STEPS  52
#define GRID_NODES   4096 /* above that, a square per node */
#define CIRCLE_NODES 64

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

static void scale_draw(struct svg *s, const struct heat *h, double most,
	bool any_dead, double y)
{
	double x = HEAT_MARGIN, step = (double)SCALE_WIDTH / SCALE_STEPS;
	char colour[COLOUR_BYTES], text[64];
	for (int i = 0; i < SCALE_STEPS; i++) {
		colour_share((i + 0.5) / SCALE_STEPS, colour);
		/* Slightly wider, to hide the gaps. */
		svg_box(s, (struct svg_box){ x + i * step, y, step + 0.3, 12 },
			colour, NULL);
	}
	svg_text(s, (struct svg_at){ x, y + 27 }, SVG_START, 12, "0");
	snprintf(text, sizeof(text), "%.3g %s", most, h->unit);
	svg_text(s, (struct svg_at){ x + SCALE_WIDTH, y + 27 }, SVG_END, 12,
		text);
	if (!any_dead)
		return;
	x += SCALE_WIDTH + 20;
	svg_box(s, (struct svg_box){ x, y, 12, 12 }, COLOUR_GREY, NULL);
	svg_text(s, (struct svg_at){ x + 18, y + 11 }, SVG_START, 12, "dead");
}

int heat_write(FILE *to, const struct heat *h)
{
	double width, height, most = 0; /* the dark end of the scale */
	bool any_dead = false;
	struct svg s;
	int r = heat_check(h);
	if (r)
		return r;
	const struct heat_layout *layout =
		h->nodes <= CIRCLE_NODES ? &heat_circle : &heat_matrix;
	if (h->dimensions)
		layout = h->nodes <= GRID_NODES ? &heat_grid : &heat_cells;
	for (uint64_t i = 0; i < h->count; i++)
		if (h->link[i].dead)
			any_dead = true;
		else
			most = fmax(most, h->link[i].load);
	if (!(most > 0 && isfinite(most)))
		most = 1;
	layout->size(h, &width, &height);
	svg_open(&s, to, fmax(width, WIDTH_LEAST), HEAT_TOP + height + LEGEND,
		h->title);
	svg_text(&s, (struct svg_at){ HEAT_MARGIN, 28 }, SVG_START, 16,
		h->title);
	if (h->subtitle)
		svg_text(&s, (struct svg_at){ HEAT_MARGIN, 47 }, SVG_START, 12,
			h->subtitle);
	r = layout->draw(&s, h, most);
	scale_draw(&s, h, most, any_dead, HEAT_TOP + height + 10);
	int closed = svg_close(&s);
	return r ? r : closed;
}
