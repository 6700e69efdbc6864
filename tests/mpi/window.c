/* SPDX-License-Identifier: BSD-2-Clause */
/* See window.h. */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static void attach(struct window *window)
{
	MPI_Aint address;

	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
	MPI_Win_attach(window->win, window->memory, window->bytes);
	MPI_Get_address(window->memory, &address);
	MPI_Allgather(&address, 1, MPI_AINT, window->base, 1, MPI_AINT,
		MPI_COMM_WORLD);
}

struct window window_open(enum window_kind kind, size_t bytes)
{
	static const char *const names[] = { "MPI_Win_create",
		"MPI_Win_allocate", "MPI_Win_create_dynamic" };
	struct window window = { .kind = kind,
		.name = names[kind],
		.bytes = bytes,
		.base = calloc(ranks, sizeof(MPI_Aint)) };

	CHECK(window.base, "no memory");
	if (kind != WINDOW_ALLOCATE)
		window.memory = allocate(bytes);
	if (kind == WINDOW_CREATE)
		MPI_Win_create(window.memory, bytes, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, &window.win);
	else if (kind == WINDOW_ALLOCATE)
		MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			&window.memory, &window.win);
	else
		attach(&window);
	memset(window.memory, CANARY, bytes);
	MPI_Barrier(MPI_COMM_WORLD);
	return window;
}

void window_close(struct window *window)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (window->kind == WINDOW_DYNAMIC)
		MPI_Win_detach(window->win, window->memory);
	MPI_Win_free(&window->win);
	if (window->kind != WINDOW_ALLOCATE)
		free(window->memory);
	free(window->base);
}
