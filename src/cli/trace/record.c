/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay trace record: runs a program with the recorder preloaded and merges the
 * files of its processes into one trace. The files are in a temporary directory
 * beside the trace, which is removed at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/directories.h"
#include "base/fields.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"
#include "node/installed.h"
#include "trace/merge.h"
#include "trace/record_log.h"

#define COMMAND "trace record"
#define LIBRARY "libcay-trace.so"

/* Exit statuses of a program that cannot be executed, as a shell has them. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127

struct record_call {
	const char *output;
	char **program;
	char library[PATH_MAX];
	char directory[PATH_MAX]; /* of the files of the processes */
	struct trace *part;
	uint32_t parts, capacity;
};

/* Given by the environment, beside this program, or installed. */
static int library_find(struct record_call *c)
{
	static const char *const near[] = { "/" LIBRARY, "/../lib/cay/" LIBRARY,
		NULL };
	const char *given = secure_getenv("CAY_TRACE_LIBRARY");
	/* Absolute, because the program may change its directory. */
	bool found = given ? realpath(given, c->library) &&
				     installed_at(c->library, INSTALLED_LIBRARY)
			   : installed_find(near, CAY_TRACE_DIR "/" LIBRARY,
				     INSTALLED_LIBRARY, c->library);
	if (!found)
		return cli_error(COMMAND, LIBRARY
			" was not found; set CAY_TRACE_LIBRARY to its path");
	/* They separate the names in LD_PRELOAD. */
	if (strpbrk(c->library, " :"))
		return cli_error(COMMAND,
			"%s: the path of the library contains a blank or a "
			"colon",
			c->library);
	return -1;
}

/* ---- temporary directory ---- */

static int directory_open(struct record_call *c)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s.XXXXXX", c->output);
	if (n < 0 || n >= (int)sizeof(path))
		return cli_error(
			COMMAND, "%s: the name is too long", c->output);
	/* Absolute, because the program may change its directory. */
	if (!mkdtemp(path) || !realpath(path, c->directory))
		return cli_error(COMMAND, "%s: %s", c->output, strerror(errno));
	return -1;
}

static void directory_close(const struct record_call *c)
{
	DIR *d = opendir(c->directory);
	char path[PATH_MAX + NAME_MAX + 2];
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", c->directory, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(c->directory);
}

/* ---- program ---- */

/* Lock-free: a signal handler reads it. */
static _Atomic pid_t child;

/* Forwards a signal to the program. */
static void forward(int signal)
{
	pid_t program = atomic_load_explicit(&child, memory_order_relaxed);
	if (program > 0)
		kill(program, signal);
}

