/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Non-blocking collectives: one of each kind in flight at the same time, on
 * one communicator, together with messages between the same ranks; completed
 * by MPI_Waitall, then by polling.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

#define KINDS 17
#define TAG   3

static int count;
static int *out[KINDS], *in[KINDS];
static int *counts, *starts, *byte_starts;
static MPI_Datatype *types;
static MPI_Request requests[KINDS + 2];

/* Every rank sends a block of count items to every other. */
static void shapes_open(void)
{
	counts = allocate(ranks * sizeof(int));
	starts = allocate(ranks * sizeof(int));
	byte_starts = allocate(ranks * sizeof(int));
	types = allocate(ranks * sizeof(*types));
	for (int i = 0; i < ranks; i++) {
		counts[i] = count;
		starts[i] = i * count;
		byte_starts[i] = i * count * (int)sizeof(int);
		types[i] = MPI_INT;
	}
	for (int k = 0; k < KINDS; k++) {
		out[k] = allocate(ranks * count * sizeof(int));
		in[k] = allocate(ranks * count * sizeof(int));
		for (int i = 0; i < ranks; i++)
			items_fill(out[k] + i * count, count, my_rank, i);
	}
}

static void shapes_close(void)
{
	for (int k = 0; k < KINDS; k++) {
		free(out[k]);
		free(in[k]);
	}
	free(counts);
	free(starts);
	free(byte_starts);
	free(types);
}

#define ALL  count, MPI_INT
#define EACH counts, starts, MPI_INT

static int start_moving(MPI_Comm comm, int root)
{
	MPI_Request *r = requests;

	MPI_Ibarrier(comm, r++);
	MPI_Ibcast(out[1], ALL, root, comm, r++);
	MPI_Igather(out[2], ALL, in[2], ALL, root, comm, r++);
	MPI_Igatherv(out[3], ALL, in[3], EACH, root, comm, r++);
	MPI_Iscatter(out[4], ALL, in[4], ALL, root, comm, r++);
	MPI_Iscatterv(out[5], EACH, in[5], ALL, root, comm, r++);
	MPI_Iallgather(out[6], ALL, in[6], ALL, comm, r++);
	MPI_Iallgatherv(out[7], ALL, in[7], EACH, comm, r++);
	MPI_Ialltoall(out[8], ALL, in[8], ALL, comm, r++);
	MPI_Ialltoallv(out[9], EACH, in[9], EACH, comm, r++);
	MPI_Ialltoallw(out[10], counts, byte_starts, types, in[10], counts,
		byte_starts, types, comm, r++);
	return (int)(r - requests);
}

static int start_computing(MPI_Comm comm, int root, int at)
{
	MPI_Request *r = requests + at;

	MPI_Ireduce(out[11], in[11], ALL, MPI_SUM, root, comm, r++);
	MPI_Iallreduce(out[12], in[12], ALL, MPI_SUM, comm, r++);
	MPI_Ireduce_scatter(
		out[13], in[13], counts, MPI_INT, MPI_SUM, comm, r++);
	MPI_Ireduce_scatter_block(out[14], in[14], ALL, MPI_SUM, comm, r++);
	MPI_Iscan(out[15], in[15], ALL, MPI_SUM, comm, r++);
	MPI_Iexscan(out[16], in[16], ALL, MPI_SUM, comm, r++);
	return (int)(r - requests);
}

static int start_messages(MPI_Comm comm, int at, int *message)
{
	int next = (my_rank + 1) % ranks;
	int previous = (my_rank + ranks - 1) % ranks;

	message[0] = my_rank;
	MPI_Irecv(&message[1], 1, MPI_INT, previous, TAG, comm, &requests[at]);
	MPI_Isend(&message[0], 1, MPI_INT, next, TAG, comm, &requests[at + 1]);
	return at + 2;
}

/* The sum over ranks first to last of their i-th item for a rank. */
static void sum_check(
	const int *items, int to, int first, int last, const char *what)
{
	for (int i = 0; i < count; i++) {
		unsigned sum = 0;
		for (int from = first; from <= last; from++)
			sum += (unsigned)item(from, to, i);
		CHECK(items[i] == (int)sum, "%s: item %d is %d instead of %d",
			what, i, items[i], (int)sum);
	}
}

static void blocks_check(int kind, int to, const char *what)
{
	for (int i = 0; i < ranks; i++)
		items_check(in[kind] + i * count, count, i, to, what);
}

static void moving_check(int root)
{
	items_check(out[1], count, root, 0, "MPI_Ibcast");
	if (my_rank == root) {
		blocks_check(2, 0, "MPI_Igather");
		blocks_check(3, 0, "MPI_Igatherv");
	}
	items_check(in[4], count, root, my_rank, "MPI_Iscatter");
	items_check(in[5], count, root, my_rank, "MPI_Iscatterv");
	blocks_check(6, 0, "MPI_Iallgather");
	blocks_check(7, 0, "MPI_Iallgatherv");
	blocks_check(8, my_rank, "MPI_Ialltoall");
	blocks_check(9, my_rank, "MPI_Ialltoallv");
	blocks_check(10, my_rank, "MPI_Ialltoallw");
}

static void computing_check(int root)
{
	int last = ranks - 1;

	if (my_rank == root)
		sum_check(in[11], 0, 0, last, "MPI_Ireduce");
	sum_check(in[12], 0, 0, last, "MPI_Iallreduce");
	sum_check(in[13], my_rank, 0, last, "MPI_Ireduce_scatter");
	sum_check(in[14], my_rank, 0, last, "MPI_Ireduce_scatter_block");
	sum_check(in[15], 0, 0, my_rank, "MPI_Iscan");
	if (my_rank > 0)
		sum_check(in[16], 0, 0, my_rank - 1, "MPI_Iexscan");
}

static void complete(int under_way, bool polling)
{
	int done = 0;

	if (!polling)
		MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
	while (polling && !done)
		MPI_Testall(under_way, requests, &done, MPI_STATUSES_IGNORE);
}

static void everything(MPI_Comm comm, int root, bool polling)
{
	int message[2];

	shapes_open();
	int under_way = start_moving(comm, root);
	under_way = start_computing(comm, root, under_way);
	under_way = start_messages(comm, under_way, message);
	complete(under_way, polling);
	moving_check(root);
	computing_check(root);
	CHECK(message[1] == (my_rank + ranks - 1) % ranks,
		"a message beside collectives has %d", message[1]);
	shapes_close();
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1, 50, 3000, 40000 };
	MPI_Comm comm;

	check_start(&argc, &argv, "nonblocking");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < 4; i++) {
		count = sizes[i] / (ranks > 8 ? 4 : 1) + 1;
		everything(comm, i % ranks, false);
		everything(comm, ranks - 1, true);
	}
	MPI_Comm_free(&comm);
	return check_end();
}
