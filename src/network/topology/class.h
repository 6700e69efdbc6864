/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a kind of topology. A new kind is a source file with a
 * struct topology_class, and a line in TOPOLOGY_CLASSES.
 */
#ifndef CAY_NETWORK_TOPOLOGY_CLASS_H
#define CAY_NETWORK_TOPOLOGY_CLASS_H

#include "network/topology/metric.h"
#include "network/topology/topology.h"

/* The way within a dimension; `to_dateline` counts the hop that crosses it. */
struct topology_step {
	unsigned port;
	uint32_t hops;
	uint32_t to_dateline; /* UINT32_MAX: there is none */
};

struct topology_class {
	const char *name;
	const char *sizes; /* what its sizes are, in words */
	unsigned sizes_least, sizes_most;
	uint32_t size_least; /* of each */
	uint32_t standard[TOPOLOGY_GRID_MAX];
	unsigned standard_count; /* 0: it is read from a file */
	/* Builds it. Returns 0, -EINVAL, -E2BIG, -ENOMEM. */
	int (*open)(struct topology *, const uint32_t *size, unsigned count);
	/*
	 * Sets links, diameter, distance, bisection and channel load of the
	 * intact topology. NULL: they are found by a search.
	 */
	void (*metric)(const struct topology *, struct metric *);
	/*
	 * The shortest way in a dimension between two coordinates; `down`
	 * selects the direction if both are equally long. NULL: it has no
	 * dimensions.
	 */
	struct topology_step (*step)(const struct topology *,
		unsigned dimension, bool down, uint32_t from, uint32_t to);
	bool grid;  /* coordinates are positions along a line or a ring */
	bool rings; /* a dimension is a ring: it has ties, and a dateline */
	const char *routing; /* name of the usual routing function */
};

#define TOPOLOGY_CLASSES(X)       \
	X(torus, "torus")         \
	X(mesh, "mesh")           \
	X(ring, "ring")           \
	X(hypercube, "hypercube") \
	X(full, "full")           \
	X(hyperx, "hyperx")       \
	X(fat_tree, "fat-tree")   \
	X(dragonfly, "dragonfly") \
	X(graph, "graph")

#define TOPOLOGY_DECLARE(name, text) \
	extern const struct topology_class topology_class_##name;
TOPOLOGY_CLASSES(TOPOLOGY_DECLARE)
#undef TOPOLOGY_DECLARE

/* The names of all classes, up to NULL. */
extern const char *const topology_names[];
/* Finds a class by its name; NULL: there is none. */
const struct topology_class *topology_class_find(const char *name);

#endif
