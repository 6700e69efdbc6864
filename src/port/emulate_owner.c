/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated accesses, owner side: the polling thread executes them in order with
 * messages. A request is copied out of shared memory once and checked like any
 * access; its result is the completion.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "port/emulate.h"
#include "port/record.h"
#include "port/reference.h"

struct request {
	struct emulated_access copy;
	struct emulated_access *shared; /* for the results */
	unsigned char *bytes;		/* payload in the arena */
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	struct response response;
};

/* Returns false if the request is incomplete or differs from its entry. */
static bool request_load(struct cay_port *port, const struct reference *ref,
	const struct cay_nqe *n, struct request *q)
{
	unsigned char *at = port->member->arena.base + ref->address;
	uint64_t payload = ref->length - sizeof(q->copy);
	memcpy(&q->copy, at, sizeof(q->copy));
	q->shared = (struct emulated_access *)(void *)at;
	q->bytes = at + sizeof(q->copy);
	if (q->copy.command != n->word[CAY_NQE_WORD_COMPLETED])
		return false;
	if (command_is_word(q->copy.command))
		q->copy.length = 8;
	else if (q->copy.length > payload ||
		 (command_operation(q->copy.command) == CAY_FAST_GET &&
			 q->copy.length > CAY_FAST_PUT_BYTES))
		return false;
	/* The command must be one that a VCI may have, too. */
	struct cay_vci v = { { q->copy.command,
		(q->copy.length & 0xffff) << CAY_VCI_BYTES_SHIFT } };
	return vci_valid(&v);
}

static enum cay_error request_execute(struct cay_port *port, struct request *q,
	const struct cay_event *e, uint32_t *rights)
{
	const struct origin *o = &port->origin;
	struct op_record *op = record_of(port->member);
	if (!op)
		return CAY_ERROR_NO_RESOURCES;
	/* An operation on a word has no payload behind the request. */
	struct iovec data = { command_is_word(q->copy.command)
				      ? (void *)q->fetched
				      : q->bytes,
		q->copy.length };
	struct arena_entry *origin =
		&arena_directory(&port->member->arena)[e->peer.vpid];
	struct packet p = { .command = q->copy.command,
		.origin_vpid = e->peer.vpid,
		.origin_node = e->peer.node,
		.tag = e->tag,
		.api_tag = e->api_tag,
		.pieces = 1,
		.length = q->copy.length,
		.payload = &data,
		.window = q->copy.window,
		.capability = q->copy.capability,
		.offset = q->copy.offset,
		.operand = { q->copy.operand[0], q->copy.operand[1] },
		.origin_lock = window_lock_word(
			e->peer.vpid, atomic_load_explicit(&origin->first_epoch,
					      memory_order_acquire)) };
	/* The address of the window is taken from private memory. */
	int r = CAY_ERROR_TARGET_WINDOW;
	if (o->windows && p.window < o->window_count &&
		o->windows[p.window].base)
		r = device_execute_emulated(port_context(port), op, &p,
			&o->windows[p.window], &q->response, rights);
	q->shared->result = q->response.result;
	q->shared->previous = q->response.previous;
	if (r == 0 && command_operation(q->copy.command) == CAY_FAST_GET)
		memcpy(q->fetched, q->bytes, q->copy.length);
	return r < 0 ? CAY_ERROR_GONE : (enum cay_error)r;
}

int emulate_execute(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	uint64_t index = n->word[CAY_NQE_WORD_REFERENCE];
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
	_Atomic(struct context *) *origin;
	struct reference ref = { 0 };
	struct request q = { 0 };
	uint32_t rights = 0;

	e->api_tag =
		(uint32_t)(n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT);
	int r = member_origin(port->member, e->peer.vpid, &origin);
	if (r == -ENOMEM)
		return r;
	if (r || index == 0 || index > REFERENCE_COPIED)
		return 0;
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct reference *slot = &c->refs[index - 1];
	/* A started reference is not reused until it is complete. */
	if (!device_reference_begin(slot, sequence) ||
		!device_reference_read(slot, sequence, &ref))
		return 0;
	enum cay_error error = CAY_ERROR_COMMAND;
	if (ref.kind == REFERENCE_ACCESS &&
		reference_valid(&ref, port->member->arena.bytes) &&
		request_load(port, &ref, n, &q))
		error = request_execute(port, &q, e, &rights);

	struct completion done = { .tag = e->tag,
		.api_tag = e->api_tag,
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = q.copy.length,
		.result = q.copy.offset,
		.previous = q.copy.window,
		.reference = (uint16_t)index,
		.sequence = sequence };
	completion_results(&done, &q.response, q.fetched,
		bits_min(q.copy.length, sizeof(q.fetched)));
	reference_complete(port, origin, (uint32_t)index, &done);
	port_count(&port->count.emulated_executed);
	if (error || !(rights & CAY_RIGHT_NOTIFY_ACCESS))
		return 0;
	e->kind = CAY_EVENT_ACCESS;
	e->command = q.copy.command;
	e->length = q.copy.length;
	e->offset = q.copy.offset;
	e->window = q.copy.window;
	return 1;
}
