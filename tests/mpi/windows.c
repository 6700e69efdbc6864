/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Put and get of a byte to a megabyte in every kind of window, under every
 * kind of synchronisation. Each rank writes into the window of the next one
 * and reads back from there, and from the one before it.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "window.h"

#define LARGEST MIB
#define SLOT \
	(LARGEST + 64) /* parts of the window: one is written, one is read */

static const int lengths[] = { 1, 7, 8, 100, 4096, 40000, LARGEST };
#define LENGTHS (int)(sizeof(lengths) / sizeof(*lengths))

static char *out, *in;
static int next, previous;
static struct window *w;

static uint64_t seed_of(int rank, int length)
{
	return (uint64_t)rank << 32 ^ (unsigned)length;
}

static void own_slot_fill(int length)
{
	bytes_fill(w->memory + SLOT, length, seed_of(my_rank, length) + 1);
	memset(w->memory, CANARY, length + 64);
	bytes_fill(out, length, seed_of(my_rank, length));
	memset(in, CANARY, length);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void put(int length)
{
	MPI_Put(out, length, MPI_BYTE, next, w->base[next], length, MPI_BYTE,
		w->win);
}

static void get(int length)
{
	MPI_Get(in, length, MPI_BYTE, previous, w->base[previous] + SLOT,
		length, MPI_BYTE, w->win);
}

static void put_check(int length, const char *what)
{
	bytes_check(w->memory, length, seed_of(previous, length), what);
	canary_check(w->memory + length, 64, what);
}

static void get_check(int length, const char *what)
{
	bytes_check(in, length, seed_of(previous, length) + 1, what);
}

/* ---- kinds of synchronisation ---- */

static void by_fence(int length)
{
	own_slot_fill(length);
	MPI_Win_fence(0, w->win);
	put(length);
	get(length);
	MPI_Win_fence(0, w->win);
	put_check(length, "fence, put");
	get_check(length, "fence, get");
}

/* The group of one rank, or of two different ones. */
static MPI_Group group_of(int a, int b)
{
	MPI_Group world, group;
	int members[2] = { a, b };

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, a == b ? 1 : 2, members, &group);
	MPI_Group_free(&world);
	return group;
}

/* A rank accesses its two neighbours, which also access it. */
static void by_post_start(int length)
{
	MPI_Group both = group_of(previous, next);

	own_slot_fill(length);
	MPI_Win_post(both, 0, w->win);
	MPI_Win_start(both, 0, w->win);
	put(length);
	get(length);
	MPI_Win_complete(w->win);
	MPI_Win_wait(w->win);
	put_check(length, "post and start, put");
	get_check(length, "post and start, get");
	MPI_Group_free(&both);
}

static void by_lock(int length, int kind, const char *what)
{
	own_slot_fill(length);
	MPI_Win_lock(kind, next, 0, w->win);
	put(length);
	MPI_Win_unlock(next, w->win);
	MPI_Win_lock(kind, previous, 0, w->win);
	get(length);
	MPI_Win_unlock(previous, w->win);
	get_check(length, what);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, w->win);
	put_check(length, what);
	MPI_Win_unlock(my_rank, w->win);
}

static void by_exclusive_lock(int length)
{
	by_lock(length, MPI_LOCK_EXCLUSIVE, "exclusive lock");
}

static void by_shared_lock(int length)
{
	by_lock(length, MPI_LOCK_SHARED, "shared lock");
}

/* A get returns what was put and flushed. */
static void by_flush(int length)
{
	own_slot_fill(length);
	MPI_Win_lock_all(0, w->win);
	put(length);
	MPI_Win_flush(next, w->win);
	MPI_Get(in, length, MPI_BYTE, next, w->base[next], length, MPI_BYTE,
		w->win);
	MPI_Win_flush_local(next, w->win);
	bytes_check(in, length, seed_of(my_rank, length), "put, flush, get");
	get(length);
	MPI_Win_flush_all(w->win);
	get_check(length, "flush_all, get");
	MPI_Win_unlock_all(w->win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, w->win);
	put_check(length, "flush, put");
	MPI_Win_unlock(my_rank, w->win);
}

