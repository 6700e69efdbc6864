/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ping-pong and streams over a link. A receive is always posted before the peer
 * sends its message: a completed receive is posted again at once, and stays
 * posted until the next batch.
 */
#include "bench/fabric/workloads.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/fabric/link.h"
#include "bench/harness/payload.h"

enum {
	TAG_DATA = 1,
	TAG_ANSWER = 2, /* of a stream */
	ANSWER_BYTES = 8,
};

static struct link *link_of(struct side *s)
{
	return s->state;
}

/* ---- messages ---- */

/* Messages match receives in order, in whatever order they complete. */
static int post(struct side *s, unsigned slot)
{
	link_of(s)->receives[slot].expected = link_of(s)->posted++;
	return link_receive(link_of(s), slot, s->bytes, TAG_DATA);
}

static int receive(struct side *s)
{
	struct link *l = s->state;
	unsigned slot;
	int r = link_await_receive(l, &slot);

	if (!r)
		r = payload_verify(l->target + link_at(slot), s->bytes,
			s->bytes, l->receives[slot].expected);
	return r ? r : post(s, slot);
}

/* fi_tinject() where the provider has it: the fastest call for its length. */
static int send_windowed(struct side *s, unsigned window)
{
	struct link *l = s->state;
	unsigned slot;

	if (s->bytes <= l->info->tx_attr->inject_size) {
		payload_stamp(l->source, s->bytes, l->sent++);
		return link_inject(l, l->source, s->bytes, TAG_DATA);
	}
	int r = link_claim(l, window, &slot);
	if (r)
		return r;
	payload_stamp(l->source + link_at(slot), s->bytes, l->sent++);
	return link_send(l, slot, s->bytes, TAG_DATA);
}

static int send_one(struct side *s)
{
	return send_windowed(s, 1);
}

/* ---- set-up ---- */

static int setup(struct side *s, unsigned receives)
{
	int r;

	s->state = calloc(1, sizeof(struct link));
	if (!s->state)
		return -ENOMEM;
	if ((r = link_open(s->state, s, FI_TAGGED)))
		return r;
	for (unsigned i = 0; !r && i < receives; i++)
		r = post(s, i);
	return r;
}

static int ping_setup(struct side *s)
{
	return setup(s, 1);
}

static int stream_setup(struct side *s)
{
	if (s->rank != 0)
		return setup(s, LINK_WINDOW);
	int r = setup(s, 0);
	return r ? r : link_receive(link_of(s), 0, ANSWER_BYTES, TAG_ANSWER);
}

static void teardown(struct side *s)
{
	if (s->state)
		link_close(s->state);
	free(s->state);
}

static int prepare(struct side *s)
{
	struct link *l = s->state;

	link_rewind(l);
	if (s->rewrite)
		payload_rewrite(l->source, s->bytes, l->sent);
	return 0;
}

static int progress(struct side *s)
{
	return link_poll(s->state);
}

/* ---- batches ---- */

static int ping_run(struct side *s, uint32_t iterations)
{
	int r = workload_ping_pong(s, iterations, send_one, receive);

	return r ? r : link_drain(s->state);
}

static int stream_run(struct side *s, uint32_t iterations)
{
	struct link *l = s->state;
	unsigned slot;
	int r = 0;

	if (s->rank != 0) {
		while (!r && iterations--)
			r = receive(s);
		return r ? r
			 : link_inject(l, l->target, ANSWER_BYTES, TAG_ANSWER);
	}
	while (!r && iterations--)
		r = send_windowed(s, LINK_WINDOW);
	if (!r)
		r = link_await_receive(l, &slot);
	if (!r)
		r = link_receive(l, 0, ANSWER_BYTES, TAG_ANSWER);
	return r ? r : link_drain(l);
}

#define PING(provider)                                                   \
	{                                                                \
		provider, ping_setup, teardown, prepare, ping_run, NULL, \
			progress                                         \
	}
#define STREAM(provider)                                                     \
	{                                                                    \
		provider, stream_setup, teardown, prepare, stream_run, NULL, \
			progress                                             \
	}

const struct workload cay_ping_workload = PING("cay");
const struct workload cay_stream_workload = STREAM("cay");
const struct workload shm_ping_workload = PING("shm");
const struct workload shm_stream_workload = STREAM("shm");
