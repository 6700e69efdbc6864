/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dragonflies: groups of `a` routers with `p` hosts and `h` global links each.
 * The routers of a group are fully connected, and so are the a * h + 1 groups.
 *
 * Router r of group g has the number g * a + r. Its ports 0 to a - 2 lead to
 * the other routers of the group in ascending order, and ports a - 1 and up are
 * its global links. Global link j of a group, at router j / h, leads to the
 * group that is j + 1 further (the palm-tree arrangement).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/topology/class.h"

static int dragonfly_open(
	struct topology *t, const uint32_t *size, unsigned count)
{
	if (count != 3 || size[0] < 1 || size[1] < 1 || size[2] < 1)
		return -EINVAL;
	uint32_t p = size[0], a = size[1], h = size[2];
	if (p > TOPOLOGY_HOSTS_MAX || a > TOPOLOGY_PORTS_MAX ||
		h > TOPOLOGY_PORTS_MAX)
		return -E2BIG;
	uint32_t groups = a * h + 1;
	int r = topology_open(
		t, &topology_class_dragonfly, (uint64_t)groups * a, a - 1 + h);
	if (r)
		return r;
	for (uint32_t g = 0; g < groups; g++) {
		for (uint32_t x = 0; x < a; x++)
			for (uint32_t y = x + 1; y < a; y++)
				topology_link(
					t, g * a + x, y - 1, g * a + y, x);
		for (uint32_t j = 0; j < a * h; j++) {
			uint32_t to = (g + j + 1) % groups;
			/* From there it is groups - (j + 1) further. */
			uint32_t back = groups - j - 2;
			if (g < to)
				topology_link(t, g * a + j / h, a - 1 + j % h,
					to * a + back / h, a - 1 + back % h);
		}
	}
	uint8_t *hosts = malloc(t->nodes);
	if (hosts)
		memset(hosts, (int)p, t->nodes);
	r = hosts ? topology_hosts(t, hosts) : -ENOMEM;
	free(hosts);
	if (r)
		topology_free(t);
	return r;
}

const struct topology_class topology_class_dragonfly = {
	.name = "dragonfly",
	.sizes = "hosts of a router (1 to 15), routers of a group, and global "
		 "links of a router",
	.sizes_least = 3,
	.sizes_most = 3,
	.size_least = 1,
	.standard = { 2, 4, 2 },
	.standard_count = 3,
	.open = dragonfly_open,
	.routing = "minimal",
};
