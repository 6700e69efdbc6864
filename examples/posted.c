/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: the sender copies a message of more than 40 bytes directly
 * into a buffer that the receiver has posted, whatever its length.
 *
 *	cc posted.c -o posted $(pkg-config --cflags --libs cay) && ./posted
 */
#include "example.h"

#include <string.h>

#define BYTES 65536

static int sender(struct cay_addr address)
{
	static char data[2 * BYTES];
	struct cay_port *port = port_open(NULL);
	struct cay_peer *receiver;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &receiver));
	memset(data, 'p', sizeof(data));
	/* The second message is longer than the second buffer. */
	check("cay_send", cay_send(port, receiver, 1, data, BYTES, CAY_BORROW));
	check("cay_send",
		cay_send(port, receiver, 2, data, 2 * BYTES, CAY_BORROW));
	for (int i = 0; i < 2; i++) {
		struct cay_event event = next_event(port);
		cay_release(port, &event);
	}
	cay_peer_release(receiver);
	check("cay_port_close", cay_port_close(port));
	return 0;
}

int main(void)
{
	static const int errors[2] = { CAY_ERROR_NONE,
		CAY_ERROR_POSTED_TRUNCATED };
	struct cay_port *port = port_open(NULL);
	int failed = 0;

	/* Posted buffers are memory of cay_alloc(). */
	char *buffer = memory_alloc(port, 2 * BYTES);
	/* Buffers are filled in the order in which they were posted. */
	for (uint64_t cookie = 0; cookie < 2; cookie++)
		check("cay_receive_post",
			cay_receive_post(
				port, buffer + cookie * BYTES, BYTES, cookie));
	if (child_start() == 0)
		_exit(sender(cay_port_addr(port)));
	for (int i = 0; i < 2; i++) {
		struct cay_event event = next_event(port);
		int valid = event.kind == CAY_EVENT_POSTED &&
			    event.result == (uint64_t)i &&
			    event.error == errors[i] &&
			    event.data == buffer + i * BYTES &&
			    event.length == BYTES && buffer[i * BYTES] == 'p';
		printf("message of %d bytes in buffer %d: %s\n",
			(int)event.previous, (int)event.result,
			event.error ? cay_error_name((unsigned)event.error)
				    : "complete");
		failed |= !valid;
		/* The buffer is the receiver's again and may be reposted. */
		cay_release(port, &event);
	}
	failed |= children_wait();
	cay_free(port, buffer);
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
