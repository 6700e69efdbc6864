/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of this installation: the program of the node, the recorder, the
 * examples. They are searched near the file that contains this code, never in
 * the working directory or in $PATH, which others may control.
 */
#ifndef CAY_NODE_INSTALLED_H
#define CAY_NODE_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

enum installed_kind {
	INSTALLED_PROGRAM,   /* a regular file that may be executed */
	INSTALLED_LIBRARY,   /* a regular file that may be read */
	INSTALLED_DIRECTORY, /* that may be entered */
};

/* Returns true if the path is absolute and a file of this kind is there. */
bool installed_at(const char *path, enum installed_kind);

/*
 * Tries the paths `near`, relative to the directory of the file that contains
 * this code, then `installed`. Of the former, only files are accepted that none
 * but root, the effective user and the owner of this code can replace: others
 * may create files in the parent of that directory, such as /tmp. The path that
 * is found there contains no link. Returns false if none is there. Any thread.
 */
bool installed_find(const char *const *near, const char *installed,
	enum installed_kind, char path[PATH_MAX]);

#endif
