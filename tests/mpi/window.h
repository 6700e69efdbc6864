/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window of the same length in every rank, of each kind that MPI has for
 * memory of one's own: created, allocated, and dynamic with memory attached.
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
	char *memory;	/* ours; CANARY everywhere at first */
	MPI_Aint *base; /* of each rank: the displacement of its memory */
	size_t bytes;
};

/* Collective. Displacements are in bytes. */
struct window window_open(enum window_kind, size_t bytes);
void window_close(struct window *);

#endif
