/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of the resources of this user, and of the node. */
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
#include "base/fields.h"
#include "cli/doctor/cgroup.h"
#include "cli/doctor/probe.h"
#include "node/client.h"
#include "node/node.h"

#define DESCRIPTORS_ENOUGH 1024u
#define MAPPINGS_USUAL	   65530u
#define MEMORY_ENOUGH	   (256ull << 20)

/* ---- processors ---- */

static void probe_cores(struct finding *f)
{
	const size_t cores_max = 8192; /* more than any machine has */
	cpu_set_t *set = CPU_ALLOC(cores_max);
	size_t bytes = CPU_ALLOC_SIZE(cores_max);
	unsigned allowed = 0;
	if (set && sched_getaffinity(0, bytes, set) == 0)
		allowed = (unsigned)CPU_COUNT_S(bytes, set);
	CPU_FREE(set);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t millicores;
	bool limited = cgroup_cores(&millicores);
	char limit[64] = "";
	if (limited)
		snprintf(limit, sizeof(limit), ", limited to %lu.%lu",
			millicores / 1000, millicores % 1000 / 100);
	bool few = allowed < 2 || (limited && millicores < 2000);
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%u of %ld are available%s",
		allowed, online, limit);
	if (few)
		finding_advise(f,
			"processes that share a core sleep instead of "
			"polling: allow two cores (taskset, cpuset, "
			"cpu.max)");
}

/* ---- limits ---- */

/* The text is valid until the second call after. */
static const char *count_text(rlim_t value)
{
	static char texts[2][32];
	static unsigned next;
	char *text = texts[next++ % 2];
	if (value == RLIM_INFINITY)
		return "unlimited";
	snprintf(text, sizeof(texts[0]), "%lu", (unsigned long)value);
	return text;
}

static void probe_descriptors(struct finding *f)
{
	struct rlimit l;
	getrlimit(RLIMIT_NOFILE, &l);
	/* Opens the highest descriptor to verify the limit. */
	int highest = (int)bits_min(l.rlim_cur, 1u << 20) - 1;
	int fd = fcntl(0, F_DUPFD_CLOEXEC, highest);
	bool refused = fd < 0 && errno != EBADF; /* EBADF: stdin is closed */
	if (fd >= 0)
		close(fd);
	bool few = l.rlim_cur < DESCRIPTORS_ENOUGH || refused;
	finding_set(f, few ? PROBE_WARN : PROBE_OK,
		"%s per process, hard limit %s", count_text(l.rlim_cur),
		count_text(l.rlim_max));
	if (few)
		finding_advise(f,
			"the node needs one per process and one per doorbell: "
			"%s",
			l.rlim_max > l.rlim_cur
				? "raise it with ulimit -n"
				: "raise the hard limit (limits.conf, "
				  "LimitNOFILE=)");
}

static const char *size_text(rlim_t value, char text[FIELD_BYTES])
{
	return value == RLIM_INFINITY ? "unlimited" : bytes_text(value, text);
}

static void probe_address_space(struct finding *f)
{
	char text[FIELD_BYTES];
	struct rlimit l;
	getrlimit(RLIMIT_AS, &l);
	bool few = l.rlim_cur != RLIM_INFINITY &&
		   l.rlim_cur < 2 * NODE_ARENA_BYTES;
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%s",
		size_text(l.rlim_cur, text));
	if (few)
		finding_advise(f,
			"each realm of a process maps %s: ulimit -v unlimited",
			bytes_text(NODE_ARENA_BYTES, text));
}

static void probe_locked(struct finding *f)
{
	char text[FIELD_BYTES];
	struct rlimit l;
	getrlimit(RLIMIT_MEMLOCK, &l);
	long bytes = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = page != MAP_FAILED && mlock(page, (size_t)bytes) == 0;
	if (page != MAP_FAILED)
		munmap(page, (size_t)bytes);
	finding_set(f, works ? PROBE_OK : PROBE_WARN, "%s%s",
		size_text(l.rlim_cur, text),
		works ? "" : ", but no page can be locked");
	if (!works)
		finding_advise(f, "Cay does not lock memory; programs that do "
				  "need ulimit -l");
}

