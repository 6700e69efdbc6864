/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses command lines by the tables of options.h. */
#include "cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "node/address.h"

#define LONG_VALUE 256 /* getopt_long() returns it plus the row's number */
#define HELP	   (LONG_VALUE + OPTIONS_MAX)

#define HINT_BYTES   64
#define COMMANDS_MAX 16

/* ---- one option ---- */

static bool in_range(const struct option_row *o, double value)
{
	return value >= o->min && (o->max == 0 || value <= o->max);
}

/* Stores the value. Returns false if it is not valid. */
static bool value_store(const struct option_row *o, const char *text, void *to)
{
	void *at = (char *)to + o->offset;
	uint64_t number;
	int choice;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return true;
	case OPTION_TEXT:
		*(const char **)at = text;
		return true;
	case OPTION_FILE:
		*(const char **)at = text;
		return *text != 0;
	case OPTION_NODE:
		*(const char **)at = text;
		return node_name_valid(text);
	case OPTION_NUMBER:
		return option_number(text, UINT64_MAX, at) &&
		       in_range(o, (double)*(uint64_t *)at);
	case OPTION_COUNT:
		if (!option_number(text, UINT32_MAX, &number) ||
			!in_range(o, (double)number))
			return false;
		*(uint32_t *)at = (uint32_t)number;
		return true;
	case OPTION_REAL:
		return option_real(text, at) && in_range(o, *(double *)at);
	case OPTION_SECONDS:
		return option_seconds(text, at) &&
		       in_range(o, (double)*(uint64_t *)at /
					   (double)CLOCK_NS_PER_S);
	case OPTION_BYTES:
		return option_bytes(text, at) &&
		       in_range(o, (double)*(uint64_t *)at);
	case OPTION_CHOICE:
		choice = option_choice(o->choices, text);
		*(unsigned *)at = (unsigned)choice;
		return choice >= 0;
	case OPTION_PARSED:
		return o->parse(to, text);
	}
	return false;
}

/* The valid values, for the error message. */
static const char *expected_text(
	const struct option_row *o, char text[OPTION_LIST_BYTES])
{
	if (o->expected)
		return o->expected;
	if (o->choices)
		return option_list(o->choices, "", text);
	if (o->kind == OPTION_NODE)
		snprintf(text, OPTION_LIST_BYTES, OPTION_NAME_RULE,
			NODE_NAME_MAX - 1);
	else if (o->kind == OPTION_FILE)
		return "a file, or -";
	else if (o->max > 0)
		snprintf(text, OPTION_LIST_BYTES, "%.15g to %.15g", o->min,
			o->max);
	else if (o->min > 0)
		snprintf(text, OPTION_LIST_BYTES, "%.15g or more", o->min);
	else if (o->kind == OPTION_NUMBER || o->kind == OPTION_COUNT)
		snprintf(text, OPTION_LIST_BYTES, "a number from 0 to %" PRIu64,
			o->kind == OPTION_COUNT ? UINT32_MAX : UINT64_MAX);
	else
		return "a number";
	return text;
}

/* "; did you mean 'torus'?", or "" if no word is near. */
static const char *suggestion(
	const char *const *words, const char *text, char hint[HINT_BYTES])
{
	const char *best = words ? option_nearest(words, text) : NULL;
	*hint = 0;
	if (best)
		snprintf(hint, HINT_BYTES, "; did you mean '%s'?", best);
	return hint;
}

/* ---- the command line ---- */

/* Returns the first of the named options that was given, or NULL. */
static const char *given_find(const struct command *c, uint64_t given,
	const char *const *names, const char *except)
{
	for (unsigned i = 0; i < c->option_count; i++) {
		const char *name = c->options[i].name;
		if (given >> i & 1 && name != except &&
			option_choice(names, name) >= 0)
			return name;
	}
	return NULL;
}

