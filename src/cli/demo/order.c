/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenes: what may pass whom, and who is woken. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/demo/demo.h"

/* ---- priority ---- */

#define PRIORITY_TAG 0x600

static int queue_fill(struct demo *d, uint32_t *sent)
{
	int r = 0;
	for (*sent = 0; *sent <= TARGET_ENTRIES; ++*sent) {
		r = cay_send(d->port, d->peer, PRIORITY_TAG + *sent, sent,
			sizeof(*sent), 0);
		if (r)
			break;
	}
	return r;
}

static int queue_drain(struct demo *d, uint32_t count)
{
	struct seen seen;
	int r = target_order(d, ORDER_DRAIN, count);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r)
		return show_failed(d, "the target", r);
	show_right(d, "< %u messages, tags 0x%x to 0x%" PRIx64, count,
		PRIORITY_TAG, seen.event.tag);
	show_rows(d, "origin", "target, which takes nothing for now");
	show_check(d, seen.counted_up == count,
		"all arrived, in the order in which they were sent");
	return 0;
}

int demo_priority(struct demo *d)
{
	uint32_t sent;

	show_scene(d, "Priority",
		"    A full queue refuses, it never blocks and never loses. An "
		"urgent message\n"
		"    finds room that is kept for it.\n");
	int r = queue_fill(d, &sent);
	show_left(d, "> %u x FAST_SEND: accepted", sent);
	show_left(d, "> FAST_SEND: %s", r == -EAGAIN ? "-EAGAIN" : "accepted");
	int urgent = cay_send(
		d->port, d->peer, PRIORITY_TAG + sent, "!", 1, CAY_PRIORITY);
	show_left(d, "> FAST_SEND, PRIORITY: %s",
		urgent == 0 ? "accepted" : "refused");
	int drained = queue_drain(d, sent + (urgent == 0));
	if (drained)
		return drained;
	show_check(d, sent > 0 && r == -EAGAIN && urgent == 0,
		"refused without it, accepted with it");
	return 0;
}

/* ---- fence ---- */

static int fence_send(struct demo *d, const struct demo_message *m)
{
	return cay_send(d->port, d->peer, m->tag, m->data, m->length, m->flags);
}

static int fence_take(struct demo *d, const struct demo_message *m)
{
	struct seen seen;
	int r = target_order(d, ORDER_TAKE, 1);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r == 0 && seen.event.tag != m->tag)
		r = -EBADMSG;
	if (r)
		return show_failed(d, "the target", r);
	demo_show_seen(d, &seen);
	return 0;
}

/* While the long message is under way. */
static int fence_waits(struct demo *d, const struct demo_message *first,
	const struct demo_message *fenced)
{
	int r = fence_send(d, first);
	if (r)
		return show_failed(d, "cay_send", r);
	r = fence_send(d, fenced);
	demo_show_request(d, first);
	show_left(d, "> FAST_SEND, FENCE: %s",
		r == -EAGAIN ? "-EAGAIN" : "accepted");
	show_rows(d, "origin", "target, which takes nothing for now");
	show_check(d, r == -EAGAIN, "the fenced one has to wait");
	return 0;
}

/* And once the target has taken it. */
static int fence_passes(struct demo *d, const struct demo_message *first,
	const struct demo_message *fenced)
{
	int r = fence_take(d, first);
	if (r)
		return r;
	show_rows(d, NULL, NULL);
	if ((r = demo_completion(d, first->tag, CAY_ERROR_NONE)))
		return r;
	r = fence_send(d, fenced);
	if (r)
		return show_failed(d, "cay_send", r);
	demo_show_request(d, fenced);
	if ((r = fence_take(d, fenced)))
		return r;
	show_rows(d, NULL, NULL);
	show_check(d, true, "accepted after it");
	return 0;
}

static int fence_run(struct demo *d, void *data)
{
	struct demo_message first = {
		.data = data, .length = DEMO_LONG, .tag = 0x71
	};
	struct demo_message fenced = { .data = "after all before me",
		.length = 19,
		.tag = 0x72,
		.flags = CAY_FENCE };
	int r = fence_waits(d, &first, &fenced);
	return r ? r : fence_passes(d, &first, &fenced);
}

int demo_fence(struct demo *d)
{
	void *data = cay_alloc(d->port, DEMO_LONG, 0);

	show_scene(d, "Fence",
		"    A fenced request waits until all before it are complete, "
		"here a long\n"
		"    message that the target has not taken yet.\n");
	if (!data)
		return show_failed(d, "cay_alloc", -errno);
	int r = fence_run(d, data);
	cay_free(d->port, data);
	return r;
}

/* ---- interrupt ---- */

/* The target is awake and looks at its descriptor for a moment. */
static int bell_ring(
	struct demo *d, uint64_t tag, unsigned flags, bool expected)
{
	struct seen seen;
	int r = cay_send(d->port, d->peer, tag, "ring", 4, flags);
	if (r == 0)
		r = target_order(d, ORDER_LISTEN, 1);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r)
		return show_failed(d, "the target", r);
	show_left(d, "> FAST_SEND%s", flags ? ", INTERRUPT" : "");
	show_right(d, "< awake: descriptor %s",
		seen.readable ? "readable" : "silent");
	show_rows(d, flags ? NULL : "origin", "target");
	show_check(d, seen.readable == expected, "%s",
		flags ? "INTERRUPT rings it in any case"
		      : "an awake target costs its sender no system call");
	return 0;
}

static int sleeper_wake(struct demo *d)
{
	struct seen seen;
	int r = target_order(d, ORDER_SLEEP, 1);
	if (r == 0)
		r = target_seen(d, &seen); /* it is armed */
	uint64_t begun = clock_now_ns();
	if (r == 0)
		r = cay_send(d->port, d->peer, 0x83, "wake up", 7, 0);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r)
		return show_failed(d, "the target", r);
	uint64_t us = (clock_now_ns() - begun) / CLOCK_NS_PER_US;
	show_left(d, "> FAST_SEND");
	show_right(d, "< asleep in epoll_wait(): woken");
	show_rows(d, NULL, NULL);
	show_check(d, seen.readable && seen.event.tag == 0x83,
		"woken, taken and reported back within %" PRIu64 " us", us);
	return 0;
}

int demo_interrupt(struct demo *d)
{
	show_scene(d, "Interrupt and epoll",
		"    Every port has a descriptor. It rings when the port was "
		"armed, or when a\n"
		"    message says INTERRUPT.\n");
	int r = bell_ring(d, 0x81, 0, false);
	if (r == 0)
		r = bell_ring(d, 0x82, CAY_INTERRUPT, true);
	return r ? r : sleeper_wake(d);
}
