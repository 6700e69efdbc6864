/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: the sender copies a message of more than 40 bytes directly
 * into a buffer that the receiver has posted, whatever its length.
 *
 *	cc posted.c -o posted $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 65536

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

static int sender(struct cay_addr address)
{
	static char data[2 * BYTES];
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *receiver;

	if (!port)
		check("cay_port_open", -errno);
	check("cay_peer_resolve", cay_peer_resolve(port, address, &receiver));
	memset(data, 'p', sizeof(data));
	/* The second message is longer than the second buffer. */
	check("cay_send", cay_send(port, receiver, 1, data, BYTES, 0));
	check("cay_send", cay_send(port, receiver, 2, data, 2 * BYTES, 0));
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
	struct cay_port *port = cay_port_open(NULL);
	int status = 0, failed = 0;

	if (!port)
		check("cay_port_open", -errno);
	/* Posted buffers are memory of cay_alloc(). */
	char *buffer = cay_alloc(port, 2 * BYTES, 0);
	if (!buffer)
		check("cay_alloc", -errno);
	/* Buffers are filled in the order in which they were posted. */
	for (uint64_t cookie = 0; cookie < 2; cookie++)
		check("cay_receive_post",
			cay_receive_post(
				port, buffer + cookie * BYTES, BYTES, cookie));
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0)
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
	if (waitpid(pid, &status, 0) != pid || status)
		failed = 1;
	cay_free(port, buffer);
	check("cay_port_close", cay_port_close(port));
	return failed;
}
