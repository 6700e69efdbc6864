/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eager messages between two processes: inline payloads, payloads in the
 * receive data region, tags, and completions.
 *
 *	cc message.c -o message $(pkg-config --cflags --libs cay) && ./message
 */
#include "example.h"

#include <string.h>

#define HELLO	"hello from the sender"
#define BLOCK	1000
#define LAST	4 /* tag of the last message */
#define API_TAG 77
#define FILLER	'x'

static int sender(void)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *receiver;
	char block[BLOCK];

	/* If no port has this name yet, the lookup waits for one. */
	check("cay_peer_lookup",
		cay_peer_lookup(port, "receiver", deadline(), &receiver));

	/* Up to 40 bytes travel inline in the receiver's notification. */
	check("cay_send", cay_send_wait(port, receiver, 1, HELLO, strlen(HELLO),
				  0, deadline()));

	/*
	 * Up to 8 KiB are copied into the receive data region of the target:
	 * the buffer is reusable when the call returns. A second tag of 32 bits
	 * is available for a library on top of Cay.
	 */
	memset(block, FILLER, sizeof(block));
	check("cay_send_tagged", cay_send_tagged(port, receiver, 2, API_TAG,
					 block, sizeof(block), 0));
	memset(block, 0, sizeof(block));

	/*
	 * By default an eager message has no completion. CAY_NOTIFY requests
	 * one when the source is reusable, CAY_ACK one when the message is
	 * stored at the target.
	 */
	check("cay_send", cay_send(port, receiver, 3, "notify", 6, CAY_NOTIFY));
	check("cay_send", cay_send(port, receiver, LAST, "ack", 3, CAY_ACK));
	for (int i = 0; i < 2; i++) {
		struct cay_event event = next_event(port);
		int valid = event.kind == CAY_EVENT_COMPLETE && !event.error;
		printf("sender:   completion of tag %d: %s\n", (int)event.tag,
			valid ? cay_command_name(event.command) : "error");
		cay_release(port, &event);
		if (!valid)
			return 1;
	}
	cay_peer_release(receiver);
	check("cay_port_close", cay_port_close(port));
	return 0;
}

/* Prints a message. Returns 1 if it is the one that was sent. */
static int message_check(const struct cay_event *event)
{
	const char *data = event->data;
	printf("receiver: tag %d, API tag %d, %zu bytes from port %d\n",
		(int)event->tag, (int)event->api_tag, event->length,
		event->peer.vpid);
	if (event->tag == 1)
		return event->length == strlen(HELLO) &&
		       memcmp(data, HELLO, event->length) == 0;
	if (event->tag == 2)
		return event->api_tag == API_TAG && event->length == BLOCK &&
		       data[0] == FILLER && data[BLOCK - 1] == FILLER;
	return event->length > 0;
}

int main(void)
{
	struct cay_port *port = port_open("receiver");
	int failed = 0, last = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (child_start() == 0)
		exit(sender());
	while (!last) {
		struct cay_event event = next_event(port);
		if (event.kind == CAY_EVENT_MESSAGE) {
			failed |= !message_check(&event);
			last = event.tag == LAST;
		}
		/* Returns the queue entry and the payload to senders. */
		cay_release(port, &event);
	}
	failed |= children_wait();
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
