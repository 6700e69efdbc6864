/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages through the kernel: pipes and Unix socket pairs, with calls that
 * block, from each rank to the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/harness/payload.h"
#include "bench/native/workloads.h"

struct channel {
	int out, in;
	unsigned char *source, *copy;
	uint64_t sent, received;
};

static int setup(struct side *s, int out, int in)
{
	struct channel *c = calloc(1, sizeof(*c));
	size_t bytes = bits_round_up(s->bytes + 1, PAYLOAD_LINE);

	s->state = c;
	if (!c || !(c->source = malloc(bytes)) || !(c->copy = malloc(bytes)))
		return -ENOMEM;
	memset(c->source, 1, bytes);
	memset(c->copy, 1, bytes);
	c->out = out;
	c->in = in;
	return 0;
}

static unsigned previous(const struct side *s)
{
	return (s->rank + s->group->ranks - 1) % s->group->ranks;
}

static int pipe_setup(struct side *s)
{
	return setup(
		s, s->group->pipe[s->rank][1], s->group->pipe[previous(s)][0]);
}

static int socket_setup(struct side *s)
{
	return setup(
		s, s->group->link[s->rank][0], s->group->link[previous(s)][1]);
}

static void teardown(struct side *s)
{
	struct channel *c = s->state;

	if (c) {
		free(c->source);
		free(c->copy);
	}
	free(c);
	s->state = NULL;
}

/* ---- messages ---- */

static int prepare(struct side *s)
{
	struct channel *c = s->state;

	if (s->rewrite)
		payload_rewrite(c->source, s->bytes, c->sent);
	return 0;
}

static int write_all(int fd, const unsigned char *at, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, at, bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n < 0 ? 0 : n;
		bytes -= n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

static int send(struct side *s)
{
	struct channel *c = s->state;

	payload_stamp(c->source, s->bytes, c->sent++);
	return write_all(c->out, c->source, s->bytes);
}

static int receive(struct side *s)
{
	struct channel *c = s->state;
	size_t have = 0;

	while (have < s->bytes) {
		ssize_t n = read(c->in, c->copy + have, s->bytes - have);
		if (n == 0 || (n < 0 && errno != EINTR))
			return n ? -errno : -EPIPE;
		have += n < 0 ? 0 : (size_t)n;
	}
	return payload_verify(c->copy, have, s->bytes, c->received++);
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, send, receive);
}

static int stream_run(struct side *s, uint32_t iterations)
{
	return workload_stream(s, iterations, send, receive);
}

const struct workload pipe_workload = { "pipe", pipe_setup, teardown, prepare,
	ping_run, NULL, NULL };
const struct workload pipe_stream_workload = { "pipe", pipe_setup, teardown,
	prepare, stream_run, NULL, NULL };
const struct workload socket_workload = { "sockets", socket_setup, teardown,
	prepare, ping_run, NULL, NULL };
const struct workload socket_stream_workload = { "sockets", socket_setup,
	teardown, prepare, stream_run, NULL, NULL };
