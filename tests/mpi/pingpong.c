/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of 0 bytes to 4 MiB in both directions, with every kind of send,
 * from and to unaligned addresses. Ranks form pairs; with an odd number of
 * ranks the last one communicates with itself.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

#define LARGEST (4 * MIB + 1)
#define MARGIN	64 /* bytes around each buffer that must not change */
#define ROUNDS	3

typedef int (*send_call)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static const struct kind {
	const char *name;
	send_call send;
} kinds[] = { { "MPI_Send", MPI_Send }, { "MPI_Ssend", MPI_Ssend },
	{ "MPI_Bsend", MPI_Bsend } };
#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

static char *out, *in;
static int other;

static uint64_t seed_of(int from, int length, int round)
{
	return (uint64_t)from << 48 ^ (uint64_t)round << 32 ^ (unsigned)length;
}

static void prepare(int length, int round)
{
	int shift = round % 8;

	bytes_fill(
		out + MARGIN + shift, length, seed_of(my_rank, length, round));
	for (int i = 0; i < MARGIN; i++)
		in[i] = in[MARGIN + shift + length + i] = (char)CANARY;
}

static void examine(
	const MPI_Status *status, int length, int round, const char *what)
{
	int shift = round % 8;

	status_check(status, other, round, MPI_BYTE, length, what);
	bytes_check(in + MARGIN + shift, length, seed_of(other, length, round),
		what);
	canary_check(in, MARGIN, what);
	canary_check(in + MARGIN + shift + length, MARGIN, what);
}

/* The receive buffer is longer than the message. */
static void play(const struct kind *kind, int length, int round)
{
	char *to = in + MARGIN + round % 8;
	const char *from = out + MARGIN + round % 8;
	bool first = my_rank < other;
	MPI_Status status;

	prepare(length, round);
	if (first)
		kind->send(
			from, length, MPI_BYTE, other, round, MPI_COMM_WORLD);
	MPI_Recv(to, length + MARGIN, MPI_BYTE, other, round, MPI_COMM_WORLD,
		&status);
	if (!first)
		kind->send(
			from, length, MPI_BYTE, other, round, MPI_COMM_WORLD);
	examine(&status, length, round, kind->name);
}

/* Both directions at once, receives posted first; also a rank to itself. */
static void exchange(int length, int round)
{
	MPI_Request requests[2];
	MPI_Status status[2];

	prepare(length, round);
	MPI_Irecv(in + MARGIN + round % 8, length, MPI_BYTE, other, round,
		MPI_COMM_WORLD, &requests[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Irsend(out + MARGIN + round % 8, length, MPI_BYTE, other, round,
		MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, status);
	examine(&status[0], length, round, "MPI_Irsend");
}

static void all_kinds(int length)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KINDS && other != my_rank; i++)
			play(&kinds[i], length, round * KINDS + i);
		exchange(length, round);
	}
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "pingpong");
	other = (my_rank ^ 1) < ranks ? my_rank ^ 1 : my_rank;
	out = allocate(LARGEST + 3 * MARGIN);
	in = allocate(LARGEST + 3 * MARGIN);
	int room = LARGEST + MPI_BSEND_OVERHEAD;
	void *buffer = allocate(room);
	MPI_Buffer_attach(buffer, room);

	for (int length = 0; length < 16; length++)
		all_kinds(length);
	for (int power = 16; power < LARGEST; power *= 2)
		for (int length = power - 1; length <= power + 1; length++)
			all_kinds(length);

	MPI_Buffer_detach(&buffer, &room);
	free(buffer);
	free(out);
	free(in);
	return check_end();
}
