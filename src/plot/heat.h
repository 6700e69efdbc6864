/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heat map of link loads as SVG. Each direction of a link is a wedge that
 * points from its source to its destination; a darker wedge has more load. The
 * nodes of a grid are at their coordinates, planes of a third dimension side by
 * side; wrap-around links are short, and links to another plane are diagonal. A
 * large grid has a square for each node. Other networks are drawn on a circle,
 * or as a matrix if they are large.
 */
#ifndef CAY_PLOT_HEAT_H
#define CAY_PLOT_HEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HEAT_DIMENSIONS_MAX 3

/* One direction of a link. */
struct heat_link {
	uint32_t from, to;
	unsigned port; /* of a grid: 2 * d goes up in dimension d, + 1 down */
	double load;
	bool dead;
};

struct heat {
	const char *title, *subtitle;
	const char *unit; /* of the load */
	uint32_t nodes;
	unsigned dimensions; /* 0: not a grid */
	uint32_t size[HEAT_DIMENSIONS_MAX];
	const struct heat_link *link;
	uint64_t count;
};

/*
 * Writes a heat map. Returns 0; -EINVAL: no such node, or sizes that do not
 * match the number of nodes; -ENOMEM; or -errno of the stream.
 */
int heat_write(FILE *, const struct heat *);

#endif
