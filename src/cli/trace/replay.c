/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace replay: executes a trace on platforms and compares the outcomes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fields.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"
#include "trace/oracle.h"
#include "trace/replay.h"

#define COMMAND "trace replay"

/* What can execute a trace. */
enum executor {
	RUN_REAL,
	RUN_COUNTING,
	RUN_MODEL,
	EXECUTORS,
};

static const char *const executor_names[EXECUTORS] = { "real", "counting",
	"model" };

struct run {
	const char *platform;
	bool done;
	struct outcome outcome;
	struct counting counted; /* of the counting platform */
	uint64_t time_ns, retried, refused, notifications;
};

struct replay_call {
	bool selected[EXECUTORS];
	bool json;
	const char *path;
	struct trace trace;
	struct run run[EXECUTORS];
	char difference[1200]; /* empty: none */
};

static bool platform_parse(void *to, const char *text)
{
	struct replay_call *c = to;
	bool found = false;
	for (int i = 0; i < EXECUTORS; i++) {
		c->selected[i] = strcmp(text, executor_names[i]) == 0 ||
				 strcmp(text, "both") == 0;
		found |= c->selected[i];
	}
	return found;
}

/* ---- execution ---- */

static int run_device(
	const struct trace *t, const struct platform *platform, struct run *run)
{
	struct replay r;
	int e = replay_open(&r, t, platform, &run->outcome);
	if (e)
		return e;
	run->counted.arena = &r.fixture.arena;
	if (platform == &platform_counting)
		counting_begin(&run->counted);
	e = replay_run(&r);
	counting_end();
	replay_close(&r);
	if (e)
		outcome_free(&run->outcome);
	return e;
}

static int run_one(struct replay_call *c, enum executor executor)
{
	const struct trace *t = &c->trace;
	struct run *run = &c->run[executor];
	uint64_t start = clock_now_ns();
	int r;
	if (executor == RUN_MODEL)
		r = oracle_run(t, ORACLE_CORRECT, &run->outcome);
	else
		r = run_device(t,
			executor == RUN_REAL ? &platform_real
					     : &platform_counting,
			run);
	run->time_ns = clock_now_ns() - start;
	if (r == -EFBIG)
		return cli_error(COMMAND,
			"%s: windows and posted buffers exceed the %u MiB of a "
			"replay",
			c->path, FIXTURE_MEMORY >> 20);
	if (r)
		return cli_error(COMMAND, "%s: %s", c->path, strerror(-r));
	run->platform = executor_names[executor];
	run->done = true;
	for (uint32_t i = 0; i < t->count; i++) {
		run->retried += run->outcome.result[i].retried;
		run->refused += trace_issues(t->instruction[i].kind) &&
				run->outcome.result[i].result == 1;
	}
	for (uint32_t p = 0; p < t->ports; p++)
		run->notifications += run->outcome.port[p].count;
	return CLI_OK;
}

/* Executes the trace everywhere and compares with the first outcome. */
static int run_all(struct replay_call *c)
{
	int first = -1;
	for (int i = 0; i < EXECUTORS; i++) {
		if (!c->selected[i])
			continue;
		int status = run_one(c, (enum executor)i);
		if (status)
			return status;
		if (first < 0) {
			first = i;
			continue;
		}
		if (c->difference[0])
			continue;
		size_t used = (size_t)snprintf(c->difference,
			sizeof(c->difference),
			"%s; %s: ", executor_names[first], executor_names[i]);
		if (!outcome_differs(&c->run[first].outcome, &c->run[i].outcome,
			    c->difference + used, sizeof(c->difference) - used))
			c->difference[0] = 0;
	}
	return CLI_OK;
}

/* ---- output ---- */

static const struct field run_fields[] = {
	FIELD(struct run, platform, "platform", .title = "platform",
		.kind = FIELD_STRING, .width = -9),
	FIELD(struct run, notifications, "notifications",
		.title = "notifications"),
	FIELD(struct run, refused, "refused", .title = "refused", .width = 9),
	FIELD(struct run, retried, "retried", .title = "retried", .width = 9),
	FIELD(struct run, time_ns, "time_ns", .title = "ns", .width = 12),
	FIELDS_END,
};

/* The notifications of a port, or the memory of a region. */
struct row {
	uint32_t port, region, notifications;
	uint64_t bytes;
	char digest[20];
};

static const struct field port_fields[] = {
	FIELD(struct row, port, NULL, .title = "port", .width = 6),
	FIELD(struct row, notifications, "notifications",
		.title = "notifications"),
	FIELD(struct row, digest, "digest", .title = "digest",
		.kind = FIELD_CHARS, .width = -18),
	FIELDS_END,
};

static const struct field region_fields[] = {
	FIELD(struct row, region, NULL, .title = "region", .width = 6),
	FIELD(struct row, port, "port", .title = "port", .width = 6),
	FIELD(struct row, bytes, "bytes", .title = "bytes", .width = 12),
	FIELD(struct row, digest, "digest", .title = "digest",
		.kind = FIELD_CHARS, .width = -18),
	FIELDS_END,
};

static struct row port_row(const struct outcome *o, uint32_t port)
{
	struct row row = { .port = port, .notifications = o->port[port].count };
	snprintf(row.digest, sizeof(row.digest), "0x%016" PRIx64,
		outcome_nqes_digest(o, port));
	return row;
}

static struct row region_row(const struct outcome *o, uint32_t region)
{
	const struct trace_region *r = &o->trace->region[region];
	struct row row = {
		.port = r->port, .region = region, .bytes = r->bytes
	};
	snprintf(row.digest, sizeof(row.digest), "0x%016" PRIx64,
		outcome_memory_digest(o, region));
	return row;
}

