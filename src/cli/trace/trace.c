/* SPDX-License-Identifier: BSD-2-Clause */
/* cay trace: record, replay, show and make traces. See cay-trace(1). */
#include "cli/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "trace/random.h"

static const char trace_help[] =
	"usage: cay trace COMMAND [OPTIONS]\n"
	"\n"
	"A trace is a text: what ports did, in one order.\n"
	"\n"
	"  record -o FILE -- PROGRAM [ARGUMENT...]\n"
	"                 runs a program and writes down what it does\n"
	"  replay FILE    executes a trace on the device, and compares\n"
	"  show FILE      what is in a trace\n"
	"  random         makes one up\n"
	"\n"
	"'cay trace COMMAND --help' tells more; so does cay-trace(1).\n";

/* ---- files ---- */

static char *stream_read(FILE *f, size_t *length)
{
	size_t room = 1u << 16, used = 0, n;
	char *text = malloc(room);
	while (text && (n = fread(text + used, 1, room - used, f)) > 0) {
		used += n;
		if (used < room)
			continue;
		room *= 2;
		char *grown = realloc(text, room);
		if (!grown)
			free(text);
		text = grown;
	}
	if (text && ferror(f)) {
		free(text);
		return NULL;
	}
	*length = used;
	return text;
}

char *trace_read(const char *path, size_t *length)
{
	if (strcmp(path, "-") == 0)
		return stream_read(stdin, length);
	FILE *f = fopen(path, "re");
	if (!f)
		return NULL;
	char *text = stream_read(f, length);
	int error = errno;
	fclose(f);
	errno = error;
	return text;
}

int trace_load(const char *command, const char *path, struct trace *t)
{
	struct trace_error c;
	size_t length;
	char *text = trace_read(path, &length);
	if (!text)
		return option_failed(command, "%s: %s", path, strerror(errno));
	int r = trace_parse(text, length, t, &c);
	free(text);
	if (r == 0)
		return CLI_OK;
	if (r != -EINVAL)
		return option_failed(command, "%s: %s", path, strerror(-r));
	if (c.line == 0)
		return option_failed(command, "%s: %s", path, c.text);
	return option_failed(command, "%s:%u: %s", path, c.line, c.text);
}

bool trace_save(const struct trace *t, FILE *to)
{
	char line[TRACE_LINE_MAX], head[TRACE_PORTS_MAX * 32];
	trace_head(t, head, sizeof(head));
	fputs(head, to);
	for (uint32_t i = 0; i < t->count; i++) {
		trace_line(&t->instruction[i], line);
		fputs(line, to);
	}
	return fflush(to) == 0 && !ferror(to);
}

void trace_count(const struct trace *t, uint64_t counts[TRACE_KINDS])
{
	memset(counts, 0, TRACE_KINDS * sizeof(counts[0]));
	for (uint32_t i = 0; i < t->count; i++)
		counts[t->instruction[i].kind]++;
}

/* ---- show ---- */

static const char show_help[] =
	"usage: cay trace show [--json] FILE\n"
	"\n"
	"What is in a trace: ports, queues, windows, instructions by kind, "
	"and\n"
	"who speaks to whom. FILE may be - for standard input.\n"
	"\n"
	"  --json   a JSON object instead of tables\n";

enum show_option {
	SHOW_JSON = OPTION_HELP + 1,
};

static const struct option show_options[] = {
	{ "json", no_argument, NULL, SHOW_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

static bool show_take(void *to, int option, const char *value)
{
	(void)option;
	(void)value;
	*(bool *)to = true;
	return true;
}

/* What one port has issued to another. */
struct pair {
	uint64_t messages, accesses, bytes;
};

static struct pair pair_count(const struct trace *t, uint32_t from, uint32_t to)
{
	struct pair p = { 0 };
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trace_instruction *x = &t->instruction[i];
		if (x->port != from || x->peer != to || !trace_issues(x->kind))
			continue;
		p.messages += x->kind == TRACE_SEND;
		p.accesses += x->kind != TRACE_SEND;
		bool word = x->kind == TRACE_PUT_MASKED ||
			    x->kind == TRACE_FETCH_ADD ||
			    x->kind == TRACE_COMPARE_SWAP;
		p.bytes += word ? 8 : x->bytes;
	}
	return p;
}

static uint64_t memory_bytes(const struct trace *t)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < t->regions; i++)
		bytes += t->region[i].bytes;
	return bytes;
}

static uint64_t duration_ns(const struct trace *t)
{
	return t->count ? t->instruction[t->count - 1].time_ns : 0;
}

static void show_print(const struct trace *t)
{
	const struct trace_queues *q = &t->queues;
	uint64_t counts[TRACE_KINDS];
	trace_count(t, counts);
	printf("%u ports: %u notification entries, %" PRIu64
	       " bytes of RDR, %u windows, %u posted receives each\n",
		t->ports, q->nq_entries, q->rdr_bytes, q->windows, q->posted);
	printf("%" PRIu64 " bytes of windows in %u pieces of memory\n",
		memory_bytes(t), t->regions);
	printf("%u instructions", t->count);
	if (duration_ns(t))
		printf(" in %.6f s", (double)duration_ns(t) / 1e9);
	printf("\n\n");
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			printf("  %-16s %10" PRIu64 "\n",
				trace_kind_name((enum trace_kind)k), counts[k]);
	printf("\n  %4s %4s %12s %12s %14s\n", "from", "to", "messages",
		"accesses", "bytes");
	for (uint32_t a = 0; a < t->ports; a++)
		for (uint32_t b = 0; b < t->ports; b++) {
			struct pair p = pair_count(t, a, b);
			if (p.messages + p.accesses)
				printf("  %4u %4u %12" PRIu64 " %12" PRIu64
				       " %14" PRIu64 "\n",
					a, b, p.messages, p.accesses, p.bytes);
		}
}

