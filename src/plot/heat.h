/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map of how much links carry, as SVG: every direction of a link is a wedge
 * from where it leaves to where it leads, the darker the more. Nodes of a grid
 * lie as they are numbered, planes of a third dimension beside each other;
 * links that go round are short, and those to another plane go askew. Other
 * networks are drawn on a circle, or as a matrix if that would be a tangle, and
 * large grids as one square for each node.
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
	unsigned dimensions; /* 0: it is no grid */
	uint32_t size[HEAT_DIMENSIONS_MAX];
	const struct heat_link *link;
	uint64_t count;
};

/*
 * 0; -EINVAL: a node that there is not, or sizes that are not those of so many
 * nodes; -ENOMEM; or -errno if not all could be written.
 */
int heat_write(FILE *, const struct heat *);

#endif
