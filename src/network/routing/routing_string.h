/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing strings: the source route in front of a packet. A phit has 16 bits of
 * data:
 *
 *	bits 0-3	destination port
 *	bits 4-9	hops on the low channel group
 *	bits 10-15	hops on the high channel group
 *
 * A router consumes a hop, low ones first, until both counts are 0. A string is
 *
 *	destination host tag
 *	phits of the path
 *	host phit: port 15 for any network port, or a special port; bit 4 is set
 *		if a return path follows
 *	phits of the return path and its host phit
 */
#ifndef CAY_NETWORK_ROUTING_ROUTING_STRING_H
#define CAY_NETWORK_ROUTING_ROUTING_STRING_H

#include "network/routing/route.h"

enum string_port {
	STRING_PORT_LINKS = 6, /* 0 to 5 are links */
	STRING_PORT_MULTICAST = 6,
	STRING_PORT_DEBUG = 7,	 /* internal: not allowed in a string */
	STRING_PORT_NETWORK = 8, /* 8 to 11 */
	STRING_PORT_ANY = 15,	 /* any network port */
};

#define STRING_HOPS_MAX	    63 /* in one phit and group */
#define STRING_PHITS_MAX    64
#define STRING_RETURN_SHIFT 4
#define STRING_RETURN	    (1u << STRING_RETURN_SHIFT)
#define STRING_LOW_SHIFT    4
#define STRING_HIGH_SHIFT   10

struct routing_string {
	uint16_t tag;	/* of the destination host */
	uint16_t count; /* phits after the tag */
	uint16_t phit[STRING_PHITS_MAX];
};

/* Position of a packet in its routing string. */
struct string_cursor {
	uint16_t at;	  /* index of the current phit */
	uint16_t current; /* what is left of this phit */
};

enum channel_group {
	GROUP_LOW,
	GROUP_HIGH,
};

static inline uint16_t phit_make(unsigned port, unsigned low, unsigned high)
{
	return (uint16_t)(port | low << STRING_LOW_SHIFT |
			  high << STRING_HIGH_SHIFT);
}

static inline unsigned phit_port(uint16_t phit)
{
	return phit & 0xf;
}

static inline unsigned phit_low(uint16_t phit)
{
	return phit >> STRING_LOW_SHIFT & STRING_HOPS_MAX;
}

static inline unsigned phit_high(uint16_t phit)
{
	return phit >> STRING_HIGH_SHIFT & STRING_HOPS_MAX;
}

/* A host phit ends a path. */
static inline bool phit_is_host(uint16_t phit)
{
	return phit_port(phit) >= STRING_PORT_LINKS;
}

/*
 * Builds the string of a route and a return route (or NULL), both to any
 * network port. A leg with more hops than fit takes several phits. Returns 0,
 * -EINVAL (a port that is not a link), -E2BIG (too long).
 */
int routing_string_build(struct routing_string *, uint16_t tag,
	const struct route *there, const struct route *back);
/*
 * Checks that a string is well formed: each path ends with a host phit, no link
 * phit is without hops, nothing follows, no internal port. Returns 0 or
 * -EINVAL.
 */
int routing_string_check(const struct routing_string *);

/* Sets a cursor to the first phit. */
void routing_string_start(
	const struct routing_string *, struct string_cursor *);
/* Sets a cursor to the return path. Returns false if there is none. */
bool routing_string_return(
	const struct routing_string *, struct string_cursor *);
/*
 * Consumes a hop of a string that was checked. Returns its port and group; at
 * the end always the port of the host phit.
 */
unsigned routing_string_step(const struct routing_string *,
	struct string_cursor *, enum channel_group *);

#endif
