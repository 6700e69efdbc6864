/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of shared memory, and of reading the memory of another process. */
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
#include "base/fields.h"
#include "cli/doctor/probe.h"
#include "node/node.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SHARED_BYTES 65536u

/* ---- memfd and seals ---- */

/* Maps a memfd that is sealed against resizing. Returns it or -errno. */
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

static void probe_memfd(struct finding *f)
{
	void *memory;
	int fd = shared_open(&memory);
	if (fd < 0) {
		finding_set(
			f, PROBE_MISSING, "no sealed memfd: %s", strerror(-fd));
		finding_advise(f, "Cay needs Linux 3.17 and a seccomp filter "
				  "that allows memfd_create");
		return;
	}
	if (ftruncate(fd, 0) == 0 || errno != EPERM) {
		finding_set(f, PROBE_MISSING, "a sealed memfd can shrink");
		finding_advise(f, "this kernel or sandbox ignores seals: use "
				  "a Linux kernel");
	} else {
		/* The last seal forbids new writable mappings. */
		int seals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
		void *p = MAP_FAILED;
		bool sealed = fcntl(fd, F_ADD_SEALS, seals) == 0;
		if (sealed)
			p = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED, fd, 0);
		if (p != MAP_FAILED)
			munmap(p, SHARED_BYTES);
		if (sealed && p == MAP_FAILED) {
			finding_set(f, PROBE_OK, "memfd with working seals");
		} else {
			finding_set(f, PROBE_WARN,
				"memfd without F_SEAL_FUTURE_WRITE");
			finding_advise(f, "Linux 5.1 protects an arena from "
					  "new writable mappings");
		}
	}
	munmap(memory, SHARED_BYTES);
	close(fd);
}

/* ---- arena ---- */

/* In a child, because a file size limit ends the process with a signal. */
static int arena_try(void *argument)
{
	(void)argument;
	int fd = memfd_create("cay-doctor", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)NODE_ARENA_BYTES) != 0)
		return errno;
	unsigned char *p = mmap(NULL, NODE_ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return errno;
	p[0] = p[NODE_ARENA_BYTES - 1] = 1;
	return 0;
}

static void probe_arena(struct finding *f)
{
	pid_t child = probe_child(arena_try, NULL);
	int r = child < 0 ? (int)-child : probe_wait(child);
	char size[FIELD_BYTES];
	bytes_text(NODE_ARENA_BYTES, size);
	if (r == 0) {
		finding_set(f, PROBE_OK,
			"%s of sparse shared memory can be mapped", size);
		return;
	}
	finding_set(f, PROBE_MISSING, "%s of sparse shared memory: %s", size,
		r < 0 ? strsignal(-r) : strerror(r));
	if (r == -SIGXFSZ || r == EFBIG)
		finding_advise(
			f, "raise the file size limit (ulimit -f unlimited)");
	else if (r == ENOMEM)
		finding_advise(f, "raise the address space limit (ulimit -v "
				  "unlimited), or start the node with a "
				  "smaller arena; see cay(1)");
}

/* ---- futex ---- */

struct sleeper {
	_Atomic uint32_t word, awake;
};

/* The word stays 0, so only a wake-up returns 0. */
static int futex_sleep(void *argument)
{
	struct sleeper *s = argument;
	const struct timespec timeout = { .tv_sec = 2 };
	atomic_store(&s->awake, 1);
	long r = syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, &timeout, NULL, 0);
	return r == 0 ? 0 : errno;
}

static void probe_futex(struct finding *f)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	void *memory;
	bool woken = false;
	int fd = shared_open(&memory);
	if (fd < 0) {
		finding_set(f, PROBE_MISSING, "not tested: no shared memory");
		return;
	}
	pid_t child = probe_child(futex_sleep, memory);
	if (child > 0) {
		struct sleeper *s = memory;
		/* Repeated, because the child may not sleep yet. */
		for (int i = 0; i < 1000 && !woken; i++) {
			nanosleep(&pause, NULL);
			woken = atomic_load(&s->awake) &&
				syscall(SYS_futex, &s->word, FUTEX_WAKE, 1,
					NULL, NULL, 0) == 1;
		}
		woken = probe_wait(child) == 0 && woken;
	}
	munmap(memory, SHARED_BYTES);
	close(fd);
	if (woken) {
		finding_set(f, PROBE_OK, "a process can wake another one");
		return;
	}
	finding_set(f, PROBE_MISSING, "a process cannot wake another one");
	finding_advise(f, "allow futex on shared memory in the sandbox");
}

