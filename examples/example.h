/* SPDX-License-Identifier: BSD-2-Clause */
/* What the examples share: errors, events, and child processes. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <cay/cay.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 10

/* Every wait has a deadline, so that no example hangs. */
static inline uint64_t deadline(void)
{
	return cay_deadline_s(SECONDS_MAX);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Ends the program if a call has failed. Returns its result. */
static inline int check(const char *call, int result)
{
	if (result < 0)
		errx(1, "%s: %s", call, cay_call_strerror(call, result));
	return result;
}

/* Prints a property that the program shows, and ends it if that is not so. */
static inline void expect(int condition, const char *what)
{
	if (!condition)
		errx(1, "failed: %s", what);
	printf("ok: %s\n", what);
}

/* Opens a port; the name may be NULL. */
static inline struct cay_port *port_open(const char *name)
{
	struct cay_port_options options = { .name = name };
	struct cay_port *port = cay_port_open(&options);
	if (!port)
		errx(1, "cay_port_open: %s",
			cay_call_strerror("cay_port_open", errno));
	return port;
}

static inline void *memory_alloc(struct cay_port *port, size_t bytes)
{
	void *memory = cay_alloc(port, bytes, 0);
	if (!memory)
		errx(1, "cay_alloc: %s", cay_call_strerror("cay_alloc", errno));
	return memory;
}

/* Waits for the next event of a port. */
static inline struct cay_event next_event(struct cay_port *port)
{
	struct cay_event event;
	while (check("cay_poll", cay_poll(port, &event, 1)) == 0)
		check("cay_wait", cay_wait(port, deadline()));
	return event;
}

/*
 * Forks, and returns as fork() does. The child is killed if the parent ends
 * first. Parents open their ports before: a failure then leaves no child.
 */
static inline pid_t child_start(void)
{
	pid_t parent = getpid();
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0 &&
		(prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
		_exit(1);
	if (pid == 0)
		setvbuf(stdout, NULL, _IOLBF, 0);
	return pid;
}

/* Waits for all children. Returns how many have failed or were killed. */
static inline int children_wait(void)
{
	int status, failed = 0;
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

#endif
