/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations on remote memory: MPI_Accumulate, MPI_Get_accumulate,
 * MPI_Fetch_and_op, MPI_Compare_and_swap, with the types and operations of
 * reductions.h, and with MPI_REPLACE and MPI_NO_OP. First one rank at a time
 * on the window of the next, so that results are known; then all ranks on the
 * window of rank 0 at once.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "reductions.h"
#include "window.h"

#define COUNT_MAX 3000
#define ITEM_MAX  16 /* bytes */

static struct window *w;
static int next;
static char *out, *in;

/* Fills the window with the contribution of `rank`. */
static void window_fill(const struct reduction *kind, int count, int rank)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, w->win);
	contribution_fill(kind, w->memory, count, rank);
	MPI_Win_unlock(my_rank, w->win);
	memset(in, CANARY, count * kind->bytes);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The content of a window after `op` is op(old, new). */
static void window_check(
	const struct reduction *kind, int count, int last, const char *what)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, w->win);
	result_check(kind, w->memory, 0, count, 0, last, what);
	MPI_Win_unlock(my_rank, w->win);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* On every rank, old values are those of rank 0 and new ones of rank 1. */
static void accumulate(const struct reduction *kind, int count)
{
	window_fill(kind, count, 0);
	contribution_fill(kind, out, count, 1);
	MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win);
	MPI_Accumulate(out, count, kind->type, next, w->base[next], count,
		kind->type, kind->op, w->win);
	MPI_Win_unlock(next, w->win);
	window_check(kind, count, 1, "MPI_Accumulate");
}

static void get_accumulate(const struct reduction *kind, int count)
{
	window_fill(kind, count, 0);
	contribution_fill(kind, out, count, 1);
	MPI_Win_lock_all(0, w->win);
	MPI_Get_accumulate(out, count, kind->type, in, count, kind->type, next,
		w->base[next], count, kind->type, kind->op, w->win);
	MPI_Win_flush(next, w->win);
	result_check(kind, in, 0, count, 0, 0, "MPI_Get_accumulate, old");
	MPI_Win_unlock_all(w->win);
	window_check(kind, count, 1, "MPI_Get_accumulate");
}

static void fetch_and_op(const struct reduction *kind)
{
	window_fill(kind, 1, 0);
	contribution_fill(kind, out, 1, 1);
	MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win);
	MPI_Fetch_and_op(
		out, in, kind->type, next, w->base[next], kind->op, w->win);
	MPI_Win_unlock(next, w->win);
	result_check(kind, in, 0, 1, 0, 0, "MPI_Fetch_and_op, old");
	window_check(kind, 1, 1, "MPI_Fetch_and_op");
}

/* MPI_REPLACE by the contribution of rank 0, then MPI_NO_OP. */
static void replace(const struct reduction *kind, int count)
{
	window_fill(kind, count, 1);
	contribution_fill(kind, out, count, 0);
	MPI_Win_lock_all(0, w->win);
	MPI_Accumulate(out, count, kind->type, next, w->base[next], count,
		kind->type, MPI_REPLACE, w->win);
	MPI_Win_flush(next, w->win);
	MPI_Get_accumulate(NULL, 0, MPI_BYTE, in, count, kind->type, next,
		w->base[next], count, kind->type, MPI_NO_OP, w->win);
	MPI_Win_unlock_all(w->win);
	result_check(kind, in, 0, count, 0, 0, "MPI_NO_OP");
	window_check(kind, count, 0, "MPI_REPLACE");
}

/* All ranks at once; every order gives the same result. */
static void together(const struct reduction *kind, int count)
{
	window_fill(kind, count, 0);
	contribution_fill(kind, out, count, my_rank);
	MPI_Win_fence(0, w->win);
	if (my_rank)
		MPI_Accumulate(out, count, kind->type, 0, w->base[0], count,
			kind->type, kind->op, w->win);
	MPI_Win_fence(0, w->win);
	window_check(
		kind, count, my_rank ? 0 : ranks - 1, "MPI_Accumulate of all");
}

/* ---- compare and swap ---- */

struct integer {
	const char *name;
	MPI_Datatype type;
	int bytes;
};

/* Once with a wrong compare value, once with the right one. */
static void compare_and_swap(const struct integer *kind)
{
	uint64_t old = 17, wrong = 18, new = 99, found;

	MPI_Barrier(MPI_COMM_WORLD);
	memcpy(w->memory, &old, 8);
	MPI_Win_fence(0, w->win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
	for (int right = 0; right < 2; right++) {
		found = 0;
		MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win);
		MPI_Compare_and_swap(&new, right ? &old : &wrong, &found,
			kind->type, next, w->base[next], w->win);
		MPI_Win_unlock(next, w->win);
		CHECK(found == old, "MPI_Compare_and_swap of %s found %#lx",
			kind->name, found);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, w->win);
	memcpy(&found, w->memory, 8);
	MPI_Win_unlock(my_rank, w->win);
	CHECK(found == new, "MPI_Compare_and_swap of %s left %#lx", kind->name,
		found);
}

static void swaps(void)
{
	static const struct integer integers[] = { { "int8", MPI_INT8_T, 1 },
		{ "int16", MPI_INT16_T, 2 }, { "int", MPI_INT, 4 },
		{ "uint64", MPI_UINT64_T, 8 } };

	for (int i = 0; i < 4; i++)
		compare_and_swap(&integers[i]);
}

/* Operations that Open MPI's btl/ofi accepts and then aborts on. */
static bool btl_aborts(const struct reduction *kind)
{
	return limited &&
	       (kind->type == MPI_INT || kind->type == MPI_UINT64_T) &&
	       kind->op != MPI_SUM && kind->op != MPI_PROD;
}

static void operation(const struct reduction *kind, int count)
{
	accumulate(kind, count);
	get_accumulate(kind, count);
	replace(kind, count);
	together(kind, count);
	if (btl_aborts(kind))
		return;
	accumulate(kind, 1);
	fetch_and_op(kind);
	together(kind, 1);
}

static void everything(enum window_kind kind)
{
	struct window window = window_open(kind, COUNT_MAX * ITEM_MAX);
	const struct reduction *list;
	int length = reductions_open(&list);

	w = &window;
	/*
	 * The list ends with pair types, which Open MPI does not support here,
	 * and user-defined operations, which MPI does not allow.
	 */
	for (int i = 0; i < length && list[i].type != MPI_DOUBLE_INT; i++)
		operation(&list[i],
			i % 3 && !btl_aborts(&list[i]) ? 20 : COUNT_MAX);
	if (!limited || kind != WINDOW_ALLOCATE)
		swaps();
	reductions_close();
	window_close(&window);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "accumulate");
	out = allocate(COUNT_MAX * ITEM_MAX);
	in = allocate(COUNT_MAX * ITEM_MAX);
	next = (my_rank + 1) % ranks;
	for (int kind = 0; kind < WINDOW_KINDS; kind++)
		everything(kind);
	free(out);
	free(in);
	return check_end();
}
