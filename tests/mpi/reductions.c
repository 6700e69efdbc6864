/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collectives that compute, with every type and operation of reductions.h, in
 * the world and in halves of it.
 */
#include "reductions.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static MPI_Comm comm;
static int me, size;
static const struct reduction *kind;
static int count;
static char *out, *in; /* count items of each rank, and a few more */

static void prepare(int items)
{
	contribution_fill(kind, out, items, me);
	memset(in, CANARY, items * kind->bytes);
}

static void reduce(int root)
{
	prepare(count);
	MPI_Reduce(out, in, count, kind->type, kind->op, root, comm);
	if (me == root)
		result_check(kind, in, 0, count, 0, size - 1, "MPI_Reduce");
}

static void reduce_in_place(int root)
{
	prepare(count);
	memcpy(in, out, count * kind->bytes);
	MPI_Reduce(me == root ? MPI_IN_PLACE : out, in, count, kind->type,
		kind->op, root, comm);
	if (me == root)
		result_check(
			kind, in, 0, count, 0, size - 1, "MPI_Reduce in place");
}

static void allreduce(void)
{
	prepare(count);
	MPI_Allreduce(out, in, count, kind->type, kind->op, comm);
	result_check(kind, in, 0, count, 0, size - 1, "MPI_Allreduce");
	MPI_Allreduce(MPI_IN_PLACE, out, count, kind->type, kind->op, comm);
	result_check(
		kind, out, 0, count, 0, size - 1, "MPI_Allreduce in place");
}

static void reduce_scatter(void)
{
	int *counts = allocate(size * sizeof(int)), total = 0, at = 0;

	for (int i = 0; i < size; i++) {
		counts[i] = count + i % 2;
		at += i < me ? counts[i] : 0;
		total += counts[i];
	}
	prepare(total);
	MPI_Reduce_scatter(out, in, counts, kind->type, kind->op, comm);
	result_check(
		kind, in, at, counts[me], 0, size - 1, "MPI_Reduce_scatter");
	free(counts);
}

static void reduce_scatter_block(void)
{
	prepare(count * size);
	MPI_Reduce_scatter_block(out, in, count, kind->type, kind->op, comm);
	result_check(kind, in, count * me, count, 0, size - 1,
		"MPI_Reduce_scatter_block");
}

static void scan(void)
{
	prepare(count);
	MPI_Scan(out, in, count, kind->type, kind->op, comm);
	result_check(kind, in, 0, count, 0, me, "MPI_Scan");
}

static void exscan(void)
{
	prepare(count);
	MPI_Exscan(out, in, count, kind->type, kind->op, comm);
	if (me > 0)
		result_check(kind, in, 0, count, 0, me - 1, "MPI_Exscan");
}

static void everything(const struct reduction *which, int items)
{
	kind = which;
	count = items;
	out = allocate((items + 1) * size * kind->bytes);
	in = allocate((items + 1) * size * kind->bytes);
	reduce(0);
	reduce(size - 1);
	reduce_in_place(size / 2);
	allreduce();
	reduce_scatter();
	reduce_scatter_block();
	scan();
	exscan();
	free(out);
	free(in);
}

static void in_comm(MPI_Comm which)
{
	const struct reduction *list;
	int length = reductions_open(&list);

	comm = which;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < length; i++) {
		everything(&list[i], 1);
		everything(&list[i], 60);
		/* Long vectors are slow: each type once. */
		if (i == 0 || list[i].type != list[i - 1].type)
			everything(&list[i], 9000);
	}
	reductions_close();
}

int main(int argc, char **argv)
{
	MPI_Comm half;

	check_start(&argc, &argv, "reductions");
	in_comm(MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &half);
	in_comm(half);
	MPI_Comm_free(&half);
	return check_end();
}
