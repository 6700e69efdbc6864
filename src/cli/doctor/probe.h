/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cay doctor` tries out. A probe does the thing itself, with a forked
 * child where two processes belong to it, and says what it found; it assumes
 * nothing from a version. Children end by themselves within seconds.
 */
#ifndef CAY_CLI_PROBE_H
#define CAY_CLI_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum probe_state {
	PROBE_OK,
	PROBE_WARN,    /* Cay works, but something is slower or not there */
	PROBE_MISSING, /* Cay does not work */
};

struct finding {
	enum probe_state state;
	char text[200];
	char advice[240]; /* what to do; empty if there is nothing */
};

struct probe {
	const char *name;
	void (*run)(struct finding *);
};

#define PROBE_GROUPS 3
struct probe_group {
	const struct probe *probes;
	size_t count;
};
extern const struct probe_group probe_memory, probe_kernel, probe_machine;

/* The realm's arena as the node makes it: sparse, address space only. */
#define PROBE_ARENA_BYTES (64ull << 30)

__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *, enum probe_state, const char *format, ...);
__attribute__((format(printf, 2, 3))) void finding_advise(
	struct finding *, const char *format, ...);

/*
 * Runs a part of a probe in a child, which ends with what it returns; gives
 * the child's id or -errno.
 */
pid_t probe_child(int (*run)(void *argument), void *argument);

/* What the child returned, 0 to 255, or minus the signal that ended it. */
int probe_wait(pid_t child);

/* The first line of a small text file. 0 or -errno. */
int probe_read(const char *path, char *text, size_t room);

/* "64 KiB"; the text is valid until the fourth call after. */
const char *probe_bytes(uint64_t bytes);

#endif
