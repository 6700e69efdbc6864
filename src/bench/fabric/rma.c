/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided operations over a link, on a word of the other rank. Both ranks
 * read the completion queue while they wait: a provider may need the target's
 * help.
 */
#include <errno.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>

#include "bench/fabric/link.h"
#include "bench/fabric/workloads.h"

/* What a rank needs to access the other's word. */
struct remote {
	uint64_t address, key;
};

struct rma {
	struct link link;
	struct fid_mr *region;
	_Atomic uint64_t *word; /* of this rank */
	struct remote to;
	uint64_t done, seen;
	uint64_t value; /* source, or destination */
};

/* ---- set-up ---- */

static int region_open(struct rma *a)
{
	struct link *l = &a->link;
	struct side *s = l->side;
	struct remote *shared =
		(struct remote *)(void *)(s->shared + 2 * LINK_NAME_MAX);
	int r = fi_mr_reg(l->domain, l->target, 4096,
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, s->rank, 0, &a->region,
		NULL);

	if (r)
		return link_fail(l, "fi_mr_reg", r);
	a->word = (_Atomic uint64_t *)(void *)l->target;
	atomic_init(a->word, 0);
	shared[s->rank].key = fi_mr_key(a->region);
	if (l->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		shared[s->rank].address = (uintptr_t)l->target;
	if ((r = group_barrier(s->group, s->rank)))
		return r;
	a->to = shared[!s->rank];
	return 0;
}

static int setup(struct side *s)
{
	struct rma *a = calloc(1, sizeof(*a));

	s->state = a;
	if (!a)
		return -ENOMEM;
	int r = link_open(&a->link, s, FI_TAGGED | FI_RMA | FI_ATOMIC);
	return r ? r : region_open(a);
}

static void teardown(struct side *s)
{
	struct rma *a = s->state;

	if (a && a->region)
		fi_close(&a->region->fid);
	if (a)
		link_close(&a->link);
	free(a);
}

static int progress(struct side *s)
{
	return link_poll(s->state);
}

/* ---- operations ---- */

/* A put whose completion says that it is in the target's memory. */
static ssize_t put(struct rma *a, void *context)
{
	struct iovec from = { &a->value, sizeof(a->value) };
	struct fi_rma_iov to = { a->to.address, sizeof(a->value), a->to.key };
	const struct fi_msg_rma message = { .msg_iov = &from,
		.iov_count = 1,
		.addr = a->link.peer,
		.rma_iov = &to,
		.rma_iov_count = 1,
		.context = context };

	return fi_writemsg(
		a->link.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static ssize_t get(struct rma *a, void *context)
{
	return fi_read(a->link.ep, &a->value, sizeof(a->value), NULL,
		a->link.peer, a->to.address, a->to.key, context);
}

static ssize_t add(struct rma *a, void *context)
{
	static const uint64_t one = 1;

	return fi_fetch_atomic(a->link.ep, &one, 1, NULL, &a->value, NULL,
		a->link.peer, a->to.address, a->to.key, FI_UINT64, FI_SUM,
		context);
}

/* Issues an operation until it is accepted, and waits for its completion. */
static inline int complete(
	struct rma *a, ssize_t (*operation)(struct rma *, void *))
{
	struct link *l = &a->link;
	unsigned slot;
	ssize_t issued = 0;
	int r = link_claim(l, 1, &slot);

	while (!r &&
		(issued = operation(a, &l->sends[slot].context)) == -FI_EAGAIN)
		r = link_poll(l);
	if (r)
		return r;
	return issued ? link_fail(l, "a one-sided operation", (int)issued)
		      : link_drain(l);
}

static int put_flush(struct side *s)
{
	struct rma *a = s->state;

	a->value = ++a->done;
	return complete(a, put);
}

static int get_one(struct side *s)
{
	struct rma *a = s->state;

	a->value = 1;
	int r = complete(a, get);
	return r ? r : a->value ? -EBADMSG : 0;
}

static int fetch_add(struct side *s)
{
	struct rma *a = s->state;
	int r = complete(a, add);

	return r ? r : a->value == a->done++ ? 0 : -EBADMSG;
}

static int seen_send(struct side *s)
{
	struct rma *a = s->state;
	struct link *l = &a->link;
	ssize_t issued;
	int r = 0;

	a->value = ++a->done;
	while ((issued = fi_inject_write(l->ep, &a->value, sizeof(a->value),
			l->peer, a->to.address, a->to.key)) == -FI_EAGAIN &&
		!r)
		r = link_poll(l);
	return r	? r
	       : issued ? link_fail(l, "fi_inject_write", (int)issued)
			: 0;
}

static int seen_await(struct side *s)
{
	struct rma *a = s->state;
	int r = 0;

	a->seen++;
	/* Acquire, as a program that then reads other memory. */
	while (!r &&
		atomic_load_explicit(a->word, memory_order_acquire) != a->seen)
		r = link_poll(&a->link);
	return r;
}

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

static int get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_one);
}

static int add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

static int seen_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, seen_send, seen_await);
}

#define RMA(provider, run)                                           \
	{                                                            \
		provider, setup, teardown, NULL, run, NULL, progress \
	}

const struct workload cay_put_workload = RMA("cay", put_run);
const struct workload cay_seen_workload = RMA("cay", seen_run);
const struct workload cay_get_workload = RMA("cay", get_run);
const struct workload cay_add_workload = RMA("cay", add_run);
const struct workload shm_put_workload = RMA("shm", put_run);
const struct workload shm_seen_workload = RMA("shm", seen_run);
const struct workload shm_get_workload = RMA("shm", get_run);
const struct workload shm_add_workload = RMA("shm", add_run);
