/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations from their posting to their end. The owner of the memory
 * executes them (atomic_serve.c) and answers each; only an addition to or a
 * compare-and-swap of one word in memory that the whole node has mapped is
 * the device's own, and only if nothing that the owner has to do comes before.
 */
#include <string.h>

#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"
#include "provider/rma/rma.h"
#include "provider/wire.h"

/* ---- the ends of it ---- */

static void results_take(struct op *op, const void *from)
{
	const unsigned char *at = from;
	for (uint32_t i = 0; i < op->result_count; i++) {
		memcpy(op->results[i].addr, at, op->results[i].count);
		at += op->results[i].count;
	}
}

void atomic_event(struct op *op, const struct cay_event *e)
{
	if (e->error)
		op->error = provider_device_error(e->error);
	else
		results_take(op, &op->word);
	op_end(op);
}

void atomic_result(
	struct op *op, int status, const void *payload, size_t length)
{
	/* Who executes it himself is not answered. */
	if (op->kind != OP_ATOMIC || !op->parts)
		return;
	op->peer->atomics--;
	if (status)
		op->error = status;
	else if (length != op->length)
		op->error = FI_EIO;
	else
		results_take(op, payload);
	op_end(op);
}

/* ---- issuing ---- */

static bool direct_fits(const struct op *op, const struct atomic_request *q)
{
	return op->peer->atomics == 0 && q->count == 1 &&
	       q->operands.count == 1 && q->compares.count <= 1 &&
	       (q->datatype == FI_INT64 || q->datatype == FI_UINT64) &&
	       (q->op == FI_SUM || q->op == FI_CSWAP);
}

/* Whatever is wrong with the key is for its owner to say. */
static bool direct_window(const struct op *op, const struct atomic_request *q,
	struct cay_key *window, uint64_t *offset)
{
	const uint64_t needed = KEY_MAPPED | KEY_WRITE |
				(q->kind == ATOMIC_WRITES ? 0 : KEY_READ);
	const struct key_entry *e;
	if (key_find(op->peer, q->key, &e) || (e->flags & needed) != needed ||
		q->address < e->base ||
		!bits_inside(q->address - e->base, 8, e->length))
		return false;
	*window = e->window;
	*offset = q->address - e->base;
	return *offset % 8 == 0;
}

static uint64_t first_word(const struct atomic_places *p)
{
	uint64_t word;
	memcpy(&word, p->ioc->addr, sizeof(word));
	return word;
}

static int direct_issue(struct op *op, const struct atomic_request *q,
	struct cay_key window, uint64_t offset)
{
	struct cay_port *port = op->ep->port;
	if (q->op == FI_SUM)
		return cay_fetch_add_into(port, op->peer->port, window, offset,
			first_word(&q->operands), &op->word, op_id(op),
			CAY_NOTIFY);
	return cay_compare_swap_into(port, op->peer->port, window, offset,
		first_word(&q->compares), first_word(&q->operands), &op->word,
		op_id(op), CAY_NOTIFY);
}

static int pieces_add(const struct atomic_places *p, size_t bytes,
	struct iovec *pieces, int count)
{
	for (size_t i = 0; i < p->count; i++)
		pieces[count++] = (struct iovec){ p->ioc[i].addr,
			p->ioc[i].count * bytes };
	return count;
}

/* The device copies it: operands are free on return. */
static int owner_ask(struct op *op, const struct atomic_request *q)
{
	size_t bytes = atomic_bytes(q->datatype);
	struct wire_atomic head = { .key = q->key,
		.address = q->address,
		.op = (uint8_t)q->op,
		.datatype = (uint8_t)q->datatype,
		.fetches = q->kind != ATOMIC_WRITES,
		.compares = q->kind == ATOMIC_COMPARES,
		.count = (uint32_t)q->count };
	struct iovec pieces[1 + 2 * PROVIDER_IOV_MAX] = { { &head,
		sizeof(head) } };
	int count = pieces_add(&q->compares, bytes, pieces, 1);
	count = pieces_add(&q->operands, bytes, pieces, count);
	int r = cay_sendv_tagged(op->ep->port, op->peer->port, op_id(op),
		WIRE_ATOMIC, pieces, count, 0);
	if (r == 0) {
		op->parts = 1;
		op->peer->atomics++;
	}
	return r;
}

static int atomic_issue(struct op *op, const struct atomic_request *q)
{
	struct cay_key window;
	uint64_t offset;
	int r = direct_fits(op, q) && direct_window(op, q, &window, &offset)
			? direct_issue(op, q, window, offset)
			: owner_ask(op, q);
	if (r == 0)
		return 0;
	op_drop(op);
	return provider_error(r);
}

