/* SPDX-License-Identifier: BSD-2-Clause */
/* The explanation of an instruction as text, JSON and a row of Markdown. */
#include <inttypes.h>
#include <stdio.h>

#include "base/fields.h"
#include "cay/error.h"
#include "cli/decode.h"
#include "cli/explain/explain.h"
#include "cli/options.h"

/* A row of the table of steps. */
struct tally_row {
	const char *number, *name, *kind;
	struct tally t;
};

static const struct field tally_fields[] = {
	FIELD(struct tally_row, number, NULL, .title = "#",
		.kind = FIELD_STRING, .width = 4),
	FIELD(struct tally_row, name, NULL, .title = "step",
		.kind = FIELD_STRING, .width = -24),
	FIELD(struct tally_row, kind, "kind", .title = "kind",
		.kind = FIELD_STRING, .width = -12),
	FIELD(struct tally_row, t.loads, "loads", .title = "loads"),
	FIELD(struct tally_row, t.stores, "stores", .title = "stores"),
	FIELD(struct tally_row, t.atomics, "atomics", .title = "atomics"),
	FIELD(struct tally_row, t.bytes, "bytes", .title = "bytes", .width = 7),
	FIELD(struct tally_row, t.lines, "lines_written", .title = "lines"),
	FIELD(struct tally_row, t.wakes, "wakes"),
	FIELDS_END,
};

/* Totals of a phase, in JSON and in Markdown. */
static const struct field total_fields[] = {
	FIELD(struct phase_sum, lines_read, "shared_lines_read",
		.title = "lines read"),
	FIELD(struct phase_sum, lines_written, "shared_lines_written",
		.title = "lines written"),
	FIELD(struct phase_sum, atomics, "shared_atomics", .title = "atomics"),
	FIELDS_END,
};

/* ---- text ---- */

static void print_row(const struct tally_row *row)
{
	int widths[FIELDS_MAX];
	char line[128];
	fields_widths(tally_fields, widths);
	fields_line(tally_fields, row, widths, line, sizeof(line));
	puts(line);
}

/* Prints a line for each kind of access; the first has number and name. */
static void print_tallies(
	const char *number, const char *name, const struct tally *tallies)
{
	struct tally_row row = { .number = number, .name = name };
	for (int k = 0; k < HOST_KINDS; k++) {
		if (tally_empty(&tallies[k]))
			continue;
		row.kind = counting_kind_name((enum host_kind)k);
		row.t = tallies[k];
		print_row(&row);
		row.number = row.name = "";
	}
	if (!row.kind)
		printf("%4s  %s\n", number, name);
}

static void print_phase(const struct explain_phase *p)
{
	struct step s;
	struct tally total[HOST_KINDS] = { 0 };
	printf("\n%s\n", p->name);
	print_row(NULL);
	for (uint32_t at = 0; step_next(p, &at, &s);) {
		char number[8] = "";
		if (s.step)
			snprintf(number, sizeof(number), "%d", s.step);
		print_tallies(
			number, s.step ? device_step_name(s.step) : "", s.kind);
		tallies_add(total, s.kind);
	}
	print_tallies("", "total", total);
}

