/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace show: summarizes a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fields.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"

/* The number of instructions of a kind. */
static uint64_t kind_count(const struct trace *t, enum trace_kind kind)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < t->count; i++)
		count += t->instruction[i].kind == kind;
	return count;
}

void show_kinds(const struct trace *t)
{
	for (enum trace_kind k = 0; k < TRACE_KINDS; k++) {
		uint64_t count = kind_count(t, k);
		if (count)
			printf("  %-16s %10" PRIu64 "\n", trace_kind_name(k),
				count);
	}
}

void show_kinds_json(const struct trace *t, struct json *j)
{
	json_key(j, "instructions");
	json_object_begin(j);
	for (enum trace_kind k = 0; k < TRACE_KINDS; k++) {
		uint64_t count = kind_count(t, k);
		if (count)
			json_put_number(j, trace_kind_name(k), count);
	}
	json_object_end(j);
}

/* The traffic from one port to another. */
struct pair {
	uint32_t origin, target;
	uint64_t messages, accesses, bytes;
};

static const struct field pair_fields[] = {
	FIELD(struct pair, origin, "from", .title = "origin", .width = 8),
	FIELD(struct pair, target, "to", .title = "target"),
	FIELD(struct pair, messages, "messages", .title = "messages",
		.width = 12),
	FIELD(struct pair, accesses, "accesses", .title = "accesses",
		.width = 12),
	FIELD(struct pair, bytes, "bytes", .title = "bytes", .width = 14),
	FIELDS_END,
};

/* Counts the traffic of each pair of ports. Returns NULL without memory. */
static struct pair *pairs_count(const struct trace *t, size_t *count)
{
	struct pair *all =
		calloc((size_t)t->ports * t->ports + 1, sizeof(*all));
	*count = 0;
	for (uint32_t k = 0; all && k < t->count; k++) {
		const struct trace_instruction *i = &t->instruction[k];
		struct pair *p = &all[i->port * t->ports + i->peer];
		if (!trace_issues(i->kind))
			continue;
		p->messages += i->kind == TRACE_SEND;
		p->accesses += i->kind != TRACE_SEND;
		p->bytes += trace_length(i);
	}
	for (uint32_t n = 0; all && n < t->ports * t->ports; n++) {
		if (all[n].messages + all[n].accesses == 0)
			continue;
		all[*count] = all[n];
		all[*count].origin = n / t->ports;
		all[*count].target = n % t->ports;
		++*count;
	}
	return all;
}

/* A trace in numbers. */
struct summary {
	uint32_t ports, nq_entries, windows, posted;
	uint64_t rdr_bytes, memory_bytes, duration_ns;
};

static const struct field summary_fields[] = {
	FIELD(struct summary, ports, "ports"),
	FIELD(struct summary, nq_entries, "nq_entries"),
	FIELD(struct summary, rdr_bytes, "rdr_bytes"),
	FIELD(struct summary, windows, "windows"),
	FIELD(struct summary, posted, "posted"),
	FIELD(struct summary, memory_bytes, "memory_bytes"),
	FIELD(struct summary, duration_ns, "duration_ns"),
	FIELDS_END,
};

static void show_print(const struct trace *t, const struct summary *s,
	const struct pair *pairs, size_t count)
{
	printf("%u port%s, each with %u NQ entries, %" PRIu64
	       " bytes of RDR, %u window%s, %u posted receive%s\n",
		s->ports, plural(s->ports), s->nq_entries, s->rdr_bytes,
		s->windows, plural(s->windows), s->posted, plural(s->posted));
	printf("%" PRIu64 " bytes of window memory in %u region%s\n",
		s->memory_bytes, t->regions, plural(t->regions));
	printf("%u instruction%s", t->count, plural(t->count));
	if (s->duration_ns)
		printf(" in %.6f s", (double)s->duration_ns / 1e9);
	printf("\n\n");
	show_kinds(t);
	printf("\n");
	fields_print(stdout, pair_fields, pairs, count, sizeof(*pairs));
}

static void show_json(const struct trace *t, const struct summary *s,
	const struct pair *pairs, size_t count)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	fields_json(&j, summary_fields, s);
	show_kinds_json(t, &j);
	fields_json_array(
		&j, "pairs", pair_fields, pairs, count, sizeof(*pairs));
	json_object_end(&j);
	json_close(&j);
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
	status = trace_file_load(c->name, argv[0], &t);
	if (status)
		return status;
	struct summary summary = { .ports = t.ports,
		.nq_entries = t.queues.nq_entries,
		.windows = t.queues.windows,
		.posted = t.queues.posted,
		.rdr_bytes = t.queues.rdr_bytes,
		.duration_ns = t.count ? t.instruction[t.count - 1].time_ns
				       : 0 };
	for (uint32_t i = 0; i < t.regions; i++)
		summary.memory_bytes += t.region[i].bytes;
	size_t count;
	struct pair *pairs = pairs_count(&t, &count);
	if (!pairs)
		status = cli_error(c->name, "%s", strerror(ENOMEM));
	else if (o.json)
		show_json(&t, &summary, pairs, count);
	else
		show_print(&t, &summary, pairs, count);
	free(pairs);
	trace_free(&t);
	return status ? status : cli_output_flush(c->name);
}

#define OPTIONS_STRUCT struct show_options

static const struct option_row show_rows[] = {
	OPTION_SWITCH("json", json, "print a JSON object instead of tables"),
};

const struct command command_show = {
	.name = "trace show",
	.summary = "summarize a trace",
	.arguments = "FILE",
	.help = "Prints the ports, queues and windows of a trace, its "
		"instructions by kind, and the traffic between each pair of "
		"ports. FILE may be - for standard input.",
	COMMAND_OPTIONS(show_rows),
	.run = show_run,
};
