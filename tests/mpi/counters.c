/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters that all ranks change at once, by different methods: fetch and
 * add, compare and swap in a loop, an exclusive lock around get and put, and
 * accumulates. No step may be lost and no value seen twice.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "window.h"

#define STEPS 200

enum cell {
	CELL_FETCH,
	CELL_SWAP,
	CELL_LOCK,
	CELL_SUM,
	CELL_COUNT,
};

struct number {
	const char *name;
	MPI_Datatype type;
	size_t bytes;
};

static const struct number numbers[] = { { "int", MPI_INT, 4 },
	{ "uint64", MPI_UINT64_T, 8 } };

static struct window *w;
static const struct number *n;
static int target;

static MPI_Aint place(enum cell cell)
{
	return w->base[target] + 8 * (MPI_Aint)cell;
}

/* Exactly one rank saw each value from 0 to ranks * STEPS. */
static void seen_check(const uint64_t *seen, const char *what)
{
	int total = ranks * STEPS;
	uint64_t *all = allocate(total * sizeof(*all));
	bool *there = calloc(total, sizeof(*there));

	CHECK(there, "no memory");
	MPI_Allgather(seen, STEPS, MPI_UINT64_T, all, STEPS, MPI_UINT64_T,
		MPI_COMM_WORLD);
	for (int i = 0; i < total; i++) {
		CHECK(all[i] < (uint64_t)total && !there[all[i]],
			"%s of %s: %lu was seen twice or never counted", what,
			n->name, all[i]);
		there[all[i]] = true;
	}
	free(all);
	free(there);
}

static void fetch(uint64_t *seen)
{
	uint64_t one = 1;

	MPI_Win_lock_all(0, w->win);
	for (int i = 0; i < STEPS; i++) {
		MPI_Fetch_and_op(&one, &seen[i], n->type, target,
			place(CELL_FETCH), MPI_SUM, w->win);
		MPI_Win_flush(target, w->win);
	}
	MPI_Win_unlock_all(w->win);
}

static void swap(uint64_t *seen)
{
	uint64_t guess = 0, found = 0, new = 0;

	MPI_Win_lock_all(0, w->win);
	for (int i = 0; i < STEPS; guess = found) {
		new = guess + 1;
		MPI_Compare_and_swap(&new, &guess, &found, n->type, target,
			place(CELL_SWAP), w->win);
		MPI_Win_flush(target, w->win);
		if (found == guess) {
			seen[i++] = found;
			found = new;
		}
	}
	MPI_Win_unlock_all(w->win);
}

static void lock(uint64_t *seen)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
		MPI_Get(&seen[i], n->bytes, MPI_BYTE, target, place(CELL_LOCK),
			n->bytes, MPI_BYTE, w->win);
		MPI_Win_flush(target, w->win);
		uint64_t new = seen[i] + 1;
		MPI_Put(&new, n->bytes, MPI_BYTE, target, place(CELL_LOCK),
			n->bytes, MPI_BYTE, w->win);
		MPI_Win_unlock(target, w->win);
	}
}

static void sum(void)
{
	uint64_t one = 1, two[2] = { 1, 0 };

	MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
	for (int i = 0; i < STEPS; i++)
		MPI_Accumulate(i % 2 ? &one : two, 1, n->type, target,
			place(CELL_SUM), 1, n->type, MPI_SUM, w->win);
	MPI_Win_unlock(target, w->win);
}

/* Number of ranks that may compare and swap without crashing btl/ofi. */
static int swappers(void)
{
	if (!limited)
		return ranks;
	return w->kind == WINDOW_ALLOCATE ? 0 : ranks - 1;
}

static void swap_all(uint64_t *seen)
{
	int count = swappers();

	if (count == ranks || (count && my_rank != target))
		swap(seen);
	MPI_Barrier(MPI_COMM_WORLD);
	if (count == ranks)
		seen_check(seen, "compare and swap");
}

static void ends_check(void)
{
	uint64_t found;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, w->win);
	for (int cell = 0; cell < CELL_COUNT && my_rank == target; cell++) {
		int count = cell == CELL_SWAP ? swappers() : ranks;
		uint64_t wanted = (uint64_t)count * STEPS;
		memcpy(&found, w->memory + 8 * cell, 8);
		CHECK(found == wanted, "counter %d of %s: %lu instead of %lu",
			cell, n->name, found, wanted);
	}
	MPI_Win_unlock(my_rank, w->win);
}

static void everything(void)
{
	uint64_t *seen = allocate(STEPS * sizeof(*seen));

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, w->win);
	memset(w->memory, 0, w->bytes);
	MPI_Win_unlock(my_rank, w->win);
	memset(seen, 0, STEPS * sizeof(*seen));
	MPI_Barrier(MPI_COMM_WORLD);
	fetch(seen);
	seen_check(seen, "fetch and add");
	swap_all(seen);
	memset(seen, 0, STEPS * sizeof(*seen));
	lock(seen);
	seen_check(seen, "exclusive lock");
	sum();
	ends_check();
	free(seen);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "counters");
	for (int kind = 0; kind < WINDOW_KINDS; kind++) {
		struct window window = window_open(kind, 8 * CELL_COUNT);
		w = &window;
		for (int i = 0; i < 2; i++) {
			n = &numbers[i];
			target = i % ranks;
			everything();
		}
		window_close(&window);
	}
	return check_end();
}
