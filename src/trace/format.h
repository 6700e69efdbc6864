/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of a trace file as tables, which the parser and the writer share:
 * the instructions, the fields of each, the values of a field.
 */
#ifndef CAY_TRACE_FORMAT_H
#define CAY_TRACE_FORMAT_H

#include "trace/trace.h"

#define FORMAT_HEADER "cay-trace 2"
#define FORMAT_FIRST  "cay-trace 1" /* without durations and processes */
#define FORMAT_PART   "cay-trace-part 1"

enum format_type {
	FORMAT_NUMBER, /* written in decimal */
	FORMAT_WORD,   /* written in hexadecimal */
	FORMAT_LIST,   /* bits by name, separated by commas */
	FORMAT_NAME,   /* one name out of several */
	FORMAT_DATA,   /* bytes in hexadecimal */
};

struct format_name {
	const char *name; /* NULL ends the array */
	uint64_t value;
};

struct format_field {
	const char *name;
	enum format_type type;
	size_t at;   /* offset in struct trace_instruction */
	size_t size; /* of the member: 1, 2, 4 or 8 bytes */
	uint64_t max;
	const struct format_name *names; /* of FORMAT_LIST and FORMAT_NAME */
};

enum format_field_id {
	FIELD_WINDOW,
	FIELD_KEY,
	FIELD_OFFSET,
	FIELD_BASE,
	FIELD_BYTES,
	FIELD_RIGHTS,
	FIELD_ADDEND,
	FIELD_COMPARE,
	FIELD_SWAP,
	FIELD_WORD,
	FIELD_ENABLES,
	FIELD_TO,
	FIELD_MODE,
	FIELD_COOKIE,
	FIELD_TAG,
	FIELD_API_TAG,
	FIELD_FLAGS,
	FIELD_SEED,
	FIELD_DATA,
	FIELD_WORDS,
	FIELD_NODE, /* in the files of the recorder only */
	FORMAT_FIELDS,
};

struct format_kind {
	const char *name;
	bool peer;		    /* has a target port */
	bool event;		    /* default of the field `to` */
	uint32_t allowed, required; /* bits 1 << enum format_field_id */
};

extern const struct format_field format_fields[FORMAT_FIELDS];
extern const struct format_kind format_kinds[TRACE_KINDS];

/* The value of a field in an instruction. */
uint64_t format_get(
	const struct format_field *, const struct trace_instruction *);
void format_set(const struct format_field *, struct trace_instruction *,
	uint64_t value);

#endif
