/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probes of `cay doctor`. A probe performs the operation it reports on,
 * with a forked child where two processes are needed, and does not infer
 * anything from version numbers. Children exit within seconds.
 */
#ifndef CAY_CLI_PROBE_H
#define CAY_CLI_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum probe_state {
	PROBE_OK,
	PROBE_WARN,    /* Cay works, with a drawback */
	PROBE_MISSING, /* Cay does not work */
};

struct finding {
	enum probe_state state;
	char text[512];
	char advice[512]; /* how to correct it; may be empty */
};

struct probe {
	const char *name;
	void (*run)(struct finding *);
};

#define PROBE_GROUPS 5
struct probe_group {
	const struct probe *probes;
	size_t count;
};
extern const struct probe_group probe_memory, probe_kernel, probe_machine,
	probe_isolation, probe_install;

__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *, enum probe_state, const char *format, ...);
__attribute__((format(printf, 2, 3))) void finding_advise(
	struct finding *, const char *format, ...);

/*
 * Runs a function in a child, whose exit status is its result. Returns the
 * process number or -errno.
 */
pid_t probe_child(int (*run)(void *argument), void *argument);

/* Returns the exit status of a child, or minus the signal that ended it. */
int probe_wait(pid_t child);

/* Reads the first line of a small file. Returns 0 or -errno. */
int probe_read(const char *path, char *text, size_t size);

#endif
