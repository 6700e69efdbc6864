/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream of 1 MiB messages without a copy: the sender borrows memory of
 * cay_alloc() to the receiver, which reads it in place. The completion of a
 * message, an event with its tag, gives its buffer back. Without CAY_BORROW the
 * buffer would be the sender's again when cay_send() returns, after one copy.
 *
 *	cc stream.c -o stream $(pkg-config --cflags --libs cay) && ./stream
 */
#include "example.h"

#include <string.h>

#define BYTES	 ((size_t)1 << 20)
#define BUFFERS	 4
#define MESSAGES 64

/* Waits until a message is complete. Returns its buffer. */
static uint64_t buffer_wait(struct cay_port *port)
{
	struct cay_event event = next_event(port);
	if (event.kind == CAY_EVENT_GONE)
		errx(1, "the receiver is gone");
	if (event.kind != CAY_EVENT_COMPLETE || event.error)
		errx(1, "message %d: %s", (int)event.tag,
			cay_error_text((unsigned)event.error));
	uint64_t buffer = event.tag % BUFFERS;
	cay_release(port, &event);
	return buffer;
}

static void sender(struct cay_addr address)
{
	struct cay_port *port = port_open(NULL);
	char *memory = memory_alloc(port, BUFFERS * BYTES);
	struct cay_peer *receiver;
	struct cay_stats stats;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &receiver));
	for (uint64_t tag = 0; tag < MESSAGES; tag++) {
		/* Messages complete in order, as the receiver releases them. */
		uint64_t buffer = tag < BUFFERS ? tag : buffer_wait(port);
		char *data = memory + buffer * BYTES;
		memset(data, (int)tag, BYTES);
		check("cay_send_wait", cay_send_wait(port, receiver, tag, data,
					       BYTES, CAY_BORROW, deadline()));
	}
	for (int i = 0; i < BUFFERS; i++)
		buffer_wait(port);
	check("cay_port_stats", cay_port_stats(port, &stats));
	printf("sender: %d messages from %d buffers, %d read in place\n",
		MESSAGES, BUFFERS, (int)stats.sent_mapped);
	cay_free(port, memory);
	cay_peer_release(receiver);
	check("cay_port_close", cay_port_close(port));
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	uint64_t bytes = 0;

	if (child_start() == 0) {
		sender(cay_port_addr(port));
		_exit(0);
	}
	for (uint64_t tag = 0; tag < MESSAGES; tag++) {
		struct cay_event event = next_event(port);
		const char *data = event.data;
		if (event.kind != CAY_EVENT_MESSAGE || event.tag != tag)
			errx(1, "message %d is missing", (int)tag);
		if (event.error || event.length != BYTES ||
			data[0] != (char)tag || data[BYTES - 1] != (char)tag)
			errx(1, "message %d is damaged", (int)tag);
		bytes += event.length;
		/* Completes the message: the sender reuses its buffer. */
		cay_release(port, &event);
	}
	int failed = children_wait();
	printf("receiver: %d MiB in order\n", (int)(bytes >> 20));
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