/* Prints the headings of a table, or a row. */
static void line_print(
	const struct field *fields, const void *record, const char *before)
{
	int widths[FIELDS_MAX];
	char line[256];
	fields_widths(fields, widths);
	fields_line(fields, record, widths, line, sizeof(line));
	printf("%s  %s\n", before, line);
}

static void print_outcome(const struct outcome *o)
{
	const struct trace *t = o->trace;
	line_print(port_fields, NULL, "\n");
	for (uint32_t p = 0; p < t->ports; p++) {
		struct row row = port_row(o, p);
		line_print(port_fields, &row, "");
	}
	if (t->regions)
		line_print(region_fields, NULL, "\n");
	for (uint32_t i = 0; i < t->regions; i++) {
		struct row row = region_row(o, i);
		line_print(region_fields, &row, "");
	}
}

static void print_counted(const struct counting *c)
{
	static const struct field fields[] = {
		FIELD(struct counting_sum, loads, NULL, .title = "loads",
			.width = 10),
		FIELD(struct counting_sum, stores, NULL, .title = "stores",
			.width = 10),
		FIELD(struct counting_sum, atomics, NULL, .title = "atomics",
			.width = 10),
		FIELD(struct counting_sum, copied_bytes, NULL,
			.title = "bytes copied", .width = 14),
		FIELDS_END,
	};
	printf("\n  %-16s", "accesses");
	line_print(fields, NULL, "");
	for (int k = 0; k < HOST_KINDS; k++) {
		const struct counting_sum *s = &c->kind[k];
		if (s->loads + s->stores + s->atomics + s->copied_bytes == 0)
			continue;
		printf("  %-16s", counting_kind_name((enum host_kind)k));
		line_print(fields, s, "");
	}
}

static void print_all(const struct replay_call *c)
{
	const struct trace *t = &c->trace;
	const struct run *first = NULL;
	printf("%u port%s, %u instruction%s\n\n", t->ports, plural(t->ports),
		t->count, plural(t->count));
	show_kinds(t);
	line_print(run_fields, NULL, "\n");
	for (int i = 0; i < EXECUTORS; i++) {
		if (!c->run[i].done)
			continue;
		first = first ? first : &c->run[i];
		line_print(run_fields, &c->run[i], "");
	}
	if (first)
		print_outcome(&first->outcome);
	if (c->run[RUN_COUNTING].done)
		print_counted(&c->run[RUN_COUNTING].counted);
	if (c->difference[0])
		printf("\nThe outcomes differ. %s\n", c->difference);
	else if (c->run[RUN_REAL].done && c->run[RUN_MODEL].done)
		printf("\nThe outcomes are equal: results, notifications and "
		       "memory.\n");
}

static void json_run(struct json *j, const struct run *run)
{
	const struct outcome *o = &run->outcome;
	json_object_begin(j);
	fields_json(j, run_fields, run);
	json_key(j, "ports");
	json_array_begin(j);
	for (uint32_t p = 0; p < o->trace->ports; p++) {
		struct row row = port_row(o, p);
		json_object_begin(j);
		fields_json(j, port_fields, &row);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "memory");
	json_array_begin(j);
	for (uint32_t i = 0; i < o->trace->regions; i++) {
		struct row row = region_row(o, i);
		json_object_begin(j);
		fields_json(j, region_fields, &row);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void json_all(const struct replay_call *c)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "ports", c->trace.ports);
	show_kinds_json(&c->trace, &j);
	json_key(&j, "runs");
	json_array_begin(&j);
	for (int i = 0; i < EXECUTORS; i++)
		if (c->run[i].done)
			json_run(&j, &c->run[i]);
	json_array_end(&j);
	json_put_bool(&j, "agree", !c->difference[0]);
	if (c->difference[0])
		json_put_string(&j, "difference", c->difference);
	json_object_end(&j);
	json_close(&j);
}

static int replay_run_command(
	const struct command *command, int argc, char **argv)
{
	static struct replay_call c = { .selected = { true, true, true } };
	int status = command_parse(command, &argc, &argv, &c);
	if (status >= 0)
		return status;
	c.path = argv[0];
	status = trace_file_load(COMMAND, c.path, &c.trace);
	if (status)
		return status;
	status = run_all(&c);
	if (!status && c.json)
		json_all(&c);
	else if (!status)
		print_all(&c);
	bool differ = c.difference[0];
	for (int i = 0; i < EXECUTORS; i++)
		if (c.run[i].done)
			outcome_free(&c.run[i].outcome);
	trace_free(&c.trace);
	if (!status)
		status = cli_output_flush(COMMAND);
	return status ? status : differ ? CLI_FAILED : CLI_OK;
}

#define OPTIONS_STRUCT struct replay_call

static const struct option_row replay_rows[] = {
	OPTION_CUSTOM("platform", "NAME", platform_parse,
		"where to execute the trace",
		.choices = WORDS("real", "counting", "model", "both")),
	OPTION_SWITCH("json", json, "print a JSON object instead of tables"),
	OPTION_TERM("real", "the device as applications use it",
		.group = "Platforms"),
	OPTION_TERM("counting", "the same units, with every access counted"),
	OPTION_TERM("model",
		"an independent model of the manual, without the device"),
	OPTION_TERM("both", "all of them, which must agree (the default)"),
};

const struct command command_replay = {
	.name = COMMAND,
	.summary = "execute a trace on the device and compare the results",
	.arguments = "FILE",
	.help = "Executes a trace, one instruction after the other, and prints "
		"digests of the notifications and of the memory of each port. "
		"FILE may be - for standard input.",
	.notes = "Exit status: 0 done; 1 failed, or the platforms disagree and "
		 "the first difference was printed.",
	COMMAND_OPTIONS(replay_rows),
	.run = replay_run_command,
};
