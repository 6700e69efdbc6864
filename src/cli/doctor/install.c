/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes of the installation: whether the loader finds the library for programs
 * that link it, whether the library and this command are of one version, and
 * whether libfabric finds the provider. Both are loaded in a child, because
 * they run code of other packages. This command needs neither of them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/directories.h"
#include "cay/version.h"
#include "cli/cli.h"
#include "cli/doctor/probe.h"
#include "node/installed.h"

#define PROVIDER "libcay-fi.so"

/* Cuts a path off at its last '/'. */
static void directory_of(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = 0;
}

/* ---- library ---- */

/* The child's answer. */
struct loaded {
	char path[PATH_MAX]; /* with links resolved; empty: not loaded */
	unsigned version;    /* as CAY_VERSION; 0: it does not tell */
	char error[200];     /* of the loader */
};

static int library_load(void *argument)
{
	const int *answer = argument;
	struct loaded l = { 0 };
	struct link_map *map;
	unsigned (*version)(void);
	void *library = dlopen(CAY_SONAME, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		snprintf(l.error, sizeof(l.error), "%s", dlerror());
	else if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
		 !realpath(map->l_name, l.path))
		snprintf(l.error, sizeof(l.error), "its path is not known");
	else if ((version = (unsigned (*)(void))(uintptr_t)dlsym(
			  library, "cay_version")))
		l.version = version();
	return write(*answer, &l, sizeof(l)) != sizeof(l);
}

static void library_missing(struct finding *f, const struct loaded *l)
{
	static const char *const near[] = { "/" CAY_SONAME,
		"/../lib/" CAY_SONAME, NULL };
	char path[PATH_MAX];
	bool found = installed_find(
		near, CAY_LIBDIR "/" CAY_SONAME, INSTALLED_LIBRARY, path);
	bool installed = found && strncmp(path, CAY_LIBDIR "/",
					  strlen(CAY_LIBDIR) + 1) == 0;
	directory_of(path);
	if (!strstr(l->error, "No such file")) {
		finding_set(f, PROBE_WARN,
			"programs that link the library do not start: %s",
			l->error);
		finding_advise(f, "install it again: make install");
	} else if (found) {
		finding_set(f, PROBE_WARN,
			"the loader does not find " CAY_SONAME
			", which is in %s: programs that link it do not start",
			path);
		finding_advise(f, "%s set LD_LIBRARY_PATH=%s",
			installed ? "run ldconfig as root, or"
				  : "run make install, or",
			path);
	} else {
		finding_set(f, PROBE_WARN,
			"the loader does not find " CAY_SONAME
			": programs that link it do not start");
		finding_advise(f, "install the library: make install");
	}
}

static void probe_library(struct finding *f)
{
	struct loaded l = { .error = "the loader does not answer" };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) {
		finding_set(f, PROBE_WARN, "not tested: no pipe");
		return;
	}
	pid_t child = probe_child(library_load, &ends[1]);
	close(ends[1]);
	/* An answer fits into the pipe, so that it arrives whole. */
	if (child > 0 && read(ends[0], &l, sizeof(l)) != sizeof(l))
		l.path[0] = 0;
	close(ends[0]);
	if (child > 0)
		probe_wait(child);
	if (!l.path[0]) {
		library_missing(f, &l);
		return;
	}
	if (l.version == CAY_VERSION) {
		finding_set(f, PROBE_OK, "programs load %s", l.path);
		return;
	}
	finding_set(f, PROBE_WARN,
		"programs load %s of version %u.%u.%u, but this command has "
		"version " CAY_VERSION_STRING,
		l.path, l.version / 1000000, l.version / 1000 % 1000,
		l.version % 1000);
	finding_advise(f, "install both from one build: a library may refuse a "
			  "node of another version");
}

/* ---- provider ---- */

enum provider_result {
	PROVIDER_FOUND,
	PROVIDER_UNKNOWN,   /* libfabric does not find it */
	PROVIDER_NO_FABRIC, /* there is no libfabric */
};

/* Calls fi_getinfo() without libfabric's headers: for this command it is no
 * dependency. FI_PROVIDER keeps it from loading the other providers. */
static int provider_find(void *argument)
{
	typedef int (*getinfo)(uint32_t version, const char *node,
		const char *service, uint64_t flags, const void *hints,
		void **info);
	const uint32_t version_1_17 = 1u << 16 | 17;
	void *info = NULL;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)argument;
	dup2(null, STDOUT_FILENO); /* providers may log */
	dup2(null, STDERR_FILENO);
	void *fabric = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!fabric)
		return PROVIDER_NO_FABRIC;
	getinfo find = (getinfo)(uintptr_t)dlsym(fabric, "fi_getinfo");
	setenv("FI_PROVIDER", "cay", 1);
	if (!find || find(version_1_17, NULL, NULL, 0, NULL, &info) != 0)
		return PROVIDER_UNKNOWN;
	return PROVIDER_FOUND;
}

static void probe_provider(struct finding *f)
{
	static const char *const near[] = { "/" PROVIDER,
		"/../lib/libfabric/" PROVIDER, NULL };
	const char *given = getenv("FI_PROVIDER_PATH");
	char path[PATH_MAX];
	pid_t child = probe_child(provider_find, NULL);
	int r = child < 0 ? (int)-child : probe_wait(child);
	switch (r) {
	case PROVIDER_FOUND:
		finding_set(f, PROBE_OK, "libfabric finds the provider 'cay'");
		return;
	case PROVIDER_NO_FABRIC:
		finding_set(f, PROBE_OK,
			"libfabric is not installed; only MPI and other users "
			"of libfabric need it");
		return;
	case PROVIDER_UNKNOWN:
		finding_set(f, PROBE_WARN,
			"libfabric does not find the provider 'cay'%s%s",
			given ? " with FI_PROVIDER_PATH=" : "",
			given ? given : "");
		break;
	default:
		finding_set(f, PROBE_WARN, "fi_getinfo() of libfabric: %s",
			r == -SIGALRM ? "no answer within 5 s"
			: r < 0	      ? strsignal(-r)
				      : strerror(r));
	}
	if (installed_find(near, CAY_PROVIDER_DIR "/" PROVIDER,
		    INSTALLED_LIBRARY, path)) {
		directory_of(path);
		finding_advise(f,
			"for MPI and other users of libfabric set "
			"FI_PROVIDER_PATH=%s",
			path);
	} else {
		finding_advise(f, PROVIDER
			" is not installed: build Cay with the headers of "
			"libfabric, and run make install");
	}
}

static const struct probe probes[] = {
	{ "library", probe_library },
	{ "provider", probe_provider },
};

const struct probe_group probe_install = { probes, ARRAY_COUNT(probes) };
