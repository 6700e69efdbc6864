/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test fixture for the device: an arena in private memory with open ports
 * that have resolved each other, without a node and without other processes.
 * `cay explain`, the trace replay and the unit tests use it.
 *
 *	struct fixture b;
 *	fixture_open(&b, 2, &(struct queue_options){ 0 });
 *	counting_send_fast(&b.port[0].origin, fixture_route(&b, 0, 1),
 *		tag, data, length, b.port[0].op);
 *	... device_peek(fixture_own(&b, 1), ...) ...
 *	fixture_close(&b);
 *
 * Windows and posted receives use arena memory of the fixture:
 *
 *	uint64_t at = fixture_memory(&b, 4096), capability;
 *	fixture_window(&b, 1, 0, at, 4096, CAY_RIGHT_WRITE, &capability);
 *	counting_put(&b.port[0].origin, fixture_route(&b, 0, 1),
 *		(struct cay_key){ .capability = capability }, 0, data, 8, tag,
 *		b.port[0].op);
 *	fixture_post(&b, 1, fixture_memory(&b, 8192), 8192, cookie);
 *
 * Port i has the VPID i + 1 and is entry i of every peer table. One thread.
 */
#ifndef CAY_DEVICE_FIXTURE_H
#define CAY_DEVICE_FIXTURE_H

#include "device/context.h"
#include "device/queue_set.h"

#define FIXTURE_NODE	 0x0a0b0c0du /* its node identifier */
#define FIXTURE_SETS_MAX 4	     /* queue sets per port over its life */
#define FIXTURE_MEMORY	 (16u << 20) /* bytes that fixture_memory() has */

/* The state that the process of a port would hold. */
struct fixture_port {
	struct origin origin;
	struct op_record *op;
	_Atomic(struct context *) *slots; /* of its peers, by port */
	_Atomic(struct context *) **routes;
	struct origin_window *windows; /* by Win-ID; NULL: none was opened */
	struct queue_config config;    /* of the current queue set */
	uint32_t first_epoch;
	uint32_t sets; /* number of queue sets so far */
};

struct fixture {
	struct arena arena;
	uint64_t heap_end;
	uint32_t ports;
	struct fixture_port *port;
};

/* Returns 0 or -ENOMEM. */
int fixture_open(
	struct fixture *, uint32_t ports, const struct queue_options *);
/* The same in an arena with this distance between controls. */
int fixture_open_stride(struct fixture *, uint32_t ports,
	const struct queue_options *, uint32_t control_stride);
void fixture_close(struct fixture *);

/*
 * Opens the next queue set of a VPID, with the next epoch, and closes the
 * previous one. With same_port the port migrates and its peers can follow;
 * otherwise the VPID is recycled and its origin is loaded again. Returns 0,
 * -ENOMEM or -ENOSPC.
 */
int fixture_reopen(struct fixture *, uint32_t port, bool same_port);

/* Allocates zeroed pages; returns their arena offset, or 0 if none is left. */
uint64_t fixture_memory(struct fixture *, uint64_t bytes);

static inline void *fixture_at(const struct fixture *b, uint64_t offset)
{
	return b->arena.base + offset;
}

/*
 * Opens or reopens window `id` of a port on arena memory, with a capability
 * that is the same in every run; rights 0 closes it. The window also serves as
 * an origin window for PUT and GET from the work queue. Returns 0, -EINVAL (not
 * in the arena, or no such id) or -ENOMEM.
 */
int fixture_window(struct fixture *, uint32_t port, uint16_t id,
	uint64_t offset, uint64_t bytes, uint32_t rights, uint64_t *capability);

/*
 * Posts a receive in the next slot of the ring. Returns 0, -EINVAL, or -EAGAIN
 * if that slot is not free.
 */
int fixture_post(struct fixture *, uint32_t port, uint64_t offset,
	uint64_t bytes, uint64_t cookie);

/* Sets the posted mode; the first fixture_post() sets POSTED_RDR. */
void fixture_posted_mode(struct fixture *, uint32_t port, enum posted_mode);

/* The context slot through which port `from` reaches port `to`. */
static inline _Atomic(struct context *) *fixture_route(
	const struct fixture *b, uint32_t from, uint32_t to)
{
	return &b->port[from].slots[to];
}

/* The context of a port's own queue set. */
static inline struct context *fixture_own(
	const struct fixture *b, uint32_t port)
{
	return atomic_load_explicit(
		&b->port[port].origin.device.own, memory_order_acquire);
}

static inline uint16_t fixture_vpid(uint32_t port)
{
	return (uint16_t)(port + 1);
}

#endif
