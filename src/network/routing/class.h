/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a routing function. A new one is a source file with a struct
 * routing_class named routing_NAME, and a line in ROUTING_CLASSES.
 */
#ifndef CAY_NETWORK_ROUTING_CLASS_H
#define CAY_NETWORK_ROUTING_CLASS_H

#include <stddef.h>

#include "network/routing/dependency.h"
#include "network/routing/routing.h"

/* Begins the state of every routing function. */
struct routing {
	const struct routing_class *class;
	const struct topology *topology;
	struct routing_options options;
	unsigned classes; /* channel classes; 1 if open() does not set it */
	/* Class 0 may use all virtual channels: they are not divided. */
	bool shared;
};

/* Gets a path. A return value other than 0 ends the visits. */
typedef int routing_visit(
	void *context, uint32_t from, const struct routing_path *);

struct routing_class {
	const char *name;
	size_t bytes; /* of the state, which begins with struct routing */
	/* Returns NULL, or why it cannot route this topology. */
	const char *(*refuse)(
		const struct topology *, const struct routing_options *);
	/* Returns 0 or -ENOMEM; close() follows in both cases. */
	int (*open)(struct routing *);
	void (*close)(struct routing *);
	/* As routing_find(), for two different nodes. */
	int (*find)(struct routing *, uint32_t from, uint32_t to,
		struct random *, struct routing_path *);
	/*
	 * Visits all paths that find() may return. NULL: without a random
	 * stream it returns the only one.
	 */
	int (*paths)(struct routing *, uint32_t from, uint32_t to,
		routing_visit *, void *context);
	/*
	 * Adds the dependencies of all paths, as routing_depend(), without
	 * enumerating them. NULL: the paths of all pairs are enumerated. May
	 * return -EAGAIN, which does the same, with a fresh struct dependency.
	 */
	int (*depend)(struct routing *, struct dependency *, routing_progress *,
		void *context);
	/*
	 * Computes new paths after a failure. NULL: paths do not change, and
	 * hosts forward packets around failures (reroute.c).
	 */
	int (*rebuild)(struct routing *);
};

#endif
