/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting a node. The program inherits the environment variables of the caller
 * and nothing else. It binds the socket (which elects one node), forks into the
 * background and exits, so that no child process is left behind.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "port/member.h"

extern char **environ;

static bool program_at(
	const char *directory, const char *tail, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s%s", directory, tail);
	return n > 0 && n < PATH_MAX && access(path, X_OK) == 0;
}

/*
 * Searches near the library or program that contains this code, then in the
 * installation directory.
 */
static bool program_find(char path[PATH_MAX])
{
	static const char *const near[] = { "/cay", "/../bin/cay", "/../cay",
		"/../../bin/cay" };
	const char *given = getenv("CAY_NODE_PROGRAM");
	Dl_info info;
	char directory[PATH_MAX];

	if (given)
		return program_at(given, "", path);
	if (dladdr((void *)(uintptr_t)spawn_node, &info) && info.dli_fname &&
		realpath(info.dli_fname, directory)) {
		char *slash = strrchr(directory, '/');
		if (slash)
			*slash = 0;
		for (unsigned i = 0; i < ARRAY_COUNT(near); i++)
			if (program_at(directory, near[i], path))
				return true;
	}
	return program_at(CAY_BINDIR, "/cay", path);
}

/* Inherits no descriptor, signal state, directory or session. */
static int spawn_clean(const char *path, char *const argv[], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
	posix_spawn_file_actions_adddup2(&actions, 0, 1);
	posix_spawn_file_actions_adddup2(&actions, 0, 2);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawn_file_actions_addchdir_np(&actions, "/");
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	int r = posix_spawn(pid, path, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int spawn_node(const char *name)
{
	char path[PATH_MAX];
	if (!program_find(path))
		return -ENOENT;
	char *const argv[] = { path, "node", "serve", "--background",
		(char *)name, NULL };
	pid_t pid;
	int r = spawn_clean(path, argv, &pid);
	if (r)
		return r;
	/* ECHILD: a wait() of the application has reaped it. */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}
