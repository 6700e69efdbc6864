/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backpressure, priority and fences. A full queue refuses a message with
 *-EAGAIN; the sender never blocks and no message is lost. Both ports are in one
 * process here, so that the program decides when the target polls.
 *
 *	cc order.c -o order $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LONG_BYTES (1u << 20)

static int failed;

static void check(const char *call, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, cay_strerror(result));
	exit(1);
}

static void expect(int condition, const char *what)
{
	printf("%s: %s\n", condition ? "ok" : "FAILED", what);
	failed |= !condition;
}

static uint64_t deadline(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec + 10) * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct cay_event next_event(struct cay_port *port)
{
	struct cay_event event;
	int n;
	while ((n = cay_poll(port, &event, 1)) == 0)
		check("cay_wait", cay_wait(port, deadline()));
	check("cay_poll", n);
	return event;
}

static void backpressure(
	struct cay_port *origin, struct cay_port *target, struct cay_peer *peer)
{
	uint64_t sent = 0, in_order = 0;
	int r;

	while ((r = cay_send(origin, peer, sent, NULL, 0, 0)) == 0)
		sent++;
	printf("%d messages accepted, then: %s\n", (int)sent, cay_strerror(r));
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
	void *data = cay_alloc(origin, LONG_BYTES, 0);
	if (!data)
		check("cay_alloc", -errno);

	/* In flight until the target has released it. */
	check("cay_send", cay_send(origin, peer, 1, data, LONG_BYTES, 0));
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
	struct cay_port *origin = cay_port_open(NULL);
	struct cay_port *target = cay_port_open(&small);
	struct cay_peer *peer;

	if (!origin || !target)
		check("cay_port_open", -errno);
	check("cay_peer_resolve",
		cay_peer_resolve(origin, cay_port_addr(target), &peer));
	backpressure(origin, target, peer);
	fence(origin, target, peer);
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(origin));
	check("cay_port_close", cay_port_close(target));
	return failed;
}
