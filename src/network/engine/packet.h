/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of packets that are in the network or in source queues. It is
 * reserved once and never moves, so a packet number is valid in any thread;
 * memory is touched as numbers are used. Each worker has its own list of free
 * numbers and takes a block of new ones when the list is empty.
 */
#ifndef CAY_NETWORK_ENGINE_PACKET_H
#define CAY_NETWORK_ENGINE_PACKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "network/routing/routing.h"

#define PACKET_NONE UINT32_MAX
#define PACKET_MAX  (1u << 28)
/* Bits of a flit, above the number of its packet. */
#define PACKET_RECORDED (1u << 29) /* a head flit; its packet has a record */
#define PACKET_HEAD	(1u << 30)
#define PACKET_TAIL	(1u << 31)
#define PACKET_NUMBER	(PACKET_RECORDED - 1)

enum packet_flags {
	PACKET_MEASURED = 1,	/* counts in the statistics of a study */
	PACKET_MULTICAST = 2,	/* goes to the multicast port */
	PACKET_DISCARDED = 4,	/* has lost flits and is being removed */
	PACKET_RESENT = 8,	/* a host has sent it on */
	PACKET_REPLICATED = 16, /* a multicast in progress, or a copy */
	PACKET_DETOURED = 32,	/* has taken a detour */
};

/* A multicast has at most one leg; this one holds the node that it goes to. */
#define PACKET_NEXT_NODE 1

struct packet_state {
	uint64_t created;
	uint32_t entered; /* cycles from creation to injection */
	uint32_t record;  /* index of its record, or PACKET_NONE */
	uint32_t from, to;
	union {
		uint32_t next;	   /* packet, in a source queue */
		uint32_t leg_rest; /* what is left of the current leg */
	};
	uint16_t leg_next, count; /* index of the next leg; legs */
	uint16_t length;
	uint16_t hops;
	uint16_t tag; /* host tag of the destination */
	uint8_t flags;
	uint8_t tree_port; /* of a multicast: port towards the sender */
	union {
		uint32_t leg[ROUTING_LEGS_INLINE];
		const uint32_t *more;
	};
};

_Static_assert(sizeof(struct packet_state) == 64, "one cache line");

struct packet_table {
	struct packet_state *packet;
	_Atomic uint32_t allocated; /* numbers that pools have taken */
	pthread_mutex_t lock;
	uint32_t chains; /* shared chains of free numbers; see packet.c */
};

/* Packet numbers of one worker. */
struct packet_pool {
	struct packet_table *table;
	uint32_t free, free_count; /* free list, linked by next */
	uint32_t fresh, fresh_end; /* block of numbers never used */
	/* Summed over all pools, the difference is the numbers in use. */
	uint64_t used, freed;
};

/* Returns 0 or -ENOMEM. */
int packet_table_open(struct packet_table *);
void packet_table_close(struct packet_table *);
/* Allocates a number if the free list is empty. May return PACKET_NONE. */
uint32_t packet_alloc_slow(struct packet_pool *);
/* Moves free numbers of the pool to the table. */
void packet_spill(struct packet_pool *);

#define PACKETS_CACHED 4096 /* free numbers of a pool, at most */

static inline uint32_t packet_alloc(struct packet_pool *p)
{
	uint32_t number = p->free;
	if (number == PACKET_NONE)
		return packet_alloc_slow(p);
	p->free = p->table->packet[number].next;
	p->free_count--;
	p->used++;
	return number;
}

static inline void packet_free(struct packet_pool *p, uint32_t number)
{
	p->table->packet[number].next = p->free;
	p->free = number;
	p->freed++;
	if (++p->free_count == PACKETS_CACHED)
		packet_spill(p);
}

static inline uint32_t packet_leg(const struct packet_state *p, unsigned at)
{
	return p->count > ROUTING_LEGS_INLINE ? p->more[at] : p->leg[at];
}

/* Hops that remain. */
static inline uint32_t packet_hops_left(const struct packet_state *p)
{
	uint32_t hops = routing_leg_hops(p->leg_rest);
	for (unsigned i = p->leg_next; i < p->count; i++)
		hops += routing_leg_hops(packet_leg(p, i));
	return hops;
}

struct packet_hop {
	unsigned port; /* or ROUTING_PORT_HOST */
	unsigned class;
};

/* Consumes the next hop of the source route. */
static inline struct packet_hop packet_route_hop(struct packet_state *p)
{
	uint32_t rest = p->leg_rest;
	if (routing_leg_hops(rest) == 0) {
		if (p->leg_next == p->count)
			return (struct packet_hop){ ROUTING_PORT_HOST, 0 };
		rest = packet_leg(p, p->leg_next++);
	}
	unsigned high = routing_leg_low(rest) == 0;
	p->leg_rest =
		rest - (high ? routing_leg(0, 0, 1) : routing_leg(0, 1, 0));
	return (struct packet_hop){ routing_leg_port(rest),
		routing_leg_class(rest) + high };
}

#endif
