/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the layouts of heat maps: geometry, colours, wedges. */
#ifndef CAY_PLOT_HEAT_DRAW_H
#define CAY_PLOT_HEAT_DRAW_H

#include "plot/colour.h"
#include "plot/heat.h"
#include "plot/svg.h"

#define HEAT_TOP    64	/* height of the heading, above the map */
#define HEAT_HINT   128 /* bytes of a tooltip */
#define HEAT_MARGIN 30

/* A layout; `size` is called before `draw`. */
struct heat_layout {
	void (*size)(const struct heat *, double *width, double *height);
	/* 0 or -ENOMEM. */
	int (*draw)(struct svg *, const struct heat *, double most);
};

extern const struct heat_layout heat_grid, heat_cells, heat_circle, heat_matrix;

void heat_colour(const struct heat_link *, double most, char[COLOUR_BYTES]);
void heat_hint(const struct heat *, const struct heat_link *, char[HEAT_HINT]);
/* Draws a wedge from one point to another, on the right of the line. */
void heat_wedge(struct svg *, const struct heat *, const struct heat_link *,
	double most, struct svg_at from, struct svg_at to, double width);

#endif
