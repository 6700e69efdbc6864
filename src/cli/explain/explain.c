/* SPDX-License-Identifier: BSD-2-Clause */
/* cay explain: the steps and accesses of an instruction, as they happen. */
#include "cli/explain/explain.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cay/error.h"
#include "cli/cli.h"

static const char explain_usage[] =
	"usage: cay explain [INSTRUCTION] [--bytes N] [--json | --table]\n"
	"\n"
	"Runs an instruction on a device without processes, whose every\n"
	"access to shared memory is counted, and prints its steps. Then asks\n"
	"for it wrongly in every way, and prints what it can end in.\n"
	"\n"
	"  fast_send    up to 40 bytes, in the notification (the default)\n"
	"  send         up to 8192 bytes, through the receive data region\n"
	"  reference    a long message, which stays where it is\n"
	"  completion   a send that asks to be told of its completion\n"
	"  posted       a message into a posted buffer\n"
	"  fast_put     up to 24 bytes into a window, in the work request\n"
	"  put, get     bytes into and out of a window\n"
	"  masked_put   some bytes of a word\n"
	"  fast_get     up to 24 bytes out of a window, in the completion\n"
	"  faa, cas     fetch-and-add, compare-and-swap: end in a completion\n"
	"  faa_into     the same, but the result goes to memory\n"
	"  emulated     a faa on memory that only its owner can reach\n"
	"  all          each of them\n"
	"\n"
	"  --bytes N    length of the message; not with all\n"
	"  --json       one JSON object instead of tables\n"
	"  --table      one row each, as in docs/instructions.md\n"
	"\n"
	"Kinds: W and R are the target's write and read word, 'op record' is\n"
	"the issuing thread's own line. 'lines' counts 64-byte lines that the\n"
	"step is the first to write.\n";

struct options {
	const char *instruction;
	uint64_t bytes;
	bool bytes_given, json, table;
};

static bool bytes_parse(const char *text, uint64_t *bytes)
{
	char *end;
	errno = 0;
	*bytes = strtoull(text, &end, 0);
	return errno == 0 && end != text && *end == 0 && *text != '-';
}

/* -1: go on; else the exit status. */
static int options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "table", no_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		if (c == 'h') {
			fputs(explain_usage, stdout);
			return CLI_OK;
		}
		if (c == 'j')
			o->json = true;
		else if (c == 't')
			o->table = true;
		else if (c == 'b' && bytes_parse(optarg, &o->bytes))
			o->bytes_given = true;
		else
			goto err_usage;
	}
	if (optind < argc)
		o->instruction = argv[optind++];
	else
		o->instruction = o->table ? "all" : "fast_send";
	if (optind == argc && !(o->json && o->table) &&
		!(o->bytes_given && strcmp(o->instruction, "all") == 0))
		return -1;
err_usage:
	fputs(explain_usage, stderr);
	return CLI_USAGE;
}

static int explain_one(const struct explain_instruction *i,
	const struct options *o, struct json *j)
{
	static struct explanation e;
	uint64_t bytes = o->bytes_given ? o->bytes : i->bytes_default;
	if (bytes < i->bytes_min || bytes > i->bytes_max) {
		fprintf(stderr,
			"cay explain: %s takes %" PRIu64 " to %" PRIu64
			" bytes\n",
			i->name, i->bytes_min, i->bytes_max);
		return CLI_USAGE;
	}
	int r = explain_run(i, bytes, &e);
	if (r) {
		fprintf(stderr, "cay explain: %s: %s\n", i->name,
			cay_strerror(r));
		return CLI_FAILED;
	}
	if (o->json)
		json_explanation(j, &e);
	else if (o->table)
		table_row(&e);
	else
		print_explanation(&e);
	return CLI_OK;
}

static int explain_selected(const struct options *o, struct json *j)
{
	bool all = strcmp(o->instruction, "all") == 0, begun = false;
	for (int i = 0; i < EXPLAIN_INSTRUCTIONS; i++) {
		const struct explain_instruction *e = &explain_instructions[i];
		if (!all && strcmp(o->instruction, e->name) != 0)
			continue;
		if (begun && !o->json && !o->table)
			printf("\n\n");
		begun = true;
		int status = explain_one(e, o, j);
		if (status)
			return status;
	}
	if (!begun)
		fprintf(stderr,
			"cay explain: no instruction '%s'; see --help\n",
			o->instruction);
	return begun ? CLI_OK : CLI_USAGE;
}

static int explain_text(const struct options *o)
{
	if (!o->table)
		return explain_selected(o, NULL);
	table_heading();
	int status = explain_selected(o, NULL);
	if (status == CLI_OK)
		table_errors();
	return status;
}

int cli_explain(int argc, char **argv)
{
	struct options o = { 0 };
	struct json j;
	int status = options_parse(argc, argv, &o);
	if (status >= 0)
		return status;
	if (!o.json) {
		status = explain_text(&o);
		return fflush(stdout) ? CLI_FAILED : status;
	}
	json_open(&j, stdout);
	json_object_begin(&j);
	json_key(&j, "instructions");
	json_array_begin(&j);
	status = explain_selected(&o, &j);
	json_array_end(&j);
	json_object_end(&j);
	return json_close(&j) ? CLI_FAILED : status;
}
