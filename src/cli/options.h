/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands have in common: values of options, complaints, output. */
#ifndef CAY_CLI_OPTIONS_H
#define CAY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* ---- values: the whole text, or false ---- */

/* Decimal or 0x..., up to max. */
bool option_number(const char *text, uint64_t max, uint64_t *value);

/* "1.5" seconds, up to a thousand years. */
bool option_seconds(const char *text, uint64_t *ns);

/* "65536", "64K", "1G". */
bool option_bytes(const char *text, uint64_t *bytes);

/* ---- what a command says about itself; `command` is "send" ---- */

/* Prints help on stdout. The exit status. */
int option_help(const char *command, const char *text);

/* "cay send: ..." on stderr, and where help is. CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int option_misused(
	const char *command, const char *format, ...);

/* "cay send: ..." on stderr. CLI_FAILED. */
__attribute__((format(printf, 2, 3))) int option_failed(
	const char *command, const char *format, ...);

/* ---- standard output ---- */

/*
 * Flushes and looks whether all was written. The exit status: a reader who has
 * had enough (EPIPE) is no failure; whatever else is, is said.
 */
int option_output_end(const char *command);

/* From now on a closed pipe is an error of write() and not a signal. */
void option_pipe_ignore(void);

#endif
