/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State of a simulated network: flat arrays, and the workers that share them.
 *
 * A virtual channel (VC) has an index made of the numbers of its node, its port
 * and its channel, in this order from the top bits; shifted right, it is the
 * index of the port, and further, that of the node. Input VCs and output VCs
 * share the numbering. A flit that leaves by output VC c of port p arrives at
 * input VC port[p].peer_vc + c, and the credit for it returns to the output VC
 * that is found in the same way from there.
 *
 * Only the worker that owns a node accesses the state of this node, or the
 * caller's thread between two cycles. Nodes communicate through timing wheels.
 * The cycle of a worker:
 *
 *	arrive.c	flits enter input buffers; head flits are routed
 *	credit.c	credits return to outputs
 *	load.c		nodes create packets
 *	vc_alloc.c	VC allocation
 *	switch_alloc.c	switch allocation; flits go to a link (link.c) or to the
 *			host (host.c)
 *	source.c	injection of one flit per network port
 *
 * Each step visits only its worklist, so the cost of a cycle depends on its
 * activity and not on the size of the network. The order of a worklist has no
 * effect on the result: VC indices, request times and round-robin pointers
 * resolve all conflicts.
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

#define WORKERS_MAX	  NETWORK_THREADS_MAX
#define CREDITS_UNLIMITED 0xffff /* of outputs without credit flow control */
#define PORTS_MAX	  64	 /* of a node: a bit for each */
#define NO_VC		  UINT32_MAX
#define NO_REQUEST	  UINT32_MAX
#define PORT_ANY	  0xff		      /* any network port */
#define CLASS_ANY	  ROUTING_CLASSES_MAX /* any channel */

enum input_state {
	INPUT_IDLE,
	INPUT_VC_ALLOC, /* requests an output VC */
	INPUT_ACTIVE,	/* holds an output VC; its flits request the switch */
};

/*
 * An input VC and its buffer. The first flit is in `front`, the others in a
 * ring (input_ring()). Most buffers hold one flit or none.
 */
struct input_vc {
	union {
		uint32_t request_time; /* INPUT_VC_ALLOC: first request */
		uint32_t out;	       /* INPUT_ACTIVE: the output VC held */
	};
	uint32_t front;
	uint16_t head;	   /* first index of the ring */
	uint16_t count;	   /* flits, including `front` */
	uint8_t port;	   /* output port requested or held */
	uint8_t last_port; /* output port of the previous packet */
	uint8_t channel;   /* output channel held, or held last */
	uint8_t state : 2;
	uint8_t xoff_sent : 1;	   /* the sender has been stopped */
	uint8_t switch_listed : 1; /* is in the worklist of the switch */
	uint8_t class : 4;	   /* channel class requested, or CLASS_ANY */
};

_Static_assert(sizeof(struct input_vc) == 16, "four per cache line");

struct output_vc {
	uint16_t credits;
	uint16_t rr_input; /* round-robin pointer: first input in priority */
	uint32_t blocked_input; /* holds this VC and waits for credit */
};

enum port_flags {
	PORT_MASKED = 1, /* no flit may leave by this port */
	PORT_ERROR = 2,	 /* the next flit has a bit error */
};

/* The input and the output side of a port. */
struct port_state {
	uint32_t peer_vc; /* first input VC at the other end; or NO_VC */
	/*
	 * Request marks of switch allocation, for the input and the output
	 * side: (cycle + 1) << 1; bit 0: two or more requests.
	 */
	uint32_t in_mark, out_mark;
	/*
	 * Request mark of VC allocation: (cycle + 1) << 2; bit 0: two or more
	 * requests; bit 1: these are linked from newest_request.
	 */
	uint32_t vc_mark, newest_request;
	uint32_t flits;	   /* sent, modulo 2^32; see link_flits() */
	uint16_t free_vcs; /* bits of output channels without an owner */
	/* Round-robin pointers of switch allocation. */
	uint8_t rr_output;  /* of the input side, over output ports */
	uint8_t rr_channel; /* of the input side, over its channels */
	uint8_t rr_input;   /* of the output side, over input ports */
	uint8_t flags;
	uint8_t peer_worker; /* worker of the node at the other end */
};

_Static_assert(sizeof(struct port_state) == 32, "two per cache line");

/* State of an output port that few flits need. */
struct link_state {
	uint64_t repeated, blocked;
	uint64_t flits;	     /* sent, multiples of 2^32 */
	uint32_t busy_until; /* sends no flit before this cycle */
	int16_t delay_more;  /* than link_delay of the router */
	uint16_t cycles;     /* per flit */
	/* At most one flit per cycle draws, so the sequence is defined. */
	struct random error_random;
	uint32_t suspect_cycles; /* of a suspected deadlock, consecutive */
	uint32_t suspect_last;	 /* the last of these cycles */
};

/* Owner of an output VC, for the arbiters that look at host tags. */
struct output_tag {
	uint32_t owner; /* input VC */
	uint16_t tag;
};

