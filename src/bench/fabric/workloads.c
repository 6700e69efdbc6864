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

	if (r)
		return r;
	if (!message_is(l->pool->target + message_at(slot, s->bytes),
		    l->receives[slot].expected))
		return -EBADMSG;
	l->receives[slot].received = l->receives[slot].expected;
	return post(s, slot);
}

static int send_inject(struct side *s)
{
	struct link *l = s->state;

	message_stamp(l->pool->source, l->sent++);
	return link_inject(l, l->pool->source, s->bytes, TAG_DATA);
}

static int send_windowed(struct side *s, unsigned window)
{
	struct link *l = s->state;
	unsigned slot;
	int r = link_claim(l, window, &slot);

	if (r)
		return r;
	message_stamp(l->pool->source + message_at(slot, s->bytes), l->sent++);
	return link_send(l, slot, s->bytes, TAG_DATA);
}

static int send_one(struct side *s)
{
	return send_windowed(s, 1);
}

/* ---- set-up and checks ---- */

static int setup(struct side *s, unsigned receives)
{
	int r;

	s->state = calloc(1, sizeof(struct link));
	if (!s->state)
		return -ENOMEM;
	if ((r = link_open(s->state, s)))
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
		return setup(s, message_window(s->bytes));
	int r = setup(s, 0);
	return r ? r : link_receive(link_of(s), 0, ANSWER_BYTES, TAG_ANSWER);
}

static void teardown(struct side *s)
{
	if (s->state)
		link_close(s->state);
	free(s->state);
}

/* Rewrites the sources of the next messages. */
static int prepare(struct side *s, unsigned messages)
{
	struct link *l = s->state;

	link_rewind(l);
	for (unsigned i = 0; s->rewrite && i < messages; i++)
		message_fill(l->pool->source + message_at(i, s->bytes),
			s->bytes, l->sent + i);
	return 0;
}

static int ping_prepare(struct side *s)
{
	return prepare(s, 1);
}

static int stream_prepare(struct side *s)
{
	return prepare(s, s->rank == 0 ? message_window(s->bytes) : 0);
}

/* Compares all words of the last messages. */
static int check(struct side *s, unsigned messages)
{
	struct link *l = s->state;

	for (unsigned i = 0; s->rewrite && i < messages; i++)
		if (!message_whole(l->pool->target + message_at(i, s->bytes),
			    s->bytes, l->receives[i].received))
			return -EBADMSG;
	return 0;
}

static int ping_finish(struct side *s)
{
	return check(s, 1);
}

static int stream_finish(struct side *s)
{
	return check(s, s->rank == 0 ? 0 : message_window(s->bytes));
}

static int progress(struct side *s)
{
	return link_poll(s->state);
}

/* ---- batches ---- */

static int inject_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, send_inject, receive);
}

static int send_run(struct side *s, uint32_t iterations)
{
	int r = workload_ping_pong(s, iterations, send_one, receive);

	return r ? r : link_drain(s->state);
}

static int stream_run(struct side *s, uint32_t iterations)
{
	struct link *l = s->state;
	unsigned window = message_window(s->bytes), slot;
	int r = 0;

	if (s->rank != 0) {
		while (!r && iterations--)
			r = receive(s);
		return r ? r
			 : link_inject(l, l->pool->target, ANSWER_BYTES,
				   TAG_ANSWER);
	}
	while (!r && iterations--)
		r = send_windowed(s, window);
	if (!r)
		r = link_await_receive(l, &slot);
	if (!r)
		r = link_receive(l, 0, ANSWER_BYTES, TAG_ANSWER);
	return r ? r : link_drain(l);
}

struct workload fabric_workload(enum traffic_form form, const char *provider)
{
	if (form == TRAFFIC_STREAM)
		return (struct workload){ provider, stream_setup, teardown,
			stream_prepare, stream_run, stream_finish, progress };
	return (struct workload){ provider, ping_setup, teardown, ping_prepare,
		form == TRAFFIC_INJECT ? inject_run : send_run, ping_finish,
		progress };
}
