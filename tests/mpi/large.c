/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of 64 MiB, one way and both ways at once, and many long messages
 * in flight that are received in reverse order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define LARGE	(64 * MIB)
#define MANY	48
#define MIDDLE	(MIB + 3)
#define TAG	7
#define FURTHER 2 /* number of times a buffer is reused with new content */

static char *out, *in;
static int next, previous;

static void one_way(void)
{
	bytes_fill(out, LARGE, 1);
	if (my_rank == 0)
		MPI_Send(out, LARGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
	if (my_rank == 1) {
		MPI_Recv(in, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		bytes_check(in, LARGE, 1, "64 MiB, one way");
	}
}

/* Every rank sends to the next and receives from the previous one. */
static void both_ways(int round)
{
	MPI_Request requests[2];
	MPI_Status status[2];

	bytes_fill(out, LARGE, 100 * round + my_rank);
	MPI_Isend(
		out, LARGE, MPI_BYTE, next, TAG, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(in, LARGE, MPI_BYTE, previous, MPI_ANY_TAG, MPI_COMM_WORLD,
		&requests[1]);
	MPI_Waitall(2, requests, status);
	status_check(&status[1], previous, TAG, MPI_BYTE, LARGE, "both ways");
	bytes_check(in, LARGE, 100 * round + previous, "64 MiB, both ways");
}

static void send_many(MPI_Request *requests)
{
	for (int i = 0; i < MANY; i++) {
		char *at = out + (size_t)i * MIDDLE;
		bytes_fill(at, MIDDLE - i, 1000 * my_rank + i);
		MPI_Isend(at, MIDDLE - i, MPI_BYTE, next, i, MPI_COMM_WORLD,
			&requests[i]);
	}
}

static void receive_reverse(void)
{
	MPI_Status status;

	for (int i = MANY - 1; i >= 0; i--) {
		MPI_Recv(in, MIDDLE, MPI_BYTE, previous, i, MPI_COMM_WORLD,
			&status);
		status_check(&status, previous, i, MPI_BYTE, MIDDLE - i,
			"in reverse order");
		bytes_check(in, MIDDLE - i, 1000 * previous + i,
			"in reverse order");
	}
}

static void reverse(void)
{
	MPI_Request requests[MANY];

	send_many(requests);
	receive_reverse();
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

/* A message that is longer than the receive is an error, not an overrun. */
static void truncated(void)
{
	MPI_Comm comm;
	MPI_Request request;
	MPI_Status status;
	char *beyond = in + MIDDLE;
	int class;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	bytes_fill(out, 2 * MIDDLE, my_rank);
	for (int i = 0; i < KIB; i++)
		beyond[i] = (char)CANARY;
	MPI_Isend(out, 2 * MIDDLE, MPI_BYTE, next, TAG, comm, &request);
	int error =
		MPI_Recv(in, MIDDLE, MPI_BYTE, previous, TAG, comm, &status);
	MPI_Error_class(error, &class);
	CHECK(class == MPI_ERR_TRUNCATE, "truncation: error class %d", class);
	canary_check(beyond, KIB, "truncation");
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "large");
	CHECK(ranks >= 2, "needs two ranks");
	out = allocate(LARGE);
	in = allocate(LARGE);
	next = (my_rank + 1) % ranks;
	previous = (my_rank + ranks - 1) % ranks;

	one_way();
	for (int round = 0; round <= FURTHER; round++)
		both_ways(round);
	reverse();
	truncated();

	free(out);
	free(in);
	return check_end();
}
