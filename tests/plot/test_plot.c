/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plots, heat maps and timelines: elements, escaping, NaN and infinity, invalid
 * input. A small XML reader checks that the output is well-formed.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "plot/colour.h"
#include "plot/curve.h"
#include "plot/heat.h"
#include "plot/svg.h"
#include "plot/timeline.h"

/* ---- output ---- */

struct text {
	char *text;
	size_t bytes;
	FILE *to;
};

static FILE *text_open(struct text *t)
{
	*t = (struct text){ 0 };
	t->to = open_memstream(&t->text, &t->bytes);
	assert_non_null(t->to);
	return t->to;
}

static void text_close(struct text *t)
{
	fclose(t->to);
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned n = 0;
	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Stack of open elements. */
struct elements {
	char name[16][16];
	unsigned depth;
};

static const char *name_read(const char *at, char name[16])
{
	unsigned n = 0;
	while (isalpha((unsigned char)*at) && n < 15)
		name[n++] = *at++;
	name[n] = 0;
	assert_true(n > 0);
	return at;
}

/* Reads a tag after its "<". Returns the position after its ">". */
static const char *tag_read(const char *at, struct elements *e)
{
	char name[16];
	bool closes = *at == '/';
	if (*at == '?')
		return strstr(at, "?>") + 2;
	at = name_read(at + closes, name);
	const char *end = strchr(at, '>');
	assert_non_null(end);
	assert_null(memchr(at, '<', (size_t)(end - at)));
	if (closes) {
		assert_true(e->depth > 0);
		assert_string_equal(e->name[--e->depth], name);
	} else if (end[-1] != '/') {
		assert_true(e->depth < 16);
		strcpy(e->name[e->depth++], name);
	}
	return end + 1;
}

static void assert_well_formed(const char *text)
{
	struct elements e = { .depth = 0 };
	const char *at = text;
	assert_int_equal(strncmp(text, "<?xml ", 6), 0);
	while (*at) {
		if (*at == '<') {
			at = tag_read(at + 1, &e);
			continue;
		}
		assert_true((unsigned char)*at >= 0x20 || *at == '\n');
		if (*at == '&')
			assert_non_null(memchr(at, ';', 6));
		at++;
	}
	assert_int_equal(e.depth, 0);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
}

/* ---- svg ---- */

static void text_is_escaped(void **state)
{
	static const char hostile[] = "<&\">\x01\xff\xc3\xa9\xed\xa0\x80";
	struct text t;
	struct svg s;
	(void)state;
	svg_open(&s, text_open(&t), 10, 10, hostile);
	svg_text(&s, (struct svg_at){ 1, 2 }, SVG_END, 9, hostile);
	svg_text_up(&s, (struct svg_at){ 1, 2 }, 9, "a]]>b");
	svg_box(&s, (struct svg_box){ 0, 0, 1, 1 }, "red", hostile);
	assert_int_equal(svg_close(&s), 0);
	text_close(&t);
	assert_well_formed(t.text);
	assert_int_equal(occurrences(t.text, "&lt;&amp;&quot;&gt;"), 3);
	assert_int_equal(occurrences(t.text, "\xc3\xa9"), 3);
	/* One U+FFFD for each invalid byte: 01, ff, ed, a0, 80. */
	assert_int_equal(occurrences(t.text, "\xef\xbf\xbd"), 15);
	free(t.text);
}

static void write_errors_are_returned(void **state)
{
	static const struct curve c = { "t", "s", "x", "y", NULL, 0, 0 };
	static const struct timeline line = { "t", NULL, 0 };
	FILE *full = fopen("/dev/full", "w");
	(void)state;
	if (!full)
		skip();
	assert_int_equal(curve_write(full, &c), -ENOSPC);
	clearerr(full);
	assert_int_equal(timeline_write(full, &line), -ENOSPC);
	fclose(full);
}

static void colours_range_from_light_to_dark(void **state)
{
	char low[COLOUR_BYTES], high[COLOUR_BYTES], other[COLOUR_BYTES];
	(void)state;
	colour_share(0, low);
	colour_share(1, high);
	assert_string_equal(low, "#fcf3cf");
	assert_string_equal(high, "#160b2e");
	colour_share(-3, other);
	assert_string_equal(other, low);
	colour_share(NAN, other);
	assert_string_equal(other, low);
	colour_share(7, other);
	assert_string_equal(other, high);
	assert_string_not_equal(colour_series(0), colour_series(1));
	assert_string_equal(colour_series(0), colour_series(8));
}

/* ---- curves ---- */

static void axis_steps_are_round(void **state)
{
	(void)state;
	assert_true(fabs(curve_step(1, 5) - 0.2) < 1e-12);
	assert_true(fabs(curve_step(0.6, 8) - 0.1) < 1e-12);
	assert_true(fabs(curve_step(137, 8) - 20) < 1e-9);
	assert_true(fabs(curve_step(8, 8) - 1) < 1e-12);
	assert_true(fabs(curve_step(3e-7, 8) / 5e-8 - 1) < 1e-9);
}

static char *curve_text(const struct curve *c)
{
	struct text t;
	assert_int_equal(curve_write(text_open(&t), c), 0);
	text_close(&t);
	assert_well_formed(t.text);
	return t.text;
}

static void curves_end_at_saturation(void **state)
{
	static const struct curve_point mean[] = { { 0.1, 20, false },
		{ 0.2, 22, false }, { 0.3, 30, false }, { 0.4, 5000, true },
		{ 0.5, NAN, true } };
	static const struct curve_point flat[] = { { 0.1, 10, false },
		{ 0.4, 12, true } };
	static const struct curve_series series[] = { { "mean <1>", mean, 5 },
		{ "flat", flat, 2 } };
	const struct curve c = { "title", "sub", "load", "latency", series, 2,
		0.3 };
	char *text = curve_text(&c);
	(void)state;
	assert_int_equal(occurrences(text, "<polyline"), 2);
	/* Five points in the plot, three in the legend; one is off the axis. */
	assert_int_equal(occurrences(text, "<circle"), 5 + 3);
	assert_int_equal(occurrences(text, "<polygon"), 1);
	assert_int_equal(occurrences(text, "saturated"), 1 + 2);
	assert_non_null(strstr(text, "mean &lt;1&gt;"));
	assert_non_null(strstr(text, "saturation 0.3"));
	/* The axis ends at about three times the lowest latency. */
	assert_non_null(strstr(text, ">30<"));
	assert_null(strstr(text, ">100<"));
	free(text);
}

static void empty_curves_are_drawn(void **state)
{
	static const struct curve_point odd[] = { { 0, 0, false },
		{ INFINITY, 1, false }, { 0.5, -NAN, true } };
	static const struct curve_series series[] = { { "odd", odd, 3 },
		{ "none", NULL, 0 } };
	const struct curve c = { "t", NULL, "x", "y", series, 2, 0 };
	const struct curve none = { "t", NULL, "x", "y", NULL, 0, 0 };
	(void)state;
	free(curve_text(&c));
	free(curve_text(&none));
}

/* ---- heat maps ---- */

static char *heat_text(const struct heat *h)
{
	struct text t;
	assert_int_equal(heat_write(text_open(&t), h), 0);
	text_close(&t);
	assert_well_formed(t.text);
	return t.text;
}

static void grids_have_one_wedge_per_direction(void **state)
{
	static const struct heat_link link[] = { { 0, 1, 0, 0.5, false },
		{ 1, 0, 1, 0.25, false }, { 0, 2, 2, 0, false },
		{ 0, 4, 4, 1, false }, { 4, 0, 5, 0.1, true } };
	const struct heat h = { "t", "s", "flits", 8, 3, { 2, 2, 2 }, link, 5 };
	char *text = heat_text(&h);
	(void)state;
	assert_int_equal(occurrences(text, "<polygon"), 5);
	assert_int_equal(occurrences(text, "<circle"), 8);
	assert_non_null(strstr(text, "0 to 4, port 4: 1 flits"));
	assert_non_null(strstr(text, "4 to 0, port 5: dead"));
	assert_non_null(strstr(text, "fill=\"" COLOUR_GREY "\""));
	/* The maximum has the darkest colour. */
	assert_non_null(strstr(text, "fill=\"#160b2e\" points"));
	free(text);
}

static struct heat_link *ring_links(uint32_t nodes)
{
	struct heat_link *link = calloc(nodes, sizeof(*link));
	assert_non_null(link);
	for (uint32_t i = 0; i < nodes; i++)
		link[i] = (struct heat_link){ i, (i + 1) % nodes, 0,
			(double)i / nodes, false };
	return link;
}

static void layout_depends_on_size(void **state)
{
	static const struct {
		uint32_t nodes;
		unsigned dimensions;
		const char *shape;
		unsigned count;
	} cases[] = {
		{ 64, 0, "<polygon", 64 },	 /* a circle */
		{ 65, 0, "<rect", 65 + 2 + 52 }, /* matrix and scale */
		{ 4096, 1, "<polygon", 4096 },
		{ 4097, 1, "<rect", 4097 + 1 + 52 }, /* squares */
		{ 2, 0, "<polygon", 2 },
	};
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
		struct heat_link *link = ring_links(cases[i].nodes);
		const struct heat h = { "t", NULL, "u", cases[i].nodes,
			cases[i].dimensions, { cases[i].nodes }, link,
			cases[i].nodes };
		char *text = heat_text(&h);
		assert_int_equal(
			occurrences(text, cases[i].shape), cases[i].count);
		free(text);
		free(link);
	}
}

