/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching: any source, any tag, the order of several matches, cancelled
 * receives, and posted receives that no message matches.
 */
#include <stdlib.h>

#include "check.h"

#define MESSAGES 500 /* of each sender */
#define TAGS	 3
#define RECEIVES 64 /* posted at once */

struct message {
	int from, tag, number;
	char padding[100];
};

static void send_numbered(int to)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct message message = { my_rank, i % TAGS, i, "" };
		MPI_Send(&message, sizeof(message), MPI_BYTE, to, i % TAGS,
			MPI_COMM_WORLD);
	}
}

static void numbered_check(const struct message *message,
	const MPI_Status *status, int *next, const char *what)
{
	status_check(status, message->from, message->tag, MPI_BYTE,
		sizeof(*message), what);
	int *expected = &next[message->from * TAGS + message->tag];
	CHECK(message->number == *expected,
		"%s: message %d of rank %d, tag %d, instead of %d", what,
		message->number, message->from, message->tag, *expected);
	*expected += TAGS;
}

static int *numbers_new(void)
{
	int *next = allocate(sizeof(*next) * ranks * TAGS);

	for (int i = 0; i < ranks * TAGS; i++)
		next[i] = i % TAGS;
	return next;
}

/* One receive after the other. */
static void any_source(int tag_or_any)
{
	int *next = numbers_new();
	int tags = tag_or_any == MPI_ANY_TAG ? 1 : TAGS;
	struct message message;
	MPI_Status status;

	for (int tag = 0; tag < tags; tag++)
		for (int i = 0; i < MESSAGES * (ranks - 1); i++) {
			int wanted = tags == 1 ? MPI_ANY_TAG : tag;
			if (tags > 1 && i % MESSAGES % TAGS != tag)
				continue;
			MPI_Recv(&message, sizeof(message), MPI_BYTE,
				MPI_ANY_SOURCE, wanted, MPI_COMM_WORLD,
				&status);
			numbered_check(&message, &status, next, "any source");
		}
	free(next);
}

/* Many receives at once: they match in the order of posting. */
static void posted_batch(int count, int *next)
{
	struct message messages[RECEIVES];
	MPI_Request requests[RECEIVES];
	MPI_Status status[RECEIVES];

	for (int i = 0; i < count; i++)
		MPI_Irecv(&messages[i], sizeof(*messages), MPI_BYTE,
			MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			&requests[i]);
	MPI_Waitall(count, requests, status);
	for (int i = 0; i < count; i++)
		numbered_check(&messages[i], &status[i], next, "posted");
}

static void posted(void)
{
	int *next = numbers_new();

	for (int left = MESSAGES * (ranks - 1); left > 0; left -= RECEIVES)
		posted_batch(left < RECEIVES ? left : RECEIVES, next);
	free(next);
}

/* Of a specific and a wildcard receive the one posted first matches. */
static void precedence(void)
{
	int values[3] = { 10, 20, 30 }, got[3] = { 0 };
	MPI_Request requests[3];
	MPI_Status status[3];

	if (my_rank == 0) {
		MPI_Irecv(&got[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD,
			&requests[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
			MPI_COMM_WORLD, &requests[1]);
		MPI_Irecv(&got[2], 1, MPI_INT, 1, 6, MPI_COMM_WORLD,
			&requests[2]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (my_rank == 1) {
		MPI_Send(&values[1], 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
		MPI_Send(&values[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
		MPI_Send(&values[2], 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
	}
	if (my_rank == 0) {
		MPI_Waitall(3, requests, status);
		for (int i = 0; i < 3; i++)
			CHECK(got[i] == values[i],
				"receive %d has %d instead of %d", i, got[i],
				values[i]);
	}
}

/* Every other receive is cancelled; the messages match the rest. */
static void cancel_some(int *got, MPI_Request *requests)
{
	for (int i = 0; i < RECEIVES; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 9,
			MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < RECEIVES; i += 2) {
		MPI_Status status;
		int cancelled;
		MPI_Cancel(&requests[i]);
		MPI_Wait(&requests[i], &status);
		MPI_Test_cancelled(&status, &cancelled);
		CHECK(cancelled, "receive %d could not be cancelled", i);
	}
}

static void cancel(void)
{
	int got[RECEIVES];
	MPI_Request requests[RECEIVES];

	if (my_rank == 0)
		cancel_some(got, requests);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; i < RECEIVES && my_rank == 1; i += 2)
		MPI_Send(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
	for (int i = 1; i < RECEIVES && my_rank == 0; i += 2) {
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		CHECK(got[i] == i, "receive %d after cancels has %d", i,
			got[i]);
	}
}

/* Long and short messages with one tag do not overtake each other. */
static void mixed_lengths(void)
{
	enum {
		COUNT = 60
	};
	char *memory = allocate(300 * KIB);
	MPI_Request request;

	for (int i = 0; i < COUNT; i++) {
		int length = i % 3 ? i : 300 * KIB - i;
		if (my_rank == 1) {
			bytes_fill(memory, length, i);
			MPI_Isend(memory, length, MPI_BYTE, 0, 1,
				MPI_COMM_WORLD, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
		if (my_rank == 0) {
			MPI_Status status;
			MPI_Recv(memory, 300 * KIB, MPI_BYTE, 1, 1,
				MPI_COMM_WORLD, &status);
			status_check(&status, 1, 1, MPI_BYTE, length,
				"long and short");
			bytes_check(memory, length, i, "long and short");
		}
	}
	free(memory);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "matching");
	CHECK(ranks >= 2, "needs two ranks");
	for (int round = 0; round < 3; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (my_rank)
			send_numbered(0);
		else if (round == 0)
			any_source(MPI_ANY_TAG);
		else if (round == 1)
			any_source(0);
		else
			posted();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	precedence();
	MPI_Barrier(MPI_COMM_WORLD);
	cancel();
	MPI_Barrier(MPI_COMM_WORLD);
	mixed_lengths();
	return check_end();
}
