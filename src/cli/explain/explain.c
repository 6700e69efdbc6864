/* SPDX-License-Identifier: BSD-2-Clause */
/* cay explain: prints the steps and memory accesses of instructions. */
#include "cli/explain/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cay/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/explain/journey.h"
#include "cli/machine.h"

struct options {
	const char *instruction;
	uint64_t bytes; /* UINT64_MAX: the instruction's default */
	bool json, table, machine, config;
	struct journey_options journey;
};

static bool preset_parse(void *to, const char *text)
{
	struct options *o = to;
	const char *const *presets = MACHINE_PRESETS;
	int at = option_choice(presets, text);
	if (at < 0 || !machine_preset_parse(&o->journey.config, text))
		return false;
	o->journey.preset = presets[at];
	return true;
}

static bool set_parse(void *to, const char *text)
{
	struct options *o = to;
	return machine_set_parse(&o->journey.config, text);
}

/* Executes an instruction, or if it is NULL a scenario, on machines. */
static int explain_journey(const struct explain_instruction *i,
	enum journey_scenario scenario, uint64_t bytes, const struct options *o,
	struct json *j)
{
	static struct journey journey;
	int r = journey_run(i, scenario, bytes, &o->journey, &journey);
	if (r)
		return cli_error("explain", "%s: %s",
			i ? i->name : journey_scenarios[scenario],
			cay_strerror(r));
	if (o->json)
		journey_json(j, &journey);
	else
		journey_print(&journey);
	journey_free(&journey);
	return CLI_OK;
}

static int explain_one(const struct explain_instruction *i,
	const struct options *o, struct json *j)
{
	static struct explanation e;
	uint64_t bytes = o->bytes == UINT64_MAX ? i->bytes_default : o->bytes;
	if (bytes < i->bytes_min || bytes > i->bytes_max)
		return cli_usage_error("explain",
			"--bytes %" PRIu64 ": %s takes %" PRIu64 " to %" PRIu64
			" bytes",
			bytes, i->name, i->bytes_min, i->bytes_max);
	if (o->machine)
		return explain_journey(i, 0, bytes, o, j);
	int r = explain_run(i, bytes, &e);
	if (r)
		return cli_error("explain", "%s: %s", i->name, cay_strerror(r));
	if (o->json)
		json_explanation(j, &e);
	else if (o->table)
		table_row(&e);
	else
		print_explanation(&e);
	return CLI_OK;
}

/* Returns a scenario, or -1. */
static int scenario_of(const char *name)
{
	int i = JOURNEY_SCENARIOS - 1;
	while (i >= 0 && strcmp(name, journey_scenarios[i]) != 0)
		i--;
	return i;
}

static int explain_selected(const struct options *o, struct json *j)
{
	bool all = strcmp(o->instruction, "all") == 0;
	const char *separator = "";
	int status = CLI_OK;
	if (o->table)
		table_head();
	for (int n = 0; n < EXPLAIN_INSTRUCTIONS && !status; n++) {
		const struct explain_instruction *i =
			n < EXPLAIN_MESSAGES
				? &explain_messages[n]
				: &explain_accesses[n - EXPLAIN_MESSAGES];
		if (!all && strcmp(o->instruction, i->name) != 0)
			continue;
		if (o->machine && i->direct) {
			if (all)
				continue;
			return cli_usage_error("explain",
				"%s: no work request stands for it; not with "
				"--machine",
				i->name);
		}
		if (!o->json && !o->table)
			printf("%s", separator);
		separator = "\n\n";
		status = explain_one(i, o, j);
	}
	int scenario = scenario_of(o->instruction);
	if (o->machine && !status && scenario >= 0)
		status = explain_journey(
			NULL, (enum journey_scenario)scenario, 0, o, j);
	if (o->table && !status)
		table_errors();
	if (!o->table && !o->json && !o->machine && !status) {
		printf("\ncolumns of the steps\n");
		command_terms(&command_explain, "Columns", stdout);
		printf("'cay explain --help' explains the kinds of memory.\n");
	}
	return status;
}

static int explain_config(const struct options *o)
{
	struct json j;
	if (!o->json) {
		journey_config_print(&o->journey);
		return cli_output_flush("explain");
	}
	json_open(&j, stdout);
	json_object_begin(&j);
	journey_config_json(&j, &o->journey);
	json_object_end(&j);
	json_close(&j);
	return cli_output_flush("explain");
}

static int explain_command(const struct command *c, int argc, char **argv)
{
	struct options o = { .bytes = UINT64_MAX,
		.journey = { .config = machine_presets[0].config,
			.preset = machine_presets[0].name } };
	struct json j;
	int status = command_parse(c, &argc, &argv, &o);
	if (status >= 0)
		return status;
	o.instruction = argc ? argv[0] : o.table ? "all" : "fast_send";
	if (o.bytes != UINT64_MAX && strcmp(o.instruction, "all") == 0)
		return cli_usage_error("explain",
			"--bytes: not with all, whose instructions have "
			"different lengths; name one instruction");
	if (o.config)
		return explain_config(&o);
	if (scenario_of(o.instruction) >= 0 && !o.machine)
		return cli_usage_error(
			"explain", "%s: needs --machine", o.instruction);
	if (!o.json) {
		status = explain_selected(&o, NULL);
		int flushed = cli_output_flush(c->name);
		return status ? status : flushed;
	}
	json_open(&j, stdout);
	json_object_begin(&j);
	json_key(&j, "instructions");
	json_array_begin(&j);
	status = explain_selected(&o, &j);
	json_array_end(&j);
	json_object_end(&j);
	json_close(&j);
	int flushed = cli_output_flush(c->name);
	return status ? status : flushed;
}

