/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters of a router: ports, virtual channels, arbiters and delays. Times
 * are in cycles, lengths in flits; a link transfers one flit per cycle.
 *
 * A head flit that arrives at T requests a virtual channel from T + route_delay
 * on; granted at G, it requests the switch from G + channel_delay on; granted
 * at S, it is in the buffer of the next router at S + link_delay.
 */
#ifndef CAY_NETWORK_ROUTER_ROUTER_H
#define CAY_NETWORK_ROUTER_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "network/routing/route.h"

#define ROUTER_CHANNELS_MAX 16
#define ROUTER_NETWORK_MAX  4
#define ROUTER_DELAY_MAX    1000
#define ROUTER_BUFFER_MAX   4096
#define ROUTER_LENGTH_MAX   4096 /* of a packet */

enum router_flow {
	ROUTER_CREDITS,
	ROUTER_XON_XOFF, /* stop and continue, at two fill levels */
};

enum router_switching {
	ROUTER_WORMHOLE,
	ROUTER_CUT_THROUGH, /* virtual: needs room for the whole packet */
};

/* The arbiter of VC allocation; see vc_alloc.c. */
enum router_arbiter {
	ROUTER_ROUND_ROBIN,  /* separable, one iteration */
	ROUTER_FIRST_COME,   /* oldest request first */
	ROUTER_SMART,	     /* oldest first, one per host tag and output */
	ROUTER_SMART_SIMPLE, /* oldest first, one per host tag, input, output */
};

struct router {
	char name[16];
	unsigned links_max;	/* link ports; 0: any number */
	unsigned network_ports; /* for injection and ejection */
	unsigned channels;	/* virtual channels of each port */
	unsigned groups;	/* 1, or 2: low and high */
	unsigned buffer;	/* of each virtual channel */
	unsigned flit_bits;
	double clock_mhz; /* 0: unknown */
	enum router_flow flow;
	enum router_switching switching;
	enum router_arbiter arbiter;
	enum route_groups grouping;
	enum route_ties ties;
	unsigned route_delay, channel_delay;
	unsigned link_delay, credit_delay;
	unsigned inject_delay, inject_credit_delay, eject_delay;
	unsigned retry_delay;		/* of a repeated flit */
	unsigned xoff_level, xon_level; /* of ROUTER_XON_XOFF */
	unsigned deadlock_countdown;	/* 0: no recovery */
	unsigned tag_bits;		/* of the destination host tag */
	bool ordered; /* packets from one node to another stay in order */
	bool to_self; /* uniform traffic includes the sender */
};

/* Gets a preset: `extoll`, `atoll` or `iq4`. Returns 0 or -ENOENT. */
int router_preset(const char *name, struct router *);

/*
 * Checks that sizes, delays and levels are consistent. Returns 0, or -EINVAL
 * and the reason in *why, a static string.
 */
int router_check(const struct router *, const char **why);
/* Returns true if the router accepts packets of this length. */
bool router_accepts(const struct router *, uint32_t length);
const char *router_arbiter_name(enum router_arbiter);

#endif
