/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The harness in two processes that an MPI launcher has started. Errors of MPI
 * calls end the job by themselves (MPI_ERRORS_ARE_FATAL).
 */
#ifndef CAY_BENCH_MPI_WORLD_H
#define CAY_BENCH_MPI_WORLD_H

#include <mpi.h>

#include "bench/harness/report.h"

struct world {
	int rank;
	struct report report; /* rank 0: JSON on stdout */
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
};

/*
 * Initializes MPI and pins the process. `program` prefixes messages; `samples`
 * is a file for all samples, or NULL.
 */
void world_open(struct world *, const char *program, const char *samples);

/* Both ranks: measures a case; rank 0 reports it. Aborts if it fails. */
void world_measure(struct world *, const struct bench_case *);

/* Ends the report and MPI. */
void world_close(struct world *);

_Noreturn void world_fail(const struct world *, const char *reason);

#endif
