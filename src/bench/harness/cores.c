/* SPDX-License-Identifier: BSD-2-Clause */
/* Which two cores a benchmark uses. */
#include "bench/harness/cores.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool cores_allowed(const cpu_set_t *allowed, int core)
{
	return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, allowed);
}

int cores_pick(const cpu_set_t *allowed, const int wish[2], int chosen[2])
{
	int found = 0;

	if (CPU_COUNT(allowed) < 2)
		return -ENODEV;
	if (wish[0] < 0 && wish[1] < 0) {
		for (int i = 0; found < 2 && i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, allowed))
				chosen[found++] = i;
		return 0;
	}
	if (wish[0] == wish[1] || !cores_allowed(allowed, wish[0]) ||
		!cores_allowed(allowed, wish[1]))
		return -EINVAL;
	memcpy(chosen, wish, 2 * sizeof(chosen[0]));
	return 0;
}

int cores_choose(const int wish[2], int chosen[2])
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		fprintf(stderr, "cay bench: sched_getaffinity: %s\n",
			strerror(errno));
		return -EIO;
	}
	int r = cores_pick(&allowed, wish, chosen);
	if (r == -ENODEV)
		fprintf(stderr,
			"cay bench: needs two cores, this process may use "
			"only one; see taskset(1) and nproc(1)\n");
	else if (r)
		fprintf(stderr,
			"cay bench: --cores %d,%d: must be two different cores "
			"that this process may use; see taskset(1)\n",
			wish[0], wish[1]);
	return r;
}
