/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Death of a peer: a child process sends messages in a loop and is killed. The
 * parent receives all messages that were sent, then a GONE event; a long
 * message that the child had not read completes with an error.
 *
 *	cc death.c -o death $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES   1000 /* before the child is killed */
#define LONG_BYTES (1u << 20)
#define LONG_TAG   1

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

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t deadline(void)
{
	return now_ns() + 10000000000;
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

/* Sends numbered messages until it is killed. */
__attribute__((noreturn)) static void victim(struct cay_addr address)
{
	struct cay_port_options options = { .name = "victim" };
	struct cay_port *port = cay_port_open(&options);
	struct cay_peer *parent;

	if (!port)
		check("cay_port_open", -errno);
	check("cay_peer_resolve", cay_peer_resolve(port, address, &parent));
	for (uint64_t n = 0;; n++)
		check("cay_send_wait",
			cay_send_wait(port, parent, n, NULL, 0, 0, deadline()));
}

int main(void)
{
	struct cay_port_options options = { .name = "victim" };
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *peer;
	uint64_t messages = 0, in_order = 0, killed_ns = 0;
	int gone = 0, completed = 0, last = 1;

	if (!port)
		check("cay_port_open", -errno);
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0)
		victim(cay_port_addr(port));
	check("cay_peer_lookup",
		cay_peer_lookup(port, "victim", deadline(), &peer));

	/* By reference: it is in flight until the child reads it. */
	void *data = cay_alloc(port, LONG_BYTES, 0);
	if (!data)
		check("cay_alloc", -errno);
	check("cay_send", cay_send(port, peer, LONG_TAG, data, LONG_BYTES, 0));

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

	struct cay_port *next = cay_port_open(&options);
	expect(next != NULL, "the name is available again");
	if (next)
		check("cay_port_close", cay_port_close(next));
	waitpid(pid, NULL, 0);
	cay_free(port, data);
	check("cay_port_close", cay_port_close(port));
	return failed;
}
