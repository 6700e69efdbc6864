/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing strings: the source route in front of a packet. A phit has 18 bits:
 * 2 control bits, which belong to the link, and 16 bits of data:
 *
 *	bits 3:0	destination port
 *	bits 9:4	hops on the low channel group
 *	bits 15:10	hops on the high channel group
 *
 * A router consumes a hop, low ones first, until both counts are 0. A string is
 *
 *	destination host tag
 *	phits of the path
 *	host phit
 *	phits of the return path and its host phit, if the host phit says so
 *
 * The host phit ends a path:
 *
 *	bits 3:0	port 15 for any network port, or a special port
 *	bit 4		a return path follows
 *	bits 10:5	flags of the request (ours; packet.h)
 *	bits 15:11	0
 *
 * In the host phit of a return path all bits but the port are 0. A zero phit
 * does not occur in a path.
 */
#ifndef CAY_CONTRACT_ROUTING_STRING_H
#define CAY_CONTRACT_ROUTING_STRING_H

#include <stdbool.h>
#include <stdint.h>

enum string_port {
	STRING_PORT_LINKS = 6, /* 0 to 5 are links */
	STRING_PORT_MULTICAST = 6,
	STRING_PORT_DEBUG = 7,	 /* internal: not allowed in a string */
	STRING_PORT_NETWORK = 8, /* 8 to 11 */
	STRING_PORT_ANY = 15,	 /* any network port */
};

#define STRING_HOPS_MAX	    63 /* in one phit and group */
#define STRING_PHITS_MAX    64
#define STRING_PORT	    0xfu
#define STRING_LOW_SHIFT    4
#define STRING_HIGH_SHIFT   10
#define STRING_RETURN_SHIFT 4
#define STRING_RETURN	    (1u << STRING_RETURN_SHIFT)
#define STRING_FLAGS_SHIFT  5
#define STRING_FLAGS	    (0x3fu << STRING_FLAGS_SHIFT)

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
	return phit & STRING_PORT;
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
 * Returns whether a phit can be part of a path there, or of a return path: a
 * link phit has hops, a host phit names a port and has no reserved bit.
 */
bool phit_valid(uint16_t phit, bool back);

/*
 * Checks that a string is well formed: each path ends with a host phit, all
 * phits are valid, nothing follows. Returns 0 or -EINVAL.
 */
int routing_string_check(const struct routing_string *);

/* The remaining functions expect a string that was checked. */

/* Returns the index of the host phit of the path there. */
unsigned routing_string_host(const struct routing_string *);
/* Sets a cursor to the first phit. */
void routing_string_start(
	const struct routing_string *, struct string_cursor *);
/* Sets a cursor to the return path. Returns false if there is none. */
bool routing_string_return(
	const struct routing_string *, struct string_cursor *);
/*
 * Consumes a hop. Returns its port and group; at the end always the port of the
 * host phit.
 */
unsigned routing_string_step(const struct routing_string *,
	struct string_cursor *, enum channel_group *);
/*
 * Builds the string of a response: the return path of the request's string. The
 * tag is that of the host that sent the request. Both may be the same string.
 * Returns 0, or -EHOSTUNREACH: the request has no return path.
 */
int routing_string_reverse(const struct routing_string *request, uint16_t tag,
	struct routing_string *response);

#endif
