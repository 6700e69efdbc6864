/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of memory that processes share, and of what one may read of another.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/doctor/probe.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SHARED_BYTES 65536u

/* ---- memfd and seals ---- */

/* A mapped memfd that cannot shrink or grow; the descriptor or -errno. */
static int shared_open(void **memory)
{
	int fd = memfd_create("cay-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	int error = 0;
	if (ftruncate(fd, SHARED_BYTES) != 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
		error = errno;
	*memory = error ? MAP_FAILED
			: mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	if (!error && *memory == MAP_FAILED)
		error = errno;
	if (!error)
		return fd;
	close(fd);
	return -error;
}

/* Do the seals hold: no shrinking, and no new writable mapping? */
static bool seal_holds(int fd)
{
	return ftruncate(fd, 0) < 0 && errno == EPERM;
}

static bool seal_future_holds(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
		return false;
	void *p = mmap(
		NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return true;
	munmap(p, SHARED_BYTES);
	return false;
}

static void probe_memfd(struct finding *f)
{
	void *memory;
	int fd = shared_open(&memory);
	if (fd < 0) {
		finding_set(
			f, PROBE_MISSING, "no sealed memfd: %s", strerror(-fd));
		finding_advise(f, "Linux 3.17 or later is needed, and a "
				  "container whose seccomp filter allows "
				  "memfd_create");
		return;
	}
	if (!seal_holds(fd)) {
		finding_set(f, PROBE_MISSING, "a sealed memfd can shrink");
		finding_advise(f, "this kernel or sandbox ignores seals: run "
				  "on a Linux kernel");
	} else if (!seal_future_holds(fd)) {
		finding_set(f, PROBE_WARN,
			"memfd with seals, but without F_SEAL_FUTURE_WRITE");
		finding_advise(f, "Linux 5.1 or later keeps others from "
				  "mapping an arena anew");
	} else {
		finding_set(f, PROBE_OK, "memfd, and its seals hold");
	}
	munmap(memory, SHARED_BYTES);
	close(fd);
}

/* ---- the arena ---- */

/* In a child: a limit on file sizes ends a process with a signal. */
static int arena_try(void *argument)
{
	(void)argument;
	int fd = memfd_create("cay-doctor", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)PROBE_ARENA_BYTES) != 0)
		return errno;
	unsigned char *p = mmap(NULL, PROBE_ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return errno;
	p[0] = p[PROBE_ARENA_BYTES - 1] = 1;
	return 0;
}

static void probe_arena(struct finding *f)
{
	pid_t child = probe_child(arena_try, NULL);
	int r = child < 0 ? (int)-child : probe_wait(child);
	const char *size = probe_bytes(PROBE_ARENA_BYTES);
	if (r == 0) {
		finding_set(
			f, PROBE_OK, "%s of sparse shared memory map", size);
		return;
	}
	finding_set(f, PROBE_MISSING, "%s of sparse shared memory: %s", size,
		r < 0 ? strsignal(-r) : strerror(r));
	if (r == -SIGXFSZ || r == EFBIG)
		finding_advise(f, "raise the limit on file sizes (ulimit -f "
				  "unlimited)");
	else if (r == ENOMEM)
		finding_advise(f, "raise the limit on address space (ulimit "
				  "-v unlimited), or start the node with a "
				  "smaller arena; see cay(1)");
}

/* ---- futex ---- */

struct sleeper {
	_Atomic uint32_t word, awake;
};

/* The word stays 0, so only a wake-up ends the sleep. */
static int futex_sleep(void *argument)
{
	struct sleeper *s = argument;
	const struct timespec patience = { .tv_sec = 2 };
	atomic_store(&s->awake, 1);
	long r =
		syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, &patience, NULL, 0);
	return r == 0 ? 0 : errno;
}

/* Wakes until somebody was woken: the child may not sleep yet. */
static bool futex_wake(struct sleeper *s)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	bool woken = false;
	for (int i = 0; i < 1000 && !woken; i++) {
		nanosleep(&nap, NULL);
		woken = atomic_load(&s->awake) &&
			syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL,
				0) == 1;
	}
	return woken;
}

static void probe_futex(struct finding *f)
{
	void *memory;
	bool woken = false;
	int fd = shared_open(&memory);
	if (fd < 0) {
		finding_set(f, PROBE_MISSING, "not tried: no shared memory");
		return;
	}
	pid_t child = probe_child(futex_sleep, memory);
	if (child > 0) {
		woken = futex_wake(memory);
		woken = probe_wait(child) == 0 && woken;
	}
	munmap(memory, SHARED_BYTES);
	close(fd);
	if (woken) {
		finding_set(f, PROBE_OK,
			"a process wakes another on shared memory");
		return;
	}
	finding_set(f, PROBE_MISSING,
		"a process cannot wake another on shared memory");
	finding_advise(f, "allow futex on shared memory in the sandbox");
}

/* ---- reading another process's memory ---- */

