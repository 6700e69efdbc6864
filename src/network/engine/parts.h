/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that the files of the engine, the router, faults and barriers call
 * in each other, in the order in which a packet passes them. The state that
 * they share is in engine.h.
 */
#ifndef CAY_NETWORK_ENGINE_PARTS_H
#define CAY_NETWORK_ENGINE_PARTS_H

#include "network/engine/engine.h"

/* ---- worklist.c ---- */

bool worklist_grow(struct worker *, struct worklist *);
/* Make room for `count` requests. Return false without memory. */
bool vc_requests_reserve(struct worker *, uint64_t count);
bool switch_requests_reserve(struct worker *, uint64_t count);

static inline void worklist_add(
	struct worker *w, struct worklist *l, uint32_t index)
{
	if (unlikely(l->count == l->capacity) && !worklist_grow(w, l))
		return;
	l->entry[l->count++] = index;
}

/* ---- source.c ---- */

/* Appends a packet to a source queue of a host. */
void source_enqueue(struct worker *, uint32_t host, uint32_t packet);
/* Injects a flit at each network port that has a packet. */
void sources_inject(struct worker *);

/* ---- load.c ---- */

/* Creates the packets of this cycle. */
void load_generate(struct worker *);
/* A lower bound of the cycle in which a node of the worker creates a packet. */
uint64_t load_next(const struct worker *);
void load_close(struct network *);

/* ---- arrive.c ---- */

void flits_arrive(struct worker *, const struct wheel_list *);
/* Routes the packet at the front of an input VC, as if it arrived at `when`. */
void input_route(struct worker *, uint32_t vc, uint64_t when);

/* ---- vc_alloc.c ---- */

void vc_allocate(struct worker *);

/* The channel of a mask that a tag selects, for ordered delivery. */
static inline uint16_t vc_ordered(uint16_t mask, uint32_t tag)
{
	unsigned skip = tag % (unsigned)__builtin_popcount(mask);
	for (; skip; skip--)
		mask &= (uint16_t)(mask - 1);
	return (uint16_t)(mask & -mask);
}

/* Channels of the requested output port that the packet of an input may use. */
static inline uint16_t vc_candidates(
	const struct network *n, const struct input_vc *in)
{
	uint16_t mask = n->class_mask[in->class];
	if (likely(!n->router.ordered))
		return mask;
	const struct packet_state *p = flit_packet(n, in->front);
	uint32_t tag = in->class == CLASS_ANY ? p->from / n->network_ports
					      : p->tag;
	return vc_ordered(mask, tag);
}

/* ---- switch_alloc.c ---- */

/* Allocates the switch and transfers the granted flits. */
void switch_allocate(struct worker *);

/* ---- link.c ---- */

/*
 * Draws the bit errors of a flit, and repeats it. Returns the additional delay
 * in cycles.
 */
int link_repeat(struct worker *, uint32_t port);

/* ---- credit.c ---- */

enum credit {
	CREDIT_ONE,
	CREDIT_XOFF,
	CREDIT_XON,
};

void credits_arrive(struct worker *, const struct wheel_list *);
/* Sends XOFF or XON if the buffer has reached a level. */
void credit_threshold(struct worker *, uint32_t vc);
/* Returns credit of an input that is not at a link with credits. */
void credit_return_other(struct worker *, uint32_t vc);

/* ---- host.c ---- */

/* A flit leaves by a port that is not a link. */
void host_eject(struct worker *, uint32_t node, unsigned port, uint32_t flit);
/* Enqueues the packets that hosts send on in this cycle. */
void host_resends(struct worker *, struct wheel_list *);

/* ---- report.c ---- */

/* Reports that a packet does not arrive, and frees it. */
void packet_report(struct worker *, uint32_t node, uint32_t packet,
	enum network_fate fate);

/* A packet has arrived, or has been reported. */
static inline void packet_end(struct worker *w, uint32_t packet)
{
	if (flit_packet(w->network, packet)->flags & PACKET_REPLICATED)
		w->multicasts--;
	packet_free(&w->pool, packet);
}

