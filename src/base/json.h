/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON to a stream without keeping a document in memory. Inserts commas
 * and quotes, and escapes strings. The caller must match the calls that begin
 * and end an object or an array.
 *
 *	struct json j;
 *	json_open(&j, stdout);
 *	json_object_begin(&j);
 *	json_key(&j, "name");
 *	json_string(&j, name);
 *	json_object_end(&j);
 *	return json_close(&j);
 */
#ifndef CAY_BASE_JSON_H
#define CAY_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 32

struct json {
	FILE *to;
	unsigned depth;
	bool filled[JSON_DEPTH_MAX]; /* an element was written, by depth */
	bool keyed;		     /* a key was written */
};

void json_open(struct json *, FILE *to);

/* Writes a newline and flushes. Returns 0, or -errno of a failed write. */
int json_close(struct json *);

void json_object_begin(struct json *);
void json_object_end(struct json *);
void json_array_begin(struct json *);
void json_array_end(struct json *);

/* Must precede each value of an object. */
void json_key(struct json *, const char *name);

/* Control characters are escaped, so that a terminal can show them; bytes that
 * are not UTF-8 become U+FFFD; NULL becomes null. */
void json_string(struct json *, const char *text);
void json_number(struct json *, uint64_t value);
void json_signed(struct json *, int64_t value);
void json_real(struct json *, double value); /* null if not finite */

/* Writes a number with a fixed number of decimals. */
void json_fixed(struct json *, double value, int decimals);
void json_bool(struct json *, bool value);

/* Writes a string "0x...": JSON readers may keep only 53 bits. */
void json_word(struct json *, uint64_t value);

/* Write a key and its value. */
void json_put_string(struct json *, const char *key, const char *text);
void json_put_number(struct json *, const char *key, uint64_t value);
void json_put_fixed(struct json *, const char *key, double value, int decimals);
void json_put_bool(struct json *, const char *key, bool value);

#endif
