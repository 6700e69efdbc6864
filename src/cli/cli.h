/* SPDX-License-Identifier: BSD-2-Clause */
/* Exit statuses, error messages and standard output of all commands. */
#ifndef CAY_CLI_CLI_H
#define CAY_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,	   /* wrong usage */
	CLI_DISTURBED = 3, /* a benchmark was disturbed */
};

/*
 * Writes data of another process for a terminal: control characters except
 * newline and tab, and bytes that are not UTF-8, become "\\xHH", so that they
 * cannot move the cursor or reprogram the terminal. Returns false with errno
 * if a write failed.
 */
bool cli_print_escaped(FILE *, const void *data, size_t length);

/* Prints "cay COMMAND: ..." on stderr, escaped. Returns CLI_FAILED. */
__attribute__((format(printf, 2, 3))) int cli_error(
	const char *command, const char *format, ...);

/* As cli_error(), and points to --help. Returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage_error(
	const char *command, const char *format, ...);

/*
 * Flushes standard output. Returns the exit status: CLI_OK also after EPIPE,
 * because a reader such as head(1) may stop early.
 */
int cli_output_flush(const char *command);

/* Returns whether the user wants colours on a terminal: not with NO_COLOR, and
 * only if the terminal is capable of them. */
bool cli_colour_wanted(void);

/* Turns SIGPIPE into an EPIPE error of write(). */
void cli_ignore_sigpipe(void);

#endif
