/* SPDX-License-Identifier: BSD-2-Clause */
/* cay: finds the command and hands over. See cay(1). */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "demo", cli_demo, "what it does, in one minute" },
	{ "send", cli_send, "send messages to a named port" },
	{ "recv", cli_recv, "open a named port and print what comes" },
	{ "node", cli_node, "show, serve or fence: the process behind ports" },
	{ "top", cli_top, "watch ports, queues and threads live" },
	{ "bench", cli_bench, "measure, against the bare hand-over" },
	{ "trace", cli_trace, "record, replay and compare what ports do" },
	{ "sim", cli_sim, "simulate an interconnect: latency and throughput" },
	{ "explain", cli_explain, "steps and accesses of an instruction" },
	{ "doctor", cli_doctor, "what this machine allows, and what to do" },
};

static void usage(FILE *f)
{
	fprintf(f, "usage: cay COMMAND [OPTIONS]\n\n"
		   "A virtualized user-level network interface.\n\n");
	for (unsigned i = 0; i < ARRAY_COUNT(commands); i++)
		fprintf(f, "  %-8s  %s\n", commands[i].name,
			commands[i].summary);
	fprintf(f, "\n'cay COMMAND --help' tells more; so does cay(1).\n");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		usage(stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
		usage(stdout);
		return CLI_OK;
	}
	if (strcmp(name, "--version") == 0) {
		printf("cay %s\n", CAY_VERSION);
		return CLI_OK;
	}
	for (unsigned i = 0; i < ARRAY_COUNT(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "cay: no command '%s'; see 'cay --help'\n", name);
	return CLI_USAGE;
}
