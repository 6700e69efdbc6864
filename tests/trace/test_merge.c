/* SPDX-License-Identifier: BSD-2-Clause */
/* Several processes' lines become one trace. */
#include "trace/merge.h"
#include "traces.h"

#define PART "cay-trace-part 1\n"

/* Merges texts; the result as a text, or the error. */
static int merged(const char *const *texts, uint32_t count, char *out,
	size_t room, struct merge_report *report)
{
	struct trace part[4], t;
	struct trace_complaint c;
	char line[TRACE_LINE_MAX];
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(trace_parse_part(texts[i], strlen(texts[i]),
					 &part[i], &c),
			0);
	int r = merge(part, count, &t, report, &c);
	for (uint32_t i = 0; i < count; i++)
		trace_free(&part[i]);
	if (r)
		return r;
	size_t used = trace_head(&t, out, room);
	for (uint32_t i = 0; i < t.count; i++) {
		size_t n = trace_line(&t.instruction[i], line);
		assert_true(used + n < room);
		memcpy(out + used, line, n + 1);
		used += n;
	}
	trace_free(&t);
	return 0;
}

static void merged_is(const char *const *texts, uint32_t count,
	uint32_t unknown, const char *expected)
{
	char text[4096];
	struct merge_report report;
	assert_int_equal(merged(texts, count, text, sizeof(text), &report), 0);
	assert_string_equal(text, expected);
	assert_int_equal(report.unknown, unknown);
}

static void by_time(void **state)
{
	(void)state;
	static const char *const texts[] = {
		PART "queues nq_entries=64 rdr_bytes=65536 windows=3 "
		     "posted=4\n"
		     "@1000 port_open 7 words=yes node=0x9\n"
		     "@1010 window 7 window=2 key=0xabc bytes=8 rights=read "
		     "node=0x9\n"
		     "@1040 drain 7 node=0x9\n"
		     "@1040 send 7 5 tag=1 node=0x9\n"
		     "@1040 send 7 5 tag=2 node=0x9\n",
		PART "queues nq_entries=32 rdr_bytes=131072 windows=2 "
		     "posted=8\n"
		     "@1005 port_open 5 node=0x9\n"
		     /* written later, begun earlier */
		     "@1030 get 5 7 window=2 key=0xabd bytes=8 node=0x9\n"
		     "@1020 get 5 7 window=2 key=0xabc bytes=8 node=0x9\n"
		     "@1050 port_close 5 node=0x9\n"
		     "@1060 send 5 7 node=0x9\n"
		     "@1070 send 5 7 a torn li",
	};
	merged_is(texts, 2, 0,
		"cay-trace 1\n"
		"queues nq_entries=64 rdr_bytes=131072 windows=3 posted=8\n"
		"port 0 words\n"
		"port 1\n"
		"@10 window 0 window=2 key=0x1 bytes=8 rights=read\n"
		"@20 get 1 0 window=2 key=0x1 bytes=8\n"
		"@30 get 1 0 window=2 key=0x2 bytes=8\n"
		"@40 drain 0\n"
		"@40 send 0 1 tag=0x1\n"
		"@40 send 0 1 tag=0x2\n"
		"@50 port_close 1\n");
}

/* Somebody else gets the number of a port that is gone. */
static void numbers_come_again(void **state)
{
	(void)state;
	static const char *const texts[] = {
		PART "@1 port_open 1 node=0x1\n"
		     "@2 port_open 2 node=0x1\n"
		     "@3 send 1 2 tag=3 node=0x1\n"
		     "@4 port_close 2 node=0x1\n"
		     "@5 send 1 2 tag=5 node=0x1\n"
		     "@6 port_open 2 node=0x1\n"
		     "@7 send 1 2 tag=7 node=0x1\n"
		     /* another node has numbers of its own */
		     "@8 port_open 2 node=0x2\n"
		     "@9 send 2 2 tag=9 node=0x2\n",
	};
	merged_is(texts, 1, 0,
		"cay-trace 1\n"
		"queues nq_entries=512 rdr_bytes=262144 windows=64 posted=64\n"
		"port 0\nport 1\nport 2\nport 3\n"
		"@2 send 0 1 tag=0x3\n"
		"@3 port_close 1\n"
		"@4 send 0 1 tag=0x5\n"
		"@6 send 0 2 tag=0x7\n"
		"@8 send 3 3 tag=0x9\n");
}

/* A target that was not recorded; a window that cay_free() has closed. */
static void gaps(void **state)
{
	(void)state;
	static const char *const texts[] = {
		PART "@1 port_open 1 node=0x1\n"
		     "@2 send 1 9 node=0x1\n"
		     "@3 window 1 window=0 key=0x5 bytes=8 rights=read "
		     "node=0x1\n"
		     "@4 window 1 window=0 key=0x6 bytes=8 rights=read "
		     "node=0x1\n",
	};
	merged_is(texts, 1, 1,
		"cay-trace 1\n"
		"queues nq_entries=512 rdr_bytes=262144 windows=64 posted=64\n"
		"port 0\nport 1\n"
		"@1 send 0 1\n"
		"@2 window 0 window=0 key=0x1 bytes=8 rights=read\n"
		"@3 window_close 0 window=0\n"
		"@3 window 0 window=0 key=0x2 bytes=8 rights=read\n");
}

static void nothing_or_too_much(void **state)
{
	(void)state;
	static const char *const empty[] = { PART, PART "@1 torn" };
	char *text = malloc(1u << 16), unused[16];
	const char *const many[] = { text };
	struct merge_report report;
	struct trace t;
	struct trace_complaint c;
	assert_int_equal(
		merged(empty, 2, unused, sizeof(unused), &report), -ENODATA);
	assert_int_equal(merge(NULL, 0, &t, &report, &c), -ENODATA);
	assert_non_null(text);
	strcpy(text, PART);
	for (int i = 1; i <= TRACE_PORTS_MAX + 1; i++)
		sprintf(text + strlen(text), "@%d port_open %d node=0x1\n", i,
			i);
	assert_int_equal(
		merged(many, 1, unused, sizeof(unused), &report), -E2BIG);
	free(text);
}

/* What is no part is no trace, and the other way round. */
static void kinds_of_files(void **state)
{
	(void)state;
	static const char part[] = PART "@1 port_open 1 node=0x1\n";
	static const char trace[] = "cay-trace 1\nport 0\n";
	static const char open[] = "cay-trace 1\nport 0\nport_open 0\n";
	static const char node[] = "cay-trace 1\nport 0\nsend 0 0 node=0x1\n";
	struct trace t;
	struct trace_complaint c;
	assert_int_equal(trace_parse(part, sizeof(part) - 1, &t, &c), -EINVAL);
	assert_int_equal(
		trace_parse_part(trace, sizeof(trace) - 1, &t, &c), -EINVAL);
	assert_int_equal(trace_parse(open, sizeof(open) - 1, &t, &c), -EINVAL);
	assert_int_equal(c.line, 3);
	assert_int_equal(trace_parse(node, sizeof(node) - 1, &t, &c), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_time),
		cmocka_unit_test(numbers_come_again),
		cmocka_unit_test(gaps),
		cmocka_unit_test(nothing_or_too_much),
		cmocka_unit_test(kinds_of_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
