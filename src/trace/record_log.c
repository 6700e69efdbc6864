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

struct handle {
	struct handle *next;
	const void *handle;
	struct record_handle what;
};

/*
 * Holds the lock with signals blocked and cancellation disabled: a signal
 * handler of the program may leave a call with longjmp().
 */
struct guard {
	sigset_t signals;
	int cancel;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;

/* Process number 63:32, and 1 + descriptor of its file 31:0, or 0. */
static _Atomic uint64_t file;

/* Identity of the file: the program may close its descriptor. */
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

/* Under the lock. Creates the file with its header. */
static int file_open(pid_t pid)
{
	const char *directory = secure_getenv(RECORD_DIRECTORY);
	char path[PATH_MAX];
	int n = directory ? snprintf(path, sizeof(path), "%s/%d", directory,
				    (int)pid)
			  : -1;
	if (n < 0 || n >= (int)sizeof(path))
		return -1;
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0) /* the process has created it before exec() */
		return errno == EEXIST ? open(path, flags) : -1;
	if (write(fd, FORMAT_PART "\n", sizeof(FORMAT_PART)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool file_valid(int fd)
{
	struct stat s;
	return fstat(fd, &s) == 0 && s.st_dev == file_device &&
	       s.st_ino == file_number;
}

/* Opens the file of this process; a forked child closes its parent's. */
static uint64_t file_reopen(pid_t pid)
{
	struct guard g;
	struct stat s;
	guard_begin(&g);
	uint64_t now = atomic_load_explicit(&file, memory_order_relaxed);
	int former = (int)(uint32_t)now - 1;
	bool valid = former >= 0 && file_valid(former);
	if (now >> 32 != (uint64_t)pid || !valid) {
		if (valid)
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

/* Leaves errno unchanged: the recorder must not affect the program. */
static void text_append(const char *text, size_t length)
{
	int before = errno;
	pid_t pid = getpid();
	/*
	 * Acquire pairs with the release in file_reopen(): the file has its
	 * header.
	 */
	uint64_t now = atomic_load_explicit(&file, memory_order_acquire);
	int fd = (int)(uint32_t)now - 1;
	if (now >> 32 != (uint64_t)pid || (fd >= 0 && !file_valid(fd)))
		fd = (int)(uint32_t)file_reopen(pid) - 1;
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

/* The forking thread holds the lock, so it is free in the child. */
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

void handle_add(const void *handle, const struct record_handle *what)
{
	struct handle *h = malloc(sizeof(*h));
	struct guard g;
	if (!h)
		return;
	guard_begin(&g);
	*h = (struct handle){ handles, handle, *what };
	handles = h;
	guard_end(&g);
}

/* Under the lock. */
static void handle_unlink(struct handle **at)
{
	struct handle *h = *at;
	*at = h->next;
	free(h);
}

static bool handle_search(
	const void *handle, bool remove, struct record_handle *what)
{
	struct guard g;
	guard_begin(&g);
	struct handle **at = &handles;
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	bool found = *at;
	if (found)
		*what = (*at)->what;
	if (found && remove)
		handle_unlink(at);
	guard_end(&g);
	return found;
}

bool handle_find(const void *handle, struct record_handle *what)
{
	return handle_search(handle, false, what);
}

bool handle_remove(const void *handle, struct record_handle *what)
{
	return handle_search(handle, true, what);
}

bool handles_cover(struct cay_addr port, const void *memory, size_t bytes)
{
	uintptr_t start = (uintptr_t)memory;
	bool found = false;
	struct guard g;
	guard_begin(&g);
	for (struct handle *h = handles; h && !found; h = h->next) {
		uintptr_t own = (uintptr_t)h->what.memory;
		found = own && addr_same(h->what.port, port) &&
			own < start + bytes && start < own + h->what.bytes;
	}
	guard_end(&g);
	return found;
}

void handles_remove(struct cay_addr port)
{
	struct guard g;
	guard_begin(&g);
	for (struct handle **at = &handles; *at;)
		if (addr_same((*at)->what.port, port))
			handle_unlink(at);
		else
			at = &(*at)->next;
	guard_end(&g);
}
