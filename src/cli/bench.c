/* SPDX-License-Identifier: BSD-2-Clause */
/* cay bench: what the command line says, for the benchmarks in src/bench. */
#include "bench/bench.h"

#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/options.h"

static const char bench_usage[] =
	"usage: cay bench [latency | rate | ring | sleep | rma | all] "
	"[options]\n"
	"\n"
	"Measures Cay between two processes on two cores, in short rounds\n"
	"that alternate with the bare hand-over of a cache line (L) and a\n"
	"baseline of the same mechanism. Rounds whose hand-overs disagree are\n"
	"dropped; without enough of the others there is no figure.\n"
	"\n"
	"  latency   one way, by size: Fast Send, Send, by reference\n"
	"  rate      8-byte messages per second, one way\n"
	"  ring      a token among sleeping processes, against socket pairs\n"
	"  sleep     waking a sleeping receiver, against futex and eventfd\n"
	"  rma       put, get, atomics, posted receives, against memcpy\n"
	"  all       each of them\n"
	"  (none)    latency of a few sizes, and of a put\n"
	"\n"
	"  --sizes 8,64,4K   bytes of latency's messages and rma's accesses,\n"
	"                    up to 1M; of rma, 8 are the operations on a word\n"
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
	"Exit status: 0 done, 1 failed or, with --check, a target missed,\n"
	"2 wrong usage, 3 disturbed (no option makes a figure of that).\n";

/* Every sample of every try is kept in memory: 40 KB a round. */
#define ROUNDS_MAX 5000

/* ---- values ---- */

/* "8,64,4K": calls for each piece; false if one is refused. */
static bool parse_list(const char *text, struct bench_options *o,
	bool (*take)(struct bench_options *, const char *piece))
{
	char list[256], *rest = list, *piece;

	if (strlen(text) >= sizeof(list))
		return false;
	strcpy(list, text);
	while ((piece = strsep(&rest, ",")))
		if (!take(o, piece))
			return false;
	return true;
}

static bool take_size(struct bench_options *o, const char *piece)
{
	uint64_t bytes;

	if (o->size_count == BENCH_SIZES_MAX || !option_bytes(piece, &bytes) ||
		bytes > BENCH_BYTES_MAX)
		return false;
	o->sizes[o->size_count++] = bytes;
	return true;
}

static bool take_core(struct bench_options *o, const char *piece)
{
	int *core = o->core[0] < 0 ? &o->core[0] : &o->core[1];
	uint64_t number;

	if (*core >= 0 || !option_number(piece, INT16_MAX, &number))
		return false;
	*core = (int)number;
	return true;
}

static bool parse_count(
	const char *text, uint64_t min, uint64_t max, uint32_t *count)
{
	uint64_t number;

	if (!option_number(text, max, &number) || number < min)
		return false;
	*count = (uint32_t)number;
	return true;
}

static bool parse_kind(const char *text, struct bench_options *o)
{
	o->brief = false;
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
	OPTION_SIZES = OPTION_HELP + 1,
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

/* False: the value is wrong. */
static bool take_value(int option, const char *value, struct bench_options *o)
{
	switch (option) {
	case OPTION_SIZES:
		o->size_count = 0;
		return parse_list(value, o, take_size);
	case OPTION_CORES:
		o->core[0] = o->core[1] = -1;
		return parse_list(value, o, take_core) && o->core[1] >= 0;
	case OPTION_ROUNDS:
		return parse_count(value, 2, ROUNDS_MAX, &o->rounds);
	case OPTION_PROCESSES:
		return parse_count(
			value, 2, BENCH_PROCESSES_MAX, &o->processes);
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

/* -1: go on; else the exit status. */
static int take_options(int argc, char **argv, struct bench_options *o)
{
	int option, index = 0;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(
			argc, argv, "", bench_long_options, &index)) != -1) {
		if (option == OPTION_HELP)
			return option_help("bench", bench_usage);
		if (option == '?')
			return option_misused("bench",
				"%s: no such option, or "
				"no value",
				argv[optind - 1]);
		if (!take_option(option, optarg, o))
			return option_misused("bench", "--%s %s: not possible",
				bench_long_options[index].name, optarg);
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
	char command[512];

	join_command(argc, argv, command, sizeof(command));
	o.command = command;
	int status = take_options(argc, argv, &o);
	if (status >= 0)
		return status;
	if (optind < argc && !parse_kind(argv[optind], &o))
		return option_misused(
			"bench", "%s: no such benchmark", argv[optind]);
	if (optind + 1 < argc)
		return option_misused("bench",
			"%s: one benchmark at a time, "
			"or all",
			argv[optind + 1]);
	o.progress = isatty(STDERR_FILENO);
	return bench_run(&o, stdout);
}
