/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collectives that move data: from each root, with several counts, in the
 * world, in a world of reversed order, in halves of it and in MPI_COMM_SELF.
 * The data from the j-th rank to the k-th is given by item().
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static MPI_Comm comm;
static int me, size;

/* Blocks of unequal length in reverse order, with gaps between them. */
struct layout {
	int *counts, *starts, total;
};

static struct layout layout_new(int count)
{
	struct layout l = { allocate(size * sizeof(int)),
		allocate(size * sizeof(int)), size * (count + size + 2) };

	for (int i = 0; i < size; i++) {
		l.counts[i] = count + i;
		l.starts[i] = (size - 1 - i) * (count + size + 2);
	}
	return l;
}

static void layout_free(struct layout *l)
{
	free(l->counts);
	free(l->starts);
}

/* Block i from rank i (to one), or to rank i (from one). */
static void layout_check(const struct layout *l, const int *items, int from,
	int to, const char *what)
{
	for (int i = 0; i < size; i++) {
		const int *block = items + l->starts[i];
		items_check(block, l->counts[i], from < 0 ? i : from,
			to < 0 ? i : to, what);
		canary_check(block + l->counts[i], 2 * sizeof(int), what);
	}
}

static void layout_fill(const struct layout *l, int *items, int from, int to)
{
	for (int i = 0; i < size; i++)
		items_fill(items + l->starts[i], l->counts[i],
			from < 0 ? i : from, to < 0 ? i : to);
}

static int *items_new(int count)
{
	return allocate(count * sizeof(int));
}

/* ---- one root ---- */

static void bcast(int root, int count)
{
	int *items = items_new(count);

	if (me == root)
		items_fill(items, count, root, 0);
	MPI_Bcast(items, count, MPI_INT, root, comm);
	items_check(items, count, root, 0, "MPI_Bcast");
	free(items);
}

static void gather(int root, int count)
{
	int *out = items_new(count), *in = items_new(count * size);

	items_fill(out, count, me, root);
	MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, comm);
	for (int i = 0; i < size && me == root; i++)
		items_check(in + i * count, count, i, root, "MPI_Gather");
	free(out);
	free(in);
}

static void gatherv(int root, int count)
{
	struct layout l = layout_new(count);
	int *out = items_new(l.counts[me]), *in = items_new(l.total);

	items_fill(out, l.counts[me], me, root);
	MPI_Gatherv(out, l.counts[me], MPI_INT, in, l.counts, l.starts, MPI_INT,
		root, comm);
	if (me == root)
		layout_check(&l, in, -1, root, "MPI_Gatherv");
	free(out);
	free(in);
	layout_free(&l);
}

static void scatter(int root, int count)
{
	int *out = items_new(count * size), *in = items_new(count);

	for (int i = 0; i < size && me == root; i++)
		items_fill(out + i * count, count, root, i);
	MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, comm);
	items_check(in, count, root, me, "MPI_Scatter");
	free(out);
	free(in);
}

static void scatterv(int root, int count)
{
	struct layout l = layout_new(count);
	int *out = items_new(l.total), *in = items_new(l.counts[me]);

	if (me == root)
		layout_fill(&l, out, root, -1);
	MPI_Scatterv(out, l.counts, l.starts, MPI_INT, in, l.counts[me],
		MPI_INT, root, comm);
	items_check(in, l.counts[me], root, me, "MPI_Scatterv");
	free(out);
	free(in);
	layout_free(&l);
}

/* ---- all to all ---- */

static void allgather(int count)
{
	int *in = items_new(count * size);

	items_fill(in + me * count, count, me, 0);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in, count, MPI_INT, comm);
	for (int i = 0; i < size; i++)
		items_check(in + i * count, count, i, 0, "MPI_Allgather");
	free(in);
}

static void allgatherv(int count)
{
	struct layout l = layout_new(count);
	int *out = items_new(l.counts[me]), *in = items_new(l.total);

	items_fill(out, l.counts[me], me, 0);
	MPI_Allgatherv(out, l.counts[me], MPI_INT, in, l.counts, l.starts,
		MPI_INT, comm);
	layout_check(&l, in, -1, 0, "MPI_Allgatherv");
	free(out);
	free(in);
	layout_free(&l);
}

