/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a router is: its ports, its virtual channels, how it allocates them and
 * how long each step takes. Times are in cycles, lengths in flits; a flit is
 * what a link carries in a cycle.
 *
 * A head flit that arrives at T asks for a virtual channel from T + route_delay
 * on; granted at G, it asks for the crossbar from G + channel_delay on; granted
 * at S, it is in the next router's buffer at S + link_delay.
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
	ROUTER_XON_XOFF, /* a full buffer stops the sender, by levels */
};

enum router_switching {
	ROUTER_WORMHOLE,
	ROUTER_CUT_THROUGH, /* goes on only if all of it fits the next buffer */
};

/* Who gets a free virtual channel. */
enum router_arbiter {
	ROUTER_ROUND_ROBIN,  /* separable, one iteration */
	ROUTER_FIRST_COME,   /* the one that has asked longest */
	ROUTER_SMART,	     /* nobody whose host tag has one at this output */
	ROUTER_SMART_SIMPLE, /* the same, but each input looks at its own only
			      */
};

struct router {
	char name[16];
	unsigned links_max;	/* ports that can be links; 0: any number */
	unsigned network_ports; /* to the node: in and out */
	unsigned channels;	/* virtual ones of each port */
	unsigned groups;	/* 1, or 2: low and high */
	unsigned buffer;	/* of each virtual channel */
	unsigned flit_bits;
	double clock_mhz; /* 0: only cycles count */
	enum router_flow flow;
	enum router_switching switching;
	enum router_arbiter arbiter;
	enum route_groups grouping;
	enum route_ties ties;
	unsigned route_delay, channel_delay;
	unsigned link_delay, credit_delay;
	unsigned inject_delay, inject_credit_delay, eject_delay;
	unsigned retry_delay;		/* of a link that repeats a flit */
	unsigned xoff_level, xon_level; /* of ROUTER_XON_XOFF */
	unsigned deadlock_countdown;	/* 0: no recovery */
	unsigned tag_bits;		/* of the destination host tag */
	bool ordered; /* packets from one node to another stay in order */
	bool to_self; /* uniform traffic includes the sender */
};

/* One of `extoll`, `atoll`, `iq4`. 0, or -ENOENT. */
int router_preset(const char *name, struct router *);

/*
 * 0; or -EINVAL and why in a sentence that lives for ever: delays, levels and
 * sizes that do not go together.
 */
int router_check(const struct router *, const char **why);
/* Can it carry packets of this length? */
bool router_accepts(const struct router *, uint32_t length);
const char *router_arbiter_name(enum router_arbiter);

/* Which virtual channels a group may use. */
static inline uint32_t router_group_mask(const struct router *r, unsigned group)
{
	uint32_t all = (1u << r->channels) - 1;
	uint32_t low = (1u << r->channels / 2) - 1;
	if (r->groups == 1)
		return all;
	return group ? all & ~low : low;
}

#endif
