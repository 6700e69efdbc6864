/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands and their options as tables. One table of a command yields its
 * parser, its --help text, the checks of which options go together, and its
 * part of the shell completion.
 */
#ifndef CAY_CLI_OPTIONS_H
#define CAY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTIONS_MAX 64 /* rows of a table */

/* The type of an option's value, and of the variable that receives it. */
enum option_kind {
	OPTION_FLAG,	/* bool: set to true; takes no value */
	OPTION_TEXT,	/* const char * */
	OPTION_FILE,	/* const char *, not empty: a path or "-" */
	OPTION_NODE,	/* const char *: name of a node, port or realm */
	OPTION_NUMBER,	/* uint64_t: decimal or 0x... */
	OPTION_COUNT,	/* uint32_t: likewise */
	OPTION_REAL,	/* double */
	OPTION_SECONDS, /* uint64_t, nanoseconds: "1.5" */
	OPTION_BYTES,	/* uint64_t: "65536", "64K", "1G" */
	OPTION_CHOICE,	/* unsigned: position of the value in `choices` */
	OPTION_PARSED,	/* whatever `parse` makes of it */
};

/*
 * A row of a command's table. A row without a name is a line of the help text:
 * `value` is the term and `help` explains it.
 */
struct option_row {
	const char *group; /* heading above this row and the following ones */
	const char *name;  /* long name, without dashes */
	char letter;	   /* short name, or 0 */
	const char *value; /* placeholder of the value in the help text */
	const char *help;
	enum option_kind kind;
	size_t offset;	 /* of the variable in the command's structure */
	double min, max; /* range of a number; max 0: no upper limit */
	const char *const *choices; /* values to choose from; see WORDS() */
	const char *expected;	    /* valid values, for the error message */
	bool (*parse)(void *to, const char *text); /* false: not valid */
	const char *const *excludes; /* options that must not be given too */
	const char *const *needs;    /* options of which one must be given */
	bool early;		     /* takes effect before all other options */
	bool required;
};

struct command {
	const char *name;      /* "node status" */
	const char *summary;   /* one line, for the list of commands */
	const char *arguments; /* "NAME [MESSAGE]"; "..." ends the options */
	const char *const *choices; /* values of the first argument */
	const char *help;	    /* paragraphs before the options */
	const char *notes;	    /* paragraphs after the options */
	const struct option_row *options;
	unsigned option_count;
	const struct command *const *subcommands; /* NULL at the end */
	int (*run)(const struct command *, int argc, char **argv);
};

/*
 * Rows. A file defines OPTIONS_STRUCT as the structure that receives the
 * values of its options, and `member` is one of its members. Further members
 * of the row follow as designated initializers: `.letter = 'n'`.
 */
#define OPTION_SWITCH(name_, member, help_, ...)                        \
	{                                                               \
		.name = name_, .help = help_, .kind = OPTION_FLAG,      \
		.offset = offsetof(OPTIONS_STRUCT, member), __VA_ARGS__ \
	}
#define OPTION_VALUE(name_, value_, kind_, member, help_, ...)                \
	{                                                                     \
		.name = name_, .value = value_, .help = help_, .kind = kind_, \
		.offset = offsetof(OPTIONS_STRUCT, member), __VA_ARGS__       \
	}
#define OPTION_CUSTOM(name_, value_, parse_, help_, ...)            \
	{                                                           \
		.name = name_, .value = value_, .help = help_,      \
		.kind = OPTION_PARSED, .parse = parse_, __VA_ARGS__ \
	}
#define OPTION_TERM(term, help_, ...)                     \
	{                                                 \
		.value = term, .help = help_, __VA_ARGS__ \
	}

/* The options --node and --realm of a structure with these members. */
#define OPTION_NODE_AND_REALM                                      \
	OPTION_VALUE("node", "NODE", OPTION_NODE, node,            \
		"name of the node (default $CAY_NODE)"),           \
		OPTION_VALUE("realm", "REALM", OPTION_NODE, realm, \
			"name of the realm (default $CAY_REALM)")

#define WORDS(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

#define COMMAND_OPTIONS(rows) .options = rows, .option_count = ARRAY_COUNT(rows)

/*
 * Parses the command line. Returns -1 with the arguments that remain in argc
 * and argv, or the exit status after --help or an error message.
 */
int command_parse(const struct command *, int *argc, char ***argv, void *to);

/* Prints the rows without a name, which explain keys and columns: those below
 * one heading, without it, or all if it is NULL. */
void command_terms(const struct command *, const char *group, FILE *);

/* Prints paragraphs in lines of up to 79 columns. */
void help_wrap(FILE *, const char *text);

/* Runs the command, or the subcommand that argv[1] names. Returns the
 * exit status. */
int command_run(const struct command *, int argc, char **argv);

/* Prints the help text, wrapped to 80 columns. */
void command_help(const struct command *, FILE *);

/* Prints the completion script for bash of all commands below `root`. */
void command_completion(const struct command *root, FILE *);

/* The last word of the command's name. */
const char *command_word(const struct command *);

/* ---- values: true if the whole text is one ---- */

bool option_number(const char *text, uint64_t max, uint64_t *value);
bool option_real(const char *text, double *value);
bool option_seconds(const char *text, uint64_t *ns);
bool option_bytes(const char *text, uint64_t *bytes);

/* Returns the position of the text in the list, or -1. */
int option_choice(const char *const *words, const char *text);

/* The same, for FAST_SEND and fast-send as well as fast_send. */
int option_choice_folded(const char *const *words, const char *text);

/* Writes "a, b or c", each word after `prefix`. */
#define OPTION_LIST_BYTES 320
const char *option_list(const char *const *words, const char *prefix,
	char text[OPTION_LIST_BYTES]);

#define OPTION_NAME_RULE "letters, digits and ._:@+- , at most %d characters"

/* Writes the option in its shortest form: "-o FILE". Returns `text`. */
const char *option_short(
	const struct option_row *, char text[OPTION_LIST_BYTES]);

/* Returns the word that is nearest to a misspelt one, or NULL. */
const char *option_nearest(const char *const *words, const char *text);

/* Returns -1 if a port may have this name, else CLI_USAGE and a message. */
int option_port_name(const char *command, const char *name);

/* Returns -1 if the names of a node and a realm, given or by the environment,
 * are valid, else CLI_USAGE and a message. */
int option_node_and_realm(
	const char *command, const char *node, const char *realm);

/* Returns -1 and the address of the node of this name or of the default one,
 * else CLI_USAGE and a message. */
struct node_address;
int option_node_address(
	const char *command, const char *name, struct node_address *);

#endif
