/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency and bandwidth of messages over an MPI: the cases of src/bench/fabric
 * by MPI calls. tools/bench-fabric builds this program, runs it over one path
 * of the MPI and then over another, and reads its JSON.
 *
 * usage: mpirun -n 2 latency [--quick] [--samples FILE]
 */
#include <errno.h>
#include <string.h>

#include "bench/fabric/cases.h"
#include "bench/fabric/message.h"
#include "bench/mpi/world.h"

enum {
	TAG_DATA = 1,
	TAG_ANSWER = 2,
};

/* This process's part; cases follow one another. */
static struct {
	const struct pool *pool;
	uint64_t sent, received;
	MPI_Request requests[MESSAGE_WINDOW_MAX];
} mpi;

static int setup(struct side *s)
{
	(void)s;
	mpi.pool = pool_get();
	mpi.sent = mpi.received = 0;
	return mpi.pool ? 0 : -ENOMEM;
}

static void fill(struct side *s, unsigned messages)
{
	for (unsigned i = 0; s->rewrite && i < messages; i++)
		message_fill(mpi.pool->source + message_at(i, s->bytes),
			s->bytes, mpi.sent + i);
}

/* Compares all words of the last messages. */
static int check(struct side *s, unsigned messages)
{
	for (unsigned i = 0; s->rewrite && i < messages; i++)
		if (!message_whole(mpi.pool->target + message_at(i, s->bytes),
			    s->bytes, mpi.received - messages + i))
			return -EBADMSG;
	return 0;
}

static int progress(struct side *s)
{
	int found;

	MPI_Iprobe(!s->rank, TAG_ANSWER, MPI_COMM_WORLD, &found,
		MPI_STATUS_IGNORE);
	return 0;
}

/* ---- ping-pong ---- */

static int ping_send(struct side *s)
{
	message_stamp(mpi.pool->source, mpi.sent++);
	MPI_Send(mpi.pool->source, (int)s->bytes, MPI_BYTE, !s->rank, TAG_DATA,
		MPI_COMM_WORLD);
	return 0;
}

static int ping_receive(struct side *s)
{
	MPI_Recv(mpi.pool->target, (int)s->bytes, MPI_BYTE, !s->rank, TAG_DATA,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return message_is(mpi.pool->target, mpi.received++) ? 0 : -EBADMSG;
}

static int ping_prepare(struct side *s)
{
	fill(s, 1);
	return 0;
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, ping_send, ping_receive);
}

static int ping_finish(struct side *s)
{
	return check(s, 1);
}

/* ---- streams ---- */

static void window_post(struct side *s)
{
	for (unsigned i = 0; i < message_window(s->bytes); i++)
		MPI_Irecv(mpi.pool->target + message_at(i, s->bytes),
			(int)s->bytes, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
			&mpi.requests[i]);
}

static void window_send(struct side *s)
{
	for (unsigned i = 0; i < message_window(s->bytes); i++) {
		unsigned char *at = mpi.pool->source + message_at(i, s->bytes);
		message_stamp(at, mpi.sent++);
		MPI_Isend(at, (int)s->bytes, MPI_BYTE, 1, TAG_DATA,
			MPI_COMM_WORLD, &mpi.requests[i]);
	}
}

static int stream_prepare(struct side *s)
{
	if (s->rank == 0)
		fill(s, message_window(s->bytes));
	else
		window_post(s);
	return 0;
}

static int stream_run(struct side *s, uint32_t iterations)
{
	unsigned window = message_window(s->bytes);
	int r = 0;

	for (uint32_t done = 0; !r && done < iterations;) {
		if (s->rank == 0)
			window_send(s);
		MPI_Waitall((int)window, mpi.requests, MPI_STATUSES_IGNORE);
		for (unsigned i = 0; s->rank == 1 && i < window; i++)
			if (!message_is(
				    mpi.pool->target + message_at(i, s->bytes),
				    mpi.received++))
				r = -EBADMSG;
		done += window;
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

static int stream_finish(struct side *s)
{
	return check(s, s->rank == 0 ? 0 : message_window(s->bytes));
}

static const struct workload ping_workload = {
	.name = "mpi",
	.setup = setup,
	.prepare = ping_prepare,
	.run = ping_run,
	.finish = ping_finish,
	.progress = progress,
};

static const struct workload stream_workload = {
	.name = "mpi",
	.setup = setup,
	.prepare = stream_prepare,
	.run = stream_run,
	.finish = stream_finish,
	.progress = progress,
};

int main(int argc, char **argv)
{
	const char *samples = NULL;
	bool quick = false;
	struct world world;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--quick") == 0) {
			quick = true;
		} else if (strcmp(argv[i], "--samples") == 0 && i + 1 < argc) {
			samples = argv[++i];
		} else {
			fprintf(stderr, "usage: mpirun -n 2 latency [--quick] "
					"[--samples FILE]\n");
			return 2;
		}
	world_open(&world, "latency", samples);
	for (unsigned i = 0; i < TRAFFIC_COUNT; i++) {
		struct bench_case bc = traffic_case(&traffic[i], quick);
		if (traffic[i].form == TRAFFIC_INJECT) /* not in MPI */
			continue;
		bc.workload[bc.workloads++] = traffic[i].form == TRAFFIC_SEND
						      ? &ping_workload
						      : &stream_workload;
		world_measure(&world, &bc);
	}
	world_close(&world);
	return 0;
}
