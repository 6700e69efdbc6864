/* SPDX-License-Identifier: BSD-2-Clause */
/* See routing_string.h. */
#include "network/routing/routing_string.h"

#include <errno.h>
#include <stddef.h>

#include "base/bits.h"

static int path_add(struct path *p, uint16_t phit)
{
	if (p->count == PATH_PHITS_MAX)
		return -E2BIG;
	p->phit[p->count++] = phit;
	return 0;
}

/* A phit uses its low hops first, so high ones come with the last of these. */
static int leg_add(struct path *p, const struct route_leg *leg)
{
	uint32_t low = leg->low, high = leg->high;
	int r = 0;
	if (leg->port >= PATH_PORT_LINKS)
		return -EINVAL;
	while (r == 0 && (low || high)) {
		unsigned some = (unsigned)bits_min(low, PATH_HOPS_MAX);
		low -= some;
		unsigned rest = low ? 0
				    : (unsigned)bits_min(high, PATH_HOPS_MAX);
		high -= rest;
		r = path_add(p, path_phit(leg->port, some, rest));
	}
	return r;
}

static int way_add(struct path *p, const struct route *route, bool back)
{
	int r = 0;
	for (unsigned i = 0; r == 0 && i < route->count; i++)
		r = leg_add(p, &route->leg[i]);
	if (r)
		return r;
	return path_add(p, (uint16_t)(PATH_PORT_ANY | (back ? PATH_BACK : 0)));
}

int path_build(struct path *p, uint16_t tag, const struct route *there,
	const struct route *back)
{
	p->tag = tag;
	p->count = 0;
	int r = way_add(p, there, back != NULL);
	return r == 0 && back ? way_add(p, back, false) : r;
}

/* ---- checking ---- */

static bool port_valid(unsigned port)
{
	return port < PATH_PORT_DEBUG || port == PATH_PORT_ANY ||
	       (port >= PATH_PORT_NETWORK && port < PATH_PORT_NETWORK + 4);
}

/* The index behind the way that begins there, or 0: it is not one. */
static unsigned way_end(const struct path *p, unsigned at)
{
	for (; at < p->count; at++) {
		uint16_t phit = p->phit[at];
		if (!port_valid(path_phit_port(phit)))
			return 0;
		if (path_phit_ends(phit))
			return at + 1;
		if (path_phit_low(phit) + path_phit_high(phit) == 0)
			return 0;
	}
	return 0;
}

int path_check(const struct path *p)
{
	if (p->count > PATH_PHITS_MAX)
		return -EINVAL;
	unsigned end = way_end(p, 0);
	if (end == 0)
		return -EINVAL;
	if (p->phit[end - 1] & PATH_BACK) {
		end = way_end(p, end);
		if (end == 0 || p->phit[end - 1] & PATH_BACK)
			return -EINVAL;
	}
	return end == p->count ? 0 : -EINVAL;
}

/* ---- following ---- */

static void cursor_set(const struct path *p, struct path_cursor *c, unsigned at)
{
	c->at = (uint16_t)at;
	c->current = p->phit[at];
}

void path_start(const struct path *p, struct path_cursor *c)
{
	cursor_set(p, c, 0);
}

bool path_turn(const struct path *p, struct path_cursor *c)
{
	unsigned end = way_end(p, 0);
	if (end == 0 || !(p->phit[end - 1] & PATH_BACK))
		return false;
	cursor_set(p, c, end);
	return true;
}

unsigned path_step(
	const struct path *p, struct path_cursor *c, enum path_group *group)
{
	unsigned port = path_phit_port(c->current);
	unsigned low = path_phit_low(c->current);
	unsigned high = path_phit_high(c->current);
	*group = PATH_LOW;
	if (path_phit_ends(c->current))
		return port;
	if (low) {
		low--;
	} else {
		high--;
		*group = PATH_HIGH;
	}
	c->current = path_phit(port, low, high);
	if (low + high == 0)
		cursor_set(p, c, c->at + 1u);
	return port;
}
