/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace replay: executes a trace on platforms and compares the outcomes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
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

static void print_outcome(const struct outcome *o)
{
	const struct trace *t = o->trace;
	printf("\n  %6s %14s %18s\n", "port", "notifications", "digest");
	for (uint32_t p = 0; p < t->ports; p++)
		printf("  %6u %14u   %016" PRIx64 "\n", p, o->port[p].count,
			outcome_nqes_digest(o, p));
	if (t->regions)
		printf("\n  %6s %6s %12s %18s\n", "region", "port", "bytes",
			"digest");
	for (uint32_t i = 0; i < t->regions; i++)
		printf("  %6u %6u %12" PRIu64 "   %016" PRIx64 "\n", i,
			t->region[i].port, t->region[i].bytes,
			outcome_memory_digest(o, i));
}

static void print_counted(const struct counting *c)
{
	printf("\n  %-16s %10s %10s %10s %14s\n", "accesses", "loads", "stores",
		"atomics", "bytes copied");
	for (int k = 0; k < HOST_KINDS; k++) {
		const struct counting_sum *s = &c->kind[k];
		if (s->loads + s->stores + s->atomics + s->copied_bytes == 0)
			continue;
		printf("  %-16s %10" PRIu64 " %10" PRIu64 " %10" PRIu64
		       " %14" PRIu64 "\n",
			counting_kind_name((enum host_kind)k), s->loads,
			s->stores, s->atomics, s->copied_bytes);
	}
}

static void print_all(const struct replay_call *c)
{
	const struct trace *t = &c->trace;
	const struct run *first = NULL;
	printf("%u port%s, %u instruction%s\n\n", t->ports,
		t->ports == 1 ? "" : "s", t->count, t->count == 1 ? "" : "s");
	show_kinds(t);
	printf("\n");
	for (int i = 0; i < EXECUTORS; i++) {
		const struct run *run = &c->run[i];
		if (!run->done)
			continue;
		first = first ? first : run;
		printf("%-9s %" PRIu64 " notifications, %" PRIu64
		       " refused, %" PRIu64 " retried; %.3f ms\n",
			executor_names[i], run->notifications, run->refused,
			run->retried, (double)run->time_ns / 1e6);
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

static void json_run(struct json *j, const char *name, const struct run *run)
{
	const struct outcome *o = &run->outcome;
	const struct trace *t = o->trace;
	json_object_begin(j);
	json_put_string(j, "platform", name);
	json_put_number(j, "notifications", run->notifications);
	json_put_number(j, "refused", run->refused);
	json_put_number(j, "retried", run->retried);
	json_put_number(j, "time_ns", run->time_ns);
	json_key(j, "ports");
	json_array_begin(j);
	for (uint32_t p = 0; p < t->ports; p++) {
		json_object_begin(j);
		json_put_number(j, "notifications", o->port[p].count);
		json_key(j, "digest");
		json_word(j, outcome_nqes_digest(o, p));
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "memory");
	json_array_begin(j);
	for (uint32_t i = 0; i < t->regions; i++) {
		json_object_begin(j);
		json_put_number(j, "port", t->region[i].port);
		json_put_number(j, "bytes", t->region[i].bytes);
		json_key(j, "digest");
		json_word(j, outcome_memory_digest(o, i));
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static int json_all(const struct replay_call *c)
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
			json_run(&j, executor_names[i], &c->run[i]);
	json_array_end(&j);
	json_put_bool(&j, "agree", !c->difference[0]);
	if (c->difference[0])
		json_put_string(&j, "difference", c->difference);
	json_object_end(&j);
	return json_close(&j) ? CLI_FAILED : CLI_OK;
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
		status = json_all(&c);
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
