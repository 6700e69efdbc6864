/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace: its subcommands, and `cay trace random`. See cay-trace(1). */
#include "cli/trace/trace.h"

#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "trace/random.h"

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
	trace_file_save(&t, stdout);
	trace_free(&t);
	return cli_output_flush(c->name);
}

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
			&command_timeline,
			&command_random,
			NULL,
		},
};
