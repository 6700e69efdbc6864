/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Publish to many: subscribers announce themselves by a message, and the
 * publisher sends each update to all of them. One subscriber leaves early, and
 * the publisher receives CAY_EVENT_GONE, whose handle has a pointer to its own
 * record of the subscriber: cay_peer_set_data().
 *
 *	cc publish.c -o publish $(pkg-config --cflags --libs cay) && ./publish
 */
#include "example.h"

#define SUBSCRIBERS 8
#define UPDATES	    100
#define LEAVES	    20 /* updates after which the first subscriber leaves */

/* Receives a number of updates. A gap in the tags would be a missed update. */
static void subscriber(int number, uint64_t updates)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *publisher;

	check("cay_peer_lookup",
		cay_peer_lookup(port, "publisher", deadline(), &publisher));
	check("cay_send", cay_send(port, publisher, 0, NULL, 0, 0));
	for (uint64_t expected = 0; expected < updates; expected++) {
		struct cay_event event = next_event(port);
		if (event.kind != CAY_EVENT_MESSAGE || event.tag != expected)
			errx(1, "subscriber %d: no update %d", number,
				(int)expected);
		cay_release(port, &event);
	}
	cay_peer_release(publisher);
	check("cay_port_close", cay_port_close(port));
}

struct topic {
	struct cay_port *port;
	struct cay_peer *peers[SUBSCRIBERS]; /* NULL: has left */
	int count, left, missed;
};

/* Takes events of subscribers: new ones, and those that have left. */
static void events_take(struct topic *t)
{
	struct cay_event event;
	while (check("cay_poll", cay_poll(t->port, &event, 1)) == 1) {
		if (event.kind == CAY_EVENT_MESSAGE && t->count < SUBSCRIBERS) {
			struct cay_peer **place = &t->peers[t->count++];
			check("cay_peer_resolve",
				cay_peer_resolve(t->port, event.peer, place));
			/* Later events find it without a search. */
			cay_peer_set_data(*place, place);
		}
		if (event.kind == CAY_EVENT_GONE) {
			struct cay_peer **place = cay_peer_data(event.handle);
			cay_peer_release(event.handle);
			*place = NULL;
			t->left++;
		}
		cay_release(t->port, &event);
	}
}

static void publish(
	struct topic *t, uint64_t update, const char *text, size_t length)
{
	for (int i = 0; i < t->count; i++) {
		if (!t->peers[i])
			continue;
		int r = cay_send(t->port, t->peers[i], update, text, length, 0);
		if (r == -EAGAIN) /* a slow subscriber delays no other one */
			t->missed++;
		else if (r != -EPIPE) /* else its GONE follows */
			check("cay_send", r);
	}
}

int main(void)
{
	struct topic t = { .port = port_open("publisher") };

	for (int i = 0; i < SUBSCRIBERS; i++)
		if (child_start() == 0) {
			subscriber(i, i == 0 ? LEAVES : UPDATES);
			_exit(0);
		}
	while (t.count < SUBSCRIBERS) {
		check("cay_wait", cay_wait(t.port, deadline()));
		events_take(&t);
	}
	for (uint64_t update = 0; update < UPDATES; update++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "update %d", (int)update);
		publish(&t, update, text, (size_t)n);
		events_take(&t);
	}
	/* In the end all leave: GONE is the last event of each. */
	while (t.left < SUBSCRIBERS) {
		check("cay_wait", cay_wait(t.port, deadline()));
		events_take(&t);
	}
	int failed = children_wait();
	printf("%d updates to %d subscribers, %d missed\n", UPDATES, t.count,
		t.missed);
	expect(!failed, "all subscribers received what they wanted");
	expect(t.left == t.count, "the publisher knows who has left");
	check("cay_port_close", cay_port_close(t.port));
	return 0;
}
