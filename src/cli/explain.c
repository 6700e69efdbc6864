/* SPDX-License-Identifier: BSD-2-Clause */
/* cay explain: the steps and accesses of an instruction, as they happen. */
#include "cli/explain.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cay/error.h"
#include "cli/cli.h"
#include "cli/decode.h"

static const char explain_usage[] =
	"usage: cay explain [INSTRUCTION] [--bytes N] [--json]\n"
	"\n"
	"Runs an instruction on a device without processes, whose every\n"
	"access to shared memory is counted, and prints its steps.\n"
	"\n"
	"  fast_send    up to 40 bytes, in the notification (the default)\n"
	"  send         up to 8192 bytes, through the receive data region\n"
	"  reference    a long message, which stays where it is\n"
	"  completion   a send that asks to be told of its completion\n"
	"  all          each of them\n"
	"\n"
	"  --bytes N    length of the message; not with all\n"
	"  --json       one JSON object instead of tables\n"
	"\n"
	"Kinds: W and R are the target's write and read word, 'op record' is\n"
	"the issuing thread's own line. 'lines' counts 64-byte lines that the\n"
	"step is the first to write.\n";

/* ---- the accesses of one step ---- */

struct tally {
	uint64_t loads, stores, atomics, bytes, lines, wakes;
};

struct step {
	enum device_step step; /* STEP_NONE: after the last one */
	struct tally kind[HOST_KINDS];
};

static void tally_add(struct tally *t, const struct counting_entry *e)
{
	t->loads += e->what == COUNTING_LOAD;
	t->stores += e->what == COUNTING_STORE || e->what == COUNTING_COPY;
	t->atomics += e->what == COUNTING_ATOMIC;
	t->wakes += e->what == COUNTING_WAKE;
	t->bytes += e->bytes;
	t->lines += e->lines;
}

static bool tally_empty(const struct tally *t)
{
	return t->loads + t->stores + t->atomics + t->wakes == 0;
}

/* The next step of a trace, from *at on; false at its end. */
static bool step_next(
	const struct explain_phase *p, uint32_t *at, struct step *s)
{
	bool any = false;
	uint32_t end = p->counting.trace_count < EXPLAIN_TRACE_MAX
			       ? p->counting.trace_count
			       : EXPLAIN_TRACE_MAX;
	memset(s, 0, sizeof(*s));
	while (*at < end) {
		const struct counting_entry *e = &p->trace[(*at)++];
		any = true;
		if (e->what == COUNTING_STEP) {
			s->step = e->step;
			return true;
		}
		tally_add(&s->kind[e->kind], e);
	}
	return any;
}

/* ---- tables ---- */

static void print_tally(const struct tally *t, const char *kind)
{
	printf(" %-12s %5" PRIu64 " %6" PRIu64 " %7" PRIu64 " %7" PRIu64
	       " %5" PRIu64 "\n",
		kind, t->loads, t->stores, t->atomics, t->bytes, t->lines);
}

static void print_step(const struct step *s)
{
	char number[8] = "";
	const char *name = "";
	bool begun = false;
	if (s->step) {
		snprintf(number, sizeof(number), "%d", s->step);
		name = device_step_name(s->step);
	}
	for (int k = 0; k < HOST_KINDS; k++) {
		if (tally_empty(&s->kind[k]))
			continue;
		printf("  %2s  %-24s", begun ? "" : number, begun ? "" : name);
		print_tally(&s->kind[k], counting_kind_name((enum host_kind)k));
		begun = true;
	}
	if (!begun)
		printf("  %2s  %s\n", number, name);
}

static void tallies_sum(const struct step *s, struct tally *total)
{
	for (int k = 0; k < HOST_KINDS; k++) {
		total[k].loads += s->kind[k].loads;
		total[k].stores += s->kind[k].stores;
		total[k].atomics += s->kind[k].atomics;
		total[k].bytes += s->kind[k].bytes;
		total[k].lines += s->kind[k].lines;
		total[k].wakes += s->kind[k].wakes;
	}
}

static void print_phase(const struct explain_phase *p)
{
	struct step s, total = { .step = STEP_NONE };
	bool begun = false;
	printf("\n%s\n  %2s  %-24s %-12s %5s %6s %7s %7s %5s\n", p->name, "#",
		"step", "kind", "loads", "stores", "atomics", "bytes", "lines");
	for (uint32_t at = 0; step_next(p, &at, &s);) {
		print_step(&s);
		tallies_sum(&s, total.kind);
	}
	for (int k = 0; k < HOST_KINDS; k++) {
		if (tally_empty(&total.kind[k]))
			continue;
		printf("  %2s  %-24s", "", begun ? "" : "total");
		print_tally(
			&total.kind[k], counting_kind_name((enum host_kind)k));
		begun = true;
	}
}

