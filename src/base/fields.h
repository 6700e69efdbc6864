/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records as tables of fields. One table of a record yields its JSON object,
 * its line of CSV and its row of a text table:
 *
 *	static const struct field port_fields[] = {
 *		FIELD(struct port, vpid, "vpid", .title = "vpid", .width = 5),
 *		FIELD(struct port, name, "name", .kind = FIELD_CHARS),
 *		FIELDS_END,
 *	};
 */
#ifndef CAY_BASE_FIELDS_H
#define CAY_BASE_FIELDS_H

#include <stddef.h>

#include "base/json.h"

#define FIELD_BYTES 256 /* a cell of a text table, with the final 0 */
#define FIELDS_MAX  24	/* columns of a text table */

enum field_kind {
	FIELD_NUMBER,  /* unsigned, of `size` bytes */
	FIELD_COUNT,   /* uint32_t or uint64_t; all ones is unknown */
	FIELD_BOOL,    /* zero or not, of `size` bytes */
	FIELD_SIZE,    /* a number of bytes; in text, "3.2 MiB" */
	FIELD_REAL,    /* double; not finite is unknown */
	FIELD_NS,      /* double, nanoseconds; in text, "33.8" or "228" */
	FIELD_LOAD,    /* double; a small one keeps its significant digits */
	FIELD_RATE,    /* double, per second; in text, "12.3K" */
	FIELD_SECONDS, /* double; in text "3 min 20 s", and empty for 0 */
	FIELD_STRING,  /* const char *; NULL is unknown */
	FIELD_CHARS,   /* char[]; empty is unknown */
};

/*
 * An unknown value is null in JSON, empty in CSV, and "-" in text ("?" for a
 * count). A field without a key is not in JSON, one without `csv` not in CSV,
 * one without a title not in the text table.
 */
struct field {
	const char *key;    /* of the JSON object */
	const char *object; /* of JSON: object within the record's object */
	const char *csv;    /* heading of the CSV column */
	const char *title;  /* heading of the text column */
	int width; /* of the text column, at least; negative: left-aligned */
	int width_max; /* of the text column on a screen; 0: no limit */
	enum field_kind kind;
	size_t offset, size; /* of the value in the record */
	bool optional;	     /* JSON leaves it out if it is unknown */
	int decimals;	     /* of a real */
	bool (*known)(const void *record);		 /* NULL: always */
	void (*json)(struct json *, const void *record); /* instead of kind */
};

#define FIELD(type, member, key_, ...)                                 \
	{                                                              \
		.key = key_, .offset = offsetof(type, member),         \
		.size = sizeof(((const type *)0)->member), __VA_ARGS__ \
	}
#define FIELDS_END          \
	{                   \
		.key = NULL \
	}

/* Members of an object that has begun. */
void fields_json(struct json *, const struct field *, const void *record);

/* An array of objects, as the member `key` of an object that has begun. */
void fields_json_array(struct json *, const char *key, const struct field *,
	const void *records, size_t count, size_t size);

/* Prints the line of a record, or the headings if it is NULL. */
void fields_csv(FILE *, const struct field *, const void *record);

/*
 * Text tables. fields_widths() returns the widths of the table, fields_widen()
 * enlarges them to fit a record, and fields_line() writes the record, or the
 * headings if it is NULL.
 */
void fields_widths(const struct field *, int widths[FIELDS_MAX]);
void fields_widen(
	const struct field *, const void *record, int widths[FIELDS_MAX]);
void fields_line(const struct field *, const void *record,
	const int widths[FIELDS_MAX], char *line, size_t size);

/* Prints "  title: value" for each number that is not 0. */
void fields_list(FILE *, const struct field *, const void *record);

/* Prints headings and rows, as wide as the longest cells. */
void fields_print(FILE *, const struct field *, const void *records,
	size_t count, size_t size);

/* ---- text of values; all return `text` ---- */

const char *bytes_text(uint64_t bytes, char text[FIELD_BYTES]);
const char *load_text(double load, char text[FIELD_BYTES]);
const char *rate_text(double per_second, char text[FIELD_BYTES]);
const char *seconds_text(double seconds, char text[FIELD_BYTES]);

/* Returns "s" unless the count is 1. */
const char *plural(uint64_t count);

#endif
