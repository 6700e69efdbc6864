/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads of an MPI, by file. Errors of MPI calls end the job. */
#ifndef CAY_BENCH_MPI_WORKLOADS_H
#define CAY_BENCH_MPI_WORKLOADS_H

#include "bench/harness/workload.h"

/* message.c */
extern const struct workload mpi_ping_workload;
extern const struct workload mpi_stream_workload;

/* rma.c */
extern const struct workload mpi_put_workload;
extern const struct workload mpi_get_workload;
extern const struct workload mpi_fetch_add_workload;

/* collective.c */
extern const struct workload mpi_allreduce_workload;
extern const struct workload mpi_alltoall_workload;

#endif
