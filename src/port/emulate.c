/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated accesses, origin side: atomics on ordinary memory of the owner, all
 * accesses to such memory if the kernel refuses process_vm_readv(), and
 * accesses issued after one of these to the same target. The request is staged
 * in the arena and sent by reference, like a long message; emulate_owner.c
 * executes it.
 */
#include "port/emulate.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "port/heap.h"
#include "port/lock.h"
#include "port/pending.h"

static int emulate_stage_and_issue(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	uint64_t bytes = sizeof(struct emulated_access) +
			 (command_is_word(p->command) ? 0 : p->length);
	int r = pending_prepare(port);
	if (r)
		return r;
	struct emulated_access *staged = staging_alloc(port->member, bytes);
	if (!staged)
		return member_node_alive(port->member) ? -EAGAIN : -ENOTCONN;
	*staged = (struct emulated_access){ .command = p->command,
		.window = p->window,
		.capability = p->capability,
		.offset = p->offset,
		.length = p->length,
		.operand = { p->operand[0], p->operand[1] } };
	if (command_is_put(p->command) && p->length)
		memcpy(staged + 1, p->payload->iov_base, p->length);
	struct reference ref = { .kind = REFERENCE_ACCESS,
		.address = (uint64_t)((unsigned char *)staged -
				      port->member->arena.base),
		.length = bytes };
	bool fetches = command_operation(p->command) == CAY_GET ||
		       command_is_atomic(p->command);
	struct pending pending = { .tag = p->tag,
		.api_tag = p->api_tag,
		.peer = peer,
		.staged = staged,
		.length = p->length,
		.command = p->command,
		.emulated = true,
		.silent = !packet_completes(p),
		.destination = fetches && p->payload ? p->payload->iov_base
						     : NULL };
	r = pending_issue(port, op, p, &ref, &pending);
	if (r)
		staging_free(port->member, staged);
	else
		port_count(&port->count.emulated_requested);
	return r;
}

int emulate_send(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	struct cay_port *port =
		(struct cay_port *)(void *)((unsigned char *)o -
					    offsetof(struct cay_port, origin));
	struct cay_peer *peer =
		(struct cay_peer *)(void *)((unsigned char *)to -
					    offsetof(struct cay_peer, context));
	struct lock_guard guard;
	/* A longjmp out of a signal handler would leak the staging memory. */
	lock_guard_begin(&guard);
	/* Counted before the owner can complete it. */
	atomic_fetch_add_explicit(
		&o->device.emulated_in_flight, 1, memory_order_relaxed);
	int r = emulate_stage_and_issue(port, op, peer, p);
	if (r)
		atomic_fetch_sub_explicit(
			&o->device.emulated_in_flight, 1, memory_order_relaxed);
	lock_guard_end(&guard);
	return r;
}
