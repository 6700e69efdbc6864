/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages: a message of more than 8 KiB is sent by reference. The
 * receiver reads memory of cay_alloc() in place; ordinary memory it copies out
 * of the sender's process if the kernel permits.
 *
 *	cc bulk.c -o bulk $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES	 (1u << 20)
#define MESSAGES 3

static void check(const char *call, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, cay_strerror(result));
	exit(1);
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

/* The source must not change until the completion. */
static void send_and_complete(struct cay_port *port, struct cay_peer *receiver,
	const void *data, uint64_t tag)
{
	check("cay_send",
		cay_send_wait(port, receiver, tag, data, BYTES, 0, deadline()));
	struct cay_event event = next_event(port);
	if (event.kind != CAY_EVENT_COMPLETE || event.tag != tag) {
		fprintf(stderr, "unexpected event\n");
		exit(1);
	}
	if (event.error) {
		fprintf(stderr, "message %d: %s\n", (int)tag,
			cay_error_text((unsigned)event.error));
		exit(1);
	}
	cay_release(port, &event);
}

static int sender(void)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *receiver;
	struct cay_stats stats;

	if (!port)
		check("cay_port_open", -errno);
	check("cay_peer_lookup",
		cay_peer_lookup(port, "receiver", deadline(), &receiver));

	/* All processes of a realm map this memory. */
	void *mapped = cay_alloc(port, BYTES, 0);
	if (!mapped)
		check("cay_alloc", -errno);
	memset(mapped, 1, BYTES);
	send_and_complete(port, receiver, mapped, 1);
	cay_free(port, mapped);

	/*
	 * The first message from ordinary memory is staged in the arena, and
	 * the receiver tests whether it may read this process.
	 */
	void *ordinary = malloc(BYTES);
	if (!ordinary)
		check("malloc", -ENOMEM);
	memset(ordinary, 2, BYTES);
	send_and_complete(port, receiver, ordinary, 2);
	printf("sender:   from ordinary memory, the receiver uses: %s\n",
		cay_peer_bulk(receiver));
	memset(ordinary, 3, BYTES);
	send_and_complete(port, receiver, ordinary, MESSAGES);
	free(ordinary);

	check("cay_port_stats", cay_port_stats(port, &stats));
	printf("sender:   %d in place, %d from process memory, %d staged\n",
		(int)stats.sent_mapped, (int)stats.sent_process,
		(int)stats.sent_staged);
	cay_peer_release(receiver);
	check("cay_port_close", cay_port_close(port));
	return stats.sent_mapped == 1 &&
			       stats.sent_process + stats.sent_staged == 2
		       ? 0
		       : 1;
}

int main(void)
{
	struct cay_port_options options = { .name = "receiver" };
	int status = 0, failed = 0;

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
	for (int n = 1; n <= MESSAGES;) {
		struct cay_event event = next_event(port);
		if (event.kind == CAY_EVENT_MESSAGE) {
			const unsigned char *data = event.data;
			int valid = !event.error && event.length == BYTES &&
				    data[0] == n && data[BYTES - 1] == n;
			printf("receiver: tag %d, %zu bytes: %s\n",
				(int)event.tag, event.length,
				valid ? "received" : "damaged");
			failed |= !valid;
			n++;
		}
		/* The release completes the message at the sender. */
		cay_release(port, &event);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		failed = 1;
	check("cay_port_close", cay_port_close(port));
	return failed;
}
