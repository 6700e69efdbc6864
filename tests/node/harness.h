/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helpers of the node tests: a separate node name for each run, and child
 * processes with bounded waits.
 *
 *	int main(void)
 *	{
 *		harness_begin("cleanup");
 *		...
 *	}
 */
#ifndef CAY_TESTS_NODE_HARNESS_H
#define CAY_TESTS_NODE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cay/cay.h"
#include "node/protocol.h"

/* gcc defines the macros, clang the features. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HARNESS_SANITIZED 1
#else
#define HARNESS_SANITIZED 0
#endif

/* Far longer than any step takes; only a hang reaches it. */
#define HARNESS_TIMEOUT_MS 20000

static char harness_name[NODE_NAME_MAX];

/* The process ID in the name keeps concurrent runs apart. */
static inline void harness_begin(const char *program)
{
	if (!getenv("CAY_NODE_PROGRAM")) {
		fprintf(stderr, "CAY_NODE_PROGRAM must name the program cay\n");
		exit(99);
	}
	snprintf(harness_name, sizeof(harness_name), "test-%s-%d", program,
		(int)getpid());
	setenv("CAY_NODE", harness_name, 1);
	unsetenv("CAY_REALM");
	signal(SIGPIPE, SIG_IGN);
	/* cmocka cannot jump back to its runner from a child or a thread. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
}

/* Selects another node, so that tests do not affect each other. */
static inline void harness_rename(void)
{
	static unsigned count;
	size_t length = strcspn(harness_name, "+");
	snprintf(harness_name + length, sizeof(harness_name) - length, "+%d.%u",
		(int)getpid(), ++count);
	setenv("CAY_NODE", harness_name, 1);
}

/* ---- random numbers; a run can be repeated with its seed ---- */

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

static inline void random_fill(uint64_t *state, void *bytes, size_t count)
{
	unsigned char *at = bytes;
	for (size_t i = 0; i < count; i++)
		at[i] = (unsigned char)random_next(state);
}

/* Returns and prints the seed: $CAY_SEED, or one derived from the clock. */
static inline uint64_t random_seed(void)
{
	const char *given = getenv("CAY_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0)
			      : clock_now_ns() ^ (uint64_t)getpid() << 40;
	print_message("CAY_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* ---- waiting ---- */

static inline uint64_t elapsed_ms(uint64_t since_ns)
{
	return (clock_now_ns() - since_ns) / CLOCK_NS_PER_MS;
}

/* Waits until done() returns true; returns false after the time-out. */
static inline bool wait_for(
	bool (*done)(void *), void *argument, uint64_t timeout_ms)
{
	uint64_t deadline = clock_after_ns(timeout_ms * CLOCK_NS_PER_MS);
	while (!done(argument)) {
		if (clock_passed(deadline))
			return done(argument);
		clock_nap_ns(2 * CLOCK_NS_PER_MS);
	}
	return true;
}

/* Returns true if the process exits, or does not exist, within the time. */
static inline bool exit_wait(pid_t pid, uint64_t timeout_ms)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return true;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t deadline = clock_after_ns(timeout_ms * CLOCK_NS_PER_MS);
	int r;
	do
		r = poll(&p, 1, (int)timeout_ms);
	while (r < 0 && errno == EINTR && !clock_passed(deadline));
	close(fd);
	return r == 1;
}

/* ---- children ---- */

/* The kernel kills the child when the test exits. */
static inline void child_die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static inline pid_t child_start(int (*body)(void *), void *argument)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		child_die_with_parent();
		_exit(body(argument));
	}
	return pid;
}

/* Returns the exit status, or the negative number of the fatal signal. */
static inline int child_join(pid_t pid)
{
	int status;
	if (!exit_wait(pid, HARNESS_TIMEOUT_MS)) {
		print_error("child %d hangs\n", (int)pid);
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int child_run(int (*body)(void *), void *argument)
{
	return child_join(child_start(body, argument));
}

static inline void child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(child_join(pid), -SIGKILL);
}

/* A child reports that it is ready by writing one byte. */
static inline void signal_ready(int fd)
{
	if (write(fd, "+", 1) != 1)
		_exit(97);
}

static inline bool wait_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;
	return poll(&p, 1, HARNESS_TIMEOUT_MS) == 1 && read(fd, &byte, 1) == 1;
}

static int child_ready_fd;

/* Starts a child and waits until its body calls child_ready(). */
static inline pid_t child_start_ready(int (*body)(void *), void *argument)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child_ready_fd = ends[1];
	pid_t pid = child_start(body, argument);
	close(ends[1]);
	assert_true(wait_ready(ends[0]));
	close(ends[0]);
	return pid;
}

static inline void child_ready(void)
{
	signal_ready(child_ready_fd);
}

#endif
