/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a network: flat arrays, and the threads that share them.
 *
 * Everything has a place, a number made of its node, its port and its virtual
 * channel; the number of its port and that of its node are the same number,
 * shifted. Inputs and outputs have the same geometry: what leaves by an output
 * arrives at the input with the place `there`, and a credit for it comes back
 * to the output with the place that was `there` at the other end.
 *
 * Everything of a node is touched only by the worker that has the node, or by
 * the caller between two cycles; what one node tells another goes through a
 * wheel. A cycle of a worker:
 *
 *	arrive.c	flits into buffers, heads read their route
 *	credit.c	credits to outputs
 *	load.c		new packets into queues
 *	vc_alloc.c	who gets a virtual channel
 *	switch_alloc.c	who gets the crossbar: flits go to a link (link.c) or to
 *			the host (host.c)
 *	source.c	one flit of a packet into each network port
 *
 * Each works through a list of those who have something to do, so that a cycle
 * costs what happens in it. Nothing depends on the order of a list: where two
 * want the same, their places, times and turns decide.
 */
#ifndef CAY_NETWORK_ENGINE_ENGINE_H
#define CAY_NETWORK_ENGINE_ENGINE_H

#include <pthread.h>

#include "base/bits.h"
#include "network/engine/network.h"
#include "network/engine/packet.h"
#include "network/engine/schedule.h"
#include "network/engine/wheel.h"
#include "network/stats/histogram.h"

#define WORKERS_MAX	NETWORK_THREADS_MAX
#define CREDITS_ENDLESS 0xffff /* of outputs that never stop */
#define PORTS_MAX	(TOPOLOGY_PORTS_MAX + 2 * ROUTER_NETWORK_MAX + 2)
#define NO_PLACE	UINT32_MAX
#define NO_ASKER	UINT32_MAX
#define PORT_ANY	0xff /* whichever network port is free */
#define GROUP_ANY	2    /* any virtual channel; see enum path_group */

_Static_assert(PORTS_MAX <= 64, "a bit for each port");

enum input_state {
	INPUT_IDLE,
	INPUT_ASKING, /* for a virtual channel */
	INPUT_ACTIVE, /* has one; its flits ask for the crossbar */
};

/*
 * A virtual channel of an input port, with its buffer: the first flit is here,
 * those behind it in a ring. Most buffers hold one flit, or none.
 */
struct input {
	union {
		uint32_t since; /* asking: since then, or from then on */
		uint32_t out;	/* active: the place of its output */
	};
	uint32_t front;
	uint16_t head;	 /* where the ring begins */
	uint16_t count;	 /* flits, the front with them */
	uint8_t port;	 /* of the output that it asks for, or has */
	uint8_t turn;	 /* that of the packet before, ... */
	uint8_t channel; /* ... and the virtual channel */
	uint8_t state : 2;
	uint8_t group : 2;   /* enum path_group, or GROUP_ANY */
	uint8_t stopped : 1; /* the sender has been told to stop */
	uint8_t moving : 1;  /* is in the list of those who ask to move */
};

_Static_assert(sizeof(struct input) == 16, "four of them on a line");

/* A virtual channel of an output port. */
struct output {
	uint16_t credits;
	uint16_t turn;	 /* whom it offers itself to next: behind this input */
	uint32_t waiter; /* input that has it and waits for credit */
};

enum port_flags {
	PORT_MASKED = 1, /* nothing may leave by it */
	PORT_ERROR = 2,	 /* the next flit meets a bit error */
};

/* A port, in and out. */
struct port {
	uint32_t there; /* place of its first channel at the other end */
	/*
	 * The cycle in which a flit of the input asks to move, or one asks for
	 * the output; bit 0: more than one.
	 */
	uint32_t used_in, used_out;
	/*
	 * The cycle in which one asks for a channel of it; bit 0: more than
	 * one; bit 1: they are linked, from the first on.
	 */
	uint32_t asked, first;
	uint32_t flits;	  /* that have left; see link_flits() */
	uint16_t free;	  /* bits of virtual channels of the output */
	uint8_t turn_in;  /* behind this output it takes an offer next */
	uint8_t next;	  /* behind this virtual channel it sends next */
	uint8_t turn_out; /* behind this input it offers itself next */
	uint8_t flags;
	uint8_t worker; /* at the other end */
};

