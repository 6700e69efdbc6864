/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of a rank to itself, in MPI_COMM_SELF and in MPI_COMM_WORLD:
 * receive first, send first, combined, and several in flight.
 */
#include <stdlib.h>

#include "check.h"

#define LARGEST (3 * MIB)
#define SEVERAL 16

static const int lengths[] = { 0, 1, 100, 4 * KIB, 64 * KIB, LARGEST };
#define LENGTHS (int)(sizeof(lengths) / sizeof(*lengths))

static char *out, *in;

static void receive_first(MPI_Comm comm, int me, int length)
{
	MPI_Request request;
	MPI_Status status;

	bytes_fill(out, length, length);
	MPI_Irecv(in, LARGEST, MPI_BYTE, me, 3, comm, &request);
	MPI_Send(out, length, MPI_BYTE, me, 3, comm);
	MPI_Wait(&request, &status);
	status_check(&status, me, 3, MPI_BYTE, length, "receive first");
	bytes_check(in, length, length, "receive first");
}

static void send_first(MPI_Comm comm, int me, int length)
{
	MPI_Request request;
	MPI_Status status;

	bytes_fill(out, length, length + 1);
	MPI_Isend(out, length, MPI_BYTE, me, 4, comm, &request);
	MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
		&status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	status_check(&status, me, 4, MPI_BYTE, length, "send first");
	bytes_check(in, length, length + 1, "send first");
}

static void combined(MPI_Comm comm, int me, int length)
{
	MPI_Status status;

	bytes_fill(out, length, length + 2);
	MPI_Sendrecv(out, length, MPI_BYTE, me, 5, in, LARGEST, MPI_BYTE, me, 5,
		comm, &status);
	status_check(&status, me, 5, MPI_BYTE, length, "MPI_Sendrecv");
	bytes_check(in, length, length + 2, "MPI_Sendrecv");
}

static void several(MPI_Comm comm, int me, int length)
{
	MPI_Request requests[SEVERAL];
	int part = length / SEVERAL;

	for (int i = 0; i < SEVERAL; i++) {
		bytes_fill(out + i * part, part, i);
		MPI_Isend(out + i * part, part, MPI_BYTE, me, i, comm,
			&requests[i]);
	}
	for (int i = SEVERAL - 1; i >= 0; i--) {
		MPI_Recv(in, part, MPI_BYTE, me, i, comm, MPI_STATUS_IGNORE);
		bytes_check(in, part, i, "several");
	}
	MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE);
}

static void everything(MPI_Comm comm)
{
	int me;

	MPI_Comm_rank(comm, &me);
	for (int i = 0; i < LENGTHS; i++) {
		receive_first(comm, me, lengths[i]);
		send_first(comm, me, lengths[i]);
		combined(comm, me, lengths[i]);
		several(comm, me, lengths[i]);
	}
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "self");
	out = allocate(LARGEST);
	in = allocate(LARGEST);
	everything(MPI_COMM_SELF);
	everything(MPI_COMM_WORLD);
	free(out);
	free(in);
	return check_end();
}
