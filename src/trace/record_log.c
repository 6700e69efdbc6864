/* SPDX-License-Identifier: BSD-2-Clause */
/* See record_log.h. */
#include "trace/record_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format.h"

struct known {
	struct known *next;
	const void *handle;
	struct record_handle what;
};

/*
 * A handler of the program may jump out of a call, and a thread may be
 * cancelled in it: not while it has the lock.
 */
struct guard {
	sigset_t signals;
	int cancel;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *known;

/* The process whose file it is 63:32, and 1 + its descriptor, or 0. */
static _Atomic uint64_t file;

/* How it is known again: a program may close what it has not opened. */
static dev_t file_device;
static ino_t file_number;

static void guard_begin(struct guard *g)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &g->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
	pthread_mutex_lock(&lock);
}

static void guard_end(struct guard *g)
{
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(g->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
}

/* ---- the file ---- */

/* Under the lock. The header is written by whoever makes the file. */
static int file_open(pid_t pid)
{
	const char *directory = getenv(RECORD_DIRECTORY);
	char path[PATH_MAX];
	int n = directory ? snprintf(path, sizeof(path), "%s/%d", directory,
				    (int)pid)
			  : -1;
	if (n < 0 || n >= (int)sizeof(path))
		return -1;
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0) /* of this process, before it has executed itself */
		return errno == EEXIST ? open(path, flags) : -1;
	if (write(fd, FORMAT_PART "\n", sizeof(FORMAT_PART)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool file_ours(int fd)
{
	struct stat s;
	return fstat(fd, &s) == 0 && s.st_dev == file_device &&
	       s.st_ino == file_number;
}

/* The first line of a process, also of one that was forked. */
static uint64_t file_change(pid_t pid)
{
	struct guard g;
	struct stat s;
	guard_begin(&g);
	uint64_t now = atomic_load_explicit(&file, memory_order_relaxed);
	int former = (int)(uint32_t)now - 1;
	bool ours = former >= 0 && file_ours(former);
	if (now >> 32 != (uint64_t)pid || !ours) {
		if (ours)
			close(former); /* the parent's */
		int fd = file_open(pid);
		if (fd >= 0 && fstat(fd, &s) == 0) {
			file_device = s.st_dev;
			file_number = s.st_ino;
		}
		now = (uint64_t)pid << 32 | (uint32_t)(fd + 1);
		atomic_store_explicit(&file, now, memory_order_release);
	}
	guard_end(&g);
	return now;
}

/* Its descriptor, or -1. */
static int file_now(void)
{
	pid_t pid = getpid();
	/* Acquire pairs with the release above: the file has its header. */
	uint64_t now = atomic_load_explicit(&file, memory_order_acquire);
	int fd = (int)(uint32_t)now - 1;
	if (now >> 32 == (uint64_t)pid && (fd < 0 || file_ours(fd)))
		return fd;
	return (int)(uint32_t)file_change(pid) - 1;
}

/* A recorder changes nothing for whom it records. */
static void text_append(const char *text, size_t length)
{
	int before = errno, fd = file_now();
	while (fd >= 0 && length) {
		ssize_t n = write(fd, text, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text += n;
		length -= (size_t)n;
	}
	errno = before;
}

void record_line(const struct trace_instruction *i)
{
	char line[TRACE_LINE_MAX];
	text_append(line, trace_line(i, line));
}

void record_queues(const struct trace_queues *q)
{
	char line[TRACE_LINE_MAX];
	text_append(line, trace_queues_line(q, line));
}

/* ---- handles ---- */

/* The lock is free in a child, whoever had it. */
static void fork_before(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_after(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void fork_prepare(void)
{
	pthread_atfork(fork_before, fork_after, fork_after);
}

static bool addr_same(struct cay_addr a, struct cay_addr b)
{
	return a.node == b.node && a.vpid == b.vpid;
}

static bool overlaps(
	const struct record_handle *h, const void *memory, size_t bytes)
{
	uintptr_t a = (uintptr_t)h->memory, b = (uintptr_t)memory;
	return h->memory && a < b + bytes && b < a + h->bytes;
}

void record_remember(const void *handle, const struct record_handle *what)
{
	struct known *k = malloc(sizeof(*k));
	struct guard g;
	if (!k)
		return;
	guard_begin(&g);
	*k = (struct known){ known, handle, *what };
	known = k;
	guard_end(&g);
}

/* Under the lock. */
static void known_remove(struct known **at)
{
	struct known *k = *at;
	*at = k->next;
	free(k);
}

static bool handle_find(
	const void *handle, bool forget, struct record_handle *what)
{
	bool found = false;
	struct guard g;
	guard_begin(&g);
	for (struct known **at = &known; *at && !found; at = &(*at)->next) {
		if ((*at)->handle != handle)
			continue;
		*what = (*at)->what;
		found = true;
		if (forget)
			known_remove(at);
		break;
	}
	guard_end(&g);
	return found;
}

bool record_recall(const void *handle, struct record_handle *what)
{
	return handle_find(handle, false, what);
}

bool record_forget(const void *handle, struct record_handle *what)
{
	return handle_find(handle, true, what);
}

bool record_covers(struct cay_addr port, const void *memory, size_t bytes)
{
	bool found = false;
	struct guard g;
	guard_begin(&g);
	for (struct known *k = known; k && !found; k = k->next)
		found = addr_same(k->what.port, port) &&
			overlaps(&k->what, memory, bytes);
	guard_end(&g);
	return found;
}

void record_forget_port(struct cay_addr port)
{
	struct guard g;
	guard_begin(&g);
	for (struct known **at = &known; *at;)
		if (addr_same((*at)->what.port, port))
			known_remove(at);
		else
			at = &(*at)->next;
	guard_end(&g);
}
