/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace: record, replay, show and make traces. See cay-trace(1). */
#include "cli/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "trace/random.h"

/* ---- files ---- */

static char *stream_read(FILE *f, size_t *length)
{
	size_t room = 1u << 16, used = 0, n;
	char *text = malloc(room);
	while (text && (n = fread(text + used, 1, room - used, f)) > 0) {
		used += n;
		if (used < room)
			continue;
		room *= 2;
		char *grown = realloc(text, room);
		if (!grown)
			free(text);
		text = grown;
	}
	if (text && ferror(f)) {
		free(text);
		return NULL;
	}
	*length = used;
	return text;
}

char *trace_read(const char *path, size_t *length)
{
	if (strcmp(path, "-") == 0)
		return stream_read(stdin, length);
	FILE *f = fopen(path, "re");
	if (!f)
		return NULL;
	char *text = stream_read(f, length);
	int error = errno;
	fclose(f);
	errno = error;
	return text;
}

int trace_load(const char *command, const char *path, struct trace *t)
{
	struct trace_error c;
	size_t length;
	char *text = trace_read(path, &length);
	if (!text)
		return cli_error(command, "%s: %s", path, strerror(errno));
	int r = trace_parse(text, length, t, &c);
	free(text);
	if (r == 0)
		return CLI_OK;
	if (r != -EINVAL)
		return cli_error(command, "%s: %s", path, strerror(-r));
	if (c.line == 0)
		return cli_error(command, "%s: %s", path, c.text);
	return cli_error(command, "%s:%u: %s", path, c.line, c.text);
}

bool trace_save(const struct trace *t, FILE *to)
{
	char line[TRACE_LINE_MAX], head[TRACE_PORTS_MAX * 32];
	trace_head(t, head, sizeof(head));
	fputs(head, to);
	for (uint32_t i = 0; i < t->count; i++) {
		trace_line(&t->instruction[i], line);
		fputs(line, to);
	}
	return fflush(to) == 0 && !ferror(to);
}

void trace_count(const struct trace *t, uint64_t counts[TRACE_KINDS])
{
	memset(counts, 0, TRACE_KINDS * sizeof(counts[0]));
	for (uint32_t i = 0; i < t->count; i++)
		counts[t->instruction[i].kind]++;
}

/* ---- show ---- */

/* What one port has issued to another. */
struct pair {
	uint64_t messages, accesses, bytes;
};

static struct pair pair_count(const struct trace *t, uint32_t from, uint32_t to)
{
	struct pair p = { 0 };
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trace_instruction *x = &t->instruction[i];
		if (x->port != from || x->peer != to || !trace_issues(x->kind))
			continue;
		p.messages += x->kind == TRACE_SEND;
		p.accesses += x->kind != TRACE_SEND;
		bool word = x->kind == TRACE_PUT_MASKED ||
			    x->kind == TRACE_FETCH_ADD ||
			    x->kind == TRACE_COMPARE_SWAP;
		p.bytes += word ? 8 : x->bytes;
	}
	return p;
}

static uint64_t memory_bytes(const struct trace *t)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < t->regions; i++)
		bytes += t->region[i].bytes;
	return bytes;
}

static uint64_t duration_ns(const struct trace *t)
{
	return t->count ? t->instruction[t->count - 1].time_ns : 0;
}

static void show_print(const struct trace *t)
{
	const struct trace_queues *q = &t->queues;
	uint64_t counts[TRACE_KINDS];
	trace_count(t, counts);
	printf("%u ports: %u notification entries, %" PRIu64
	       " bytes of RDR, %u windows, %u posted receives each\n",
		t->ports, q->nq_entries, q->rdr_bytes, q->windows, q->posted);
	printf("%" PRIu64 " bytes of windows in %u pieces of memory\n",
		memory_bytes(t), t->regions);
	printf("%u instructions", t->count);
	if (duration_ns(t))
		printf(" in %.6f s", (double)duration_ns(t) / 1e9);
	printf("\n\n");
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			printf("  %-16s %10" PRIu64 "\n",
				trace_kind_name((enum trace_kind)k), counts[k]);
	printf("\n  %4s %4s %12s %12s %14s\n", "from", "to", "messages",
		"accesses", "bytes");
	for (uint32_t a = 0; a < t->ports; a++)
		for (uint32_t b = 0; b < t->ports; b++) {
			struct pair p = pair_count(t, a, b);
			if (p.messages + p.accesses)
				printf("  %4u %4u %12" PRIu64 " %12" PRIu64
				       " %14" PRIu64 "\n",
					a, b, p.messages, p.accesses, p.bytes);
		}
}

