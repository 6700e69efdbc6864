/* SPDX-License-Identifier: BSD-2-Clause */
/* See installed.h. Set-up path. */
#include "node/installed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Finds the path of the file that is mapped at an address. dladdr() would give
 * argv[0] for the main program, and a relative path for a library that was
 * found through a relative one. The kernel gives the absolute path in both
 * cases, also in statically linked programs.
 */
static bool mapped_file(const void *address, char path[PATH_MAX])
{
	char line[PATH_MAX + 128];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		uintptr_t first, end;
		int at = 0;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n",
			    &first, &end, &at) < 2 ||
			(uintptr_t)address < first || (uintptr_t)address >= end)
			continue;
		size_t length = at ? strcspn(line + at, "\n") : 0;
		/* The text may have been copied to anonymous memory. */
		if (length == 0 || length >= PATH_MAX || line[at] != '/')
			break;
		memcpy(path, line + at, length);
		path[length] = 0;
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

/* Finds the file that contains this code, and its owner. */
static bool own_file(char path[PATH_MAX], uid_t *owner)
{
	static const char deleted[] = " (deleted)";
	struct stat st;
	if (!mapped_file((const void *)(uintptr_t)installed_find, path)) {
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = 0;
	}
	/* Others may have created the directory of a deleted file anew. */
	size_t length = strlen(path);
	if (length >= sizeof(deleted) &&
		strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		return false;
	if (path[0] != '/' || stat(path, &st) != 0)
		return false;
	*owner = st.st_uid;
	return true;
}

bool installed_at(const char *path, enum installed_kind kind)
{
	struct stat st;
	mode_t type = kind == INSTALLED_DIRECTORY ? S_IFDIR : S_IFREG;
	int access = kind == INSTALLED_LIBRARY ? R_OK : X_OK;
	return path[0] == '/' && stat(path, &st) == 0 &&
	       (st.st_mode & S_IFMT) == type &&
	       faccessat(AT_FDCWD, path, access, AT_EACCESS) == 0;
}

static bool owner_trusted(const struct stat *st, uid_t owner)
{
	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       st->st_uid == owner;
}

bool installed_find(const char *const *near, const char *installed,
	enum installed_kind kind, char path[PATH_MAX])
{
	char own[PATH_MAX];
	uid_t owner;
	if (own_file(own, &owner)) {
		*strrchr(own, '/') = 0;
		for (; *near; near++) {
			struct stat link, file;
			int n = snprintf(path, PATH_MAX, "%s%s", own, *near);
			if (n < PATH_MAX && installed_at(path, kind) &&
				lstat(path, &link) == 0 &&
				owner_trusted(&link, owner) &&
				stat(path, &file) == 0 &&
				owner_trusted(&file, owner))
				return true;
		}
	}
	snprintf(path, PATH_MAX, "%s", installed);
	return installed_at(path, kind);
}
