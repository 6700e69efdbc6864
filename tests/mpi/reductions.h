/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types and operations of reductions, the contribution of each rank, and the
 * expected result of a range of ranks. The values are chosen so that every
 * order of evaluation gives the same result, also in floating point.
 */
#ifndef CAY_TESTS_MPI_REDUCTIONS_H
#define CAY_TESTS_MPI_REDUCTIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct reduction {
	const char *name;
	MPI_Datatype type;
	MPI_Op op;
	size_t bytes; /* of an item */
	bool commutes;
};

/* Creates the list and returns its length. */
int reductions_open(const struct reduction **list);
void reductions_close(void);

/* Fills in the contribution of a rank. */
void contribution_fill(
	const struct reduction *, void *items, int count, int rank);
/* Checks items from `at` on of the result of ranks `first` to `last`. */
void result_check(const struct reduction *, const void *items, int at,
	int count, int first, int last, const char *what);

#endif
