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
/* How much of the growth near saturation is shown, of the least value. */
#define TOP_LEAST 3
#define TOP_MOST  8

static const struct svg_box area = { 70, 60, 480, 340 };

/* What the axes span, both from 0 on. */
struct span {
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

static bool point_there(const struct curve_point *p)
{
	return isfinite(p->x) && isfinite(p->y);
}

/* ---- what is shown ---- */

struct extent {
	double x, least, steady; /* the most of x and of what is steady */
	bool saturated;
};

static void extent_add(struct extent *e, const struct curve_point *p)
{
	if (!point_there(p))
		return;
	e->x = fmax(e->x, p->x);
	e->least = fmin(e->least, p->y);
	if (p->saturated)
		e->saturated = true;
	else
		e->steady = fmax(e->steady, p->y);
}

static double top(const struct extent *e)
{
	double y = e->steady;
	if (!isfinite(e->least) || e->least <= 0)
		return y > 0 ? y : 1;
	if (e->saturated)
		y = fmax(y, TOP_LEAST * e->least);
	return fmin(y, TOP_MOST * e->least);
}

static struct span span_of(const struct curve *c)
{
	struct extent e = { .x = c->limit, .least = INFINITY };
	for (unsigned s = 0; s < c->count; s++)
		for (unsigned i = 0; i < c->series[s].count; i++)
			extent_add(&e, &c->series[s].point[i]);
	double x = e.x > 0 ? e.x : 1, y = top(&e) * 1.05;
	double step_x = curve_step(x, TICKS_MOST);
	double step_y = curve_step(y, TICKS_MOST);
	return (struct span){ ceil(x / step_x - 1e-9) * step_x,
		ceil(y / step_y - 1e-9) * step_y };
}

/* What goes far out of the picture need not go further. */
static struct svg_at place(const struct span *span, double x, double y)
{
	double up = fmin(y / span->y, 20);
	return (struct svg_at){ area.x + area.width * x / span->x,
		area.y + area.height * (1 - up) };
}

/* ---- axes ---- */

static void axis_x(struct svg *s, const struct span *span)
{
	double step = curve_step(span->x, TICKS_MOST);
	unsigned count = (unsigned)(span->x / step + 0.5);
	char text[32];
	for (unsigned i = 0; i <= count; i++) {
		struct svg_at at = place(span, i * step, 0);
		svg_line(s, at, place(span, i * step, span->y), "#e4e4e4", 1);
		snprintf(text, sizeof(text), "%.6g", i * step);
		at.y += 18;
		svg_text(s, at, SVG_MIDDLE, 12, text);
	}
}

static void axis_y(struct svg *s, const struct span *span)
{
	double step = curve_step(span->y, TICKS_MOST);
	unsigned count = (unsigned)(span->y / step + 0.5);
	char text[32];
	for (unsigned i = 0; i <= count; i++) {
		struct svg_at at = place(span, 0, i * step);
		svg_line(s, at, place(span, span->x, i * step), "#e4e4e4", 1);
		snprintf(text, sizeof(text), "%.6g", i * step);
		at.x -= 8;
		at.y += 4;
		svg_text(s, at, SVG_END, 12, text);
	}
}

static void axes(struct svg *s, const struct curve *c, const struct span *span)
{
	double middle = area.x + area.width / 2;
	axis_x(s, span);
	axis_y(s, span);
	svg_line(s, place(span, 0, 0), place(span, span->x, 0), "#222222", 1.5);
	svg_line(s, place(span, 0, 0), place(span, 0, span->y), "#222222", 1.5);
	svg_text(s, (struct svg_at){ middle, HEIGHT - 18 }, SVG_MIDDLE, 13,
		c->x_label);
	svg_text_up(s, (struct svg_at){ 22, area.y + area.height / 2 }, 13,
		c->y_label);
	svg_text(s, (struct svg_at){ area.x, 26 }, SVG_START, 16, c->title);
	if (c->subtitle)
		svg_text(s, (struct svg_at){ area.x, 45 }, SVG_START, 12,
			c->subtitle);
}

static void limit_draw(
	struct svg *s, const struct curve *c, const struct span *span)
{
	char text[64];
	if (!(c->limit > 0))
		return;
	struct svg_at up = place(span, c->limit, span->y);
	struct svg_at low = place(span, c->limit, 0);
	svg_dashes(s, low, up, "#777777", 1);
	snprintf(text, sizeof(text), "saturation %.3g", c->limit);
	low.x -= 4;
	low.y -= 6;
	svg_text(s, low, SVG_END, 11, text);
}

/* ---- series ---- */

/* A point, or if it is too high an arrow at the upper edge. */
static void mark(struct svg *s, const struct span *span,
	const struct curve_point *p, const char *colour)
{
	char hint[64];
	struct svg_at at = place(span, p->x, p->y);
	snprintf(hint, sizeof(hint), "%.4g: %.5g%s", p->x, p->y,
		p->saturated ? ", saturated" : "");
	if (p->y <= span->y) {
		svg_circle(s, at, 3.5, p->saturated ? "#ffffff" : colour,
			colour, hint);
		return;
	}
	const struct svg_at arrow[] = { { at.x, area.y - 9 },
		{ at.x - 5, area.y - 1 }, { at.x + 5, area.y - 1 } };
	svg_polygon(s, arrow, 3, colour, hint);
}

static int series_draw(struct svg *s, const struct span *span,
	const struct curve_series *series, const char *colour)
{
	struct svg_at *at = malloc((series->count + 1) * sizeof(*at));
	unsigned n = 0;
	if (!at)
		return -ENOMEM;
	for (unsigned i = 0; i < series->count; i++)
		if (point_there(&series->point[i]))
			at[n++] = place(
				span, series->point[i].x, series->point[i].y);
	svg_clip_begin(s, area);
	svg_polyline(s, at, n, colour, 2);
	svg_clip_end(s);
	free(at);
	for (unsigned i = 0; i < series->count; i++)
		if (point_there(&series->point[i]))
			mark(s, span, &series->point[i], colour);
	return 0;
}

static void legend(struct svg *s, const struct curve *c)
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
	struct span span = span_of(c);
	struct svg s;
	int r = 0;
	svg_open(&s, to, WIDTH, HEIGHT, c->title);
	axes(&s, c, &span);
	limit_draw(&s, c, &span);
	for (unsigned i = 0; i < c->count && r == 0; i++)
		r = series_draw(&s, &span, &c->series[i], colour_series(i));
	legend(&s, c);
	int closed = svg_close(&s);
	return r ? r : closed;
}
