/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ping-pong and streams over a link. A receive is always posted before the
 * other side sends what it is for.
 */
#include "bench/fabric/traffic.h"

#include <errno.h>

#include "bench/harness/tick.h"

enum tag {
	TAG_DATA = 1,
	TAG_ANSWER = 2, /* to a stream: 8 bytes */
	ANSWER_BYTES = 8,
};

static int traffic_wrong(const struct link *l)
{
	return link_complain(l, "a message that was not due came", -EBADMSG);
}

/* Sends the data of one slot, numbered. */
static int traffic_send(
	struct link *l, const struct kind *kind, uint64_t number)
{
	unsigned slot;
	int r = link_claim(l, kind->window, &slot);

	if (r)
		return r;
	unsigned char *at = l->pool->source + message_at(slot, kind->bytes);
	message_number(at, number);
	if (!kind->inject)
		return link_send(l, slot, kind->bytes, TAG_DATA);
	l->free[l->free_count++] = slot;
	return link_inject(l, at, kind->bytes, TAG_DATA);
}

/* Messages match receives in order, in whatever order they complete. */
static int traffic_post(struct link *l, const struct kind *kind, unsigned slot)
{
	l->receives[slot].due = l->due++;
	return link_receive(l, slot, kind->bytes, TAG_DATA);
}

/* Takes a message that has come, and posts its receive again. */
static int traffic_take(struct link *l, const struct kind *kind, bool again)
{
	unsigned slot;
	int r = link_take(l, &slot);

	if (r)
		return r;
	if (!message_is(l->pool->target + message_at(slot, kind->bytes),
		    l->receives[slot].due))
		return traffic_wrong(l);
	return again ? traffic_post(l, kind, slot) : 0;
}

static int ping_lead(struct link *l, const struct kind *kind, uint64_t number,
	uint64_t *stamps)
{
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++) {
		bool again = i + 1 < kind->count;
		r = traffic_send(l, kind, number + i);
		if (!r)
			r = traffic_take(l, kind, again);
		if (stamps)
			stamps[i] = tick_now();
	}
	return r;
}

static int ping_follow(struct link *l, const struct kind *kind, uint64_t number)
{
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++) {
		bool again = i + 1 < kind->count;
		r = traffic_take(l, kind, again);
		if (!r)
			r = traffic_send(l, kind, number + i);
	}
	return r;
}

static int stream_lead(struct link *l, const struct kind *kind, uint64_t number)
{
	unsigned slot;
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++)
		r = traffic_send(l, kind, number + i);
	return r ? r : link_take(l, &slot);
}

static int stream_follow(struct link *l, const struct kind *kind)
{
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++)
		r = traffic_take(l, kind, i + kind->window < kind->count);
	return r ? r
		 : link_inject(l, l->pool->target, ANSWER_BYTES, TAG_ANSWER);
}

static int traffic_run(
	void *state, const struct kind *kind, uint64_t number, uint64_t *stamps)
{
	struct link *l = state;
	bool lead = l->seat->rank == 0;
	int r;

	if (kind->form == FORM_PING)
		r = lead ? ping_lead(l, kind, number, stamps)
			 : ping_follow(l, kind, number);
	else
		r = lead ? stream_lead(l, kind, number)
			 : stream_follow(l, kind);
	return r ? r : link_drain(l);
}

/* The sources that this side sends from. */
static void traffic_fill(
	struct link *l, const struct kind *kind, uint64_t number)
{
	if (kind->form == FORM_STREAM && l->seat->rank != 0)
		return;
	for (unsigned i = 0; i < kind->window; i++)
		message_fill(l->pool->source + message_at(i, kind->bytes),
			kind->bytes, number + i);
}

static int traffic_prepare(
	void *state, const struct kind *kind, uint64_t number)
{
	struct link *l = state;
	int r = 0;

	link_rewind(l);
	l->due = number;
	if (kind->fresh)
		traffic_fill(l, kind, number);
	if (kind->form == FORM_STREAM && l->seat->rank == 0)
		return link_receive(l, 0, ANSWER_BYTES, TAG_ANSWER);
	for (unsigned i = 0; !r && i < kind->window; i++)
		r = traffic_post(l, kind, i);
	return r;
}

static int traffic_check(void *state, const struct kind *kind, uint64_t number)
{
	struct link *l = state;

	if (!kind->fresh || (kind->form == FORM_STREAM && l->seat->rank == 0))
		return 0;
	for (unsigned i = 0; i < kind->window; i++)
		if (!message_whole(l->pool->target + message_at(i, kind->bytes),
			    kind->bytes, number + i))
			return traffic_wrong(l);
	return 0;
}

static int traffic_progress(void *state)
{
	return link_poll(state);
}

struct carrier traffic_carrier(struct link *l)
{
	return (struct carrier){ .name = l->provider,
		.state = l,
		.prepare = traffic_prepare,
		.run = traffic_run,
		.progress = traffic_progress,
		.check = traffic_check };
}
