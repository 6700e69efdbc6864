/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations that peers ask for, executed by who makes progress. The
 * request is copied and checked, and always answered; the guard keeps others
 * from elements that processors cannot change at once.
 *
 * Done is done: an answer that finds no memory is kept, and the request stays
 * the endpoint's next event until it is posted. So each endpoint has room for
 * one answer before it executes anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process_memory.h"
#include "provider/endpoint/endpoint.h"
#include "provider/rma/atomic.h"
#include "provider/rma/mr.h"
#include "provider/wire.h"

struct answer {
	struct list link; /* domain->answers */
	const struct endpoint *ep;
	bool owed; /* to the request that is its next event */
	uint32_t head;
	size_t length;
	unsigned char bytes[ATOMIC_BYTES];
};

static struct answer *answer_find(const struct endpoint *ep)
{
	list_for_each (at, &ep->domain->answers) {
		struct answer *a = list_of(at, struct answer, link);
		if (a->ep == ep)
			return a;
	}
	return NULL;
}

/* NULL without memory. */
static struct answer *answer_of(const struct endpoint *ep)
{
	struct answer *a = answer_find(ep);
	if (likely(a))
		return a;
	a = malloc(sizeof(*a));
	if (!a)
		return NULL;
	a->ep = ep;
	a->owed = false;
	list_append(&ep->domain->answers, &a->link);
	return a;
}

void atomic_forget(const struct endpoint *ep)
{
	struct answer *a = answer_find(ep);
	if (!a)
		return;
	list_remove(&a->link);
	free(a);
}

/* Compare values, if it has them, and operands, if it uses them. */
static size_t request_lists(const struct wire_atomic *q)
{
	return (q->compares ? 1 : 0) + (q->op == FI_ATOMIC_READ ? 0 : 1);
}

static enum atomic_kind request_kind(const struct wire_atomic *q)
{
	if (q->compares)
		return ATOMIC_COMPARES;
	return q->fetches ? ATOMIC_FETCHES : ATOMIC_WRITES;
}

static uint64_t request_access(const struct wire_atomic *q)
{
	uint64_t access = 0;
	if (q->fetches)
		access |= FI_REMOTE_READ;
	if (q->op != FI_ATOMIC_READ)
		access |= FI_REMOTE_WRITE;
	return access;
}

static int request_check(const struct wire_atomic *q, size_t payload)
{
	enum atomic_kind kind = request_kind(q);
	if (!atomic_known(kind, q->datatype, q->op))
		return -FI_EOPNOTSUPP;
	if (q->count == 0 || q->count > atomic_count_max(kind, q->datatype))
		return -FI_EMSGSIZE;
	size_t list = q->count * atomic_bytes(q->datatype);
	return payload == request_lists(q) * list ? 0 : -FI_EINVAL;
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
 * What is registered may have been unmapped meanwhile, or be read-only: that is
 * the asker's error and not our end.
 */
static int request_region(struct endpoint *ep, const struct wire_atomic *q,
	size_t bytes, void **memory)
{
	bool write = q->op != FI_ATOMIC_READ;
	int r = mr_reach(ep->domain, q->key, q->address, bytes,
		request_access(q), memory);
	if (r)
		return r;
	return process_memory_mapped(*memory, bytes, write) ? 0 : -FI_EFAULT;
}

/* As mr_reach(). The card is only read. */
static int request_reach(struct endpoint *ep, const struct wire_atomic *q,
	size_t bytes, void **memory)
{
	if (likely(q->key != ATOMIC_KEY_CARD))
		return request_region(ep, q, bytes, memory);
	if (q->op != FI_ATOMIC_READ || bytes != sizeof(ep->address.card))
		return -FI_EKEYREJECTED;
	*memory = &ep->address.card;
	return 0;
}

/* Executes a request if it is in order. */
static void answer_make(struct answer *a, struct endpoint *ep,
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
		r = request_reach(ep, &q, bytes, &memory);
	}
	if (r == 0)
		request_execute(&q, (const unsigned char *)payload + sizeof(q),
			memory, a->bytes);
	a->head = WIRE_RESULT | (uint32_t)-r << WIRE_SMALL_SHIFT;
	a->length = r == 0 && q.fetches ? bytes : 0;
}

int atomic_serve(struct endpoint *ep, struct peer *from, uint64_t id,
	const void *payload, size_t length)
{
	struct answer *a = answer_of(ep);
	if (!a)
		return -FI_ENOMEM;
	if (likely(!a->owed))
		answer_make(a, ep, payload, length);
	int r = endpoint_post(from, a->head, id, a->bytes, a->length);
	a->owed = r != 0;
	return r;
}
