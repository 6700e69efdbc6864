/* SPDX-License-Identifier: BSD-2-Clause */
/* See svg.h. */
#include "plot/svg.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* ---- text ---- */

/*
 * Bytes of the next character; 0 if it is invalid, or not allowed in XML 1.0,
 * which has no control characters except tabs and line ends.
 */
static size_t character_bytes(const unsigned char *s)
{
	uint32_t code;
	size_t bytes = utf8_next(s, &code);
	if (bytes == 0 || code == 0xfffe || code == 0xffff)
		return 0;
	bool allowed = code >= 0x20 || code == '\t' || code == '\n' ||
		       code == '\r';
	return allowed ? bytes : 0;
}

static const char *entity(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

static void put_escaped(FILE *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	while (*s) {
		size_t bytes = character_bytes(s);
		const char *name = entity(*s);
		if (bytes == 0)
			fputs("\xef\xbf\xbd", to); /* U+FFFD */
		else if (name)
			fputs(name, to);
		else
			fwrite(s, 1, bytes, to);
		s += bytes ? bytes : 1;
	}
}

static void text_begin(struct svg *s, enum svg_anchor anchor, double size)
{
	static const char *const names[] = { [SVG_START] = "start",
		[SVG_MIDDLE] = "middle",
		[SVG_END] = "end" };
	fprintf(s->to, "<text font-size=\"%g\" text-anchor=\"%s\" ", size,
		names[anchor]);
}

static void text_end(struct svg *s, const char *text)
{
	put_escaped(s->to, text);
	fputs("</text>\n", s->to);
}

void svg_text(struct svg *s, struct svg_at at, enum svg_anchor anchor,
	double size, const char *text)
{
	text_begin(s, anchor, size);
	fprintf(s->to, "x=\"%.2f\" y=\"%.2f\">", at.x, at.y);
	text_end(s, text);
}

void svg_text_up(struct svg *s, struct svg_at at, double size, const char *text)
{
	text_begin(s, SVG_MIDDLE, size);
	fprintf(s->to, "transform=\"translate(%.2f %.2f) rotate(-90)\">", at.x,
		at.y);
	text_end(s, text);
}

/* ---- the image ---- */

void svg_open(
	struct svg *s, FILE *to, double width, double height, const char *title)
{
	s->to = to;
	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" fill=\"#222222\">\n<title>",
		width, height, width, height);
	put_escaped(to, title);
	fputs("</title>\n", to);
	svg_box(s, (struct svg_box){ 0, 0, width, height }, "#ffffff", NULL);
}

int svg_close(struct svg *s)
{
	fputs("</svg>\n", s->to);
	if (fflush(s->to) != 0)
		return -errno;
	return ferror(s->to) ? -EIO : 0;
}

void svg_clip_begin(struct svg *s, struct svg_box b)
{
	/* A nested image clips, and needs no ID. */
	fprintf(s->to,
		"<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
		"viewBox=\"%.2f %.2f %.2f %.2f\" overflow=\"hidden\">\n",
		b.x, b.y, b.width, b.height, b.x, b.y, b.width, b.height);
}

void svg_clip_end(struct svg *s)
{
	fputs("</svg>\n", s->to);
}

/* ---- shapes ---- */

/* Ends an element, with a tooltip if there is one. */
static void shape_end(struct svg *s, const char *name, const char *hint)
{
	if (!hint) {
		fputs("/>\n", s->to);
		return;
	}
	fputs("><title>", s->to);
	put_escaped(s->to, hint);
	fprintf(s->to, "</title></%s>\n", name);
}

void svg_box(
	struct svg *s, struct svg_box b, const char *fill, const char *hint)
{
	fprintf(s->to,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
		"fill=\"%s\"",
		b.x, b.y, b.width, b.height, fill);
	shape_end(s, "rect", hint);
}

static void put_points(struct svg *s, const struct svg_at *at, unsigned count)
{
	fputs(" points=\"", s->to);
	for (unsigned i = 0; i < count; i++)
		fprintf(s->to, "%s%.2f,%.2f", i ? " " : "", at[i].x, at[i].y);
	fputc('"', s->to);
}

void svg_polygon(struct svg *s, const struct svg_at *at, unsigned count,
	const char *fill, const char *hint)
{
	fprintf(s->to, "<polygon fill=\"%s\"", fill);
	put_points(s, at, count);
	shape_end(s, "polygon", hint);
}

void svg_polyline(struct svg *s, const struct svg_at *at, unsigned count,
	const char *stroke, double width)
{
	fprintf(s->to,
		"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" "
		"stroke-linejoin=\"round\"",
		stroke, width);
	put_points(s, at, count);
	shape_end(s, "polyline", NULL);
}

static void put_line(struct svg *s, struct svg_at from, struct svg_at to,
	const char *stroke, double width, const char *more)
{
	fprintf(s->to,
		"<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
		"stroke=\"%s\" stroke-width=\"%g\"%s/>\n",
		from.x, from.y, to.x, to.y, stroke, width, more);
}

void svg_line(struct svg *s, struct svg_at from, struct svg_at to,
	const char *stroke, double width)
{
	put_line(s, from, to, stroke, width, "");
}

void svg_dashes(struct svg *s, struct svg_at from, struct svg_at to,
	const char *stroke, double width)
{
	put_line(s, from, to, stroke, width, " stroke-dasharray=\"4 3\"");
}

void svg_circle(struct svg *s, struct svg_at at, double radius,
	const char *fill, const char *stroke, const char *hint)
{
	fprintf(s->to,
		"<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\" "
		"stroke=\"%s\" stroke-width=\"1.5\"",
		at.x, at.y, radius, fill, stroke);
	shape_end(s, "circle", hint);
}