struct cross {
	pid_t parent;
	int to_parent[2], to_child[2];
	uint64_t cookie; /* the child's copy becomes another one */
};

#define CROSS_PARENT 0x1122334455667788ull
#define CROSS_CHILD  0x99aabbccddeeff00ull

/* 0 if the other one has this cookie at the same address, else errno. */
static int cross_read(pid_t pid, struct cross *c, uint64_t expected)
{
	uint64_t found = 0;
	struct iovec local = { &found, sizeof(found) };
	struct iovec remote = { &c->cookie, sizeof(c->cookie) };
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
		return errno;
	return found == expected ? 0 : EBADMSG;
}

static int cross_child(void *argument)
{
	struct cross *c = argument;
	char byte = 0;
	c->cookie = CROSS_CHILD;
	int r = cross_read(c->parent, c, CROSS_PARENT);
	/* Stays until the parent has read it. */
	if (write(c->to_parent[1], &byte, 1) != 1 ||
		read(c->to_child[0], &byte, 1) != 1)
		return EIO;
	return r;
}

/* What each direction answers: 0 or errno. */
static void cross_try(struct cross *c, int *down, int *up)
{
	char byte = 0;
	pid_t child = probe_child(cross_child, c);
	*down = *up = child < 0 ? (int)-child : EIO;
	if (child < 0)
		return;
	close(c->to_parent[1]);
	if (read(c->to_parent[0], &byte, 1) == 1)
		*down = cross_read(child, c, CROSS_CHILD);
	if (write(c->to_child[1], &byte, 1) != 1)
		*down = EIO;
	int r = probe_wait(child);
	*up = r;
	if (r < 0)
		*up = *down = EPERM; /* a filter has killed it */
}

static void cross_advise(struct finding *f)
{
	char scope[16] = "";
	probe_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (scope[0] && scope[0] != '0')
		finding_advise(f,
			"kernel.yama.ptrace_scope is %s: sysctl -w "
			"kernel.yama.ptrace_scope=0, or send long messages "
			"from cay_alloc() memory; others are copied twice",
			scope);
	else
		finding_advise(f, "give the container CAP_SYS_PTRACE or a "
				  "seccomp filter that allows "
				  "process_vm_readv, or send long messages "
				  "from cay_alloc() memory; others are copied "
				  "twice");
}

static void probe_cross(struct finding *f)
{
	struct cross c = { .parent = getpid(), .cookie = CROSS_PARENT };
	int down = 0, up = 0;
	if (pipe2(c.to_parent, O_CLOEXEC) != 0 ||
		pipe2(c.to_child, O_CLOEXEC) != 0) {
		finding_set(f, PROBE_WARN, "not tried: %s", strerror(errno));
		return;
	}
	cross_try(&c, &down, &up);
	close(c.to_parent[0]);
	close(c.to_child[0]);
	close(c.to_child[1]);
	if (down == 0 && up == 0) {
		finding_set(f, PROBE_OK,
			"process_vm_readv reads a child and a parent");
		return;
	}
	finding_set(f, PROBE_WARN,
		"process_vm_readv: of a child %s, of a parent %s",
		down ? strerror(down) : "works", up ? strerror(up) : "works");
	cross_advise(f);
}

/* ---- huge pages ---- */

static bool hugetlb_works(void)
{
	const size_t bytes = 2u << 20;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, bytes);
	return true;
}

/* The bracketed word of "always within_size advise [never] deny force". */
static void chosen_word(char *text)
{
	char *open = strchr(text, '['), *close = strchr(text, ']');
	if (!open || !close || close < open)
		return;
	*close = 0;
	memmove(text, open + 1, strlen(open + 1) + 1);
}

static void probe_huge(struct finding *f)
{
	char shmem[128] = "unknown", pages[32] = "0";
	probe_read("/sys/kernel/mm/transparent_hugepage/shmem_enabled", shmem,
		sizeof(shmem));
	probe_read("/proc/sys/vm/nr_hugepages", pages, sizeof(pages));
	chosen_word(shmem);
	bool transparent = strcmp(shmem, "always") == 0 ||
			   strcmp(shmem, "within_size") == 0 ||
			   strcmp(shmem, "advise") == 0 ||
			   strcmp(shmem, "force") == 0;
	bool reserved = hugetlb_works();
	finding_set(f, transparent || reserved ? PROBE_OK : PROBE_WARN,
		"transparent for shared memory: %s; reserved: %s%s", shmem,
		pages, reserved ? "" : ", none to be had");
	if (!transparent && !reserved)
		finding_advise(f, "only CAY_PORT_HUGE misses them: echo advise "
				  "> /sys/kernel/mm/transparent_hugepage/"
				  "shmem_enabled");
}

static const struct probe probes[] = {
	{ "shared memory", probe_memfd },
	{ "arena", probe_arena },
	{ "futex", probe_futex },
	{ "reading a peer", probe_cross },
	{ "huge pages", probe_huge },
};

const struct probe_group probe_memory = { probes, ARRAY_COUNT(probes) };
