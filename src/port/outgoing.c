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

#include "port/event.h"
#include "port/memory.h"

/* What a target reads along to know that it reads this process. */
static uint64_t cookie;
static pthread_once_t cookie_once = PTHREAD_ONCE_INIT;

static void cookie_make(void)
{
	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie))
		cookie = (uint64_t)(uintptr_t)&cookie ^ (uint64_t)getpid()
								<< 32;
}

static void reference_identify(struct reference *ref)
{
	pthread_once(&cookie_once, cookie_make);
	ref->pid = (uint32_t)getpid();
	ref->cookie = cookie;
	ref->cookie_address = (uint64_t)(uintptr_t)&cookie;
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
		port_count(&port->count.mapped);
		return 0;
	}
	reference_identify(ref);
	if (p->pieces == 1 && bulk == BULK_PROCESS) {
		ref->kind = REFERENCE_PROCESS;
		ref->address = (uint64_t)(uintptr_t)data;
		port_count(&port->count.process);
		return 0;
	}
	*staged = stage(port, p);
	if (!*staged)
		return -EAGAIN;
	ref->probe = bulk == BULK_UNKNOWN;
	ref->address =
		(uint64_t)((unsigned char *)*staged - port->member->arena.base);
	port_count(&port->count.staged);
	return 0;
}

/* From now on the node looks at our references when a target closes. */
static void outgoing_announce(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_LONG };
	struct node_reply reply;
	request.close.vpid = port->origin.vpid;
	control_call(port->member, &request, -1, &reply, NULL);
}

static int outgoing_table(struct cay_port *port)
{
	pthread_mutex_lock(&port->lock);
	if (!port->outgoing) {
		outgoing_announce(port);
		port->outgoing =
			calloc(1u << QUEUE_REFS_LOG2, sizeof(*port->outgoing));
	}
	pthread_mutex_unlock(&port->lock);
	return port->outgoing ? 0 : -ENOMEM;
}

int outgoing_send(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	struct reference ref = { .kind = REFERENCE_ARENA };
	void *staged;
	int r = outgoing_table(port);
	if (r == 0)
		r = outgoing_source(port, peer, p, &ref, &staged);
	if (r)
		return r;
	struct packet out = *p;
	out.command = (uint16_t)(CAY_SEND | (p->command & CAY_COMMAND_ACK));
	/*
	 * The consumer may see the completion before we are back, so what it
	 * needs is noted under the lock that it takes too.
	 */
	pthread_mutex_lock(&port->lock);
	uint32_t index = 0;
	r = device_send_reference(
		&port->origin, op, &peer->context, &out, &ref, &index);
	if (r == 0) {
		port->outgoing[index] = (struct outgoing){ .tag = p->tag,
			.api_tag = p->api_tag,
			.peer = peer,
			.staged = staged,
			.length = p->length,
			.command = out.command };
		atomic_fetch_add_explicit(
			&peer->users, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&port->lock);
	if (r && staged)
		staging_put(port->member, staged);
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
		bulk = atomic_load_explicit(&ref->probed, memory_order_relaxed)
			       ? BULK_PROCESS
			       : BULK_STAGED;
	atomic_store_explicit(&peer->bulk, bulk, memory_order_relaxed);
}

bool outgoing_complete(struct cay_port *port, uint32_t reference,
	uint32_t sequence, struct cay_event *e)
{
	uint32_t index = reference - 1;
	if (index >= 1u << QUEUE_REFS_LOG2 || !port->outgoing)
		return false;
	struct reference *ref = &port->origin.refs[index];
	pthread_mutex_lock(&port->lock);
	struct outgoing out = port->outgoing[index];
	/* Acquire pairs with G2: the target is done with our memory. */
	uint64_t state =
		atomic_load_explicit(&ref->state, memory_order_acquire);
	bool ours = out.peer && state >> REFERENCE_SEQUENCE_SHIFT == sequence;
	if (ours) {
		outgoing_learn(out.peer, ref, e->error);
		port->outgoing[index].peer = NULL;
		device_reference_free(&port->origin, index);
	}
	pthread_mutex_unlock(&port->lock);
	if (!ours)
		return false;
	e->tag = out.tag;
	e->api_tag = out.api_tag;
	e->length = out.length;
	e->command = out.command;
	if (out.staged)
		staging_put(port->member, out.staged);
	peer_put(out.peer);
	return true;
}
