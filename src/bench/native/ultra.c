/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths, one in each direction, and their sketch: a ring of cache lines
 * with one producer.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/harness/payload.h"
#include "bench/native/baseline.h"
#include "bench/native/endpoint.h"

#define HEADER_BYTES 16u /* of a slice */
#define CONNECT_NS   (30 * CLOCK_NS_PER_S)

/* ---- the sketch ---- */

static int line_send(struct side *s)
{
	struct baseline *b = s->state;
	uint64_t position = b->sent++;
	struct baseline_entry *e = baseline_entry(b->out, position);
	uint32_t spins = 0;
	int r;

	payload_stamp(b->private_source, s->bytes, position);
	while (unlikely(position - b->r_seen >= BASELINE_ENTRIES)) {
		b->r_seen =
			atomic_load_explicit(&b->out->r, memory_order_acquire);
		if (position - b->r_seen >= BASELINE_ENTRIES &&
			(r = group_spin(s->group, &spins)))
			return r;
	}
	for (size_t i = 0; i < (s->bytes + 7) / 8; i++)
		memcpy(&e->word[1 + i], b->private_source + 8 * i, 8);
	baseline_publish(e, position, s->bytes);
	return 0;
}

static int line_receive(struct side *s)
{
	struct baseline *b = s->state;
	struct baseline_entry *e;
	uint32_t spins = 0;
	int r;

	while (!(e = baseline_poll(b)))
		if (unlikely(r = group_spin(s->group, &spins)))
			return r;
	r = payload_verify(&e->word[1], baseline_length(e), s->bytes, b->next);
	baseline_release(b);
	return r;
}

static int line_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, line_send, line_receive);
}

static int line_stream_run(struct side *s, uint32_t iterations)
{
	return workload_stream(s, iterations, line_send, line_receive);
}

/* ---- ULTRA ---- */

struct path {
	struct endpoint p; /* first: endpoint_teardown() frees it */
	struct cay_ultra *in, *out;
};

static int ultra_setup(struct side *s)
{
	struct path *u = calloc(1, sizeof(*u));
	struct cay_addr other;
	int r;

	if (!u)
		return -ENOMEM;
	s->state = u;
	if ((r = endpoint_open(s, &u->p)))
		return r;
	other = endpoint_page(s)->addr[!s->rank];
	u->p.source = calloc(1, s->bytes + PAYLOAD_LINE);
	if (!u->p.source)
		return -ENOMEM;
	r = cay_ultra_accept(u->p.port, other, s->bytes + HEADER_BYTES, &u->in);
	if (!r)
		r = cay_ultra_connect(
			u->p.port, other, clock_after_ns(CONNECT_NS), &u->out);
	return r;
}

static void ultra_teardown(struct side *s)
{
	struct path *u = s->state;

	if (!u)
		return;
	cay_ultra_close(u->out);
	cay_ultra_close(u->in);
	endpoint_teardown(s);
}

static int ultra_prepare(struct side *s)
{
	struct path *u = s->state;

	if (s->rewrite && s->bytes > PAYLOAD_SHORT_MAX)
		payload_rewrite(u->p.source, s->bytes, u->p.sent);
	return 0;
}

static int ultra_send(struct side *s)
{
	struct path *u = s->state;
	uint32_t spins = 0;
	int r, stop;

	payload_stamp(u->p.source, s->bytes, u->p.sent);
	while ((r = cay_ultra_send(u->out, u->p.sent, u->p.source, s->bytes,
			0)) == -EAGAIN)
		if ((stop = group_spin(s->group, &spins)))
			return stop;
	u->p.sent++;
	return r;
}

static int ultra_receive(struct side *s)
{
	struct path *u = s->state;
	const void *data;
	uint32_t spins = 0;
	uint64_t tag;
	int length, r;

	while ((length = cay_ultra_peek(u->in, &tag, &data)) == -EAGAIN)
		if (unlikely(r = group_spin(s->group, &spins)))
			return r;
	if (length < 0)
		return length;
	r = payload_verify(data, (size_t)length, s->bytes, u->p.received++);
	cay_ultra_release(u->in);
	return r;
}

static int ultra_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, ultra_send, ultra_receive);
}

static int ultra_stream_run(struct side *s, uint32_t iterations)
{
	return workload_stream(s, iterations, ultra_send, ultra_receive);
}

const struct workload baseline_line_workload = { "baseline", baseline_setup,
	baseline_teardown, NULL, line_run, NULL, NULL };
const struct workload baseline_line_stream_workload = { "baseline",
	baseline_setup, baseline_teardown, NULL, line_stream_run, NULL, NULL };
const struct workload cay_ultra_workload = { "Cay", ultra_setup, ultra_teardown,
	ultra_prepare, ultra_run, NULL, NULL };
const struct workload cay_ultra_stream_workload = { "Cay", ultra_setup,
	ultra_teardown, ultra_prepare, ultra_stream_run, NULL, NULL };
