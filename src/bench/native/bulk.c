/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of many bytes, each with its flush, beside memcpy() between memory
 * of one's own and memory that both have mapped. Before each batch, outside the
 * measured time, each side has used its memory: who is written to has read it
 * all, who is read from has written it all. A batch is one access unless they
 * are very short, so every byte changes cores, as with an application that does
 * something with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/native/payload.h"
#include "bench/native/rma.h"

/* ---- both sides of a batch ---- */

/* What was written last is there, in every line. */
static int written(struct side *s, const unsigned char *memory, uint64_t done)
{
	return done ? payload_verify(memory, s->bytes, s->bytes, done) : 0;
}

static void renew(struct side *s, unsigned char *memory, uint64_t number)
{
	if (s->fresh)
		payload_refresh(memory, s->bytes, number);
	else
		payload_stamp(memory, s->bytes, number);
}

/* Put: rank 0 has something to write, rank 1 has read what came before. */
static int prepare_put(struct side *s, unsigned char *source,
	const unsigned char *memory, uint64_t done)
{
	if (s->rank != 0)
		return written(s, memory, done);
	renew(s, source, done + 1);
	return 0;
}

/* Get: the other way round. */
static int prepare_get(struct side *s, const unsigned char *copy,
	unsigned char *memory, uint64_t done)
{
	if (s->rank == 0)
		return written(s, copy, done);
	renew(s, memory, done + 1);
	return 0;
}

/* Rank 0 has made its accesses: rank 1 may use its memory again. */
static void say_done(struct side *s, uint64_t done)
{
	atomic_store_explicit(
		&remote_page(s)->done, done, memory_order_release);
}

static bool is_done(struct side *s, uint64_t done)
{
	return atomic_load_explicit(
		       &remote_page(s)->done, memory_order_acquire) >= done;
}

/* ---- memcpy ---- */

#define BULK_AT 4096 /* of rank 1's memory, in the workload's shared part */

struct copier {
	unsigned char *local;
	uint64_t done;
};

static int copier_setup(struct side *s)
{
	struct copier *k = calloc(1, sizeof(*k));
	size_t bytes = bits_round_up(s->bytes + 1, 4096);

	_Static_assert(
		BULK_AT + BENCH_BYTES_MAX < WORKLOAD_SHARED_BYTES, "fits");
	_Static_assert(sizeof(struct remote_page) <= BULK_AT, "fits");
	if (!k)
		return -ENOMEM;
	s->state = k;
	k->local = malloc(bytes);
	if (!k->local)
		return -ENOMEM;
	memset(k->local, 0, bytes);
	memset(s->shared + BULK_AT, 0, bytes);
	return 0;
}

static void copier_teardown(struct side *s)
{
	struct copier *k = s->state;

	if (k)
		free(k->local);
	free(k);
	s->state = NULL;
}

static int copier_prepare_put(struct side *s)
{
	struct copier *k = s->state;

	return prepare_put(s, k->local, s->shared + BULK_AT, k->done);
}

static int copier_prepare_get(struct side *s)
{
	struct copier *k = s->state;

	return prepare_get(s, k->local, s->shared + BULK_AT, k->done);
}

static int copier_put(struct side *s)
{
	struct copier *k = s->state;

	memcpy(s->shared + BULK_AT, k->local, s->bytes);
	/* Or a short copy is made once for all trips. */
	atomic_signal_fence(memory_order_seq_cst);
	return 0;
}

static int copier_get(struct side *s)
{
	struct copier *k = s->state;

	memcpy(k->local, s->shared + BULK_AT, s->bytes);
	atomic_signal_fence(memory_order_seq_cst);
	return 0;
}

static int copier_put_ping(struct side *s, uint32_t trips)
{
	struct copier *k = s->state;
	int r = workload_repeat(s, trips, copier_put);

	say_done(s, ++k->done);
	return r;
}

static int copier_get_ping(struct side *s, uint32_t trips)
{
	struct copier *k = s->state;
	int r = workload_repeat(s, trips, copier_get);

	say_done(s, ++k->done);
	return r;
}

