/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses that we cannot make ourselves: atomics on memory that is the
 * owner's own, everything there if the kernel keeps us from it, and whatever
 * was issued behind one of those. They travel as long messages do: a reference,
 * staged in the arena; the owner's port executes them when it is polled
 * (serve.c) and completes them. Any thread.
 */
#include "port/carry.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "port/lock.h"
#include "port/memory.h"
#include "port/outgoing.h"

/* Does somebody wait for what it brings in memory, and not in the event? */
static void *carry_local(const struct packet *p)
{
	bool brings = command_operation(p->command) == CAY_GET ||
		      command_is_atomic(p->command);
	return brings && p->payload ? p->payload->iov_base : NULL;
}

static void *carry_stage(
	struct cay_port *port, const struct packet *p, uint64_t bytes)
{
	struct emulated_access *c = staging_take(port->member, bytes);
	if (!c)
		return NULL;
	*c = (struct emulated_access){ .command = p->command,
		.window = p->window,
		.capability = p->capability,
		.offset = p->offset,
		.length = p->length,
		.operand = { p->operand[0], p->operand[1] } };
	if (command_is_put(p->command) && p->length)
		memcpy(c + 1, p->payload->iov_base, p->length);
	return c;
}

static int carry_try(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	uint64_t bytes = sizeof(struct emulated_access) +
			 (command_is_word(p->command) ? 0 : p->length);
	int r = outgoing_table(port);
	if (r)
		return r;
	void *staged = carry_stage(port, p, bytes);
	if (!staged)
		return member_node_alive(port->member) ? -EAGAIN : -ENOTCONN;
	struct reference ref = { .kind = REFERENCE_ACCESS,
		.address = (uint64_t)((unsigned char *)staged -
				      port->member->arena.base),
		.length = bytes };
	struct outgoing note = { .tag = p->tag,
		.api_tag = p->api_tag,
		.peer = peer,
		.staged = staged,
		.length = p->length,
		.command = p->command,
		.carried = true,
		.silent = !packet_completes(p),
		.local = carry_local(p) };
	r = outgoing_issue(port, op, p, &ref, &note);
	if (r)
		staging_put(port->member, staged);
	else
		port_count(&port->count.emulated_requested);
	return r;
}

int carry_access(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	struct cay_port *port =
		(struct cay_port *)(void *)((unsigned char *)o -
					    offsetof(struct cay_port, origin));
	struct cay_peer *peer =
		(struct cay_peer *)(void *)((unsigned char *)to -
					    offsetof(struct cay_peer, context));
	struct lock_guard guard;
	/* Nobody may jump out and leave what was staged behind. */
	lock_guard_begin(&guard);
	/* Counted before it can complete. */
	atomic_fetch_add_explicit(
		&o->emulated_in_flight, 1, memory_order_relaxed);
	int r = carry_try(port, op, peer, p);
	if (r)
		atomic_fetch_sub_explicit(
			&o->emulated_in_flight, 1, memory_order_relaxed);
	lock_guard_end(&guard);
	return r;
}
