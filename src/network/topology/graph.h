/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graph files: user-defined topologies as text.
 *
 *	# a triangle with a tail
 *	nodes 4
 *	0 1
 *	1 2
 *	2 0
 *	2 3	# ports are numbered in the order of the links
 *
 * The number of nodes comes first, then one link per line. Two nodes may have
 * several links; a node may have none.
 */
#ifndef CAY_NETWORK_TOPOLOGY_GRAPH_H
#define CAY_NETWORK_TOPOLOGY_GRAPH_H

#include <stddef.h>

#include "network/topology/topology.h"

#define GRAPH_LINKS_MAX (1u << 22)
#define GRAPH_DELAY_MAX 1000	   /* cycles of a link, and per flit */
#define GRAPH_TEXT_MAX	(1u << 28) /* bytes; enough for any graph */

struct graph_error {
	unsigned line;	 /* from 1 */
	const char *why; /* static string */
};

/*
 * Parses untrusted text. Returns 0; -EINVAL and the error; -ENOMEM. Any
 * thread.
 */
int graph_parse(const char *text, size_t length, struct topology *,
	struct graph_error *);

#endif
