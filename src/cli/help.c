/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the help text of a command from its table; see options.h. */
#include <string.h>

#include "base/bits.h"
#include "cli/options.h"

#define COLUMNS	   79
#define TERM_WIDTH 26 /* a longer term has a line of its own */

const char *command_word(const struct command *c)
{
	const char *blank = strrchr(c->name, ' ');
	return blank ? blank + 1 : c->name;
}

/* Breaks text into lines that begin at `indent`; the cursor is at `column`. */
static void text_wrap(
	FILE *f, const char *text, unsigned indent, unsigned column)
{
	while (*text) {
		size_t word = strcspn(text, " \n");
		bool first = column <= indent;
		if (!first && column + 1 + word > COLUMNS) {
			fputc('\n', f);
			column = 0;
			first = true;
		}
		if (column < indent)
			column += (unsigned)fprintf(
				f, "%*s", (int)(indent - column), "");
		column += (unsigned)fprintf(
			f, "%s%.*s", first ? "" : " ", (int)word, text);
		text += word;
		if (*text == '\n') {
			fputc('\n', f);
			column = 0;
		}
		text += *text != 0;
	}
	fputc('\n', f);
}

/* A term and its explanation in two columns, of which the first is `width`
 * wide. */
static void term_print(
	FILE *f, const char *term, const char *help, unsigned width)
{
	unsigned column = (unsigned)fprintf(f, "  %s", term);
	if (column + 2 > width) {
		fputc('\n', f);
		column = 0;
	}
	text_wrap(f, help, width, column);
}

#define TERM_BYTES 128

/* "-n, --count N" */
static const char *option_term(
	const struct option_row *o, char term[TERM_BYTES])
{
	char letter[] = "-?, ";
	letter[1] = o->letter;
	if (!o->name)
		return o->value;
	snprintf(term, TERM_BYTES, "%s--%s%s%s", o->letter ? letter : "    ",
		o->name, o->value ? " " : "", o->value ? o->value : "");
	return term;
}

static unsigned term_width(unsigned width, const char *term)
{
	unsigned length = (unsigned)strlen(term) + 4;
	return length > width && length <= TERM_WIDTH ? length : width;
}

/* Prints a row, below its heading if it has one. */
static void row_print(const struct option_row *o, unsigned width, FILE *f)
{
	char term[TERM_BYTES], list[OPTION_LIST_BYTES], text[1024];
	if (o->group)
		fprintf(f, "\n%s:\n", o->group);
	snprintf(text, sizeof(text), "%s%s%s", o->help, o->choices ? ": " : "",
		o->choices ? option_list(o->choices, "", list) : "");
	term_print(f, option_term(o, term), text, width);
}

/* The rows under their headings, and --help below the last option. */
static void options_print(const struct command *c, FILE *f)
{
	static const char help_term[] = "-h, --help",
			  help_text[] = "print this help";
	char term[TERM_BYTES];
	unsigned width = term_width(0, help_term), last = 0;

	for (unsigned i = 0; i < c->option_count; i++) {
		width = term_width(width, option_term(&c->options[i], term));
		last = c->options[i].name ? i + 1 : last;
	}
	for (unsigned i = 0; i < c->option_count; i++) {
		if (i == 0 && !c->options[i].group)
			fprintf(f, "\nOptions:\n");
		row_print(&c->options[i], width, f);
		if (i + 1 == last)
			term_print(f, help_term, help_text, width);
	}
	if (last == 0) {
		fprintf(f, "\nOptions:\n");
		term_print(f, help_term, help_text, width);
	}
}

void command_terms(const struct command *c, const char *group, FILE *f)
{
	const char *heading = "Options";
	unsigned width = 0;
	for (unsigned i = 0; i < c->option_count; i++)
		if (!c->options[i].name)
			width = term_width(width, c->options[i].value);
	for (unsigned i = 0; i < c->option_count; i++) {
		struct option_row row = c->options[i];
		heading = row.group ? row.group : heading;
		if (row.name || (group && strcmp(heading, group) != 0))
			continue;
		if (group)
			row.group = NULL;
		row_print(&row, width, f);
	}
}

void help_wrap(FILE *f, const char *text)
{
	text_wrap(f, text, 0, 0);
}

void command_help(const struct command *c, FILE *f)
{
	const char *blank = *c->name ? " " : "";
	char term[OPTION_LIST_BYTES];
	unsigned width = 0;
	fprintf(f, "usage: cay%s%s %s", blank, c->name,
		c->subcommands ? "COMMAND [OPTIONS]" : "[OPTIONS]");
	for (unsigned i = 0; i < c->option_count; i++)
		if (c->options[i].required)
			fprintf(f, " %s", option_short(&c->options[i], term));
	fprintf(f, "%s%s\n\n", c->arguments ? " " : "",
		c->arguments ? c->arguments : "");
	text_wrap(f, c->help, 0, 0);
	if (c->subcommands) {
		fprintf(f, "\nCommands:\n");
		for (unsigned i = 0; c->subcommands[i]; i++)
			width = term_width(
				width, command_word(c->subcommands[i]));
		for (unsigned i = 0; c->subcommands[i]; i++)
			term_print(f, command_word(c->subcommands[i]),
				c->subcommands[i]->summary, width);
		fprintf(f, "\n'cay%s%s COMMAND --help' describes a command.\n",
			blank, c->name);
	} else {
		options_print(c, f);
	}
	if (c->notes) {
		fputc('\n', f);
		text_wrap(f, c->notes, 0, 0);
	}
}
