/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided operations of an MPI: put of 8 bytes and fetch-and-add, each with
 * the flush that completes it at the target. tools/bench-rma builds this
 * program with each MPI's compiler, runs it between rounds of Cay, and reads
 * its JSON.
 *
 * usage: mpirun -n 2 rma [allocate | create]
 *
 *   allocate  the window's memory comes from MPI (MPI_Win_allocate)
 *   create    it is private memory (MPI_Win_create)
 *
 * Rank 0 is the origin. Rank 1 waits inside the library, because some windows
 * need its help; which call is faster depends on the MPI, so two workloads
 * alternate: waiting in MPI_Barrier and polling with MPI_Iprobe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/world.h"

enum {
	BYTES_APART = 128, /* no cache line in common */
	OPERATIONS = 64,   /* of a batch */
	ROUNDS = 60,
	TAG_DONE = 1,
};

/*
 * MPI guarantees no alignment, and may use lines around the memory. MPICH 4.0
 * loses puts to a window whose size is not a multiple of 16.
 */
struct memory {
	char before[BYTES_APART];
	uint64_t word;
	char after[2 * BYTES_APART - sizeof(uint64_t)];
};

struct origin {
	MPI_Win window;
	struct memory *memory; /* of this rank */
	void *private;	       /* MPI_Win_create: freed after the window */
	uint64_t done;
};

static bool create; /* MPI_Win_create instead of MPI_Win_allocate */

/* ---- windows ---- */

static int setup(struct side *s)
{
	const MPI_Aint bytes = sizeof(struct memory);
	struct origin *o = calloc(1, sizeof(*o));

	s->state = o;
	if (!o)
		return -ENOMEM;
	if (create) {
		o->memory = o->private = malloc(sizeof(*o->memory));
		if (!o->memory)
			return -ENOMEM;
		MPI_Win_create(o->memory, bytes, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, &o->window);
	} else {
		MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			&o->memory, &o->window);
	}
	memset(o->memory, 0, sizeof(*o->memory));
	MPI_Win_lock_all(0, o->window);
	MPI_Win_sync(o->window);
	MPI_Barrier(MPI_COMM_WORLD);
	return 0;
}

static void teardown(struct side *s)
{
	struct origin *o = s->state;

	/* The calls are collective: after a failure, the job is aborted. */
	if (group_check(s->group))
		return;
	MPI_Win_unlock_all(o->window);
	MPI_Win_free(&o->window);
	free(o->private);
	free(o);
}

/* ---- operations ---- */

static int put_flush(struct side *s)
{
	struct origin *o = s->state;
	uint64_t value = ++o->done;

	MPI_Put(&value, 1, MPI_UINT64_T, 1, offsetof(struct memory, word), 1,
		MPI_UINT64_T, o->window);
	MPI_Win_flush(1, o->window);
	return 0;
}

static int fetch_add(struct side *s)
{
	const uint64_t one = 1;
	struct origin *o = s->state;
	uint64_t before;

	MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1,
		offsetof(struct memory, word), MPI_SUM, o->window);
	MPI_Win_flush(1, o->window);
	return before == o->done++ ? 0 : -EBADMSG;
}

/* Runs operations until rank 1 waits and the word is in rank 0's cache. */
static int put_prepare(struct side *s)
{
	return workload_one_sided(s, OPERATIONS, put_flush);
}

static int add_prepare(struct side *s)
{
	return workload_one_sided(s, OPERATIONS, fetch_add);
}

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

static int add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

/* ---- rank 1 waits until rank 0 has finished ---- */

/* Everything that was flushed must be in the target's memory. */
static int check(struct side *s)
{
	struct origin *o = s->state;

	if (s->rank == 0)
		return 0;
	o->done += 2 * OPERATIONS; /* prepare and run */
	MPI_Win_sync(o->window);
	return o->memory->word == o->done ? 0 : -EBADMSG;
}

static int barrier_finish(struct side *s)
{
	MPI_Barrier(MPI_COMM_WORLD);
	return check(s);
}

static int probe_finish(struct side *s)
{
	int found = 0;

	if (s->rank == 0) {
		MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD);
		return 0;
	}
	while (!found)
		MPI_Iprobe(
			0, TAG_DONE, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
	MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	return check(s);
}

static const struct workload put_barrier = { "barrier", setup, teardown,
	put_prepare, put_run, barrier_finish, NULL };
static const struct workload put_probe = { "probe", setup, teardown,
	put_prepare, put_run, probe_finish, NULL };
static const struct workload add_barrier = { "barrier", setup, teardown,
	add_prepare, add_run, barrier_finish, NULL };
static const struct workload add_probe = { "probe", setup, teardown,
	add_prepare, add_run, probe_finish, NULL };

static void measure(struct world *w, const char *key,
	const struct workload *barrier, const struct workload *probe)
{
	struct bench_case bc = case_pinned("rma", "per operation", 8);

	snprintf(bc.label, sizeof(bc.label), "%s", key);
	snprintf(bc.key, sizeof(bc.key), "%s", key);
	bc.workload[1] = barrier;
	bc.workload[2] = probe;
	bc.workloads = 3;
	bc.measured = (struct sampling){
		.batches = 4, .iterations = OPERATIONS, .hops = 1
	};
	case_set_rounds(&bc, ROUNDS, ROUNDS, 10 * CLOCK_NS_PER_S);
	world_measure(w, &bc);
}

int main(int argc, char **argv)
{
	const char *window = argc > 1 ? argv[1] : "allocate";
	struct world world;

	create = strcmp(window, "create") == 0;
	if (!create && strcmp(window, "allocate") != 0) {
		fprintf(stderr, "usage: mpirun -n 2 rma [allocate | create]\n");
		return 2;
	}
	world_open(&world, "rma", NULL);
	measure(&world, "put_flush", &put_barrier, &put_probe);
	measure(&world, "fetch_add", &add_barrier, &add_probe);
	world_close(&world);
	return 0;
}