static int copier_pong(struct side *s, uint32_t trips)
{
	struct copier *k = s->state;
	uint32_t looks = 0;
	int spent;

	(void)trips;
	k->done++;
	while (!is_done(s, k->done))
		if ((spent = group_spin(s->group, &looks)))
			return spent;
	return 0;
}

/* ---- Cay ---- */

static int bulk_prepare_put(struct side *s)
{
	struct remote *r = s->state;

	return prepare_put(s, r->c.source, r->memory, r->done);
}

static int bulk_prepare_get(struct side *s)
{
	struct remote *r = s->state;

	return prepare_get(s, r->c.source, r->memory, r->done);
}

/* -EAGAIN only where the target itself must make the access. */
static int bulk_end(struct side *s, int issued, uint32_t *looks)
{
	struct remote *r = s->state;

	if (issued == -EAGAIN) {
		int spent = group_spin(s->group, looks);
		return spent ? spent : -EAGAIN;
	}
	if (!issued)
		issued = cay_flush(r->c.port, r->c.next, s->group->deadline);
	return issued;
}

static int bulk_put(struct side *s)
{
	struct remote *r = s->state;
	uint32_t looks = 0;
	int failure;

	do
		failure = bulk_end(s,
			cay_put(r->c.port, r->c.next, r->key, 0, r->c.source,
				s->bytes, 0, 0),
			&looks);
	while (failure == -EAGAIN);
	return failure;
}

static int bulk_get(struct side *s)
{
	struct remote *r = s->state;
	uint32_t looks = 0;
	int failure;

	do
		failure = bulk_end(s,
			cay_get(r->c.port, r->c.next, r->key, 0, r->c.source,
				s->bytes, 0, 0),
			&looks);
	while (failure == -EAGAIN);
	return failure;
}

static int bulk_put_ping(struct side *s, uint32_t trips)
{
	struct remote *r = s->state;
	int failure = workload_repeat(s, trips, bulk_put);

	say_done(s, ++r->done);
	return failure;
}

static int bulk_get_ping(struct side *s, uint32_t trips)
{
	struct remote *r = s->state;
	int failure = workload_repeat(s, trips, bulk_get);

	say_done(s, ++r->done);
	return failure;
}

/* Polls, because where the kernel forbids the access only the target can. */
static int bulk_pong(struct side *s, uint32_t trips)
{
	struct remote *r = s->state;
	uint32_t looks = 0;
	struct cay_event e;
	int spent;

	(void)trips;
	r->done++;
	while (!is_done(s, r->done)) {
		if (cay_poll(r->c.port, &e, 1))
			return -EPROTO; /* nobody sends anything */
		if ((spent = group_spin(s->group, &looks)))
			return spent;
	}
	return 0;
}

const struct workload bulk_memcpy_put_workload = {
	.name = "memcpy",
	.setup = copier_setup,
	.prepare = copier_prepare_put,
	.ping = copier_put_ping,
	.pong = copier_pong,
	.teardown = copier_teardown,
};

const struct workload bulk_memcpy_get_workload = {
	.name = "memcpy",
	.setup = copier_setup,
	.prepare = copier_prepare_get,
	.ping = copier_get_ping,
	.pong = copier_pong,
	.teardown = copier_teardown,
};

const struct workload bulk_put_alloc_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = bulk_prepare_put,
	.ping = bulk_put_ping,
	.pong = bulk_pong,
	.teardown = remote_teardown,
};

const struct workload bulk_put_malloc_workload = {
	.name = "Cay",
	.setup = remote_setup_private,
	.prepare = bulk_prepare_put,
	.ping = bulk_put_ping,
	.pong = bulk_pong,
	.teardown = remote_teardown,
};

const struct workload bulk_get_alloc_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = bulk_prepare_get,
	.ping = bulk_get_ping,
	.pong = bulk_pong,
	.teardown = remote_teardown,
};

const struct workload bulk_get_malloc_workload = {
	.name = "Cay",
	.setup = remote_setup_private,
	.prepare = bulk_prepare_get,
	.ping = bulk_get_ping,
	.pong = bulk_pong,
	.teardown = remote_teardown,
};
