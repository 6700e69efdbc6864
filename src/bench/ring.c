/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of more processes than cores that pass a token and sleep until it
 * comes round again: over Unix socket pairs (the yardstick), over words with a
 * futex each (the sketch), and over Cay with cay_wait(). A trip is one round
 * of the token.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/candidate.h"
#include "bench/word.h"

static unsigned ring_before(const struct side *s)
{
	return (s->rank + s->party->ranks - 1) % s->party->ranks;
}

static unsigned ring_after(const struct side *s)
{
	return (s->rank + 1) % s->party->ranks;
}

/* ---- socket pairs ---- */

/* Reads give up now and then, so that the party's deadline is looked at. */
static int socket_setup(struct side *s)
{
	const struct timeval t = { .tv_usec = 100000 };
	int fd = s->party->link[ring_before(s)][1];

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ? -errno
								      : 0;
}

static int socket_pass(struct side *s)
{
	uint64_t token = s->rank;
	ssize_t n = write(s->party->link[s->rank][0], &token, sizeof(token));

	return n == (ssize_t)sizeof(token) ? 0 : -EIO;
}

static int socket_take(struct side *s)
{
	int fd = s->party->link[ring_before(s)][1], r;
	uint64_t token;

	while (read(fd, &token, sizeof(token)) != (ssize_t)sizeof(token)) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if ((r = party_check(s->party)))
			return r;
	}
	return token == ring_before(s) ? 0 : -EBADMSG;
}

static int socket_ping(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, socket_pass, socket_take);
}

static int socket_pong(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, socket_take, socket_pass);
}

/* ---- a word each ---- */

static int word_pass(struct side *s)
{
	word_raise(s, ring_after(s));
	return 0;
}

static int word_ping(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, word_pass, word_sleep);
}

static int word_pong(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, word_sleep, word_pass);
}

/* ---- Cay ---- */

static int candidate_ping(struct side *s, uint32_t trips)
{
	return flavour_turns(
		s, trips, candidate_send, candidate_receive_asleep);
}

static int candidate_pong(struct side *s, uint32_t trips)
{
	return flavour_turns(
		s, trips, candidate_receive_asleep, candidate_send);
}

const struct flavour ring_socket_flavour = {
	.name = "sockets",
	.setup = socket_setup,
	.prepare = flavour_nothing,
	.ping = socket_ping,
	.pong = socket_pong,
	.teardown = flavour_leave,
};

const struct flavour ring_word_flavour = {
	.name = "futex",
	.setup = word_setup,
	.prepare = flavour_nothing,
	.ping = word_ping,
	.pong = word_pong,
	.teardown = flavour_leave,
};

const struct flavour ring_candidate_flavour = {
	.name = "Cay",
	.setup = candidate_setup,
	.prepare = flavour_nothing,
	.ping = candidate_ping,
	.pong = candidate_pong,
	.teardown = candidate_teardown,
};
