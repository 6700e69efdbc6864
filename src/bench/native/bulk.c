/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of many bytes, each with its flush, and memcpy() between private and
 * shared memory. Before each batch, outside the measured time, each side uses
 * its memory: the destination is read completely, the source is written
 * completely. A batch is one access unless it is very short, so that every line
 * moves between the cores, as with an application that works on the data.
 *
 * Put: rank 0 writes from its local memory to rank 1's. Get: the reverse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/harness/payload.h"
#include "bench/native/rma.h"

/* ---- both sides of a batch ---- */

static int use_source(struct side *s, unsigned char *memory, uint64_t number)
{
	if (s->rewrite)
		payload_rewrite(memory, s->bytes, number);
	else
		payload_stamp(memory, s->bytes, number);
	return 0;
}

/* The previous batch has written every line. */
static int use_target(
	struct side *s, const unsigned char *memory, uint64_t number)
{
	return number ? payload_verify(memory, s->bytes, s->bytes, number) : 0;
}

static int use_put(struct side *s, unsigned char *local, unsigned char *remote,
	uint64_t done)
{
	return s->rank == 0 ? use_source(s, local, done + 1)
			    : use_target(s, remote, done);
}

static int use_get(struct side *s, unsigned char *local, unsigned char *remote,
	uint64_t done)
{
	return s->rank == 0 ? use_target(s, local, done)
			    : use_source(s, remote, done + 1);
}

/* ---- memcpy ---- */

#define BULK_AT 4096 /* rank 1's memory in the shared memory */

struct copy {
	unsigned char *local;
	uint64_t done; /* batches */
};

static int copy_setup(struct side *s)
{
	struct copy *c = calloc(1, sizeof(*c));
	size_t bytes = bits_round_up(s->bytes + 1, 4096);

	_Static_assert(
		BULK_AT + BENCH_BYTES_MAX < WORKLOAD_SHARED_BYTES, "fits");
	_Static_assert(sizeof(struct endpoint_page) <= BULK_AT, "fits");
	if (!c)
		return -ENOMEM;
	s->state = c;
	c->local = malloc(bytes);
	if (!c->local)
		return -ENOMEM;
	memset(c->local, 0, bytes);
	memset(s->shared + BULK_AT, 0, bytes);
	return 0;
}

static void copy_teardown(struct side *s)
{
	struct copy *c = s->state;

	if (c)
		free(c->local);
	free(c);
	s->state = NULL;
}

static int copy_prepare_put(struct side *s)
{
	struct copy *c = s->state;

	return use_put(s, c->local, s->shared + BULK_AT, c->done);
}

static int copy_prepare_get(struct side *s)
{
	struct copy *c = s->state;

	return use_get(s, c->local, s->shared + BULK_AT, c->done);
}

static int copy_put(struct side *s)
{
	struct copy *c = s->state;

	memcpy(s->shared + BULK_AT, c->local, s->bytes);
	/* Keeps the compiler from copying once for all iterations. */
	atomic_signal_fence(memory_order_seq_cst);
	return 0;
}

static int copy_get(struct side *s)
{
	struct copy *c = s->state;

	memcpy(c->local, s->shared + BULK_AT, s->bytes);
	atomic_signal_fence(memory_order_seq_cst);
	return 0;
}

static int copy_put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, copy_put);
}

static int copy_get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, copy_get);
}

static int copy_finish(struct side *s)
{
	_Atomic uint64_t *done = &endpoint_page(s)->done;
	struct copy *c = s->state;

	c->done++;
	if (s->rank != 0)
		return group_await(s->group, done, c->done);
	atomic_store_explicit(done, c->done, memory_order_release);
	return 0;
}

/* ---- Cay ---- */

static int bulk_prepare_put(struct side *s)
{
	struct rma *m = s->state;

	return use_put(s, m->p.source, m->memory, m->done);
}

static int bulk_prepare_get(struct side *s)
{
	struct rma *m = s->state;

	return use_get(s, m->p.source, m->memory, m->done);
}

/*
 * Completes an access, or spins once: an emulated access can find the queue
 * full.
 */
static int bulk_complete(struct side *s, int issued, uint32_t *spins)
{
	struct rma *m = s->state;

	if (issued == -EAGAIN) {
		int r = group_spin(s->group, spins);
		return r ? r : -EAGAIN;
	}
	return issued ? issued
		      : cay_flush(m->p.port, m->p.next, s->group->deadline);
}

static int bulk_put(struct side *s)
{
	struct rma *m = s->state;
	uint32_t spins = 0;
	int r;

	do
		r = bulk_complete(s,
			cay_put(m->p.port, m->p.next, m->key, 0, m->p.source,
				s->bytes, 0, 0),
			&spins);
	while (r == -EAGAIN);
	return r;
}

static int bulk_get(struct side *s)
{
	struct rma *m = s->state;
	uint32_t spins = 0;
	int r;

	do
		r = bulk_complete(s,
			cay_get(m->p.port, m->p.next, m->key, 0, m->p.source,
				s->bytes, 0, 0),
			&spins);
	while (r == -EAGAIN);
	return r;
}

static int bulk_put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, bulk_put);
}

static int bulk_get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, bulk_get);
}

/* Rank 1 polls, because the access may have to be emulated. */
static int bulk_finish(struct side *s)
{
	struct rma *m = s->state;

	m->done++;
	if (s->rank != 0)
		return rma_await_done(s);
	rma_publish_done(s);
	return 0;
}

#define COPY_WORKLOAD(prepare_, run_)                                        \
	{                                                                    \
		.name = "memcpy", .setup = copy_setup,                       \
		.teardown = copy_teardown, .prepare = prepare_, .run = run_, \
		.finish = copy_finish                                        \
	}
#define BULK_WORKLOAD(setup_, prepare_, run_)                             \
	{                                                                 \
		.name = "Cay", .setup = setup_, .teardown = rma_teardown, \
		.prepare = prepare_, .run = run_, .finish = bulk_finish   \
	}

const struct workload memcpy_put_workload =
	COPY_WORKLOAD(copy_prepare_put, copy_put_run);
const struct workload memcpy_get_workload =
	COPY_WORKLOAD(copy_prepare_get, copy_get_run);
const struct workload cay_put_alloc_workload =
	BULK_WORKLOAD(rma_setup_mapped, bulk_prepare_put, bulk_put_run);
const struct workload cay_put_malloc_workload =
	BULK_WORKLOAD(rma_setup_private, bulk_prepare_put, bulk_put_run);
const struct workload cay_get_alloc_workload =
	BULK_WORKLOAD(rma_setup_mapped, bulk_prepare_get, bulk_get_run);
const struct workload cay_get_malloc_workload =
	BULK_WORKLOAD(rma_setup_private, bulk_prepare_get, bulk_get_run);
