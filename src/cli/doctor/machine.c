/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of how much of the machine there is for this user, and of the node. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/doctor/cgroup.h"
#include "cli/doctor/probe.h"
#include "node/address.h"

#define DESCRIPTORS_ENOUGH 1024u
#define MAPPINGS_USUAL	   65530u
#define MEMORY_ENOUGH	   (256ull << 20)

/* ---- processors ---- */

static unsigned cores_allowed(void)
{
	/* Large enough for any machine there is. */
	const size_t cores_max = 8192;
	cpu_set_t *set = CPU_ALLOC(cores_max);
	size_t bytes = CPU_ALLOC_SIZE(cores_max);
	unsigned count = 0;
	if (set && sched_getaffinity(0, bytes, set) == 0)
		count = (unsigned)CPU_COUNT_S(bytes, set);
	CPU_FREE(set);
	return count;
}

static void probe_cores(struct finding *f)
{
	unsigned allowed = cores_allowed();
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t millicores;
	bool limited = cgroup_cores(&millicores);
	char limit[64] = "";
	if (limited)
		snprintf(limit, sizeof(limit), ", limited to %lu.%lu",
			millicores / 1000, millicores % 1000 / 100);
	bool few = allowed < 2 || (limited && millicores < 2000);
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%u of %ld may be used%s",
		allowed, online, limit);
	if (few)
		finding_advise(f, "two processes that share a core sleep "
				  "instead of polling: allow two (taskset, "
				  "cpuset, cpu.max)");
}

/* ---- limits ---- */

static const char *limit_text(rlim_t value)
{
	static char texts[2][32];
	static unsigned next;
	char *text = texts[next++ % 2];
	if (value == RLIM_INFINITY)
		return "unlimited";
	snprintf(text, sizeof(texts[0]), "%lu", (unsigned long)value);
	return text;
}

/* Really so many, not only by the number: the highest one is taken. */
static bool descriptor_reachable(rlim_t count)
{
	int highest = count > 1u << 20 ? (1 << 20) - 1 : (int)count - 1;
	int fd = fcntl(0, F_DUPFD_CLOEXEC, highest);
	if (fd < 0)
		return errno == EBADF; /* no standard input to try with */
	close(fd);
	return true;
}

static void probe_descriptors(struct finding *f)
{
	struct rlimit l;
	getrlimit(RLIMIT_NOFILE, &l);
	bool few = l.rlim_cur < DESCRIPTORS_ENOUGH ||
		   !descriptor_reachable(l.rlim_cur);
	finding_set(f, few ? PROBE_WARN : PROBE_OK,
		"%s per process, %s at most", limit_text(l.rlim_cur),
		limit_text(l.rlim_max));
	if (few)
		finding_advise(f,
			"the node needs one per process and one per port with "
			"a file descriptor: %s",
			l.rlim_max > l.rlim_cur
				? "raise it with ulimit -n"
				: "raise the hard limit (limits.conf, "
				  "LimitNOFILE=)");
}

static void probe_address_space(struct finding *f)
{
	struct rlimit l;
	getrlimit(RLIMIT_AS, &l);
	bool few = l.rlim_cur != RLIM_INFINITY &&
		   l.rlim_cur < 2 * PROBE_ARENA_BYTES;
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%s",
		l.rlim_cur == RLIM_INFINITY ? "unlimited"
					    : probe_bytes(l.rlim_cur));
	if (few)
		finding_advise(f,
			"each realm that a process joins maps %s: "
			"ulimit -v unlimited",
			probe_bytes(PROBE_ARENA_BYTES));
}

static void probe_locked(struct finding *f)
{
	struct rlimit l;
	getrlimit(RLIMIT_MEMLOCK, &l);
	long bytes = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = page != MAP_FAILED && mlock(page, (size_t)bytes) == 0;
	if (page != MAP_FAILED)
		munmap(page, (size_t)bytes);
	finding_set(f, works ? PROBE_OK : PROBE_WARN, "%s%s",
		l.rlim_cur == RLIM_INFINITY ? "unlimited"
					    : probe_bytes(l.rlim_cur),
		works ? "" : ", not a page can be locked");
	if (!works)
		finding_advise(f, "Cay locks nothing by itself; programs that "
				  "lock their memory need ulimit -l");
}

