/* SPDX-License-Identifier: BSD-2-Clause */
/* See curve.h. */
#include "plot/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plot/colour.h"
#include "plot/svg.h"

#define WIDTH	   780
#define HEIGHT	   460
#define TICKS_MOST 8
/* End of the vertical axis near saturation, in multiples of the least value. */
#define TOP_LEAST 3
#define TOP_MOST  8

static const struct svg_box area = { 70, 60, 480, 340 };

/* Ends of the axes, which begin at 0. */
struct curve_axes {
	double x, y;
};

double curve_step(double span, unsigned most)
{
	double rough = span / most, unit = pow(10, floor(log10(rough)));
	static const double round[] = { 1, 2, 5 };
	for (int i = 0; i < 3; i++)
		if (round[i] * unit >= rough * (1 - 1e-9))
			return round[i] * unit;
	return 10 * unit;
}

static bool is_drawn(const struct curve_point *p)
{
	return isfinite(p->x) && isfinite(p->y);
}

/* ---- axes ---- */

static struct curve_axes axes_of(const struct curve *c)
{
	double x = c->limit, least = INFINITY, y = 0;
	bool saturated = false;
	for (unsigned s = 0; s < c->count; s++)
		for (unsigned i = 0; i < c->series[s].count; i++) {
			const struct curve_point *p = &c->series[s].point[i];
			if (!is_drawn(p))
				continue;
			x = fmax(x, p->x);
			least = fmin(least, p->y);
			if (p->saturated)
				saturated = true;
			else
				y = fmax(y, p->y);
		}
	if (!isfinite(least) || least <= 0) {
		y = y > 0 ? y : 1;
	} else {
		if (saturated)
			y = fmax(y, TOP_LEAST * least);
		y = fmin(y, TOP_MOST * least);
	}
	x = x > 0 ? x : 1;
	y *= 1.05;
	double step_x = curve_step(x, TICKS_MOST);
	double step_y = curve_step(y, TICKS_MOST);
	return (struct curve_axes){ ceil(x / step_x - 1e-9) * step_x,
		ceil(y / step_y - 1e-9) * step_y };
}

/* Clamped far above the image. */
static struct svg_at point_at(const struct curve_axes *ends, double x, double y)
{
	double up = fmin(y / ends->y, 20);
	return (struct svg_at){ area.x + area.width * x / ends->x,
		area.y + area.height * (1 - up) };
}

static void axes_draw(
	struct svg *s, const struct curve *c, const struct curve_axes *ends)
{
	double step_x = curve_step(ends->x, TICKS_MOST);
	double step_y = curve_step(ends->y, TICKS_MOST);
	unsigned ticks_x = (unsigned)(ends->x / step_x + 0.5);
	unsigned ticks_y = (unsigned)(ends->y / step_y + 0.5);
	struct svg_at origin = point_at(ends, 0, 0);
	char text[32];
	for (unsigned i = 0; i <= ticks_x; i++) {
		struct svg_at at = point_at(ends, i * step_x, 0);
		svg_line(s, at, point_at(ends, i * step_x, ends->y), "#e4e4e4",
			1);
		snprintf(text, sizeof(text), "%.6g", i * step_x);
		at.y += 18;
		svg_text(s, at, SVG_MIDDLE, 12, text);
	}
	for (unsigned i = 0; i <= ticks_y; i++) {
		struct svg_at at = point_at(ends, 0, i * step_y);
		svg_line(s, at, point_at(ends, ends->x, i * step_y), "#e4e4e4",
			1);
		snprintf(text, sizeof(text), "%.6g", i * step_y);
		at.x -= 8;
		at.y += 4;
		svg_text(s, at, SVG_END, 12, text);
	}
	svg_line(s, origin, point_at(ends, ends->x, 0), "#222222", 1.5);
	svg_line(s, origin, point_at(ends, 0, ends->y), "#222222", 1.5);
	svg_text(s, (struct svg_at){ area.x + area.width / 2, HEIGHT - 18 },
		SVG_MIDDLE, 13, c->x_label);
	svg_text_up(s, (struct svg_at){ 22, area.y + area.height / 2 }, 13,
		c->y_label);
	svg_text(s, (struct svg_at){ area.x, 26 }, SVG_START, 16, c->title);
	if (c->subtitle)
		svg_text(s, (struct svg_at){ area.x, 45 }, SVG_START, 12,
			c->subtitle);
}

