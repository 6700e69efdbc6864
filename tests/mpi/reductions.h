/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types and operations of reductions, the contribution of each rank, and what
 * must come out: the contributions of a range of ranks, one after the other.
 * Values are such that every order gives the same, in floating point too.
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

/* Makes the list; its length. */
int reductions_open(const struct reduction **list);
void reductions_close(void);

/* What a rank contributes. */
void contribution_fill(
	const struct reduction *, void *items, int count, int rank);
/* Items from `at` on of the result of ranks `first` to `last`. */
void result_check(const struct reduction *, const void *items, int at,
	int count, int first, int last, const char *what);

#endif
