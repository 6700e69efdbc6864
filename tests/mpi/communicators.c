/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Communicators are duplicated, split, created from groups and freed in another
 * order, hundreds of times. Messages of one never match a receive of another
 * with the same source and tag.
 */
#include "check.h"

#define ROUNDS	300
#define AT_ONCE 24
#define TAG	1

static int next, previous;

static void ring(MPI_Comm comm, int value)
{
	int me, size, got = -1;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	int mine = value * 100 + me, from = (me + size - 1) % size;
	MPI_Sendrecv(&mine, 1, MPI_INT, (me + 1) % size, TAG, &got, 1, MPI_INT,
		from, TAG, comm, MPI_STATUS_IGNORE);
	CHECK(got == value * 100 + from, "ring %d: %d from %d", value, got,
		from);
}

static void come_and_go(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Comm dup, part;
		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		MPI_Comm_split(dup, my_rank % (i % 4 + 1), -my_rank, &part);
		ring(part, i);
		MPI_Comm_free(&dup);
		ring(part, i + 1);
		MPI_Comm_free(&part);
	}
}

/* Sends in all communicators, received in the reverse order. */
static void apart(void)
{
	MPI_Comm comms[AT_ONCE];
	MPI_Request requests[AT_ONCE];
	int out[AT_ONCE], in;

	for (int i = 0; i < AT_ONCE; i++) {
		MPI_Comm_dup(i ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]);
		out[i] = item(my_rank, next, i);
		MPI_Isend(
			&out[i], 1, MPI_INT, next, TAG, comms[i], &requests[i]);
	}
	for (int i = AT_ONCE - 1; i >= 0; i--) {
		MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i],
			MPI_STATUS_IGNORE);
		CHECK(in == item(previous, my_rank, i),
			"communicator %d has the message of another", i);
	}
	MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < AT_ONCE; i += 2)
		MPI_Comm_free(&comms[i]);
	for (int i = 1; i < AT_ONCE; i += 2)
		MPI_Comm_free(&comms[i]);
}

static void from_groups(void)
{
	MPI_Group world, some;
	MPI_Comm comm;
	int range[1][3] = { { ranks - 1, 0, -2 } };

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, range, &some);
	MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
	if (comm != MPI_COMM_NULL) {
		ring(comm, 9);
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&some);
	MPI_Group_free(&world);
}

static void under_way(void)
{
	MPI_Comm comm;
	MPI_Request request;

	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	ring(MPI_COMM_WORLD, 4);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	ring(comm, 5);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "communicators");
	next = (my_rank + 1) % ranks;
	previous = (my_rank + ranks - 1) % ranks;
	come_and_go();
	apart();
	from_groups();
	under_way();
	return check_end();
}