_Static_assert(sizeof(struct port) == 32, "two of them on a line");

/* What few need to know of a link. */
struct link_count {
	uint64_t repeated, blocked;
	uint64_t flits;	      /* above what a port's counter holds */
	uint32_t busy;	      /* carries no flit before then */
	struct random errors; /* one flit a cycle draws, so any order will do */
	uint32_t suspect;     /* of a deadlock, for so many cycles ... */
	uint32_t suspected;   /* ... up to this one */
};

/* Of a virtual channel that is taken, for the smart arbiters. */
struct output_tag {
	uint32_t owner; /* input */
	uint16_t tag;
};

/* A network port's way in: the packet that it sends, and those that wait. */
struct source {
	uint32_t packet; /* PACKET_NONE: none */
	uint16_t sent;
	uint8_t channel;
	uint8_t last;		     /* channel of the packet before */
	bool listed;		     /* among those who send */
	uint32_t first, tail, count; /* the queue */
};

struct node {
	uint64_t rivals;      /* cycle + 1 in which flits want the same way; */
	uint32_t first;	      /* the last of them, in the worker's list */
	struct random random; /* what it sends */
	bool dead;
};

/* What is kept of a packet that somebody sent by hand. */
struct record {
	uint64_t cookie;
	uint32_t next; /* free one */
	uint32_t count, room;
	struct network_hop *hop;
};

/* What the study wants to know, of packets that count. */
struct measure {
	struct histogram latency;
	uint64_t network_latency, hops, created, done;
};

/* What a cycle leaves to the caller. */
enum alarm_kind {
	ALARM_DEADLOCK, /* an output that is stopped for long */
	ALARM_LINK,	/* a link that has failed too often */
};

/* Places that have something to do. */
struct places {
	uint32_t *of;
	uint32_t count, room;
};

/* Who asks for a virtual channel. */
struct asker {
	uint32_t place;
	uint32_t port;	 /* its number */
	uint32_t next;	 /* at the same output */
	uint16_t mask;	 /* channels that it may have */
	uint16_t offers; /* and those that it can have now */
};

/* A flit that could go through the crossbar. */
struct mover {
	uint32_t place, out;
	uint32_t next; /* at the same node */
};

struct deliveries {
	struct network_delivery *of;
	uint64_t count, room, taken;
	bool way_given; /* of the last one taken */
};

struct release {
	struct network_release what;
	uint64_t number; /* of a worker: in order */
};

struct releases {
	struct release *of;
	uint64_t count, room, taken, numbers;
};

struct worker {
	struct network *network;
	unsigned index;
	uint32_t first, end; /* its nodes */
	uint64_t now;
	/* By the parity of the cycle: this one's, and the next one's. */
	struct places asking[2], moving[2], sending[2];
	struct asker *asker;
	struct mover *mover;
	uint32_t *contested; /* ports, or nodes, that have rivals */
	uint64_t askers_room, movers_room, contested_room;
	struct wheel wheel;
	/* Of it: when flits that leave in this cycle arrive, and credits. */
	struct wheel_list *flits_slot, *credits_slot;
	struct packet_pool pool;
	struct network_counters counters;
	struct measure measure;
	struct deliveries deliveries;
	struct releases releases;
	/* When nodes create their next packet: lists by time, modulo. */
	uint32_t *calendar;
	struct places alarms; /* numbers of ports, twice, and the kind */
	/* Of the packets of its nodes: in queues, at hosts, of multicasts. */
	int64_t queued, hosted, multicasts;
	int error;
} __attribute__((aligned(128)));

/* Instead of a masked port: legs to the node that it leads to. */
struct detour {
	uint32_t port; /* its number */
	unsigned count;
	uint32_t leg[SPACE_LEGS_INLINE];
};

struct network {
	struct topology *topology;
	struct network_options options;
	struct router router;
	uint32_t nodes;
	unsigned links, network_ports, channels;
	/* Ports of a node: links, network ports, then these: */
	unsigned port_multicast, port_debug;
	unsigned port_source; /* credits of the network ports' sources */
	unsigned ports;
	/* A place: node, port, channel; with so many bits for each. */
	unsigned channel_bits, port_bits, node_shift;
	uint32_t channel_mask, port_mask, local_mask; /* of their lower bits */
	unsigned depth_mask;			      /* of a buffer's ring */
	uint16_t group_mask[3];
	uint16_t tag_mask;
	bool round_robin;
	bool credits; /* not stop and continue */
	bool masks;   /* some port is masked */
	bool patient; /* links may be busy, or have errors */

