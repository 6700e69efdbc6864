/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eager messages between two processes: inline payloads, payloads in the
 * receive data region, tags, and completions.
 *
 *	cc message.c -o message $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELLO	"hello from the sender"
#define BLOCK	1000
#define LAST	4 /* tag of the last message */
#define API_TAG 77
#define FILLER	'x'

/* Exits with a message if a call has failed. */
static void check(const char *call, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, cay_strerror(result));
	exit(1);
}

/* Deadlines are absolute times of CLOCK_MONOTONIC in nanoseconds. */
static uint64_t deadline(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec + 10) * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits for the next event of the port. */
static struct cay_event next_event(struct cay_port *port)
{
	struct cay_event event;
	int n;
	while ((n = cay_poll(port, &event, 1)) == 0)
		check("cay_wait", cay_wait(port, deadline()));
	check("cay_poll", n);
	return event;
}

static int sender(void)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *receiver;
	char block[BLOCK];

	if (!port)
		check("cay_port_open", -errno);
	/* The receiver may open its port later: the lookup waits for it. */
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
	struct cay_port_options options = { .name = "receiver" };
	int status = 0, failed = 0, last = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0)
		exit(sender());

	struct cay_port *port = cay_port_open(&options);
	if (!port)
		check("cay_port_open", -errno);
	while (!last) {
		struct cay_event event = next_event(port);
		if (event.kind == CAY_EVENT_MESSAGE) {
			failed |= !message_check(&event);
			last = event.tag == LAST;
		}
		/* Returns the queue entry and the payload to senders. */
		cay_release(port, &event);
	}
	check("cay_port_close", cay_port_close(port));
	if (waitpid(pid, &status, 0) != pid || status)
		failed = 1;
	return failed;
}
