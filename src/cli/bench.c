/* SPDX-License-Identifier: BSD-2-Clause */
/* cay bench: what the command line says, for the benchmarks in src/bench. */
#include "bench/bench.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"

int cli_bench(int argc, char **argv);

static const char bench_usage[] =
	"usage: cay bench [latency | rate | ring | sleep | all] [options]\n"
	"\n"
	"Measures Cay between two processes on two cores, in short rounds\n"
	"that alternate with the bare hand-over of a cache line (L) and a\n"
	"sketch of the same mechanism. Rounds whose hand-overs disagree are\n"
	"dropped; without enough of the others there is no figure.\n"
	"\n"
	"  latency   one way, by size: Fast Send, Send, by reference\n"
	"  rate      8-byte messages per second, one way\n"
	"  ring      a token among sleeping processes, against socket pairs\n"
	"  sleep     waking a sleeping receiver, against futex and eventfd\n"
	"  (none)    latency of a few sizes\n"
	"\n"
	"  --sizes 8,64,4K   bytes of latency's messages, up to 1M\n"
	"  --rounds N        rounds to keep per figure\n"
	"  --cores A,B       default: the first two that may be used\n"
	"  --processes N     of the ring, default 16\n"
	"  --resend          send a long message's memory again untouched, as\n"
	"                    most benchmarks do; default: write it anew\n"
	"  --json            a JSON object instead of a table\n"
	"  --samples FILE    every sample, as CSV\n"
	"  --check           exit with 1 if a target is missed\n"
	"  --help\n"
	"\n"
	"Exit status: 0 done, 1 target missed (--check), 2 error, 3 disturbed\n"
	"(there is no option that makes a figure of a disturbed run).\n";

static const size_t bench_all_sizes[] = { 0, 8, 40, 64, 1024, 4096, 8192,
	65536, 1048576 };

/* ---- values ---- */

static bool parse_number(const char *text, char **end, unsigned long max,
	unsigned long *value)
{
	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtoul(text, end, 10);
	return *value <= max;
}

static bool parse_count(const char *text, unsigned long max,
	unsigned long *value)
{
	char *end;

	return parse_number(text, &end, max, value) && *end == 0 && *value > 0;
}

/* "64", "4K" or "1M"; stops at a comma or the end. */
static bool parse_size(const char *text, char **end, size_t *bytes)
{
	unsigned long value;

	if (!parse_number(text, end, BENCH_BYTES_MAX, &value))
		return false;
	if (**end == 'K' || **end == 'k' || **end == 'M' || **end == 'm')
		value <<= toupper((unsigned char)*(*end)++) == 'K' ? 10 : 20;
	*bytes = value;
	return value <= BENCH_BYTES_MAX && (**end == ',' || **end == 0);
}

static bool parse_sizes(const char *text, struct bench_options *o)
{
	char *end;

	for (o->size_count = 0; o->size_count < BENCH_SIZES_MAX;) {
		if (!parse_size(text, &end, &o->sizes[o->size_count++]))
			return false;
		if (*end == 0)
			return true;
		text = end + 1;
	}
	return false;
}

static bool parse_cores(const char *text, struct bench_options *o)
{
	unsigned long first, second;
	char *end;

	if (!parse_number(text, &end, 65535, &first) || *end != ',' ||
		!parse_number(end + 1, &end, 65535, &second) || *end)
		return false;
	o->core[0] = (int)first;
	o->core[1] = (int)second;
	return true;
}

static void choose_sizes(struct bench_options *o)
{
	memcpy(o->sizes, bench_all_sizes, sizeof(bench_all_sizes));
	o->size_count = ARRAY_COUNT(bench_all_sizes);
}

static bool parse_kind(const char *text, struct bench_options *o)
{
	if (strcmp(text, "all") == 0) {
		o->kinds = (1u << BENCH_KINDS) - 1;
		return true;
	}
	for (unsigned i = 0; i < BENCH_KINDS; i++)
		if (strcmp(text, bench_name(i)) == 0) {
			o->kinds = 1u << i;
			return true;
		}
	return false;
}

