/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting on ULTRA paths together with their port: what a path has for the
 * consuming thread, sleep and wake-up, acknowledgements, and the order of
 * CAY_EVENT_GONE after the last message.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/lock.h"
#include "port/record.h"
#include "port/ultra.h"

/* If no one could wake this thread, it looks again after so long. */
#define LOOK_NS	      (1 * CLOCK_NS_PER_MS)
#define NODE_LIVES_NS (100 * CLOCK_NS_PER_MS)

/* A NOTIFY_GONE that is held until the paths of the peer are drained. */
struct ultra_held {
	struct list link;
	struct cay_addr peer;
	uint64_t position;
};

#define for_each_path(u, port)                                               \
	for (struct cay_ultra *u =                                           \
			list_of((port)->ultra.next, struct cay_ultra, link); \
		&u->link != &(port)->ultra;                                  \
		u = list_of(u->link.next, struct cay_ultra, link))

/* ---- the other end ---- */

bool ultra_learn_origin(struct cay_ultra *u)
{
	struct ultra_config config;
	const struct ultra_return_page *page = u->page;
	if (u->peer_upid)
		return true;
	/* Acquire pairs with ultra_ready() in node/ultra.c. */
	if (!(ultra_flags(u) & ULTRA_ENABLED))
		return false;
	memcpy(&config, &page->config, sizeof(config));
	u->local = config.local;
	u->peer_vpid = config.origin_vpid;
	u->peer_upid = config.origin_upid;
	return true;
}

__attribute__((cold, noinline)) void ultra_wake_peer(
	struct cay_ultra *u, bool ring)
{
	struct member *m = u->port->member;
	_Atomic(struct context *) *slot;
	if (u->target && !ultra_learn_origin(u))
		return;
	if (u->local) {
		if (member_origin(m, u->peer_vpid, &slot) == 0)
			device_wake_peer(slot, ring);
		return;
	}
	/* If the node has exited, the peer does not sleep for long. */
	struct node_request request = { .kind = NODE_ULTRA_WAKE };
	request.ultra_end.upid = u->upid;
	request.ultra_end.ring = ring;
	control_post(m, &request);
}

/* ---- what a path has ---- */

/* Returns true if the oldest message with CAY_ACK is returned, or lost. */
static bool ack_due(const struct cay_ultra *u)
{
	uint64_t next =
		atomic_load_explicit(&u->ack_next, memory_order_acquire);
	return next != ULTRA_ACK_NONE &&
	       (device_ultra_returned(&u->out) > next ||
		       ultra_flags(u) & ULTRA_TARGET_GONE);
}

/* Returns true if a message was refused and a slice is free now. */
static bool room_due(const struct cay_ultra *u)
{
	if (!atomic_load_explicit(&u->wants_room, memory_order_relaxed))
		return false;
	uint64_t sent =
		atomic_load_explicit(&u->out.sent, memory_order_relaxed);
	return sent - device_ultra_returned(&u->out) < u->out.next.slices ||
	       ultra_flags(u) & ULTRA_TARGET_GONE;
}

static bool message_due(const struct cay_ultra *u)
{
	struct ultra_message m;
	/* Its end, or its damage, is reported once. */
	if (atomic_load_explicit(&u->ended, memory_order_relaxed))
		return false;
	return device_ultra_peek(&u->in, &m) != 0 ||
	       ultra_flags(u) & ULTRA_ORIGIN_GONE;
}

/* Returns true if the target has received all that it will ever receive. */
static bool path_drained(const struct cay_ultra *u)
{
	struct ultra_message m;
	return ultra_flags(u) & ULTRA_ORIGIN_GONE &&
	       device_ultra_peek(&u->in, &m) <= 0;
}

static bool peer_drained(struct cay_port *port, uint16_t vpid)
{
	for_each_path (u, port)
		if (u->target && ultra_learn_origin(u) && u->local &&
			u->peer_vpid == vpid && !path_drained(u))
			return false;
	return true;
}

bool ultra_pending(struct cay_port *port)
{
	for_each_path (u, port)
		if (u->target ? message_due(u) : ack_due(u) || room_due(u))
			return true;
	list_for_each (at, &port->ultra_held)
		if (peer_drained(port,
			    list_of(at, struct ultra_held, link)->peer.vpid))
			return true;
	return false;
}

