/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing strings, as they stand in front of a packet. A phit has 16 bits of
 * data:
 *
 *	bits 0-3	destination port
 *	bits 4-9	hops on the low channel group
 *	bits 10-15	hops on the high channel group
 *
 * and is used hop by hop, low ones first, until both counts are 0. A string is
 *
 *	destination host tag
 *	phits of the way there
 *	host phit: port 15, whichever network port is free, or a special port;
 *		bit 4 says that a way back follows
 *	phits of the way back and its host phit
 */
#ifndef CAY_NETWORK_ROUTING_ROUTING_STRING_H
#define CAY_NETWORK_ROUTING_ROUTING_STRING_H

#include "network/routing/route.h"

enum path_port {
	PATH_PORT_LINKS = 6, /* 0 to 5 are links */
	PATH_PORT_MULTICAST = 6,
	PATH_PORT_DEBUG = 7,   /* internal: no string may name it */
	PATH_PORT_NETWORK = 8, /* 8 to 11 */
	PATH_PORT_ANY = 15,    /* whichever network port is free */
};

#define PATH_HOPS_MAX	63 /* in one phit and group */
#define PATH_PHITS_MAX	64
#define PATH_BACK_SHIFT 4
#define PATH_BACK	(1u << PATH_BACK_SHIFT)
#define PATH_LOW_SHIFT	4
#define PATH_HIGH_SHIFT 10

struct path {
	uint16_t tag;	/* of the destination host */
	uint16_t count; /* phits behind the tag */
	uint16_t phit[PATH_PHITS_MAX];
};

/* Where a packet is on its way. */
struct path_cursor {
	uint16_t at;	  /* the phit that is used */
	uint16_t current; /* what is left of it */
};

enum path_group {
	PATH_LOW,
	PATH_HIGH,
};

static inline uint16_t path_phit(unsigned port, unsigned low, unsigned high)
{
	return (uint16_t)(port | low << PATH_LOW_SHIFT |
			  high << PATH_HIGH_SHIFT);
}

static inline unsigned path_phit_port(uint16_t phit)
{
	return phit & 0xf;
}

static inline unsigned path_phit_low(uint16_t phit)
{
	return phit >> PATH_LOW_SHIFT & PATH_HOPS_MAX;
}

static inline unsigned path_phit_high(uint16_t phit)
{
	return phit >> PATH_HIGH_SHIFT & PATH_HOPS_MAX;
}

/* Does the way there, or back, end with this phit? */
static inline bool path_phit_ends(uint16_t phit)
{
	return path_phit_port(phit) >= PATH_PORT_LINKS;
}

/*
 * The string for a route, with the way back if there is one, to whichever
 * network port is free. Legs of more hops than a phit holds take several. 0,
 * -EINVAL (a port that is no link), -E2BIG (too long).
 */
int path_build(struct path *, uint16_t tag, const struct route *there,
	const struct route *back);
/*
 * Is it well-formed: every way ends with a host phit and has no phit without
 * hops before, nothing follows the last, no internal port? 0 or -EINVAL.
 */
int path_check(const struct path *);

/* At the first phit of the way there, or of the way back. */
void path_start(const struct path *, struct path_cursor *);
/* False: there is none. */
bool path_turn(const struct path *, struct path_cursor *);
/*
 * The port and the group of the next hop; a link's hop is used up by that. The
 * port of the host phit at the end, again and again. The string was checked.
 */
unsigned path_step(
	const struct path *, struct path_cursor *, enum path_group *);

#endif
