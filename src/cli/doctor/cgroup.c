/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits of control groups, version 2 and version 1, as they are mounted
 * usually. Where a container hides the groups above, only what it shows counts.
 */
#include "cli/doctor/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/probe.h"

/* One group's directory; the files of both versions have their own names. */
typedef void (*group_visit)(const char *directory, void *argument);

/* Is `controller` one of the comma-separated names? */
static bool name_in(const char *names, size_t length, const char *controller)
{
	size_t want = strlen(controller);
	while (length > 0) {
		size_t n = 0;
		while (n < length && names[n] != ',')
			n++;
		if (n == want && memcmp(names, controller, n) == 0)
			return true;
		n += n < length;
		names += n;
		length -= n;
	}
	return false;
}

/* "4:memory:/a/b" gives "/a/b"; the line of version 2 has no name. */
static char *line_path(char *line, const char *controller)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;
	if (!path)
		return NULL;
	size_t length = (size_t)(path - names - 1);
	bool ours = *controller ? name_in(names + 1, length, controller)
				: length == 0;
	path[1 + strcspn(path + 1, "\n")] = 0;
	return ours ? path + 1 : NULL;
}

/* This process's group for a controller; "" is version 2. */
static bool group_path(const char *controller, char *path, size_t room)
{
	char line[PATH_MAX];
	bool found = false;
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *p = line_path(line, controller);
		found = p && (size_t)snprintf(path, room, "%s", p) < room;
	}
	if (f)
		fclose(f);
	return found;
}

/* All directories from the group up to the mount point, which comes last. */
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

/* A number in a file; false if there is none, as for "max". */
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
	bool any;
};

static void memory_visit(const char *directory, void *argument)
{
	/* Version 1 says "no limit" with a number near 2^63. */
	const uint64_t unlimited = 1ull << 60;
	struct memory_limit *m = argument;
	uint64_t limit, used = 0;
	if (!number_in(directory, "memory.max", &limit, 1) &&
		!number_in(directory, "memory.limit_in_bytes", &limit, 1))
		return;
	if (limit >= unlimited || (m->any && limit >= m->limit))
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
	return m.any;
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
