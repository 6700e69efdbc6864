/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations of 8 bytes per rank (per pair of ranks: alltoall). */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "bench/mpi/workloads.h"

struct collective {
	uint64_t done;
	uint64_t out[GROUP_RANKS_MAX], in[GROUP_RANKS_MAX];
};

static int setup(struct side *s)
{
	s->state = calloc(1, sizeof(struct collective));
	return s->state ? 0 : -ENOMEM;
}

static void teardown(struct side *s)
{
	free(s->state);
}

static int progress(struct side *s)
{
	int found;

	(void)s;
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
		MPI_STATUS_IGNORE);
	return 0;
}

/* Each rank contributes the number of the operation plus its own. */
static int allreduce_run(struct side *s, uint32_t iterations)
{
	struct collective *c = s->state;
	uint64_t n = s->group->ranks;

	while (iterations--) {
		c->out[0] = ++c->done + s->rank;
		MPI_Allreduce(c->out, c->in, 1, MPI_UINT64_T, MPI_SUM,
			MPI_COMM_WORLD);
		if (c->in[0] != n * c->done + n * (n - 1) / 2)
			return -EBADMSG;
	}
	return 0;
}

static int alltoall_run(struct side *s, uint32_t iterations)
{
	struct collective *c = s->state;

	while (iterations--) {
		c->done++;
		for (unsigned i = 0; i < s->group->ranks; i++)
			c->out[i] = c->done * (s->rank + 1) + i;
		MPI_Alltoall(c->out, 1, MPI_UINT64_T, c->in, 1, MPI_UINT64_T,
			MPI_COMM_WORLD);
		for (unsigned i = 0; i < s->group->ranks; i++)
			if (c->in[i] != c->done * (i + 1) + s->rank)
				return -EBADMSG;
	}
	return 0;
}

const struct workload mpi_allreduce_workload = { "mpi", setup, teardown, NULL,
	allreduce_run, NULL, progress };
const struct workload mpi_alltoall_workload = { "mpi", setup, teardown, NULL,
	alltoall_run, NULL, progress };
