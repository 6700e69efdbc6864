/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs an instruction of `cay explain` and sums it up in a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/explain/explain.h"

/* Lists the shared lines: ": W, the notification and 4 of payload". */
static void lines_list(const struct counting *c, char *text, size_t size)
{
	uint64_t left = 0, used = 0;
	for (int k = 0; k < HOST_KINDS; k++)
		left += k != HOST_RECORD && c->kind[k].lines;
	text[0] = 0;
	for (int k = 0; k < HOST_KINDS; k++) {
		const char *name = counting_kind_name((enum host_kind)k);
		uint64_t lines = c->kind[k].lines;
		char count[32] = "the ";
		if (k == HOST_RECORD || lines == 0)
			continue;
		if (lines > 1)
			snprintf(
				count, sizeof(count), "%" PRIu64 " of ", lines);
		else if (k == HOST_W)
			count[0] = 0;
		const char *separator = left-- > 1 ? ", " : " and ";
		used += (uint64_t)snprintf(text + used, size - used, "%s%s%s",
			used ? separator : ": ", count, name);
	}
}

static void meaning_write(struct explanation *e)
{
	struct phase_sum sum = phase_sum(&e->phase[0]);
	char lines[256];
	lines_list(&e->phase[0].counting, lines, sizeof(lines));
	snprintf(e->meaning, sizeof(e->meaning),
		"The origin writes %" PRIu64 " shared line%s%s; it reads "
		"%" PRIu64 " more, with %" PRIu64
		" atomic operation%s and %s system call. The op record is a "
		"private line of the issuing thread.",
		sum.lines_written, sum.lines_written == 1 ? "" : "s", lines,
		sum.lines_read, sum.atomics, sum.atomics == 1 ? "" : "s",
		sum.calls ? "a" : "no");
}

int explain_run(const struct explain_instruction *i, uint64_t bytes,
	struct explanation *e)
{
	struct fixture b;
	memset(e, 0, sizeof(*e));
	e->instruction = i->name;
	e->bytes = bytes;
	int r = fixture_open(&b, 2, &(struct queue_options){ 0 });
	if (r)
		return r;
	r = i->prepare(&b, e);
	if (r == 0)
		r = i->run(&b, e);
	if (r == 0)
		meaning_write(e);
	fixture_close(&b);
	return r ? r : explain_errors(i, &e->errors);
}
