/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workbench for the device: an arena in private memory with some open ports
 * that all know each other, without a node and without processes. For `cay
 * explain` and for the tests of the units.
 *
 *	struct workbench b;
 *	workbench_open(&b, 2, &(struct queue_wish){ 0 });
 *	counting_send_fast(&b.port[0].origin, b.port[0].op,
 *		workbench_route(&b, 0, 1), tag, 0, data, length);
 *	... device_peek(workbench_own(&b, 1), ...) ...
 *	workbench_close(&b);
 *
 * Port i has the VPID i + 1 and is entry i of every peer table. One thread.
 */
#ifndef CAY_DEVICE_WORKBENCH_H
#define CAY_DEVICE_WORKBENCH_H

#include "device/context.h"
#include "device/queue_set.h"

#define WORKBENCH_NODE	   0x0a0b0c0du /* its node identifier */
#define WORKBENCH_SETS_MAX 4	       /* queue sets that a port can have had */

/* A port as its own process would see it. */
struct workbench_port {
	struct origin origin;
	struct op_record *op;
	_Atomic(struct context *) *slots; /* of its peers, by port */
	_Atomic(struct context *) **routes;
	struct queue_config config; /* of the queue set that it has now */
	uint32_t born;
	uint32_t sets; /* that it has had */
};

struct workbench {
	struct arena arena;
	uint64_t heap_end;
	uint32_t ports;
	struct workbench_port *port;
};

/* 0 or -ENOMEM. */
int workbench_open(
	struct workbench *, uint32_t ports, const struct queue_wish *);
void workbench_close(struct workbench *);

/*
 * The next queue set for a VPID, with the next epoch; the one before is closed
 * after it. It goes to the same port, whose peers may follow it, or to a new
 * one, whose origin is loaded afresh. 0, -ENOMEM, -ENOSPC.
 */
int workbench_reopen(struct workbench *, uint32_t port, bool same_port);

/* What a process hands to the device to reach port `to` from port `from`. */
static inline _Atomic(struct context *) *workbench_route(
	const struct workbench *b, uint32_t from, uint32_t to)
{
	return &b->port[from].slots[to];
}

/* A port's queue set as its owner sees it. */
static inline struct context *workbench_own(
	const struct workbench *b, uint32_t port)
{
	return atomic_load_explicit(
		&b->port[port].origin.own, memory_order_acquire);
}

static inline uint16_t workbench_vpid(uint32_t port)
{
	return (uint16_t)(port + 1);
}

#endif
