/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses that others ask us to make, because only we can: executed by the
 * thread that polls, in the order in which they came. What they say is copied
 * once and checked as any access is; the answer is the completion.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "port/event.h"
#include "port/intake.h"
#include "port/record.h"

/* A request as it was found, and where its bytes are. */
struct request {
	struct emulated_access copy;
	struct emulated_access *shared; /* itself, for the results */
	unsigned char *bytes;		/* in the arena, behind it */
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	struct response response;
};

/* Into the completion, and behind the request for who completes it for us. */
static bool request_fetches(const struct request *q)
{
	return command_operation(q->copy.command) == CAY_FAST_GET;
}

/* A command that a VCI may have, too. */
static bool request_known(const struct request *q)
{
	struct cay_vci v = { { q->copy.command,
		(q->copy.length & 0xffff) << CAY_VCI_BYTES_SHIFT } };
	return vci_valid(&v);
}

/* False: not what its entry says, or not whole. */
static bool request_copy(struct cay_port *port, const struct reference *ref,
	const struct cay_nqe *n, struct request *q)
{
	unsigned char *at = port->member->arena.base + ref->address;
	uint64_t room = ref->length - sizeof(q->copy);
	memcpy(&q->copy, at, sizeof(q->copy));
	q->shared = (struct emulated_access *)(void *)at;
	q->bytes = at + sizeof(q->copy);
	if (q->copy.command != n->word[CAY_NQE_WORD_COMPLETED])
		return false;
	if (command_is_word(q->copy.command))
		q->copy.length = 8;
	else if (q->copy.length > room ||
		 (request_fetches(q) && q->copy.length > CAY_FAST_PUT_BYTES))
		return false;
	return request_known(q);
}

/* Who asks, as it stands in a window's lock. */
static uint64_t request_lock_word(const struct cay_port *port, uint16_t vpid)
{
	const struct arena *a = &port->member->arena;
	return window_lock_word(vpid,
		atomic_load_explicit(&arena_directory(a)[vpid].first_epoch,
			memory_order_acquire));
}

/* Where our window lies, which we alone know; NULL if it is not open. */
static const struct origin_window *request_window(
	const struct cay_port *port, uint16_t window)
{
	const struct origin *o = &port->origin;
	bool open = o->windows && window < o->window_count &&
		    o->windows[window].base;
	return open ? &o->windows[window] : NULL;
}

static enum cay_error request_serve(struct cay_port *port, struct request *q,
	const struct cay_event *e, uint32_t *rights)
{
	struct op_record *op = record_of(port->member);
	/* Only what moves has bytes behind it. */
	struct iovec data = { command_is_word(q->copy.command)
				      ? (void *)q->fetched
				      : q->bytes,
		q->copy.length };
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
		.origin_lock = request_lock_word(port, e->peer.vpid) };
	const struct origin_window *window =
		request_window(port, q->copy.window);
	if (!op)
		return CAY_ERROR_NO_ROOM;
	int r = window ? device_execute_emulated(port_own(port), op, &p, window,
				 &q->response, rights)
		       : CAY_ERROR_TARGET_WINDOW;
	q->shared->result = q->response.result;
	q->shared->previous = q->response.previous;
	if (r == 0 && request_fetches(q))
		memcpy(q->fetched, q->bytes, q->copy.length);
	return r < 0 ? CAY_ERROR_GONE : (enum cay_error)r;
}

static struct completion request_completion(const struct cay_port *port,
	const struct request *q, const struct cay_event *e,
	enum cay_error error)
{
	struct completion c = { .tag = e->tag,
		.api_tag = e->api_tag,
		.command = q->copy.command,
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = q->copy.length,
		.result = q->copy.offset,
		.previous = q->copy.window };
	completion_results(&c, &q->response, q->fetched,
		bits_min(q->copy.length, sizeof(q->fetched)));
	return c;
}

/* The entry that brought it tells of it, if the window's owner wants that. */
static int serve_event(
	const struct request *q, uint32_t rights, struct cay_event *e)
{
	e->kind = CAY_EVENT_ACCESS;
	e->command = q->copy.command;
	e->length = q->copy.length;
	e->offset = q->copy.offset;
	e->window = q->copy.window;
	return rights & CAY_RIGHT_NOTIFY_ACCESS ? 1 : 0;
}

int serve_access(
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
	if (r || index == 0 || index > 1u << QUEUE_REFS_LOG2)
		return 0;
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct reference *slot = &c->refs[index - 1];
	/* From its beginning on nobody fills the slot in anew. */
	if (!device_reference_begin(slot, sequence) ||
		!incoming_reference(slot, sequence, &ref))
		return 0;
	enum cay_error error = CAY_ERROR_COMMAND;
	if (ref.kind == REFERENCE_ACCESS &&
		reference_valid(&ref, port->member->arena.bytes) &&
		request_copy(port, &ref, n, &q))
		error = request_serve(port, &q, e, &rights);
	struct completion done = request_completion(port, &q, e, error);
	done.reference = (uint16_t)index;
	done.sequence = sequence;
	incoming_complete(port, origin, (uint32_t)index, &done);
	port_count(&port->count.emulated_executed);
	return error ? 0 : serve_event(&q, rights, e);
}