/* ---- posting ---- */

/* So many elements, in places that are there. */
static bool places_hold(const struct atomic_places *p, size_t count)
{
	if (p->count > PROVIDER_IOV_MAX || (p->count && !p->ioc))
		return false;
	for (size_t i = 0; i < p->count; i++) {
		if (p->ioc[i].count > count ||
			(p->ioc[i].count && !p->ioc[i].addr))
			return false;
		count -= p->ioc[i].count;
	}
	return count == 0;
}

static int check_places(struct atomic_request *q)
{
	if (q->op == FI_ATOMIC_READ)
		q->operands.count = 0;
	else if (!places_hold(&q->operands, q->count))
		return -FI_EINVAL;
	if (q->kind == ATOMIC_COMPARES && !places_hold(&q->compares, q->count))
		return -FI_EINVAL;
	if (q->kind != ATOMIC_WRITES && !places_hold(&q->results, q->count))
		return -FI_EINVAL;
	return 0;
}

static int check(const struct endpoint *ep, struct atomic_request *q)
{
	if (!ep->port)
		return -FI_EOPBADSTATE;
	if (!(ep->caps & FI_ATOMIC) || q->flags & FI_TAGGED ||
		!atomic_known(q->kind, q->datatype, q->op))
		return -FI_EOPNOTSUPP;
	if (q->flags & ~ATOMIC_FLAGS || q->count == 0)
		return -FI_EINVAL;
	if (q->count > atomic_count_max(q->kind, q->datatype))
		return -FI_EMSGSIZE;
	return check_places(q);
}

static void results_note(struct op *op, const struct atomic_request *q)
{
	size_t bytes = atomic_bytes(q->datatype);
	op->result_count = (uint32_t)q->results.count;
	for (size_t i = 0; i < q->results.count; i++)
		op->results[i] = (struct fi_ioc){ q->results.ioc[i].addr,
			q->results.ioc[i].count * bytes };
	op->length = q->results.count ? q->count * bytes : 0;
}

static int atomic_op(struct endpoint *ep, struct peer *peer,
	const struct atomic_request *q, struct op **out)
{
	bool writes = q->kind == ATOMIC_WRITES;
	struct op *op = op_new_tx(
		ep, peer, OP_ATOMIC, writes ? COUNT_WRITE : COUNT_READ);
	if (!op)
		return -FI_EAGAIN;
	op->silent = q->silent || endpoint_tx_silent(ep, q->flags);
	op->flags = FI_ATOMIC | (writes ? FI_WRITE : FI_READ);
	op->context = q->context;
	results_note(op, q);
	*out = op;
	return 0;
}

static int atomic_start(struct endpoint *ep, struct atomic_request *q)
{
	struct peer *peer;
	struct op *op;
	int r = check(ep, q);
	if (r == 0)
		r = endpoint_peer(ep, q->to, &peer);
	if (r == 0 && rma_behind(ep, peer, q->flags))
		r = -FI_EAGAIN;
	if (r == 0)
		r = atomic_op(ep, peer, q, &op);
	return r ? r : atomic_issue(op, q);
}

static bool card_is_asked(const struct peer *p)
{
	list_for_each (at, &p->ops) {
		const struct op *op = list_of(at, struct op, link);
		if (op->kind == OP_ATOMIC && op->result_count &&
			op->results[0].addr == &p->address.card)
			return true;
	}
	return false;
}

/* Nobody is told how it ends: who needs the card sees it, or asks again. */
int atomic_ask_card(struct peer *p)
{
	const struct fi_ioc to = { &p->address.card, 1 };
	const struct atomic_request q = { .kind = ATOMIC_FETCHES,
		.datatype = FI_UINT64,
		.op = FI_ATOMIC_READ,
		.results = { &to, 1 },
		.key = ATOMIC_KEY_CARD,
		.count = 1 };
	if (card_is_asked(p))
		return 0;
	struct op *op = op_new(p->ep, p, OP_ATOMIC);
	if (!op)
		return -FI_ENOMEM;
	results_note(op, &q);
	return atomic_issue(op, &q);
}

ssize_t atomic_post(struct fid_ep *fid, struct atomic_request *q)
{
	struct endpoint *ep = endpoint_of(fid);
	guard_enter(&ep->domain->guard);
	int r = atomic_start(ep, q);
	if (unlikely(r == -FI_EAGAIN))
		endpoint_progress(ep);
	guard_leave(&ep->domain->guard);
	return r;
}
