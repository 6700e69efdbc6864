/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of docs/instructions.md, as Markdown. Who does what stands in the order
 * of the phases, and so do the numbers: "3 / 1" are three of the first phase
 * and one of the second.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cay/error.h"
#include "cli/explain/explain.h"

void table_heading(void)
{
	puts("| instruction | bytes | steps | lines read | lines written | "
	     "atomics | errors |\n"
	     "|---|---|---|---|---|---|---|");
}

static void row_steps(const struct explain_phase *p)
{
	bool begun = false;
	struct step s;
	printf("%s: ", p->who);
	for (uint32_t at = 0; step_next(p, &at, &s);) {
		if (s.step == STEP_NONE)
			continue;
		printf("%s%s", begun ? ", " : "", device_step_name(s.step));
		begun = true;
	}
}

static void row_numbers(
	const struct explanation *e, uint64_t (*pick)(const struct phase_sum *))
{
	printf(" |");
	for (uint32_t i = 0; i < e->phases; i++) {
		struct phase_sum sum = phase_sum(&e->phase[i]);
		printf("%s %" PRIu64, i ? " /" : "", pick(&sum));
	}
}

static uint64_t pick_read(const struct phase_sum *s)
{
	return s->lines_read;
}

static uint64_t pick_written(const struct phase_sum *s)
{
	return s->lines_written;
}

static uint64_t pick_atomics(const struct phase_sum *s)
{
	return s->atomics;
}

/* Codes, and ranges of them. */
static void row_errors(uint32_t errors)
{
	bool begun = false;
	for (unsigned i = 0; i < CAY_ERROR_COUNT; i++) {
		if (!(errors & 1u << i))
			continue;
		unsigned last = i;
		while (errors & 1u << (last + 1))
			last++;
		printf("%s%u", begun ? ", " : "", i);
		if (last > i)
			printf("%s%u", last > i + 1 ? "–" : ", ", last);
		begun = true;
		i = last;
	}
}

void table_row(const struct explanation *e)
{
	printf("| %s | %" PRIu64 " | ", e->instruction, e->bytes);
	for (uint32_t i = 0; i < e->phases; i++) {
		if (i)
			printf("<br>");
		row_steps(&e->phase[i]);
	}
	row_numbers(e, pick_read);
	row_numbers(e, pick_written);
	row_numbers(e, pick_atomics);
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
