/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window of the same length in every rank, of each kind with
 * memory of its own: created, allocated, and dynamic with memory attached.
 */
#ifndef CAY_TESTS_MPI_WINDOW_H
#define CAY_TESTS_MPI_WINDOW_H

#include <mpi.h>
#include <stddef.h>

enum window_kind {
	WINDOW_CREATE,
	WINDOW_ALLOCATE,
	WINDOW_DYNAMIC,
	WINDOW_KINDS,
};

struct window {
	enum window_kind kind;
	const char *name;
	MPI_Win win;
	char *memory;	/* of this rank; initially CANARY */
	MPI_Aint *base; /* displacement of each rank's memory */
	size_t bytes;
};

/* Collective. Displacements are in bytes. */
struct window window_open(enum window_kind, size_t bytes);
void window_close(struct window *);

#endif
