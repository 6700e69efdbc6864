/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the completion script for bash from the tables of options.h. */
#include <string.h>

#include "cli/options.h"

/* Calls for each command below `c` and for `c` itself. */
static void commands_visit(const struct command *c, FILE *f,
	void (*visit)(const struct command *, FILE *))
{
	visit(c, f);
	for (unsigned i = 0; c->subcommands && c->subcommands[i]; i++)
		commands_visit(c->subcommands[i], f, visit);
}

/* The command so far and its next word, and the command that they name. */
static void name_print(const struct command *c, FILE *f)
{
	/* The words after "help" are those of a command. */
	if (*c->name && strcmp(c->name, "help") != 0)
		fprintf(f, "\t\t\"%s%s\") command=\"%s\" ;;\n",
			strchr(c->name, ' ') ? "" : " ", c->name, c->name);
}

static void choices_print(const char *const *choices, FILE *f)
{
	for (; choices && *choices; choices++)
		fprintf(f, "%s ", *choices);
}

/* The words that may follow an option. */
static void values_print(const struct command *c, FILE *f)
{
	for (unsigned i = 0; i < c->option_count; i++) {
		const struct option_row *o = &c->options[i];
		if (!o->name || o->kind == OPTION_FLAG)
			continue;
		fprintf(f, "\t\"%s --%s\"", c->name, o->name);
		if (o->letter)
			fprintf(f, " | \"%s -%c\"", c->name, o->letter);
		fprintf(f, ") ");
		if (o->choices) {
			fprintf(f, "words=\"");
			choices_print(o->choices, f);
			fprintf(f, "\" ;;\n");
		} else if (strcmp(o->name, "node") == 0) {
			fprintf(f, "words=$(cay node list 2>/dev/null) ;;\n");
		} else if (o->kind == OPTION_FILE) {
			fprintf(f, "return ;;\n");
		} else {
			fprintf(f, "compopt +o default; return ;;\n");
		}
	}
}

/* The subcommands, arguments and options of a command. */
static void words_print(const struct command *c, FILE *f)
{
	fprintf(f, "\t\"%s\") words=\"", c->name);
	for (unsigned i = 0; c->subcommands && c->subcommands[i]; i++)
		fprintf(f, "%s ", command_word(c->subcommands[i]));
	choices_print(c->choices, f);
	for (unsigned i = 0; i < c->option_count; i++)
		if (c->options[i].name)
			fprintf(f, "--%s ", c->options[i].name);
	fprintf(f, "--help\" ;;\n");
}

void command_completion(const struct command *root, FILE *f)
{
	fprintf(f,
		"# Completion of cay(1) for bash, from 'cay completion bash'.\n"
		"_cay()\n"
		"{\n"
		"\tlocal current=${COMP_WORDS[COMP_CWORD]}\n"
		"\tlocal previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal command='' words='' i\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase \"$command ${COMP_WORDS[i]}\" in\n");
	commands_visit(root, f, name_print);
	fprintf(f, "\t\tesac\n"
		   "\tdone\n"
		   "\tcase \"$command $previous\" in\n");
	commands_visit(root, f, values_print);
	fprintf(f, "\tesac\n"
		   "\t[[ $words ]] || case $command in\n");
	commands_visit(root, f, words_print);
	fprintf(f, "\tesac\n"
		   "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
		   "}\n"
		   "complete -o default -F _cay cay\n");
}
