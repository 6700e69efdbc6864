/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging the files of several processes into one trace. */
#include "trace/merge.h"
#include "traces.h"

#define PART "cay-trace-part 1\n"

/* Merges files and formats the result. Returns 0 or the error. */
static int merge_texts(const char *const *texts, uint32_t count, char *out,
	size_t size, struct merge_report *report)
{
	struct trace part[4], t;
	struct trace_error e;
	char line[TRACE_LINE_MAX];
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(trace_parse_part(texts[i], strlen(texts[i]),
					 &part[i], &e),
			0);
	int r = trace_merge(part, count, &t, report, &e);
	for (uint32_t i = 0; i < count; i++)
		trace_free(&part[i]);
	if (r)
		return r;
	size_t used = trace_head(&t, out, size);
	for (uint32_t i = 0; i < t.count; i++) {
		size_t n = trace_line(&t.instruction[i], line);
		assert_true(used + n < size);
		memcpy(out + used, line, n + 1);
		used += n;
	}
	trace_free(&t);
	return 0;
}

static void assert_merged(const char *const *texts, uint32_t count,
	uint32_t unknown, const char *expected)
{
	char text[4096];
	struct merge_report report;
	assert_int_equal(
		merge_texts(texts, count, text, sizeof(text), &report), 0);
	assert_string_equal(text, expected);
	assert_int_equal(report.unrecorded, unknown);
}

static void sorts_by_time(void **state)
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
		     /* recorded later, started earlier */
		     "@1030 get 5 7 window=2 key=0xabd bytes=8 node=0x9\n"
		     "@1020 get 5 7 window=2 key=0xabc bytes=8 node=0x9\n"
		     "@1050 port_close 5 node=0x9\n"
		     "@1060 send 5 7 node=0x9\n"
		     "@1070 send 5 7 a torn li",
	};
	assert_merged(texts, 2, 0,
		"cay-trace 2\n"
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

/* A recycled VPID denotes a new port. */
static void recycled_vpids(void **state)
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
		     /* VPIDs of another node */
		     "@8 port_open 2 node=0x2\n"
		     "@9 send 2 2 tag=9 node=0x2\n",
	};
	assert_merged(texts, 1, 0,
		"cay-trace 2\n"
		"queues nq_entries=512 rdr_bytes=262144 windows=64 posted=64\n"
		"port 0\nport 1\nport 2\nport 3\n"
		"@2 send 0 1 tag=0x3\n"
		"@3 port_close 1\n"
		"@4 send 0 1 tag=0x5\n"
		"@6 send 0 2 tag=0x7\n"
		"@8 send 3 3 tag=0x9\n");
}

/* A target that was not recorded; a window that cay_free() closed. */
static void unrecorded_events(void **state)
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
	assert_merged(texts, 1, 1,
		"cay-trace 2\n"
		"queues nq_entries=512 rdr_bytes=262144 windows=64 posted=64\n"
		"port 0\nport 1\n"
		"@1 send 0 1\n"
		"@2 window 0 window=0 key=0x1 bytes=8 rights=read\n"
		"@3 window_close 0 window=0\n"
		"@3 window 0 window=0 key=0x2 bytes=8 rights=read\n");
}

static void no_instructions_or_too_many_ports(void **state)
{
	(void)state;
	static const char *const empty[] = { PART, PART "@1 torn" };
	char *text = malloc(1u << 16), unused[16];
	const char *const many[] = { text };
	struct merge_report report;
	struct trace t;
	struct trace_error e;
	assert_int_equal(merge_texts(empty, 2, unused, sizeof(unused), &report),
		-ENODATA);
	assert_int_equal(trace_merge(NULL, 0, &t, &report, &e), -ENODATA);
	assert_non_null(text);
	strcpy(text, PART);
	for (int i = 1; i <= TRACE_PORTS_MAX + 1; i++)
		sprintf(text + strlen(text), "@%d port_open %d node=0x1\n", i,
			i);
	assert_int_equal(
		merge_texts(many, 1, unused, sizeof(unused), &report), -E2BIG);
	free(text);
}

/* Parts and traces are not interchangeable. */
static void parts_and_traces_differ(void **state)
{
	(void)state;
	static const char part[] = PART "@1 port_open 1 node=0x1\n";
	static const char trace[] = "cay-trace 1\nport 0\n";
	static const char open[] = "cay-trace 1\nport 0\nport_open 0\n";
	static const char node[] = "cay-trace 1\nport 0\nsend 0 0 node=0x1\n";
	struct trace t;
	struct trace_error e;
	assert_int_equal(trace_parse(part, sizeof(part) - 1, &t, &e), -EINVAL);
	assert_int_equal(
		trace_parse_part(trace, sizeof(trace) - 1, &t, &e), -EINVAL);
	assert_int_equal(trace_parse(open, sizeof(open) - 1, &t, &e), -EINVAL);
	assert_int_equal(e.line, 3);
	assert_int_equal(trace_parse(node, sizeof(node) - 1, &t, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_by_time),
		cmocka_unit_test(recycled_vpids),
		cmocka_unit_test(unrecorded_events),
		cmocka_unit_test(no_instructions_or_too_many_ports),
		cmocka_unit_test(parts_and_traces_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
