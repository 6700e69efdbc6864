/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one-sided operations of an MPI take on this machine: put of 8 bytes and
 * fetch-and-add, each with the flush that completes it at the target. One
 * source for every MPI, so that all of them do the same; tools/bench-rma
 * builds it, starts it again and again between rounds of Cay, and reads the
 * one line of JSON that it prints.
 *
 * usage: mpirun -n 2 rma [allocate | create]
 *
 *   allocate  the window's memory comes from MPI (MPI_Win_allocate)
 *   create    it is the program's own (MPI_Win_create)
 *
 * A run is a chain of slices: hand-over, puts and adds, hand-over, and so on.
 * Rank 0 measures. Rank 1 plays pong for the hand-over and otherwise waits
 * inside the library, where a target that has nothing to do serves best; in
 * which call is up to the MPI: both ways take turns, and the better counts.
 *
 * Errors of MPI calls end the job by themselves (MPI_ERRORS_ARE_FATAL).
 */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/harness/cores.h"
#include "bench/harness/samples.h"
#include "bench/harness/tick.h"
#include "bench/mpi/figures.h"

#if defined(OPEN_MPI)
#define PEER	    "openmpi"
#define TEXT_OF(x)  #x
#define TEXT(x)	    TEXT_OF(x)
#define PEER_MINOR  TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#define PEER_NUMBER TEXT(OMPI_MAJOR_VERSION) "." PEER_MINOR
#elif defined(MPICH_VERSION)
#define PEER	    "mpich"
#define PEER_NUMBER MPICH_VERSION
#else
#error "neither Open MPI nor MPICH"
#endif

enum {
	APART = 128,	 /* bytes: no line and no neighbour in common */
	OPERATIONS = 64, /* of a batch */
	TRIPS = 32,	 /* of a batch of hand-overs */
	SECONDS_MAX = 20,
	TAG_DONE = 1,
};

/* What both map: the line of the hand-over, and what rank 1 has to tell. */
struct board {
	_Atomic uint64_t line;
	char apart[APART];
	_Atomic uint64_t switches;
};

/* MPI promises no alignment, and may have lines of its own around it. */
struct window {
	char before[APART];
	uint64_t put;
	char between[APART];
	uint64_t sum;
	char after[APART];
};

struct side {
	int rank;
	double tick_ns;
	struct board *board;
	uint64_t line_at;
	MPI_Win board_window, window;
	struct window *memory; /* its own part of the window */
	void *own;	       /* with "create": to be freed after it */
	uint64_t done[KIND_COUNT];
};

/* ---- the bare hand-over, as cay bench plays it ---- */

static void line_await(struct side *s, uint64_t due)
{
	while (atomic_load_explicit(&s->board->line, memory_order_acquire) !=
		due)
		clock_relax();
}

/* Both count on from where the line is; odd numbers travel to rank 1. */
static void line_ping(struct side *s)
{
	for (int i = 0; i < TRIPS; i++) {
		atomic_store_explicit(
			&s->board->line, s->line_at + 1, memory_order_release);
		s->line_at += 2;
		line_await(s, s->line_at);
	}
}

static void line_pong(struct side *s)
{
	for (int i = 0; i < TRIPS; i++) {
		line_await(s, s->line_at + 1);
		s->line_at += 2;
		atomic_store_explicit(
			&s->board->line, s->line_at, memory_order_release);
	}
}

/* How often this process was taken off its core so far. */
static uint64_t switches_now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

/* Of both; what rank 1 stored before its last hand-over came with that. */
static uint64_t switches_of_both(struct side *s)
{
	return switches_now() +
	       atomic_load_explicit(&s->board->switches, memory_order_relaxed);
}

static double handover_lead(struct side *s)
{
	double ns[BATCHES];

	line_ping(s); /* until rank 1 is there */
	for (int i = 0; i < BATCHES; i++) {
		uint64_t from = tick_now();
		line_ping(s);
		uint64_t to = tick_now();
		ns[i] = (double)(to - from) * s->tick_ns / TRIPS / 2;
	}
	return samples_median(ns, BATCHES);
}

static void handover_follow(struct side *s)
{
	atomic_store_explicit(
		&s->board->switches, switches_now(), memory_order_relaxed);
	for (int i = 0; i < 1 + BATCHES; i++)
		line_pong(s);
}

/* ---- the operations ---- */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "rma: " PEER ": %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static void put_batch(struct side *s)
{
	const MPI_Aint at = offsetof(struct window, put);

	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t value = ++s->done[KIND_PUT];
		MPI_Put(&value, 1, MPI_UINT64_T, 1, at, 1, MPI_UINT64_T,
			s->window);
		MPI_Win_flush(1, s->window);
	}
}

static void add_batch(struct side *s)
{
	const MPI_Aint at = offsetof(struct window, sum);
	const uint64_t one = 1;
	uint64_t before;

	for (int i = 0; i < OPERATIONS; i++) {
		MPI_Fetch_and_op(
			&one, &before, MPI_UINT64_T, 1, at, MPI_SUM, s->window);
		MPI_Win_flush(1, s->window);
		if (before != s->done[KIND_ADD]++)
			fail("fetch-and-add fetched a wrong value");
	}
}

static double batch_ns(struct side *s, void (*batch)(struct side *))
{
	uint64_t from = tick_now();

	batch(s);
	return (double)(tick_now() - from) * s->tick_ns / OPERATIONS;
}

/* ---- slices ---- */

static void wait_end(enum wait wait)
{
	if (wait == WAIT_BARRIER)
		MPI_Barrier(MPI_COMM_WORLD);
	else
		MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD);
}