/* ---- record.c ---- */

int record_table_open(struct network *);
void record_table_close(struct network *);
/* Moves the deliveries of all workers to the network, sorted. 0 or -ENOMEM. */
int record_collect(struct network *);
void deliveries_free(struct deliveries *);
/* Returns the index of a new record, or PACKET_NONE without memory. */
uint32_t record_open(struct network *, uint64_t cookie);
/* Adds a delivery without a path, for one of several nodes. */
void record_report(struct worker *, const struct packet_state *, uint32_t node,
	uint64_t when, enum network_fate);
/* Adds the last or only delivery, with the path, and closes the record. */
void record_deliver(struct worker *, const struct packet_state *, uint32_t node,
	uint64_t when, enum network_fate);
/* Records that a head flit leaves by an output VC. */
void record_hop(struct worker *, const struct packet_state *, uint32_t out);

/* ---- transport.c ---- */

int transport_open(struct network *);
void transport_close(struct network *);
/* A scheduled arrival at a barrier, or reset of it. */
void transport_event(struct network *, const struct scheduled_event *);
/* Moves the releases of all workers to the network, sorted. 0 or -ENOMEM. */
int transport_collect(struct network *);
/*
 * Moves all barriers to a new tree; open rounds end with an error. Returns 0 or
 * -ENOMEM.
 */
int transport_rebuild(struct network *);
/* A message arrives at a port; transport_step() of this cycle handles it. */
void transport_receive(struct worker *, uint32_t port, uint32_t message);
/* Runs after all arrivals of a cycle, and before any flit leaves. */
void transport_step(struct worker *);
/* Returns true while a message waits for its link. */
bool transport_pending(const struct worker *);

/* ---- fault.c ---- */

void fault_apply(
	struct network *, enum network_fault, uint32_t node, unsigned port);
/* If the network is empty: computes new routes and restarts the sources. */
void fault_reroute_if_drained(struct network *);

/* ---- detour.c ---- */

/*
 * Returns the output port of a packet whose routed port is masked: that of a
 * detour, or the debug port.
 */
unsigned detour_port(struct worker *, uint32_t node, unsigned port,
	struct packet_state *, unsigned *class);

/* ---- reroute.c ---- */

/* Returns true if dimension order is the rule and the topology has losses. */
bool reroute_needed(const struct network *);
/*
 * Finds a path to `to`, or to a node whose host sends the packet on. Returns as
 * routing_find().
 */
int reroute_find(
	struct network *, uint32_t from, uint32_t to, struct routing_path *);

/* ---- deadlock.c ---- */

#define DEADLOCK_WAIT 1000 /* cycles of a request before a search starts */

/* Counts the cycles in which the requests for a port are blocked. */
void deadlock_suspect(struct worker *, uint32_t port, uint32_t request);
/* A port has been suspect for a whole countdown: checks, and recovers. */
void deadlock_recover(struct network *, uint32_t port);
/* Returns true if some input VC can never proceed. */
bool deadlock_exists(struct network *);

/* ---- discard.c ---- */

/* Packets that have lost flits, or will. */
struct discard {
	struct network *network;
	struct worklist packets;
	uint32_t link; /* of discard_link() */
};

void discard_packet(struct discard *, uint32_t flit);
/* Adds the packets of all flits that are on the link to an input port. */
void discard_link(struct discard *, uint32_t port);
/* Removes all flits of these packets from the network, and reports them. */
void discard_commit(struct discard *);

/* ---- interrupts: conditions that concern more than the worker's nodes ---- */

/* The caller's thread handles the interrupt before the next cycle. */
static inline void interrupt_raise(
	struct worker *w, enum interrupt_kind kind, uint32_t port)
{
	w->counters.interrupts++;
	worklist_add(w, &w->interrupts, port << 1 | kind);
}

/* ---- thread_pool.c ---- */

int thread_pool_open(struct network *, unsigned threads);
void thread_pool_close(struct network *);
/* Simulates cycles up to `until`, or until a worker raises an interrupt. */
void thread_pool_run(struct network *, uint64_t until);

#endif
