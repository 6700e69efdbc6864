/* SPDX-License-Identifier: BSD-2-Clause */
/* See heat_draw.h. */
#include "plot/heat_draw.h"

#include <math.h>

void heat_colour(
	const struct heat_link *l, double most, char colour[COLOUR_BYTES])
{
	if (l->dead)
		snprintf(colour, COLOUR_BYTES, "%s", COLOUR_GREY);
	else
		colour_share(l->load / most, colour);
}

void heat_hint(
	const struct heat *h, const struct heat_link *l, char hint[HEAT_HINT])
{
	if (l->dead)
		snprintf(hint, HEAT_HINT, "%u to %u, port %u: dead", l->from,
			l->to, l->port);
	else
		snprintf(hint, HEAT_HINT, "%u to %u, port %u: %.4g %s", l->from,
			l->to, l->port, l->load, h->unit);
}

void heat_wedge(struct svg *s, const struct heat *h, const struct heat_link *l,
	double most, struct svg_at from, struct svg_at to, double width)
{
	char colour[COLOUR_BYTES], hint[HEAT_HINT];
	double x = to.x - from.x, y = to.y - from.y, length = hypot(x, y);
	if (!(length > 0))
		return;
	/* Unit vector to the right of the direction. */
	struct svg_at right = { -y / length * width, x / length * width };
	const struct svg_at corner[] = {
		{ from.x + right.x * 0.15, from.y + right.y * 0.15 },
		{ from.x + right.x * 1.15, from.y + right.y * 1.15 },
		{ to.x + right.x * 0.4, to.y + right.y * 0.4 },
	};
	heat_colour(l, most, colour);
	heat_hint(h, l, hint);
	svg_polygon(s, corner, 3, colour, hint);
}
