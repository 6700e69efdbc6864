/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A barrier between processes, built from a window: the members count their
 * arrivals with fetch-and-add, and the last one wakes the others by messages,
 * so that no member polls the counter.
 *
 *	cc barrier.c -o barrier $(pkg-config --cflags --libs cay) && ./barrier
 */
#include "example.h"

#include <stddef.h>

#define MEMBERS 4
#define ROUNDS	100

/* The memory of the window. */
struct shared {
	uint64_t arrivals;	 /* of all rounds */
	uint64_t round[MEMBERS]; /* that each member has begun */
};

struct member {
	struct cay_port *port;
	struct cay_peer *owner; /* of the window */
	struct cay_key key;
	struct cay_peer *others[MEMBERS];
	uint64_t round;
};

/* Returns when all members have called it. */
static void barrier(struct member *m)
{
	uint64_t before;
	m->round++;
	check("cay_fetch_add_into",
		cay_fetch_add_into(m->port, m->owner, m->key,
			offsetof(struct shared, arrivals), 1, &before, 0, 0));
	check("cay_flush", cay_flush(m->port, m->owner, deadline()));
	if (before + 1 == m->round * MEMBERS) {
		for (int i = 0; i < MEMBERS; i++)
			if (m->others[i])
				check("cay_send",
					cay_send(m->port, m->others[i],
						m->round, NULL, 0, 0));
		return;
	}
	int woken = 0;
	while (!woken) {
		struct cay_event event = next_event(m->port);
		woken = event.kind == CAY_EVENT_MESSAGE &&
			event.tag == m->round;
		/* Those that have passed the last barrier may have left. */
		if (event.kind == CAY_EVENT_GONE && m->round <= ROUNDS)
			errx(1, "a member of the barrier is gone");
		cay_release(m->port, &event);
	}
}

static void member(int self, struct cay_addr owner, struct cay_key key)
{
	char name[MEMBERS][24];
	for (int i = 0; i < MEMBERS; i++)
		snprintf(name[i], sizeof(name[i]), "member-%d", i);
	struct member m = { .port = port_open(name[self]), .key = key };
	uint64_t seen[MEMBERS];

	check("cay_peer_resolve", cay_peer_resolve(m.port, owner, &m.owner));
	for (int i = 0; i < MEMBERS; i++)
		if (i != self)
			check("cay_peer_lookup",
				cay_peer_lookup(m.port, name[i], deadline(),
					&m.others[i]));
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		/* The barrier flushes this put as well. */
		check("cay_put", cay_put(m.port, m.owner, key,
					 offsetof(struct shared, round) +
						 (size_t)self * sizeof(round),
					 &round, sizeof(round), 0, 0));
		barrier(&m);
		check("cay_get", cay_get(m.port, m.owner, key,
					 offsetof(struct shared, round), seen,
					 sizeof(seen), 0, 0));
		check("cay_flush", cay_flush(m.port, m.owner, deadline()));
		for (int i = 0; i < MEMBERS; i++)
			if (seen[i] != round && seen[i] != round + 1)
				errx(1, "member %d is not in round %d", i,
					(int)round);
	}
	barrier(&m); /* no port is closed before all members are done */
	check("cay_port_close", cay_port_close(m.port));
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	struct shared *shared = memory_alloc(port, sizeof(*shared));
	struct cay_window *window;
	struct cay_key key;

	check("cay_window_open",
		cay_window_open(port, shared, sizeof(*shared),
			CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC,
			&window));
	check("cay_window_key", cay_window_key(window, &key));
	for (int i = 0; i < MEMBERS; i++)
		if (child_start() == 0) {
			member(i, cay_port_addr(port), key);
			_exit(0);
		}
	int failed = children_wait();
	printf("%d members, %d rounds, %d arrivals\n", MEMBERS, ROUNDS,
		(int)shared->arrivals);
	check("cay_window_close", cay_window_close(window));
	cay_free(port, shared);
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