static unsigned mappings_now(void)
{
	unsigned lines = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	for (int c; f && (c = fgetc(f)) != EOF;)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines;
}

static void probe_mappings(struct finding *f)
{
	char text[32] = "";
	if (probe_read("/proc/sys/vm/max_map_count", text, sizeof(text))) {
		finding_set(f, PROBE_WARN,
			"vm.max_map_count is not to be "
			"read");
		return;
	}
	bool few = strtoull(text, NULL, 10) < MAPPINGS_USUAL;
	finding_set(f, few ? PROBE_WARN : PROBE_OK,
		"%s per process, %u in use here", text, mappings_now());
	if (few)
		finding_advise(f,
			"Cay needs one per realm, but programs need "
			"many: sysctl -w vm.max_map_count=%u",
			MAPPINGS_USUAL);
}

static void probe_overcommit(struct finding *f)
{
	static const char *const modes[] = { "heuristic", "always", "never" };
	char text[16] = "";
	if (probe_read("/proc/sys/vm/overcommit_memory", text, sizeof(text)) ||
		text[0] < '0' || text[0] > '2') {
		finding_set(f, PROBE_WARN, "the mode is not to be read");
		return;
	}
	int mode = text[0] - '0';
	finding_set(f, mode == 2 ? PROBE_WARN : PROBE_OK, "%s (mode %d)",
		modes[mode], mode);
	if (mode == 2)
		finding_advise(f, "sparse memory may be refused: see the line "
				  "on the arena, and vm.overcommit_memory");
}

static void probe_group_memory(struct finding *f)
{
	uint64_t limit, used;
	if (!cgroup_memory(&limit, &used)) {
		finding_set(f, PROBE_OK, "no control group limits it");
		return;
	}
	bool few = limit < used + MEMORY_ENOUGH;
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%s of %s in use",
		probe_bytes(used), probe_bytes(limit));
	if (few)
		finding_advise(f, "a port with default queues fills up to 1 "
				  "MiB; without memory its owner is killed: "
				  "raise memory.max");
}

/* ---- the node ---- */

/* 0: somebody listens there, and is *uid. Else errno. */
static int node_call(const struct node_address *a, uid_t *uid)
{
	struct ucred c;
	socklen_t length = sizeof(c);
	int r = 0;
	int s = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return errno;
	if (connect(s, (const struct sockaddr *)&a->address, a->length) != 0 ||
		getsockopt(s, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0)
		r = errno;
	if (r == 0)
		*uid = c.uid;
	close(s);
	return r;
}

static void probe_node(struct finding *f)
{
	struct node_address a;
	uid_t uid = 0;
	if (node_address(NULL, &a) != 0) {
		finding_set(f, PROBE_MISSING, "CAY_NODE is not a valid name");
		finding_advise(f,
			"use letters, digits and ._:@+- only, and "
			"less than %d of them",
			NODE_NAME_MAX);
		return;
	}
	int r = node_call(&a, &uid);
	if (r == 0 && uid != geteuid()) {
		finding_set(f, PROBE_MISSING,
			"the name '%s' is taken by user %u", a.name,
			(unsigned)uid);
		finding_advise(f, "set CAY_NODE to another name");
	} else if (r == 0 || r == EAGAIN) {
		finding_set(f, PROBE_OK, "'%s' runs", a.name);
	} else {
		finding_set(f, PROBE_OK,
			"'%s' does not run; the first port starts it", a.name);
	}
}

static const struct probe probes[] = {
	{ "cores", probe_cores },
	{ "descriptors", probe_descriptors },
	{ "address space", probe_address_space },
	{ "locked memory", probe_locked },
	{ "mappings", probe_mappings },
	{ "overcommit", probe_overcommit },
	{ "memory limit", probe_group_memory },
	{ "node", probe_node },
};

const struct probe_group probe_machine = { probes, ARRAY_COUNT(probes) };
