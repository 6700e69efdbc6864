/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plot of values over load, such as latencies, as SVG: several series with
 * labels, axes with round numbers. Near saturation values grow without bound,
 * so the vertical axis ends at a few times the least value and clips the
 * curves. Saturated points are hollow.
 */
#ifndef CAY_PLOT_CURVE_H
#define CAY_PLOT_CURVE_H

#include <stdbool.h>
#include <stdio.h>

struct curve_point {
	double x, y; /* not finite: omitted */
	bool saturated;
};

struct curve_series {
	const char *label;
	const struct curve_point *point; /* sorted by x */
	unsigned count;
};

struct curve {
	const char *title, *subtitle, *x_label, *y_label;
	const struct curve_series *series;
	unsigned count;
	double limit; /* x of a vertical line, if above 0 */
};

/* Writes a plot. Returns 0, -ENOMEM, or -errno of the stream. */
int curve_write(FILE *, const struct curve *);

/*
 * The tick distance (1, 2 or 5 times a power of ten) that divides a span into
 * at most `most` parts. The span is finite and above 0.
 */
double curve_step(double span, unsigned most);

#endif
