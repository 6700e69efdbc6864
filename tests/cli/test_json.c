/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON writer: commas, nesting, numbers, and escapes of hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

static void expect(void (*write)(struct json *), const char *expected)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	struct json j;
	assert_non_null(f);
	json_open(&j, f);
	write(&j);
	assert_int_equal(json_close(&j), 0);
	fclose(f);
	assert_string_equal(text, expected);
	free(text);
}

static void write_nested(struct json *j)
{
	json_object_begin(j);
	json_put_string(j, "a", "b");
	json_key(j, "empty");
	json_array_begin(j);
	json_array_end(j);
	json_key(j, "list");
	json_array_begin(j);
	json_number(j, 1);
	json_object_begin(j);
	json_put_bool(j, "yes", true);
	json_put_bool(j, "no", false);
	json_object_end(j);
	json_string(j, NULL);
	json_array_end(j);
	json_put_number(j, "last", UINT64_MAX);
	json_object_end(j);
}

static void nesting(void **state)
{
	(void)state;
	expect(write_nested, "{\"a\":\"b\",\"empty\":[],\"list\":[1,{\"yes\":"
			     "true,\"no\":false},null],"
			     "\"last\":18446744073709551615}\n");
}

static void write_numbers(struct json *j)
{
	json_array_begin(j);
	json_signed(j, INT64_MIN);
	json_real(j, 0.5);
	json_real(j, NAN);
	json_real(j, -INFINITY);
	json_word(j, 0xabc);
	json_array_end(j);
}

static void numbers(void **state)
{
	(void)state;
	expect(write_numbers, "[-9223372036854775808,0.5,null,null,"
			      "\"0x0000000000000abc\"]\n");
}

static void write_escapes(struct json *j)
{
	json_array_begin(j);
	json_string(j, "\"\\/\b\f\n\r\t\x01\x1f\x7f");
	json_string(j, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f");
	json_string(j, "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0");
	json_array_end(j);
}

static void escapes(void **state)
{
	(void)state;
	expect(write_escapes, "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f"
			      "\\u007f\",\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f"
			      "\",\"\\u0080\\u009b\\u009f\xc2\xa0\"]\n");
}

/* Overlong, surrogate, too large, cut off, stray: none of it may get out. */
static void write_not_utf8(struct json *j)
{
	json_array_begin(j);
	json_string(j, "\xc0\xaf");
	json_string(j, "\xed\xa0\x80");
	json_string(j, "\xf5\x80\x80\x80");
	json_string(j, "a\xe2\x82");
	json_string(j, "\x80z\xff");
	json_array_end(j);
}

static void not_utf8(void **state)
{
	(void)state;
	expect(write_not_utf8,
		"[\"\\ufffd\\ufffd\",\"\\ufffd\\ufffd\\ufffd\","
		"\"\\ufffd\\ufffd\\ufffd\\ufffd\",\"a\\ufffd\\ufffd\","
		"\"\\ufffdz\\ufffd\"]\n");
}

static void full_disk_is_reported(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct json j;
	(void)state;
	if (!f)
		skip();
	json_open(&j, f);
	json_string(&j, "x");
	assert_int_not_equal(json_close(&j), 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting),
		cmocka_unit_test(numbers),
		cmocka_unit_test(escapes),
		cmocka_unit_test(not_utf8),
		cmocka_unit_test(full_disk_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
