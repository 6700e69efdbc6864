/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What messages take over an MPI: ping-pong and streams of src/bench/fabric,
 * sent by MPI calls. tools/bench-fabric builds it, starts it over one path of
 * the MPI and then over another, and reads the one line of JSON it prints.
 *
 * usage: mpirun -n 2 latency [--quick]
 *
 * Errors of MPI calls end the job by themselves (MPI_ERRORS_ARE_FATAL).
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/fabric/kinds.h"
#include "bench/fabric/message.h"
#include "bench/fabric/result.h"
#include "bench/harness/tick.h"

enum {
	SECONDS_MAX = 120,
	TAG_DATA = 1,
	TAG_ANSWER = 2,
};

struct side {
	struct seat seat;
	struct pool pool;
	MPI_Win board_window;
	MPI_Request requests[MESSAGE_WINDOW_MAX];
};

static _Noreturn void fail(const char *what, int error)
{
	fprintf(stderr, "latency: %s: %s\n", what, strerror(-error));
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

/* ---- one message ---- */

static int side_send(struct side *s, const struct kind *kind, uint64_t number)
{
	message_number(s->pool.source, number);
	return MPI_Send(s->pool.source, (int)kind->bytes, MPI_BYTE,
		!s->seat.rank, TAG_DATA, MPI_COMM_WORLD);
}

static int side_take(struct side *s, const struct kind *kind, uint64_t number)
{
	MPI_Recv(s->pool.target, (int)kind->bytes, MPI_BYTE, !s->seat.rank,
		TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return message_is(s->pool.target, number) ? 0 : -EBADMSG;
}

/* ---- forms of traffic ---- */

static int ping_lead(struct side *s, const struct kind *kind, uint64_t number,
	uint64_t *stamps)
{
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++) {
		side_send(s, kind, number + i);
		r = side_take(s, kind, number + i);
		if (stamps)
			stamps[i] = tick_now();
	}
	return r;
}

static int ping_follow(struct side *s, const struct kind *kind, uint64_t number)
{
	int r = 0;

	for (unsigned i = 0; !r && i < kind->count; i++) {
		r = side_take(s, kind, number + i);
		side_send(s, kind, number + i);
	}
	return r;
}

static void window_post(struct side *s, const struct kind *kind)
{
	for (unsigned i = 0; i < kind->window; i++)
		MPI_Irecv(s->pool.target + message_at(i, kind->bytes),
			(int)kind->bytes, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
			&s->requests[i]);
}

static int stream_lead(struct side *s, const struct kind *kind, uint64_t number)
{
	for (unsigned done = 0; done < kind->count; done += kind->window) {
		for (unsigned i = 0; i < kind->window; i++) {
			unsigned char *at =
				s->pool.source + message_at(i, kind->bytes);
			message_number(at, number + done + i);
			MPI_Isend(at, (int)kind->bytes, MPI_BYTE, 1, TAG_DATA,
				MPI_COMM_WORLD, &s->requests[i]);
		}
		MPI_Waitall(
			(int)kind->window, s->requests, MPI_STATUSES_IGNORE);
	}
	MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ANSWER, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	return 0;
}

static int window_take(struct side *s, const struct kind *kind, uint64_t number)
{
	MPI_Waitall((int)kind->window, s->requests, MPI_STATUSES_IGNORE);
	for (unsigned i = 0; i < kind->window; i++)
		if (!message_is(s->pool.target + message_at(i, kind->bytes),
			    number + i))
			return -EBADMSG;
	return 0;
}

static int stream_follow(
	struct side *s, const struct kind *kind, uint64_t number)
{
	int r = 0;

	for (unsigned done = 0; !r && done < kind->count;) {
		r = window_take(s, kind, number + done);
		done += kind->window;
		if (done < kind->count)
			window_post(s, kind);
	}
	MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD);
	return r;
}

/* ---- the carrier ---- */

static int side_run(
	void *state, const struct kind *kind, uint64_t number, uint64_t *stamps)
{
	struct side *s = state;

	if (kind->form == FORM_PING)
		return s->seat.rank == 0 ? ping_lead(s, kind, number, stamps)
					 : ping_follow(s, kind, number);
	return s->seat.rank == 0 ? stream_lead(s, kind, number)
				 : stream_follow(s, kind, number);
}

