/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common code of the MPI programs: start and end, buffer contents that depend
 * on their sender and receiver, and checks that abort the job at the first
 * wrong byte. MPI errors abort the job (MPI_ERRORS_ARE_FATAL) unless a program
 * changes the error handler.
 *
 * A program calls check_start(), runs its tests, and returns check_end(), which
 * prints the line that reports success.
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

/* Receive buffers are filled with this byte, which no message contains. */
#define CANARY 0xa5

void check_start(int *argc, char ***argv, const char *program);
/* The same with threads; fails if MPI does not provide MPI_THREAD_MULTIPLE. */
void check_start_threads(int *argc, char ***argv, const char *program);
/* Collective. Returns the exit status of main(). */
int check_end(void);

/* Prints a message and aborts the job. */
void fail(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#define CHECK(condition, ...)              \
	do {                               \
		if (!(condition))          \
			fail(__VA_ARGS__); \
	} while (0)

/* Aborts the job if there is no memory. */
void *allocate(size_t bytes);

/* Bytes that depend on the seed and on their position. */
void bytes_fill(void *memory, size_t length, uint64_t seed);
void bytes_check(
	const void *memory, size_t length, uint64_t seed, const char *what);
/* All of them must be CANARY. */
void canary_check(const void *memory, size_t length, const char *what);

/* The i-th number that rank `from` sends to rank `to`. */
int item(int from, int to, int i);
void items_fill(int *items, int count, int from, int to);
void items_check(
	const int *items, int count, int from, int to, const char *what);

/* Checks the status of a receive; a source or tag of -1 matches any. */
void status_check(const MPI_Status *, int source, int tag, MPI_Datatype,
	int count, const char *what);

#endif
