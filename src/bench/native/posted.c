/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that their sender copies straight into the receiver's buffer: a
 * plain copy into memory that both have mapped, and Cay's posted receives. The
 * source is the sender's own memory; who gets a message reads all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/native/payload.h"
#include "bench/native/rma.h"

/* ---- a plain copy ---- */

/* A buffer and a word that says whose turn it is, for each rank. */
struct copy_box {
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t number;
	_Alignas(4096) unsigned char data[BENCH_BYTES_MAX];
};

struct copy {
	struct copy_box *in, *out;
	unsigned char *source;
	uint64_t sent, received;
};

static int copy_setup(struct side *s)
{
	struct copy *k = calloc(1, sizeof(*k));
	struct copy_box *box = (struct copy_box *)(void *)s->shared;

	_Static_assert(2 * sizeof(*box) <= WORKLOAD_SHARED_BYTES, "two boxes");
	if (!k)
		return -ENOMEM;
	s->state = k;
	k->in = &box[s->rank];
	k->out = &box[1 - s->rank];
	k->source = malloc(BENCH_BYTES_MAX);
	if (!k->source)
		return -ENOMEM;
	memset(k->source, 1, BENCH_BYTES_MAX);
	memset(k->in->data, 1, BENCH_BYTES_MAX);
	return 0;
}

static void copy_teardown(struct side *s)
{
	struct copy *k = s->state;

	if (k)
		free(k->source);
	free(k);
	s->state = NULL;
}

static int copy_prepare(struct side *s)
{
	struct copy *k = s->state;

	if (s->fresh)
		payload_refresh(k->source, s->bytes, k->sent + 1);
	return 0;
}

static int copy_send(struct side *s)
{
	struct copy *k = s->state;

	payload_stamp(k->source, s->bytes, ++k->sent);
	memcpy(k->out->data, k->source, s->bytes);
	atomic_store_explicit(&k->out->number, k->sent, memory_order_release);
	return 0;
}

static int copy_receive(struct side *s)
{
	struct copy *k = s->state;
	uint64_t due = ++k->received;
	uint32_t looks = 0;
	int spent;

	while (atomic_load_explicit(&k->in->number, memory_order_acquire) !=
		due)
		if (unlikely(spent = group_spin(s->group, &looks)))
			return spent;
	return payload_verify(k->in->data, s->bytes, s->bytes, due);
}

static int copy_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, copy_send, copy_receive);
}

static int copy_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, copy_receive, copy_send);
}

/* ---- posted receives ---- */

#define POSTED_COOKIE 1

static int posted_post(struct side *s)
{
	struct remote *r = s->state;

	return cay_receive_post(r->c.port, r->memory, s->bytes, POSTED_COOKIE);
}

/* The window's memory is the buffer; the window itself is not used. */
static int posted_setup(struct side *s)
{
	int failure = remote_setup_mapped(s);

	if (!failure)
		failure = posted_post(s);
	return failure ? failure : group_barrier(s->group, s->rank);
}

static int posted_prepare(struct side *s)
{
	struct remote *r = s->state;

	if (s->fresh)
		payload_refresh(r->c.source, s->bytes, r->c.sent);
	return 0;
}

/* It is stored when the call returns; that it may be reused is an event. */
static int posted_send(struct side *s)
{
	struct remote *r = s->state;

	r->c.pending++;
	return endpoint_send(s);
}

static int posted_take(struct side *s, const struct cay_event *e)
{
	struct remote *r = s->state;

	if (e->kind != CAY_EVENT_POSTED || e->error ||
		e->result != POSTED_COOKIE)
		return -EPROTO;
	int failure =
		payload_verify(e->data, e->length, s->bytes, r->c.received++);
	return failure ? failure : posted_post(s);
}

/* The next message; completions of our own come first, or in between. */
static int posted_receive(struct side *s)
{
	struct remote *r = s->state;
	struct cay_event e = { 0 };
	int failure = 0;

	while (!failure && e.kind != CAY_EVENT_POSTED) {
		if ((failure = endpoint_next(s, &e)))
			break;
		if (e.kind != CAY_EVENT_COMPLETE)
			failure = posted_take(s, &e);
		else if (e.error || r->c.pending-- == 0)
			failure = -EPROTO;
		cay_release(r->c.port, &e);
	}
	return failure;
}

static int posted_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, posted_send, posted_receive);
}

static int posted_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, posted_receive, posted_send);
}

const struct workload posted_copy_workload = {
	.name = "copy",
	.setup = copy_setup,
	.prepare = copy_prepare,
	.ping = copy_ping,
	.pong = copy_pong,
	.teardown = copy_teardown,
};

const struct workload posted_cay_workload = {
	.name = "Cay",
	.setup = posted_setup,
	.prepare = posted_prepare,
	.ping = posted_ping,
	.pong = posted_pong,
	.teardown = remote_teardown,
};
