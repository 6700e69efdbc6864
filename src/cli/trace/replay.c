/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace replay: executes a trace, on one platform or on all, and compares.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"
#include "trace/oracle.h"
#include "trace/replay.h"

#define COMMAND "trace replay"

/* Who can execute a trace. */
enum runner {
	RUN_REAL,
	RUN_COUNTING,
	RUN_MODEL,
	RUNNERS,
};

static const char *const runner_names[RUNNERS] = { "real", "counting",
	"model" };

struct run {
	bool done;
	struct outcome outcome;
	struct counting counted; /* of the counting platform */
	uint64_t time_ns, retried, refused, notifications;
};

struct replay_call {
	bool wanted[RUNNERS];
	bool json;
	const char *path;
	struct trace trace;
	struct run run[RUNNERS];
	char difference[1200]; /* empty: none */
};

static bool platform_parse(void *to, const char *text)
{
	struct replay_call *c = to;
	bool found = false;
	for (int i = 0; i < RUNNERS; i++) {
		c->wanted[i] = strcmp(text, runner_names[i]) == 0 ||
			       strcmp(text, "both") == 0;
		found |= c->wanted[i];
	}
	return found;
}

/* ---- running ---- */

static int run_device(
	struct replay_call *c, const struct platform *platform, struct run *run)
{
	struct replay r;
	int e = replay_open(&r, &c->trace, platform, &run->outcome);
	if (e)
		return e;
	uint64_t start = clock_now_ns();
	run->counted.arena = &r.fixture.arena;
	if (platform == &platform_counting)
		counting_begin(&run->counted);
	e = replay_run(&r);
	counting_end();
	run->time_ns = clock_now_ns() - start;
	replay_close(&r);
	if (e)
		outcome_free(&run->outcome);
	return e;
}

static void run_sum(struct run *run)
{
	const struct trace *t = run->outcome.trace;
	for (uint32_t i = 0; i < t->count; i++) {
		run->retried += run->outcome.result[i].retried;
		run->refused += trace_issues(t->instruction[i].kind) &&
				run->outcome.result[i].result == 1;
	}
	for (uint32_t p = 0; p < t->ports; p++)
		run->notifications += run->outcome.port[p].count;
}

static int run_one(struct replay_call *c, enum runner who)
{
	struct run *run = &c->run[who];
	int r;
	if (who == RUN_MODEL) {
		uint64_t start = clock_now_ns();
		r = oracle_run(&c->trace, ORACLE_CORRECT, &run->outcome);
		run->time_ns = clock_now_ns() - start;
	} else {
		r = run_device(c,
			who == RUN_REAL ? &platform_real : &platform_counting,
			run);
	}
	if (r == -EFBIG)
		return cli_error(COMMAND,
			"%s: its windows and posted buffers need more than "
			"the %u MiB that a replay has",
			c->path, FIXTURE_MEMORY >> 20);
	if (r)
		return cli_error(COMMAND, "%s: %s", c->path, strerror(-r));
	run->done = true;
	run_sum(run);
	return CLI_OK;
}

static int run_all(struct replay_call *c)
{
	int status = CLI_OK;
	const struct run *first = NULL;
	const char *name = NULL;
	for (int i = 0; i < RUNNERS && !status; i++) {
		if (!c->wanted[i])
			continue;
		status = run_one(c, (enum runner)i);
		if (status || c->difference[0])
			continue;
		size_t used = 0;
		if (first)
			used = (size_t)snprintf(c->difference,
				sizeof(c->difference), "%s; %s: ", name,
				runner_names[i]);
		if (first && !outcome_differs(&first->outcome,
				     &c->run[i].outcome, c->difference + used,
				     sizeof(c->difference) - used))
			c->difference[0] = 0;
		if (!first) {
			first = &c->run[i];
			name = runner_names[i];
		}
	}
	return status;
}

/* ---- telling ---- */

static void print_outcome(const struct run *run)
{
	const struct outcome *o = &run->outcome;
	const struct trace *t = o->trace;
	printf("\n  %6s %14s %18s\n", "port", "notifications", "digest");
	for (uint32_t p = 0; p < t->ports; p++)
		printf("  %6u %14u   %016" PRIx64 "\n", p, o->port[p].count,
			outcome_nqes_digest(o, p));
	if (t->regions)
		printf("\n  %6s %6s %12s %18s\n", "memory", "port", "bytes",
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
	uint64_t counts[TRACE_KINDS];
	const struct run *first = NULL;
	trace_count(&c->trace, counts);
	printf("%u ports, %u instructions\n\n", c->trace.ports, c->trace.count);
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			printf("  %-16s %10" PRIu64 "\n",
				trace_kind_name((enum trace_kind)k), counts[k]);
	printf("\n");
	for (int i = 0; i < RUNNERS; i++) {
		const struct run *run = &c->run[i];
		if (!run->done)
			continue;
		first = first ? first : run;
		printf("%-9s %" PRIu64 " notifications, %" PRIu64
		       " refused, %" PRIu64 " retried; %.3f ms\n",
			runner_names[i], run->notifications, run->refused,
			run->retried, (double)run->time_ns / 1e6);
	}
	if (first)
		print_outcome(first);
	if (c->run[RUN_COUNTING].done)
		print_counted(&c->run[RUN_COUNTING].counted);
	if (c->difference[0])
		printf("\nThey do not agree. %s\n", c->difference);
	else if (c->run[RUN_REAL].done && c->run[RUN_MODEL].done)
		printf("\nThey agree: notifications, results and memory.\n");
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
	uint64_t counts[TRACE_KINDS];
	struct json j;
	trace_count(&c->trace, counts);
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "ports", c->trace.ports);
	json_key(&j, "instructions");
	json_object_begin(&j);
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			json_put_number(&j, trace_kind_name((enum trace_kind)k),
				counts[k]);
	json_object_end(&j);
	json_key(&j, "runs");
	json_array_begin(&j);
	for (int i = 0; i < RUNNERS; i++)
		if (c->run[i].done)
			json_run(&j, runner_names[i], &c->run[i]);
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
	static struct replay_call c = { .wanted = { true, true, true } };
	int status = command_parse(command, &argc, &argv, &c);
	if (status >= 0)
		return status;
	c.path = argv[0];
	status = trace_load(COMMAND, c.path, &c.trace);
	if (status)
		return status;
	status = run_all(&c);
	if (!status && c.json)
		status = json_all(&c);
	else if (!status)
		print_all(&c);
	bool differ = c.difference[0];
	for (int i = 0; i < RUNNERS; i++)
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
