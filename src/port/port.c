/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing ports. Set-up path, any thread; see cay_port(3). */
#include "port/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "device/queue_set.h"
#include "node/address.h"
#include "port/carry.h"
#include "port/intake.h"
#include "port/lock.h"
#include "port/memory.h"
#include "port/posted.h"
#include "port/record.h"
#include "port/window.h"

#define PORT_FLAGS_KNOWN (CAY_PORT_SHARED | CAY_PORT_WORD_MODE | CAY_PORT_HUGE)
#define PORT_FLAGS_ALL                                             \
	(CAY_PORT_SHARED | CAY_PORT_GUARDED | CAY_PORT_WORD_MODE | \
		CAY_PORT_HUGE)

/* Sizes as the node wants them: log2, rounded up; false if too large. */
static bool size_log2(uint64_t wanted, unsigned lowest, unsigned highest,
	unsigned usual, uint8_t *log2)
{
	unsigned n = wanted ? bits_log2_up(wanted) : usual;
	*log2 = (uint8_t)(n < lowest ? lowest : n);
	return n <= highest;
}

static uint64_t units(size_t bytes)
{
	return bytes / RDR_UNIT + (bytes % RDR_UNIT != 0);
}

static int request_sizes(
	const struct cay_port_options *o, struct node_request *r)
{
	if (!size_log2(o->nq_entries, QUEUE_NQ_LOG2_MIN, QUEUE_NQ_LOG2_MAX,
		    QUEUE_NQ_LOG2_DEFAULT, &r->open.nq_log2) ||
		!size_log2(o->wq_entries, QUEUE_WQ_LOG2_MIN, QUEUE_WQ_LOG2_MAX,
			QUEUE_WQ_LOG2_DEFAULT, &r->open.wq_log2) ||
		!size_log2(units(o->rdr_bytes), QUEUE_RDR_LOG2_MIN,
			QUEUE_RDR_LOG2_MAX, QUEUE_RDR_LOG2_DEFAULT,
			&r->open.rdr_log2) ||
		!size_log2(units(o->sdr_bytes), QUEUE_SDR_LOG2_MIN,
			QUEUE_SDR_LOG2_MAX, QUEUE_SDR_LOG2_DEFAULT,
			&r->open.sdr_log2))
		return -EINVAL;
	if (!size_log2(o->posted, 1, QUEUE_POSTED_LOG2_MAX,
		    QUEUE_POSTED_LOG2_DEFAULT, &r->open.posted_log2))
		return -EINVAL;
	if (o->peers > CAY_VPIDS || o->windows > CAY_VPIDS)
		return -EINVAL;
	r->open.peers = o->peers ? o->peers : QUEUE_PEERS_DEFAULT;
	r->open.windows = o->windows ? o->windows : QUEUE_WINDOWS_DEFAULT;
	return 0;
}

static int request_fill(
	const struct cay_port_options *o, struct node_request *r)
{
	if (o->flags & ~(uint64_t)PORT_FLAGS_ALL)
		return -EINVAL;
	if (o->flags & ~(uint64_t)PORT_FLAGS_KNOWN)
		return -EOPNOTSUPP;
	if (o->name && !node_name_valid(o->name))
		return -EINVAL;
	r->kind = NODE_OPEN;
	r->open.flags = o->flags;
	if (o->name)
		memcpy(r->open.name, o->name, strlen(o->name) + 1);
	return request_sizes(o, r);
}

/* Callers compiled with a shorter struct get defaults for the rest. */
static int options_copy(
	const struct cay_port_options *from, struct cay_port_options *to)
{
	memset(to, 0, sizeof(*to));
	if (!from)
		return 0;
	size_t size = from->size ? from->size : sizeof(*to);
	if (size < sizeof(size_t) || size > sizeof(*to))
		return -EINVAL;
	memcpy(to, from, size);
	return 0;
}

/* The node has opened it: find our way in what it made. */
static int port_load(struct cay_port *port, const struct node_reply *reply)
{
	struct context *own = malloc(sizeof(*own));
	if (!own)
		return -ENOMEM;
	int r = context_load(
		&port->member->arena, reply->open.vpid, reply->open.epoch, own);
	if (r == 0)
		r = origin_load(&port->origin, own, port->member->node);
	if (r) {
		free(own);
		return r;
	}
	port->origin.send_emulated = carry_access;
	port->origin.word_mode = port->flags & CAY_PORT_WORD_MODE;
	intake_begin(&port->intake, own);
	return 0;
}

static void port_close_at_node(struct member *m, uint16_t vpid)
{
	struct node_request request = { .kind = NODE_CLOSE };
	struct node_reply reply;
	request.close.vpid = vpid;
	control_call(m, &request, -1, &reply, NULL);
}

static int port_open_at_node(
	struct cay_port *port, const struct node_request *request)
{
	struct node_reply reply;
	int r = control_call(port->member, request, -1, &reply, NULL);
	if (r)
		return r;
	r = port_load(port, &reply);
	if (r)
		port_close_at_node(port->member, reply.open.vpid);
	return r;
}

/*
 * A work queue is triggered under it, and may find an access that must be
 * carried to its owner, which is noted under it too.
 */
static void port_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attribute;
	pthread_mutexattr_init(&attribute);
	pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attribute);
	pthread_mutexattr_destroy(&attribute);
}

static struct cay_port *port_new(uint64_t flags)
{
	struct cay_port *port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	port->flags = (uint32_t)flags;
	port->bell = -1;
	pthread_mutex_init(&port->consume, NULL);
	port_lock_init(&port->lock);
	return port;
}