static void alltoall(int count)
{
	int *out = items_new(count * size), *in = items_new(count * size);

	for (int i = 0; i < size; i++)
		items_fill(out + i * count, count, me, i);
	MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
	for (int i = 0; i < size; i++)
		items_check(in + i * count, count, i, me, "MPI_Alltoall");
	free(out);
	free(in);
}

/* Rank j sends count + j + k items to rank k. */
static void alltoallv(int count)
{
	struct layout l = layout_new(count + size);
	int *out = items_new(l.total), *in = items_new(l.total);

	for (int i = 0; i < size; i++)
		l.counts[i] = count + me + i;
	layout_fill(&l, out, me, -1);
	MPI_Alltoallv(out, l.counts, l.starts, MPI_INT, in, l.counts, l.starts,
		MPI_INT, comm);
	layout_check(&l, in, -1, me, "MPI_Alltoallv");
	free(out);
	free(in);
	layout_free(&l);
}

/* Contiguous when sent, with gaps when received. */
struct transfers {
	MPI_Datatype *types;
	int *counts, *starts;
};

static struct transfers transfers_new(MPI_Datatype type, int count, int bytes)
{
	struct transfers t = { allocate(size * sizeof(*t.types)),
		items_new(size), items_new(size) };

	for (int i = 0; i < size; i++) {
		t.types[i] = type;
		t.counts[i] = count;
		t.starts[i] = i * bytes;
	}
	return t;
}

static void transfers_free(struct transfers *t)
{
	free(t->types);
	free(t->counts);
	free(t->starts);
}

static void gaps_check(const int *in, int count)
{
	for (int i = 0; i < count * size; i++) {
		int wanted = item(i / count, me, i % count);
		CHECK(in[2 * i] == wanted,
			"MPI_Alltoallw: item %d from %d is %d instead of %d",
			i % count, i / count, in[2 * i], wanted);
		canary_check(&in[2 * i + 1], sizeof(int), "MPI_Alltoallw");
	}
}

static void alltoallw(int count)
{
	int bytes = count * (int)sizeof(int);
	int *out = items_new(count * size), *in = items_new(2 * count * size);
	MPI_Datatype gaps;

	MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	struct transfers row = transfers_new(MPI_INT, count, bytes);
	struct transfers column = transfers_new(gaps, 1, 2 * bytes);
	for (int i = 0; i < size; i++)
		items_fill(out + i * count, count, me, i);
	MPI_Alltoallw(out, row.counts, row.starts, row.types, in, column.counts,
		column.starts, column.types, comm);
	gaps_check(in, count);
	transfers_free(&row);
	transfers_free(&column);
	MPI_Type_free(&gaps);
	free(out);
	free(in);
}

/* A clock that all ranks share; MPI_Wtime() need not be one. */
static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* No rank leaves the barrier before the last one enters it. */
static void barrier(void)
{
	for (int late = 0; late < size; late++) {
		if (me == late)
			usleep(1000);
		double came = now_s(), last;
		MPI_Barrier(comm);
		double left = now_s(), first;
		MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
		MPI_Allreduce(&left, &first, 1, MPI_DOUBLE, MPI_MIN, comm);
		CHECK(first >= last, "MPI_Barrier was left too early");
	}
}

static void everything(MPI_Comm which)
{
	static const int counts[] = { 0, 1, 17, 1024, 20000 };

	comm = which;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < 5; i++) {
		int step = counts[i] > 1024 && size > 4 ? size / 2 : 1;
		for (int root = 0; root < size; root += step) {
			bcast(root, counts[i]);
			gather(root, counts[i]);
			gatherv(root, counts[i]);
			scatter(root, counts[i]);
			scatterv(root, counts[i]);
		}
		allgather(counts[i]);
		allgatherv(counts[i]);
		alltoall(counts[i]);
		alltoallv(counts[i]);
		alltoallw(counts[i]);
	}
	barrier();
	bcast(size - 1, MIB);
}

int main(int argc, char **argv)
{
	MPI_Comm reversed, half;

	check_start(&argc, &argv, "collectives");
	MPI_Comm_split(MPI_COMM_WORLD, 0, -my_rank, &reversed);
	MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, my_rank, &half);
	everything(MPI_COMM_WORLD);
	everything(reversed);
	everything(half);
	everything(MPI_COMM_SELF);
	MPI_Comm_free(&reversed);
	MPI_Comm_free(&half);
	return check_end();
}
