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
 * Windows and posted receives lie on arena memory of the workbench:
 *
 *	uint64_t at = workbench_memory(&b, 4096), capability;
 *	workbench_window(&b, 1, 0, at, 4096, CAY_RIGHT_WRITE, &capability);
 *	counting_put(&b.port[0].origin, b.port[0].op,
 *		workbench_route(&b, 0, 1),
 *		&(struct target){ .capability = capability }, data, 8, tag);
 *	workbench_post(&b, 1, workbench_memory(&b, 8192), 8192, cookie);
 *
 * Port i has the VPID i + 1 and is entry i of every peer table. One thread.
 */
#ifndef CAY_DEVICE_WORKBENCH_H
#define CAY_DEVICE_WORKBENCH_H

#include "device/context.h"
#include "device/queue_set.h"

#define WORKBENCH_NODE	   0x0a0b0c0du /* its node identifier */
#define WORKBENCH_SETS_MAX 4	       /* queue sets that a port can have had */
#define WORKBENCH_MEMORY   (16u << 20) /* bytes that workbench_memory() has */

/* A port as its own process would see it. */
struct workbench_port {
	struct origin origin;
	struct op_record *op;
	_Atomic(struct context *) *slots; /* of its peers, by port */
	_Atomic(struct context *) **routes;
	struct origin_window *windows; /* by Win-ID; when first needed */
	uint32_t posted_next;	       /* the slot to post next */
	struct queue_config config;    /* of the queue set that it has now */
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

/* Zeroed pages of the arena: their offset, or 0 if there are no more. */
uint64_t workbench_memory(struct workbench *, uint64_t bytes);

static inline void *workbench_at(const struct workbench *b, uint64_t offset)
{
	return b->arena.base + offset;
}

/*
 * Opens the window `id` of a port on arena memory, or opens it anew, with a
 * capability that is the same in every run; with rights 0 closes it. It is an
 * origin window too, for PUT and GET from the work queue. 0, -EINVAL (not in
 * the arena, no such id), -ENOMEM.
 */
int workbench_window(struct workbench *, uint32_t port, uint16_t id,
	uint64_t offset, uint64_t bytes, uint32_t rights, uint64_t *capability);

/*
 * Posts a receive, as its owner would: slots in a circle. 0, -EINVAL, -EAGAIN
 * (the next slot is not free).
 */
int workbench_post(struct workbench *, uint32_t port, uint64_t offset,
	uint64_t bytes, uint64_t cookie);

/* Where messages of more than 40 bytes go; workbench_post() sets POSTED_RDR. */
void workbench_posted_mode(struct workbench *, uint32_t port, enum posted_mode);

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
