/* SPDX-License-Identifier: BSD-2-Clause */
/* See pending.h. Any thread. */
#include "port/pending.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cay/remote.h"
#include "port/cocopy.h"
#include "port/heap.h"
#include "port/lock.h"
#include "port/record.h"

#define PENDING_ENTRIES REFERENCE_COPIED
#define REFERENCES	(1u << QUEUE_REFS_LOG2)

/* ---- issue ---- */

int pending_announce(struct cay_port *port)
{
	int r = 0;
	struct node_request request = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	struct lock_guard guard;
	request.close.vpid = port->origin.vpid;
	lock_take(&port->lock, &guard);
	if (!port->announced) {
		/*
		 * Sequence numbers start at random: a slow target must not
		 * mistake a message of this port for one of the port that used
		 * the memory of the slots before.
		 */
		uint32_t start[REFERENCES];
		if (getrandom(start, sizeof(start), GRND_NONBLOCK) !=
			sizeof(start))
			for (uint32_t i = 0; i < REFERENCES; i++)
				start[i] = (uint32_t)(clock_now_ns() *
						      (2 * i + 1));
		for (uint32_t i = 0; i < REFERENCES; i++)
			atomic_store_explicit(&port->origin.refs[i].state,
				(uint64_t)start[i] << REFERENCE_SEQUENCE_SHIFT,
				memory_order_release);
		r = control_call(port->member, &request, &reply, NULL);
	}
	/* The node must know of the slots before one is used. */
	if (r != -ETIMEDOUT)
		port->announced = true;
	lock_drop(&port->lock, &guard);
	return r == -ETIMEDOUT ? -EAGAIN : 0;
}

int pending_prepare(struct cay_port *port)
{
	struct lock_guard guard;
	/* Relaxed: the table is used under the lock that it was made under. */
	if (likely(atomic_load_explicit(&port->prepared, memory_order_relaxed)))
		return 0;
	int r = pending_announce(port);
	if (r)
		return r;
	lock_take(&port->lock, &guard);
	if (!port->pending)
		port->pending = calloc(PENDING_ENTRIES, sizeof(*port->pending));
	r = port->pending ? 0 : -ENOMEM;
	atomic_store_explicit(&port->prepared, r == 0, memory_order_relaxed);
	lock_drop(&port->lock, &guard);
	return r;
}

int pending_issue(struct cay_port *port, struct op_record *op,
	const struct packet *p, const struct reference *ref,
	const struct pending *pending)
{
	uint32_t index = 0;
	/*
	 * The consumer, which may see the completion at once, takes this lock
	 * before it reads the entry. The caller's lock_guard covers it.
	 */
	pthread_mutex_lock(&port->lock);
	int r = device_send_reference(
		&port->origin, op, &pending->peer->context, p, ref, &index);
	if (r == 0) {
		port->pending[index] = *pending;
		if (pending->source)
			cocopy_offer(port, index);
		atomic_fetch_add_explicit(
			&pending->peer->users, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&port->lock);
	return r;
}

/* ---- completion ---- */

/*
 * Under the lock: stores the bytes of a get, or the old value of an atomic, at
 * the destination, or records that the access has failed. Once: cay_flush() may
 * come before the completion.
 */
static void pending_store(struct cay_port *port, uint32_t index)
{
	struct pending *pending = &port->pending[index];
	const struct reference *ref = &port->origin.refs[index];
	const struct emulated_access *access = pending->staged;
	if (pending->stored || !pending->emulated)
		return;
	pending->stored = true;
	uint64_t error =
		atomic_load_explicit(&ref->outcome, memory_order_acquire) &
		REFERENCE_ERROR_MASK;
	/* Neither the death of the peer nor cay_cancel() is a refusal. */
	if (error && error != CAY_ERROR_GONE && error != CAY_ERROR_TIMEOUT)
		peer_refused(pending->peer);
	if (!error && pending->destination)
		memcpy(pending->destination,
			command_is_atomic(pending->command)
				? (const void *)&access->previous
				: (const void *)(access + 1),
			pending->length);
}

void pending_store_results(struct cay_port *port, uint16_t vpid)
{
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0; port->pending && i < PENDING_ENTRIES; i++) {
		struct reference *ref = &port->origin.refs[i];
		/* Acquire pairs with G2 in device/reference.c. */
		uint64_t state =
			atomic_load_explicit(&ref->state, memory_order_acquire);
		unsigned now = state & REFERENCE_STATE_MASK;
		/* FREE: the node has completed it for a dead target. */
		if (port->pending[i].peer && ref->target_vpid == vpid &&
			(now == REFERENCE_DONE || now == REFERENCE_FREE))
			pending_store(port, i);
	}
	lock_drop(&port->lock, &guard);
}

/* Remembers whether the target can read the memory of this process. */
static void pending_learn_bulk(
	struct cay_peer *peer, const struct reference *ref, int error)
{
	uint8_t bulk = atomic_load_explicit(&peer->bulk, memory_order_relaxed);
	if (ref->kind == REFERENCE_PROCESS && error == CAY_ERROR_MEMORY)
		bulk = BULK_STAGED;
	else if (ref->flags & REFERENCE_PROBE)
		bulk = atomic_load_explicit(
			       &ref->outcome, memory_order_relaxed) &
				       REFERENCE_PROBED
			       ? BULK_PROCESS
			       : BULK_STAGED;
	atomic_store_explicit(&peer->bulk, bulk, memory_order_relaxed);
}

