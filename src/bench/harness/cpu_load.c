/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's statistics of two cores: /proc/stat. */
#include "bench/harness/cpu_load.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t load_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * CLOCK_NS_PER_S +
	       (uint64_t)t.tv_usec * CLOCK_NS_PER_US;
}

int cpu_load_read(const int core[2], struct cpu_load *l)
{
	unsigned long long user, nice, system, irq, softirq, steal;
	uint64_t ticks = 0;
	struct rusage usage;
	char line[512];
	int number;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) /* idle and iowait are skipped */
		if (sscanf(line, "cpu%d %llu %llu %llu %*u %*u %llu %llu %llu",
			    &number, &user, &nice, &system, &irq, &softirq,
			    &steal) == 7 &&
			(number == core[0] || number == core[1]))
			ticks += user + nice + system + irq + softirq + steal;
	fclose(f);
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
	/* Counted in ticks of milliseconds, the sum may exceed a short run. */
	return busy - ours < time ? (busy - ours) / time : 1;
}
