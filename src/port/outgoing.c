/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages of ours: they stay where they are until the target has taken
 * them. From cay_alloc() memory the target reads them in place; from ordinary
 * memory it copies them out of our process where the kernel lets it, which it
 * tries when the first one comes; else we copy them into the arena. Any
 * thread.
 */
#include "port/outgoing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cay/remote.h"
#include "port/cookie.h"
#include "port/event.h"
#include "port/lock.h"
#include "port/memory.h"
#include "port/record.h"

static void reference_identify(struct reference *ref)
{
	const uint64_t *cookie = cookie_of_process();
	ref->pid = (uint32_t)getpid();
	ref->cookie = *cookie;
	ref->cookie_address = (uint64_t)(uintptr_t)cookie;
}

static void *stage(struct cay_port *port, const struct packet *p)
{
	unsigned char *memory = staging_take(port->member, p->length);
	unsigned char *at = memory;
	for (uint32_t i = 0; memory && i < p->pieces; i++) {
		if (p->payload[i].iov_len)
			memcpy(at, p->payload[i].iov_base,
				p->payload[i].iov_len);
		at += p->payload[i].iov_len;
	}
	return memory;
}

/* Decides how it travels. 0 or -EAGAIN; *staged is set if it was copied. */
static int outgoing_source(struct cay_port *port, struct cay_peer *peer,
	const struct packet *p, struct reference *ref, void **staged)
{
	const void *data = p->payload[0].iov_base;
	uint8_t bulk = atomic_load_explicit(&peer->bulk, memory_order_relaxed);

	ref->length = p->length;
	*staged = NULL;
	if (p->pieces == 1 &&
		memory_mapped(port->member, data, p->length, &ref->address)) {
		return 0;
	}
	reference_identify(ref);
	if (p->pieces == 1 && bulk == BULK_PROCESS) {
		ref->kind = REFERENCE_PROCESS;
		ref->address = (uint64_t)(uintptr_t)data;
		return 0;
	}
	*staged = stage(port, p);
	if (!*staged)
		return member_node_alive(port->member) ? -EAGAIN : -ENOTCONN;
	ref->probe = bulk == BULK_UNKNOWN;
	ref->address =
		(uint64_t)((unsigned char *)*staged - port->member->arena.base);
	return 0;
}

/* What was sent how, for the statistics. */
static void outgoing_count(
	struct cay_port *port, const struct reference *ref, const void *staged)
{
	port_count(staged			    ? &port->count.staged
		   : ref->kind == REFERENCE_PROCESS ? &port->count.process
						    : &port->count.mapped);
}

/*
 * Sequence numbers start anywhere: a target that was slow with a message of
 * whoever had this memory before must not take ours for it.
 */
static void outgoing_sequences(struct cay_port *port)
{
	uint32_t start[1u << QUEUE_REFS_LOG2];
	if (getrandom(start, sizeof(start), GRND_NONBLOCK) != sizeof(start))
		for (uint32_t i = 0; i < ARRAY_COUNT(start); i++)
			start[i] = (uint32_t)(clock_now_ns() * (2 * i + 1));
	for (uint32_t i = 0; i < ARRAY_COUNT(start); i++)
		atomic_store_explicit(&port->origin.refs[i].state,
			(uint64_t)start[i] << REFERENCE_SEQUENCE_SHIFT,
			memory_order_release);
}

void outgoing_announce(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	request.close.vpid = port->origin.vpid;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	if (!port->announced) {
		outgoing_sequences(port);
		control_call(port->member, &request, -1, &reply, NULL);
	}
	port->announced = true;
	lock_drop(&port->lock, &guard);
}

int outgoing_table(struct cay_port *port)
{
	struct lock_guard guard;
	/* Relaxed: who misses it asks under the lock. */
	if (!atomic_load_explicit(&port->announced, memory_order_relaxed))
		outgoing_announce(port);
	lock_take(&port->lock, &guard);
	if (!port->outgoing)
		port->outgoing =
			calloc(1u << QUEUE_REFS_LOG2, sizeof(*port->outgoing));
	int r = port->outgoing ? 0 : -ENOMEM;
	lock_drop(&port->lock, &guard);
	return r;
}

/*
 * The consumer may see the completion before we are back, so what it needs is
 * noted under the lock that it takes too.
 */
