/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace replay: executes a trace on platforms and compares the outcomes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fields.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/trace/trace.h"
#include "trace/oracle.h"
#include "trace/replay.h"

#define COMMAND "trace replay"

/* What can execute a trace. */
enum executor {
	RUN_REAL,
	RUN_COUNTING,
	RUN_MODEL,
	RUN_MACHINE,
	EXECUTORS,
};

static const char *const executor_names[EXECUTORS] = { "real", "counting",
	"model", "machine" };

struct run {
	const char *platform;
	bool done;
	struct outcome outcome;
	struct counting counted; /* of the counting platform, and of machines */
	struct replay_machine_totals totals; /* of machines */
	uint64_t time_ns, retried, refused, notifications;
};

struct replay_call {
	bool selected[EXECUTORS];
	bool json;
	struct replay_machine_options machine;
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
		c->selected[i] =
			strcmp(text, executor_names[i]) == 0 ||
			strcmp(text, "all") == 0 ||
			(strcmp(text, "both") == 0 && i != RUN_MACHINE);
		found |= c->selected[i];
	}
	return found;
}

static bool preset_parse(void *to, const char *text)
{
	struct replay_call *c = to;
	return machine_preset_parse(&c->machine.config, text);
}

static bool set_parse(void *to, const char *text)
{
	struct replay_call *c = to;
	return machine_set_parse(&c->machine.config, text);
}

/* ---- execution ---- */

static int run_device(
	const struct replay_call *c, enum executor executor, struct run *run)
{
	struct replay r;
	int e = executor == RUN_MACHINE
			? replay_open_machine(
				  &r, &c->trace, &c->machine, &run->outcome)
			: replay_open(&r, &c->trace,
				  executor == RUN_REAL ? &platform_real
						       : &platform_counting,
				  &run->outcome);
	if (e)
		return e;
	run->counted.arena = &r.fixture.arena;
	if (executor != RUN_REAL)
		counting_begin(&run->counted);
	e = replay_run(&r);
	counting_end();
	if (executor == RUN_MACHINE)
		run->totals = replay_machine_totals(&r);
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
		r = run_device(c, executor, run);
	run->time_ns = clock_now_ns() - start;
	if (r == -EFBIG)
		return cli_error(COMMAND,
			"%s: windows and posted buffers exceed the %u MiB of a "
			"replay",
			c->path, FIXTURE_MEMORY >> 20);
	if (r == -EBUSY)
		return cli_error(COMMAND,
			"%s: a machine holds an instruction although all ports "
			"have drained",
			c->path);
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
		/* Machines keep the order per origin and target only. */
		bool (*differ)(const struct outcome *, const struct outcome *,
			char *, size_t) = i == RUN_MACHINE
						  ? outcome_pairs_differ
						  : outcome_differs;
		if (!differ(&c->run[first].outcome, &c->run[i].outcome,
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

static const struct field totals_fields[] = {
	FIELD(struct replay_machine_totals, cycles, "cycles",
		.title = "cycles"),
	FIELD(struct replay_machine_totals, packets, "packets",
		.title = "packets between machines"),
	FIELD(struct replay_machine_totals, refused, "triggers_refused",
		.title = "triggers refused"),
	FIELD(struct replay_machine_totals, parked, "packets_parked",
		.title = "packets parked"),
	FIELD(struct replay_machine_totals, stalls, "stalls",
		.title = "times that all ports drained for room"),
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
	const struct run *counted = c->run[RUN_COUNTING].done
					    ? &c->run[RUN_COUNTING]
					    : &c->run[RUN_MACHINE];
	if (counted->done) {
		printf("\n");
		counted_print(&counted->counted);
	}
	if (c->run[RUN_MACHINE].done) {
		printf("\n  %-10s %u, %u instructions in flight\n", "machines",
			c->machine.machines, c->machine.in_flight);
		fields_list(stdout, totals_fields, &c->run[RUN_MACHINE].totals);
	}
	if (c->difference[0])
		printf("\nThe outcomes differ. %s\n", c->difference);
	else if (c->run[RUN_REAL].done && c->run[RUN_MODEL].done)
		printf("\nThe outcomes are equal: results, notifications and "
		       "memory.\n");
}

static void json_run(struct json *j, const struct run *run, bool machine)
{
	const struct outcome *o = &run->outcome;
	json_object_begin(j);
	fields_json(j, run_fields, run);
	if (machine)
		fields_json(j, totals_fields, &run->totals);
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
			json_run(&j, &c->run[i], i == RUN_MACHINE);
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
	static struct replay_call c = { .selected = { true, true, true },
		.machine = { .machines = 1, .in_flight = 16, .seed = 1 } };
	c.machine.config = machine_presets[0].config;
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
		.choices = WORDS(
			"real", "counting", "model", "both", "machine", "all")),
	OPTION_SWITCH("json", json, "print a JSON object instead of tables"),
	OPTION_TERM("real", "the device as applications use it",
		.group = "Platforms"),
	OPTION_TERM("counting", "the same units, with every access counted"),
	OPTION_TERM("model",
		"an independent model of the manual, without the device"),
	OPTION_TERM("both", "these three, which must agree (the default)"),
	OPTION_TERM("machine",
		"the device with units that hold state, cycle by cycle"),
	OPTION_TERM("all",
		"all four, which must agree; of a machine, the order of "
		"notifications per origin and target"),
	OPTION_CUSTOM("preset", "NAME", preset_parse,
		"configuration of the machines (default multi-wait); replaces "
		"an earlier --set",
		.choices = MACHINE_PRESETS, .needs = WORDS("platform"),
		.group = "Machines"),
	OPTION_CUSTOM("set", "PARAMETER=VALUE", set_parse,
		"change a parameter of the configuration; 'cay explain "
		"--machine --config' lists them",
		.expected = MACHINE_SET_EXPECTED, .needs = WORDS("platform")),
	OPTION_VALUE("machines", "N", OPTION_COUNT, machine.machines,
		"number of machines, over which the ports are distributed in "
		"turn (default 1)",
		.min = 1, .max = REPLAY_MACHINES_MAX,
		.needs = WORDS("platform")),
	OPTION_VALUE("in-flight", "N", OPTION_COUNT, machine.in_flight,
		"instructions in flight (default 16); 1: one after the other",
		.min = 1, .max = REPLAY_IN_FLIGHT_MAX,
		.needs = WORDS("platform")),
	OPTION_VALUE("delay", "N", OPTION_COUNT, machine.delay,
		"delay each stage of a unit by up to N cycles, and packets by "
		"up to 4 N (default 0)",
		.max = 10000, .needs = WORDS("platform")),
	OPTION_VALUE("seed", "N", OPTION_NUMBER, machine.seed,
		"seed of the delays (default 1)", .needs = WORDS("platform")),
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
