/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace show: summarizes a trace. */
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
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
	uint64_t messages, accesses, bytes;
};

/* Adds up the next pair with traffic, from *n on. Returns false at the end. */
static bool pair_next(const struct trace *t, uint32_t *n, struct pair *p)
{
	for (; *n < t->ports * t->ports; ++*n) {
		*p = (struct pair){ 0 };
		for (uint32_t k = 0; k < t->count; k++) {
			const struct trace_instruction *i = &t->instruction[k];
			if (!trace_issues(i->kind) ||
				i->port * t->ports + i->peer != *n)
				continue;
			p->messages += i->kind == TRACE_SEND;
			p->accesses += i->kind != TRACE_SEND;
			p->bytes += trace_length(i);
		}
		if (p->messages + p->accesses)
			return true;
	}
	return false;
}

static void show_print(
	const struct trace *t, uint64_t memory_bytes, uint64_t duration_ns)
{
	const struct trace_queues *q = &t->queues;
	struct pair p;
	printf("%u port%s with %u NQ entries, %" PRIu64
	       " bytes of RDR, %u windows, %u posted receives\n",
		t->ports, t->ports == 1 ? "" : "s", q->nq_entries, q->rdr_bytes,
		q->windows, q->posted);
	printf("%" PRIu64 " bytes of window memory in %u region%s\n",
		memory_bytes, t->regions, t->regions == 1 ? "" : "s");
	printf("%u instruction%s", t->count, t->count == 1 ? "" : "s");
	if (duration_ns)
		printf(" in %.6f s", (double)duration_ns / 1e9);
	printf("\n\n");
	show_kinds(t);
	printf("\n  %6s %6s %12s %12s %14s\n", "origin", "target", "messages",
		"accesses", "bytes");
	for (uint32_t n = 0; pair_next(t, &n, &p); n++)
		printf("  %6u %6u %12" PRIu64 " %12" PRIu64 " %14" PRIu64 "\n",
			n / t->ports, n % t->ports, p.messages, p.accesses,
			p.bytes);
}

static int show_json(
	const struct trace *t, uint64_t memory_bytes, uint64_t duration_ns)
{
	struct json j;
	struct pair p;
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "ports", t->ports);
	json_put_number(&j, "nq_entries", t->queues.nq_entries);
	json_put_number(&j, "rdr_bytes", t->queues.rdr_bytes);
	json_put_number(&j, "windows", t->queues.windows);
	json_put_number(&j, "posted", t->queues.posted);
	json_put_number(&j, "memory_bytes", memory_bytes);
	json_put_number(&j, "duration_ns", duration_ns);
	show_kinds_json(t, &j);
	json_key(&j, "pairs");
	json_array_begin(&j);
	for (uint32_t n = 0; pair_next(t, &n, &p); n++) {
		json_object_begin(&j);
		json_put_number(&j, "from", n / t->ports);
		json_put_number(&j, "to", n % t->ports);
		json_put_number(&j, "messages", p.messages);
		json_put_number(&j, "accesses", p.accesses);
		json_put_number(&j, "bytes", p.bytes);
		json_object_end(&j);
	}
	json_array_end(&j);
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
	status = trace_file_load(c->name, argv[0], &t);
	if (status)
		return status;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < t.regions; i++)
		bytes += t.region[i].bytes;
	uint64_t ns = t.count ? t.instruction[t.count - 1].time_ns : 0;
	if (o.json)
		status = show_json(&t, bytes, ns);
	else
		show_print(&t, bytes, ns);
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
