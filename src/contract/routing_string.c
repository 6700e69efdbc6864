/* SPDX-License-Identifier: BSD-2-Clause */
/* See routing_string.h. */
#include "contract/routing_string.h"

#include <errno.h>
#include <string.h>

bool phit_valid(uint16_t phit, bool back)
{
	unsigned port = phit_port(phit);
	unsigned used = STRING_PORT | (back ? 0 : STRING_RETURN | STRING_FLAGS);
	if (!phit_is_host(phit))
		return phit_low(phit) + phit_high(phit) != 0;
	return port != STRING_PORT_DEBUG && (phit & ~used) == 0 &&
	       (port < STRING_PORT_NETWORK + 4 || port == STRING_PORT_ANY);
}

int routing_string_check(const struct routing_string *s)
{
	bool back = false;
	if (s->count > STRING_PHITS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < s->count; i++) {
		uint16_t phit = s->phit[i];
		if (!phit_valid(phit, back))
			return -EINVAL;
		if (!phit_is_host(phit))
			continue;
		if (!(phit & STRING_RETURN))
			return i + 1u == s->count ? 0 : -EINVAL;
		back = true;
	}
	return -EINVAL;
}

unsigned routing_string_host(const struct routing_string *s)
{
	unsigned at = 0;
	while (!phit_is_host(s->phit[at]))
		at++;
	return at;
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
	unsigned host = routing_string_host(s);
	if (!(s->phit[host] & STRING_RETURN))
		return false;
	cursor_set(s, c, host + 1);
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

int routing_string_reverse(const struct routing_string *request, uint16_t tag,
	struct routing_string *response)
{
	struct string_cursor c;
	if (!routing_string_return(request, &c))
		return -EHOSTUNREACH;
	unsigned count = request->count - c.at;
	memmove(response->phit, &request->phit[c.at],
		count * sizeof(response->phit[0]));
	response->count = (uint16_t)count;
	response->tag = tag;
	return 0;
}
