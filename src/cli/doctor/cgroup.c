/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits of control groups, versions 1 and 2, at their usual mount points. In a
 * container only the groups that are visible there are considered.
 */
#include "cli/doctor/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/probe.h"

/* Called with the directory of a group; both versions have distinct files. */
typedef void (*group_visit)(const char *directory, void *argument);

/*
 * Finds the group of this process for a controller; "" is version 2. A line of
 * /proc/self/cgroup is "4:memory,cpu:/a/b", and "0::/a/b" for version 2.
 */
static bool group_path(const char *controller, char *path, size_t size)
{
	char line[PATH_MAX];
	bool found = false;
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':');
		char *group = names ? strchr(++names, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		for (char *name; !found && (name = strsep(&names, ","));)
			found = strcmp(name, controller) == 0;
		found = found &&
			(size_t)snprintf(path, size, "%s", group) < size;
	}
	if (f)
		fclose(f);
	return found;
}

/* Visits the group and its ancestors up to the mount point. */
static void group_climb(const char *mount, const char *controller,
	group_visit visit, void *argument)
{
	char path[PATH_MAX], directory[2 * PATH_MAX];
	if (!group_path(controller, path, sizeof(path)))
		return;
	for (;;) {
		snprintf(directory, sizeof(directory), "%s%s", mount, path);
		visit(directory, argument);
		char *slash = strrchr(path, '/');
		if (!slash || !path[0])
			return;
		*slash = 0;
	}
}

static void group_climb_all(
	const char *controller, group_visit visit, void *argument)
{
	char mount[64];
	group_climb("/sys/fs/cgroup", "", visit, argument);
	group_climb("/sys/fs/cgroup/unified", "", visit, argument);
	snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
	group_climb(mount, controller, visit, argument);
}

/* Reads numbers from a file. Returns false if there are none, as for "max". */
static bool number_in(
	const char *directory, const char *file, uint64_t *numbers, int count)
{
	char path[3 * PATH_MAX], text[128], *at = text;
	snprintf(path, sizeof(path), "%s/%s", directory, file);
	if (probe_read(path, text, sizeof(text)) != 0)
		return false;
	for (int i = 0; i < count; i++) {
		char *end;
		numbers[i] = strtoull(at, &end, 10);
		if (end == at || *at == '-')
			return false;
		at = end;
	}
	return true;
}

struct memory_limit {
	uint64_t limit, used;
	bool found;
};

static void memory_visit(const char *directory, void *argument)
{
	/* In version 1 a number near 2^63 means no limit. */
	const uint64_t unlimited = 1ull << 60;
	struct memory_limit *m = argument;
	uint64_t limit, used = 0;
	if (!number_in(directory, "memory.max", &limit, 1) &&
		!number_in(directory, "memory.limit_in_bytes", &limit, 1))
		return;
	if (limit >= unlimited || (m->found && limit >= m->limit))
		return;
	if (!number_in(directory, "memory.current", &used, 1))
		number_in(directory, "memory.usage_in_bytes", &used, 1);
	*m = (struct memory_limit){ limit, used, true };
}

bool cgroup_memory(uint64_t *limit_bytes, uint64_t *used_bytes)
{
	struct memory_limit m = { 0 };
	group_climb_all("memory", memory_visit, &m);
	*limit_bytes = m.limit;
	*used_bytes = m.used;
	return m.found;
}

static void cores_visit(const char *directory, void *argument)
{
	uint64_t *least = argument, both[2];
	bool any =
		number_in(directory, "cpu.max", both, 2) ||
		(number_in(directory, "cpu.cfs_quota_us", &both[0], 1) &&
			number_in(directory, "cpu.cfs_period_us", &both[1], 1));
	if (any && both[1] && both[0] * 1000 / both[1] < *least)
		*least = both[0] * 1000 / both[1];
}

bool cgroup_cores(uint64_t *millicores)
{
	*millicores = UINT64_MAX;
	group_climb_all("cpu", cores_visit, millicores);
	return *millicores != UINT64_MAX;
}