static void limit_draw(
	struct svg *s, const struct curve *c, const struct curve_axes *ends)
{
	char text[64];
	if (!(c->limit > 0))
		return;
	struct svg_at up = point_at(ends, c->limit, ends->y);
	struct svg_at low = point_at(ends, c->limit, 0);
	svg_dashes(s, low, up, "#777777", 1);
	snprintf(text, sizeof(text), "saturation %.3g", c->limit);
	low.x -= 4;
	low.y -= 6;
	svg_text(s, low, SVG_END, 11, text);
}

/* ---- series ---- */

/* A point, or an arrow at the upper edge if it is above the axis. */
static void point_draw(struct svg *s, const struct curve_axes *ends,
	const struct curve_point *p, const char *colour)
{
	char hint[64];
	struct svg_at at = point_at(ends, p->x, p->y);
	snprintf(hint, sizeof(hint), "%.4g: %.5g%s", p->x, p->y,
		p->saturated ? ", saturated" : "");
	if (p->y <= ends->y) {
		svg_circle(s, at, 3.5, p->saturated ? "#ffffff" : colour,
			colour, hint);
		return;
	}
	const struct svg_at arrow[] = { { at.x, area.y - 9 },
		{ at.x - 5, area.y - 1 }, { at.x + 5, area.y - 1 } };
	svg_polygon(s, arrow, 3, colour, hint);
}

static int series_draw(struct svg *s, const struct curve_axes *ends,
	const struct curve_series *series, const char *colour)
{
	struct svg_at *at = malloc((series->count + 1) * sizeof(*at));
	unsigned n = 0;
	if (!at)
		return -ENOMEM;
	for (unsigned i = 0; i < series->count; i++)
		if (is_drawn(&series->point[i]))
			at[n++] = point_at(
				ends, series->point[i].x, series->point[i].y);
	svg_clip_begin(s, area);
	svg_polyline(s, at, n, colour, 2);
	svg_clip_end(s);
	free(at);
	for (unsigned i = 0; i < series->count; i++)
		if (is_drawn(&series->point[i]))
			point_draw(s, ends, &series->point[i], colour);
	return 0;
}

static void legend_draw(struct svg *s, const struct curve *c)
{
	double x = area.x + area.width + 20, y = area.y + 10;
	for (unsigned i = 0; i < c->count; i++, y += 20) {
		const char *colour = colour_series(i);
		svg_line(s, (struct svg_at){ x, y },
			(struct svg_at){ x + 22, y }, colour, 2);
		svg_circle(s, (struct svg_at){ x + 11, y }, 3.5, colour, colour,
			NULL);
		svg_text(s, (struct svg_at){ x + 28, y + 4 }, SVG_START, 12,
			c->series[i].label);
	}
	svg_circle(s, (struct svg_at){ x + 11, y }, 3.5, "#ffffff", "#222222",
		NULL);
	svg_text(s, (struct svg_at){ x + 28, y + 4 }, SVG_START, 12,
		"saturated");
}

int curve_write(FILE *to, const struct curve *c)
{
	struct curve_axes ends = axes_of(c);
	struct svg s;
	int r = 0;
	svg_open(&s, to, WIDTH, HEIGHT, c->title);
	axes_draw(&s, c, &ends);
	limit_draw(&s, c, &ends);
	for (unsigned i = 0; i < c->count && r == 0; i++)
		r = series_draw(&s, &ends, &c->series[i], colour_series(i));
	legend_draw(&s, c);
	int closed = svg_close(&s);
	return r ? r : closed;
}
