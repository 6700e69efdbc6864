/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `cay trace` share. */
#ifndef CAY_CLI_TRACE_H
#define CAY_CLI_TRACE_H

#include <stdio.h>

#include "cli/options.h"
#include "trace/trace.h"

extern const struct command command_record, command_replay;

/* All that a file has, or NULL and errno; "-" is standard input. */
char *trace_read(const char *path, size_t *length);

/* Reads a trace, or says what is wrong with it. CLI_OK or CLI_FAILED. */
int trace_load(const char *command, const char *path, struct trace *);

/* False: not all could be written. */
bool trace_save(const struct trace *, FILE *to);

/* How many of each kind. */
void trace_count(const struct trace *, uint64_t counts[TRACE_KINDS]);

#endif
