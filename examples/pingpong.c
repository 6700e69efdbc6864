/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency: two processes send a message of 8 bytes back and forth and
 * busy-poll. Prints half of the median round-trip time. `cay bench latency`
 * measures the same with pinned processes and rejects disturbed measurements.
 *
 *	cc pingpong.c -o pingpong $(pkg-config --cflags --libs cay) &&
 *./pingpong
 */
#include "example.h"

#include <sched.h>

#define ROUNDS_MAX  100000
#define DURATION_NS 500000000
#define STOP	    1 /* tag of the last message */

/* Polls without sleeping. Returns the tag of the next message. */
static uint64_t receive(struct cay_port *port)
{
	struct cay_event event;
	int n;
	for (unsigned polls = 1; (n = cay_poll(port, &event, 1)) == 0; polls++)
		if (polls % 4096 == 0)
			sched_yield(); /* the peer may need this core */
	check("cay_poll", n);
	if (event.kind != CAY_EVENT_MESSAGE)
		errx(1, "the peer is gone");
	uint64_t tag = event.tag;
	cay_release(port, &event);
	return tag;
}

static int echo(struct cay_addr address)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *peer;
	uint64_t data = 0;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &peer));
	check("cay_send", cay_send(port, peer, 0, &data, sizeof(data), 0));
	while (receive(port) != STOP)
		check("cay_send",
			cay_send(port, peer, 0, &data, sizeof(data), 0));
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(port));
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

int main(void)
{
	static uint64_t rtt_ns[ROUNDS_MAX];
	struct cay_port *port = port_open(NULL);
	struct cay_peer *peer;
	uint64_t data = 0, end_ns;
	size_t rounds = 0;

	if (child_start() == 0)
		_exit(echo(cay_port_addr(port)));

	/* The first message has the address of the peer. */
	struct cay_event event = next_event(port);
	check("cay_peer_resolve", cay_peer_resolve(port, event.peer, &peer));
	cay_release(port, &event);

	for (end_ns = now_ns() + DURATION_NS;
		rounds < ROUNDS_MAX && now_ns() < end_ns; rounds++) {
		uint64_t start = now_ns();
		check("cay_send",
			cay_send(port, peer, 0, &data, sizeof(data), 0));
		receive(port);
		rtt_ns[rounds] = now_ns() - start;
	}
	check("cay_send", cay_send(port, peer, STOP, &data, sizeof(data), 0));
	if (children_wait() || rounds == 0)
		return 1;
	qsort(rtt_ns, rounds, sizeof(rtt_ns[0]), compare);
	printf("%d round trips of 8 bytes: one way p50 %d ns, p99 %d ns\n",
		(int)rounds, (int)rtt_ns[rounds / 2] / 2,
		(int)rtt_ns[rounds * 99 / 100] / 2);
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(port));
	return 0;
}
