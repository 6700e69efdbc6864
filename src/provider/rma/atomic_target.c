/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target of atomic operations: progress executes the requests of peers. A
 * request is copied, checked, and always replied to; the domain lock serializes
 * operations on elements that the processor cannot change atomically.
 *
 * A request is executed once: a result for which there is no memory is kept,
 * and the request stays the endpoint's next event until the result is sent. So
 * each endpoint allocates its reply buffer before it executes anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process_memory.h"
#include "provider/endpoint/control.h"
#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"
#include "provider/rma/mr.h"
#include "provider/wire.h"

struct reply {
	struct list link; /* domain->replies */
	const struct endpoint *ep;
	bool pending; /* the next event is executed, its result not sent */
	uint32_t head;
	size_t length;
	unsigned char bytes[ATOMIC_BYTES];
};

static struct reply *reply_find(const struct endpoint *ep)
{
	list_for_each (at, &ep->domain->replies) {
		struct reply *r = list_of(at, struct reply, link);
		if (r->ep == ep)
			return r;
	}
	return NULL;
}

void atomic_reply_free(const struct endpoint *ep)
{
	struct reply *r = reply_find(ep);
	if (!r)
		return;
	list_remove(&r->link);
	free(r);
}

static int request_check(const struct wire_atomic *q, size_t payload)
{
	enum atomic_kind kind = q->compares  ? ATOMIC_COMPARES
				: q->fetches ? ATOMIC_FETCHES
					     : ATOMIC_WRITES;
	if (!atomic_known(kind, q->datatype, q->op))
		return -FI_EOPNOTSUPP;
	if (q->count == 0 || q->count > atomic_count_max(kind, q->datatype))
		return -FI_EMSGSIZE;
	size_t list = q->count * atomic_bytes(q->datatype);
	size_t lists =
		(q->compares ? 1 : 0) + (q->op == FI_ATOMIC_READ ? 0 : 1);
	return payload == lists * list ? 0 : -FI_EINVAL;
}

/* Finds the memory of a request. Errors as mr_resolve(), or -FI_EFAULT. */
static int request_resolve(struct endpoint *ep, const struct wire_atomic *q,
	size_t bytes, void **memory)
{
	bool writes = q->op != FI_ATOMIC_READ;
	if (unlikely(q->key == KEY_TABLE_QUERY)) {
		if (writes || bytes != sizeof(ep->address.capability))
			return -FI_EKEYREJECTED;
		*memory = &ep->address.capability;
		return 0;
	}
	int r = mr_resolve(ep->domain, q->key, q->address, bytes,
		(q->fetches ? FI_REMOTE_READ : 0) |
			(writes ? FI_REMOTE_WRITE : 0),
		memory);
	if (r)
		return r;
	/* The region may be unmapped or read-only: an error of the origin. */
	return process_memory_mapped(*memory, bytes, writes) ? 0 : -FI_EFAULT;
}

static void request_execute(const struct wire_atomic *q,
	const unsigned char *values, unsigned char *memory,
	unsigned char *previous)
{
	size_t bytes = atomic_bytes(q->datatype);
	size_t list = q->count * bytes;
	const unsigned char *compare = q->compares ? values : NULL;
	const unsigned char *operand = q->compares ? values + list : values;
	if (q->op == FI_ATOMIC_READ)
		operand = NULL;
	for (size_t at = 0; at < list; at += bytes)
		atomic_execute(q->datatype, q->op, memory + at,
			operand ? operand + at : NULL,
			compare ? compare + at : NULL, previous + at);
}

/*
 * At the endpoint an operation that fetches counts as a read, others as writes;
 * at the region it is what it does to the memory.
 */
static void request_count(struct endpoint *ep, const struct wire_atomic *q)
{
	if (q->key == KEY_TABLE_QUERY)
		return;
	mr_count_endpoint(ep, q->fetches ? MR_READ : MR_WRITE);
	if (q->fetches)
		mr_count_region(ep->domain, q->key, MR_READ);
	if (q->op != FI_ATOMIC_READ)
		mr_count_region(ep->domain, q->key, MR_WRITE);
}

/* Executes a valid request; sets the reply. */
static void reply_make(struct reply *reply, struct endpoint *ep,
	const void *payload, size_t length)
{
	struct wire_atomic q = { 0 };
	void *memory = NULL;
	size_t bytes = 0;
	int r = -FI_EINVAL;
	if (length >= sizeof(q)) {
		memcpy(&q, payload, sizeof(q));
		r = request_check(&q, length - sizeof(q));
	}
	if (r == 0) {
		bytes = q.count * atomic_bytes(q.datatype);
		r = request_resolve(ep, &q, bytes, &memory);
	}
	if (r == 0) {
		request_execute(&q, (const unsigned char *)payload + sizeof(q),
			memory, reply->bytes);
		request_count(ep, &q);
	}
	reply->head = WIRE_ATOMIC_RESULT | (uint32_t)-r << WIRE_IMMEDIATE_SHIFT;
	reply->length = r == 0 && q.fetches ? bytes : 0;
}

int atomic_request_execute(struct endpoint *ep, struct peer *from, uint64_t id,
	const void *payload, size_t length)
{
	struct reply *reply = reply_find(ep);
	if (unlikely(!reply)) {
		reply = malloc(sizeof(*reply));
		if (!reply)
			return -FI_ENOMEM;
		reply->ep = ep;
		reply->pending = false;
		list_append(&ep->domain->replies, &reply->link);
	}
	if (likely(!reply->pending))
		reply_make(reply, ep, payload, length);
	int r = control_send(
		from, reply->head, id, reply->bytes, reply->length);
	reply->pending = r != 0;
	return r;
}