static void probe_mappings(struct finding *f)
{
	char text[32] = "";
	if (probe_read("/proc/sys/vm/max_map_count", text, sizeof(text))) {
		finding_set(f, PROBE_WARN, "vm.max_map_count cannot be read");
		return;
	}
	unsigned used = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	for (int c; maps && (c = fgetc(maps)) != EOF;)
		used += c == '\n';
	if (maps)
		fclose(maps);
	bool few = strtoull(text, NULL, 10) < MAPPINGS_USUAL;
	finding_set(f, few ? PROBE_WARN : PROBE_OK,
		"%s per process, %u used by this one", text, used);
	if (few)
		finding_advise(f,
			"programs may need more: sysctl -w "
			"vm.max_map_count=%u",
			MAPPINGS_USUAL);
}

static void probe_overcommit(struct finding *f)
{
	static const char *const modes[] = { "heuristic", "always", "never" };
	char text[16] = "";
	if (probe_read("/proc/sys/vm/overcommit_memory", text, sizeof(text)) ||
		text[0] < '0' || text[0] > '2') {
		finding_set(f, PROBE_WARN, "the mode cannot be read");
		return;
	}
	int mode = text[0] - '0';
	finding_set(f, mode == 2 ? PROBE_WARN : PROBE_OK, "%s (mode %d)",
		modes[mode], mode);
	if (mode == 2)
		finding_advise(f,
			"the kernel may refuse sparse memory: see the "
			"result for the arena, and "
			"vm.overcommit_memory");
}

static void probe_group_memory(struct finding *f)
{
	char used_text[FIELD_BYTES], limit_text[FIELD_BYTES];
	uint64_t limit, used;
	if (!cgroup_memory(&limit, &used)) {
		finding_set(f, PROBE_OK, "no limit by a control group");
		return;
	}
	bool few = limit < used + MEMORY_ENOUGH;
	finding_set(f, few ? PROBE_WARN : PROBE_OK, "%s of %s in use",
		bytes_text(used, used_text), bytes_text(limit, limit_text));
	if (few)
		finding_advise(f,
			"a port with default queues uses up to 1 MiB; "
			"a process that exceeds the limit is killed: "
			"raise memory.max");
}

/* ---- node ---- */

static void probe_node(struct finding *f)
{
	struct node_address a;
	struct ucred owner;
	if (node_address(NULL, &a) != 0) {
		finding_set(f, PROBE_MISSING, "CAY_NODE is not a valid name");
		finding_advise(f,
			"use letters, digits and ._:@+- , at most %d "
			"characters",
			NODE_NAME_MAX - 1);
		return;
	}
	int r = client_holder(&a, &owner);
	bool foreign = r == 0 && owner.uid != geteuid();
	int s = client_connect(&a);
	if (s >= 0)
		close(s);
	if (foreign && !a.path_length) {
		finding_set(f, PROBE_MISSING,
			"process %d of user %u listens on the socket name of "
			"node '%s'",
			(int)owner.pid, (unsigned)owner.uid, a.name);
		finding_advise(f, "set CAY_NODE to another name");
	} else if (foreign) {
		finding_set(f, PROBE_WARN,
			"process %d of user %u listens on the abstract socket "
			"name of node '%s': only processes that see %s reach "
			"the node",
			(int)owner.pid, (unsigned)owner.uid, a.name,
			a.path.sun_path);
		finding_advise(f, "set CAY_NODE to another name");
	} else if (s >= 0 || s == -EAGAIN) {
		finding_set(f, PROBE_OK, "'%s' is running", a.name);
	} else {
		finding_set(f, PROBE_OK,
			"'%s' is not running; the first port starts it",
			a.name);
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
