/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of an MPI: ping-pong, streams, and a token in a ring. */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "bench/harness/payload.h"
#include "bench/mpi/workloads.h"

enum {
	TAG_DATA = 1,
	TAG_ANSWER = 2,
	WINDOW = 64,	 /* messages of a stream in flight */
	SLOT_BYTES = 64, /* of a message of a stream */
};

struct mpi {
	unsigned char *source, *target;
	uint64_t sent, received;
	int next, previous;
	MPI_Request requests[WINDOW];
};

static int setup(struct side *s)
{
	struct mpi *m = calloc(1, sizeof(*m));
	size_t bytes = bits_round_up(s->bytes + WINDOW * SLOT_BYTES, 4096);

	s->state = m;
	if (!m || !(m->source = aligned_alloc(4096, bytes)) ||
		!(m->target = aligned_alloc(4096, bytes)))
		return -ENOMEM;
	memset(m->source, 1, bytes);
	memset(m->target, 1, bytes);
	m->next = (int)((s->rank + 1) % s->group->ranks);
	m->previous = (int)((s->rank + s->group->ranks - 1) % s->group->ranks);
	return 0;
}

static void teardown(struct side *s)
{
	struct mpi *m = s->state;

	if (m) {
		free(m->source);
		free(m->target);
	}
	free(m);
}

static int progress(struct side *s)
{
	struct mpi *m = s->state;
	int found;

	MPI_Iprobe(m->previous, TAG_ANSWER, MPI_COMM_WORLD, &found,
		MPI_STATUS_IGNORE);
	return 0;
}

/* ---- ping-pong, and the ring ---- */

static int ping_prepare(struct side *s)
{
	struct mpi *m = s->state;

	if (s->rewrite)
		payload_rewrite(m->source, s->bytes, m->sent);
	return 0;
}

static int ping_send(struct side *s)
{
	struct mpi *m = s->state;

	payload_stamp(m->source, s->bytes, m->sent++);
	MPI_Send(m->source, (int)s->bytes, MPI_BYTE, m->next, TAG_DATA,
		MPI_COMM_WORLD);
	return 0;
}

static int ping_receive(struct side *s)
{
	struct mpi *m = s->state;

	MPI_Recv(m->target, (int)s->bytes, MPI_BYTE, m->previous, TAG_DATA,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return payload_verify(m->target, s->bytes, s->bytes, m->received++);
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, ping_send, ping_receive);
}

/* ---- streams of short messages; rank 1 answers the last one ---- */

static void window_post(struct side *s)
{
	struct mpi *m = s->state;

	for (unsigned i = 0; i < WINDOW; i++)
		MPI_Irecv(m->target + i * SLOT_BYTES, (int)s->bytes, MPI_BYTE,
			0, TAG_DATA, MPI_COMM_WORLD, &m->requests[i]);
}

static void window_send(struct side *s)
{
	struct mpi *m = s->state;

	for (unsigned i = 0; i < WINDOW; i++) {
		unsigned char *at = m->source + i * SLOT_BYTES;
		payload_stamp(at, s->bytes, m->sent++);
		MPI_Isend(at, (int)s->bytes, MPI_BYTE, 1, TAG_DATA,
			MPI_COMM_WORLD, &m->requests[i]);
	}
}

static int stream_prepare(struct side *s)
{
	if (s->rank != 0)
		window_post(s);
	return 0;
}

static int stream_run(struct side *s, uint32_t iterations)
{
	struct mpi *m = s->state;
	int r = 0;

	for (uint32_t done = 0; !r && done < iterations;) {
		if (s->rank == 0)
			window_send(s);
		MPI_Waitall(WINDOW, m->requests, MPI_STATUSES_IGNORE);
		for (unsigned i = 0; !r && s->rank == 1 && i < WINDOW; i++)
			r = payload_verify(m->target + i * SLOT_BYTES, s->bytes,
				s->bytes, m->received++);
		done += WINDOW;
		if (s->rank == 1 && done < iterations)
			window_post(s);
	}
	if (s->rank == 0)
		MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ANSWER, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	else
		MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD);
	return r;
}

const struct workload mpi_ping_workload = { "mpi", setup, teardown,
	ping_prepare, ping_run, NULL, progress };
const struct workload mpi_stream_workload = { "mpi", setup, teardown,
	stream_prepare, stream_run, NULL, progress };
