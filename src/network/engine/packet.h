/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that are in the network or wait to be: a table, by number. It is
 * reserved once and never moves, so that a number is good for any thread;
 * memory is taken as numbers are used. Each thread has its own list of free
 * numbers and takes more, a block at a time, when that is empty.
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
/* Bits of a flit beside its packet's number. */
#define PACKET_WATCHED (1u << 29) /* a head whose packet has a record */
#define PACKET_HEAD    (1u << 30)
#define PACKET_TAIL    (1u << 31)
#define PACKET_NUMBER  (PACKET_WATCHED - 1)

enum packet_flags {
	PACKET_MEASURED = 1,  /* counts for the study */
	PACKET_MULTICAST = 2, /* goes to the multicast port */
	PACKET_CUT = 4,	      /* has lost flits: it is being removed */
	PACKET_RESENT = 8,    /* a host has sent it on, from another node */
	PACKET_SPREADS = 16,  /* of a multicast: has left its queue */
	PACKET_DETOURED = 32, /* has been on a detour */
};

/* A multicast has one leg at most; in the place of another: who gets it next.
 */
#define PACKET_NEXT_NODE 1

struct packet {
	uint64_t created;
	uint32_t entered; /* cycles after that */
	uint32_t record;  /* what is kept about it, or PACKET_NONE */
	uint32_t from, to;
	union {
		uint32_t next; /* while it is in a queue */
		uint32_t left; /* of the leg that is used */
	};
	uint16_t at, count; /* of its legs */
	uint16_t length;
	uint16_t hops;
	uint16_t tag; /* of the destination host */
	uint8_t flags;
	uint8_t came_by; /* of a multicast: the port of the tree */
	union {
		uint32_t leg[SPACE_LEGS_INLINE];
		const uint32_t *more;
	};
};

_Static_assert(sizeof(struct packet) == 64, "one line");

struct packet_table {
	struct packet *packet;
	_Atomic uint32_t taken; /* numbers that some thread has had */
	pthread_mutex_t lock;
	uint32_t chains; /* of free numbers that no thread has; see packet.c */
};

/* Numbers that one thread may use. */
struct packet_pool {
	struct packet_table *table;
	uint32_t first, free;  /* free ones, linked by next, and how many */
	uint32_t fresh, until; /* never used */
	uint64_t used, freed;  /* their difference, over all pools, is in use */
};

/* 0 or -ENOMEM. */
int packet_table_open(struct packet_table *);
void packet_table_close(struct packet_table *);
/* PACKET_NONE: there is no more. */
uint32_t packet_more(struct packet_pool *);
/* It has many free ones: others may need them. */
void packet_return(struct packet_pool *);

#define PACKETS_KEPT 4096 /* free numbers that a pool keeps */

static inline uint32_t packet_take(struct packet_pool *p)
{
	uint32_t number = p->first;
	if (number == PACKET_NONE)
		return packet_more(p);
	p->first = p->table->packet[number].next;
	p->free--;
	p->used++;
	return number;
}

static inline void packet_give(struct packet_pool *p, uint32_t number)
{
	p->table->packet[number].next = p->first;
	p->first = number;
	p->freed++;
	if (++p->free == PACKETS_KEPT)
		packet_return(p);
}

static inline uint32_t packet_leg(const struct packet *p, unsigned at)
{
	return p->count > SPACE_LEGS_INLINE ? p->more[at] : p->leg[at];
}

/* That it has not used up. */
static inline uint32_t packet_hops_left(const struct packet *p)
{
	uint32_t hops = space_leg_hops(p->left);
	for (unsigned i = p->at; i < p->count; i++)
		hops += space_leg_hops(packet_leg(p, i));
	return hops;
}

/* What a crossbar has to know of the next hop. */
struct packet_step {
	unsigned port; /* or SPACE_PORT_HOST */
	unsigned group;
};

/* Uses up a hop. */
static inline struct packet_step packet_next(struct packet *p)
{
	uint32_t left = p->left;
	if (space_leg_hops(left) == 0) {
		if (p->at == p->count)
			return (struct packet_step){ SPACE_PORT_HOST, 0 };
		left = packet_leg(p, p->at++);
	}
	unsigned high = space_leg_low(left) == 0;
	p->left = left - (high ? space_leg(0, 0, 1) : space_leg(0, 1, 0));
	return (struct packet_step){ space_leg_port(left),
		high ? PATH_HIGH : PATH_LOW };
}

#endif
