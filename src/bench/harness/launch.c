/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parent's side of a group: shared memory, descriptors, processes that die
 * with it, and the watchdog that ends them.
 */
#include "bench/harness/group.h"

#include <errno.h>
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

#define LOOK_MS	 250		      /* between two looks at the children */
#define GRACE_NS (2 * CLOCK_NS_PER_S) /* for the others when one has failed */

/* The processes of a running job, as the parent sees them. */
struct brood {
	pid_t pid[GROUP_RANKS_MAX];
	struct pollfd exit[GROUP_RANKS_MAX]; /* pidfd, or -1 once reaped */
	unsigned born, living;
	bool failed;
	uint64_t deadline;
};

/* ---- what a group shares ---- */

static void *group_map(size_t bytes)
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

static int group_open_descriptors(struct group *p)
{
	for (unsigned i = 0; i < p->ranks; i++)
		p->link[i][0] = p->link[i][1] = p->event[i] = -1;
	for (unsigned i = 0; i < p->ranks; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			    p->link[i]) != 0)
			return -errno;
		p->event[i] = eventfd(0, EFD_CLOEXEC);
		if (p->event[i] < 0)
			return -errno;
	}
	return 0;
}

static void group_close_descriptors(struct group *p)
{
	for (unsigned i = 0; i < p->ranks; i++) {
		if (p->link[i][0] >= 0) {
			close(p->link[i][0]);
			close(p->link[i][1]);
		}
		if (p->event[i] >= 0)
			close(p->event[i]);
	}
}

int group_open(
	struct group *p, unsigned ranks, const int core[2], size_t area_bytes)
{
	size_t page_bytes = bits_round_up(sizeof(struct group_page), 4096);

	if (ranks < 2 || ranks > GROUP_RANKS_MAX)
		return -EINVAL;
	*p = (struct group){ .ranks = ranks, .area_bytes = area_bytes };
	memcpy(p->core, core, sizeof(p->core));
	unsigned char *at = group_map(page_bytes + area_bytes);
	if (!at)
		return -errno;
	p->page = (struct group_page *)(void *)at;
	p->area = at + page_bytes;
	int r = group_open_descriptors(p);
	if (r)
		group_close(p);
	return r;
}

void group_close(struct group *p)
{
	size_t page_bytes = bits_round_up(sizeof(struct group_page), 4096);

	group_close_descriptors(p);
	munmap(p->page, page_bytes + p->area_bytes);
	p->page = NULL;
}

/* ---- a child ---- */

static int group_pin(const struct group *p, unsigned rank)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (group_oversubscribed(p)) {
		CPU_SET(p->core[0], &set);
		CPU_SET(p->core[1], &set);
	} else {
		CPU_SET(p->core[rank], &set);
	}
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

__attribute__((noreturn)) static void child_run(struct group *p, unsigned rank,
	const struct group_job *job, pid_t parent)
{
	/* The parent may have died before prctl() could say so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	group_restart_timeout(p);
	int r = group_pin(p, rank);
	if (r)
		group_fail(p, "process %u cannot be pinned to core %d: %s",
			rank, p->core[rank % 2], strerror(-r));
	else
		r = job->body(p, rank, job->argument);
	_exit(r ? 1 : 0);
}

/* ---- the parent ---- */

static int brood_bear(
	struct brood *b, struct group *p, const struct group_job *job)
{
	unsigned rank = b->born;
	pid_t self = getpid(), pid = fork();

	if (pid == 0)
		child_run(p, rank, job, self);
	if (pid < 0)
		return -errno;
	b->pid[rank] = pid;
	b->exit[rank].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	b->exit[rank].events = POLLIN;
	b->born++;
	b->living++;
	return 0;
}

static void brood_kill(struct brood *b)
{
	for (unsigned i = 0; i < b->born; i++)
		if (b->pid[i])
			kill(b->pid[i], SIGKILL);
}

/* One has ended: the others have some time to notice that it failed. */
static void brood_note(
	struct brood *b, struct group *p, unsigned rank, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status))
		group_fail(p, "process %u was ended by signal %d (%s)", rank,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		group_fail(p, "process %u gave up", rank);
	if (!b->failed)
		b->deadline = bits_min(b->deadline, clock_after_ns(GRACE_NS));
	b->failed = true;
}

static void brood_reap(struct brood *b, struct group *p)
{
	int status;

	for (unsigned i = 0; i < b->born; i++) {
		if (!b->pid[i] || waitpid(b->pid[i], &status, WNOHANG) <= 0)
			continue;
		if (b->exit[i].fd >= 0)
			close(b->exit[i].fd);
		b->exit[i].fd = -1;
		b->pid[i] = 0;
		b->living--;
		brood_note(b, p, i, status);
	}
}

static void brood_expire(struct brood *b, struct group *p)
{
	if (!clock_passed(b->deadline))
		return;
	if (!b->failed)
		group_fail(p, "the processes did not end in time");
	b->failed = true;
	brood_kill(b);
}

static int brood_watch(
	struct brood *b, struct group *p, const struct group_job *job)
{
	while (b->living) {
		poll(b->exit, b->born, job->watch ? LOOK_MS : 1000);
		brood_reap(b, p);
		brood_expire(b, p);
		if (job->watch)
			job->watch(p->page, job->argument);
	}
	return b->failed ? -ECANCELED : 0;
}

int group_run(struct group *p, const struct group_job *job)
{
	struct brood b = { .deadline = clock_after_ns(job->limit_ns) };
	int r = 0;

	for (unsigned i = 0; !r && i < p->ranks; i++)
		r = brood_bear(&b, p, job);
	if (r) {
		group_fail(p, "fork: %s", strerror(-r));
		brood_kill(&b);
	}
	int watched = brood_watch(&b, p, job);
	return r ? -ECANCELED : watched;
}
