/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order: backpressure, priority and fences. If a queue is full, cay_send()
 * returns -EAGAIN; it never blocks, and no message is lost. Both ports are in
 * one process here, so that the program decides when the target polls.
 *
 *	cc order.c -o order $(pkg-config --cflags --libs cay) && ./order
 */
#include "example.h"

#define LONG_BYTES (1u << 20)

static void backpressure(
	struct cay_port *origin, struct cay_port *target, struct cay_peer *peer)
{
	uint64_t sent = 0, in_order = 0;
	int r;

	while ((r = cay_send(origin, peer, sent, NULL, 0, 0)) == 0)
		sent++;
	printf("%d messages accepted, then: %s\n", (int)sent,
		cay_call_strerror("cay_send", r));
	expect(r == -EAGAIN, "a full queue refuses the next message");

	/* A part of the queue is reserved for messages with priority. */
	r = cay_send(origin, peer, sent, NULL, 0, CAY_PRIORITY);
	expect(r == 0, "a message with CAY_PRIORITY is accepted");

	for (uint64_t tag = 0; tag <= sent; tag++) {
		struct cay_event event = next_event(target);
		in_order += event.tag == tag;
		cay_release(target, &event);
	}
	expect(in_order == sent + 1, "all messages arrived in order");
	r = cay_send(origin, peer, 0, NULL, 0, 0);
	expect(r == 0, "the queue accepts messages again");
	struct cay_event event = next_event(target);
	cay_release(target, &event);
}

static void fence(
	struct cay_port *origin, struct cay_port *target, struct cay_peer *peer)
{
	struct cay_event event;
	void *data = memory_alloc(origin, LONG_BYTES);

	/* In flight until the target has released it. */
	check("cay_send",
		cay_send(origin, peer, 1, data, LONG_BYTES, CAY_BORROW));
	int r = cay_send(origin, peer, 2, "after", 5, CAY_FENCE);
	expect(r == -EAGAIN,
		"a fenced message waits for the long one in flight");
	event = next_event(target);
	cay_release(target, &event);
	event = next_event(origin);
	expect(event.kind == CAY_EVENT_COMPLETE && event.tag == 1,
		"the long message is complete");
	cay_release(origin, &event);
	r = cay_send(origin, peer, 2, "after", 5, CAY_FENCE);
	expect(r == 0, "then the fenced message is accepted");
	event = next_event(target);
	cay_release(target, &event);
	cay_free(origin, data);
}

int main(void)
{
	struct cay_port_options small = { .nq_entries = 64 };
	struct cay_port *origin = port_open(NULL);
	struct cay_port *target = cay_port_open(&small);
	if (!target)
		errx(1, "cay_port_open: %s",
			cay_call_strerror("cay_port_open", errno));
	struct cay_peer *peer;

	check("cay_peer_resolve",
		cay_peer_resolve(origin, cay_port_addr(target), &peer));
	backpressure(origin, target, peer);
	fence(origin, target, peer);
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(origin));
	check("cay_port_close", cay_port_close(target));
	return 0;
}
