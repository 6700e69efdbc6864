/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plot of values over load, such as latencies, as SVG: several series with
 * names, axes with round numbers. Near saturation such values grow without
 * bound, so the upright axis ends at a few times the least of them; what lies
 * above goes out of the picture. Points that are saturated are hollow.
 */
#ifndef CAY_PLOT_CURVE_H
#define CAY_PLOT_CURVE_H

#include <stdbool.h>
#include <stdio.h>

struct curve_point {
	double x, y; /* not finite: there is none */
	bool saturated;
};

struct curve_series {
	const char *label;
	const struct curve_point *point; /* in the order of x */
	unsigned count;
};

struct curve {
	const char *title, *subtitle, *x_label, *y_label;
	const struct curve_series *series;
	unsigned count;
	double limit; /* a line upright there, if it is above 0 */
};

/* 0, -ENOMEM, or -errno if not all could be written. */
int curve_write(FILE *, const struct curve *);

/* The round number (1, 2 or 5 and zeros) that divides a span in at most `most`
 * parts. The span is finite and above 0. */
double curve_step(double span, unsigned most);

#endif
