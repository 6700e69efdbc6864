/* SPDX-License-Identifier: BSD-2-Clause */
/* See routing_string.h. */
#include "network/routing/routing_string.h"

#include <errno.h>
#include <stddef.h>

#include "base/bits.h"

static int phit_add(struct routing_string *s, unsigned phit)
{
	if (s->count == STRING_PHITS_MAX)
		return -E2BIG;
	s->phit[s->count++] = (uint16_t)phit;
	return 0;
}

/* Low hops precede high hops, so the high ones go into the last phits. */
static int route_add(
	struct routing_string *s, const struct route *route, unsigned host_phit)
{
	int r = 0;
	for (unsigned i = 0; r == 0 && i < route->count; i++) {
		uint32_t low = route->leg[i].low, high = route->leg[i].high;
		unsigned port = route->leg[i].port;
		if (port >= STRING_PORT_LINKS)
			return -EINVAL;
		while (r == 0 && (low || high)) {
			unsigned l = (unsigned)bits_min(low, STRING_HOPS_MAX);
			low -= l;
			unsigned h =
				low ? 0
				    : (unsigned)bits_min(high, STRING_HOPS_MAX);
			high -= h;
			r = phit_add(s, phit_make(port, l, h));
		}
	}
	return r ? r : phit_add(s, host_phit);
}

int routing_string_build(struct routing_string *s, uint16_t tag,
	const struct route *there, const struct route *back)
{
	s->tag = tag;
	s->count = 0;
	int r = route_add(
		s, there, STRING_PORT_ANY | (back ? STRING_RETURN : 0));
	return r == 0 && back ? route_add(s, back, STRING_PORT_ANY) : r;
}

/* Returns the index after the path that begins at `at`; 0: it is malformed. */
static unsigned path_end(const struct routing_string *s, unsigned at)
{
	for (; at < s->count; at++) {
		uint16_t phit = s->phit[at];
		unsigned port = phit_port(phit);
		if (port == STRING_PORT_DEBUG ||
			(port >= STRING_PORT_NETWORK + 4 &&
				port != STRING_PORT_ANY))
			return 0;
		if (phit_is_host(phit))
			return at + 1;
		if (phit_low(phit) + phit_high(phit) == 0)
			return 0;
	}
	return 0;
}

int routing_string_check(const struct routing_string *s)
{
	if (s->count > STRING_PHITS_MAX)
		return -EINVAL;
	unsigned end = path_end(s, 0);
	if (end == 0)
		return -EINVAL;
	if (s->phit[end - 1] & STRING_RETURN) {
		end = path_end(s, end);
		if (end == 0 || s->phit[end - 1] & STRING_RETURN)
			return -EINVAL;
	}
	return end == s->count ? 0 : -EINVAL;
}

static void cursor_set(
	const struct routing_string *s, struct string_cursor *c, unsigned at)
{
	c->at = (uint16_t)at;
	c->current = s->phit[at];
}

void routing_string_start(
	const struct routing_string *s, struct string_cursor *c)
{
	cursor_set(s, c, 0);
}

bool routing_string_return(
	const struct routing_string *s, struct string_cursor *c)
{
	unsigned end = path_end(s, 0);
	if (end == 0 || !(s->phit[end - 1] & STRING_RETURN))
		return false;
	cursor_set(s, c, end);
	return true;
}

unsigned routing_string_step(const struct routing_string *s,
	struct string_cursor *c, enum channel_group *group)
{
	unsigned port = phit_port(c->current);
	unsigned low = phit_low(c->current), high = phit_high(c->current);
	*group = GROUP_LOW;
	if (phit_is_host(c->current))
		return port;
	if (low) {
		low--;
	} else {
		high--;
		*group = GROUP_HIGH;
	}
	c->current = phit_make(port, low, high);
	if (low + high == 0)
		cursor_set(s, c, c->at + 1u);
	return port;
}