/* ---- process_vm_readv ---- */

struct cross {
	pid_t parent;
	int to_parent[2], to_child[2];
	uint64_t cookie; /* the child changes its copy */
};

#define CROSS_PARENT 0x1122334455667788ull
#define CROSS_CHILD  0x99aabbccddeeff00ull

/* Compares the cookie of another process. Returns 0 or errno. */
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
	/* Waits until the parent has read the memory. */
	if (write(c->to_parent[1], &byte, 1) != 1 ||
		read(c->to_child[0], &byte, 1) != 1)
		return EIO;
	return r;
}

/* Tests both directions; each result is 0 or errno. */
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
		*up = *down = EPERM; /* killed by a seccomp filter */
}

static void probe_cross(struct finding *f)
{
	struct cross c = { .parent = getpid(), .cookie = CROSS_PARENT };
	char scope[16] = "";
	int down = 0, up = 0;
	if (pipe2(c.to_parent, O_CLOEXEC) != 0 ||
		pipe2(c.to_child, O_CLOEXEC) != 0) {
		finding_set(f, PROBE_WARN, "not tested: %s", strerror(errno));
		return;
	}
	cross_try(&c, &down, &up);
	close(c.to_parent[0]);
	close(c.to_child[0]);
	close(c.to_child[1]);
	if (down == 0 && up == 0) {
		finding_set(f, PROBE_OK,
			"process_vm_readv works in both directions");
		return;
	}
	finding_set(f, PROBE_WARN,
		"process_vm_readv: of a child: %s; of a parent: %s",
		down ? strerror(down) : "works", up ? strerror(up) : "works");
	probe_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (scope[0] && scope[0] != '0')
		finding_advise(f,
			"sysctl -w kernel.yama.ptrace_scope=0 (now %s), or "
			"send long messages from cay_alloc() memory; others "
			"are copied twice",
			scope);
	else
		finding_advise(f, "give the container CAP_SYS_PTRACE or a "
				  "seccomp filter that allows "
				  "process_vm_readv, or send long messages "
				  "from cay_alloc() memory; others are copied "
				  "twice");
}

/* ---- huge pages ---- */

static void probe_huge(struct finding *f)
{
	const size_t bytes = 2u << 20;
	char shmem[128] = "unknown", pages[32] = "0";
	probe_read("/sys/kernel/mm/transparent_hugepage/shmem_enabled", shmem,
		sizeof(shmem));
	probe_read("/proc/sys/vm/nr_hugepages", pages, sizeof(pages));
	/* "always within_size advise [never] deny force" */
	char *start = strchr(shmem, '['), *end = strchr(shmem, ']');
	if (start && end && start < end) {
		*end = 0;
		memmove(shmem, start + 1, strlen(start + 1) + 1);
	}
	bool transparent = strcmp(shmem, "always") == 0 ||
			   strcmp(shmem, "within_size") == 0 ||
			   strcmp(shmem, "advise") == 0 ||
			   strcmp(shmem, "force") == 0;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	bool reserved = p != MAP_FAILED;
	if (reserved)
		munmap(p, bytes);
	finding_set(f, transparent || reserved ? PROBE_OK : PROBE_WARN,
		"transparent huge pages of shared memory: %s; reserved: %s%s",
		shmem, pages, reserved ? "" : ", none available");
	if (!transparent && !reserved)
		finding_advise(f, "CAY_PORT_HUGE has no effect: echo advise > "
				  "/sys/kernel/mm/transparent_hugepage/"
				  "shmem_enabled");
}

static const struct probe probes[] = {
	{ "shared memory", probe_memfd },
	{ "arena", probe_arena },
	{ "futex", probe_futex },
	{ "peer memory", probe_cross },
	{ "huge pages", probe_huge },
};

const struct probe_group probe_memory = { probes, ARRAY_COUNT(probes) };