static void print_fields(
	const char *title, const struct decode_field *fields, size_t count)
{
	printf("\n%s\n", title);
	for (size_t i = 0; i < count; i++) {
		const struct decode_field *f = &fields[i];
		printf("  word %u  %2u:%-2u  %-18s 0x%" PRIx64 "%s%s\n",
			f->word, f->high, f->low, f->name, f->value,
			f->meaning[0] ? "  " : "", f->meaning);
	}
}

static void print_explanation(const struct explanation *e)
{
	struct decode_field fields[DECODE_FIELDS_MAX];
	printf("%s of %" PRIu64 " bytes, direct path\n", e->instruction,
		e->bytes);
	for (uint32_t i = 0; i < e->phases; i++)
		print_phase(&e->phase[i]);
	if (e->vci.word[0])
		print_fields("the same as a work request (VCI)", fields,
			decode_vci(&e->vci, fields));
	for (uint32_t i = 0; i < e->entries; i++) {
		char title[64];
		snprintf(title, sizeof(title), "notification (NQE) %s",
			e->entry[i].name);
		print_fields(
			title, fields, decode_nqe(&e->entry[i].nqe, fields));
	}
	printf("\n%s\n", e->meaning);
}

/* ---- JSON ---- */

static void json_tally(struct json *j, const struct tally *t, const char *kind)
{
	json_object_begin(j);
	json_put_string(j, "kind", kind);
	json_put_number(j, "loads", t->loads);
	json_put_number(j, "stores", t->stores);
	json_put_number(j, "atomics", t->atomics);
	json_put_number(j, "bytes", t->bytes);
	json_put_number(j, "lines_written", t->lines);
	json_put_number(j, "wakes", t->wakes);
	json_object_end(j);
}

static void json_tallies(
	struct json *j, const char *key, const struct tally *tallies)
{
	json_key(j, key);
	json_array_begin(j);
	for (int k = 0; k < HOST_KINDS; k++)
		if (!tally_empty(&tallies[k]))
			json_tally(j, &tallies[k],
				counting_kind_name((enum host_kind)k));
	json_array_end(j);
}

static void json_phase(struct json *j, const struct explain_phase *p)
{
	struct step s, total = { .step = STEP_NONE };
	json_object_begin(j);
	json_put_string(j, "phase", p->name);
	json_key(j, "steps");
	json_array_begin(j);
	for (uint32_t at = 0; step_next(p, &at, &s);) {
		json_object_begin(j);
		json_put_number(j, "step", s.step);
		json_put_string(j, "name", device_step_name(s.step));
		json_tallies(j, "accesses", s.kind);
		json_object_end(j);
		tallies_sum(&s, total.kind);
	}
	json_array_end(j);
	json_tallies(j, "totals", total.kind);
	json_put_number(
		j, "shared_lines_written", counting_lines_shared(&p->counting));
	json_object_end(j);
}

static void json_fields(
	struct json *j, const struct decode_field *fields, size_t count)
{
	json_array_begin(j);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(j);
		json_put_number(j, "word", fields[i].word);
		json_put_number(j, "high", fields[i].high);
		json_put_number(j, "low", fields[i].low);
		json_put_string(j, "field", fields[i].name);
		json_key(j, "value");
		json_word(j, fields[i].value);
		if (fields[i].meaning[0])
			json_put_string(j, "meaning", fields[i].meaning);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_explanation(struct json *j, const struct explanation *e)
{
	struct decode_field fields[DECODE_FIELDS_MAX];
	json_object_begin(j);
	json_put_string(j, "instruction", e->instruction);
	json_put_number(j, "bytes", e->bytes);
	json_key(j, "phases");
	json_array_begin(j);
	for (uint32_t i = 0; i < e->phases; i++)
		json_phase(j, &e->phase[i]);
	json_array_end(j);
	if (e->vci.word[0]) {
		json_key(j, "vci");
		json_fields(j, fields, decode_vci(&e->vci, fields));
	}
	json_key(j, "notifications");
	json_array_begin(j);
	for (uint32_t i = 0; i < e->entries; i++) {
		json_object_begin(j);
		json_put_string(j, "where", e->entry[i].name);
		json_key(j, "fields");
		json_fields(j, fields, decode_nqe(&e->entry[i].nqe, fields));
		json_object_end(j);
	}
	json_array_end(j);
	json_put_string(j, "meaning", e->meaning);
	json_object_end(j);
}

/* ---- the command line ---- */

struct options {
	const char *instruction;
	uint64_t bytes;
	bool bytes_given, json;
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
		else if (c == 'b' && bytes_parse(optarg, &o->bytes))
			o->bytes_given = true;
		else
			goto err_usage;
	}
	if (optind < argc)
		o->instruction = argv[optind++];
	if (optind == argc &&
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
		if (begun && !o->json)
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

int cli_explain(int argc, char **argv)
{
	struct options o = { .instruction = "fast_send" };
	struct json j;
	int status = options_parse(argc, argv, &o);
	if (status >= 0)
		return status;
	if (!o.json) {
		status = explain_selected(&o, NULL);
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
