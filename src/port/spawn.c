/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting a node. The program inherits the environment variables of the caller
 * and nothing else. It binds the socket (which elects one node), forks into the
 * background and exits, so that no child process is left behind.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directories.h"
#include "node/installed.h"
#include "port/member.h"

extern char **environ;

/*
 * The program in the directory of the file that contains this code, in one
 * beside it, or in the installation directory. A relative path in the
 * environment is refused: the program starts in another directory.
 */
static bool program_find(char path[PATH_MAX])
{
	static const char *const near[] = { "/cay", "/../bin/cay", "/../cay",
		"/../../bin/cay", NULL };
	const char *given = secure_getenv("CAY_NODE_PROGRAM");

	if (!given)
		return installed_find(
			near, CAY_BINDIR "/cay", INSTALLED_PROGRAM, path);
	return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX &&
	       installed_at(path, INSTALLED_PROGRAM);
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
	int status, r = spawn_clean(path, argv, &pid);
	if (r)
		return r;
	while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	/* A wait() of the application has reaped it, or SIGCHLD is ignored. */
	if (r < 0)
		return 1;
	if (!WIFEXITED(status))
		return -ENOEXEC;
	status = WEXITSTATUS(status);
	if (status > NODE_EXIT_ERRNO && status <= NODE_EXIT_ERRNO_MAX)
		return -(status - NODE_EXIT_ERRNO);
	return status ? -ENOEXEC : 0;
}