void print_fields(
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

void print_explanation(const struct explanation *e)
{
	struct decode_field fields[DECODE_FIELDS_MAX];
	printf("%s of %" PRIu64 " byte%s, direct path\n\n", e->instruction,
		e->bytes, plural(e->bytes));
	help_wrap(stdout, e->meaning);
	for (uint32_t i = 0; i < e->phases; i++)
		print_phase(&e->phase[i]);
	if (e->vci.word[0])
		print_fields("equivalent work request (VCI)", fields,
			decode_vci(&e->vci, fields));
	for (uint32_t i = 0; i < e->entries; i++) {
		char title[64];
		snprintf(title, sizeof(title), "notification (NQE) %s",
			e->entry[i].name);
		print_fields(
			title, fields, decode_nqe(&e->entry[i].nqe, fields));
	}
	printf("\npossible errors%s\n",
		e->errors ? "" : ": none, the call returns all of them");
	for (unsigned i = 1; i < CAY_ERROR_COUNT; i++)
		if (e->errors & 1u << i)
			printf("  %2u  %-26s %s\n", i, cay_error_name(i),
				cay_error_text(i));
}

/* ---- JSON ---- */

static void json_tallies(
	struct json *j, const char *key, const struct tally *tallies)
{
	json_key(j, key);
	json_array_begin(j);
	for (int k = 0; k < HOST_KINDS; k++) {
		if (tally_empty(&tallies[k]))
			continue;
		struct tally_row row = { .kind = counting_kind_name(
						 (enum host_kind)k),
			.t = tallies[k] };
		json_object_begin(j);
		fields_json(j, tally_fields, &row);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_phase(struct json *j, const struct explain_phase *p)
{
	struct step s;
	struct tally total[HOST_KINDS] = { 0 };
	struct phase_sum sum = phase_sum(p);
	json_object_begin(j);
	json_put_string(j, "phase", p->name);
	json_put_string(j, "side", p->side);
	json_key(j, "steps");
	json_array_begin(j);
	for (uint32_t at = 0; step_next(p, &at, &s);) {
		json_object_begin(j);
		json_put_number(j, "step", s.step);
		json_put_string(j, "name", device_step_name(s.step));
		json_tallies(j, "accesses", s.kind);
		json_object_end(j);
		tallies_add(total, s.kind);
	}
	json_array_end(j);
	json_tallies(j, "totals", total);
	fields_json(j, total_fields, &sum);
	json_object_end(j);
}

void json_fields(
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

void json_explanation(struct json *j, const struct explanation *e)
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
	json_key(j, "errors");
	json_array_begin(j);
	for (unsigned i = 1; i < CAY_ERROR_COUNT; i++)
		if (e->errors & 1u << i) {
			json_object_begin(j);
			json_put_number(j, "code", i);
			json_put_string(j, "name", cay_error_name(i));
			json_object_end(j);
		}
	json_array_end(j);
	json_put_string(j, "meaning", e->meaning);
	json_object_end(j);
}

/* ---- Markdown: the rows of docs/instructions.md ---- */

void table_head(void)
{
	printf("| instruction | bytes | steps |");
	for (const struct field *f = total_fields; f->title; f++)
		printf(" %s |", f->title);
	puts(" errors |\n|---|---|---|---|---|---|---|");
}

/* Error codes; consecutive ones as a range. */
static void row_errors(uint32_t errors)
{
	const char *separator = "";
	for (unsigned i = 0; i < CAY_ERROR_COUNT; i++) {
		if (!(errors & 1u << i))
			continue;
		unsigned last = i;
		while (errors & 1u << (last + 1))
			last++;
		printf("%s%u", separator, i);
		if (last > i)
			printf("%s%u", last > i + 1 ? "–" : ", ", last);
		separator = ", ";
		i = last;
	}
}

/* Steps and numbers are in the order of the phases: "3 / 1" is 3, then 1. */
void table_row(const struct explanation *e)
{
	struct step s;
	printf("| %s | %" PRIu64 " | ", e->instruction, e->bytes);
	for (uint32_t i = 0; i < e->phases; i++) {
		const char *separator = "";
		printf("%s%s: ", i ? "<br>" : "", e->phase[i].side);
		for (uint32_t at = 0; step_next(&e->phase[i], &at, &s);) {
			if (s.step == STEP_NONE)
				continue;
			printf("%s%s", separator, device_step_name(s.step));
			separator = ", ";
		}
	}
	for (const struct field *f = total_fields; f->title; f++) {
		printf(" |");
		for (uint32_t i = 0; i < e->phases; i++) {
			struct phase_sum sum = phase_sum(&e->phase[i]);
			printf("%s %" PRIu64, i ? " /" : "",
				*(const uint64_t *)((const char *)&sum +
						    f->offset));
		}
	}
	printf(" | ");
	row_errors(e->errors);
	puts(" |");
}

void table_errors(void)
{
	puts("\n| code | error | what |\n|---|---|---|");
	for (unsigned i = 1; i < CAY_ERROR_COUNT; i++)
		printf("| %u | `%s` | %s |\n", i, cay_error_name(i),
			cay_error_text(i));
}
