/* SPDX-License-Identifier: BSD-2-Clause */
/* See colour.h. */
#include "plot/colour.h"

#include <math.h>
#include <stdio.h>

#include "base/bits.h"

/* From straw over red to almost black, of even lightness steps. */
static const unsigned char stops[][3] = {
	{ 0xfc, 0xf3, 0xcf },
	{ 0xfd, 0xc4, 0x6b },
	{ 0xf5, 0x87, 0x3c },
	{ 0xd9, 0x46, 0x3d },
	{ 0x9c, 0x1f, 0x55 },
	{ 0x4f, 0x12, 0x53 },
	{ 0x16, 0x0b, 0x2e },
};

void colour_share(double share, char colour[COLOUR_BYTES])
{
	unsigned last = ARRAY_COUNT(stops) - 1, rgb[3];
	if (!(share > 0))
		share = 0;
	double at = fmin(share, 1) * last;
	unsigned i = at < last ? (unsigned)at : last - 1;
	for (int c = 0; c < 3; c++) {
		double from = stops[i][c], to = stops[i + 1][c];
		rgb[c] = (unsigned)lround(from + (to - from) * (at - i)) & 0xff;
	}
	snprintf(colour, COLOUR_BYTES, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

const char *colour_series(unsigned number)
{
	static const char *const series[] = { "#0072b2", "#d55e00", "#009e73",
		"#cc79a7", "#56b4e9", "#e69f00", "#222222", "#8c6d31" };
	return series[number % ARRAY_COUNT(series)];
}
