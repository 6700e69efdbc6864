/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints records by the tables of fields.h. */
#include "base/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define LOAD_SMALL    0.001
#define LOAD_DECIMALS 6
#define RATE_DECIMALS 3

/* ---- text of values ---- */

const char *bytes_text(uint64_t bytes, char text[FIELD_BYTES])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	unsigned unit = 0;
	while (value >= 1024 && unit + 1 < ARRAY_COUNT(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, FIELD_BYTES, unit && value < 100 ? "%.1f %s" : "%.0f %s",
		value, units[unit]);
	return text;
}

/* Four decimals, or three significant digits if it is small. */
const char *load_text(double load, char text[FIELD_BYTES])
{
	snprintf(text, FIELD_BYTES,
		load > 0 && load < LOAD_SMALL ? "%.3g" : "%.4f", load);
	return text;
}

/* "12.3K", or "-" if it is unknown. */
const char *rate_text(double rate, char text[FIELD_BYTES])
{
	static const char units[] = " KMGT";
	unsigned unit = 0;
	while (rate >= 999.5 && unit + 2 < sizeof(units)) {
		rate /= 1000;
		unit++;
	}
	bool fraction = rate > 0 && (unit ? rate < 99.95 : rate < 9.95);
	if (isfinite(rate))
		snprintf(text, FIELD_BYTES, fraction ? "%.1f%.1s" : "%.0f%.1s",
			rate, unit ? &units[unit] : "");
	else
		snprintf(text, FIELD_BYTES, "-");
	return text;
}

