/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MPI_THREAD_MULTIPLE: four threads in each rank at once. First each uses
 * its own tags on the shared communicator, short and long messages; then each
 * calls collectives on its own communicator; then some threads send messages
 * with one tag, which the others receive in any order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"

#define THREADS 4
#define ROUNDS	60
#define SHARED	240 /* messages of a sending thread */
#define TAG	1000

static const int lengths[] = { 0, 8, 200, 6000, 200000 };
#define LENGTHS (int)(sizeof(lengths) / sizeof(*lengths))

static MPI_Comm comms[THREADS];
static _Atomic long received, sum;

static void run(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0,
			"no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t seed_of(int from, int thread, int round)
{
	return (uint64_t)from << 32 ^ (unsigned)thread << 16 ^ (unsigned)round;
}

/* Around the ring of ranks, thread t to thread t. */
static void own_tag_round(int thread, int round, char *out, char *in)
{
	int next = (my_rank + 1) % ranks;
	int previous = (my_rank + ranks - 1) % ranks;
	int length = lengths[(thread + round) % LENGTHS];
	MPI_Request requests[2];
	MPI_Status status[2];

	bytes_fill(out, length, seed_of(my_rank, thread, round));
	MPI_Irecv(in, length, MPI_BYTE, previous, thread, MPI_COMM_WORLD,
		&requests[0]);
	MPI_Isend(out, length, MPI_BYTE, next, thread, MPI_COMM_WORLD,
		&requests[1]);
	MPI_Waitall(2, requests, status);
	status_check(&status[0], previous, thread, MPI_BYTE, length, "own tag");
	bytes_check(in, length, seed_of(previous, thread, round), "own tag");
}

static void *own_tag(void *argument)
{
	int thread = (int)(long)argument;
	char *out = allocate(lengths[LENGTHS - 1]);
	char *in = allocate(lengths[LENGTHS - 1]);

	for (int round = 0; round < ROUNDS; round++)
		own_tag_round(thread, round, out, in);
	free(out);
	free(in);
	return NULL;
}

static void *own_communicator(void *argument)
{
	int thread = (int)(long)argument;

	for (int round = 0; round < ROUNDS; round++) {
		int value = my_rank * (thread + 1) + round, total;
		int root = round % ranks, told = my_rank == root ? value : -1;
		MPI_Allreduce(
			&value, &total, 1, MPI_INT, MPI_SUM, comms[thread]);
		int wanted =
			(thread + 1) * ranks * (ranks - 1) / 2 + round * ranks;
		CHECK(total == wanted, "thread %d: sum %d instead of %d",
			thread, total, wanted);
		MPI_Bcast(&told, 1, MPI_INT, root, comms[thread]);
		CHECK(told == root * (thread + 1) + round,
			"thread %d: was told %d", thread, told);
		MPI_Barrier(comms[thread]);
	}
	return NULL;
}

/* Half of the threads send; each of the others receives any message. */
static void *shared_tag(void *argument)
{
	int thread = (int)(long)argument;
	int value;

	for (int i = 0; i < SHARED; i++)
		if (thread % 2) {
			value = my_rank + thread + i;
			MPI_Send(&value, 1, MPI_INT, (my_rank + i) % ranks, TAG,
				MPI_COMM_WORLD);
		} else {
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			atomic_fetch_add(&sum, value);
			atomic_fetch_add(&received, 1);
		}
	return NULL;
}

static void shared_check(void)
{
	long mine[2] = { received, sum }, all[2], wanted = 0;

	MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int rank = 0; rank < ranks; rank++)
		for (int thread = 1; thread < THREADS; thread += 2)
			for (int i = 0; i < SHARED; i++)
				wanted += rank + thread + i;
	CHECK(all[0] == (long)ranks * SHARED * THREADS / 2 && all[1] == wanted,
		"shared tag: %ld messages with the sum %ld instead of %ld",
		all[0], all[1], wanted);
}

int main(int argc, char **argv)
{
	check_start_threads(&argc, &argv, "threads");
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	run(own_tag);
	run(own_communicator);
	if (SHARED % ranks == 0) {
		run(shared_tag);
		shared_check();
	}
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	return check_end();
}