/* A source queue, one per network port, and the packet it injects. */
struct source_queue {
	uint32_t packet; /* in injection; or PACKET_NONE */
	uint16_t sent;	 /* flits of it */
	uint8_t channel;
	uint8_t last_channel; /* of the previous packet */
	bool listed;	      /* is in the worklist */
	uint32_t first, tail, count;
};

struct node_state {
	uint64_t conflict_mark;	 /* cycle + 1 of a switch conflict */
	uint32_t newest_request; /* of the conflict; links to older ones */
	struct random random;	 /* of traffic and routes */
	bool dead;
};

/* Path of a packet that the caller sent. */
struct packet_record {
	uint64_t cookie;
	uint32_t next; /* in the free list */
	uint32_t count, capacity;
	struct network_hop *hop;
};

/* Sums over the packets that are measured. */
struct measurement {
	struct histogram latency;
	uint64_t network_latency, hops, created, done;
};

/* Conditions that a worker hands to the caller's thread. */
enum interrupt_kind {
	INTERRUPT_DEADLOCK, /* an output port is blocked for a countdown */
	INTERRUPT_LINK,	    /* a link has failed too often */
};

/* Indices that have work in a cycle. */
struct worklist {
	uint32_t *entry;
	uint32_t count, capacity;
};

/* A request of VC allocation. */
struct vc_request {
	uint32_t vc;	 /* the input VC */
	uint32_t port;	 /* the output port */
	uint32_t next;	 /* older request for this port */
	uint16_t mask;	 /* channels that are allowed */
	uint16_t grants; /* channels offered by their arbiters */
};

/* A request of switch allocation. */
struct switch_request {
	uint32_t vc, out; /* input VC, output VC */
	uint32_t next;	  /* older request in conflict at this node */
};

struct deliveries {
	struct network_delivery *entry;
	uint64_t count, capacity, polled;
	bool path_lent; /* the caller uses the path of the last one taken */
};

struct release {
	struct network_release release;
	uint64_t number; /* sequence number of the worker */
};

struct releases {
	struct release *entry;
	uint64_t count, capacity, polled, numbers;
};

struct worker {
	struct network *network;
	unsigned index;
	uint32_t first, end; /* its nodes */
	uint64_t now;
	/* By the parity of the cycle: current and next. */
	struct worklist vc_worklist[2], switch_worklist[2], source_worklist[2];
	struct vc_request *vc_request;
	struct switch_request *switch_request;
	uint32_t *conflicts; /* ports, or nodes, with conflicting requests */
	uint64_t vc_requests_capacity;
	uint64_t switch_requests_capacity, conflicts_capacity;
	struct wheel wheel;
	/* Lists of the wheel for flits and credits sent in this cycle. */
	struct wheel_list *flits_slot, *credits_slot;
	struct packet_pool pool;
	struct network_counters counters;
	struct measurement measure;
	struct deliveries deliveries;
	struct releases releases;
	/* Nodes by the cycle of their next packet, modulo the lists. */
	uint32_t *calendar;
	struct worklist interrupts; /* port << 1 | enum interrupt_kind */
	/* Packets of its nodes: in queues, held by hosts, of multicasts. */
	int64_t queued, hosted, multicasts;
	int error;
} __attribute__((aligned(128)));

/* Replaces a masked port: legs to the node that the port leads to. */
struct detour {
	uint32_t port; /* index */
	unsigned count;
	uint32_t leg[ROUTING_LEGS_INLINE];
};

struct network {
	struct topology *topology;
	struct network_options options;
	struct router router;
	uint32_t nodes, hosts;
	unsigned links, channels;
	unsigned network_ports; /* of a host */
	unsigned host_ports;	/* network ports of all hosts of a node */
	/* Hosts by node and nodes by host, as in struct topology. */
	const uint32_t *host_node, *first_host;
	/* Ports of a node: links, network ports, then these: */
	unsigned port_multicast, port_debug;
	unsigned port_source; /* output VCs of the sources: credits only */
	unsigned ports;
	/* Bits of the channel and port in a VC index; their sum. */
	unsigned channel_bits, port_bits, node_shift;
	uint32_t channel_mask, port_mask, local_mask;
	unsigned depth_mask;		    /* of a ring */
	uint16_t class_mask[CLASS_ANY + 1]; /* channels of each class */
	uint16_t tag_mask;
	bool round_robin;
	bool credits;	    /* credit flow control, not XON/XOFF */
	bool credits_alike; /* and the same delay on all links */
	bool any_masked;    /* some port is masked */
	bool check_links;   /* links may be busy, or have errors */

	void *map; /* holds the arrays up to input_packet */
	uint64_t map_bytes, buffer_bytes;
	struct input_vc *input;	  /* by VC */
	struct output_vc *output; /* by VC */
	struct port_state *port;  /* by port */
	uint32_t *link_end;	  /* by port: the node there, alive or not */
	struct link_state *link_state; /* by port */
	uint32_t *buffer;	       /* by VC: rings */
	struct node_state *node;
	struct source_queue *source; /* by host and network port */
	uint8_t *worker_of;	     /* by node */
	/* Host tags of requests and of owners, if the arbiter needs them. */
	uint16_t *input_tag;
	struct output_tag *output_tag;
	/* By input VC: a packet whose head has left, but not its tail. */
	uint32_t *input_packet;