	void *map; /* in which these are */
	uint64_t map_bytes, buffer_bytes;
	struct input *input;   /* by place */
	struct output *output; /* by place */
	struct port *port;     /* by number */
	uint32_t *link_end;    /* by port: the node there, also if it died */
	struct link_count *link_count; /* by port */
	uint32_t *buffer;	       /* by place: rings */
	struct node *node;
	struct source *source; /* by node and network port */
	uint8_t *worker_of;    /* by node */
	/* What only some routers need: host tags of who asks and who has. */
	uint16_t *input_tag;
	struct output_tag *output_tag;
	/* By input: a packet whose head has left, but not its tail. */
	uint32_t *input_packet;

	struct packet_table packets;
	struct space *space;
	struct tree tree;
	struct barriers *barriers;
	struct level *level;
	struct agenda agenda;
	struct load *load;
	bool measuring;

	struct record *record;
	uint32_t records, record_free;
	pthread_mutex_t record_lock;

	struct detour *detour;
	unsigned detours;

	uint64_t now;
	uint64_t looked;    /* for a deadlock */
	uint64_t recovered; /* from one */
	/* Something has died: sources wait until the network is empty. */
	bool draining;
	bool around; /* ways of dimension order may be cut; see reroute.c */
	bool failed; /* -ENOMEM happened */
	struct deliveries deliveries;
	struct releases releases;

	unsigned workers;
	struct worker *worker;
	struct crew *crew;
};

/* ---- places ---- */

static inline uint32_t place_of(
	const struct network *n, uint32_t node, unsigned port, unsigned channel)
{
	return (node << n->port_bits | port) << n->channel_bits | channel;
}

/* The number of a port, by its node or by a place of it. */
static inline uint32_t port_of(
	const struct network *n, uint32_t node, unsigned port)
{
	return node << n->port_bits | port;
}

static inline uint32_t place_port(const struct network *n, uint32_t place)
{
	return place >> n->channel_bits;
}

static inline uint32_t place_node(const struct network *n, uint32_t place)
{
	return place >> n->node_shift;
}

static inline unsigned place_channel(const struct network *n, uint32_t place)
{
	return place & n->channel_mask;
}

/* Its place within its node. */
static inline unsigned place_local(const struct network *n, uint32_t place)
{
	return place & n->local_mask;
}

/* Which port of its node it is. */
static inline unsigned port_local(const struct network *n, uint32_t port)
{
	return port & n->port_mask;
}

static inline uint32_t port_node(const struct network *n, uint32_t port)
{
	return port >> n->port_bits;
}

/* Where the credits of an input of a network port are kept. */
static inline uint32_t place_source(const struct network *n, uint32_t place)
{
	return place + ((n->port_source - n->links) << n->channel_bits);
}

static inline uint32_t *input_ring(const struct network *n, uint32_t place)
{
	return &n->buffer[(uint64_t)place * (n->depth_mask + 1ull)];
}

static inline struct source *node_sources(
	const struct network *n, uint32_t node)
{
	return &n->source[(uint64_t)node * n->network_ports];
}

static inline struct packet *flit_packet(const struct network *n, uint32_t flit)
{
	return &n->packets.packet[flit & PACKET_NUMBER];
}

/* Flits that a link has carried. */
static inline uint64_t link_flits(const struct network *n, uint32_t port)
{
	return n->link_count[port].flits + n->port[port].flits;
}

static inline struct worker *node_worker(const struct network *n, uint32_t node)
{
	return &n->worker[n->worker_of[node]];
}

/* Has the time come, as far as 32 bits tell? */
static inline bool time_reached(uint64_t now, uint32_t when)
{
	return (int32_t)((uint32_t)now - when) >= 0;
}

/* Is it the near future? What is long past looks far, not near; 0 is never. */
static inline bool time_ahead(uint64_t now, uint32_t when)
{
	return when && when - (uint32_t)now - 1 < 0x3fff;
}

static inline bool port_is_link(const struct network *n, unsigned port)
{
	return port < n->links;
}

static inline void worker_fail(struct worker *w, int error)
{
	if (w->error == 0)
		w->error = error;
}

#endif
