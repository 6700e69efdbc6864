/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands have in common: values of options, complaints, output. */
#ifndef CAY_CLI_OPTIONS_H
#define CAY_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- values: the whole text, or false ---- */

/* Decimal or 0x..., up to max. */
bool option_number(const char *text, uint64_t max, uint64_t *value);

/* "1.5" seconds, up to a thousand years. */
bool option_seconds(const char *text, uint64_t *ns);

/* "65536", "64K", "1G". */
bool option_bytes(const char *text, uint64_t *bytes);

/* ---- all options of a command, by getopt_long(3) ---- */

#define OPTION_HELP 256 /* `val` of --help; those of the others follow */

struct option_set {
	const char *command, *help;
	const struct option *known;
	/* Takes one, with its value or NULL; false if that is not possible. */
	bool (*take)(void *to, int option, const char *value);
};

/*
 * Complains about what is wrong and prints help where it is asked for. -1: go
 * on at argv[optind]; else the exit status.
 */
int option_take_all(const struct option_set *, int argc, char **argv, void *to);

/* -1 if a port may have this name; else says so and gives CLI_USAGE. */
int option_port_name(const char *command, const char *name);

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
