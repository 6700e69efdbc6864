/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * k-ary n-trees: fat trees of n levels of k^(n-1) routers with k ports down
 * and, except at the top, k ports up. The routers of level 0 have k hosts each,
 * the others none, so there are k^n hosts.
 *
 * Routers are numbered level by level. Within a level, the number of a router
 * has n-1 digits to the base k. Port k + i of a router of level l leads up, to
 * the router of level l + 1 that has i as digit l and the same other digits; it
 * arrives there at the port that is the digit l of the lower router.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/topology/class.h"

static int fat_tree_open(
	struct topology *t, const uint32_t *size, unsigned count)
{
	if (count != 2 || size[0] < 2 || size[1] < 1)
		return -EINVAL;
	uint32_t k = size[0], levels = size[1];
	uint64_t row = 1; /* routers of a level */
	if (levels > 20 || 2ull * k > TOPOLOGY_PORTS_MAX ||
		k > TOPOLOGY_HOSTS_MAX)
		return -E2BIG;
	for (unsigned i = 1; i < levels; i++) {
		row *= k;
		if (row > TOPOLOGY_NODES_MAX)
			return -E2BIG;
	}
	int r = topology_open(t, &topology_class_fat_tree, row * levels, 2 * k);
	if (r)
		return r;
	uint8_t *hosts = calloc(t->nodes, 1);
	t->level = malloc(t->nodes * sizeof(*t->level));
	if (!hosts || !t->level) {
		free(hosts);
		topology_free(t);
		return -ENOMEM;
	}
	uint32_t digit = 1; /* weight of the digit that a level changes */
	for (uint32_t level = 0; level < levels; level++) {
		for (uint32_t i = 0; i < row; i++) {
			uint32_t node = (uint32_t)(level * row + i);
			uint32_t own = i / digit % k;
			/* Level 0 of the tree is at the top. */
			t->level[node] = levels - 1 - level;
			hosts[node] = level == 0 ? (uint8_t)k : 0;
			for (uint32_t up = 0; level + 1 < levels && up < k;
				up++)
				topology_link(t, node, k + up,
					(uint32_t)((level + 1) * row) + i +
						(up - own) * digit,
					own);
		}
		digit *= k;
	}
	r = topology_hosts(t, hosts);
	free(hosts);
	if (r)
		topology_free(t);
	return r;
}

const struct topology_class topology_class_fat_tree = {
	.name = "fat-tree",
	.sizes = "ports down and up of a router (2 to 15), and levels",
	.sizes_least = 2,
	.sizes_most = 2,
	.size_least = 2,
	.standard = { 4, 3 },
	.standard_count = 2,
	.open = fat_tree_open,
	.routing = "minimal",
};