static void by_request(int length)
{
	MPI_Request requests[2];

	own_slot_fill(length);
	MPI_Win_lock_all(0, w->win);
	MPI_Rput(out, length, MPI_BYTE, next, w->base[next], length, MPI_BYTE,
		w->win, &requests[0]);
	MPI_Rget(in, length, MPI_BYTE, previous, w->base[previous] + SLOT,
		length, MPI_BYTE, w->win, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	get_check(length, "MPI_Rget");
	MPI_Win_unlock_all(w->win);
	MPI_Barrier(MPI_COMM_WORLD);
	put_check(length, "MPI_Rput");
}

/* Every other local number to every third remote one. */
static void with_gaps(void)
{
	enum {
		COUNT = 5000
	};
	MPI_Datatype from, to;
	int *numbers = (int *)out, *theirs = (int *)w->memory;

	own_slot_fill(3 * COUNT * (int)sizeof(int));
	MPI_Type_vector(COUNT, 1, 2, MPI_INT, &from);
	MPI_Type_vector(COUNT, 1, 3, MPI_INT, &to);
	MPI_Type_commit(&from);
	MPI_Type_commit(&to);
	items_fill(numbers, 2 * COUNT, my_rank, 0);
	MPI_Win_fence(0, w->win);
	MPI_Put(out, 1, from, next, w->base[next], 1, to, w->win);
	MPI_Win_fence(0, w->win);
	for (int i = 0; i < COUNT; i++) {
		CHECK(theirs[3 * i] == item(previous, 0, 2 * i),
			"put with gaps: item %d is %d", i, theirs[3 * i]);
		if (i < COUNT - 1)
			canary_check(&theirs[3 * i + 1], 2 * sizeof(int),
				"put with gaps");
	}
	MPI_Type_free(&from);
	MPI_Type_free(&to);
}

/* Many small puts to the windows of all ranks before one flush. */
static void many(void)
{
	enum {
		COUNT = 2000
	};
	uint64_t *words = (uint64_t *)out, *theirs = (uint64_t *)w->memory;

	own_slot_fill(0);
	MPI_Win_lock_all(0, w->win);
	for (int i = 0; i < COUNT; i++) {
		int to = (my_rank + i) % ranks;
		words[i] = (uint64_t)my_rank << 32 | (unsigned)i;
		MPI_Put(&words[i], 8, MPI_BYTE, to,
			w->base[to] + 8 * (my_rank * COUNT + i), 8, MPI_BYTE,
			w->win);
	}
	MPI_Win_unlock_all(w->win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < COUNT; i++) {
			uint64_t found = theirs[from * COUNT + i];
			uint64_t wanted = (uint64_t)from << 32 | (unsigned)i;
			if ((from + i) % ranks == my_rank)
				CHECK(found == wanted,
					"many: %#lx instead of %#lx", found,
					wanted);
		}
}

static void everything(enum window_kind kind)
{
	static void (*const ways[])(int) = { by_fence, by_post_start,
		by_exclusive_lock, by_shared_lock, by_flush, by_request };
	struct window window = window_open(kind, 2 * SLOT);

	w = &window;
	for (int way = 0; way < 6; way++)
		for (int i = 0; i < LENGTHS; i++)
			ways[way](lengths[i]);
	with_gaps();
	many();
	window_close(&window);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "windows");
	out = allocate(SLOT);
	in = allocate(SLOT);
	next = (my_rank + 1) % ranks;
	previous = (my_rank + ranks - 1) % ranks;
	for (int kind = 0; kind < WINDOW_KINDS; kind++)
		everything(kind);
	free(out);
	free(in);
	return check_end();
}