/* ---- options ---- */

enum bench_option {
	OPTION_HELP = 256,
	OPTION_SIZES,
	OPTION_ROUNDS,
	OPTION_CORES,
	OPTION_PROCESSES,
	OPTION_RESEND,
	OPTION_JSON,
	OPTION_SAMPLES,
	OPTION_CHECK,
};

static const struct option bench_long_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "sizes", required_argument, NULL, OPTION_SIZES },
	{ "rounds", required_argument, NULL, OPTION_ROUNDS },
	{ "cores", required_argument, NULL, OPTION_CORES },
	{ "processes", required_argument, NULL, OPTION_PROCESSES },
	{ "resend", no_argument, NULL, OPTION_RESEND },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "samples", required_argument, NULL, OPTION_SAMPLES },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ 0 },
};

/* False: the value is wrong, or there is no such option. */
static bool take_value(int option, const char *value, struct bench_options *o)
{
	unsigned long number;

	switch (option) {
	case OPTION_SIZES:
		return parse_sizes(value, o);
	case OPTION_CORES:
		return parse_cores(value, o);
	case OPTION_ROUNDS:
		if (!parse_count(value, 100000, &number))
			return false;
		o->rounds = (uint32_t)number;
		return true;
	case OPTION_PROCESSES:
		if (!parse_count(value, BENCH_PROCESSES_MAX, &number))
			return false;
		o->processes = (unsigned)number;
		return number >= 2;
	default:
		return false;
	}
}

static bool take_option(int option, const char *value, struct bench_options *o)
{
	switch (option) {
	case OPTION_RESEND:
		o->resend = true;
		return true;
	case OPTION_JSON:
		o->json = true;
		return true;
	case OPTION_CHECK:
		o->check = true;
		return true;
	case OPTION_SAMPLES:
		o->samples = value;
		return true;
	default:
		return take_value(option, value, o);
	}
}

static int bench_misused(const char *option, const char *value)
{
	if (option)
		fprintf(stderr, "cay bench: --%s %s: not possible\n", option,
			value ? value : "");
	fputs("try: cay bench --help\n", stderr);
	return BENCH_ERROR;
}

/* -1: go on; else the exit status. */
static int take_options(int argc, char **argv, struct bench_options *o)
{
	int option, index = 0;

	optind = 1;
	while ((option = getopt_long(argc, argv, "", bench_long_options,
			&index)) != -1) {
		if (option == OPTION_HELP) {
			fputs(bench_usage, stdout);
			return BENCH_DONE;
		}
		if (option == '?')
			return bench_misused(NULL, NULL);
		if (!take_option(option, optarg, o))
			return bench_misused(bench_long_options[index].name,
				optarg);
	}
	return -1;
}

/* As it was typed, for the report. */
static void join_command(int argc, char **argv, char *text, size_t size)
{
	size_t at = (size_t)snprintf(text, size, "cay bench");

	for (int i = 1; i < argc && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, " %s", argv[i]);
}

int cli_bench(int argc, char **argv)
{
	struct bench_options o = bench_defaults();
	unsigned default_sizes = o.size_count;
	char command[512];

	join_command(argc, argv, command, sizeof(command));
	o.command = command;
	o.size_count = 0;
	int status = take_options(argc, argv, &o);
	if (status >= 0)
		return status;
	if (optind < argc && !parse_kind(argv[optind], &o)) {
		fprintf(stderr, "cay bench: %s: no such benchmark\n",
			argv[optind]);
		return bench_misused(NULL, NULL);
	}
	if (o.size_count == 0 && optind < argc)
		choose_sizes(&o);
	else if (o.size_count == 0)
		o.size_count = default_sizes;
	o.progress = isatty(STDERR_FILENO);
	return bench_run(&o, stdout);
}
