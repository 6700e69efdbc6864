/* SPDX-License-Identifier: BSD-2-Clause */
/* See router.h. */
#include "network/router/router.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"

static const struct router presets[] = {
	/*
	 * Twelve ports: six links, four network ports, multicast and debug.
	 * 18-bit phits; a buffer holds two link packets of 64 bytes.
	 */
	{
		.name = "extoll",
		.links_max = 6,
		.network_ports = 4,
		.channels = 8,
		.groups = 2,
		.buffer = 64,
		.flit_bits = 18,
		.clock_mhz = 300,
		.flow = ROUTER_CREDITS,
		.switching = ROUTER_CUT_THROUGH,
		.arbiter = ROUTER_SMART_SIMPLE,
		.grouping = ROUTE_GROUPS_DATED,
		.ties = ROUTE_TIES_PAIR,
		.route_delay = 1,
		.channel_delay = 1,
		.link_delay = 10,
		.credit_delay = 9,
		.inject_delay = 2,
		.inject_credit_delay = 2,
		.eject_delay = 3,
		.retry_delay = 20,
		.tag_bits = 16,
	},
	/*
	 * Eight ports: four links, four network ports. 9-bit phits, one
	 * channel, XON/XOFF; 30 cycles per hop at 330 MHz, three of them in the
	 * crossbar. It can deadlock, and recovers.
	 */
	{
		.name = "atoll",
		.links_max = 4,
		.network_ports = 4,
		.channels = 1,
		.groups = 1,
		.buffer = 128,
		.flit_bits = 9,
		.clock_mhz = 330,
		.flow = ROUTER_XON_XOFF,
		.switching = ROUTER_WORMHOLE,
		.arbiter = ROUTER_FIRST_COME,
		.grouping = ROUTE_GROUPS_PLAIN,
		.ties = ROUTE_TIES_PAIR,
		.route_delay = 1,
		.channel_delay = 2,
		.link_delay = 27,
		.credit_delay = 27,
		.inject_delay = 2,
		.inject_credit_delay = 2,
		.eject_delay = 3,
		.retry_delay = 54,
		.xoff_level = 64,
		.xon_level = 32,
		.deadlock_countdown = 2000,
		.tag_bits = 16,
	},
	/*
	 * The input-queued router of BookSim 2 with four channels of eight
	 * flits, as configured for a torus: six cycles per hop, a credit loop
	 * of seven.
	 */
	{
		.name = "iq4",
		.network_ports = 1,
		.channels = 4,
		.groups = 2,
		.buffer = 8,
		.flit_bits = 128,
		.flow = ROUTER_CREDITS,
		.switching = ROUTER_WORMHOLE,
		.arbiter = ROUTER_ROUND_ROBIN,
		.grouping = ROUTE_GROUPS_FIXED,
		.ties = ROUTE_TIES_RANDOM,
		.route_delay = 1,
		.channel_delay = 1,
		.link_delay = 4,
		.credit_delay = 3,
		.inject_delay = 2,
		.inject_credit_delay = 2,
		.eject_delay = 3,
		.retry_delay = 7,
		.tag_bits = 16,
		.to_self = true,
	},
};

int router_preset(const char *name, struct router *r)
{
	for (unsigned i = 0; i < ARRAY_COUNT(presets); i++)
		if (strcmp(presets[i].name, name) == 0) {
			*r = presets[i];
			return 0;
		}
	return -ENOENT;
}

const char *router_arbiter_name(enum router_arbiter arbiter)
{
	static const char *const names[] = {
		[ROUTER_ROUND_ROBIN] = "round-robin",
		[ROUTER_FIRST_COME] = "first-come",
		[ROUTER_SMART] = "smart",
		[ROUTER_SMART_SIMPLE] = "smart-simple",
	};
	return names[arbiter];
}

/* ---- checking ---- */

/* Returns NULL, or why the parameters are inconsistent. */
static const char *router_fault(const struct router *r)
{
	const unsigned delay[] = { r->route_delay, r->channel_delay,
		r->link_delay, r->credit_delay, r->inject_delay,
		r->inject_credit_delay, r->eject_delay, r->retry_delay };
	if (r->network_ports == 0 || r->network_ports > ROUTER_NETWORK_MAX)
		return "a router has one to four network ports";
	if (r->channels == 0 || r->channels > ROUTER_CHANNELS_MAX)
		return "a port has 1 to 16 virtual channels";
	if (r->groups == 0 || r->groups > 2)
		return "virtual channels form one or two groups";
	if (r->groups == 2 && r->channels < 2)
		return "two groups need two virtual channels";
	if (r->groups == 1 && r->grouping != ROUTE_GROUPS_PLAIN)
		return "routes with two groups need a router with two groups";
	if (r->buffer == 0 || r->buffer > ROUTER_BUFFER_MAX)
		return "a buffer holds 1 to 4096 flits";
	if (r->tag_bits > 16)
		return "a host tag has at most 16 bits";
	for (unsigned i = 0; i < ARRAY_COUNT(delay); i++)
		if (delay[i] == 0 || delay[i] > ROUTER_DELAY_MAX)
			return "delays are from 1 to 1000 cycles";
	if (r->flow != ROUTER_XON_XOFF)
		return NULL;
	if (r->switching == ROUTER_CUT_THROUGH)
		return "cut-through needs credits: XON/XOFF does not tell how "
		       "much room there is";
	if (r->xon_level >= r->xoff_level || r->xoff_level == 0)
		return "the XON level must be below the XOFF level";
	/* Flits that are sent before XOFF arrives must fit. */
	if (r->buffer < r->xoff_level + r->link_delay + r->credit_delay)
		return "a buffer must hold the XOFF level and the flits in "
		       "flight (link and credit delay) when it is reached";
	return NULL;
}

int router_check(const struct router *r, const char **why)
{
	*why = router_fault(r);
	return *why ? -EINVAL : 0;
}

bool router_accepts(const struct router *r, uint32_t length)
{
	if (length == 0 || length > ROUTER_LENGTH_MAX)
		return false;
	return r->switching == ROUTER_WORMHOLE || length <= r->buffer;
}
