/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file's grammar as tables, so that it is read and written by one truth:
 * which instructions there are, which fields each has, what a field may hold.
 */
#ifndef CAY_TRACE_FORMAT_H
#define CAY_TRACE_FORMAT_H

#include "trace/trace.h"

#define FORMAT_HEADER "cay-trace 1"
#define FORMAT_PART   "cay-trace-part 1"

enum format_type {
	FORMAT_NUMBER, /* written in decimal */
	FORMAT_WORD,   /* written in hexadecimal */
	FORMAT_LIST,   /* an or of named bits, with commas between */
	FORMAT_NAME,   /* one of several */
	FORMAT_DATA,   /* bytes in hexadecimal */
};

struct format_name {
	const char *name; /* NULL ends a list of them */
	uint64_t value;
};

struct format_field {
	const char *name;
	enum format_type type;
	size_t at;   /* in struct trace_instruction */
	size_t size; /* of the member: 1, 2, 4 or 8 bytes */
	uint64_t max;
	const struct format_name *names; /* of a list or a name */
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
	FIELD_NODE, /* only in parts, and there in all */
	FORMAT_FIELDS,
};

struct format_kind {
	const char *name;
	bool peer;	    /* names a second port */
	bool event;	    /* what `to` is if it is not said */
	uint32_t may, must; /* bits 1 << enum format_field_id */
};

extern const struct format_field format_fields[FORMAT_FIELDS];
extern const struct format_kind format_kinds[TRACE_KINDS];

/* The member that a field is. */
uint64_t format_get(
	const struct format_field *, const struct trace_instruction *);
void format_set(const struct format_field *, struct trace_instruction *,
	uint64_t value);

/* Writes a complaint. -EINVAL. */
__attribute__((format(printf, 3, 4))) int trace_complain(
	struct trace_complaint *, uint32_t line, const char *format, ...);

#endif
