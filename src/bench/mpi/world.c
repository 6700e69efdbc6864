/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory, pinning and reports of MPI processes. */
#include "bench/mpi/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/cores.h"

#define SECONDS_MAX 120 /* of the whole run */
#define ALIGN	    4096

_Noreturn void world_fail(const struct world *w, const char *reason)
{
	fprintf(stderr, "%s: %s\n", w->report.program, reason);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void world_open(struct world *w, const char *program, const char *samples)
{
	const int any[2] = { -1, -1 };
	int ranks, length;

	*w = (struct world){ .report = { .out = stdout,
				     .json = true,
				     .program = program,
				     .command = program,
				     .version = w->version } };
	/* Bounds every wait for the other rank: the signal ends the job. */
	alarm(SECONDS_MAX);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		world_fail(w, "two processes are needed: mpirun -n 2");
	if (cores_select(program, any, w->report.core) ||
		cores_pin(&w->report.core[w->rank], 1))
		world_fail(w, "cannot pin; does the launcher bind processes?");
	/* "Open MPI v4.1.4, ..." or "MPICH Version:\t4.0.2\n..." */
	MPI_Get_library_version(w->version, &length);
	w->version[strcspn(w->version, ",\n")] = 0;
	if (w->rank == 0 && report_begin(&w->report, samples))
		world_fail(w, "cannot start the report");
}

void world_measure(struct world *w, const struct bench_case *bc)
{
	MPI_Aint bytes = (MPI_Aint)group_bytes(measurement_bytes(bc)) + ALIGN;
	struct measurement m = { 0 };
	struct group group;
	MPI_Win window;
	void *memory;
	int unit;

	/* Rank 0's memory, mapped at whole pages in both ranks. */
	MPI_Win_allocate_shared(w->rank == 0 ? bytes : 0, 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &window);
	MPI_Win_shared_query(window, 0, &bytes, &unit, &memory);
	group_attach(&group, 2, (void *)bits_round_up((uintptr_t)memory, ALIGN),
		measurement_bytes(bc));
	if (w->rank == 0)
		measurement_init(bc, &group);
	MPI_Barrier(MPI_COMM_WORLD);
	int r = measurement_rank(bc, &group, (unsigned)w->rank);
	if (r)
		world_fail(w, group.page->text);
	if (w->rank == 0) {
		r = measurement_collect(bc, &group, 0, &m);
		report_add(&w->report, bc, &m, r);
		measurement_free(&m);
	}
	MPI_Win_free(&window);
}

void world_close(struct world *w)
{
	if (w->rank == 0 && report_end(&w->report) == REPORT_FAILED)
		world_fail(w, "no report");
	MPI_Finalize();
}