/* Returns the row of an option that getopt_long() returned, or NULL. */
static const struct option_row *row_of(const struct command *c, int option)
{
	if (option >= LONG_VALUE && option < HELP)
		return &c->options[option - LONG_VALUE];
	for (unsigned i = 0; i < c->option_count; i++)
		if (c->options[i].letter && c->options[i].letter == option)
			return &c->options[i];
	return NULL;
}

static int option_unknown(const struct command *c, const char *text)
{
	const char *names[OPTIONS_MAX + 2], *matches[OPTIONS_MAX + 2];
	const char *word = text + strspn(text, "-");
	char list[OPTION_LIST_BYTES], letters[2 * OPTIONS_MAX + 4] = "";
	unsigned count = 0, matching = 0, used = 0;

	for (unsigned i = 0; i < c->option_count; i++) {
		const struct option_row *o = &c->options[i];
		if (!o->name)
			continue;
		names[count++] = o->name;
		if (strncmp(o->name, word, strlen(word)) == 0)
			matches[matching++] = o->name;
		if (o->letter) {
			letters[used++] = o->letter;
			letters[used++] = ' ';
		}
	}
	names[count++] = "help";
	letters[used++] = 'h';
	letters[used] = 0;
	names[count] = matches[matching] = NULL;
	/* getopt_long() sets it for letters only; `text` may be the word before
	 * the letters then. */
	if (optopt)
		return cli_usage_error(c->name,
			"unknown option '-%c'; the letters are: %s", optopt,
			letters);
	if (matching > 1)
		return cli_usage_error(c->name,
			"option '%s' is ambiguous: it may be %s", text,
			option_list(matches, "--", list));
	const char *best = option_nearest(names, word);
	if (best)
		return cli_usage_error(c->name,
			"unknown option '%s'; did you mean --%s?", text, best);
	return cli_usage_error(c->name, "unknown option '%s'", text);
}

/* Explains why getopt_long() returned '?' or ':'. */
static int option_refused(const struct command *c, int option, char **argv)
{
	const struct option_row *o = row_of(c, optopt);
	char list[OPTION_LIST_BYTES];
	if (option == ':')
		return cli_usage_error(c->name,
			"option '--%s' needs a value, %s: %s", o->name,
			o->value, expected_text(o, list));
	if (optopt >= LONG_VALUE)
		return cli_usage_error(c->name, "option '--%s' takes no value",
			o ? o->name : "help");
	return option_unknown(c, argv[optind - 1]);
}

/* Checks `required`, `excludes` and `needs` of the options. */
static int combination_check(const struct command *c, uint64_t given)
{
	char list[OPTION_LIST_BYTES];
	for (unsigned i = 0; i < c->option_count; i++) {
		const struct option_row *o = &c->options[i];
		if (o->required && !(given >> i & 1))
			return cli_usage_error(
				c->name, "missing %s", option_short(o, list));
		if (!(given >> i & 1))
			continue;
		const char *other = NULL;
		if (o->excludes)
			other = given_find(c, given, o->excludes, o->name);
		if (other)
			return cli_usage_error(
				c->name, "--%s: not with --%s", o->name, other);
		if (o->needs && !given_find(c, given, o->needs, NULL))
			return cli_usage_error(c->name, "--%s: needs %s",
				o->name, option_list(o->needs, "--", list));
	}
	return -1;
}

/* Checks the number of arguments against "NAME [MESSAGE]", and the first one
 * against the choices. */
