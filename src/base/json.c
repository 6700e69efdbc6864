/* SPDX-License-Identifier: BSD-2-Clause */
/* A small writer of JSON; see json.h. */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

void json_open(struct json *j, FILE *to)
{
	*j = (struct json){ .to = to };
}

int json_close(struct json *j)
{
	assert(j->depth == 0);
	fputc('\n', j->to);
	if (fflush(j->to) != 0)
		return -errno;
	return ferror(j->to) ? -EIO : 0;
}

/* Separates the value from the one before it on the same level. */
static void value_begin(struct json *j)
{
	if (!j->keyed && j->filled[j->depth])
		fputc(',', j->to);
	j->filled[j->depth] = true;
	j->keyed = false;
}

static void level_begin(struct json *j, char bracket)
{
	value_begin(j);
	fputc(bracket, j->to);
	assert(j->depth + 1 < JSON_DEPTH_MAX);
	j->filled[++j->depth] = false;
}

static void level_end(struct json *j, char bracket)
{
	assert(j->depth > 0);
	j->depth--;
	fputc(bracket, j->to);
}

void json_object_begin(struct json *j)
{
	level_begin(j, '{');
}

void json_object_end(struct json *j)
{
	level_end(j, '}');
}

void json_array_begin(struct json *j)
{
	level_begin(j, '[');
}

void json_array_end(struct json *j)
{
	level_end(j, ']');
}

static void escape_ascii(FILE *to, unsigned char c)
{
	static const char short_of[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	for (size_t i = 0; i + 1 < sizeof(short_of); i += 2) {
		if ((unsigned char)short_of[i] == c) {
			fprintf(to, "\\%c", short_of[i + 1]);
			return;
		}
	}
	if (c < 0x20 || c == 0x7f)
		fprintf(to, "\\u%04x", c);
	else
		fputc(c, to);
}

static void quoted(FILE *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	fputc('"', to);
	while (*s) {
		uint32_t code;
		size_t bytes = utf8_next(s, &code);
		if (bytes == 1)
			escape_ascii(to, *s);
		else if (bytes == 0)
			fputs("\\ufffd", to);
		else if (code < 0xa0) /* C1 control characters */
			fprintf(to, "\\u%04x", code);
		else
			fwrite(s, 1, bytes, to);
		s += bytes ? bytes : 1;
	}
	fputc('"', to);
}

void json_key(struct json *j, const char *name)
{
	value_begin(j);
	quoted(j->to, name);
	fputc(':', j->to);
	j->keyed = true;
}

void json_string(struct json *j, const char *text)
{
	value_begin(j);
	if (text)
		quoted(j->to, text);
	else
		fputs("null", j->to);
}

void json_number(struct json *j, uint64_t value)
{
	value_begin(j);
	fprintf(j->to, "%" PRIu64, value);
}

void json_signed(struct json *j, int64_t value)
{
	value_begin(j);
	fprintf(j->to, "%" PRId64, value);
}

void json_real(struct json *j, double value)
{
	value_begin(j);
	if (isfinite(value))
		fprintf(j->to, "%.17g", value);
	else
		fputs("null", j->to);
}

void json_fixed(struct json *j, double value, int decimals)
{
	value_begin(j);
	if (isfinite(value))
		fprintf(j->to, "%.*f", decimals, value);
	else
		fputs("null", j->to);
}

void json_bool(struct json *j, bool value)
{
	value_begin(j);
	fputs(value ? "true" : "false", j->to);
}

void json_word(struct json *j, uint64_t value)
{
	value_begin(j);
	fprintf(j->to, "\"0x%016" PRIx64 "\"", value);
}

void json_put_string(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_string(j, text);
}

void json_put_number(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_number(j, value);
}

void json_put_fixed(struct json *j, const char *key, double value, int decimals)
{
	json_key(j, key);
	json_fixed(j, value, decimals);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}
