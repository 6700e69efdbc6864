/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's accounts of two cores. */
#include "bench/harness/cpu_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	USER,
	NICE,
	SYSTEM,
	IDLE,
	IOWAIT,
	IRQ,
	SOFTIRQ,
	STEAL,
	COLUMNS
};

/* One line of /proc/stat, if it is that of this core: busy ticks. */
static uint64_t load_line(const char *line, int core)
{
	unsigned long long t[COLUMNS];
	int number, n;

	n = sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu",
		&number, &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT],
		&t[IRQ], &t[SOFTIRQ], &t[STEAL]);
	if (n != COLUMNS + 1 || number != core)
		return 0;
	return t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ] + t[STEAL];
}

static int load_read_busy(const int core[2], uint64_t *ticks)
{
	char line[512];
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return -errno;
	*ticks = 0;
	while (fgets(line, sizeof(line), f))
		*ticks += load_line(line, core[0]) + load_line(line, core[1]);
	fclose(f);
	return 0;
}

static uint64_t load_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * CLOCK_NS_PER_S +
	       (uint64_t)t.tv_usec * CLOCK_NS_PER_US;
}

int cpu_load_read(const int core[2], struct cpu_load *l)
{
	struct rusage usage;
	uint64_t ticks = 0;
	int r = load_read_busy(core, &ticks);

	if (r)
		return r;
	if (getrusage(RUSAGE_CHILDREN, &usage))
		return -errno;
	l->busy_ns = ticks * (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	l->ours_ns = load_ns(usage.ru_utime) + load_ns(usage.ru_stime);
	l->now_ns = clock_now_ns();
	return 0;
}

double cpu_load_foreign(
	const struct cpu_load *before, const struct cpu_load *after)
{
	double busy = (double)(after->busy_ns - before->busy_ns);
	double ours = (double)(after->ours_ns - before->ours_ns);
	double time = 2.0 * (double)(after->now_ns - before->now_ns);

	if (time <= 0 || busy <= ours)
		return 0;
	/* Counted in ticks, a short run can seem busier than it was long. */
	return busy - ours < time ? (busy - ours) / time : 1;
}
