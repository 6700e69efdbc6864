/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the engine ask of each other, in the order in which a
 * packet meets them; what they share is in engine.h.
 */
#ifndef CAY_NETWORK_ENGINE_PARTS_H
#define CAY_NETWORK_ENGINE_PARTS_H

#include "network/engine/engine.h"

/* ---- worklist.c ---- */

bool places_grow(struct worker *, struct places *);
/* Room for as many as there are; false: no memory. */
bool places_askers(struct worker *, uint64_t count);
bool places_movers(struct worker *, uint64_t count);

static inline void places_put(
	struct worker *w, struct places *l, uint32_t place)
{
	if (unlikely(l->count == l->room) && !places_grow(w, l))
		return;
	l->of[l->count++] = place;
}

/* ---- arrive.c ---- */

void arrive_flits(struct worker *, const struct wheel_list *);
/* The packet at the front of an input reads its route, at `when`. */
void arrive_route(struct worker *, uint32_t place, uint64_t when);

/* ---- credit.c ---- */

/* What a credit says. */
enum credit {
	CREDIT_ONE,
	CREDIT_STOP,
	CREDIT_GO,
};

void arrive_credits(struct worker *, const struct wheel_list *);
/* Its buffer has filled or emptied: stop, or go. */
void credit_level(struct worker *, uint32_t place);
/* A flit has left a buffer that is not at a link with credits. */
void credit_other(struct worker *, uint32_t place);

/* ---- vc_alloc.c ---- */

void channel_allocate(struct worker *);
/* Virtual channels that an input may have at the output that it asks for. */
uint16_t channel_asked(const struct network *, const struct input *);
/* The one of these channels that ordered packets take, by a tag. */
uint16_t channel_of_order(uint16_t mask, uint32_t by);

/* ---- switch_alloc.c ---- */

void crossbar_move(struct worker *);

/* ---- link.c ---- */

#define LINK_ERRORS_MAX 8 /* in a row; then a link is given up */

/* How many cycles later a flit arrives, because it had to be repeated. */
unsigned link_repeat(struct worker *, uint32_t port);

/* ---- source.c ---- */

/* Puts a packet in a queue of its node. */
void source_queue(struct worker *, uint32_t node, uint32_t packet);
void source_step(struct worker *);

/* ---- load.c ---- */

void load_generate(struct worker *);
/* When a node of it creates a packet next, or sooner. */
uint64_t load_next(const struct worker *);
void load_close(struct network *);

/* ---- host.c ---- */

/* A flit leaves by a port that is no link. */
void host_take(struct worker *, uint32_t node, unsigned port, uint32_t flit);
/* What hosts do with packets after their delay: send them on. */
void host_events(struct worker *, struct wheel_list *);
/* It will not arrive: says so, and forgets it. */
void host_report(struct worker *, uint32_t node, uint32_t packet,
	enum network_fate fate);

/* ---- record.c ---- */

int record_table_open(struct network *);
void record_table_close(struct network *);
/* All deliveries of the workers to the caller, in order. 0 or -ENOMEM. */
int record_collect(struct network *);
void record_drop(struct deliveries *);
/* PACKET_NONE: no memory. */
uint32_t record_open(struct network *, uint64_t cookie);
/* What happened to a packet at one of several nodes, for network_take(). */
void record_note(struct worker *, const struct packet *, uint32_t node,
	uint64_t when, enum network_fate);
/* The same for the last of them, or the only one, with the way it took. */
void record_deliver(struct worker *, const struct packet *, uint32_t node,
	uint64_t when, enum network_fate);
/* A head leaves by an output. */
void record_hop(struct worker *, const struct packet *, uint32_t out);

/* ---- transport.c: barriers, a level of their own on the links ---- */

int level_open(struct network *);
void level_close(struct network *);
/* What the agenda says of barriers. */
void level_do(struct network *, const struct agenda_item *);
int level_collect(struct network *);
/* The tree is new: rounds that had begun end with an error. 0 or -ENOMEM. */
int level_renew(struct network *);
/* A message has come in by a port. It is heard in this cycle's step: */
void level_receive(struct worker *, uint32_t port, uint32_t message);
/* Behind all that arrives, before any flit leaves. */
void level_step(struct worker *);
/* Does a message wait for its link? */
bool level_waits(const struct worker *);

/* ---- fault.c ---- */

void fault_do(
	struct network *, enum network_fault, uint32_t node, unsigned port);
/* If the network is empty: new routes, and the sources go on. */
void fault_drained(struct network *);
/* The output of a packet that reads its route is masked: where it goes. */
unsigned fault_avoid(struct worker *, uint32_t node, unsigned port,
	struct packet *, unsigned *group);

/* ---- reroute.c ---- */

/* Has the topology lost something, and is dimension order the rule? */
bool around_needed(const struct network *);
/* A way to a node, or to one whose host sends it on. As space_find(). */
int around_find(
	struct network *, uint32_t from, uint32_t to, struct space_way *);

/* ---- deadlock.c ---- */

#define DEADLOCK_WAIT 1000 /* cycles of asking before anybody looks */

/* In every cycle in which somebody asks for an output: the first of them. */
void deadlock_watch(struct worker *, uint32_t port, uint32_t asker);
/* An output has been suspect for its whole countdown. */
void deadlock_recover(struct network *, uint32_t port);
/* Is there any input that can never move again? */
bool deadlock_exists(struct network *);

/* ---- discard.c ---- */

/* Packets that have lost flits, or will. */
struct cut {
	struct network *network;
	struct places packets;
	uint32_t link; /* that is looked at */
};

void cut_packet(struct cut *, uint32_t packet);
/* All flits on the way to a port. */
void cut_link(struct cut *, uint32_t port);
/* Takes them out of the network, all of their flits, and reports them. */
void cut_remove(struct cut *);

/* ---- interrupt.c ---- */

void alarm_raise(struct worker *, enum alarm_kind, uint32_t port);
/* Between two cycles: all that were raised. */
void alarm_handle(struct network *);

/* ---- network.c ---- */

/* Packets that are in routers or on links. */
uint64_t network_inside(const struct network *);

/* ---- thread_pool.c ---- */

int crew_open(struct network *, unsigned threads);
void crew_close(struct network *);
/* Runs cycles from now until then. */
void crew_run(struct network *, uint64_t until);

#endif
