/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output and input files of `cay sim`. A regular file is written under a
 * temporary name and renamed when it is complete; a pipe or device is written
 * directly.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

static int file_fail(const struct sim_file *f, int error)
{
	return cli_error("sim", "--%s %s: %s", f->option, f->path,
		error == EIO ? "write error" : strerror(error));
}

static void file_clear(struct sim_file *f)
{
	free(f->target);
	free(f->temporary);
	f->target = f->temporary = NULL;
	f->stream = NULL;
}

/* Returns the absolute path of the file to replace: the target of a symbolic
 * link, or a new file in an existing folder. */
static char *file_target(const char *path)
{
	char *target = realpath(path, NULL);
	if (target)
		return target;
	char *head = strdup(path), *tail = strdup(path);
	char *folder = head ? realpath(dirname(head), NULL) : NULL;
	if (folder && tail &&
		asprintf(&target, "%s/%s", folder, basename(tail)) < 0)
		target = NULL;
	int error = errno;
	free(folder);
	free(head);
	free(tail);
	errno = error;
	return target;
}

static FILE *temporary_open(struct sim_file *f)
{
	if (asprintf(&f->temporary, "%s.%d.tmp", f->target, getpid()) < 0) {
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

static int file_open(struct sim_file *f)
{
	if (strcmp(f->path, "-") == 0)
		f->stream = stdout;
	else if (f->target)
		f->stream = temporary_open(f);
	else
		f->stream = fopen(f->path, "we");
	if (f->stream)
		return CLI_OK;
	int error = errno;
	file_clear(f);
	return file_fail(f, error);
}

int sim_files_open(struct sim_file *const *files, unsigned count)
{
	struct stat s;
	for (unsigned i = 0; i < count; i++) {
		struct sim_file *f = files[i];
		if (!f->path)
			continue;
		/* Only a regular file, or a new one, has a target. */
		if (strcmp(f->path, "-") != 0 &&
			(stat(f->path, &s) != 0 || S_ISREG(s.st_mode))) {
			f->target = file_target(f->path);
			if (!f->target)
				return file_fail(f, errno);
		}
		for (unsigned k = 0; k < i && f->target; k++)
			if (files[k]->target &&
				strcmp(files[k]->target, f->target) == 0)
				return cli_usage_error("sim",
					"--%s %s and --%s %s name the same "
					"file",
					files[k]->option, files[k]->path,
					f->option, f->path);
		int status = file_open(f);
		if (status)
			return status;
	}
	return CLI_OK;
}

int sim_file_close(struct sim_file *f, int r)
{
	if (f->stream == stdout) {
		f->stream = NULL;
		sim_output_record(r);
		return CLI_OK;
	}
	if (fclose(f->stream) != 0 && r == 0)
		r = -errno;
	if (r == 0 && f->temporary && rename(f->temporary, f->target) != 0)
		r = -errno;
	if (r && f->temporary)
		unlink(f->temporary);
	file_clear(f);
	return r ? file_fail(f, -r) : CLI_OK;
}

void sim_file_discard(struct sim_file *f)
{
	if (f->stream && f->stream != stdout) {
		fclose(f->stream);
		if (f->temporary)
			unlink(f->temporary);
	}
	file_clear(f);
}

/* ---- standard output ---- */

/* The first error of a flush before the end, which ferror() does not keep. */
static int output_error;

void sim_output_record(int r)
{
	if (output_error == 0)
		output_error = -r;
}

/* Returns true if the reader of the pipe has exited. */
static bool output_closed(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int sim_output_flush(void)
{
	if (output_error == EPIPE || (ferror(stdout) && output_closed()))
		return CLI_OK;
	if (output_error == 0 || output_error == EIO)
		return cli_output_flush("sim");
	return cli_error("sim", "standard output: %s", strerror(output_error));
}

/* ---- input ---- */

#define FIFO_WAIT_MS 2000

/*
 * A FIFO is opened without blocking, because it may have no writer. After the
 * first byte, reads block again. Returns 0 or -errno.
 */
static int fifo_wait(int fd, FILE *f)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char first;
	if (poll(&p, 1, FIFO_WAIT_MS) == 0) {
		ssize_t n = read(fd, &first, 1);
		if (n == 0)
			return -EPIPE;
		if (n == 1)
			ungetc((unsigned char)first, f);
	}
	int flags = fcntl(fd, F_GETFL);
	return fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

static int input_check(int fd, FILE *f)
{
	struct stat s;
	if (fstat(fd, &s) != 0)
		return -errno;
	if (S_ISDIR(s.st_mode))
		return -EISDIR;
	return S_ISFIFO(s.st_mode) ? fifo_wait(fd, f) : 0;
}

int sim_input_open(const char *path, FILE **file)
{
	*file = stdin;
	if (strcmp(path, "-") == 0)
		return CLI_OK;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	int r = f ? input_check(fd, f) : -errno;
	if (r == 0) {
		*file = f;
		return CLI_OK;
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return cli_error("sim", "%s: %s", path,
		r == -EPIPE ? "a FIFO without a writer" : strerror(-r));
}

void sim_input_close(FILE *f)
{
	if (f != stdin)
		fclose(f);
}
