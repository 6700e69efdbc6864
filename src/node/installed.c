/* SPDX-License-Identifier: BSD-2-Clause */
/* See installed.h. Set-up path. */
#include "node/installed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Finds the file that contains this code. */
static bool own_file(char path[PATH_MAX], struct stat *st)
{
	static const char deleted[] = " (deleted)";
	if (!mapped_file((const void *)(uintptr_t)installed_find, path)) {
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = 0;
	}
	/* Others may have created the directory of a deleted file anew. */
	size_t length = strlen(path);
	if (length >= sizeof(deleted) &&
		strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		return false;
	return path[0] == '/' && stat(path, st) == 0;
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

/*
 * Returns true if no stranger can change what the path names: every entry of it
 * from the directory `own` on belongs to root, to the effective user or to the
 * owner of this code, and only they, or a group that they chose, can replace an
 * entry in these directories. In a sticky directory others cannot replace
 * entries that are not theirs. The directories that lead to this code need no
 * check: who can replace entries there can replace this code. The same holds
 * for a mode that all may write to if this file has it, as all files have on
 * some file systems.
 *
 * The check goes from the root to the file. An entry that was checked stays, so
 * the path still names the same file when it is executed, preloaded or entered
 * later, which a descriptor of it could ensure only for the first.
 */
static bool entries_trusted(
	const char *path, const char *own, const struct stat *code)
{
	char entry[PATH_MAX];
	size_t length = strlen(path), common = 0;
	/* The longest directory that leads to both. */
	for (size_t i = 0; path[i] == own[i] && path[i]; i++)
		if (path[i + 1] == '/' &&
			(own[i + 1] == '/' || own[i + 1] == 0))
			common = i + 1;
	for (size_t end = common + 1; end <= length; end++) {
		struct stat st;
		if (path[end] != '/' && path[end] != 0)
			continue;
		memcpy(entry, path, end);
		entry[end] = 0;
		if (lstat(entry, &st) != 0 ||
			(st.st_uid != 0 && st.st_uid != geteuid() &&
				st.st_uid != code->st_uid))
			return false;
		bool sticky = S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX;
		if (!S_ISLNK(st.st_mode) && !sticky &&
			st.st_mode & ~code->st_mode & S_IWOTH)
			return false;
	}
	return true;
}

/*
 * Writes the path of `near`, relative to a directory without links in its path.
 * Each leading ".." of `near` removes a directory.
 */
static bool near_path(const char *own, const char *near, char path[PATH_MAX])
{
	size_t length = strlen(own);
	for (; strncmp(near, "/..", 3) == 0; near += 3)
		while (length && own[--length] != '/')
			;
	int n = snprintf(path, PATH_MAX, "%.*s%s", (int)length, own, near);
	return n < PATH_MAX;
}

bool installed_find(const char *const *near, const char *installed,
	enum installed_kind kind, char path[PATH_MAX])
{
	char own[PATH_MAX], named[PATH_MAX];
	struct stat code;
	if (own_file(own, &code)) {
		*strrchr(own, '/') = 0;
		/* A link must be trusted, and then the file that it names. */
		for (; *near; near++)
			if (near_path(own, *near, named) &&
				entries_trusted(named, own, &code) &&
				realpath(named, path) &&
				entries_trusted(path, own, &code) &&
				installed_at(path, kind))
				return true;
	}
	snprintf(path, PATH_MAX, "%s", installed);
	return installed_at(path, kind);
}
