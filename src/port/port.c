/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening, closing and statistics of ports; see cay_port(3). Any thread. */
#include "port/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "device/queue_set.h"
#include "node/address.h"
#include "port/cocopy.h"
#include "port/consumer.h"
#include "port/copied.h"
#include "port/emulate.h"
#include "port/pending.h"
#include "port/posted.h"
#include "port/record.h"
#include "port/resolve.h"
#include "port/resolved.h"
#include "port/ultra.h"
#include "port/window.h"

#define PORT_FLAGS_SUPPORTED                                    \
	(CAY_PORT_SHARED | CAY_PORT_WORD_MODE | CAY_PORT_HUGE | \
		CAY_PORT_TELL_GONE | CAY_PORT_FETCH)
#define PORT_FLAGS_ALL (PORT_FLAGS_SUPPORTED | CAY_PORT_GUARDED)

/* ---- open ---- */

/* Rounds a size up to a power of two. Returns false if it is too large. */
static bool size_log2(uint64_t size, unsigned lowest, unsigned highest,
	unsigned usual, uint8_t *log2)
{
	unsigned n = size ? bits_log2_up(size) : usual;
	*log2 = (uint8_t)(n < lowest ? lowest : n);
	return n <= highest;
}

static uint64_t rdr_units(size_t bytes)
{
	return bytes / RDR_UNIT + (bytes % RDR_UNIT != 0);
}

/* Checks the options. Returns 0, -EINVAL or -EOPNOTSUPP. */
static int request_fill(
	const struct cay_port_options *o, struct node_request *r)
{
	if (o->flags & ~(uint64_t)PORT_FLAGS_ALL)
		return -EINVAL;
	if (o->flags & ~(uint64_t)PORT_FLAGS_SUPPORTED)
		return -EOPNOTSUPP;
	if (o->name && !node_name_valid(o->name))
		return -EINVAL;
	if (!size_log2(o->nq_entries, QUEUE_NQ_LOG2_MIN, QUEUE_NQ_LOG2_MAX,
		    QUEUE_NQ_LOG2_DEFAULT, &r->open.nq_log2) ||
		!size_log2(o->wq_entries, QUEUE_WQ_LOG2_MIN, QUEUE_WQ_LOG2_MAX,
			QUEUE_WQ_LOG2_DEFAULT, &r->open.wq_log2) ||
		!size_log2(rdr_units(o->rdr_bytes), QUEUE_RDR_LOG2_MIN,
			QUEUE_RDR_LOG2_MAX, QUEUE_RDR_LOG2_DEFAULT,
			&r->open.rdr_log2) ||
		!size_log2(rdr_units(o->sdr_bytes), QUEUE_SDR_LOG2_MIN,
			QUEUE_SDR_LOG2_MAX, QUEUE_SDR_LOG2_DEFAULT,
			&r->open.sdr_log2) ||
		!size_log2(o->posted, 1, QUEUE_POSTED_LOG2_MAX,
			QUEUE_POSTED_LOG2_DEFAULT, &r->open.posted_log2) ||
		o->peers > CAY_VPIDS || o->windows > CAY_VPIDS)
		return -EINVAL;
	r->kind = NODE_OPEN;
	r->open.flags = o->flags;
	if (o->name)
		memcpy(r->open.name, o->name, strlen(o->name) + 1);
	r->open.peers = o->peers ? o->peers : QUEUE_PEERS_DEFAULT;
	r->open.windows = o->windows ? o->windows : QUEUE_WINDOWS_DEFAULT;
	return 0;
}

static struct cay_port *port_new(uint64_t flags)
{
	struct cay_port *port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	if (flags & CAY_PORT_TELL_GONE) {
		port->heard = calloc(CAY_VPIDS / 64, sizeof(*port->heard));
		if (!port->heard) {
			free(port);
			return NULL;
		}
	}
	port->flags = (uint32_t)flags;
	port->doorbell = -1;
	list_init(&port->replied);
	list_init(&port->ultra);
	list_init(&port->ultra_setups);
	list_init(&port->ultra_closed);
	list_init(&port->ultra_held);
	atomic_init(&port->resolved, &resolved_none);
	pthread_mutex_init(&port->consume, NULL);
	/*
	 * Recursive: cay_trigger() holds it while the device executes a work
	 * request, which may be an emulated access and take it again.
	 */
	pthread_mutexattr_t attribute;
	pthread_mutexattr_init(&attribute);
	pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&port->lock, &attribute);
	pthread_mutexattr_destroy(&attribute);
	return port;
}

static void port_delete(struct cay_port *port)
{
	pthread_mutex_destroy(&port->consume);
	pthread_mutex_destroy(&port->lock);
	free(port->pending);
	free(port->taken.entries);
	free(port->copied);
	free(port->posted_private);
	free(port->origin.routes);
	resolve_free(port);
	resolved_free(port);
	free(port->heard);
	ultra_held_free(port);
	windows_free(port);
	free(port);
}

static void port_close_at_node(struct member *m, uint16_t vpid)
{
	struct node_request request = { .kind = NODE_CLOSE };
	request.close.vpid = vpid;
	control_tell(m, &request);
}

/* The completion reports the refusal: the call succeeds. */
static int access_refused(_Atomic(struct context *) *to)
{
	struct cay_peer *peer =
		(struct cay_peer *)(void *)((unsigned char *)to -
					    offsetof(struct cay_peer, context));
	peer_refused(peer);
	port_check_capabilities(peer->port);
	return 0;
}

