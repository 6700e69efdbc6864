/* SPDX-License-Identifier: BSD-2-Clause */
/* See tree.h. */
#include "network/topology/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tree_free(struct tree *t)
{
	free(t->up);
	free(t->down);
	free(t->order);
	*t = (struct tree){ 0 };
}

int tree_open(struct tree *t, const struct topology *topology, uint32_t root)
{
	*t = (struct tree){ .topology = topology, .root = root };
	if (root >= topology->nodes)
		return -EINVAL;
	t->up = malloc(topology->nodes * sizeof(*t->up));
	t->down = calloc(topology->nodes, sizeof(*t->down));
	t->order = malloc(topology->nodes * sizeof(*t->order));
	if (!t->up || !t->down || !t->order) {
		tree_free(t);
		return -ENOMEM;
	}
	memset(t->up, TREE_NO_PORT, topology->nodes * sizeof(*t->up));
	t->order[t->reached++] = root;
	for (uint32_t i = 0; i < t->reached; i++) {
		uint32_t node = t->order[i];
		/* Neighbours that are not in the tree become children. */
		for (unsigned p = 0; p < topology->ports; p++) {
			uint32_t next = topology_next(topology, node, p);
			if (next == TOPOLOGY_NOWHERE || next == root ||
				t->up[next] != TREE_NO_PORT)
				continue;
			uint64_t link = (uint64_t)node * topology->ports + p;
			t->up[next] = topology->peer_port[link];
			t->down[node] |= 1u << p;
			t->order[t->reached++] = next;
		}
	}
	return 0;
}

/*
 * `order` lists the nodes level by level; the children of a level form the next
 * one. The topology is not consulted, as it may have lost links.
 */
uint32_t tree_depth(const struct tree *t)
{
	uint32_t depth = 0, first = 0, last = 1;
	while (last < t->reached) {
		uint32_t end = last;
		for (; first < last; first++)
			end += (uint32_t)__builtin_popcount(
				t->down[t->order[first]]);
		last = end;
		depth++;
	}
	return depth;
}
