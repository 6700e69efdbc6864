/* SPDX-License-Identifier: BSD-2-Clause */
/* cay: runs the command that its first argument names. See cay(1). */
#include <stdio.h>
#include <string.h>

#include "cay/version.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct command root;

static int completion_run(const struct command *c, int argc, char **argv)
{
	int status = command_parse(c, &argc, &argv, NULL);
	if (status >= 0)
		return status;
	command_completion(&root, stdout);
	return cli_output_flush(c->name);
}

static const struct command command_completion_bash = {
	.name = "completion",
	.summary = "print a completion script for bash",
	.arguments = "SHELL",
	.choices = WORDS("bash"),
	.help = "Prints a script that completes commands, options and their "
		"values. SHELL is bash. To use it in this shell: "
		"source <(cay completion bash)",
	.run = completion_run,
};

/* 'cay help sim' is 'cay sim --help'. */
static int help_run(const struct command *c, int argc, char **argv)
{
	if (argc > 1 && *argv[1] == '-') {
		int status = command_parse(c, &argc, &argv, NULL);
		if (status >= 0)
			return status;
	}
	/* The array begins before the word "help". */
	memmove(&argv[0], &argv[1], (size_t)(argc - 1) * sizeof(*argv));
	argv[argc - 1] = "--help";
	return command_run(&root, argc + 1, argv - 1);
}

static const struct command command_help_of = {
	.name = "help",
	.summary = "print the help text of a command",
	.arguments = "[COMMAND...]",
	.help = "Prints the help text of a command, or the list of commands: "
		"'cay help node status' is 'cay node status --help'.",
	.run = help_run,
};

static const struct command root = {
	.name = "",
	.help = "A virtualized user-level network interface.",
	.notes = "'cay --version' prints the version. The manual pages are "
		 "cay(1), cay-sim(1), cay-top(1) and cay-trace(1).",
	.subcommands =
		(const struct command *const[]){
			&command_demo,
			&command_send,
			&command_recv,
			&command_node,
			&command_top,
			&command_bench,
			&command_trace,
			&command_sim,
			&command_explain,
			&command_doctor,
			&command_completion_bash,
			&command_help_of,
			NULL,
		},
};

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cay %s\n", CAY_VERSION_STRING);
		return cli_output_flush("");
	}
	return command_run(&root, argc, argv);
}
