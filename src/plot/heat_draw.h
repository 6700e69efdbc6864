/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files that draw heat maps: where, and in which colours. */
#ifndef CAY_PLOT_HEAT_DRAW_H
#define CAY_PLOT_HEAT_DRAW_H

#include "plot/colour.h"
#include "plot/heat.h"
#include "plot/svg.h"

#define HEAT_TOP    64	/* the heading; the map lies below */
#define HEAT_HINT   128 /* bytes of a hint */
#define HEAT_MARGIN 30

/* A way to draw it; `size` is asked first. */
struct heat_layout {
	void (*size)(const struct heat *, double *width, double *height);
	/* 0 or -ENOMEM. */
	int (*draw)(struct svg *, const struct heat *, double most);
};

extern const struct heat_layout heat_grid, heat_cells, heat_circle, heat_matrix;

void heat_colour(const struct heat_link *, double most, char[COLOUR_BYTES]);
void heat_hint(const struct heat *, const struct heat_link *, char[HEAT_HINT]);
/* A wedge from one point to another, on the right side of the way. */
void heat_wedge(struct svg *, const struct heat *, const struct heat_link *,
	double most, struct svg_at from, struct svg_at to, double width);

#endif