static int side_prepare(void *state, const struct kind *kind, uint64_t number)
{
	struct side *s = state;

	if (kind->form == FORM_STREAM && s->seat.rank == 1) {
		window_post(s, kind);
		return 0;
	}
	for (unsigned i = 0; kind->fresh && i < kind->window; i++)
		message_fill(s->pool.source + message_at(i, kind->bytes),
			kind->bytes, number + i);
	return 0;
}

static int side_progress(void *state)
{
	struct side *s = state;
	int there;

	MPI_Iprobe(!s->seat.rank, TAG_ANSWER, MPI_COMM_WORLD, &there,
		MPI_STATUS_IGNORE);
	return 0;
}

static int side_check(void *state, const struct kind *kind, uint64_t number)
{
	struct side *s = state;

	if (!kind->fresh || (kind->form == FORM_STREAM && s->seat.rank == 0))
		return 0;
	for (unsigned i = 0; i < kind->window; i++)
		if (!message_whole(s->pool.target + message_at(i, kind->bytes),
			    kind->bytes, number + i))
			return -EBADMSG;
	return 0;
}

static void side_trials(struct side *s, bool quick)
{
	const struct carrier carrier = { .name = "mpi",
		.state = s,
		.prepare = side_prepare,
		.run = side_run,
		.progress = side_progress,
		.check = side_check };
	struct kind kinds[KIND_COUNT];
	const char *comma = "";

	kinds_list(kinds, quick);
	for (int i = 0; i < KIND_COUNT; i++) {
		struct trial trial;
		if (kinds[i].inject) /* MPI has no such call */
			continue;
		int r = trial_run(&trial, &s->seat, &kinds[i], &carrier, 1);
		if (!r && s->seat.rank == 0) {
			printf("%s", comma);
			r = result_print(&trial, &carrier);
			comma = ",";
		}
		if (r)
			fail(kinds[i].name, r);
		trial_free(&trial);
	}
}

/* ---- set-up ---- */

/* The board lies in memory of rank 0. */
static void board_open(struct side *s)
{
	MPI_Aint bytes = sizeof(struct board) + BOARD_APART;
	uintptr_t at;
	int unit;
	void *memory;

	MPI_Win_allocate_shared(s->seat.rank == 0 ? bytes : 0, 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &s->board_window);
	MPI_Win_shared_query(s->board_window, 0, &bytes, &unit, &memory);
	/* It is mapped at whole pages: both find the same bytes. */
	at = ((uintptr_t)memory + BOARD_APART - 1) / BOARD_APART * BOARD_APART;
	s->seat.board = (struct board *)at;
	if (s->seat.rank == 0)
		memset(s->seat.board, 0, sizeof(*s->seat.board));
	MPI_Barrier(MPI_COMM_WORLD);
}

static void side_open(struct side *s)
{
	int ranks, r;

	MPI_Comm_rank(MPI_COMM_WORLD, &s->seat.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		fail("needs two processes: mpirun -n 2", -EINVAL);
	if ((r = seat_pin(&s->seat)))
		fail("pinning", r);
	if ((r = pool_open(&s->pool)))
		fail("buffers", r);
	board_open(s);
	if (s->seat.rank == 0)
		s->seat.tick_ns = tick_calibrate_ns();
}

static void side_close(struct side *s)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&s->board_window);
	pool_close(&s->pool);
}

static void print_version(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length;

	MPI_Get_library_version(text, &length);
	text[strcspn(text, ",\"\\\n")] = 0;
	printf("{\"version\":\"%s\",\"kinds\":{", text);
}

int main(int argc, char **argv)
{
	static struct side side;
	bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;

	if (argc > 1 && !quick) {
		fprintf(stderr, "usage: mpirun -n 2 latency [--quick]\n");
		return 2;
	}
	/* Bounds every wait for the other rank: the signal ends the job. */
	alarm(SECONDS_MAX);
	MPI_Init(&argc, &argv);
	side_open(&side);
	if (side.seat.rank == 0)
		print_version();
	side_trials(&side, quick);
	if (side.seat.rank == 0)
		printf("}}\n");
	side_close(&side);
	MPI_Finalize();
	return 0;
}
