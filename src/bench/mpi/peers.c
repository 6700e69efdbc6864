/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session in processes that an MPI launcher has started:
 *
 *	mpirun -n RANKS PROGRAM SOCKET
 *
 * Without the socket it is a job that only starts, meets once, and ends.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/cores.h"
#include "bench/harness/session.h"
#include "bench/mpi/workloads.h"

#define ALIGN 4096

static const struct workload *workload_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	switch (kind) {
	case SESSION_LATENCY:
	case SESSION_RING:
		return &mpi_ping_workload;
	case SESSION_RATE:
		return &mpi_stream_workload;
	case SESSION_PUT_FLUSH:
		return &mpi_put_workload;
	case SESSION_GET:
		return &mpi_get_workload;
	case SESSION_FETCH_ADD:
		return &mpi_fetch_add_workload;
	case SESSION_ALLREDUCE:
		return &mpi_allreduce_workload;
	case SESSION_ALLTOALL:
		return &mpi_alltoall_workload;
	default:
		return NULL;
	}
}

static int fail(const char *reason)
{
	fprintf(stderr, "bench-mpi: %s\n", reason);
	return MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	const int any[2] = { -1, -1 };
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	struct session_peer peer = {
		.name = "mpi", .version = version, .workload = workload_of
	};
	MPI_Aint bytes = (MPI_Aint)group_bytes(session_bytes(&peer)) + ALIGN;
	int rank, ranks, length, unit;
	struct group group;
	MPI_Win window;
	void *memory;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 1) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Finalize();
		return 0;
	}
	if (argc != 2 || ranks < 2 || ranks > (int)GROUP_RANKS_MAX)
		return fail("usage: mpirun -n RANKS bench-mpi SOCKET");
	/* "Open MPI v4.1.4, ..." or "MPICH Version:\t4.0.2\n..." */
	MPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = 0;
	/* Rank 0's memory, mapped at whole pages in all ranks. */
	MPI_Win_allocate_shared(rank == 0 ? bytes : 0, 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &window);
	MPI_Win_shared_query(window, 0, &bytes, &unit, &memory);
	group_attach(&group, (unsigned)ranks,
		(void *)bits_round_up((uintptr_t)memory, ALIGN),
		session_bytes(&peer));
	if (rank == 0)
		memset(memory, 0, (size_t)bytes);
	if (cores_select("bench-mpi", any, group.core) ||
		(ranks == 2 ? cores_pin(&group.core[rank], 1)
			    : cores_pin(group.core, 2)))
		return fail("cannot pin; does the launcher bind processes?");
	MPI_Barrier(MPI_COMM_WORLD);
	if (session_rank(&group, (unsigned)rank, &peer, argv[1]))
		return fail(group.page->text);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