#define OPTIONS_STRUCT struct options

static const struct option_row explain_rows[] = {
	OPTION_TERM("fast_send",
		"up to 40 bytes, in the notification (the default)",
		.group = "Instructions"),
	OPTION_TERM(
		"send", "up to 8192 bytes, through the receive data region"),
	OPTION_TERM("copied", "a long message, copied once into the arena"),
	OPTION_TERM("reference", "a borrowed long message, by reference"),
	OPTION_TERM("completion", "a send that requests a completion"),
	OPTION_TERM("posted", "a message into a posted receive"),
	OPTION_TERM("fast_put",
		"up to 24 bytes into a window, in the work request"),
	OPTION_TERM("put, get", "bytes into and out of a window"),
	OPTION_TERM("masked_put", "some bytes of a word"),
	OPTION_TERM("fast_get",
		"up to 24 bytes out of a window, in the completion"),
	OPTION_TERM("faa, cas", "fetch-and-add and compare-and-swap, with the "
				"result in the completion"),
	OPTION_TERM("faa_into", "fetch-and-add with the result in memory"),
	OPTION_TERM("emulated",
		"fetch-and-add on memory that only its owner can reach"),
	OPTION_TERM("all", "all of them"),
	OPTION_TERM("order",
		"with --machine: three work requests of two ports to one "
		"target, and how their order is kept"),
	OPTION_TERM("ultra", "with --machine: three messages on an ULTRA path, "
			     "and how its position returns"),
	OPTION_VALUE("bytes", "N", OPTION_BYTES, bytes,
		"length of the message; not with all",
		.expected = "a number of bytes such as 640 or 4K",
		.group = "Options"),
	OPTION_SWITCH("json", json, "print a JSON object instead of tables",
		.excludes = WORDS("table")),
	OPTION_SWITCH("table", table,
		"print one row each, as in docs/instructions.md"),
	OPTION_SWITCH("machine", machine,
		"execute the work request on the device as a machine, and "
		"print what its units do in each cycle",
		.excludes = WORDS("table"), .group = "Machine"),
	OPTION_SWITCH("packets", journey.packets,
		"print packets between machines field by field",
		.needs = WORDS("machine")),
	OPTION_SWITCH("local", journey.local,
		"one machine for all ports, instead of one for the target",
		.needs = WORDS("machine")),
	OPTION_CUSTOM("preset", "NAME", preset_parse,
		"configuration of the machines (default multi-wait); replaces "
		"an earlier --set",
		.choices = MACHINE_PRESETS, .needs = WORDS("machine")),
	OPTION_CUSTOM("set", "PARAMETER=VALUE", set_parse,
		"change a parameter of the configuration",
		.expected = MACHINE_SET_EXPECTED, .needs = WORDS("machine")),
	OPTION_SWITCH("config", config,
		"print the configuration, and which values are assumed",
		.needs = WORDS("machine")),
	OPTION_TERM("#, step", "number and name of a step of the device",
		.group = "Columns"),
	OPTION_TERM("kind", "the memory that the step accesses"),
	OPTION_TERM("loads, stores, atomics",
		"the number of accesses; an atomic operation reads and writes"),
	OPTION_TERM("bytes", "the sum of their lengths"),
	OPTION_TERM("lines",
		"lines of 64 bytes that the step is the first to write"),
	OPTION_TERM("W, R", "the target's write and read word",
		.group = "Kinds of memory"),
	OPTION_TERM(
		"migration", "whether the target's queue is being replaced"),
	OPTION_TERM("notification, payload",
		"an entry of the queue, and the receive data region"),
	OPTION_TERM("staging", "the origin's copy of a long message"),
	OPTION_TERM("reference", "a reference slot of the origin"),
	OPTION_TERM("window, memory",
		"descriptor of a window; its content, or a posted buffer"),
	OPTION_TERM("posted receive", "the record of a posted buffer"),
	OPTION_TERM("peer table, work queue",
		"the origin's routes and its posted requests"),
	OPTION_TERM("op record", "the issuing thread's own line"),
};

const struct command command_explain = {
	.name = "explain",
	.summary = "show the steps and memory accesses of an instruction",
	.arguments = "[INSTRUCTION]",
	.choices = WORDS("fast_send", "send", "copied", "reference",
		"completion", "posted", "fast_put", "put", "get", "masked_put",
		"fast_get", "faa", "cas", "faa_into", "emulated", "all",
		"order", "ultra"),
	.help = "Runs an instruction on a device without processes that counts "
		"every access to shared memory, and prints its steps. Then "
		"provokes every error that the instruction can end in.",
	COMMAND_OPTIONS(explain_rows),
	.run = explain_command,
};