/* "3 min 20 s" */
const char *seconds_text(double seconds, char text[FIELD_BYTES])
{
	uint64_t s = (uint64_t)seconds;
	if (s >= 86400)
		snprintf(text, FIELD_BYTES, "%" PRIu64 " d %" PRIu64 " h",
			s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(text, FIELD_BYTES, "%" PRIu64 " h %" PRIu64 " min",
			s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(text, FIELD_BYTES, "%" PRIu64 " min %" PRIu64 " s",
			s / 60, s % 60);
	else
		snprintf(text, FIELD_BYTES, "%.1f s", seconds);
	return text;
}

const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- values of a record ---- */

static uint64_t number_of(const struct field *f, const void *record)
{
	const void *at = (const char *)record + f->offset;
	switch (f->size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static double real_of(const struct field *f, const void *record)
{
	return *(const double *)((const char *)record + f->offset);
}

static const char *string_of(const struct field *f, const void *record)
{
	const char *at = (const char *)record + f->offset;
	if (f->kind == FIELD_CHARS)
		return *at ? at : NULL;
	return *(const char *const *)at;
}

static bool known(const struct field *f, const void *record)
{
	if (f->known && !f->known(record))
		return false;
	switch (f->kind) {
	case FIELD_COUNT:
		return number_of(f, record) !=
		       (f->size == 4 ? UINT32_MAX : UINT64_MAX);
	case FIELD_REAL:
	case FIELD_NS:
	case FIELD_LOAD:
	case FIELD_RATE:
	case FIELD_SECONDS:
		return isfinite(real_of(f, record));
	case FIELD_STRING:
	case FIELD_CHARS:
		return string_of(f, record);
	default:
		return true;
	}
}

static bool at_end(const struct field *f)
{
	return !f->key && !f->title && !f->csv;
}

/* ---- JSON ---- */

static void value_json(
	struct json *j, const struct field *f, const void *record)
{
	if (f->json) {
		f->json(j, record);
		return;
	}
	if (!known(f, record)) {
		json_string(j, NULL);
		return;
	}
	switch (f->kind) {
	case FIELD_BOOL:
		json_bool(j, number_of(f, record));
		break;
	case FIELD_REAL:
	case FIELD_NS:
		json_fixed(j, real_of(f, record), f->decimals);
		break;
	case FIELD_RATE:
	case FIELD_SECONDS:
		json_fixed(j, real_of(f, record), RATE_DECIMALS);
		break;
	case FIELD_LOAD:
		if (real_of(f, record) > 0 && real_of(f, record) < LOAD_SMALL)
			json_real(j, real_of(f, record));
		else
			json_fixed(j, real_of(f, record), LOAD_DECIMALS);
		break;
	case FIELD_STRING:
	case FIELD_CHARS:
		json_string(j, string_of(f, record));
		break;
	default:
		json_number(j, number_of(f, record));
	}
}

void fields_json(struct json *j, const struct field *f, const void *record)
{
	const char *object = NULL;
	for (; !at_end(f); f++) {
		if (!f->key || (f->optional && !known(f, record)))
			continue;
		if (object && (!f->object || strcmp(object, f->object) != 0)) {
			json_object_end(j);
			object = NULL;
		}
		if (f->object && !object) {
			json_key(j, f->object);
			json_object_begin(j);
			object = f->object;
		}
		json_key(j, f->key);
		value_json(j, f, record);
	}
	if (object)
		json_object_end(j);
}

void fields_json_array(struct json *j, const char *key, const struct field *f,
	const void *records, size_t count, size_t size)
{
	json_key(j, key);
	json_array_begin(j);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(j);
		fields_json(j, f, (const char *)records + i * size);
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- text and CSV ---- */

static const char *cell_text(
	const struct field *f, const void *record, char text[FIELD_BYTES])
{
	if (!known(f, record))
		return f->kind == FIELD_COUNT ? "?" : "-";
	switch (f->kind) {
	case FIELD_STRING:
	case FIELD_CHARS:
		return string_of(f, record);
	case FIELD_SIZE:
		return bytes_text(number_of(f, record), text);
	case FIELD_REAL:
		snprintf(text, FIELD_BYTES, "%.*f", f->decimals,
			real_of(f, record));
		return text;
	case FIELD_NS:
		snprintf(text, FIELD_BYTES,
			real_of(f, record) < 99.95 ? "%.1f" : "%.0f",
			real_of(f, record));
		return text;
	case FIELD_LOAD:
		return load_text(real_of(f, record), text);
	case FIELD_RATE:
		return rate_text(real_of(f, record), text);
	case FIELD_SECONDS:
		return real_of(f, record) > 0
			       ? seconds_text(real_of(f, record), text)
			       : "";
	default:
		snprintf(text, FIELD_BYTES, "%" PRIu64, number_of(f, record));
		return text;
	}
}

void fields_csv(FILE *to, const struct field *f, const void *record)
{
	const char *separator = "";
	char text[FIELD_BYTES];
	for (; !at_end(f); f++) {
		if (!f->csv)
			continue;
		fputs(separator, to);
		separator = ",";
		if (!record)
			fputs(f->csv, to);
		else if (f->kind == FIELD_LOAD)
			fprintf(to, "%.6g", real_of(f, record));
		else if (known(f, record))
			fputs(cell_text(f, record, text), to);
	}
	fputc('\n', to);
}

void fields_widths(const struct field *f, int widths[FIELDS_MAX])
{
	for (; !at_end(f); f++) {
		if (!f->title)
			continue;
		int title = (int)strlen(f->title);
		*widths++ = title > abs(f->width) ? title : abs(f->width);
	}
}

void fields_widen(
	const struct field *f, const void *record, int widths[FIELDS_MAX])
{
	char text[FIELD_BYTES];
	for (; !at_end(f); f++) {
		if (!f->title)
			continue;
		int width = (int)strlen(cell_text(f, record, text));
		*widths = width > *widths ? width : *widths;
		widths++;
	}
}

void fields_line(const struct field *f, const void *record,
	const int widths[FIELDS_MAX], char *line, size_t size)
{
	char text[FIELD_BYTES];
	size_t used = 0;
	bool right = false;
	*line = 0;
	for (; !at_end(f) && used + 1 < size; f++) {
		if (!f->title)
			continue;
		const char *cell = record ? cell_text(f, record, text)
					  : f->title;
		/* Two blanks keep a left-aligned column off its neighbour. */
		const char *gap = !used			  ? ""
				  : right && f->width < 0 ? "  "
							  : " ";
		int n = snprintf(line + used, size - used,
			f->width < 0 ? "%s%-*.*s" : "%s%*.*s", gap, *widths,
			f->width_max ? *widths : FIELD_BYTES, cell);
		right = f->width >= 0;
		widths++;
		used += bits_min((size_t)n, size - used - 1);
	}
	while (used && line[used - 1] == ' ')
		line[--used] = 0;
}

void fields_list(FILE *to, const struct field *f, const void *record)
{
	for (; !at_end(f); f++)
		if (f->title && number_of(f, record))
			fprintf(to, "  %s: %" PRIu64 "\n", f->title,
				number_of(f, record));
}

void fields_print(FILE *to, const struct field *f, const void *records,
	size_t count, size_t size)
{
	const char *at = records;
	int widths[FIELDS_MAX];
	char line[1024];
	fields_widths(f, widths);
	for (size_t i = 0; i < count; i++)
		fields_widen(f, at + i * size, widths);
	for (size_t i = 0; i <= count; i++) {
		fields_line(f, i ? at + (i - 1) * size : NULL, widths, line,
			sizeof(line));
		fprintf(to, "%s\n", line);
	}
}
