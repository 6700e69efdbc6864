/* SPDX-License-Identifier: BSD-2-Clause */
/* See machine.h. */
#include "cli/machine.h"

#include <string.h>

#include "base/fields.h"

bool machine_preset_parse(struct machine_config *to, const char *text)
{
	const struct machine_config *preset = machine_preset(text);
	if (preset)
		*to = *preset;
	return preset;
}

bool machine_set_parse(struct machine_config *to, const char *text)
{
	const char *equals = strchr(text, '=');
	uint64_t value;
	if (!equals || !option_number(equals + 1, UINT32_MAX, &value))
		return false;
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		const struct machine_parameter *p = &machine_parameters[i];
		if (strncmp(p->name, text, (size_t)(equals - text)) != 0 ||
			p->name[equals - text])
			continue;
		struct machine_config changed = *to;
		*(uint32_t *)(void *)((char *)&changed + p->offset) =
			(uint32_t)value;
		if (machine_config_invalid(&changed))
			return false;
		*to = changed;
		return true;
	}
	return false;
}

/* ---- accesses ---- */

struct counted_row {
	const char *kind;
	struct counting_sum sum;
};

static const struct field counted_fields[] = {
	FIELD(struct counted_row, kind, "kind", .title = "accesses",
		.kind = FIELD_STRING, .width = -16),
	FIELD(struct counted_row, sum.loads, "loads", .title = "loads",
		.width = 10),
	FIELD(struct counted_row, sum.stores, "stores", .title = "stores",
		.width = 10),
	FIELD(struct counted_row, sum.atomics, "atomics", .title = "atomics",
		.width = 10),
	FIELD(struct counted_row, sum.copied_bytes, "copied_bytes",
		.title = "bytes copied", .width = 14),
	FIELDS_END,
};

static size_t counted_rows(
	const struct counting *c, struct counted_row rows[HOST_KINDS])
{
	size_t count = 0;
	for (int k = 0; k < HOST_KINDS; k++) {
		const struct counting_sum *s = &c->kind[k];
		if (s->loads + s->stores + s->atomics + s->copied_bytes)
			rows[count++] = (struct counted_row){
				counting_kind_name((enum host_kind)k), *s
			};
	}
	return count;
}

void counted_print(const struct counting *c)
{
	struct counted_row rows[HOST_KINDS];
	size_t count = counted_rows(c, rows);
	int widths[FIELDS_MAX];
	char line[160];
	fields_widths(counted_fields, widths);
	fields_line(counted_fields, NULL, widths, line, sizeof(line));
	printf("  %s\n", line);
	for (size_t i = 0; i < count; i++) {
		fields_line(
			counted_fields, &rows[i], widths, line, sizeof(line));
		printf("  %s\n", line);
	}
}

void counted_json(struct json *j, const char *key, const struct counting *c)
{
	struct counted_row rows[HOST_KINDS];
	size_t count = counted_rows(c, rows);
	fields_json_array(j, key, counted_fields, rows, count, sizeof(rows[0]));
}