/*
 * The results of an emulated access are in its staging memory, whichever
 * process has completed it: the target, the node for a dead target, or this one
 * in cay_cancel().
 */
static void pending_fill_event(
	const struct pending *pending, struct cay_event *e)
{
	const struct emulated_access *access = pending->staged;
	e->tag = pending->tag;
	e->api_tag = pending->api_tag;
	e->command = pending->command;
	e->length = pending->length;
	if (!pending->emulated)
		return;
	if (!e->error && command_operation(pending->command) == CAY_FAST_GET) {
		/* e->data is in an entry that this port holds until release. */
		if (e->data)
			memcpy((void *)(uintptr_t)e->data, access + 1,
				pending->length);
	} else if (!e->error && command_is_atomic(pending->command)) {
		e->result = access->result;
		e->previous = access->previous;
	} else {
		e->offset = access->offset;
		e->window = access->window;
	}
}

enum pending_result pending_complete(struct cay_port *port, uint32_t reference,
	uint32_t sequence, struct cay_event *e)
{
	uint32_t index = reference - 1;
	/* Messages of the raw API have no entry. */
	struct pending pending = { 0 };
	struct lock_guard guard;
	if (index >= PENDING_ENTRIES)
		return PENDING_STALE;
	lock_take(&port->lock, &guard);
	uint64_t used = atomic_load_explicit(
		&port->origin.device.references, memory_order_relaxed);
	/* Acquire pairs with G2: the target no longer reads the memory. */
	uint64_t state = atomic_load_explicit(
		&port->origin.refs[index].state, memory_order_acquire);
	bool current = used >> index & 1 &&
		       state >> REFERENCE_SEQUENCE_SHIFT == sequence;
	if (current && port->pending) {
		if (port->pending[index].emulated) {
			if (e->error == CAY_ERROR_CAPABILITY)
				port_invalid_capability(port);
			pending_store(port, index);
			atomic_fetch_sub_explicit(
				&port->origin.device.emulated_in_flight, 1,
				memory_order_relaxed);
		}
		pending = port->pending[index];
		port->pending[index] = (struct pending){ 0 };
		if (pending.source)
			cocopy_forget(port, index);
		if (pending.peer && !pending.emulated)
			pending_learn_bulk(pending.peer,
				&port->origin.refs[index], e->error);
	}
	if (current)
		device_reference_free(&port->origin, index);
	if (pending.peer)
		pending_fill_event(&pending, e);
	if (pending.staged)
		staging_free(port->member, pending.staged);
	lock_drop(&port->lock, &guard);
	if (pending.peer)
		peer_put(pending.peer);
	if (!current)
		return PENDING_STALE;
	/* Errors are reported even if no completion was requested. */
	return pending.silent && !e->error ? PENDING_SILENT : PENDING_REPORT;
}

/* ---- withdrawal ---- */

void pending_abandon(struct cay_port *port)
{
	for (uint32_t i = 0; port->pending && i < PENDING_ENTRIES; i++) {
		struct pending *pending = &port->pending[i];
		if (!pending->peer)
			continue;
		if (port->origin.refs[i].kind == REFERENCE_PROCESS)
			device_reference_free(&port->origin, i);
		if (pending->source)
			cocopy_forget(port, i);
		if (pending->staged)
			staging_disown(port->member, pending->staged);
		peer_put(pending->peer);
		pending->peer = NULL;
	}
}

int cay_cancel(struct cay_port *port, uint64_t tag)
{
	struct lock_guard guard;
	int count = 0;
	if (!port_usable(port))
		return port_error(port);
	struct op_record *op = record_of(port->member);
	if (!op)
		return -ENOBUFS;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0; port->pending && i < PENDING_ENTRIES; i++) {
		struct reference *ref = &port->origin.refs[i];
		const struct pending *pending = &port->pending[i];
		if (!pending->peer || pending->tag != tag)
			continue;
		uint32_t sequence = (uint32_t)(atomic_load_explicit(&ref->state,
						       memory_order_relaxed) >>
					       REFERENCE_SEQUENCE_SHIFT);
		/* False: the target has started to process it. */
		if (!device_reference_withdraw(ref))
			continue;
		atomic_fetch_or_explicit(
			&ref->outcome, CAY_ERROR_TIMEOUT, memory_order_release);
		struct completion c = { .tag = pending->tag,
			.api_tag = pending->api_tag,
			.command = pending->command,
			.error = CAY_ERROR_TIMEOUT,
			.peer_node = port->origin.node,
			.peer_vpid = ref->target_vpid,
			.length = pending->length,
			.reference = (uint16_t)(i + 1),
			.sequence = sequence };
		device_complete_own(&port->origin, op, &c);
		count++;
	}
	lock_drop(&port->lock, &guard);
	return count;
}
