/* SPDX-License-Identifier: BSD-2-Clause */
/* See traffic.h. */
#include "network/traffic/traffic.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "network/topology/class.h"

/* ---- names ---- */

/* The first name of a pattern is the one that is printed. */
static const struct pattern_name {
	const char *name;
	enum traffic_pattern pattern;
} names[] = {
	{ "uniform", TRAFFIC_UNIFORM },
	{ "neighbour", TRAFFIC_NEIGHBOUR },
	{ "neighbor", TRAFFIC_NEIGHBOUR },
	{ "tornado", TRAFFIC_TORNADO },
	{ "transpose", TRAFFIC_TRANSPOSE },
	{ "complement", TRAFFIC_COMPLEMENT },
	{ "bit-complement", TRAFFIC_COMPLEMENT },
	{ "reverse", TRAFFIC_REVERSE },
	{ "bit-reverse", TRAFFIC_REVERSE },
	{ "hot-spot", TRAFFIC_HOT_SPOT },
	{ "hotspot", TRAFFIC_HOT_SPOT },
};

bool traffic_pattern_parse(const char *name, enum traffic_pattern *pattern)
{
	for (unsigned i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(name, names[i].name) == 0) {
			*pattern = names[i].pattern;
			return true;
		}
	return false;
}

const char *traffic_pattern_name(enum traffic_pattern pattern)
{
	for (unsigned i = 0; i < ARRAY_COUNT(names); i++)
		if (names[i].pattern == pattern)
			return names[i].name;
	return "unknown";
}

/* ---- checks ---- */

static bool is_grid(const struct topology *t)
{
	return t->class->grid && !t->host_node;
}

/* Returns true for a square or a cube, whose coordinates can be swapped. */
static bool is_cubic(const struct topology *t)
{
	if (!is_grid(t) || t->dimensions < 2)
		return false;
	for (unsigned d = 1; d < t->dimensions; d++)
		if (t->size[d] != t->size[0])
			return false;
	return true;
}

static bool has_bits(const struct topology *t)
{
	return (t->hosts & (t->hosts - 1)) == 0;
}

/* Bits of a node number, if the nodes are a power of two. */
static unsigned bits_of(const struct topology *t)
{
	return (unsigned)__builtin_ctz(t->hosts);
}

int traffic_check(const struct traffic *t, const char **why)
{
	const struct topology *topology = t->topology;
	bool single = topology->hosts < 2 && !t->to_self;
	const char *fault = NULL;
	switch (t->pattern) {
	case TRAFFIC_UNIFORM:
		if (single)
			fault = "a single node has no other node to send to";
		break;
	case TRAFFIC_NEIGHBOUR:
	case TRAFFIC_TORNADO:
		break;
	case TRAFFIC_TRANSPOSE:
		if (!is_cubic(topology) &&
			!(has_bits(topology) && bits_of(topology) % 2 == 0))
			fault = "transpose needs a grid that is a square or a "
				"cube, or a power of four of nodes";
		break;
	case TRAFFIC_COMPLEMENT:
		if (!has_bits(topology) && !is_grid(topology))
			fault = "complement needs a grid, or a power of two of "
				"nodes";
		break;
	case TRAFFIC_REVERSE:
		if (!has_bits(topology))
			fault = "reverse needs a power of two of nodes";
		break;
	case TRAFFIC_HOT_SPOT:
		if (t->spot >= topology->hosts)
			fault = "the hot spot is not a node of the topology";
		else if (!(t->share >= 0 && t->share <= 1))
			fault = "the share of the hot spot is not between 0 "
				"and 1";
		else if (single)
			fault = "a single node has no other node to send to";
		break;
	default:
		fault = "there is no such pattern";
	}
	if (!fault)
		return 0;
	*why = fault;
	return -EINVAL;
}

/* ---- destinations ---- */

static uint32_t uniform(
	const struct traffic *t, uint32_t from, struct random *r)
{
	if (t->to_self)
		return random_below(r, t->topology->hosts);
	/* Skip the sender. */
	uint32_t to = random_below(r, t->topology->hosts - 1);
	return to + (to >= from);
}

static uint32_t ring_shift(uint32_t at, uint32_t size, bool tornado)
{
	uint32_t to = at + (tornado ? (size + 1) / 2 - 1 : 1);
	return to < size ? to : to - size;
}

static uint32_t shift(const struct topology *t, uint32_t from, bool tornado)
{
	if (!is_grid(t))
		return ring_shift(from, t->hosts, tornado);
	uint32_t to = 0, stride = 1;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t size = t->size[d];
		to += stride * ring_shift(from % size, size, tornado);
		from /= size;
		stride *= size;
	}
	return to;
}

static uint32_t transpose(const struct topology *t, uint32_t from)
{
	uint32_t to = 0;
	if (!is_cubic(t)) {
		unsigned half = bits_of(t) / 2;
		return from >> half | (from & ((1u << half) - 1)) << half;
	}
	/* The coordinates are the digits of the node number: reverse them. */
	for (unsigned d = 0; d < t->dimensions; d++) {
		to = to * t->size[0] + from % t->size[0];
		from /= t->size[0];
	}
	return to;
}

static uint32_t reverse(const struct topology *t, uint32_t from)
{
	uint32_t to = __builtin_bswap32(from);
	to = (to >> 4 & 0x0f0f0f0f) | (to & 0x0f0f0f0f) << 4;
	to = (to >> 2 & 0x33333333) | (to & 0x33333333) << 2;
	to = (to >> 1 & 0x55555555) | (to & 0x55555555) << 1;
	/* 64 bits: with a single node the shift is by 32. */
	return (uint32_t)((uint64_t)to >> (32 - bits_of(t)));
}

uint32_t traffic_target(
	const struct traffic *t, uint32_t from, struct random *r)
{
	assert(from < t->topology->hosts);
	switch (t->pattern) {
	case TRAFFIC_UNIFORM:
		return uniform(t, from, r);
	case TRAFFIC_NEIGHBOUR:
		return shift(t->topology, from, false);
	case TRAFFIC_TORNADO:
		return shift(t->topology, from, true);
	case TRAFFIC_TRANSPOSE:
		return transpose(t->topology, from);
	case TRAFFIC_COMPLEMENT:
		/* This mirrors every coordinate of a grid of any size. */
		return t->topology->hosts - 1 - from;
	case TRAFFIC_REVERSE:
		return reverse(t->topology, from);
	case TRAFFIC_HOT_SPOT:
		return random_real(r) < t->share ? t->spot
						 : uniform(t, from, r);
	}
	return from;
}
