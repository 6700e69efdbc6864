/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths: one there and one back between two processes, for messages that
 * fit into a cache line. Shows a ping-pong, an acknowledged message, and the
 * end of a path after the last message.
 *
 *	cc ultra.c -o ultra $(pkg-config --cflags --libs cay) && ./ultra
 */
#include "example.h"

#define ROUNDS 10000

/* Spins, and sleeps if the peer takes longer. Returns the tag, or -EPIPE. */
static int64_t receive(struct cay_port *port, struct cay_ultra *path)
{
	char data[CAY_ULTRA_LINE_MAX];
	uint64_t tag;
	int r;
	for (unsigned polls = 1;
		(r = cay_ultra_recv(path, &tag, data, sizeof(data))) == -EAGAIN;
		polls++)
		if (polls % 4096 == 0)
			check("cay_wait", cay_wait(port, deadline()));
	if (r == -EPIPE)
		return r;
	check("cay_ultra_recv", r);
	return (int64_t)tag;
}

/* Each side accepts a path from the other one, and connects to its path. */
static void paths_open(struct cay_port *port, struct cay_addr peer,
	struct cay_ultra **in, struct cay_ultra **out)
{
	check("cay_ultra_accept", cay_ultra_accept(port, peer, 64, in));
	check("cay_ultra_connect",
		cay_ultra_connect(port, peer, deadline(), out));
}

static int echo(struct cay_addr address)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *peer;
	struct cay_ultra *in, *out;
	int64_t tag;

	/* A message tells the parent the address of this port. */
	check("cay_peer_resolve", cay_peer_resolve(port, address, &peer));
	check("cay_send", cay_send(port, peer, 0, NULL, 0, 0));
	paths_open(port, address, &in, &out);
	while ((tag = receive(port, in)) != -EPIPE)
		check("cay_ultra_send",
			cay_ultra_send(out, (uint64_t)tag, NULL, 0, 0));
	cay_peer_release(peer);
	/* This closes the paths, too. */
	check("cay_port_close", cay_port_close(port));
	return 0;
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	struct cay_ultra *in, *out;
	int right = 1;

	if (child_start() == 0)
		_exit(echo(cay_port_addr(port)));
	struct cay_event event = next_event(port);
	paths_open(port, event.peer, &in, &out);
	cay_release(port, &event);

	for (uint64_t i = 0; i < ROUNDS; i++) {
		check("cay_ultra_send",
			cay_ultra_send(out, i, &i, sizeof(i), 0));
		right &= receive(port, in) == (int64_t)i;
	}
	expect(right, "10000 messages there and back, in order");

	check("cay_ultra_send", cay_ultra_send(out, ROUNDS, NULL, 0, CAY_ACK));
	event = next_event(port);
	expect(event.kind == CAY_EVENT_ULTRA && event.tag == ROUNDS &&
			!event.error,
		"an event says that the peer has received a message");
	cay_release(port, &event);

	check("cay_ultra_close", cay_ultra_close(out));
	expect(receive(port, in) == ROUNDS && receive(port, in) == -EPIPE,
		"a path ends after its last message");
	check("cay_ultra_close", cay_ultra_close(in));
	check("cay_port_close", cay_port_close(port));
	return children_wait();
}
