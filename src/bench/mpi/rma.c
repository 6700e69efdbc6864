/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided operations of an MPI on a word of a window of MPI_Win_allocate,
 * each with the flush that completes it. Rank 0 is the origin. Rank 1 waits
 * inside the library, in MPI_Barrier, because some windows need its help.
 */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/session.h"
#include "bench/mpi/workloads.h"

enum {
	BYTES_APART = 128, /* no cache line in common */
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
	uint64_t done;
};

static int setup(struct side *s)
{
	struct origin *o = calloc(1, sizeof(*o));

	s->state = o;
	if (!o)
		return -ENOMEM;
	MPI_Win_allocate(sizeof(struct memory), 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &o->memory, &o->window);
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

static int get_flush(struct side *s)
{
	struct origin *o = s->state;
	uint64_t value = 1;

	MPI_Get(&value, 1, MPI_UINT64_T, 1, offsetof(struct memory, word), 1,
		MPI_UINT64_T, o->window);
	MPI_Win_flush(1, o->window);
	return value == 0 ? 0 : -EBADMSG;
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

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

static int get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_flush);
}

static int add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

/* Runs operations until rank 1 waits and the word is in rank 0's cache. */
static int put_prepare(struct side *s)
{
	return put_run(s, SESSION_OPERATIONS);
}

static int get_prepare(struct side *s)
{
	return get_run(s, SESSION_OPERATIONS);
}

static int add_prepare(struct side *s)
{
	return add_run(s, SESSION_OPERATIONS);
}

/* Rank 1 waits until rank 0 has finished. */
static int get_finish(struct side *s)
{
	(void)s;
	MPI_Barrier(MPI_COMM_WORLD);
	return 0;
}

/* Everything that was flushed must be in the target's memory. */
static int update_finish(struct side *s)
{
	struct origin *o = s->state;

	MPI_Barrier(MPI_COMM_WORLD);
	if (s->rank == 0)
		return 0;
	o->done += 2 * SESSION_OPERATIONS; /* prepare and run */
	MPI_Win_sync(o->window);
	return o->memory->word == o->done ? 0 : -EBADMSG;
}

const struct workload mpi_put_workload = { "mpi", setup, teardown, put_prepare,
	put_run, update_finish, NULL };
const struct workload mpi_get_workload = { "mpi", setup, teardown, get_prepare,
	get_run, get_finish, NULL };
const struct workload mpi_fetch_add_workload = { "mpi", setup, teardown,
	add_prepare, add_run, update_finish, NULL };
