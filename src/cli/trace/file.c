/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing trace files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/trace/trace.h"

char *trace_file_read(const char *path, size_t *length)
{
	bool standard_input = strcmp(path, "-") == 0;
	FILE *f = standard_input ? stdin : fopen(path, "re");
	if (!f)
		return NULL;
	size_t size = 1u << 16, used = 0, n;
	char *text = malloc(size);
	while (text && (n = fread(text + used, 1, size - used, f)) > 0) {
		used += n;
		if (used < size)
			continue;
		size *= 2;
		char *grown = realloc(text, size);
		if (!grown)
			free(text);
		text = grown;
	}
	int error = errno;
	if (text && ferror(f)) {
		free(text);
		text = NULL;
	}
	if (!standard_input)
		fclose(f);
	errno = error;
	*length = used;
	return text;
}

int trace_file_load(const char *command, const char *path, struct trace *t)
{
	struct trace_error e;
	size_t length;
	char *text = trace_file_read(path, &length);
	if (!text)
		return cli_error(command, "%s: %s", path, strerror(errno));
	int r = trace_parse(text, length, t, &e);
	free(text);
	if (r == 0)
		return CLI_OK;
	if (r != -EINVAL)
		return cli_error(command, "%s: %s", path, strerror(-r));
	if (e.line == 0)
		return cli_error(command, "%s: %s", path, e.text);
	return cli_error(command, "%s:%u: %s", path, e.line, e.text);
}

bool trace_file_save(const struct trace *t, FILE *to)
{
	char line[TRACE_LINE_MAX], head[TRACE_PORTS_MAX * 48];
	trace_head(t, head, sizeof(head));
	fputs(head, to);
	for (uint32_t i = 0; i < t->count; i++) {
		trace_line(&t->instruction[i], line);
		fputs(line, to);
	}
	return fflush(to) == 0 && !ferror(to);
}
