/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every MPI program here uses: its rank, content that names its origin,
 * and an end on the first wrong byte. Errors of MPI calls end the job by
 * themselves (MPI_ERRORS_ARE_FATAL), unless a program asks for them.
 *
 * A program calls check_start(), does its work, and returns check_end(), which
 * prints the one line of success.
 */
#ifndef CAY_TESTS_MPI_CHECK_H
#define CAY_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern int my_rank, ranks; /* of MPI_COMM_WORLD */
/* The first argument is "limited": see README.md about Open MPI's btl/ofi. */
extern bool limited;

#define KIB 1024
#define MIB (1024 * 1024)

/* What no message here contains: received buffers hold it beforehand. */
#define CANARY 0xa5

void check_start(int *argc, char ***argv, const char *program);
/* The same with threads; fails if MPI does not provide MPI_THREAD_MULTIPLE. */
void check_start_threads(int *argc, char ***argv, const char *program);
/* Of all ranks; returns the exit status of main(). */
int check_end(void);

/* Ends the job. */
void fail(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#define CHECK(condition, ...)              \
	do {                               \
		if (!(condition))          \
			fail(__VA_ARGS__); \
	} while (0)

/* Or ends the job. */
void *allocate(size_t bytes);

/* Bytes that depend on the seed and on their position. */
void bytes_fill(void *memory, size_t length, uint64_t seed);
void bytes_check(
	const void *memory, size_t length, uint64_t seed, const char *what);
/* All of them must be CANARY. */
void canary_check(const void *memory, size_t length, const char *what);

/* The i-th number that one rank has for another. */
int item(int from, int to, int i);
void items_fill(int *items, int count, int from, int to);
void items_check(
	const int *items, int count, int from, int to, const char *what);

/* The status of a receive must say this; a source or tag of -1: any. */
void status_check(const MPI_Status *, int source, int tag, MPI_Datatype,
	int count, const char *what);

#endif
