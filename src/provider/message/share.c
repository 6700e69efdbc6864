/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiver's half of share.h: the desk, and who has claimed what. */
#include "provider/message/share.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "provider/message/fetch.h"

struct desk {
	_Atomic uint64_t *words; /* shared */
	struct cay_window *window;
	uint64_t key;
	uint64_t used; /* a bit for each word */
	uint32_t generation[SHARE_DESK_WORDS];
};

_Static_assert(SHARE_DESK_WORDS == 64, "a bit of desk.used each");

static int desk_open(struct endpoint *ep, struct desk *d)
{
	struct cay_key key;
	size_t bytes = SHARE_DESK_WORDS * sizeof(*d->words);
	d->words = cay_alloc(ep->port, bytes, 0);
	if (!d->words)
		return -errno;
	int r = cay_window_open(ep->port, (void *)d->words, bytes,
		CAY_RIGHT_ATOMIC, &d->window);
	if (r == 0)
		r = cay_window_key(d->window, &key);
	if (r == 0)
		d->key = wire_key(&key);
	return r;
}

int share_open(struct endpoint *ep)
{
	struct desk *d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	int r = desk_open(ep, d);
	if (r) {
		free(d);
		return provider_error(r);
	}
	ep->desk = d;
	return 0;
}

/* Its memory and its window go with the port. */
void share_close(struct endpoint *ep)
{
	free(ep->desk);
	ep->desk = NULL;
}

static _Atomic uint64_t *share_word(const struct op *op)
{
	return &op->ep->desk->words[op->desk_slot];
}

static int desk_take(struct desk *d)
{
	if (d->used == UINT64_MAX)
		return -1;
	int slot = __builtin_ctzll(~d->used);
	d->used |= 1ull << slot;
	d->generation[slot]++;
	return slot;
}

static int share_ask(struct op *op, void *to, uint64_t word)
{
	const struct endpoint *ep = op->ep;
	const struct wire_push push = { .id = op_id(op),
		.address = (uintptr_t)to,
		.length = op->total,
		.key = wire_key(&ep->bulk_key),
		.desk = ep->desk->key,
		.slot = op->desk_slot,
		.word = word };
	return endpoint_post(
		op->peer, WIRE_PUSH, op->remote_id, &push, sizeof(push));
}

bool share_begin(struct op *op, void *to)
{
	struct desk *d = op->ep->desk;
	if (!d || op->total < settings.share_bytes || !settings.share_bytes ||
		share_chunks(op->total) >= SHARE_BACK)
		return false;
	int slot = desk_take(d);
	if (slot < 0)
		return false;
	uint64_t word = (uint64_t)d->generation[slot] << SHARE_GENERATION_SHIFT;
	op->desk_slot = (uint32_t)slot;
	/* Relaxed: the sender hears of it by a message. */
	atomic_store_explicit(&d->words[slot], word, memory_order_relaxed);
	if (share_ask(op, to, word)) {
		d->used &= ~(1ull << slot);
		return false;
	}
	op->shared = true;
	return true;
}

int64_t share_claim(struct op *op)
{
	_Atomic uint64_t *at = share_word(op);
	/* Relaxed, all of it: the word guards nothing but itself. */
	uint64_t word = atomic_load_explicit(at, memory_order_relaxed);
	do {
		if (share_exhausted(word, op->total))
			return -1;
	} while (!atomic_compare_exchange_weak_explicit(at, &word,
		word + SHARE_FRONT, memory_order_relaxed,
		memory_order_relaxed));
	return share_front(word);
}

bool share_complete(const struct op *op)
{
	return op->chunks + op->pushed >= share_chunks(op->total);
}

void share_pushed(struct op *op, int status, const void *data, size_t length)
{
	uint64_t chunks;
	if (!op->shared || op->pushed || length != sizeof(chunks))
		return;
	memcpy(&chunks, data, sizeof(chunks));
	if (chunks > share_chunks(op->total) - op->chunks)
		return;
	op->pushed = (uint32_t)chunks;
	if (status && !op->error)
		op->error = status;
	fetch_continue_one(op);
}

void share_end(struct op *op)
{
	if (op->shared)
		op->ep->desk->used &= ~(1ull << op->desk_slot);
	op->shared = false;
}
