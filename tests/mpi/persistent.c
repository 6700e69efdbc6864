/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Persistent requests: set up once, started many times, in a ring, with every
 * kind of send; some are freed while they are inactive.
 */
#include <stdlib.h>

#include "check.h"

#define STARTS 20
#define KINDS  3 /* of sends; a ready send needs a posted receive */

static const int lengths[] = { 0, 8, 5000, 300 * KIB };
#define LENGTHS (int)(sizeof(lengths) / sizeof(*lengths))

struct pair {
	char *out[KINDS], *in[KINDS];
	MPI_Request requests[2 * KINDS]; /* receives, then sends */
};

static int next, previous;

static void pair_open(struct pair *pair, int length)
{
	for (int i = 0; i < KINDS; i++) {
		pair->out[i] = allocate(length);
		pair->in[i] = allocate(length);
		MPI_Recv_init(pair->in[i], length, MPI_BYTE, previous, i,
			MPI_COMM_WORLD, &pair->requests[i]);
	}
	MPI_Request *sends = pair->requests + KINDS;
	MPI_Send_init(pair->out[0], length, MPI_BYTE, next, 0, MPI_COMM_WORLD,
		&sends[0]);
	MPI_Ssend_init(pair->out[1], length, MPI_BYTE, next, 1, MPI_COMM_WORLD,
		&sends[1]);
	MPI_Rsend_init(pair->out[2], length, MPI_BYTE, next, 2, MPI_COMM_WORLD,
		&sends[2]);
}

static uint64_t seed_of(int from, int round, int kind)
{
	return (uint64_t)from << 32 ^ (unsigned)round << 8 ^ (unsigned)kind;
}

static void pair_round(struct pair *pair, int length, int round)
{
	for (int i = 0; i < KINDS; i++)
		bytes_fill(pair->out[i], length, seed_of(my_rank, round, i));
	MPI_Startall(KINDS, pair->requests);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Startall(KINDS, pair->requests + KINDS);
	MPI_Waitall(2 * KINDS, pair->requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < KINDS; i++)
		bytes_check(pair->in[i], length, seed_of(previous, round, i),
			"persistent");
}

static void pair_close(struct pair *pair)
{
	for (int i = 0; i < 2 * KINDS; i++)
		MPI_Request_free(&pair->requests[i]);
	for (int i = 0; i < KINDS; i++) {
		free(pair->out[i]);
		free(pair->in[i]);
	}
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "persistent");
	next = (my_rank + 1) % ranks;
	previous = (my_rank + ranks - 1) % ranks;
	for (int i = 0; i < LENGTHS; i++) {
		struct pair pair;
		pair_open(&pair, lengths[i]);
		for (int round = 0; round < STARTS; round++)
			pair_round(&pair, lengths[i], round);
		pair_close(&pair);
	}
	return check_end();
}