static void show_pairs_json(const struct trace *t, struct json *j)
{
	json_key(j, "pairs");
	json_array_begin(j);
	for (uint32_t a = 0; a < t->ports; a++)
		for (uint32_t b = 0; b < t->ports; b++) {
			struct pair p = pair_count(t, a, b);
			if (p.messages + p.accesses == 0)
				continue;
			json_object_begin(j);
			json_put_number(j, "from", a);
			json_put_number(j, "to", b);
			json_put_number(j, "messages", p.messages);
			json_put_number(j, "accesses", p.accesses);
			json_put_number(j, "bytes", p.bytes);
			json_object_end(j);
		}
	json_array_end(j);
}

static int show_json(const struct trace *t)
{
	uint64_t counts[TRACE_KINDS];
	struct json j;
	trace_count(t, counts);
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "ports", t->ports);
	json_put_number(&j, "nq_entries", t->queues.nq_entries);
	json_put_number(&j, "rdr_bytes", t->queues.rdr_bytes);
	json_put_number(&j, "windows", t->queues.windows);
	json_put_number(&j, "posted", t->queues.posted);
	json_put_number(&j, "memory_bytes", memory_bytes(t));
	json_put_number(&j, "duration_ns", duration_ns(t));
	json_key(&j, "instructions");
	json_object_begin(&j);
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			json_put_number(&j, trace_kind_name((enum trace_kind)k),
				counts[k]);
	json_object_end(&j);
	show_pairs_json(t, &j);
	json_object_end(&j);
	return json_close(&j) ? CLI_FAILED : CLI_OK;
}

struct show_options {
	bool json;
};

static int show_run(const struct command *c, int argc, char **argv)
{
	struct show_options o = { 0 };
	struct trace t;
	int status = command_parse(c, &argc, &argv, &o);
	if (status >= 0)
		return status;
	status = trace_load(c->name, argv[0], &t);
	if (status)
		return status;
	if (o.json)
		status = show_json(&t);
	else
		show_print(&t);
	trace_free(&t);
	return status ? status : cli_output_flush(c->name);
}

#define OPTIONS_STRUCT struct show_options

static const struct option_row show_rows[] = {
	OPTION_SWITCH("json", json, "print a JSON object instead of tables"),
};

static const struct command command_show = {
	.name = "trace show",
	.summary = "summarize a trace",
	.arguments = "FILE",
	.help = "Prints the ports, queues and windows of a trace, its "
		"instructions by kind, and the traffic between each pair of "
		"ports. FILE may be - for standard input.",
	COMMAND_OPTIONS(show_rows),
	.run = show_run,
};

/* ---- random ---- */

static int random_run(const struct command *c, int argc, char **argv)
{
	struct random_options o = { .seed = 1, .ports = 3, .count = 100 };
	struct trace t;
	int status = command_parse(c, &argc, &argv, &o);
	if (status >= 0)
		return status;
	int r = random_trace(&o, &t);
	if (r)
		return cli_error(c->name, "%s", strerror(-r));
	cli_ignore_sigpipe();
	trace_save(&t, stdout);
	trace_free(&t);
	return cli_output_flush(c->name);
}

#undef OPTIONS_STRUCT
#define OPTIONS_STRUCT struct random_options

static const struct option_row random_rows[] = {
	OPTION_VALUE("seed", "N", OPTION_NUMBER, seed,
		"seed of the random numbers (default 1)"),
	OPTION_VALUE("ports", "N", OPTION_COUNT, ports,
		"number of ports, 1 to 256 (default 3)", .min = 1,
		.max = TRACE_PORTS_MAX),
	OPTION_VALUE("count", "N", OPTION_COUNT, count,
		"instructions after the windows are open (default 100)",
		.max = 100000000),
	OPTION_SWITCH("conflicts", conflicts,
		"let ports access the same memory; otherwise each port has its "
		"own part of every window"),
};

static const struct command command_random = {
	.name = "trace random",
	.summary = "generate a random trace",
	.help = "Writes a random trace to standard output. The same options "
		"give the same trace.",
	COMMAND_OPTIONS(random_rows),
	.run = random_run,
};

const struct command command_trace = {
	.name = "trace",
	.summary = "record, replay and compare the operations of ports",
	.help = "A trace is a text file that lists the operations of ports in "
		"one order.",
	.notes = "See also cay-trace(1).",
	.subcommands =
		(const struct command *const[]){
			&command_record,
			&command_replay,
			&command_show,
			&command_random,
			NULL,
		},
};