static int arguments_check(const struct command *c, int argc, char **argv)
{
	const char *at = c->arguments ? c->arguments : "";
	char list[OPTION_LIST_BYTES], hint[HINT_BYTES];
	int i = 0;
	for (; *at; i++) {
		size_t span = strcspn(at, " ");
		if (i >= argc && *at != '[' && c->choices)
			return cli_usage_error(c->name, "missing %.*s: %s",
				(int)span, at,
				option_list(c->choices, "", list));
		if (i >= argc && *at != '[')
			return cli_usage_error(c->name,
				"missing %.*s: the arguments are %s", (int)span,
				at, c->arguments);
		at += span + (at[span] != 0);
	}
	if (argc > i && !c->arguments)
		return cli_usage_error(c->name,
			"unexpected argument '%s': there are only options",
			argv[i]);
	if (argc > i && !strstr(c->arguments, "..."))
		return cli_usage_error(c->name,
			"unexpected argument '%s': the arguments are %s",
			argv[i], c->arguments);
	int choice = argc && c->choices
			     ? option_choice_folded(c->choices, argv[0])
			     : 0;
	if (choice < 0)
		return cli_usage_error(c->name, "'%s': must be %s%s", argv[0],
			option_list(c->choices, "", list),
			suggestion(c->choices, argv[0], hint));
	/* Commands compare the word as it is in the list. */
	if (argc && c->choices)
		memcpy(argv[0], c->choices[choice], strlen(argv[0]));
	return -1;
}

/* Fills in the tables of getopt_long(3). */
static void known_fill(const struct command *c,
	struct option known[OPTIONS_MAX + 2], char letters[2 * OPTIONS_MAX + 4])
{
	/* "+": stop at the first argument; ":": tell errors apart. */
	if (c->arguments && strstr(c->arguments, "..."))
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (unsigned i = 0; i < c->option_count; i++) {
		const struct option_row *o = &c->options[i];
		bool value = o->kind != OPTION_FLAG;
		if (!o->name)
			continue;
		*known++ = (struct option){ o->name,
			value ? required_argument : no_argument, NULL,
			LONG_VALUE + (int)i };
		if (o->letter)
			*letters++ = o->letter;
		if (o->letter && value)
			*letters++ = ':';
	}
	*known++ = (struct option){ "help", no_argument, NULL, HELP };
	*known = (struct option){ 0 };
	*letters = 0;
}

int command_parse(const struct command *c, int *argc, char ***argv, void *to)
{
	struct option known[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4], list[OPTION_LIST_BYTES],
		hint[HINT_BYTES];
	uint64_t given = 0;
	int option;

	assert(c->option_count <= OPTIONS_MAX);
	known_fill(c, known, letters);
	opterr = 0;
	/* The first pass takes the early options only. */
	for (int pass = 0; pass < 2; pass++) {
		optind = 0;
		while ((option = getopt_long(
				*argc, *argv, letters, known, NULL)) != -1) {
			if (option == HELP || option == 'h') {
				command_help(c, stdout);
				return cli_output_flush(c->name);
			}
			if (option == '?' || option == ':')
				return option_refused(c, option, *argv);
			const struct option_row *o = row_of(c, option);
			given |= 1ull << (o - c->options);
			if (o->early == (pass == 0) &&
				!value_store(o, optarg, to))
				return cli_usage_error(c->name,
					"--%s %s: must be %s%s", o->name,
					*optarg ? optarg : "''",
					expected_text(o, list),
					suggestion(o->choices, optarg, hint));
		}
	}
	*argc -= optind;
	*argv += optind;
	int status = arguments_check(c, *argc, *argv);
	return status < 0 ? combination_check(c, given) : status;
}

int command_run(const struct command *c, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL, *words[COMMANDS_MAX];
	char list[OPTION_LIST_BYTES], hint[HINT_BYTES];
	unsigned count = 0;
	if (!c->subcommands)
		return c->run(c, argc, argv);
	if (!name) {
		command_help(c, stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		command_help(c, stdout);
		return cli_output_flush(c->name);
	}
	if (*name == '-')
		return cli_usage_error(c->name,
			"unknown option '%s'; without a command: --help%s",
			name, *c->name ? "" : " or --version");
	for (; c->subcommands[count]; count++) {
		assert(count + 1 < COMMANDS_MAX);
		words[count] = command_word(c->subcommands[count]);
		if (strcmp(name, words[count]) == 0)
			return command_run(
				c->subcommands[count], argc - 1, argv + 1);
	}
	words[count] = NULL;
	return cli_usage_error(c->name, "no command '%s': must be %s%s", name,
		option_list(words, "", list), suggestion(words, name, hint));
}