/* Opens the port at the node and loads the queue set that the node made. */
static int port_open_at_node(
	struct cay_port *port, const struct node_request *request)
{
	struct node_reply reply;
	int r = control_call(port->member, request, &reply, NULL);
	if (r)
		return r;
	struct context *own = malloc(sizeof(*own));
	r = own ? context_load(&port->member->arena, reply.open.vpid,
			  reply.open.epoch, own)
		: -ENOMEM;
	if (r == 0)
		r = origin_load(&port->origin, own, port->member->node);
	if (r) {
		free(own);
		port_close_at_node(port->member, reply.open.vpid);
		return r;
	}
	port->origin.send_emulated = emulate_send;
	port->origin.access_refused = access_refused;
	port->origin.word_mode = port->flags & CAY_PORT_WORD_MODE
					 ? WORD_MODE_VCI
					 : WORD_MODE_OFF;
	consumer_init(&port->consumer, own);
	return 0;
}

struct cay_port *cay_port_open(const struct cay_port_options *options)
{
	/*
	 * A caller compiled with a shorter struct gets defaults for the rest.
	 */
	struct cay_port_options o = { 0 };
	struct node_request request = { 0 };
	int r = -EINVAL;
	if (options) {
		size_t size = options->size ? options->size : sizeof(o);
		if (size < sizeof(size_t) || size > sizeof(o))
			goto err;
		memcpy(&o, options, size);
	}
	r = request_fill(&o, &request);
	if (r)
		goto err;
	r = -ENOMEM;
	struct cay_port *port = port_new(o.flags);
	if (!port)
		goto err;
	r = member_join(o.node, o.realm, &port->member);
	if (r)
		goto err_port;
	atomic_init(&port->state, *process_incarnation);
	if (port->flags & (CAY_PORT_SHARED | CAY_PORT_TELL_GONE))
		port_attend(port, PORT_SPECIAL);
	r = port_open_at_node(port, &request);
	if (r == 0)
		return port;
	member_leave(port->member);
err_port:
	port_delete(port);
err:
	errno = -r;
	return NULL;
}

/* ---- close ---- */

int cay_port_close(struct cay_port *port)
{
	if (!port)
		return 0;
	bool ours = port_valid(port) || port_error(port) == -EACCES;
	int quiesced = 0;
	if (ours) {
		struct context *own = port_context(port);
		queue_set_close(&port->member->arena, own->vpid, own->epoch);
		/* The application may reuse the memory of windows. */
		if (port->windows || posted_used(port))
			quiesced = port_quiesce(port, 0);
		ultra_port_close(port);
		pending_abandon(port);
		cocopy_free_ring(port);
		copied_close(port);
		consumer_free(port);
		port_close_at_node(port->member, port->origin.vpid);
		list_for_each_safe (at, after, &port->replied)
			peer_put(list_of(at, struct cay_peer, link));
		context_free(own);
		record_clear(port->member, port->origin.vpid);
		member_leave(port->member);
	}
	/* A forked child has inherited the descriptor. */
	if (port->doorbell >= 0)
		close(port->doorbell);
	port_delete(port);
	if (!ours)
		return -ECHILD;
	return quiesced == -ETIMEDOUT || quiesced == -EOPNOTSUPP ? quiesced : 0;
}

/* ---- address and statistics ---- */

struct cay_addr cay_port_addr(const struct cay_port *port)
{
	return port ? (struct cay_addr){ port->origin.node, port->origin.vpid }
		    : (struct cay_addr){ 0 };
}

static uint64_t counter_load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

int cay_port_stats(struct cay_port *port, struct cay_stats *s)
{
	if (!port_usable(port))
		return port_error(port);
	if (!s)
		return -EFAULT;
	struct context *own = atomic_load_explicit(
		&port->origin.device.own, memory_order_acquire);
	uint64_t w = counter_load(&own->control->w);
	uint64_t r = counter_load(&own->control->r);
	uint64_t copied_bytes;
	uint32_t copied_used = copied_in_flight(port, &copied_bytes);
	*s = (struct cay_stats){
		.issued = record_issued(port->member, port->origin.vpid),
		.refused = counter_load(&port->origin.refused),
		.received = counter_load(&port->count.received),
		.completed = counter_load(&port->count.completed),
		.sleeps = counter_load(&port->count.sleeps),
		.voids = counter_load(&port->count.voids),
		.sent_mapped = counter_load(&port->count.mapped),
		.sent_process = counter_load(&port->count.process),
		.sent_staged = counter_load(&port->count.staged),
		.sent_copied = counter_load(&port->count.copied),
		.emulated_requested =
			counter_load(&port->count.emulated_requested),
		.emulated_executed =
			counter_load(&port->count.emulated_executed),
		.posted = counter_load(&port->count.posted),
		.invalid_capabilities = atomic_load_explicit(
			&port->origin.device.invalid_capabilities,
			memory_order_relaxed),
		.nq_used = queue_ahead(queue_nq(w), queue_nq(r)),
		.nq_entries = 1ull << own->nq_log2,
		.rdr_used =
			RDR_UNIT * queue_rdr_ahead(queue_rdr(w), queue_rdr(r)),
		.rdr_bytes = (uint64_t)RDR_UNIT << own->rdr_log2,
		.refs_used = (uint64_t)__builtin_popcountll(
			counter_load(&port->origin.device.references)),
		.refs_entries = REFERENCE_COPIED,
		.copied_used = copied_used,
		.copied_bytes = copied_bytes,
		.epoch = own->epoch,
		.node_alive = member_node_alive(port->member),
	};
	return 0;
}
