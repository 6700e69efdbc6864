/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that the sender copies directly into the receiver's buffer: a plain
 * copy into shared memory, and Cay's posted receives. The source is private
 * memory of the sender; the receiver reads the whole message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/harness/payload.h"
#include "bench/native/rma.h"

/* ---- a plain copy ---- */

/* The receive buffer of a rank, and the number of the message in it. */
struct copy_buffer {
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t number;
	_Alignas(4096) unsigned char data[BENCH_BYTES_MAX];
};

struct copy {
	struct copy_buffer *in, *out;
	unsigned char *source;
	uint64_t sent, received;
};

static int copy_setup(struct side *s)
{
	struct copy *c = calloc(1, sizeof(*c));
	struct copy_buffer *buffer = (struct copy_buffer *)(void *)s->shared;

	_Static_assert(
		2 * sizeof(*buffer) <= WORKLOAD_SHARED_BYTES, "two buffers");
	if (!c)
		return -ENOMEM;
	s->state = c;
	c->in = &buffer[s->rank];
	c->out = &buffer[1 - s->rank];
	c->source = malloc(BENCH_BYTES_MAX);
	if (!c->source)
		return -ENOMEM;
	memset(c->source, 1, BENCH_BYTES_MAX);
	memset(c->in->data, 1, BENCH_BYTES_MAX);
	return 0;
}

static void copy_teardown(struct side *s)
{
	struct copy *c = s->state;

	if (c)
		free(c->source);
	free(c);
	s->state = NULL;
}

static int copy_prepare(struct side *s)
{
	struct copy *c = s->state;

	if (s->rewrite)
		payload_rewrite(c->source, s->bytes, c->sent + 1);
	return 0;
}

static int copy_send(struct side *s)
{
	struct copy *c = s->state;

	payload_stamp(c->source, s->bytes, ++c->sent);
	memcpy(c->out->data, c->source, s->bytes);
	atomic_store_explicit(&c->out->number, c->sent, memory_order_release);
	return 0;
}

static int copy_receive(struct side *s)
{
	struct copy *c = s->state;
	uint64_t number = ++c->received;
	int r = group_await(s->group, &c->in->number, number);

	return r ? r : payload_verify(c->in->data, s->bytes, s->bytes, number);
}

static int copy_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, copy_send, copy_receive);
}

/* ---- posted receives ---- */

#define POSTED_TAG 1

static int posted_post(struct side *s)
{
	struct rma *m = s->state;

	return cay_receive_post(m->p.port, m->memory, s->bytes, POSTED_TAG);
}

/* The window's memory is the buffer; the window itself is not used. */
static int posted_setup(struct side *s)
{
	int r = rma_setup_mapped(s);

	if (!r)
		r = posted_post(s);
	return r ? r : group_barrier(s->group, s->rank);
}

static int posted_prepare(struct side *s)
{
	struct rma *m = s->state;

	if (s->rewrite)
		payload_rewrite(m->p.source, s->bytes, m->p.sent);
	return 0;
}

/* The next message; the senders request no completions. */
static int posted_receive(struct side *s)
{
	struct rma *m = s->state;
	struct cay_event e;
	int r = endpoint_next(s, &e);

	if (r)
		return r;
	if (e.kind != CAY_EVENT_POSTED || e.error || e.result != POSTED_TAG)
		r = -EPROTO;
	else
		r = payload_verify(e.data, e.length, s->bytes, m->p.received++);
	if (!r)
		r = posted_post(s);
	cay_release(m->p.port, &e);
	return r;
}

static int posted_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, endpoint_send, posted_receive);
}

const struct workload copy_workload = {
	.name = "copy",
	.setup = copy_setup,
	.prepare = copy_prepare,
	.run = copy_run,
	.teardown = copy_teardown,
};

const struct workload cay_posted_workload = {
	.name = "Cay",
	.setup = posted_setup,
	.prepare = posted_prepare,
	.run = posted_run,
	.teardown = rma_teardown,
};
