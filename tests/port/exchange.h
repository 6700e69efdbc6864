/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lost wake-up test. Two sides send in turn, each after a random pause, and
 * sleep until the message of the other side arrives. There is no other sender,
 * so that a lost wake-up ends in a time-out.
 */
#ifndef CAY_TESTS_PORT_EXCHANGE_H
#define CAY_TESTS_PORT_EXCHANGE_H

#include <unistd.h>

#include "harness.h"

#define EXCHANGE_PAUSE_NS (120 * NS_PER_US)

struct exchange {
	struct cay_port *port;
	struct cay_peer *peer;
	struct random random;
	uint64_t rounds;
	int epoll; /* for next(); 0: none yet */
	/* Sleeps until the next event. */
	void (*next)(struct exchange *, struct cay_event *);
};

static inline void exchange_send(struct exchange *x, uint64_t number)
{
	random_pause(&x->random, EXCHANGE_PAUSE_NS);
	assert_int_equal(cay_send(x->port, x->peer, number, &number,
				 number % 3 ? sizeof(number) : 0, 0),
		0);
}

/* Opens a port and exchanges messages with the other side. */
static inline void exchange_run(
	struct exchange *x, const char *own, const char *other, bool first)
{
	x->port = open_named(own);
	x->peer = open_peer_named(x->port, other);
	for (uint64_t i = 0; i < x->rounds; i++) {
		struct cay_event e;
		if (first)
			exchange_send(x, i);
		x->next(x, &e);
		assert_int_equal(e.tag, i);
		cay_release(x->port, &e);
		if (!first)
			exchange_send(x, i);
	}
}

static inline void exchange_close(struct exchange *x)
{
	cay_peer_release(x->peer);
	close_port(x->port);
	if (x->epoll)
		close(x->epoll);
}

/* The body of a child that runs the other side of `argument`. */
static inline void exchange_child(struct child *parent, void *argument)
{
	const struct exchange *other = argument;
	struct exchange x = {
		.rounds = other->rounds, .random = { 1 }, .next = other->next
	};
	(void)parent;
	exchange_run(&x, "second", "first", false);
	exchange_close(&x);
}

#endif
