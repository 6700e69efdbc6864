/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Request and reply: a server sleeps in epoll and answers three clients. The
 * descriptor of a port becomes readable when a message arrives at a port that
 * is armed; messages to a port that is awake cost no system call.
 *
 *	cc request.c -o request $(pkg-config --cflags --libs cay) && ./request
 */
#include "example.h"

#include <string.h>
#include <sys/epoll.h>

#define CLIENTS	 3
#define REQUESTS 100

/* Asks for the squares of some numbers. */
static void client(int number)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *server;
	uint64_t square;

	check("cay_peer_lookup",
		cay_peer_lookup(port, "server", deadline(), &server));
	for (uint64_t i = 0; i < REQUESTS; i++) {
		check("cay_send", cay_send(port, server, i, &i, sizeof(i), 0));
		struct cay_event event = next_event(port);
		if (event.kind != CAY_EVENT_MESSAGE || event.tag != i ||
			event.length != sizeof(square))
			errx(1, "client %d: no reply", number);
		memcpy(&square, event.data, sizeof(square));
		if (square != i * i)
			errx(1, "client %d: a wrong reply", number);
		cay_release(port, &event);
	}
	printf("client %d: %d replies\n", number, REQUESTS);
	cay_peer_release(server);
	check("cay_port_close", cay_port_close(port));
}

/* Answers one request. Returns 1 if the event is one. */
static int serve(struct cay_port *port, const struct cay_event *event)
{
	uint64_t number;
	if (event->kind != CAY_EVENT_MESSAGE || event->length != sizeof(number))
		return 0;
	memcpy(&number, event->data, sizeof(number));
	number *= number;
	/* The tag tells the client which request this answers. */
	int r = cay_reply(port, event, event->tag, &number, sizeof(number), 0);
	if (r != -EPIPE) /* a client that is gone needs no reply */
		check("cay_reply", r);
	return 1;
}

/* Serves until the port has no event and is armed. Returns the requests. */
static int drain(struct cay_port *port)
{
	struct cay_event event;
	int requests = 0, r;
	do {
		while (check("cay_poll", cay_poll(port, &event, 1)) == 1) {
			requests += serve(port, &event);
			cay_release(port, &event);
		}
		/* -EAGAIN: an event has arrived since the last poll. */
		r = cay_port_arm(port);
	} while (r == -EAGAIN);
	check("cay_port_arm", r);
	return requests;
}

int main(void)
{
	struct cay_port *port = port_open("server");
	struct epoll_event interest = { .events = EPOLLIN };
	int fd = check("cay_port_fd", cay_port_fd(port));
	int set = epoll_create1(EPOLL_CLOEXEC);
	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &interest) != 0)
		err(1, "epoll");
	for (int i = 1; i <= CLIENTS; i++)
		if (child_start() == 0) {
			client(i);
			_exit(0);
		}

	int requests = drain(port);
	while (requests < CLIENTS * REQUESTS) {
		int n = epoll_wait(set, &interest, 1, SECONDS_MAX * 1000);
		if (n == 0)
			errx(1, "no request for %d s", SECONDS_MAX);
		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		requests += drain(port);
	}
	int failed = children_wait();
	printf("server: %d requests of %d clients\n", requests, CLIENTS);
	close(set);
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
