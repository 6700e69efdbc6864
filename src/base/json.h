/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small writer of JSON, as a stream: what is written is out, nothing is
 * kept. Commas, quotes and escapes are its business; that begin and end match
 * is the caller's.
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
	bool filled[JSON_DEPTH_MAX]; /* has a member, by depth */
	bool keyed;		     /* a key waits for its value */
};

void json_open(struct json *, FILE *to);

/* Ends the line and flushes. 0, or -errno if not all could be written. */
int json_close(struct json *);

void json_object_begin(struct json *);
void json_object_end(struct json *);
void json_array_begin(struct json *);
void json_array_end(struct json *);

/* Before each value of an object. */
void json_key(struct json *, const char *name);

/* Bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
void json_string(struct json *, const char *text);
void json_number(struct json *, uint64_t value);
void json_signed(struct json *, int64_t value);
void json_real(struct json *, double value); /* null if not finite */

/* The same, rounded: to what was measured, for example. */
void json_fixed(struct json *, double value, int decimals);
void json_bool(struct json *, bool value);

/* A 64-bit word as "0x...": readers of JSON keep 53 bits of a number. */
void json_word(struct json *, uint64_t value);

/* Key and value in one. */
void json_put_string(struct json *, const char *key, const char *text);
void json_put_number(struct json *, const char *key, uint64_t value);
void json_put_fixed(struct json *, const char *key, double value, int decimals);
void json_put_bool(struct json *, const char *key, bool value);

#endif
