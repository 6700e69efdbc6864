/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenes: messages of every size, and how their origin is told. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/demo/demo.h"

/* ---- one message ---- */

static const char *flags_text(unsigned flags, char *text, size_t room)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = { { CAY_NOTIFY, "NOTIFY" }, { CAY_ACK, "ACK" },
		{ CAY_FENCE, "FENCE" }, { CAY_PRIORITY, "PRIORITY" },
		{ CAY_INTERRUPT, "INTERRUPT" } };
	size_t used = 0;

	text[0] = 0;
	for (unsigned i = 0; i < ARRAY_COUNT(names); i++)
		if (flags & names[i].flag)
			used += (size_t)snprintf(text + used, room - used,
				", %s", names[i].name);
	return text;
}

static const char *data_text(
	const void *data, size_t length, uint64_t sum, char *text, size_t room)
{
	if (length <= CAY_FAST_SEND_BYTES)
		snprintf(text, room, "\"%.*s\"", (int)length,
			(const char *)data);
	else
		snprintf(text, room, "payload sum %016" PRIx64, sum);
	return text;
}

void demo_show_request(struct demo *d, const struct demo_message *m)
{
	bool fast = m->length <= CAY_FAST_SEND_BYTES;
	char text[DEMO_CELL_MAX];

	show_left(d, "> %s, %zu B%s", fast ? "FAST_SEND" : "SEND", m->length,
		flags_text(m->flags, text, sizeof(text)));
	show_left(d, "  tag 0x%" PRIx64 ", API tag 0x%x", m->tag, m->api_tag);
	show_left(d, "  %s",
		data_text(m->data, m->length, demo_sum(m->data, m->length),
			text, sizeof(text)));
}

void demo_show_seen(struct demo *d, const struct seen *s)
{
	const struct cay_event *e = &s->event;
	bool fast = e->length <= CAY_FAST_SEND_BYTES;
	char text[DEMO_CELL_MAX];

	show_right(d, "< %s, %zu B, port %u",
		fast ? "NOTIFY_FAST_RECV" : "NOTIFY_RECV", e->length,
		e->peer.vpid);
	show_right(d, "  tag 0x%" PRIx64 ", API tag 0x%x", e->tag, e->api_tag);
	show_right(d, "  %s",
		data_text(s->data, e->length, s->sum, text, sizeof(text)));
}

static bool message_same(const struct demo *d, const struct demo_message *m,
	const struct seen *s)
{
	const struct cay_event *e = &s->event;
	struct cay_addr from = cay_port_addr(d->port);

	return e->kind == CAY_EVENT_MESSAGE && e->error == 0 &&
	       e->tag == m->tag && e->api_tag == m->api_tag &&
	       e->length == m->length && e->peer.vpid == from.vpid &&
	       e->peer.node == from.node &&
	       s->sum == demo_sum(m->data, m->length);
}

int demo_exchange(struct demo *d, const struct demo_message *m)
{
	struct seen seen;
	int r = cay_send_tagged(d->port, d->peer, m->tag, m->api_tag, m->data,
		m->length, m->flags);
	if (r)
		return show_failed(d, "cay_send", r);
	r = target_order(d, ORDER_TAKE, 1);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r)
		return show_failed(d, "the target", r);
	demo_show_request(d, m);
	demo_show_seen(d, &seen);
	show_rows(d, "origin", "target");
	show_check(d, message_same(d, m, &seen),
		"the same bytes, tags and length, from the right port");
	return 0;
}

int demo_completion(struct demo *d, uint64_t tag, int error)
{
	struct cay_event e;
	int r = demo_await(d->port, &e);
	if (r)
		return show_failed(d, "no completion", r);
	show_check(d,
		e.kind == CAY_EVENT_COMPLETE && e.tag == tag &&
			e.error == error,
		"< NOTIFY_CC at the origin: %s%s, tag 0x%" PRIx64 ", %s",
		cay_command_name(e.command),
		e.command & CAY_COMMAND_ACK ? " with ACK" : "", e.tag,
		e.error ? cay_error_name((unsigned)e.error) : "no error");
	cay_release(d->port, &e);
	return 0;
}

/* ---- scenes ---- */

int demo_fast_send(struct demo *d)
{
	static const char text[] = "hello from the origin";
	struct demo_message m = { .data = text,
		.length = sizeof(text) - 1,
		.tag = 0x11,
		.api_tag = 0x7 };

	show_scene(d, "Fast Send",
		"    Up to 40 bytes travel inside the notification: one line "
		"from core to core.\n"
		"    Two tags come along: 64 bits for the user, 32 for an API "
		"above.\n");
	return demo_exchange(d, &m);
}

