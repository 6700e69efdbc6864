/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An MPI ring: a token passes all ranks, and each adds its number. This is an
 * ordinary MPI program; Open MPI uses Cay through libfabric:
 *
 *	mpicc ring_mpi.c -o ring_mpi
 *	mpirun -n 4 --mca pml cm --mca mtl ofi \
 *		--mca mtl_ofi_provider_include cay ./ring_mpi
 *
 * If libfabric does not find Cay's provider, name the folder of libcay-fi.so:
 *-x FI_PROVIDER_PATH=/usr/local/lib/libfabric, for example.
 */
#include <mpi.h>
#include <stdio.h>

#define LAPS 50

int main(int argc, char **argv)
{
	int rank, ranks;
	long token = 0;

	/* MPI ends all ranks with a message if a call fails. */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int next = (rank + 1) % ranks;
	int previous = (rank + ranks - 1) % ranks;
	for (int lap = 0; lap < LAPS && ranks > 1; lap++) {
		if (rank > 0)
			MPI_Recv(&token, 1, MPI_LONG, previous, lap,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		token += rank;
		MPI_Send(&token, 1, MPI_LONG, next, lap, MPI_COMM_WORLD);
		if (rank == 0)
			MPI_Recv(&token, 1, MPI_LONG, previous, lap,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	long expected = (long)LAPS * ranks * (ranks - 1) / 2;
	int failed = rank == 0 && token != expected;
	if (rank == 0)
		printf("%d ranks, %d laps, sum %ld: %s\n", ranks, LAPS, token,
			failed ? "wrong" : "right");
	MPI_Finalize();
	return failed;
}
