/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of more processes than cores that pass a token and sleep until it
 * comes round again: over Unix socket pairs (the reference), over words with a
 * futex each (the baseline), and over Cay with cay_wait(). A trip is one round
 * of the token.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/native/endpoint.h"
#include "bench/native/futex_word.h"

static unsigned ring_before(const struct side *s)
{
	return (s->rank + s->group->ranks - 1) % s->group->ranks;
}

static unsigned ring_after(const struct side *s)
{
	return (s->rank + 1) % s->group->ranks;
}

/* ---- socket pairs ---- */

/* Reads give up now and then, so that the group's deadline is looked at. */
static int socket_setup(struct side *s)
{
	const struct timeval t = { .tv_usec = 100000 };
	int fd = s->group->link[ring_before(s)][1];

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ? -errno
								      : 0;
}

static int socket_pass(struct side *s)
{
	uint64_t token = s->rank;
	ssize_t n = write(s->group->link[s->rank][0], &token, sizeof(token));

	return n == (ssize_t)sizeof(token) ? 0 : -EIO;
}

static int socket_take(struct side *s)
{
	int fd = s->group->link[ring_before(s)][1], r;
	uint64_t token;

	while (read(fd, &token, sizeof(token)) != (ssize_t)sizeof(token)) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if ((r = group_check(s->group)))
			return r;
	}
	return token == ring_before(s) ? 0 : -EBADMSG;
}

static int socket_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, socket_pass, socket_take);
}

static int socket_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, socket_take, socket_pass);
}

/* ---- a word each ---- */

static int word_pass(struct side *s)
{
	word_raise(s, ring_after(s));
	return 0;
}

static int word_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, word_pass, word_sleep);
}

static int word_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, word_sleep, word_pass);
}

/* ---- Cay ---- */

static int endpoint_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_send, endpoint_receive_asleep);
}

static int endpoint_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_receive_asleep, endpoint_send);
}

const struct workload ring_socket_workload = {
	.name = "sockets",
	.setup = socket_setup,
	.prepare = workload_nothing,
	.ping = socket_ping,
	.pong = socket_pong,
	.teardown = workload_leave,
};

const struct workload ring_word_workload = {
	.name = "futex",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = word_ping,
	.pong = word_pong,
	.teardown = workload_leave,
};

const struct workload ring_cay_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = workload_nothing,
	.ping = endpoint_ping,
	.pong = endpoint_pong,
	.teardown = endpoint_teardown,
};
