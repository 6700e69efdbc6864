/* SPDX-License-Identifier: BSD-2-Clause */
/* cay bench: the options of the benchmarks in src/bench. */
#include "bench/bench.h"

#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* All samples are kept in memory: 40 KB per round. */
#define ROUNDS_MAX 5000

/* "8,64,4K" */
static bool sizes_parse(void *to, const char *text)
{
	struct bench_options *o = to;
	char list[256], *rest = list, *piece;
	uint64_t bytes;

	o->size_count = 0;
	if (strlen(text) >= sizeof(list))
		return false;
	strcpy(list, text);
	while ((piece = strsep(&rest, ","))) {
		if (o->size_count == BENCH_SIZES_MAX ||
			!option_bytes(piece, &bytes) || bytes > BENCH_BYTES_MAX)
			return false;
		o->sizes[o->size_count++] = bytes;
	}
	return true;
}

/* "0,1" */
static bool cores_parse(void *to, const char *text)
{
	struct bench_options *o = to;
	const char *comma = strchr(text, ',');
	char first[16];
	uint64_t a, b;

	if (!comma || comma - text >= (int)sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(comma - text), text);
	if (!option_number(first, INT16_MAX, &a) ||
		!option_number(comma + 1, INT16_MAX, &b))
		return false;
	o->core[0] = (int)a;
	o->core[1] = (int)b;
	return true;
}

static int bench_command(const struct command *c, int argc, char **argv)
{
	struct bench_options o = bench_defaults();
	/* The command line as it was typed, for the report. */
	char typed[512] = "cay bench";
	size_t used = strlen(typed);

	for (int i = 1; i < argc && used < sizeof(typed); i++)
		used += (size_t)snprintf(
			typed + used, sizeof(typed) - used, " %s", argv[i]);
	o.command = typed;
	int status = command_parse(c, &argc, &argv, &o);
	if (status >= 0)
		return status;
	if (argc) {
		o.brief = false;
		o.kinds = (1u << BENCH_KINDS) - 1; /* all */
		for (unsigned i = 0; i < BENCH_KINDS; i++)
			if (strcmp(argv[0], bench_name(i)) == 0)
				o.kinds = 1u << i;
	}
	o.progress = isatty(STDERR_FILENO);
	return bench_run(&o, stdout);
}

#define OPTIONS_STRUCT struct bench_options

static const struct option_row bench_rows[] = {
	OPTION_TERM("latency",
		"one-way latency by size: Fast Send, Send, copied, borrowed",
		.group = "Benchmarks"),
	OPTION_TERM("rate", "8-byte messages per second, one way"),
	OPTION_TERM("ring",
		"a token among sleeping processes, against socket pairs"),
	OPTION_TERM("sleep",
		"waking a sleeping receiver, against futex and eventfd"),
	OPTION_TERM(
		"rma", "put, get, atomics and posted receives, against memcpy"),
	OPTION_TERM("ultra", "messages over ULTRA paths, against a ring of "
			     "lines"),
	OPTION_TERM("all", "all of them"),
	OPTION_TERM("(none)", "latency of a few sizes, and of a put"),
	OPTION_CUSTOM("sizes", "LIST", sizes_parse,
		"sizes of latency's messages and rma's accesses, such as "
		"8,64,4K, up to 1M; for rma, 8 selects the operations on a "
		"word",
		.group = "Options",
		.expected = "sizes such as 8,64,4K, up to 1M, at most 16"),
	OPTION_VALUE("rounds", "N", OPTION_COUNT, rounds,
		"valid rounds to collect per figure", .min = 2,
		.max = ROUNDS_MAX),
	OPTION_CUSTOM("cores", "A,B", cores_parse,
		"the cores to use (default: the first two that are allowed)",
		.expected = "two cores such as 0,1"),
	OPTION_VALUE("processes", "N", OPTION_COUNT, processes,
		"processes in the ring (default 16)", .min = 2,
		.max = BENCH_PROCESSES_MAX),
	OPTION_SWITCH("resend", resend,
		"send the same untouched buffer again, as most benchmarks do "
		"(default: write it before each message)"),
	OPTION_SWITCH("json", json, "print a JSON object instead of a table"),
	OPTION_VALUE("samples", "FILE", OPTION_FILE, samples,
		"write every sample to FILE, as CSV"),
	OPTION_SWITCH("check", check, "exit with 1 if a target is missed"),
};

const struct command command_bench = {
	.name = "bench",
	.summary = "measure latency and message rate against a bare baseline",
	.arguments = "[BENCHMARK]",
	.choices = WORDS(
		"latency", "rate", "ring", "sleep", "rma", "ultra", "all"),
	.help = "Measures Cay between two processes on two cores, in short "
		"rounds that alternate with the bare hand-over of a cache line "
		"(L) and a baseline of the same mechanism. Rounds during which "
		"the hand-over changed are discarded; if too few remain, the "
		"figure is of all rounds and marked: disturbed, for "
		"orientation.",
	.notes = "Exit status: 0 done; 1 failed or, with --check, a target was "
		 "missed; 2 wrong usage; 3 the machine was disturbed and at "
		 "least one figure is only for orientation.",
	COMMAND_OPTIONS(bench_rows),
	.run = bench_command,
};