void pattern_fill(unsigned char *data, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (unsigned char)(seed >> 24);
	}
}

int demo_send(struct demo *d)
{
	unsigned char data[1000];
	struct demo_message m = { .data = data,
		.length = sizeof(data),
		.tag = 0x22,
		.api_tag = 0x8 };

	show_scene(d, "Send",
		"    Up to 8 KiB go through the target's receive data region "
		"(RDR); the\n"
		"    notification says where. Our buffer is free when the call "
		"returns.\n");
	pattern_fill(data, sizeof(data), 22);
	return demo_exchange(d, &m);
}

static int long_exchange(struct demo *d, const void *data, uint64_t tag)
{
	struct demo_message m = {
		.data = data, .length = DEMO_LONG, .tag = tag, .api_tag = 0x9
	};
	int r = demo_exchange(d, &m);
	return r ? r : demo_completion(d, tag, CAY_ERROR_NONE);
}

/* How many long messages went each way. */
struct ways {
	uint64_t mapped, process, staged;
};

static struct ways ways_now(struct demo *d)
{
	struct cay_stats s;
	if (cay_port_stats(d->port, &s) != 0)
		return (struct ways){ 0 };
	return (struct ways){ s.sent_mapped, s.sent_process, s.sent_staged };
}

int demo_long_alloc(struct demo *d)
{
	struct ways before = ways_now(d);
	unsigned char *data = cay_alloc(d->port, DEMO_LONG, 0);

	show_scene(d, "Long message by reference, from cay_alloc() memory",
		"    The notification names the source; the target reads it "
		"where it lies.\n"
		"    When it is done, the completion gives the memory back to "
		"us.\n");
	if (!data)
		return show_failed(d, "cay_alloc", -errno);
	pattern_fill(data, DEMO_LONG, 33);
	int r = long_exchange(d, data, 0x33);
	if (r == 0)
		show_check(d, ways_now(d).mapped == before.mapped + 1,
			"not copied on the way: read in place");
	cay_free(d->port, data);
	return r;
}

/* The first one asks the target to try; the second goes by what it found. */
static int malloc_twice(struct demo *d, const void *data)
{
	struct ways before = ways_now(d);
	int r = long_exchange(d, data, 0x44);
	if (r)
		return r;
	const char *bulk = cay_peer_bulk(d->peer);
	show_check(d, ways_now(d).staged == before.staged + 1,
		"copied through the arena, and the target tried: \"%s\"", bulk);
	bool process = strcmp(bulk, "process") == 0;
	before = ways_now(d);
	r = long_exchange(d, data, 0x45);
	if (r)
		return r;
	struct ways now = ways_now(d);
	show_check(d,
		process ? now.process == before.process + 1
			: now.staged == before.staged + 1,
		"%s",
		process ? "the target read it out of our process"
			: "copied again: the kernel forbids reading our "
			  "process");
	return 0;
}

int demo_long_malloc(struct demo *d)
{
	unsigned char *data = malloc(DEMO_LONG);

	show_scene(d, "Long message by reference, from ordinary memory",
		"    Where the kernel lets it, the target copies straight out "
		"of our process.\n"
		"    The first message finds out whether it may.\n");
	if (!data)
		return show_failed(d, "malloc", -ENOMEM);
	pattern_fill(data, DEMO_LONG, 44);
	int r = malloc_twice(d, data);
	free(data);
	return r;
}

int demo_told(struct demo *d)
{
	struct demo_message notify = {
		.data = "tell me", .length = 7, .tag = 0x51, .flags = CAY_NOTIFY
	};
	struct demo_message ack = { .data = "acknowledge",
		.length = 11,
		.tag = 0x52,
		.flags = CAY_ACK };

	show_scene(d, "NOTIFY and ACK",
		"    A short message completes in silence unless its origin "
		"asks: NOTIFY when\n"
		"    the source may be reused, ACK when it is stored at the "
		"target.\n");
	int r = demo_exchange(d, &notify);
	if (r == 0)
		r = demo_completion(d, notify.tag, CAY_ERROR_NONE);
	if (r == 0)
		r = demo_exchange(d, &ack);
	return r ? r : demo_completion(d, ack.tag, CAY_ERROR_NONE);
}