int outgoing_issue(struct cay_port *port, struct op_record *op,
	const struct packet *p, const struct reference *ref,
	const struct outgoing *note)
{
	uint32_t index = 0;
	/* outgoing_send() has seen to it that nobody jumps out. */
	pthread_mutex_lock(&port->lock);
	int r = device_send_reference(
		&port->origin, op, &note->peer->context, p, ref, &index);
	if (r == 0) {
		port->outgoing[index] = *note;
		atomic_fetch_add_explicit(
			&note->peer->users, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&port->lock);
	return r;
}

static int outgoing_try(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	struct reference ref = { .kind = REFERENCE_ARENA };
	struct outgoing note = { .tag = p->tag,
		.api_tag = p->api_tag,
		.peer = peer,
		.length = p->length,
		.command =
			(uint16_t)(CAY_SEND | (p->command & CAY_COMMAND_ACK)) };
	struct packet out = *p;
	out.command = note.command;
	int r = outgoing_table(port);
	if (r == 0)
		r = outgoing_source(port, peer, p, &ref, &note.staged);
	if (r)
		return r;
	r = outgoing_issue(port, op, &out, &ref, &note);
	if (r == 0)
		outgoing_count(port, &ref, note.staged);
	else if (note.staged)
		staging_put(port->member, note.staged);
	return r;
}

int outgoing_send(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	struct lock_guard guard;
	/* Nobody may jump out and leave what was staged behind. */
	lock_guard_begin(&guard);
	int r = outgoing_try(port, op, peer, p);
	lock_guard_end(&guard);
	return r;
}

/* The target has tried to read our memory, or failed where it should have. */
static void outgoing_learn(
	struct cay_peer *peer, const struct reference *ref, int error)
{
	uint8_t bulk = atomic_load_explicit(&peer->bulk, memory_order_relaxed);
	if (ref->kind == REFERENCE_PROCESS && error == CAY_ERROR_MEMORY)
		bulk = BULK_STAGED;
	else if (ref->probe)
		bulk = atomic_load_explicit(
			       &ref->outcome, memory_order_relaxed) &
				       REFERENCE_PROBED
			       ? BULK_PROCESS
			       : BULK_STAGED;
	atomic_store_explicit(&peer->bulk, bulk, memory_order_relaxed);
}

/* Under the lock: is the slot in use, and this use of it? */
static bool outgoing_ours(
	struct cay_port *port, uint32_t index, uint32_t sequence)
{
	uint64_t used = atomic_load_explicit(
		&port->origin.references, memory_order_relaxed);
	/* Acquire pairs with G2: the target is done with our memory. */
	uint64_t state = atomic_load_explicit(
		&port->origin.refs[index].state, memory_order_acquire);
	return used >> index & 1 &&
	       state >> REFERENCE_SEQUENCE_SHIFT == sequence;
}

/* What cay_send() noted; a message from the raw level has no such note. */
static struct outgoing outgoing_take(struct cay_port *port, uint32_t index)
{
	struct outgoing out = { 0 };
	if (port->outgoing) {
		out = port->outgoing[index];
		port->outgoing[index] = (struct outgoing){ 0 };
	}
	return out;
}

/*
 * What an access brought stands where it was staged, whoever has completed it:
 * its target, the node for a dead one, or cay_cancel().
 */
static void outgoing_results(const struct outgoing *out, struct cay_event *e)
{
	const struct emulated_access *c = out->staged;
	if (!e->error && command_operation(out->command) == CAY_FAST_GET) {
		/* In our own entry, which is ours until it is released. */
		if (e->data)
			memcpy((void *)(uintptr_t)e->data, c + 1, out->length);
	} else if (!e->error && command_is_atomic(out->command)) {
		e->result = c->result;
		e->previous = c->previous;
	} else {
		e->offset = c->offset;
		e->window = c->window;
	}
}

static void outgoing_finish(
	struct cay_port *port, const struct outgoing *out, struct cay_event *e)
{
	e->tag = out->tag;
	e->api_tag = out->api_tag;
	e->command = out->command;
	e->length = out->length;
	if (out->carried)
		outgoing_results(out, e);
	if (out->staged)
		staging_put(port->member, out->staged);
	peer_put(out->peer);
}

/*
 * Under the lock: what was got, or was there before an atomic, goes to where it
 * is wanted, if the target has left any.
 */
static void outgoing_deliver(struct cay_port *port, uint32_t index)
{
	struct outgoing *out = &port->outgoing[index];
	const struct reference *ref = &port->origin.refs[index];
	const struct emulated_access *c = out->staged;
	if (!out->local)
		return;
	if ((atomic_load_explicit(&ref->outcome, memory_order_acquire) &
		    REFERENCE_ERROR_MASK) == 0)
		memcpy(out->local,
			command_is_atomic(out->command)
				? (const void *)&c->previous
				: (const void *)(c + 1),
			out->length);
	out->local = NULL;
}

void outgoing_settle(struct cay_port *port, uint16_t vpid)
{
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0; port->outgoing && i < 1u << QUEUE_REFS_LOG2; i++) {
		struct reference *ref = &port->origin.refs[i];
		/* Acquire pairs with G2 in device/reference.c. */
		uint64_t state =
			atomic_load_explicit(&ref->state, memory_order_acquire);
		unsigned now = state & REFERENCE_STATE_MASK;
		/* FREE: the node has completed it for a dead target. */
		if (port->outgoing[i].peer && ref->target_vpid == vpid &&
			(now == REFERENCE_DONE || now == REFERENCE_FREE))
			outgoing_deliver(port, i);
	}
	lock_drop(&port->lock, &guard);
}

