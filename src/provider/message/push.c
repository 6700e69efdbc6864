/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender's half of share.h: an OP_PUSH beside the OP_SEND that it helps. It
 * touches the message only between a claim that succeeded and the answer, and
 * the receiver does not let the send end before that.
 */
#include <string.h>

#include "provider/message/share.h"

static bool push_valid(const struct wire_push *p, const struct op *send)
{
	return !send->shared && p->length <= send->length &&
	       p->address >= WIRE_BULK_BASE && p->slot < SHARE_DESK_WORDS &&
	       share_chunks(p->length) < SHARE_BACK;
}

static void push_end(struct op *op)
{
	const uint64_t chunks = op->chunks;
	int r = 0;
	if (chunks)
		r = endpoint_post(op->peer,
			WIRE_PUSHED | (uint32_t)op->error << WIRE_SMALL_SHIFT,
			op->remote_id, &chunks, sizeof(chunks));
	if (r)
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
	else
		op_drop(op);
}

/* Has the word changed as it does when its owner claims chunks? */
static bool push_moved(uint64_t from, uint64_t to)
{
	return share_front(to) > share_front(from) &&
	       (to & ~(SHARE_BACK - 1)) == (from & ~(SHARE_BACK - 1));
}

/* 1: claimed, 0: nothing is left, or -errno. */
static int push_claim(struct op *op)
{
	for (;;) {
		uint64_t seen = op->seen;
		if (share_exhausted(seen, op->total))
			return 0;
		/* Refused, nothing is stored: that is not the word. */
		op->word = ~seen;
		int r = cay_compare_swap_into(op->ep->port, op->peer->port,
			op->desk, op->desk_slot * sizeof(uint64_t), seen,
			seen + SHARE_BACK, &op->word, 0, CAY_FREE_ORDER);
		if (r)
			return r;
		if (op->word == seen) {
			op->seen = seen + SHARE_BACK;
			return 1;
		}
		if (!push_moved(seen, op->word))
			return 0;
		op->seen = op->word;
	}
}

/* The chunk that was claimed last, from the back. */
static int push_put(struct op *op)
{
	uint32_t chunk = share_chunks(op->total) - share_back(op->seen);
	uint64_t at = share_chunk_at(op->total, chunk);
	return cay_put(op->ep->port, op->peer->port, op->remote,
		op->remote_address + at - WIRE_BULK_BASE,
		(const char *)op->source + at,
		share_chunk_length(op->total, chunk), op_id(op), CAY_ACK);
}

void push_continue(struct op *op)
{
	/* The receiver does not want it any more: it is not ours to read. */
	if (!op_find(op->ep, op->send, op->peer)) {
		op_drop(op);
		return;
	}
	int r = op->peer->port ? 0 : -EPIPE;
	if (r == 0 && !op->claimed) {
		r = push_claim(op);
		op->claimed = r == 1;
	}
	if (op->claimed)
		r = push_put(op);
	if (r == 0 && op->claimed)
		return;
	if (r == -EAGAIN) {
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
		return;
	}
	/* What was claimed and cannot be stored is the receiver's error. */
	if (op->claimed) {
		op->error = FI_EIO;
		op->chunks++;
		op->claimed = false;
	}
	push_end(op);
}

void push_event(struct op *op, const struct cay_event *e)
{
	if (e->error)
		op->error = provider_device_error(e->error);
	op->chunks++;
	op->claimed = false;
	push_continue(op);
}

int push_begin(struct op *send, const void *data, size_t length)
{
	struct wire_push push;
	if (length != sizeof(push))
		return 0;
	memcpy(&push, data, sizeof(push));
	if (!push_valid(&push, send))
		return 0;
	struct op *op = op_new(send->ep, send->peer, OP_PUSH);
	if (!op)
		return -FI_ENOMEM;
	send->shared = true;
	op->send = op_id(send);
	op->source = send->source;
	op->total = push.length;
	op->remote = wire_key_of(push.key);
	op->remote_address = push.address;
	op->remote_id = push.id;
	op->desk = wire_key_of(push.desk);
	op->desk_slot = (uint32_t)push.slot;
	op->seen = push.word;
	push_continue(op);
	return 0;
}
