/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two groups: messages and collectives across an intercommunicator, with groups
 * of unequal size, then both merged into one.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

#define COUNT 3000

static MPI_Comm comm; /* between the groups */
static int me, size, others;
static bool low; /* in the group with the lower ranks */
static int *out, *in;

/* Numbers that are unique in the world, the low group first. */
static int name_of(bool in_low, int rank)
{
	return in_low ? rank : 1000 + rank;
}

static int my_name(void)
{
	return name_of(low, me);
}

static void messages(void)
{
	MPI_Request *requests = allocate(others * sizeof(*requests));

	for (int i = 0; i < others; i++) {
		items_fill(out + i * COUNT, COUNT, my_name(), name_of(!low, i));
		MPI_Isend(out + i * COUNT, COUNT, MPI_INT, i, me, comm,
			&requests[i]);
	}
	for (int i = 0; i < others; i++) {
		MPI_Status status;
		MPI_Recv(in, COUNT, MPI_INT, MPI_ANY_SOURCE, i, comm, &status);
		status_check(&status, i, i, MPI_INT, COUNT, "message");
		items_check(in, COUNT, name_of(!low, i), my_name(),
			"message across");
	}
	MPI_Waitall(others, requests, MPI_STATUSES_IGNORE);
	free(requests);
}

/* The root is in one group and sends to the other. */
static int root_of(bool root_low, int root)
{
	if (low != root_low)
		return root;
	return me == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void bcast(bool root_low)
{
	items_fill(out, COUNT, my_name(), 0);
	MPI_Bcast(low == root_low ? out : in, COUNT, MPI_INT,
		root_of(root_low, 0), comm);
	if (low != root_low)
		items_check(in, COUNT, name_of(root_low, 0), 0, "MPI_Bcast");
}

static void gather(bool root_low)
{
	items_fill(out, COUNT, my_name(), 0);
	MPI_Gather(out, COUNT, MPI_INT, in, COUNT, MPI_INT,
		root_of(root_low, 0), comm);
	for (int i = 0; i < others && root_of(root_low, 0) == MPI_ROOT; i++)
		items_check(in + i * COUNT, COUNT, name_of(!low, i), 0,
			"MPI_Gather");
}

static void scatter(bool root_low)
{
	for (int i = 0; i < others; i++)
		items_fill(out + i * COUNT, COUNT, my_name(), name_of(!low, i));
	MPI_Scatter(out, COUNT, MPI_INT, in, COUNT, MPI_INT,
		root_of(root_low, 0), comm);
	if (low != root_low)
		items_check(in, COUNT, name_of(root_low, 0), my_name(),
			"MPI_Scatter");
}

static void allgather(void)
{
	items_fill(out, COUNT, my_name(), 0);
	MPI_Allgather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
	for (int i = 0; i < others; i++)
		items_check(in + i * COUNT, COUNT, name_of(!low, i), 0,
			"MPI_Allgather");
}

static void alltoall(void)
{
	for (int i = 0; i < others; i++)
		items_fill(out + i * COUNT, COUNT, my_name(), name_of(!low, i));
	MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
	for (int i = 0; i < others; i++)
		items_check(in + i * COUNT, COUNT, name_of(!low, i), my_name(),
			"MPI_Alltoall");
}

static void sum_check(const char *what)
{
	for (int i = 0; i < COUNT; i++) {
		unsigned sum = 0;
		for (int from = 0; from < others; from++)
			sum += (unsigned)item(name_of(!low, from), 0, i);
		CHECK(in[i] == (int)sum, "%s: item %d is %d instead of %d",
			what, i, in[i], (int)sum);
	}
}

static void reduce(bool root_low)
{
	items_fill(out, COUNT, my_name(), 0);
	MPI_Reduce(
		out, in, COUNT, MPI_INT, MPI_SUM, root_of(root_low, 0), comm);
	if (root_of(root_low, 0) == MPI_ROOT)
		sum_check("MPI_Reduce");
	MPI_Allreduce(out, in, COUNT, MPI_INT, MPI_SUM, comm);
	sum_check("MPI_Allreduce");
}

static void merge(void)
{
	MPI_Comm all;
	int rank, sum;

	MPI_Intercomm_merge(comm, !low, &all);
	MPI_Comm_rank(all, &rank);
	CHECK(rank == my_rank, "merged: rank %d instead of %d", rank, my_rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
	CHECK(sum == ranks * (ranks - 1) / 2, "merged: sum %d", sum);
	MPI_Comm_free(&all);
}

static void everything(void)
{
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	MPI_Comm_remote_size(comm, &others);
	int most = size > others ? size : others;
	out = allocate(most * COUNT * sizeof(int));
	in = allocate(most * COUNT * sizeof(int));
	messages();
	MPI_Barrier(comm);
	for (int i = 0; i < 2; i++) {
		bcast(i);
		gather(i);
		scatter(i);
		reduce(i);
	}
	allgather();
	alltoall();
	merge();
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "intercomm");
	CHECK(ranks >= 2, "needs two ranks");
	for (int border = 1; border < ranks; border += (ranks + 2) / 3) {
		MPI_Comm group;
		low = my_rank < border;
		MPI_Comm_split(MPI_COMM_WORLD, low, my_rank, &group);
		MPI_Intercomm_create(
			group, 0, MPI_COMM_WORLD, low ? border : 0, 5, &comm);
		everything();
		MPI_Comm_free(&comm);
		MPI_Comm_free(&group);
	}
	return check_end();
}