/* What the end of an access teaches is not how messages travel. */
static void outgoing_end(struct cay_port *port, uint32_t index,
	struct outgoing *out, const struct cay_event *e)
{
	if (port->outgoing && port->outgoing[index].carried) {
		if (e->error == CAY_ERROR_CAPABILITY)
			port_wrong(port);
		outgoing_deliver(port, index);
		atomic_fetch_sub_explicit(&port->origin.emulated_in_flight, 1,
			memory_order_relaxed);
	}
	*out = outgoing_take(port, index);
	if (out->peer && !out->carried)
		outgoing_learn(out->peer, &port->origin.refs[index], e->error);
}

enum outgoing_end outgoing_complete(struct cay_port *port, uint32_t reference,
	uint32_t sequence, struct cay_event *e)
{
	uint32_t index = reference - 1;
	struct outgoing out = { 0 };
	if (index >= 1u << QUEUE_REFS_LOG2)
		return OUTGOING_NOT_OURS;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	bool ours = outgoing_ours(port, index, sequence);
	if (ours) {
		outgoing_end(port, index, &out, e);
		device_reference_free(&port->origin, index);
	}
	lock_drop(&port->lock, &guard);
	if (out.peer)
		outgoing_finish(port, &out, e);
	if (!ours)
		return OUTGOING_NOT_OURS;
	/* A refusal is told in any case. */
	return out.silent && !e->error ? OUTGOING_SILENT : OUTGOING_TOLD;
}

/* Under the lock. */
static bool outgoing_withdraw_one(
	struct cay_port *port, struct op_record *op, uint32_t index)
{
	struct reference *ref = &port->origin.refs[index];
	const struct outgoing *out = &port->outgoing[index];
	uint32_t sequence = (uint32_t)(atomic_load_explicit(&ref->state,
					       memory_order_relaxed) >>
				       REFERENCE_SEQUENCE_SHIFT);
	if (!device_reference_withdraw(ref))
		return false;
	atomic_fetch_or_explicit(
		&ref->outcome, CAY_ERROR_TIMEOUT, memory_order_release);
	struct completion c = { .tag = out->tag,
		.api_tag = out->api_tag,
		.command = out->command,
		.error = CAY_ERROR_TIMEOUT,
		.peer_node = port->origin.node,
		.peer_vpid = ref->target_vpid,
		.length = out->length,
		.reference = (uint16_t)(index + 1),
		.sequence = sequence };
	device_complete_own(&port->origin, op, &c);
	return true;
}

int cay_cancel(struct cay_port *port, uint64_t tag)
{
	struct lock_guard guard;
	int count = 0;
	if (!port_here(port))
		return port_absent(port);
	struct op_record *op = record_of(port->member);
	if (!op)
		return -ENOBUFS;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0; port->outgoing && i < 1u << QUEUE_REFS_LOG2; i++)
		if (port->outgoing[i].peer && port->outgoing[i].tag == tag)
			count += outgoing_withdraw_one(port, op, i);
	lock_drop(&port->lock, &guard);
	return count;
}
