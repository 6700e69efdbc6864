/* SPDX-License-Identifier: BSD-2-Clause */
/* See cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Returns the length of the printable character at `s`, or 0. */
static size_t printable(const unsigned char *s, size_t left)
{
	uint32_t code;
	size_t bytes = utf8_announced(s[0]) <= left ? utf8_next(s, &code) : 0;
	if (bytes == 0 || code == '\n' || code == '\t')
		return bytes;
	/* C0, DEL and C1. */
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : bytes;
}

bool cli_print_escaped(FILE *to, const void *data, size_t length)
{
	const unsigned char *at = data, *end = at + length;
	while (at < end) {
		const unsigned char *from = at;
		size_t bytes;
		while (at < end && (bytes = printable(at, (size_t)(end - at))))
			at += bytes;
		size_t span = (size_t)(at - from);
		if (fwrite(from, 1, span, to) != span)
			return false;
		if (at < end && fprintf(to, "\\x%02x", *at++) < 0)
			return false;
	}
	return true;
}

__attribute__((format(printf, 2, 0))) static void message_print(
	const char *command, const char *format, va_list arguments)
{
	char *text = NULL;
	int n = vasprintf(&text, format, arguments);
	fprintf(stderr, "cay%s%s: ", *command ? " " : "", command);
	cli_print_escaped(stderr, n < 0 ? "out of memory" : text,
		n < 0 ? strlen("out of memory") : (size_t)n);
	fputc('\n', stderr);
	if (n >= 0)
		free(text);
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

bool cli_colour_wanted(void)
{
	const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
	return isatty(STDOUT_FILENO) && !(none && *none) && kind && *kind &&
	       strcmp(kind, "dumb") != 0;
}

void cli_ignore_sigpipe(void)
{
	signal(SIGPIPE, SIG_IGN);
}
