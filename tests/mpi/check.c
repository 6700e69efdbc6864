/* SPDX-License-Identifier: BSD-2-Clause */
/* See check.h. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN_S 10 /* how long check_end() waits for CHECK_SEEN */

int my_rank, ranks;
bool limited;
static const char *name;
static double start;

static void started(int argc, char **argv, const char *program)
{
	name = program;
	limited = argc > 1 && strcmp(argv[1], "limited") == 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	start = MPI_Wtime();
}

void check_start(int *argc, char ***argv, const char *program)
{
	MPI_Init(argc, argv);
	started(*argc, *argv, program);
}

void check_start_threads(int *argc, char ***argv, const char *program)
{
	int provided;

	MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
	started(*argc, *argv, program);
	CHECK(provided == MPI_THREAD_MULTIPLE,
		"MPI_THREAD_MULTIPLE is missing");
}

/* run-mpi creates the file CHECK_SEEN when it has found all ports. */
static void wait_until_seen(void)
{
	const char *file = getenv("CHECK_SEEN");
	double deadline = MPI_Wtime() + SEEN_S;

	while (file && access(file, F_OK) && MPI_Wtime() < deadline)
		usleep(10000);
}

int check_end(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (my_rank == 0)
		wait_until_seen();
	MPI_Barrier(MPI_COMM_WORLD);
	if (my_rank == 0)
		printf("%s: ok, %d ranks, %.2f s\n", name, ranks,
			MPI_Wtime() - start);
	MPI_Finalize();
	return 0;
}

void fail(const char *format, ...)
{
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(stderr, "FAILED %s, rank %d: %s\n", name, my_rank, text);
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *allocate(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	CHECK(memory, "no memory for %zu bytes", bytes);
	return memset(memory, CANARY, bytes);
}

/* ---- bytes ---- */

static uint64_t word_of(uint64_t seed, size_t index)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + index * 0xd6e8feb86659fd93u;

	return x ^ x >> 29;
}

void bytes_fill(void *memory, size_t length, uint64_t seed)
{
	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		uint64_t word = word_of(seed, at);
		size_t rest = length - at;
		memcpy((char *)memory + at, &word,
			rest < sizeof(word) ? rest : sizeof(word));
	}
}

static void __attribute__((noreturn)) word_wrong(const unsigned char *found,
	size_t at, size_t length, uint64_t wanted, const char *what)
{
	size_t i = 0;

	while (found[at + i] == (unsigned char)(wanted >> 8 * i))
		i++;
	fail("%s: byte %zu of %zu is %#x instead of %#x", what, at + i, length,
		found[at + i], (unsigned)(wanted >> 8 * i & 0xff));
}

void bytes_check(
	const void *memory, size_t length, uint64_t seed, const char *what)
{
	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		uint64_t word = word_of(seed, at);
		size_t rest = length - at;
		if (memcmp((const char *)memory + at, &word,
			    rest < sizeof(word) ? rest : sizeof(word)))
			word_wrong(memory, at, length, word, what);
	}
}

void canary_check(const void *memory, size_t length, const char *what)
{
	const unsigned char *bytes = memory;

	for (size_t i = 0; i < length; i++)
		CHECK(bytes[i] == CANARY,
			"%s: byte %zu outside the message was changed to %#x",
			what, i, bytes[i]);
}

/* ---- numbers ---- */

int item(int from, int to, int i)
{
	return (int)(from * 2654435761u + to * 40503u + (unsigned)i * 3 + 1);
}

void items_fill(int *items, int count, int from, int to)
{
	for (int i = 0; i < count; i++)
		items[i] = item(from, to, i);
}

void items_check(
	const int *items, int count, int from, int to, const char *what)
{
	for (int i = 0; i < count; i++)
		CHECK(items[i] == item(from, to, i),
			"%s: item %d of %d from %d to %d is %d instead of %d",
			what, i, count, from, to, items[i], item(from, to, i));
}

/* ---- statuses ---- */

void status_check(const MPI_Status *status, int source, int tag,
	MPI_Datatype type, int count, const char *what)
{
	int found;

	MPI_Get_count(status, type, &found);
	CHECK(found == count, "%s: %d items received instead of %d", what,
		found, count);
	CHECK(source < 0 || status->MPI_SOURCE == source,
		"%s: source %d instead of %d", what, status->MPI_SOURCE,
		source);
	CHECK(tag < 0 || status->MPI_TAG == tag, "%s: tag %d instead of %d",
		what, status->MPI_TAG, tag);
}
