/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parent's side of a group: shared memory, descriptors, forked ranks that
 * end with the parent, and the time limit. The parent is no rank and holds no
 * port; it sleeps, so that it does not disturb the measurement.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/cores.h"
#include "bench/harness/group.h"

#define WATCH_MS 250		      /* between two calls of job->watch */
#define GRACE_NS (2 * CLOCK_NS_PER_S) /* for the others when a rank fails */
#define TERM_NS	 CLOCK_NS_PER_S	      /* between SIGTERM and SIGKILL */

/* ---- memory and descriptors ---- */

static void *map_memory(size_t bytes)
{
	int fd = memfd_create("cay-bench", MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)bytes) == 0)
		at = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

int group_open(
	struct group *g, unsigned ranks, const int core[2], size_t area_bytes)
{
	if (ranks < 2 || ranks > GROUP_RANKS_MAX)
		return -EINVAL;
	void *memory = map_memory(group_bytes(area_bytes));
	if (!memory)
		return -errno;
	group_attach(g, ranks, memory, area_bytes);
	memcpy(g->core, core, sizeof(g->core));
	memset(g->link, -1, sizeof(g->link));
	memset(g->pipe, -1, sizeof(g->pipe));
	memset(g->event, -1, sizeof(g->event));
	for (unsigned i = 0; i < ranks; i++) {
		g->event[i] = eventfd(0, EFD_CLOEXEC);
		if (g->event[i] < 0 ||
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				g->link[i]) ||
			pipe2(g->pipe[i], O_CLOEXEC)) {
			int r = -errno;
			group_close(g);
			return r;
		}
	}
	return 0;
}

void group_close(struct group *g)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		if (g->link[i][0] >= 0) {
			close(g->link[i][0]);
			close(g->link[i][1]);
		}
		if (g->pipe[i][0] >= 0) {
			close(g->pipe[i][0]);
			close(g->pipe[i][1]);
		}
		if (g->event[i] >= 0)
			close(g->event[i]);
	}
	munmap(g->page, group_bytes(g->area_bytes));
	g->page = NULL;
}

/* ---- a child ---- */

static _Noreturn void child_run(struct group *g, unsigned rank,
	const struct group_job *job, pid_t parent)
{
	/*
	 * SIGTERM, because libfabric's shm provider then removes its files. The
	 * parent may have died before prctl().
	 */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	group_restart_timeout(g);
	int r = group_oversubscribed(g) ? cores_pin(g->core, 2)
					: cores_pin(&g->core[rank], 1);
	if (r)
		group_fail(g, "process %u cannot be pinned to core %d: %s",
			rank, g->core[rank % 2], strerror(-r));
	else
		r = job->body(g, rank, job->argument);
	_exit(r ? 1 : 0);
}

/* ---- the parent ---- */

struct children {
	pid_t pid[GROUP_RANKS_MAX];	     /* 0 once reaped */
	struct pollfd exit[GROUP_RANKS_MAX]; /* pidfd, or -1 once reaped */
	unsigned started, running;
	bool failed;
	uint64_t deadline;
	int signal; /* sent at the deadline */
};

static int children_start(
	struct children *c, struct group *g, const struct group_job *job)
{
	pid_t self = getpid();

	for (unsigned rank = 0; rank < g->ranks; rank++) {
		pid_t pid = fork();
		if (pid == 0)
			child_run(g, rank, job, self);
		if (pid < 0)
			return -errno;
		c->pid[rank] = pid;
		c->exit[rank].fd = (int)syscall(SYS_pidfd_open, pid, 0);
		c->exit[rank].events = POLLIN;
		c->started++;
		c->running++;
	}
	return 0;
}

static void children_reap(struct children *c, struct group *g)
{
	for (unsigned i = 0; i < c->started; i++) {
		int status;
		if (!c->pid[i] || waitpid(c->pid[i], &status, WNOHANG) <= 0)
			continue;
		if (c->exit[i].fd >= 0)
			close(c->exit[i].fd);
		c->exit[i].fd = -1;
		c->pid[i] = 0;
		c->running--;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (WIFSIGNALED(status))
			group_fail(g, "process %u was ended by signal %d (%s)",
				i, WTERMSIG(status),
				strsignal(WTERMSIG(status)));
		else
			group_fail(g, "process %u failed", i);
		/* The others notice at their next group_check(). */
		if (!c->failed)
			c->deadline =
				bits_min(c->deadline, clock_after_ns(GRACE_NS));
		c->failed = true;
	}
}

/* Ends the children at the deadline: SIGTERM, and a second later SIGKILL. */
static void children_expire(struct children *c, struct group *g)
{
	if (!clock_passed(c->deadline))
		return;
	if (!c->failed)
		group_fail(g, "the processes did not end in time");
	c->failed = true;
	for (unsigned i = 0; i < c->started; i++)
		if (c->pid[i])
			kill(c->pid[i], c->signal);
	c->signal = SIGKILL;
	c->deadline = clock_after_ns(TERM_NS);
}

int group_run(struct group *g, const struct group_job *job)
{
	struct children c = { .deadline = clock_after_ns(job->limit_ns),
		.signal = SIGTERM };
	int r = children_start(&c, g, job);

	if (r) {
		group_fail(g, "fork: %s", strerror(-r));
		c.failed = true;
		c.deadline = 0;
	}
	while (c.running) {
		poll(c.exit, c.started, WATCH_MS);
		children_reap(&c, g);
		children_expire(&c, g);
		if (job->watch)
			job->watch(g->page, job->argument);
	}
	return c.failed ? -ECANCELED : 0;
}
