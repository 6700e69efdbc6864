/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The origin of atomic operations. The target executes them (atomic_target.c)
 * and sends each result. The device executes only an addition to or a
 * compare-and-swap of one word in device memory, and only if no operation that
 * the target executes is in flight to it.
 */
#include <string.h>

#include "provider/message/path.h"
#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"
#include "provider/rma/rma.h"
#include "provider/wire.h"

/* ---- results ---- */

static void results_store(struct op *op, const void *from)
{
	const unsigned char *at = from;
	for (uint32_t i = 0; i < op->atomic.result_count; i++) {
		const struct fi_ioc *to = &op->atomic.results[i];
		memcpy(to->addr, at, to->count);
		at += to->count;
	}
}

void atomic_event(struct op *op, const struct cay_event *e)
{
	if (e->error)
		op->error = provider_device_error(e->error);
	else
		results_store(op, &op->atomic.word);
	op_end(op);
}

void atomic_result(
	struct op *op, int status, const void *payload, size_t length)
{
	if (!op->atomic.by_target)
		return;
	op->peer->atomics--;
	if (status)
		op->error = status;
	else if (length != op->atomic.length)
		op->error = FI_EIO;
	else
		results_store(op, payload);
	op_end(op);
}

/* ---- execution by the device ---- */

/*
 * Returns true if the device can execute the operation, and where. Errors of
 * the key are left to the target, and so are operations that it counts.
 */
static bool device_can(const struct op *op, const struct atomic_request *q,
	struct cay_key *window, uint64_t *offset)
{
	const uint64_t needed = KEY_MAPPED | KEY_WRITE |
				(q->kind == ATOMIC_WRITES ? 0 : KEY_READ);
	const struct key_entry *e;
	if (op->peer->atomics || q->count != 1 || q->operands.count != 1 ||
		q->compares.count > 1 ||
		(q->datatype != FI_INT64 && q->datatype != FI_UINT64) ||
		(q->op != FI_SUM && q->op != FI_CSWAP))
		return false;
	if (key_find(op->peer, q->key, &e) ||
		(e->flags & (needed | KEY_COUNT)) != needed ||
		q->address < e->base ||
		!bits_inside(q->address - e->base, 8, e->length))
		return false;
	*window = e->window;
	*offset = q->address - e->base;
	return *offset % 8 == 0;
}

static int device_issue(struct op *op, const struct atomic_request *q,
	struct cay_key window, uint64_t offset)
{
	uint64_t operand, compare;
	memcpy(&operand, q->operands.ioc->addr, sizeof(operand));
	if (q->op == FI_SUM)
		return cay_fetch_add_into(op->ep->port, op->peer->port, window,
			offset, operand, &op->atomic.word, op_id(op),
			CAY_NOTIFY);
	memcpy(&compare, q->compares.ioc->addr, sizeof(compare));
	return cay_compare_swap_into(op->ep->port, op->peer->port, window,
		offset, compare, operand, &op->atomic.word, op_id(op),
		CAY_NOTIFY);
}

/* ---- execution by the target ---- */

static int segments_add(const struct atomic_vector *v, size_t bytes,
	struct iovec *segments, int count)
{
	for (size_t i = 0; i < v->count; i++)
		segments[count++] = (struct iovec){ v->ioc[i].addr,
			v->ioc[i].count * bytes };
	return count;
}

/* Sends WIRE_ATOMIC. The device copies it, so operands are free on return. */
static int target_request(struct op *op, const struct atomic_request *q)
{
	size_t bytes = atomic_bytes(q->datatype);
	struct wire_atomic head = { .key = q->key,
		.address = q->address,
		.op = (uint8_t)q->op,
		.datatype = (uint8_t)q->datatype,
		.fetches = q->kind != ATOMIC_WRITES,
		.compares = q->kind == ATOMIC_COMPARES,
		.count = (uint32_t)q->count };
	struct iovec segments[1 + 2 * PROVIDER_IOV_MAX] = { { &head,
		sizeof(head) } };
	int count = segments_add(&q->compares, bytes, segments, 1);
	count = segments_add(&q->operands, bytes, segments, count);
	int r = cay_sendv_tagged(op->ep->port, op->peer->port, op_id(op),
		WIRE_ATOMIC, segments, count, 0);
	if (r == 0) {
		op->atomic.by_target = true;
		op->peer->atomics++;
		path_order_origin(op->peer);
	}
	return r;
}

/* ---- posting ---- */

/* Returns true if the segments are valid and have so many elements. */
static bool vector_holds(const struct atomic_vector *v, size_t count)
{
	if (v->count > PROVIDER_IOV_MAX || (v->count && !v->ioc))
		return false;
	for (size_t i = 0; i < v->count; i++) {
		if (v->ioc[i].count > count ||
			(v->ioc[i].count && !v->ioc[i].addr))
			return false;
		count -= v->ioc[i].count;
	}
	return count == 0;
}

static int atomic_check(const struct endpoint *ep, struct atomic_request *q)
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
	if (q->op == FI_ATOMIC_READ)
		q->operands.count = 0;
	else if (!vector_holds(&q->operands, q->count))
		return -FI_EINVAL;
	if (q->kind == ATOMIC_COMPARES && !vector_holds(&q->compares, q->count))
		return -FI_EINVAL;
	if (q->kind != ATOMIC_WRITES && !vector_holds(&q->results, q->count))
		return -FI_EINVAL;
	return 0;
}

int atomic_start(struct endpoint *ep, struct atomic_request *q)
{
	bool writes = q->kind == ATOMIC_WRITES;
	struct peer *peer;
	struct cay_key window;
	uint64_t offset;
	int r = atomic_check(ep, q);
	if (r == 0)
		r = endpoint_peer(ep, q->to, &peer);
	if (r == 0 && rma_hazard(ep, peer, q->flags))
		r = -FI_EAGAIN;
	if (r)
		return r;
	struct op *op = op_new_tx(
		ep, peer, OP_ATOMIC, writes ? COUNT_WRITE : COUNT_READ);
	if (!op)
		return -FI_EAGAIN;
	op->silent = q->silent || endpoint_tx_silent(ep, q->flags);
	op->flags = FI_ATOMIC | (writes ? FI_WRITE : FI_READ);
	op->context = q->context;
	size_t bytes = atomic_bytes(q->datatype);
	op->atomic.result_count = (uint32_t)q->results.count;
	for (size_t i = 0; i < q->results.count; i++)
		op->atomic.results[i] = (struct fi_ioc){ q->results.ioc[i].addr,
			q->results.ioc[i].count * bytes };
	op->atomic.length = q->results.count ? q->count * bytes : 0;
	r = device_can(op, q, &window, &offset)
		    ? device_issue(op, q, window, offset)
		    : target_request(op, q);
	if (r == 0)
		return 0;
	op_drop(op);
	return peer_error(peer, r);
}
