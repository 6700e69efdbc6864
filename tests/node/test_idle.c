/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of an idle port: the growth of client, node and arena by 2000 ports,
 * divided by their number.
 */
#include <sys/stat.h>

#include "outside.h"

#define PORTS	       2000
#define WARM_UP	       64 /* excludes one-time allocations */
#define PORT_BYTES_MAX 4096

struct cost {
	uint64_t client, node; /* Pss without shared memory */
	uint64_t mapped;       /* Pss of shared memory, of both processes */
	uint64_t arena;	       /* allocated blocks of the memfd */
	uint64_t tables;       /* page tables of both processes */
};

/* Returns the value of the line that starts with the key, in bytes. */
static uint64_t proc_bytes(pid_t pid, const char *file, const char *key)
{
	char path[64], line[256];
	unsigned long long value = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtoull(line + strlen(key), NULL, 10);
	fclose(f);
	return value * 1024;
}

static uint64_t shared_memory(pid_t pid)
{
	return proc_bytes(pid, "smaps_rollup", "Pss_Shmem:");
}

static uint64_t own_memory(pid_t pid)
{
	return proc_bytes(pid, "smaps_rollup", "Pss:") - shared_memory(pid);
}

static uint64_t arena_bytes(pid_t node)
{
	char path[64], link[320], target[64];
	struct dirent *e;
	struct stat st;
	uint64_t bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)node);
	DIR *d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		snprintf(link, sizeof(link), "%s/%s", path, e->d_name);
		ssize_t n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (strstr(target, "memfd:cay-realm") && stat(link, &st) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(d);
	return bytes;
}

static struct cost cost_now(pid_t node)
{
	return (struct cost){ .client = own_memory(getpid()),
		.node = own_memory(node),
		.mapped = shared_memory(getpid()) + shared_memory(node),
		.arena = arena_bytes(node),
		.tables = proc_bytes(getpid(), "status", "VmPTE:") +
			  proc_bytes(node, "status", "VmPTE:") };
}

static double per_port(uint64_t before, uint64_t after)
{
	return ((double)after - (double)before) / PORTS;
}

/* Returns the upper bound, which counts mapped arena pages twice. */
static double cost_print(const struct cost *a, const struct cost *b)
{
	double sum = per_port(a->client, b->client) +
		     per_port(a->node, b->node) + per_port(a->arena, b->arena) +
		     per_port(a->tables, b->tables);
	double most = sum + per_port(a->mapped, b->mapped);
	print_message("an idle port costs %.0f bytes: client %.0f, node %.0f, "
		      "arena %.0f, page tables %.0f\n",
		sum, per_port(a->client, b->client), per_port(a->node, b->node),
		per_port(a->arena, b->arena), per_port(a->tables, b->tables));
	print_message("%.0f including Pss of shared memory\n", most);
	return most;
}

static void ports_open(struct cay_port **ports, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		ports[i] = cay_port_open(NULL);
		assert_non_null(ports[i]);
	}
}

static void ports_close(struct cay_port **ports, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(cay_port_close(ports[i]), 0);
}

static void memory_of_idle_ports(void **state)
{
	static struct cay_port *warm[WARM_UP], *ports[PORTS];
	(void)state;
	if (HARNESS_SANITIZED)
		skip();
	ports_open(warm, WARM_UP);
	pid_t node = node_pid();
	assert_true(node > 0);
	struct cost before = cost_now(node);
	ports_open(ports, PORTS);
	struct cost after = cost_now(node);
	double most = cost_print(&before, &after);
	ports_close(ports, PORTS);
	struct cost closed = cost_now(node);
	ports_close(warm, WARM_UP);
	assert_true(most <= PORT_BYTES_MAX);
	/* The arena keeps only the directory and control blocks of VPIDs. */
	assert_true(closed.arena - before.arena <= PORTS * 1024ull + 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_idle_ports),
	};
	harness_begin("idle");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
