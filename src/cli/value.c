/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options and arguments; see options.h. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "node/address.h"

#define SECONDS_MAX 3e10

/* strtoull() alone would accept signs and blanks. */
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

bool option_real(const char *text, double *value)
{
	char *end;
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*value = strtod(text, &end);
	return end != text && *end == 0 && isfinite(*value);
}

bool option_seconds(const char *text, uint64_t *ns)
{
	double seconds;
	if (!option_real(text, &seconds) || seconds > SECONDS_MAX)
		return false;
	double exact = seconds * (double)CLOCK_NS_PER_S;
	*ns = exact < (double)UINT64_MAX ? (uint64_t)exact : UINT64_MAX;
	return true;
}

bool option_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	int shift = 0;
	char *end;
	if (!number_parse(text, &end, bytes))
		return false;
	if (*end) {
		const char *unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return false;
		shift = 10 * (int)(unit - units + 1);
	}
	if (*bytes > UINT64_MAX >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

int option_choice(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return -1;
}

int option_choice_folded(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++) {
		const char *a = words[i], *b = text;
		while (*a && (*a == tolower((unsigned char)*b) ||
				     (*a == '_' && *b == '-'))) {
			a++;
			b++;
		}
		if (!*a && !*b)
			return i;
	}
	return -1;
}

/* Levenshtein distance of two words, of which `b` has at most 31 letters. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[32], length = (unsigned)strlen(b);
	if (length >= ARRAY_COUNT(row))
		return UINT32_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= length; j++) {
			unsigned changed = diagonal + (*a != b[j - 1]);
			diagonal = row[j];
			row[j] = (unsigned)bits_min(
				changed, bits_min(row[j], row[j - 1]) + 1);
		}
	}
	return row[length];
}

const char *option_nearest(const char *const *words, const char *text)
{
	const char *best = NULL;
	unsigned least = 3; /* more mistakes are another word */
	for (; *words; words++) {
		unsigned d = distance(text, *words);
		if (d >= least || d >= strlen(*words))
			continue;
		least = d;
		best = *words;
	}
	return best;
}

const char *option_list(const char *const *words, const char *prefix,
	char text[OPTION_LIST_BYTES])
{
	size_t used = 0;
	for (unsigned i = 0; words[i] && used < OPTION_LIST_BYTES; i++) {
		const char *separator = words[i + 1] ? ", " : " or ";
		used += (size_t)snprintf(text + used, OPTION_LIST_BYTES - used,
			"%s%s%s", i ? separator : "", prefix, words[i]);
	}
	return text;
}

const char *option_short(
	const struct option_row *o, char text[OPTION_LIST_BYTES])
{
	char letter[] = { '-', o->letter, 0 };
	snprintf(text, OPTION_LIST_BYTES, "%s%s%s%s", o->letter ? letter : "--",
		o->letter ? "" : o->name, o->value ? " " : "",
		o->value ? o->value : "");
	return text;
}

int option_port_name(const char *command, const char *name)
{
	if (node_name_valid(name))
		return -1;
	return cli_usage_error(command,
		"'%s' is not a valid port name: " OPTION_NAME_RULE, name,
		NODE_NAME_MAX - 1);
}

/* Explains which name is not valid: the given one, or the environment's. */
static int name_refused(const char *command, const char *what, const char *name,
	const char *variable)
{
	if (name)
		return cli_usage_error(command,
			"'%s' is not a valid %s name: " OPTION_NAME_RULE, name,
			what, NODE_NAME_MAX - 1);
	return cli_usage_error(command,
		"%s is '%s', which is not a valid %s name: " OPTION_NAME_RULE
		"; correct or unset it",
		variable, secure_getenv(variable), what, NODE_NAME_MAX - 1);
}

int option_node_address(
	const char *command, const char *name, struct node_address *address)
{
	if (node_address(name, address) == 0)
		return -1;
	return name_refused(command, "node", name, "CAY_NODE");
}

int option_node_and_realm(
	const char *command, const char *node, const char *realm)
{
	struct node_address address;
	char name[NODE_NAME_MAX];
	int status = option_node_address(command, node, &address);
	if (status >= 0 || node_realm(realm, name) == 0)
		return status;
	return name_refused(command, "realm", realm, "CAY_REALM");
}
