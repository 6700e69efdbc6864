/* SPDX-License-Identifier: BSD-2-Clause */
/* What was found out about an instruction, for people. */
#include <inttypes.h>
#include <stdio.h>

#include "cay/error.h"
#include "cli/decode.h"
#include "cli/explain/explain.h"

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

static void print_errors(const struct explanation *e)
{
	printf("\nit can end in\n");
	for (unsigned i = 1; i < CAY_ERROR_COUNT; i++)
		if (e->errors & 1u << i)
			printf("  %2u  %-26s %s\n", i, cay_error_name(i),
				cay_error_text(i));
}

void print_explanation(const struct explanation *e)
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
	print_errors(e);
	printf("\n%s\n", e->meaning);
}