static void show_pairs_json(const struct trace *t, struct json *j)
{
	json_key(j, "pairs");
	json_array_begin(j);
	for (uint32_t a = 0; a < t->ports; a++)
		for (uint32_t b = 0; b < t->ports; b++) {
			struct pair p = pair_count(t, a, b);
			if (p.messages + p.accesses == 0)
				continue;
			json_object_begin(j);
			json_put_number(j, "from", a);
			json_put_number(j, "to", b);
			json_put_number(j, "messages", p.messages);
			json_put_number(j, "accesses", p.accesses);
			json_put_number(j, "bytes", p.bytes);
			json_object_end(j);
		}
	json_array_end(j);
}

static int show_json(const struct trace *t)
{
	uint64_t counts[TRACE_KINDS];
	struct json j;
	trace_count(t, counts);
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "ports", t->ports);
	json_put_number(&j, "nq_entries", t->queues.nq_entries);
	json_put_number(&j, "rdr_bytes", t->queues.rdr_bytes);
	json_put_number(&j, "windows", t->queues.windows);
	json_put_number(&j, "posted", t->queues.posted);
	json_put_number(&j, "memory_bytes", memory_bytes(t));
	json_put_number(&j, "duration_ns", duration_ns(t));
	json_key(&j, "instructions");
	json_object_begin(&j);
	for (int k = 0; k < TRACE_KINDS; k++)
		if (counts[k])
			json_put_number(&j, trace_kind_name((enum trace_kind)k),
				counts[k]);
	json_object_end(&j);
	show_pairs_json(t, &j);
	json_object_end(&j);
	return json_close(&j) ? CLI_FAILED : CLI_OK;
}

static int trace_command_show(int argc, char **argv)
{
	static const struct option_set set = { "trace show", show_help,
		show_options, show_take };
	bool json = false;
	struct trace t;
	int status = option_take_all(&set, argc, argv, &json);
	if (status >= 0)
		return status;
	if (argc - optind != 1)
		return option_misused("trace show", "which file?");
	status = trace_load("trace show", argv[optind], &t);
	if (status)
		return status;
	if (json)
		status = show_json(&t);
	else
		show_print(&t);
	trace_free(&t);
	return status ? status : option_output_end("trace show");
}

/* ---- random ---- */

static const char random_help[] =
	"usage: cay trace random [--seed N] [--ports N] [--count N]\n"
	"                        [--conflicts]\n"
	"\n"
	"Writes a random trace to standard output; the same for the same\n"
	"options.\n"
	"\n"
	"  --seed N      default: 1\n"
	"  --ports N     1 to 256; default: 3\n"
	"  --count N     instructions after the windows are open; default: "
	"100\n"
	"  --conflicts   ports access the same memory; without it each has "
	"its\n"
	"                own part of every window\n";

enum random_option {
	RANDOM_SEED = OPTION_HELP + 1,
	RANDOM_PORTS,
	RANDOM_COUNT,
	RANDOM_CONFLICTS,
};

static const struct option random_options_known[] = {
	{ "seed", required_argument, NULL, RANDOM_SEED },
	{ "ports", required_argument, NULL, RANDOM_PORTS },
	{ "count", required_argument, NULL, RANDOM_COUNT },
	{ "conflicts", no_argument, NULL, RANDOM_CONFLICTS },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

static bool random_take(void *to, int option, const char *value)
{
	struct random_options *o = to;
	uint64_t n = 0;
	switch (option) {
	case RANDOM_SEED:
		return option_number(value, UINT64_MAX, &o->seed);
	case RANDOM_PORTS:
		if (!option_number(value, TRACE_PORTS_MAX, &n) || n == 0)
			return false;
		o->ports = (uint32_t)n;
		return true;
	case RANDOM_COUNT:
		if (!option_number(value, 100000000, &n))
			return false;
		o->count = (uint32_t)n;
		return true;
	default:
		o->conflicts = true;
		return true;
	}
}

static int trace_command_random(int argc, char **argv)
{
	static const struct option_set set = { "trace random", random_help,
		random_options_known, random_take };
	struct random_options o = { .seed = 1, .ports = 3, .count = 100 };
	struct trace t;
	int status = option_take_all(&set, argc, argv, &o);
	if (status >= 0)
		return status;
	if (optind < argc)
		return option_misused(
			"trace random", "'%s': takes no file", argv[optind]);
	int r = random_trace(&o, &t);
	if (r)
		return option_failed("trace random", "%s", strerror(-r));
	option_pipe_ignore();
	trace_save(&t, stdout);
	trace_free(&t);
	return option_output_end("trace random");
}

/* ---- which of them ---- */

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "record", trace_command_record },
	{ "replay", trace_command_replay },
	{ "show", trace_command_show },
	{ "random", trace_command_random },
};

int cli_trace(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		fputs(trace_help, stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "--help") == 0)
		return option_help("trace", trace_help);
	for (unsigned i = 0; i < ARRAY_COUNT(subcommands); i++)
		if (strcmp(name, subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	return option_misused("trace", "no command '%s'", name);
}