static void port_delete(struct cay_port *port)
{
	pthread_mutex_destroy(&port->consume);
	pthread_mutex_destroy(&port->lock);
	free(port->outgoing);
	free(port->origin.routes);
	windows_free(port);
	free(port);
}

static int port_open(
	const struct cay_port_options *given, struct cay_port **out)
{
	struct cay_port_options options;
	struct node_request request = { 0 };
	int r = options_copy(given, &options);
	if (r == 0)
		r = request_fill(&options, &request);
	if (r)
		return r;
	struct cay_port *port = port_new(options.flags);
	if (!port)
		return -ENOMEM;
	r = member_join(options.node, options.realm, &port->member);
	if (r)
		goto err_port;
	atomic_init(&port->life, *life_now);
	r = port_open_at_node(port, &request);
	if (r)
		goto err_member;
	*out = port;
	return 0;

err_member:
	member_leave(port->member);
err_port:
	port_delete(port);
	return r;
}

struct cay_port *cay_port_open(const struct cay_port_options *options)
{
	struct cay_port *port = NULL;
	int r = port_open(options, &port);
	if (r == 0)
		return port;
	errno = -r;
	return NULL;
}

/*
 * Long messages that nobody has taken: those in ordinary memory are withdrawn,
 * because the memory is the application's again; a target that is just copying
 * sees that when it looks again. Those in the arena stay for their targets.
 */
static void outgoing_withdraw(struct cay_port *port)
{
	for (uint32_t i = 0; port->outgoing && i < 64; i++) {
		struct outgoing *out = &port->outgoing[i];
		if (!out->peer)
			continue;
		if (port->origin.refs[i].kind == REFERENCE_PROCESS)
			device_reference_free(&port->origin, i);
		if (out->staged)
			staging_drop(port->member, out->staged);
		peer_put(out->peer);
		out->peer = NULL;
	}
}

/*
 * It has tried too many wrong capabilities: nobody hears of it any more. Every
 * call finds that it does not belong to this life.
 */
void port_disable(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_DISABLE };
	struct node_reply reply;
	struct lock_guard guard;
	request.close.vpid = port->origin.vpid;
	lock_take(&port->lock, &guard);
	if (port_here(port)) {
		control_call(port->member, &request, -1, &reply, NULL);
		atomic_store_explicit(
			&port->life, ~*life_now, memory_order_relaxed);
	}
	lock_drop(&port->lock, &guard);
}

int cay_port_close(struct cay_port *port)
{
	bool here = port_here(port) || port_absent(port) == -EACCES;
	int waited = 0;
	if (here) {
		struct context *own = port_own(port);
		queue_set_close(&port->member->arena, own->vpid, own->epoch);
		/* The memory of windows may be the application's own. */
		if (port->windows || posted_used(port))
			waited = window_wait_quiet(port, 0);
		outgoing_withdraw(port);
		intake_end(port);
		port_close_at_node(port->member, port->origin.vpid);
		context_free(own);
		record_clear(port->member, port->origin.vpid);
		member_leave(port->member);
	}
	/* A child has its own copy of the descriptor, and nothing else. */
	if (port->bell >= 0)
		close(port->bell);
	port_delete(port);
	if (!here)
		return -ECHILD;
	return waited == -ETIMEDOUT ? waited : 0;
}

struct cay_addr cay_port_addr(const struct cay_port *port)
{
	return (struct cay_addr){ port->origin.node, port->origin.vpid };
}

static void stats_queues(struct cay_port *port, struct cay_stats *s)
{
	struct context *own =
		atomic_load_explicit(&port->origin.own, memory_order_acquire);
	uint64_t w =
		atomic_load_explicit(&own->control->w, memory_order_relaxed);
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	s->nq_used = queue_ahead(queue_nq(w), queue_nq(r));
	s->nq_entries = 1ull << own->nq_log2;
	s->rdr_used = RDR_UNIT * queue_rdr_ahead(queue_rdr(w), queue_rdr(r));
	s->rdr_bytes = (uint64_t)RDR_UNIT << own->rdr_log2;
	s->refs_used = (uint64_t)__builtin_popcountll(atomic_load_explicit(
		&port->origin.references, memory_order_relaxed));
	s->refs_entries = 1ull << QUEUE_REFS_LOG2;
	s->epoch = own->epoch;
}

static uint64_t stats_count(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

int cay_port_stats(struct cay_port *port, struct cay_stats *s)
{
	if (!port_here(port))
		return port_absent(port);
	memset(s, 0, sizeof(*s));
	s->issued = record_issued(port->member, port->origin.vpid);
	s->refused = stats_count(&port->count.refused);
	s->received = stats_count(&port->count.received);
	s->completed = stats_count(&port->count.completed);
	s->sleeps = stats_count(&port->count.sleeps);
	s->voids = stats_count(&port->count.voids);
	s->sent_mapped = stats_count(&port->count.mapped);
	s->sent_process = stats_count(&port->count.process);
	s->sent_staged = stats_count(&port->count.staged);
	s->emulated_requested = stats_count(&port->count.emulated_requested);
	s->emulated_executed = stats_count(&port->count.emulated_executed);
	s->posted = stats_count(&port->count.posted);
	s->invalid_capabilities = atomic_load_explicit(
		&port->origin.invalid_capabilities, memory_order_relaxed);
	s->node_alive = member_node_alive(port->member);
	stats_queues(port, s);
	return 0;
}
