/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Co-copy: see cocopy.h. The sender accesses the message only between a claim
 * that succeeded and its result message; the receiver sends FIN, which ends the
 * send, only after that.
 */
#include "provider/message/cocopy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/control.h"
#include "provider/wire.h"

struct claim_table {
	_Atomic uint64_t *words; /* shared */
	struct cay_window *window;
	uint64_t key;  /* wire_key() of the window */
	uint64_t used; /* a bit for each word */
	uint32_t generation[COCOPY_CLAIM_WORDS];
};

_Static_assert(COCOPY_CLAIM_WORDS == 64, "one bit of claim_table.used each");

int cocopy_open(struct endpoint *ep)
{
	struct cay_key key;
	size_t bytes = COCOPY_CLAIM_WORDS * sizeof(uint64_t);
	struct claim_table *t = calloc(1, sizeof(*t));
	if (!t)
		return -FI_ENOMEM;
	t->words = cay_alloc(ep->port, bytes, 0);
	int r = t->words ? cay_window_open(ep->port, (void *)t->words, bytes,
				   CAY_RIGHT_ATOMIC, &t->window)
			 : -errno;
	if (r == 0)
		r = cay_window_key(t->window, &key);
	if (r) {
		free(t);
		return provider_error(r);
	}
	t->key = wire_key(&key);
	ep->claims = t;
	return 0;
}

/* The words and their window are freed with the port. */
void cocopy_close(struct endpoint *ep)
{
	free(ep->claims);
	ep->claims = NULL;
}

static bool exhausted(uint64_t word, uint64_t bytes)
{
	return cocopy_front(word) + cocopy_back(word) >= cocopy_chunks(bytes);
}

/* ---- receiver ---- */

void cocopy_begin(struct op *op, void *to)
{
	struct op_fetch *f = &op->fetch;
	struct claim_table *t = op->ep->claims;
	if (!t || !settings.cocopy_bytes || f->total < settings.cocopy_bytes ||
		cocopy_chunks(f->total) >= COCOPY_BACK || t->used == UINT64_MAX)
		return;
	uint32_t slot = (uint32_t)__builtin_ctzll(~t->used);
	uint64_t word = (uint64_t)++t->generation[slot]
			<< COCOPY_GENERATION_SHIFT;
	/* Relaxed: the sender learns of the word by a message. */
	atomic_store_explicit(&t->words[slot], word, memory_order_relaxed);
	const struct wire_cocopy request = { .id = op_id(op),
		.address = (uintptr_t)to,
		.length = f->total,
		.key = wire_key(&op->ep->bulk_key),
		.claim_key = t->key,
		.claim_slot = slot,
		.claim_word = word };
	if (control_send(op->peer, WIRE_COCOPY, f->send_id, &request,
		    sizeof(request)))
		return;
	t->used |= 1ull << slot;
	f->claim_slot = slot;
	f->cocopy = true;
}

int64_t cocopy_claim(struct op *op)
{
	_Atomic uint64_t *at = &op->ep->claims->words[op->fetch.claim_slot];
	/* Relaxed throughout: the word protects no other memory. */
	uint64_t word = atomic_load_explicit(at, memory_order_relaxed);
	do {
		if (exhausted(word, op->fetch.total))
			return -1;
	} while (!atomic_compare_exchange_weak_explicit(at, &word,
		word + COCOPY_FRONT, memory_order_relaxed,
		memory_order_relaxed));
	return cocopy_front(word);
}

bool cocopy_complete(const struct op *op)
{
	return op->fetch.copied + op->fetch.sender_copied >=
	       cocopy_chunks(op->fetch.total);
}

bool cocopy_result(struct op *op, int status, const void *data, size_t length)
{
	struct op_fetch *f = &op->fetch;
	uint64_t chunks;
	if (!f->cocopy || f->sender_copied || length != sizeof(chunks))
		return false;
	memcpy(&chunks, data, sizeof(chunks));
	if (chunks > cocopy_chunks(f->total) - f->copied)
		return false;
	f->sender_copied = (uint32_t)chunks;
	if (status && !op->error)
		op->error = status;
	return true;
}

void cocopy_end(struct op *op)
{
	if (op->fetch.cocopy)
		op->ep->claims->used &= ~(1ull << op->fetch.claim_slot);
	op->fetch.cocopy = false;
}

