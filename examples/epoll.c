/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping in epoll: each port has a descriptor, the doorbell. It becomes
 * readable when a message arrives at a port that was armed, or when a message
 * has CAY_INTERRUPT. Messages to a port that is awake cost no system call.
 *
 *	cc epoll.c -o epoll $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES   3
#define TIMEOUT_MS 10000

static void check(const char *call, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, cay_strerror(result));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sends messages that contain their time, at intervals. */
static int sender(struct cay_addr address)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *receiver;

	if (!port)
		check("cay_port_open", -errno);
	check("cay_peer_resolve", cay_peer_resolve(port, address, &receiver));
	for (uint64_t tag = 0; tag < MESSAGES; tag++) {
		nanosleep(&pause, NULL);
		uint64_t now = now_ns();
		check("cay_send",
			cay_send(port, receiver, tag, &now, sizeof(now), 0));
	}
	cay_peer_release(receiver);
	check("cay_port_close", cay_port_close(port));
	return 0;
}

/* Consumes all events. Returns the number of messages. */
static int drain(struct cay_port *port)
{
	struct cay_event event;
	int n, messages = 0;
	while ((n = cay_poll(port, &event, 1)) > 0) {
		uint64_t sent;
		if (event.kind == CAY_EVENT_MESSAGE &&
			event.length == sizeof(sent)) {
			memcpy(&sent, event.data, sizeof(sent));
			printf("message %d, %d us after it was sent\n",
				(int)event.tag, (int)(now_ns() - sent) / 1000);
			messages++;
		}
		cay_release(port, &event);
	}
	check("cay_poll", n);
	return messages;
}

static void receive(struct cay_port *port, int epoll)
{
	struct epoll_event ready;
	int sleeps = 0;
	for (int received = 0; received < MESSAGES;) {
		received += drain(port);
		/* Arming fails if an event has arrived in the meantime. */
		int r = cay_port_arm(port);
		if (r == -EAGAIN)
			continue;
		check("cay_port_arm", r);
		if (received == MESSAGES)
			break;
		int n = epoll_wait(epoll, &ready, 1, TIMEOUT_MS);
		if (n == 0) {
			fprintf(stderr, "no message arrived\n");
			exit(1);
		}
		if (n < 0 && errno != EINTR)
			check("epoll_wait", -errno);
		sleeps++;
	}
	printf("%d messages, %d sleeps in epoll_wait()\n", MESSAGES, sleeps);
}

/* Sends to a port that is not armed. Returns 1 if its doorbell rings. */
static int doorbell_rings(struct cay_port *port, int epoll, unsigned flags)
{
	struct epoll_event ready;
	struct cay_port *origin = cay_port_open(NULL);
	struct cay_peer *peer;

	if (!origin)
		check("cay_port_open", -errno);
	check("cay_peer_resolve",
		cay_peer_resolve(origin, cay_port_addr(port), &peer));
	check("cay_send", cay_send(origin, peer, 0, NULL, 0, flags));
	int n = epoll_wait(epoll, &ready, 1, flags ? TIMEOUT_MS : 20);
	drain(port);
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(origin));
	return n > 0;
}

int main(void)
{
	struct epoll_event interest = { .events = EPOLLIN };
	struct cay_port *port = cay_port_open(NULL);
	int status = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!port)
		check("cay_port_open", -errno);
	int fd = cay_port_fd(port);
	check("cay_port_fd", fd);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest) != 0)
		check("epoll", -errno);

	int plain = doorbell_rings(port, epoll, 0);
	printf("not armed: descriptor is %s\n", plain ? "readable" : "silent");
	int interrupt = doorbell_rings(port, epoll, CAY_INTERRUPT);
	printf("not armed, CAY_INTERRUPT: descriptor is %s\n",
		interrupt ? "readable" : "silent");

	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0)
		_exit(sender(cay_port_addr(port)));
	receive(port, epoll);
	check("cay_port_close", cay_port_close(port));
	close(epoll);
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	return plain || !interrupt;
}
