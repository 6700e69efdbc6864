/* SPDX-License-Identifier: BSD-2-Clause */
/* See cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 2, 0))) static void message_print(
	const char *command, const char *format, va_list arguments)
{
	fprintf(stderr, "cay%s%s: ", *command ? " " : "", command);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

int cli_error(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message_print(command, format, arguments);
	va_end(arguments);
	return CLI_FAILED;
}

int cli_usage_error(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message_print(command, format, arguments);
	va_end(arguments);
	fprintf(stderr, "try: cay%s%s --help\n", *command ? " " : "", command);
	return CLI_USAGE;
}

int cli_output_flush(const char *command)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return CLI_OK;
	return cli_error(command, "standard output: %s",
		errno ? strerror(errno) : "write error");
}

void cli_ignore_sigpipe(void)
{
	signal(SIGPIPE, SIG_IGN);
}

bool cli_find(
	const char *const *near, const char *installed, char path[PATH_MAX])
{
	char found[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", found, sizeof(found) - 1);
	found[n > 0 ? n : 0] = 0;
	char *slash = strrchr(found, '/');
	bool there = false;
	for (; slash && *near && !there; near++) {
		if (strlen(*near) >= sizeof(found) - (size_t)(slash - found))
			continue;
		strcpy(slash, *near);
		there = access(found, R_OK) == 0;
	}
	if (!there && strlen(installed) < sizeof(found)) {
		strcpy(found, installed);
		there = access(found, R_OK) == 0;
	}
	memcpy(path, found, sizeof(found));
	return there;
}
