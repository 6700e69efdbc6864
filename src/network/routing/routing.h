/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing: the paths between nodes, as the routers use them. A routing function
 * (class.h) computes the path of a packet at its source, when the packet enters
 * the network; it may have several paths for a pair of nodes and draw one.
 *
 * A path is a list of legs. A leg is like a phit of a routing string, with room
 * for more ports and hops, because a simulated router may have any number of
 * links; for a router with six links, legs of the lowest class and phits are
 * equivalent.
 *
 * The virtual channels of a link are divided into channel classes. The first
 * hops of a leg are on one class, the rest on the next one; routing functions
 * use classes in an order that excludes deadlocks.
 *
 * Two threads may call concurrently for different sources.
 */
#ifndef CAY_NETWORK_ROUTING_ROUTING_H
#define CAY_NETWORK_ROUTING_ROUTING_H

#include "network/routing/route.h"
#include "network/traffic/random.h"

/* A leg: port 6 bits, class 2, hops on the class 12, on the next class 12. */
#define ROUTING_HOPS_MAX    4095
#define ROUTING_PORT_HOST   0x3fu /* any network port */
#define ROUTING_LEGS_INLINE 6
#define ROUTING_CLASS_BASES 4
#define ROUTING_CLASSES_MAX (ROUTING_CLASS_BASES + 1)

static inline uint32_t routing_leg(unsigned port, uint32_t low, uint32_t high)
{
	return (uint32_t)port << 26 | low << 12 | high;
}

/* A leg on other classes than the two lowest. */
static inline uint32_t routing_leg_raise(uint32_t leg, unsigned classes)
{
	return leg + (classes << 24);
}

static inline unsigned routing_leg_port(uint32_t leg)
{
	return leg >> 26;
}

/* The class of its first hops; the next hops are on the next class. */
static inline unsigned routing_leg_class(uint32_t leg)
{
	return leg >> 24 & (ROUTING_CLASS_BASES - 1);
}

static inline uint32_t routing_leg_low(uint32_t leg)
{
	return leg >> 12 & ROUTING_HOPS_MAX;
}

static inline uint32_t routing_leg_high(uint32_t leg)
{
	return leg & ROUTING_HOPS_MAX;
}

static inline uint32_t routing_leg_hops(uint32_t leg)
{
	return routing_leg_low(leg) + routing_leg_high(leg);
}

struct routing;
struct routing_class;
struct dependency;

/* The routing functions; class.h describes them. */
#define ROUTING_CLASSES(X)                    \
	X(dimension_order, "dimension-order") \
	X(up_down, "up-down")                 \
	X(minimal, "minimal")                 \
	X(o1turn, "o1turn")                   \
	X(valiant, "valiant")

#define ROUTING_DECLARE(name, text) \
	extern const struct routing_class routing_##name;
ROUTING_CLASSES(ROUTING_DECLARE)
#undef ROUTING_DECLARE

/* The names of all routing functions, up to NULL. */
extern const char *const routing_names[];
/* Finds a routing function; NULL: there is none of this name. */
const struct routing_class *routing_class_find(const char *name);
const char *routing_class_name(const struct routing_class *);

struct routing_options;
/* Returns NULL, or why it cannot route a topology; a static string. */
const char *routing_refuse(const struct routing_class *,
	const struct topology *, const struct routing_options *);

struct routing_options {
	/* NULL: the usual one of the topology. */
	const struct routing_class *class;
	enum route_groups grouping; /* of dimensions that are rings */
	enum route_ties ties;
	unsigned groups;   /* 1 or 2, of `grouping` */
	unsigned channels; /* virtual channels of a link; 0: many */
	bool ordered;	   /* one path for each pair of nodes */
};

/* The legs from one node to another. */
struct routing_path {
	unsigned count;
	uint32_t leg[ROUTING_LEGS_INLINE];
	/* If not NULL, the legs are here, and valid until routing_close(). */
	const uint32_t *more;
};

/*
 * Opens the routing of a topology, which must outlive it. Returns 0; -EINVAL or
 * -E2BIG and the reason in *why, a static string: the routing function does not
 * support the topology or the options; -ENOMEM.
 */
int routing_open(struct routing **, const struct topology *,
	const struct routing_options *, const char **why);
void routing_close(struct routing *);
/*
 * Finds the legs from one node to another, without a host leg at the end; none
 * from a node to itself. The random stream serves routing functions that draw;
 * with NULL they return a path that depends on the two nodes only. Returns 0,
 * -EHOSTUNREACH, -E2BIG (too many legs), -ENOMEM.
 */
int routing_find(struct routing *, uint32_t from, uint32_t to, struct random *,
	struct routing_path *);
/*
 * Computes new paths after the topology has lost links; paths that were found
 * before stay readable. Returns 0, -ENOMEM, or -EOPNOTSUPP: the paths of this
 * routing function do not change, and hosts have to forward packets around the
 * failures.
 */
int routing_rebuild(struct routing *);

const struct routing_class *routing_class_of(const struct routing *);
/* The number of channel classes. */
unsigned routing_classes(const struct routing *);
/* The virtual channels of a class, as bits. */
uint32_t routing_class_mask(const struct routing *, unsigned class);

/* ---- deadlocks ---- */

/* Called now and then; true ends the call with -EINTR. May be NULL. */
typedef bool routing_progress(void *context, uint32_t done, uint32_t all);
/*
 * Adds the dependencies of all paths of all pairs of nodes with hosts. Sets the
 * number of pairs of nodes that are not connected. Returns 0, -EINTR, -ENOMEM,
 * -E2BIG.
 */
int routing_depend(struct routing *, struct dependency *, routing_progress *,
	void *context, uint64_t *unreachable);

/* ---- paths ---- */

/* Iterates over the hops of a path. */
struct routing_walk {
	const struct topology *topology;
	const struct routing_path *path;
	unsigned leg_index;
	uint32_t hop; /* of the leg */
	/* The current hop, and the node where it leads. */
	uint32_t from, to;
	unsigned port, class;
};

void routing_walk_begin(struct routing_walk *, const struct topology *,
	uint32_t from, const struct routing_path *);
bool routing_walk_next(struct routing_walk *);

static inline const uint32_t *routing_path_legs(const struct routing_path *p)
{
	return p->more ? p->more : p->leg;
}

static inline uint32_t routing_path_hops(const struct routing_path *p)
{
	const uint32_t *leg = routing_path_legs(p);
	uint32_t hops = 0;
	for (unsigned i = 0; i < p->count; i++)
		hops += routing_leg_hops(leg[i]);
	return hops;
}

/*
 * Builds the routing string of a path and a return path (or NULL), as in the
 * contract. Returns 0, -EINVAL (a port that is not a link), -E2BIG.
 */
int routing_string_of(uint16_t tag, const struct routing_path *there,
	const struct routing_path *back, struct routing_string *);

#endif
