/* SPDX-License-Identifier: BSD-2-Clause */
/* Selecting two cores, and pinning to them. */
#include "bench/harness/cores.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool cores_allowed(const cpu_set_t *allowed, int core)
{
	return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, allowed);
}

int cores_pick(const cpu_set_t *allowed, const int request[2], int core[2])
{
	int found = 0;

	if (CPU_COUNT(allowed) < 2)
		return -ENODEV;
	if (request[0] < 0 && request[1] < 0) {
		for (int i = 0; found < 2 && i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, allowed))
				core[found++] = i;
		return 0;
	}
	if (request[0] == request[1] || !cores_allowed(allowed, request[0]) ||
		!cores_allowed(allowed, request[1]))
		return -EINVAL;
	memcpy(core, request, 2 * sizeof(core[0]));
	return 0;
}

int cores_select(const char *program, const int request[2], int core[2])
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		fprintf(stderr, "%s: sched_getaffinity: %s\n", program,
			strerror(errno));
		return -EIO;
	}
	int r = cores_pick(&allowed, request, core);
	if (r == -ENODEV) {
		fprintf(stderr,
			"%s: two cores are needed, but this process may use "
			"only one; see taskset(1) and nproc(1)\n",
			program);
	} else if (r) {
		fprintf(stderr,
			"%s: --cores %d,%d: must be two different cores that "
			"this process may use:",
			program, request[0], request[1]);
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &allowed))
				fprintf(stderr, " %d", i);
		fprintf(stderr, "; see taskset(1)\n");
	}
	return r;
}

int cores_pin(const int *core, unsigned count)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; i < count; i++)
		CPU_SET(core[i], &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}