static void empty_maps_are_drawn(void **state)
{
	static const struct heat_link idle = { 0, 1, 0, 0, false };
	const struct heat h = { "t", NULL, "u", 2, 1, { 2 }, &idle, 1 };
	const struct heat none = { "t", NULL, "u", 1, 0, { 0 }, NULL, 0 };
	(void)state;
	free(heat_text(&h));
	free(heat_text(&none));
}

static void invalid_maps_are_refused(void **state)
{
	static const struct heat_link far = { 0, 4, 0, 1, false };
	static const struct heat wrong[] = {
		{ "t", NULL, "u", 0, 0, { 0 }, NULL, 0 },
		{ "t", NULL, "u", 4, 2, { 2, 3 }, NULL, 0 },
		{ "t", NULL, "u", 4, 4, { 2, 2, 1 }, NULL, 0 },
		{ "t", NULL, "u", 4, 1, { 0 }, NULL, 0 },
		{ "t", NULL, "u", 4, 1, { 4 }, &far, 1 },
	};
	struct text t;
	(void)state;
	text_open(&t);
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		assert_int_equal(heat_write(t.to, &wrong[i]), -EINVAL);
	text_close(&t);
	assert_int_equal(t.bytes, 0);
	free(t.text);
}

/* ---- timelines ---- */

