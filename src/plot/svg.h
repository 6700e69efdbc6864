/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small SVG writer. It writes to a stream and keeps no state. The image is
 * self-contained: no font, style sheet or script. Any text is escaped, so the
 * output is always well-formed.
 *
 *	struct svg s;
 *	svg_open(&s, f, 640, 480, "an image");
 *	svg_line(&s, (struct svg_at){ 0, 0 }, (struct svg_at){ 9, 9 },
 *		"black", 1);
 *	return svg_close(&s);
 */
#ifndef CAY_PLOT_SVG_H
#define CAY_PLOT_SVG_H

#include <stdbool.h>
#include <stdio.h>

struct svg {
	FILE *to;
};

/* Coordinates from the upper left corner, to the right and down. */
struct svg_at {
	double x, y;
};

struct svg_box {
	double x, y, width, height;
};

enum svg_anchor {
	SVG_START,
	SVG_MIDDLE,
	SVG_END,
};

/* The title is for screen readers, and is not drawn. */
void svg_open(
	struct svg *, FILE *to, double width, double height, const char *title);
/* Ends the image and flushes. Returns 0, or -errno of the stream. */
int svg_close(struct svg *);

/* Clip to a box until svg_clip_end(). */
void svg_clip_begin(struct svg *, struct svg_box);
void svg_clip_end(struct svg *);

/* `hint` is a tooltip; NULL: none. */
void svg_box(struct svg *, struct svg_box, const char *fill, const char *hint);
void svg_polygon(struct svg *, const struct svg_at *, unsigned count,
	const char *fill, const char *hint);
void svg_polyline(struct svg *, const struct svg_at *, unsigned count,
	const char *stroke, double width);
void svg_line(struct svg *, struct svg_at from, struct svg_at to,
	const char *stroke, double width);
void svg_dashes(struct svg *, struct svg_at from, struct svg_at to,
	const char *stroke, double width);
void svg_circle(struct svg *, struct svg_at, double radius, const char *fill,
	const char *stroke, const char *hint);

void svg_text(struct svg *, struct svg_at, enum svg_anchor, double size,
	const char *text);
/* Rotated text that reads upwards. */
void svg_text_up(struct svg *, struct svg_at, double size, const char *text);

#endif
