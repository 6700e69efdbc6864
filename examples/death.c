/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Death of a peer: a child process sends messages in a loop and is killed. The
 * parent receives all messages that were sent, then a GONE event; a long
 * message that the child had not read completes with an error.
 *
 *	cc death.c -o death $(pkg-config --cflags --libs cay) && ./death
 */
#include "example.h"

#define MESSAGES   1000 /* before the child is killed */
#define LONG_BYTES (1u << 20)
#define LONG_TAG   1

/* Sends numbered messages until it is killed. */
__attribute__((noreturn)) static void victim(struct cay_addr address)
{
	struct cay_port *port = port_open("victim");
	struct cay_peer *parent;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &parent));
	for (uint64_t n = 0;; n++)
		check("cay_send_wait",
			cay_send_wait(port, parent, n, NULL, 0, 0, deadline()));
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *peer;
	uint64_t messages = 0, in_order = 0, killed_ns = 0;
	int gone = 0, completed = 0, last = 1;

	pid_t pid = child_start();
	if (pid == 0)
		victim(cay_port_addr(port));
	check("cay_peer_lookup",
		cay_peer_lookup(port, "victim", deadline(), &peer));

	/* In flight until the child, which never polls, releases it. */
	void *data = memory_alloc(port, LONG_BYTES);
	check("cay_send",
		cay_send(port, peer, LONG_TAG, data, LONG_BYTES, CAY_BORROW));

	while (!gone || !completed) {
		struct cay_event event = next_event(port);
		switch (event.kind) {
		case CAY_EVENT_MESSAGE:
			in_order += event.tag == messages++;
			last &= !gone;
			if (messages == MESSAGES) {
				killed_ns = now_ns();
				kill(pid, SIGKILL);
			}
			break;
		case CAY_EVENT_COMPLETE:
			completed = event.tag == LONG_TAG &&
				    event.error == CAY_ERROR_GONE;
			break;
		case CAY_EVENT_GONE:
			gone = 1;
			break;
		default:
			break;
		}
		cay_release(port, &event);
	}
	printf("process %d was killed while it sent; GONE arrived after %.1f "
	       "ms\n",
		(int)pid, (double)(now_ns() - killed_ns) / 1e6);
	printf("%d messages received, %d of them in order\n", (int)messages,
		(int)in_order);
	expect(in_order == messages && messages >= MESSAGES,
		"no message is missing");
	expect(last, "the GONE event is the last one of the peer");
	expect(completed, "the long message completed with an error");
	expect(cay_send(port, peer, 0, NULL, 0, 0) == -EPIPE,
		"sending to the peer returns -EPIPE");
	cay_peer_release(peer);

	struct cay_port *next = port_open("victim");
	printf("ok: the name is available again\n");
	check("cay_port_close", cay_port_close(next));
	waitpid(pid, NULL, 0);
	cay_free(port, data);
	check("cay_port_close", cay_port_close(port));
	return 0;
}