	struct packet_table packets;
	double link_delay_mean;
	unsigned delay_more_most;
	struct routing *routing;
	struct tree tree;
	struct barriers *barriers;
	struct barrier_transport *transport;
	struct schedule schedule;
	struct load_state *load;
	bool measuring;

	struct packet_record *record;
	uint32_t records, record_free;
	pthread_mutex_t record_lock;

	struct detour *detour;
	unsigned detours;

	uint64_t now;
	uint64_t deadlock_checked;   /* time of the last search */
	uint64_t deadlock_recovered; /* time of the last recovery */
	/* After a failure: sources stop until the network is empty. */
	bool draining;
	bool rerouting; /* dimension-order routes may be cut; see reroute.c */
	bool failed;	/* an allocation failed */
	struct deliveries deliveries;
	struct releases releases;

	unsigned workers;
	struct worker *worker;
	struct thread_pool *pool;
};

/* ---- indices ---- */

static inline uint32_t vc_of(
	const struct network *n, uint32_t node, unsigned port, unsigned channel)
{
	return (node << n->port_bits | port) << n->channel_bits | channel;
}

/* The index of a port, from its node or from one of its VCs. */
static inline uint32_t port_of(
	const struct network *n, uint32_t node, unsigned port)
{
	return node << n->port_bits | port;
}

static inline uint32_t vc_port(const struct network *n, uint32_t vc)
{
	return vc >> n->channel_bits;
}

static inline uint32_t vc_node(const struct network *n, uint32_t vc)
{
	return vc >> n->node_shift;
}

static inline unsigned vc_channel(const struct network *n, uint32_t vc)
{
	return vc & n->channel_mask;
}

/* The index within the node. */
static inline unsigned vc_local(const struct network *n, uint32_t vc)
{
	return vc & n->local_mask;
}

/* The number of the port within its node. */
static inline unsigned port_local(const struct network *n, uint32_t port)
{
	return port & n->port_mask;
}

static inline uint32_t port_node(const struct network *n, uint32_t port)
{
	return port >> n->port_bits;
}

/* The output VC that counts the credits of a source. */
static inline uint32_t vc_source(const struct network *n, uint32_t vc)
{
	return vc + ((n->port_source - n->links) << n->channel_bits);
}

static inline uint32_t *input_ring(const struct network *n, uint32_t vc)
{
	return &n->buffer[(uint64_t)vc * (n->depth_mask + 1ull)];
}

static inline struct source_queue *host_sources(
	const struct network *n, uint32_t host)
{
	return &n->source[(uint64_t)host * n->network_ports];
}

/* The node of a host. */
static inline uint32_t host_node(const struct network *n, uint32_t host)
{
	return unlikely(n->host_node) ? n->host_node[host] : host;
}

/* The first host of a node; the end of the nodes is a node as well. */
static inline uint32_t node_host(const struct network *n, uint32_t node)
{
	return unlikely(n->first_host) ? n->first_host[node] : node;
}

/*
 * The first network port, from 0, of the host that a packet leaves to. At other
 * nodes than that of its destination it is the first host.
 */
static inline unsigned host_port(
	const struct network *n, uint32_t node, uint32_t to)
{
	if (likely(!n->host_node) || n->host_node[to] != node)
		return 0;
	return (to - n->first_host[node]) * n->network_ports;
}

static inline struct packet_state *flit_packet(
	const struct network *n, uint32_t flit)
{
	return &n->packets.packet[flit & PACKET_NUMBER];
}

/* Flits that have left by a port. */
static inline uint64_t link_flits(const struct network *n, uint32_t port)
{
	return n->link_state[port].flits + n->port[port].flits;
}

static inline struct worker *node_worker(const struct network *n, uint32_t node)
{
	return &n->worker[n->worker_of[node]];
}

/* Packet numbers in use. */
static inline uint64_t packets_in_use(const struct network *n)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < n->workers; i++)
		count += n->worker[i].pool.used - n->worker[i].pool.freed;
	return count;
}

/* Packets in routers and on links. */
static inline uint64_t packets_in_flight(const struct network *n)
{
	int64_t outside = 0;
	for (unsigned i = 0; i < n->workers; i++)
		outside += n->worker[i].queued + n->worker[i].hosted;
	return packets_in_use(n) - (uint64_t)outside;
}

/* Compares times modulo 2^32. */
static inline bool time_reached(uint64_t now, uint32_t when)
{
	return (int32_t)((uint32_t)now - when) >= 0;
}

/*
 * Returns true if `when` is at most 2^14 cycles ahead. A stale time modulo 2^32
 * is not; 0 is never.
 */
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