static void timelines_have_tracks_and_slices(void **state)
{
	static const struct timeline_hop first[] = { { 5, 0, 1, 0, 3 },
		{ 12, 1, 2, 0, 2 } };
	static const struct timeline_hop second[] = { { 30, 1, 2, 0, 2 } };
	static const struct timeline_packet packet[] = {
		{ 0, 2, 4, 1, 3, 21, "delivered", first, 2 },
		{ 1, 2, 1, 30, 30, 36, "cut", second, 1 },
		{ 3, 3, 1, 7, 7, 7, "delivered", NULL, 0 },
	};
	const struct timeline line = { "a \"title\"", packet, 3 };
	struct text t;
	(void)state;
	assert_int_equal(timeline_write(text_open(&t), &line), 0);
	text_close(&t);
	/* Two groups, two channels, three packets. */
	assert_int_equal(occurrences(t.text, "\"ph\":\"M\""), 2 + 2 + 3);
	/* Packets 3, queueing 1, at the source 3, hops 3, on links 3. */
	assert_int_equal(occurrences(t.text, "\"ph\":\"X\""), 3 + 1 + 3 + 6);
	assert_int_equal(
		occurrences(t.text, "\"1 to 2, port 0 channel 2\""), 1);
	assert_non_null(strstr(t.text, "{\"ph\":\"X\",\"pid\":1,\"tid\":1,"
				       "\"name\":\"packet 0: 0 to 2\",\"ts\":1,"
				       "\"dur\":20,\"args\":{\"flits\":4,"
				       "\"hops\":2,\"latency_cycles\":20,"
				       "\"end\":\"delivered\"}}"));
	assert_non_null(strstr(t.text, "{\"ph\":\"X\",\"pid\":2,\"tid\":1,"
				       "\"name\":\"packet 0: 0 to 2\",\"ts\":5,"
				       "\"dur\":4}"));
	assert_non_null(strstr(t.text, "\"a \\\"title\\\"\""));
	free(t.text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(write_errors_are_returned),
		cmocka_unit_test(colours_range_from_light_to_dark),
		cmocka_unit_test(axis_steps_are_round),
		cmocka_unit_test(curves_end_at_saturation),
		cmocka_unit_test(empty_curves_are_drawn),
		cmocka_unit_test(grids_have_one_wedge_per_direction),
		cmocka_unit_test(layout_depends_on_size),
		cmocka_unit_test(empty_maps_are_drawn),
		cmocka_unit_test(invalid_maps_are_refused),
		cmocka_unit_test(timelines_have_tracks_and_slices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
