/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the subcommands of `cay trace`. */
#ifndef CAY_CLI_TRACE_H
#define CAY_CLI_TRACE_H

#include <stdio.h>

#include "base/json.h"
#include "cli/options.h"
#include "trace/trace.h"

extern const struct command command_record, command_replay, command_show,
	command_timeline;

/* ---- file.c ---- */

/*
 * Reads a whole file; "-" is standard input. Returns its contents, which the
 * caller frees, or NULL with errno set.
 */
char *trace_file_read(const char *path, size_t *length);

/* Reads a trace. Returns CLI_OK, or CLI_FAILED after an error message. */
int trace_file_load(const char *command, const char *path, struct trace *);

/* Writes a trace. Returns false on a write error. */
bool trace_file_save(const struct trace *, FILE *to);

/* ---- show.c: the number of instructions of each kind ---- */

void show_kinds(const struct trace *);
void show_kinds_json(const struct trace *, struct json *);

#endif
