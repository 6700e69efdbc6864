/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Non-contiguous messages: vectors, indexed blocks, structures,
 * columns of a matrix, also with a negative stride. Each is sent
 * once with the type on both sides, once with the type only at the sender, and
 * once only at the receiver; bytes in the gaps must not change.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define ROOM   (2 * MIB)
#define MIDDLE (ROOM / 2) /* start of a type; some have a negative stride */
#define TAG    2

struct record {
	char letter;
	double number;
	int pair[2];
};

static char *out, *in, *packed;
static bool *covered; /* bytes of ROOM that belong to the message */
static int next, previous;

static MPI_Datatype vector_type(int blocks, int length, int stride)
{
	MPI_Datatype type;

	MPI_Type_vector(blocks, length, stride, MPI_INT, &type);
	return type;
}

static MPI_Datatype indexed_type(int blocks)
{
	int *lengths = allocate(blocks * sizeof(int));
	int *starts = allocate(blocks * sizeof(int));
	MPI_Datatype type;

	for (int i = 0; i < blocks; i++) {
		lengths[i] = i % 4;
		starts[i] = 5 * (blocks - i);
	}
	MPI_Type_indexed(blocks, lengths, starts, MPI_SHORT, &type);
	free(lengths);
	free(starts);
	return type;
}

static MPI_Datatype record_type(void)
{
	int lengths[] = { 1, 1, 2 };
	MPI_Aint starts[] = { offsetof(struct record, letter),
		offsetof(struct record, number),
		offsetof(struct record, pair) };
	MPI_Datatype parts[] = { MPI_CHAR, MPI_DOUBLE, MPI_INT }, bare, type;

	MPI_Type_create_struct(3, lengths, starts, parts, &bare);
	MPI_Type_create_resized(bare, 0, sizeof(struct record), &type);
	MPI_Type_free(&bare);
	return type;
}

static MPI_Datatype subarray_type(void)
{
	int sizes[] = { 40, 50, 60 }, parts[] = { 10, 20, 30 };
	int starts[] = { 5, 6, 7 };
	MPI_Datatype type;

	MPI_Type_create_subarray(
		3, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &type);
	return type;
}

/* A type covers the bytes that unpacking into canaries changes. */
static void cover(MPI_Datatype type, int count, int bytes)
{
	int at = 0;

	memset(packed, (unsigned char)~CANARY, bytes);
	memset(in, CANARY, ROOM);
	MPI_Unpack(
		packed, bytes, &at, in + MIDDLE, count, type, MPI_COMM_WORLD);
	for (int i = 0; i < ROOM; i++)
		covered[i] = (unsigned char)in[i] != CANARY;
}

/* Rank r's memory, and the covered bytes in a buffer of canaries. */
static void memory_check(const char *what)
{
	char *wanted = allocate(ROOM);

	bytes_fill(wanted, ROOM, previous);
	for (int i = 0; i < ROOM; i++) {
		unsigned char byte = covered[i] ? wanted[i] : CANARY;
		CHECK((unsigned char)in[i] == byte,
			"%s: byte %d is %#x instead of %#x", what, i - MIDDLE,
			(unsigned char)in[i], byte);
	}
	free(wanted);
}

static void both_typed(MPI_Datatype type, int count, const char *what)
{
	memset(in, CANARY, ROOM);
	MPI_Sendrecv(out + MIDDLE, count, type, next, TAG, in + MIDDLE, count,
		type, previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	memory_check(what);
}

static void sender_typed(
	MPI_Datatype type, int count, int bytes, const char *what)
{
	int at = 0;

	memset(in, CANARY, ROOM);
	MPI_Sendrecv(out + MIDDLE, count, type, next, TAG, packed, bytes,
		MPI_PACKED, previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Unpack(
		packed, bytes, &at, in + MIDDLE, count, type, MPI_COMM_WORLD);
	memory_check(what);
}

static void receiver_typed(
	MPI_Datatype type, int count, int bytes, const char *what)
{
	int at = 0;

	memset(in, CANARY, ROOM);
	MPI_Pack(out + MIDDLE, count, type, packed, bytes, &at, MPI_COMM_WORLD);
	MPI_Sendrecv(packed, at, MPI_PACKED, next, TAG, in + MIDDLE, count,
		type, previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	memory_check(what);
}

static void everything(MPI_Datatype type, int count, const char *what)
{
	int bytes;

	MPI_Type_commit(&type);
	MPI_Type_size(type, &bytes);
	bytes *= count;
	cover(type, count, bytes);
	both_typed(type, count, what);
	sender_typed(type, count, bytes, what);
	receiver_typed(type, count, bytes, what);
	MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv, "datatypes");
	next = (my_rank + 1) % ranks;
	previous = (my_rank + ranks - 1) % ranks;
	out = allocate(ROOM);
	in = allocate(ROOM);
	packed = allocate(ROOM);
	covered = allocate(ROOM * sizeof(*covered));
	bytes_fill(out, ROOM, my_rank);

	everything(vector_type(10, 3, 5), 2, "short vector");
	everything(vector_type(5000, 7, 11), 3, "long vector");
	everything(vector_type(3000, 2, -20), 1, "negative stride");
	everything(indexed_type(30), 4, "indexed");
	everything(indexed_type(20000), 2, "many blocks");
	everything(record_type(), 1, "structure");
	everything(record_type(), 20000, "structures");
	everything(subarray_type(), 1, "part of a matrix");

	free(out);
	free(in);
	free(packed);
	free(covered);
	return check_end();
}
