/* SPDX-License-Identifier: BSD-2-Clause */
/* See options.h. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "node/address.h"

#define SECONDS_MAX 3e10

/* strtoull() takes signs and blanks, which are no numbers here. */
static bool number_parse(const char *text, char **end, uint64_t *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, end, hex ? 16 : 10);
	return errno == 0;
}

bool option_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;
	return number_parse(text, &end, value) && *end == 0 && *value <= max;
}

bool option_seconds(const char *text, uint64_t *ns)
{
	char *end;
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	double seconds = strtod(text, &end);
	if (end == text || *end || !isfinite(seconds) || seconds > SECONDS_MAX)
		return false;
	double exact = seconds * (double)CLOCK_NS_PER_S;
	*ns = exact < (double)UINT64_MAX ? (uint64_t)exact : UINT64_MAX;
	return true;
}

/* The power of two of a unit; -1 for none that is known. */
static int unit_shift(const char *unit)
{
	static const char units[] = "KMGT";
	if (*unit == 0)
		return 0;
	const char *at = strchr(units, toupper((unsigned char)*unit));
	return at && unit[1] == 0 ? 10 * (int)(at - units + 1) : -1;
}

bool option_bytes(const char *text, uint64_t *bytes)
{
	char *end;
	if (!number_parse(text, &end, bytes))
		return false;
	int shift = unit_shift(end);
	if (shift < 0 || *bytes > UINT64_MAX >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

__attribute__((format(printf, 2, 0))) static void complain(
	const char *command, const char *format, va_list arguments)
{
	fprintf(stderr, "cay %s: ", command);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

int option_misused(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	complain(command, format, arguments);
	va_end(arguments);
	fprintf(stderr, "try: cay %s --help\n", command);
	return CLI_USAGE;
}

int option_failed(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	complain(command, format, arguments);
	va_end(arguments);
	return CLI_FAILED;
}

int option_output_end(const char *command)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_OK;
	if (errno == EPIPE)
		return CLI_OK;
	return option_failed(command, "standard output: %s",
		errno ? strerror(errno) : "not all could be written");
}

int option_help(const char *command, const char *text)
{
	fputs(text, stdout);
	return option_output_end(command);
}

int option_take_all(
	const struct option_set *set, int argc, char **argv, void *to)
{
	int option, index = 0;

	optind = 1;
	while ((option = getopt_long(argc, argv, "", set->known, &index)) !=
		-1) {
		if (option == OPTION_HELP)
			return option_help(set->command, set->help);
		if (option == '?') {
			fprintf(stderr, "try: cay %s --help\n", set->command);
			return CLI_USAGE;
		}
		if (!set->take(to, option, optarg))
			return option_misused(set->command,
				"--%s %s: not possible", set->known[index].name,
				optarg);
	}
	return -1;
}

int option_port_name(const char *command, const char *name)
{
	if (node_name_valid(name))
		return -1;
	return option_misused(command,
		"'%s' cannot be a port's name: letters, digits and ._:@+- , "
		"at most %d",
		name, NODE_NAME_MAX - 1);
}

void option_pipe_ignore(void)
{
	signal(SIGPIPE, SIG_IGN);
}
