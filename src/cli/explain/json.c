/* SPDX-License-Identifier: BSD-2-Clause */
/* What was found out about an instruction, for programs. */
#include "cay/error.h"
#include "cli/decode.h"
#include "cli/explain/explain.h"

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
	struct phase_sum sum = phase_sum(p);
	json_object_begin(j);
	json_put_string(j, "phase", p->name);
	json_put_string(j, "who", p->who);
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
	json_put_number(j, "shared_lines_read", sum.lines_read);
	json_put_number(j, "shared_lines_written", sum.lines_written);
	json_put_number(j, "shared_atomics", sum.atomics);
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

static void json_errors(struct json *j, uint32_t errors)
{
	json_key(j, "errors");
	json_array_begin(j);
	for (unsigned i = 1; i < CAY_ERROR_COUNT; i++)
		if (errors & 1u << i) {
			json_object_begin(j);
			json_put_number(j, "code", i);
			json_put_string(j, "name", cay_error_name(i));
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
	json_errors(j, e->errors);
	json_put_string(j, "meaning", e->meaning);
	json_object_end(j);
}
