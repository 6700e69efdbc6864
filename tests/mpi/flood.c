/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages: thousands of short and hundreds of longer messages
 * arrive at a rank that receives another message first, and then receives them
 * in a different order. First all ranks send to rank 0, then all to all.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define SHORT	     5000 /* messages of a sender */
#define SHORT_BYTES  48
#define MEDIUM	     300
#define MEDIUM_BYTES (12 * KIB)
#define TAGS	     5
#define LAST	     99 /* the tag of the message that follows the flood */

struct flood {
	int count, bytes;
	const char *name;
	char *memory; /* all messages of a sender */
};

#define FLOODS 3

static uint64_t seed_of(int from, int to, int i)
{
	return (uint64_t)from << 40 ^ (uint64_t)to << 24 ^ (unsigned)i;
}

/* Short messages are complete at once; the others are in flight. */
static void pour(const struct flood *flood, int to, MPI_Request *requests)
{
	for (int i = 0; i < flood->count; i++) {
		char *message = flood->memory + (size_t)i * flood->bytes;
		bytes_fill(message, flood->bytes, seed_of(my_rank, to, i));
		if (requests)
			MPI_Isend(message, flood->bytes, MPI_BYTE, to, i % TAGS,
				MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Send(message, flood->bytes, MPI_BYTE, to, i % TAGS,
				MPI_COMM_WORLD);
	}
}

/* The last tag first; messages with the same tag arrive in order. */
static void drain(const struct flood *flood, int from)
{
	char *message = allocate(flood->bytes);
	MPI_Status status;

	for (int tag = TAGS - 1; tag >= 0; tag--)
		for (int i = tag; i < flood->count; i += TAGS) {
			MPI_Recv(message, flood->bytes, MPI_BYTE, from, tag,
				MPI_COMM_WORLD, &status);
			status_check(&status, from, tag, MPI_BYTE, flood->bytes,
				flood->name);
			bytes_check(message, flood->bytes,
				seed_of(from, my_rank, i), flood->name);
		}
	free(message);
}

static void pass_last(int from, int to)
{
	if (my_rank == from)
		MPI_Send(NULL, 0, MPI_BYTE, to, LAST, MPI_COMM_WORLD);
	if (my_rank == to)
		MPI_Recv(NULL, 0, MPI_BYTE, from, LAST, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
}

/* The receiver makes no MPI call for a while, so that queues fill up. */
static void all_to_first(const struct flood *flood)
{
	MPI_Request requests[MEDIUM];
	bool waits = flood->count <= MEDIUM;

	MPI_Barrier(MPI_COMM_WORLD);
	if (my_rank == 0)
		usleep(200000);
	else
		pour(flood, 0, waits ? requests : NULL);
	for (int from = 1; from < ranks; from++)
		pass_last(from, 0);
	for (int from = ranks - 1; from > 0 && my_rank == 0; from--)
		drain(flood, from);
	if (my_rank && waits)
		MPI_Waitall(flood->count, requests, MPI_STATUSES_IGNORE);
}

static void each_other(const struct flood *flood)
{
	struct flood part = *flood;

	part.count /= ranks;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; i < ranks; i++)
		pour(&part, (my_rank + i) % ranks, NULL);
	for (int i = 1; i < ranks; i++)
		drain(&part, (my_rank + i) % ranks);
}

int main(int argc, char **argv)
{
	struct flood floods[] = { { SHORT, 0, "empty", NULL },
		{ SHORT, SHORT_BYTES, "short", NULL },
		{ MEDIUM, MEDIUM_BYTES, "medium", NULL } };

	check_start(&argc, &argv, "flood");
	CHECK(ranks >= 2, "needs two ranks");
	for (int i = 0; i < FLOODS; i++) {
		struct flood *flood = &floods[i];
		flood->memory = allocate((size_t)flood->count * flood->bytes);
		all_to_first(flood);
		if (flood->count > MEDIUM)
			each_other(flood);
		free(flood->memory);
	}
	return check_end();
}