void ultra_reported(struct cay_port *port)
{
	for_each_path (u, port)
		if (!u->target && room_due(u))
			atomic_store_explicit(
				&u->wants_room, false, memory_order_relaxed);
}

/* ---- sleep ---- */

/* Returns true if the origin waits for a position. */
static bool awaits_return(const struct cay_ultra *u)
{
	return atomic_load_explicit(&u->wants_room, memory_order_relaxed) ||
	       atomic_load_explicit(&u->ack_next, memory_order_relaxed) !=
		       ULTRA_ACK_NONE;
}

/* Announces another sleep of this port to the target. */
static void origin_asleep(struct cay_ultra *u)
{
	uint64_t number = 1 + atomic_fetch_add_explicit(
				      &u->sleeps, 1, memory_order_relaxed);
	/* Release: after what it waits for. */
	atomic_store_explicit(
		&u->out.own->asleep, number, memory_order_release);
}

bool ultra_asleep(struct cay_port *port, uint64_t *until)
{
	bool targets = false, foreign = false;
	atomic_fetch_add_explicit(
		&port->ultra_sleepers, 1, memory_order_relaxed);
	/* Pairs with the fence of ultra_call_back(). */
	atomic_thread_fence(memory_order_seq_cst);
	for_each_path (u, port) {
		if (u->target) {
			if (device_ultra_return(&u->in))
				ultra_wake_peer(u, false);
			/* Another sleep, also if ASLEEP is set already. */
			atomic_fetch_add_explicit(&u->in.page->flags,
				1ull << ULTRA_SLEEPS_SHIFT,
				memory_order_acq_rel);
			atomic_fetch_or_explicit(&u->in.page->flags,
				ULTRA_ASLEEP, memory_order_acq_rel);
			targets = true;
		} else if (awaits_return(u)) {
			origin_asleep(u);
		}
		foreign |= (!u->target || ultra_learn_origin(u)) && !u->local;
	}
	/* The flags above are visible before the paths are read again: U6, */
	atomic_thread_fence(memory_order_seq_cst);
	/* and U5: the origins do not fence. */
	if (targets && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED,
			       0, 0) != 0)
		*until = bits_min(*until, clock_after_ns(LOOK_NS));
	/* The node wakes this port for ends in other realms. */
	if (foreign)
		*until = bits_min(
			*until, clock_after_ns(member_node_alive(port->member)
						       ? NODE_LIVES_NS
						       : LOOK_NS));
	return !ultra_pending(port);
}

void ultra_awake(struct cay_port *port)
{
	if (atomic_fetch_sub_explicit(
		    &port->ultra_sleepers, 1, memory_order_relaxed) != 1)
		return;
	for_each_path (u, port)
		if (u->target)
			atomic_fetch_and_explicit(&u->in.page->flags,
				~(uint64_t)ULTRA_ASLEEP, memory_order_relaxed);
		else
			atomic_store_explicit(
				&u->out.own->asleep, 0, memory_order_relaxed);
}

bool ultra_arm(struct cay_port *port)
{
	uint64_t unused = UINT64_MAX;
	bool again = port->ultra_armed;
	port->ultra_armed = true;
	bool armed = ultra_asleep(port, &unused);
	/* The port counts as one sleeper from the first time on. */
	if (again)
		ultra_awake(port);
	return armed;
}

void ultra_call_back(struct cay_ultra *u)
{
	struct cay_port *port = u->port;
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&port->ultra_sleepers, memory_order_relaxed))
		return;
	origin_asleep(u);
	atomic_thread_fence(memory_order_seq_cst);
	/* The target may have returned before it could see that. */
	device_interrupt(port_context(port), false);
}

/* ---- acknowledgements ---- */

void ultra_event(struct cay_ultra *u, struct op_record *op,
	const struct ultra_ack *message, enum cay_ultra_flag flag,
	enum cay_error error)
{
	const struct completion c = { .tag = message->tag,
		.command =
			(uint16_t)(CAY_GROUP_ULTRA << CAY_COMMAND_GROUP_SHIFT |
				   flag),
		.error = (uint8_t)error,
		.peer_node = u->port->origin.node,
		.peer_vpid = u->peer_vpid,
		.length = message->length,
		.result = message->position,
		.previous = u->upid | (uint64_t)u->peer_upid << 16 };
	device_complete_ultra(&u->port->origin, op, &c);
}