static void wait_follow(enum wait wait)
{
	int there = 0;

	if (wait == WAIT_BARRIER) {
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	while (!there)
		MPI_Iprobe(
			0, TAG_DONE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
	MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
}

static void slice_lead(struct side *s, struct slice *slice, enum wait wait)
{
	put_batch(s); /* until rank 1 waits, and everything is in its cache */
	add_batch(s);
	for (int i = 0; i < BATCHES; i++) {
		slice->ns[KIND_PUT][i] = batch_ns(s, put_batch);
		slice->ns[KIND_ADD][i] = batch_ns(s, add_batch);
	}
	wait_end(wait);
}

/* Everything that was flushed must be in the target's memory. */
static void slice_follow(struct side *s, enum wait wait)
{
	const uint64_t more = (1 + BATCHES) * OPERATIONS;

	wait_follow(wait);
	MPI_Win_sync(s->window);
	if (s->memory->put != (s->done[KIND_PUT] += more))
		fail("a put that was flushed is not there");
	if (s->memory->sum != (s->done[KIND_ADD] += more))
		fail("the sum at the target is wrong");
}

static void lead(struct side *s, struct slice *slices)
{
	double before = handover_lead(s);
	uint64_t switches = switches_of_both(s);

	for (size_t i = 0; i < SLICES; i++) {
		slice_lead(s, &slices[i], slice_wait(i));
		double after = handover_lead(s);
		uint64_t now = switches_of_both(s);
		slices[i].round = (struct round){
			.reference_ns = { before, after },
			.references = 2,
			.switches = (uint32_t)(now - switches),
		};
		before = after;
		switches = now;
	}
}

static void follow(struct side *s)
{
	handover_follow(s);
	for (size_t i = 0; i < SLICES; i++) {
		slice_follow(s, slice_wait(i));
		handover_follow(s);
	}
}

/* ---- the line of JSON ---- */

static void report(struct slice *slices, const char *window)
{
	int kept = slices_settle(slices);

	if (kept < 0)
		fail("out of memory");

	printf("{\"peer\":\"" PEER "\",\"version\":\"" PEER_NUMBER "\","
	       "\"window\":\"%s\",\"tried\":%d,\"kept\":%d,",
		window, SLICES, kept);
	if (kept < SLICES / 2) {
		printf("\"refused\":true,"
		       "\"why\":\"hand-overs disagree or processes were "
		       "switched out\"}\n");
		return;
	}
	struct figure put = figure_of(slices, KIND_PUT);
	struct figure add = figure_of(slices, KIND_ADD);
	printf("\"refused\":false,\"handover_ns\":%.2f,"
	       "\"put_flush_ns\":%.2f,\"put_flush_wait\":\"%s\","
	       "\"fetch_add_ns\":%.2f,\"fetch_add_wait\":\"%s\","
	       "\"samples\":%zu}\n",
		figure_handover_ns(slices), put.ns, wait_name(put.wait), add.ns,
		wait_name(add.wait),
		put.samples < add.samples ? put.samples : add.samples);
}

/* ---- set-up ---- */

static void side_pin(int rank)
{
	const int wish[2] = { -1, -1 };
	int cores[2];
	cpu_set_t set;

	if (cores_choose(wish, cores))
		fail("cannot choose cores; does the launcher bind processes?");
	CPU_ZERO(&set);
	CPU_SET(cores[rank], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity failed");
}

/* The board lies in memory of rank 0. */
static void board_open(struct side *s)
{
	MPI_Aint bytes;
	int unit;

	MPI_Win_allocate_shared(s->rank == 0 ? sizeof(*s->board) : 0, 1,
		MPI_INFO_NULL, MPI_COMM_WORLD, &s->board, &s->board_window);
	MPI_Win_shared_query(s->board_window, 0, &bytes, &unit, &s->board);
	if (s->rank == 0)
		memset(s->board, 0, sizeof(*s->board));
}

static void window_open(struct side *s, bool create)
{
	const MPI_Aint bytes = sizeof(*s->memory);

	if (create) {
		s->own = malloc(sizeof(*s->memory));
		s->memory = s->own;
		if (!s->memory)
			fail("out of memory");
		MPI_Win_create(s->memory, bytes, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, &s->window);
	} else {
		MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			&s->memory, &s->window);
	}
	memset(s->memory, 0, sizeof(*s->memory));
	MPI_Win_lock_all(0, s->window);
	MPI_Win_sync(s->window);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void side_close(struct side *s)
{
	MPI_Win_unlock_all(s->window);
	MPI_Win_free(&s->window);
	MPI_Win_free(&s->board_window);
	free(s->own);
}

static void side_run(struct side *s, const char *window)
{
	static struct slice slices[SLICES];

	if (s->rank == 0) {
		s->tick_ns = tick_calibrate_ns();
		lead(s, slices);
		report(slices, window);
	} else {
		follow(s);
	}
}

int main(int argc, char **argv)
{
	struct side side = { 0 };
	const char *window = argc > 1 ? argv[1] : "allocate";
	bool create = strcmp(window, "create") == 0;
	int ranks;

	if (!create && strcmp(window, "allocate") != 0) {
		fprintf(stderr, "usage: mpirun -n 2 rma [allocate | create]\n");
		return 2;
	}
	/* Bounds every wait for the other rank: the signal ends the job. */
	alarm(SECONDS_MAX);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &side.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		fail("needs two processes: mpirun -n 2");
	side_pin(side.rank);
	board_open(&side);
	window_open(&side, create);
	side_run(&side, window);
	side_close(&side);
	MPI_Finalize();
	return 0;
}