/* ---- sender ---- */

/* Claims a chunk. Returns 1 (claimed), 0 (none is left) or -errno. */
static int cocopy_send_claim(struct op *op)
{
	struct op_cocopy *c = &op->cocopy;
	for (;;) {
		uint64_t seen = c->seen;
		if (exhausted(seen, c->total))
			return 0;
		/* A refused access stores nothing: no valid word is ~seen. */
		c->previous = ~seen;
		int r = cay_compare_swap_into(op->ep->port, op->peer->port,
			c->claim_key, c->claim_slot * sizeof(uint64_t), seen,
			seen + COCOPY_BACK, &c->previous, 0, CAY_FREE_ORDER);
		if (r)
			return r;
		if (c->previous == seen) {
			c->seen = seen + COCOPY_BACK;
			return 1;
		}
		/* Only the receiver's claims may have changed meanwhile. */
		if (cocopy_front(c->previous) <= cocopy_front(seen) ||
			(c->previous ^ seen) & ~(COCOPY_BACK - 1))
			return 0;
		c->seen = c->previous;
	}
}

/* Puts the chunk that was claimed last. */
static int cocopy_send_put(struct op *op)
{
	struct op_cocopy *c = &op->cocopy;
	uint32_t chunk = cocopy_chunks(c->total) - cocopy_back(c->seen);
	uint64_t at = cocopy_chunk_at(c->total, chunk);
	return cay_put(op->ep->port, op->peer->port, c->key,
		c->address + at - WIRE_BULK_BASE, (const char *)c->source + at,
		cocopy_chunk_length(c->total, chunk), op_id(op), CAY_ACK);
}

void cocopy_send_continue(struct op *op)
{
	struct op_cocopy *c = &op->cocopy;
	/* After FIN the message belongs to the application again. */
	if (!op_find(op->ep, c->send_id, op->peer)) {
		op_drop(op);
		return;
	}
	int r = op->peer->port ? 0 : -EPIPE;
	if (r == 0 && !c->claimed) {
		r = cocopy_send_claim(op);
		c->claimed = r == 1;
	}
	if (r >= 0 && c->claimed)
		r = cocopy_send_put(op);
	if (r == 0 && c->claimed)
		return;
	if (r == -EAGAIN)
		goto retry;
	/* A claimed chunk that cannot be put fails the receive. */
	if (c->claimed) {
		op->error = FI_EIO;
		c->copied++;
		c->claimed = false;
	}
	const uint64_t chunks = c->copied;
	if (chunks == 0 ||
		control_send(op->peer,
			WIRE_COCOPY_RESULT | (uint32_t)op->error
						     << WIRE_IMMEDIATE_SHIFT,
			c->fetch_id, &chunks, sizeof(chunks)) == 0) {
		op_drop(op);
		return;
	}
retry:
	retry_enqueue(op->ep, &op->ep->rendezvous_retries, &op->retry_link);
}

void cocopy_send_event(struct op *op, const struct cay_event *e)
{
	if (e->error)
		op->error = provider_device_error(e->error);
	op->cocopy.copied++;
	op->cocopy.claimed = false;
	cocopy_send_continue(op);
}

int cocopy_send_begin(struct op *send, const void *data, size_t length)
{
	struct wire_cocopy request;
	if (length != sizeof(request))
		return 0;
	memcpy(&request, data, sizeof(request));
	if (send->send.cocopy || request.length > send->send.length ||
		request.address < WIRE_BULK_BASE ||
		request.claim_slot >= COCOPY_CLAIM_WORDS ||
		cocopy_chunks(request.length) >= COCOPY_BACK)
		return 0;
	struct op *op = op_new(send->ep, send->peer, OP_COCOPY);
	if (!op)
		return -FI_ENOMEM;
	send->send.cocopy = true;
	op->cocopy = (struct op_cocopy){ .send_id = op_id(send),
		.source = send->send.source,
		.total = request.length,
		.fetch_id = request.id,
		.key = wire_key_of(request.key),
		.address = request.address,
		.claim_key = wire_key_of(request.claim_key),
		.claim_slot = (uint32_t)request.claim_slot,
		.seen = request.claim_word };
	cocopy_send_continue(op);
	return 0;
}