/* Under port->lock. `all`: those that are not returned are lost. */
static void ack_write(struct cay_ultra *u, struct op_record *op, bool all)
{
	uint64_t returned = device_ultra_returned(&u->out);
	all |= (ultra_flags(u) & ULTRA_TARGET_GONE) != 0;
	uint32_t slices = u->out.next.slices;
	while (u->ack_count) {
		const struct ultra_ack *a = &u->acks[u->ack_first];
		bool taken = a->position < returned;
		if (!taken && !all)
			break;
		ultra_event(u, op, a, CAY_ULTRA_ACK,
			taken ? CAY_ERROR_NONE : CAY_ERROR_GONE);
		u->ack_first = (u->ack_first + 1) % slices;
		u->ack_count--;
	}
	/* Release: read without the lock by ack_due(). */
	atomic_store_explicit(&u->ack_next,
		u->ack_count ? u->acks[u->ack_first].position : ULTRA_ACK_NONE,
		memory_order_release);
}

int ultra_ack_prepare(struct cay_ultra *u)
{
	struct lock_guard guard;
	if (u->acks)
		return 0;
	struct ultra_ack *acks = calloc(u->out.next.slices, sizeof(*acks));
	lock_take(&u->port->lock, &guard);
	u->acks = acks;
	lock_drop(&u->port->lock, &guard);
	return acks ? 0 : -ENOMEM;
}

int ultra_ack_add(struct cay_ultra *u, struct op_record *op,
	const struct ultra_ack *message)
{
	struct cay_port *port = u->port;
	uint32_t slices = u->out.next.slices;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	/*
	 * Full only if the target has returned some: this message was stored in
	 * a free slice.
	 */
	if (u->ack_count == slices)
		ack_write(u, op, false);
	int r = u->ack_count == slices ? -EBADMSG : 0;
	bool first = u->ack_count == 0;
	if (r == 0) {
		u->acks[(u->ack_first + u->ack_count++) % slices] = *message;
		atomic_store_explicit(&u->ack_next,
			u->acks[u->ack_first].position, memory_order_release);
		port_attend(port, PORT_ULTRA_ACKS);
	}
	lock_drop(&port->lock, &guard);
	if (r == 0 && first)
		ultra_call_back(u);
	return r;
}

void ultra_acknowledge(struct cay_port *port)
{
	bool due = false;
	for_each_path (u, port)
		due |= !u->target && ack_due(u);
	struct op_record *op = due ? record_of(port->member) : NULL;
	if (!op)
		return;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	for_each_path (u, port)
		if (!u->target && u->ack_count)
			ack_write(u, op, false);
	lock_drop(&port->lock, &guard);
}

void ultra_acknowledge_end(struct cay_ultra *u)
{
	struct op_record *op = u->target ? NULL : record_of(u->port->member);
	struct lock_guard guard;
	if (!op)
		return;
	lock_take(&u->port->lock, &guard);
	ack_write(u, op, true);
	lock_drop(&u->port->lock, &guard);
}

/* ---- GONE after the last message ---- */

int ultra_hold_gone(
	struct cay_port *port, struct cay_addr peer, uint64_t position)
{
	if (list_empty(&port->ultra) || peer_drained(port, peer.vpid))
		return 0;
	struct ultra_held *h = malloc(sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = (struct ultra_held){ .peer = peer, .position = position };
	list_append(&port->ultra_held, &h->link);
	port_attend(port, PORT_ULTRA_HELD);
	return 1;
}

bool ultra_take_held(
	struct cay_port *port, struct cay_addr *peer, uint64_t *position)
{
	list_for_each (at, &port->ultra_held) {
		struct ultra_held *h = list_of(at, struct ultra_held, link);
		if (!peer_drained(port, h->peer.vpid))
			continue;
		*peer = h->peer;
		*position = h->position;
		list_remove(&h->link);
		free(h);
		if (list_empty(&port->ultra_held))
			port_attended(port, PORT_ULTRA_HELD);
		return true;
	}
	return false;
}

bool ultra_held(const struct cay_ultra *u)
{
	list_for_each (at, &u->port->ultra_held)
		if (u->local &&
			u->peer_vpid ==
				list_of(at, struct ultra_held, link)->peer.vpid)
			return true;
	return false;
}

void ultra_held_free(struct cay_port *port)
{
	while (!list_empty(&port->ultra_held)) {
		struct ultra_held *h =
			list_of(port->ultra_held.next, struct ultra_held, link);
		list_remove(&h->link);
		free(h);
	}
}
