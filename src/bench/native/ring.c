/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of more processes than cores that pass a token and sleep until it
 * returns: over Unix socket pairs (the reference), over futex words (the
 * baseline), and over Cay with cay_wait(). An iteration is one lap of the
 * token.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/native/endpoint.h"
#include "bench/native/futex_word.h"

static unsigned ring_previous(const struct side *s)
{
	return (s->rank + s->group->ranks - 1) % s->group->ranks;
}

/* ---- socket pairs ---- */

/* Reads time out, so that group_check() is called. */
static int socket_setup(struct side *s)
{
	const struct timeval t = { .tv_usec = 100000 };
	int fd = s->group->link[ring_previous(s)][1];

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ? -errno
								      : 0;
}

static int socket_send(struct side *s)
{
	uint64_t token = s->rank;
	ssize_t n = write(s->group->link[s->rank][0], &token, sizeof(token));

	return n == (ssize_t)sizeof(token) ? 0 : -EIO;
}

static int socket_receive(struct side *s)
{
	int fd = s->group->link[ring_previous(s)][1], r;
	uint64_t token;

	while (read(fd, &token, sizeof(token)) != (ssize_t)sizeof(token)) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if ((r = group_check(s->group)))
			return r;
	}
	return token == ring_previous(s) ? 0 : -EBADMSG;
}

static int socket_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, socket_send, socket_receive);
}

/* ---- futex words ---- */

static int futex_send(struct side *s)
{
	return futex_word_post(s, (s->rank + 1) % s->group->ranks);
}

static int futex_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, futex_send, futex_word_sleep);
}

/* ---- Cay ---- */

static int cay_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(
		s, iterations, endpoint_send, endpoint_receive_asleep);
}

const struct workload ring_socket_workload = {
	.name = "sockets",
	.setup = socket_setup,
	.run = socket_run,
};

const struct workload ring_futex_workload = {
	.name = "futex",
	.run = futex_run,
};

const struct workload ring_cay_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.run = cay_run,
	.teardown = endpoint_teardown,
};