static void program_execute(const struct record_call *c)
{
	const char *others = getenv("LD_PRELOAD");
	char *all = NULL;
	if (!others || !*others)
		setenv("LD_PRELOAD", c->library, 1);
	else if (asprintf(&all, "%s:%s", c->library, others) > 0)
		setenv("LD_PRELOAD", all, 1);
	setenv(RECORD_DIRECTORY, c->directory, 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	execvp(c->program[0], c->program);
	int error = errno;
	cli_error(COMMAND, "%s: %s", c->program[0], strerror(error));
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* Runs the program. Returns its exit status as a shell does. */
static int program_run(const struct record_call *c)
{
	const struct sigaction pass = { .sa_handler = forward,
		.sa_flags = SA_RESTART };
	int status = 0;
	/* The terminal sends these to the program as well. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	fflush(NULL);
	pid_t program = fork();
	if (program < 0)
		return cli_error(COMMAND, "%s", strerror(errno));
	if (program == 0)
		program_execute(c);
	atomic_store_explicit(&child, program, memory_order_relaxed);
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	while (waitpid(program, &status, 0) < 0 && errno == EINTR)
		;
	atomic_store_explicit(&child, 0, memory_order_relaxed);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* ---- files of the processes ---- */

static int part_add(struct record_call *c, const char *name)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct trace_error error;
	size_t length;
	if (c->parts == c->capacity) {
		uint32_t capacity = c->capacity ? 2 * c->capacity : 16;
		struct trace *grown =
			realloc(c->part, capacity * sizeof(*grown));
		if (!grown)
			return cli_error(COMMAND, "%s", strerror(ENOMEM));
		c->part = grown;
		c->capacity = capacity;
	}
	snprintf(path, sizeof(path), "%s/%s", c->directory, name);
	char *text = trace_file_read(path, &length);
	if (!text)
		return cli_error(COMMAND, "%s: %s", path, strerror(errno));
	int r = trace_parse_part(text, length, &c->part[c->parts], &error);
	free(text);
	if (r == -EINVAL)
		return cli_error(COMMAND, "process %s, line %u: %s", name,
			error.line, error.text);
	if (r)
		return cli_error(COMMAND, "%s", strerror(-r));
	/* The name of the file is the number of its process. */
	c->part[c->parts++].process = (uint32_t)strtoul(name, NULL, 10);
	return CLI_OK;
}

static int parts_load(struct record_call *c)
{
	DIR *d = opendir(c->directory);
	int status = CLI_OK;
	if (!d)
		return cli_error(
			COMMAND, "%s: %s", c->directory, strerror(errno));
	for (struct dirent *e; !status && (e = readdir(d));)
		if (e->d_name[0] != '.')
			status = part_add(c, e->d_name);
	closedir(d);
	return status;
}

/* Merges the files and writes the trace. */
static int parts_merge(struct record_call *c)
{
	char path[PATH_MAX + 8];
	struct trace t;
	struct trace_error error;
	struct merge_report report;
	int r = trace_merge(c->part, c->parts, &t, &report, &error);
	switch (r) {
	case 0:
		break;
	case -ENODATA:
		return cli_error(COMMAND,
			"nothing was recorded: no process called libcay.so; "
			"a program that links the static library, as cay does, "
			"cannot be recorded");
	case -E2BIG:
		return cli_error(
			COMMAND, "more than %d ports", TRACE_PORTS_MAX);
	case -EINVAL:
		return cli_error(COMMAND, "%s", error.text);
	default:
		return cli_error(COMMAND, "%s", strerror(-r));
	}
	/* A temporary file is renamed, so that no partial trace remains. */
	int status = CLI_OK;
	snprintf(path, sizeof(path), "%s/.trace", c->directory);
	FILE *f = fopen(path, "we");
	bool written = f && trace_file_save(&t, f);
	if (f && fclose(f) != 0)
		written = false;
	if (!written || rename(path, c->output) != 0)
		status = cli_error(
			COMMAND, "%s: %s", c->output, strerror(errno));
	else
		fprintf(stderr,
			"cay " COMMAND ": %s: %u instruction%s of %u port%s "
			"in %u process%s\n",
			c->output, t.count, plural(t.count), t.ports,
			plural(t.ports), c->parts, c->parts == 1 ? "" : "es");
	if (!status && report.unrecorded)
		fprintf(stderr,
			"cay " COMMAND ": of %u of the ports only the "
			"operations of others were recorded\n",
			report.unrecorded);
	trace_free(&t);
	return status;
}

static int record_run(const struct command *command, int argc, char **argv)
{
	struct record_call c = { 0 };
	int status = command_parse(command, &argc, &argv, &c);
	c.program = argv;
	if (status < 0)
		status = library_find(&c);
	if (status < 0)
		status = directory_open(&c);
	if (status >= 0)
		return status;
	int program = program_run(&c);
	status = parts_load(&c);
	/* The reason was printed if the program could not be executed. */
	bool executed = c.parts > 0 || program < STATUS_NOT_EXECUTABLE ||
			program > STATUS_NOT_FOUND;
	if (!status && executed)
		status = parts_merge(&c);
	for (uint32_t i = 0; i < c.parts; i++)
		trace_free(&c.part[i]);
	free(c.part);
	directory_close(&c);
	return program ? program : status;
}

#define OPTIONS_STRUCT struct record_call

static const struct option_row record_rows[] = {
	OPTION_VALUE("output", "FILE", OPTION_FILE, output,
		"write the trace to FILE (required)", .letter = 'o',
		.required = true),
};

const struct command command_record = {
	.name = COMMAND,
	.summary = "run a program and record its operations",
	.arguments = "PROGRAM [ARGUMENT...]",
	.help = "Runs a program and records the calls that it and its children "
		"make to Cay. The program must use the shared library, "
		"libcay.so: a program that is linked with the static library "
		"cannot be recorded.",
	.notes = "The exit status is the program's, or 1 if that is 0 and no "
		 "trace was written.",
	COMMAND_OPTIONS(record_rows),
	.run = record_run,
};
