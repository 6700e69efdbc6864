/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that `cay sim` writes: under another name first, and renamed when they
 * are complete. What is no ordinary file, such as a pipe, is written directly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim.h"

static int file_fail(const struct sim_file *f, int error)
{
	return option_failed("sim", "--%s %s: %s", f->option, f->path,
		error == EIO ? "not all could be written" : strerror(error));
}

static void file_forget(struct sim_file *f)
{
	free(f->target);
	free(f->temporary);
	f->target = f->temporary = NULL;
	f->stream = NULL;
}

/* A link stays; what it leads to is replaced. */
static char *file_target(const char *path)
{
	char *real = realpath(path, NULL);
	return real ? real : strdup(path);
}

static FILE *temporary_open(struct sim_file *f)
{
	f->target = file_target(f->path);
	if (!f->target ||
		asprintf(&f->temporary, "%s.%d.tmp", f->target, getpid()) < 0) {
		f->temporary = NULL;
		return NULL;
	}
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(f->temporary, flags, 0666);
	if (fd < 0)
		return NULL;
	FILE *stream = fdopen(fd, "w");
	if (!stream) {
		close(fd);
		unlink(f->temporary);
	}
	return stream;
}

int sim_file_open(struct sim_file *f)
{
	struct stat s;
	if (!f->path)
		return CLI_OK;
	if (strcmp(f->path, "-") == 0) {
		f->stream = stdout;
		return CLI_OK;
	}
	if (stat(f->path, &s) == 0 && !S_ISREG(s.st_mode))
		f->stream = fopen(f->path, "we");
	else
		f->stream = temporary_open(f);
	if (f->stream)
		return CLI_OK;
	int error = errno;
	file_forget(f);
	return file_fail(f, error);
}

int sim_file_end(struct sim_file *f, int r)
{
	if (f->stream == stdout) {
		f->stream = NULL;
		/* How standard output ends is looked at in the end. */
		return r && r != -EIO && r != -EPIPE ? file_fail(f, -r)
						     : CLI_OK;
	}
	if (fclose(f->stream) != 0 && r == 0)
		r = -errno;
	if (r == 0 && f->temporary && rename(f->temporary, f->target) != 0)
		r = -errno;
	if (r && f->temporary)
		unlink(f->temporary);
	file_forget(f);
	return r ? file_fail(f, -r) : CLI_OK;
}

void sim_file_drop(struct sim_file *f)
{
	if (!f->stream || f->stream == stdout)
		return;
	fclose(f->stream);
	if (f->temporary)
		unlink(f->temporary);
	file_forget(f);
}
