/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probing for messages before they are received: MPI_Probe, MPI_Iprobe,
 * MPI_Mprobe, MPI_Improbe, MPI_Mrecv, MPI_Imrecv. The receiver learns
 * the length from the probe. Every rank but 0 sends, rank 0 receives.
 */
#include <stdlib.h>

#include "check.h"

#define MESSAGES 40 /* of each sender for each kind of probe */
#define NEVER	 77 /* an unused tag */

/* From empty messages to rendezvous. */
static int length_of(int from, int i)
{
	static const int lengths[] = { 0, 3, 900, 5000, 33000, 700001 };

	return lengths[(from + i) % 6] + i;
}

static void send_all(int tag)
{
	for (int i = 0; i < MESSAGES; i++) {
		int length = length_of(my_rank, i);
		char *message = allocate(length);
		bytes_fill(message, length, 1000 * my_rank + i);
		MPI_Send(message, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
		free(message);
	}
}

/* The receive must return the message that the probe has found. */
static char *room_for(const MPI_Status *probed, const int *counts, int tag)
{
	int from = probed->MPI_SOURCE;
	int length = length_of(from, counts[from]);

	status_check(probed, -1, tag, MPI_BYTE, length, "probe");
	return allocate(length);
}

static void examine(
	char *message, const MPI_Status *status, int *counts, int tag, int from)
{
	int i = counts[from]++;
	int length = length_of(from, i);

	status_check(status, from, tag, MPI_BYTE, length, "after the probe");
	bytes_check(message, length, 1000 * from + i, "after the probe");
	free(message);
}

static void probe_wait(int tag, MPI_Status *status)
{
	MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, status);
}

static void probe_poll(int tag, MPI_Status *status)
{
	int there = 0, never = 0;

	while (!there) {
		MPI_Iprobe(MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &never,
			MPI_STATUS_IGNORE);
		CHECK(!never, "MPI_Iprobe found a message that was not sent");
		MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, status);
	}
}

static void receive_probed(
	int *counts, int tag, void (*probe)(int tag, MPI_Status *status))
{
	MPI_Status probed, status;

	probe(tag, &probed);
	char *message = room_for(&probed, counts, tag);
	int length = length_of(probed.MPI_SOURCE, counts[probed.MPI_SOURCE]);
	MPI_Recv(message, length, MPI_BYTE, probed.MPI_SOURCE, tag,
		MPI_COMM_WORLD, &status);
	examine(message, &status, counts, tag, probed.MPI_SOURCE);
}

static void match_wait(int tag, MPI_Message *handle, MPI_Status *status)
{
	MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, handle, status);
}

static void match_poll(int tag, MPI_Message *handle, MPI_Status *status)
{
	int there = 0;

	while (!there)
		MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, handle,
			status);
}

/* Odd messages with MPI_Mrecv, even ones with MPI_Imrecv. */
static void receive_matched(int *counts, int tag,
	void (*match)(int tag, MPI_Message *handle, MPI_Status *status))
{
	MPI_Message handle;
	MPI_Status probed, status;
	MPI_Request request;

	match(tag, &handle, &probed);
	int from = probed.MPI_SOURCE, i = counts[from];
	char *message = room_for(&probed, counts, tag);
	if (i % 2) {
		MPI_Mrecv(message, length_of(from, i), MPI_BYTE, &handle,
			&status);
	} else {
		MPI_Imrecv(message, length_of(from, i), MPI_BYTE, &handle,
			&request);
		MPI_Wait(&request, &status);
	}
	CHECK(handle == MPI_MESSAGE_NULL, "the message has still a handle");
	examine(message, &status, counts, tag, from);
}

/* A matched message is not matched again, even if it is received last. */
static void overtake(void)
{
	MPI_Message handle;
	MPI_Status probed, status;
	int values[2] = { 1, 2 }, got[2] = { 0, 0 };

	if (my_rank == 1)
		for (int i = 0; i < 2; i++)
			MPI_Send(&values[i], 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
	if (my_rank)
		return;
	MPI_Mprobe(1, 50, MPI_COMM_WORLD, &handle, &probed);
	MPI_Recv(&got[1], 1, MPI_INT, 1, 50, MPI_COMM_WORLD, &status);
	MPI_Mrecv(&got[0], 1, MPI_INT, &handle, &status);
	CHECK(got[0] == 1 && got[1] == 2, "matched %d, then received %d",
		got[0], got[1]);
}

static void receive_all(int way)
{
	int *counts = calloc(ranks, sizeof(*counts));

	CHECK(counts, "no memory");
	for (int i = 0; i < MESSAGES * (ranks - 1); i++)
		switch (way) {
		case 0:
			receive_probed(counts, way, probe_wait);
			break;
		case 1:
			receive_probed(counts, way, probe_poll);
			break;
		case 2:
			receive_matched(counts, way, match_wait);
			break;
		default:
			receive_matched(counts, way, match_poll);
		}
	free(counts);
}

/* A probe of MPI_PROC_NULL succeeds at once. */
static void proc_null(void)
{
	MPI_Message handle;
	MPI_Status status;

	MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &handle, &status);
	CHECK(handle == MPI_MESSAGE_NO_PROC, "MPI_Mprobe of MPI_PROC_NULL");
	MPI_Mrecv(NULL, 0, MPI_BYTE, &handle, &status);
	status_check(&status, -1, -1, MPI_BYTE, 0, "MPI_PROC_NULL");
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "probe");
	CHECK(ranks >= 2, "needs two ranks");
	proc_null();
	for (int way = 0; way < 4; way++) {
		if (my_rank)
			send_all(way);
		else
			receive_all(way);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	overtake();
	return check_end();
}
