/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file format: a written trace is parsed back unchanged, an error names its
 * line, and corrupted input is parsed or rejected, never more.
 *
 * CAY_TRACES is the number of corrupted traces, CAY_SEED the first seed.
 */
#include "trace/merge.h"
#include "traces.h"

#define TEXT_MAX (1u << 20)

/* Formats the whole file. Returns its length. */
static size_t text_write(const struct trace *t, char *to)
{
	size_t used = trace_head(t, to, TEXT_MAX);
	for (uint32_t i = 0; i < t->count; i++) {
		char line[TRACE_LINE_MAX];
		size_t length = trace_line(&t->instruction[i], line);
		assert_true(length < TRACE_LINE_MAX);
		assert_true(used + length < TEXT_MAX);
		memcpy(to + used, line, length);
		used += length;
	}
	return used;
}

static void trace_random(uint64_t seed, struct trace *t)
{
	const struct random_options options = { .seed = seed,
		.ports = 1 + (uint32_t)(seed % 4),
		.count = 20 + (uint32_t)(seed % 50),
		.conflicts = true };
	assert_int_equal(random_trace(&options, t), 0);
}

static void parses_what_it_writes(void **state)
{
	(void)state;
	char *text = malloc(TEXT_MAX), *again = malloc(TEXT_MAX);
	assert_true(text && again);
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct trace t, u;
		struct trace_error e;
		trace_random(seed, &t);
		t.instruction[t.count - 1].time_ns = seed;
		t.instruction[t.count - 1].duration_ns = seed / 2;
		t.instruction[t.count - 1].thread = (uint32_t)seed / 3;
		t.port[0].process = (uint32_t)seed / 4;
		size_t length = text_write(&t, text);
		assert_int_equal(trace_parse(text, length, &u, &e), 0);
		assert_int_equal(u.count, t.count);
		assert_int_equal(text_write(&u, again), length);
		assert_memory_equal(text, again, length);
		for (uint32_t i = 0; i < t.count; i++) {
			t.instruction[i].line = u.instruction[i].line;
			assert_memory_equal(&t.instruction[i],
				&u.instruction[i], sizeof(t.instruction[i]));
		}
		trace_free(&t);
		trace_free(&u);
	}
	free(text);
	free(again);
}

/* The longest line of an instruction. */
static void longest_line_fits(void **state)
{
	(void)state;
	struct trace_instruction i = { .kind = TRACE_PUT,
		.time_ns = UINT64_MAX,
		.duration_ns = UINT64_MAX,
		.thread = UINT32_MAX,
		.port = TRACE_PORTS_MAX - 1,
		.peer = TRACE_PORTS_MAX - 1,
		.window = UINT16_MAX,
		.flags = 0x3f,
		.key = CAY_CAPABILITY_MASK,
		.offset = UINT64_MAX,
		.bytes = TRACE_DATA_MAX,
		.tag = UINT64_MAX,
		.data_bytes = TRACE_DATA_MAX };
	char line[TRACE_LINE_MAX];
	size_t length = trace_line(&i, line);
	assert_true(length < sizeof(line));
	assert_int_equal(strlen(line), length);
	assert_int_equal(line[length - 1], '\n');
	i.kind = TRACE_WINDOW;
	i.base = UINT64_MAX;
	i.rights = 0x1f;
	assert_true(trace_line(&i, line) < sizeof(line));
}

/* ---- errors ---- */

#define HEAD "cay-trace 1\nport 0\nport 1\n"

struct invalid {
	const char *text;
	uint32_t line;
	const char *message;
};

static const struct invalid invalid_texts[] = {
	{ "", 1, "empty" },
	{ "cay-trace 1", 1, "not terminated" },
	{ "cay-trace 3\n", 1, "first line" },
	{ "cay-trace-part 1\n", 1, "first line" },
	{ "port 0\n", 1, "first line" },
	{ "cay-trace 1\nport 1\n", 2, "numbered" },
	{ "cay-trace 1\nport 0\nport 0\n", 3, "numbered" },
	{ "cay-trace 1\nport 0 bytes\n", 2, "'bytes'" },
	{ "cay-trace 1\nport 0 words x\n", 2, "'x'" },
	{ "cay-trace 2\nport 0 process=x\n", 2, "'process=x'" },
	{ "cay-trace 2\nport 0 process=1 words\n", 2, "'words'" },
	{ "cay-trace 2\nport 0\n@1+ drain 0\n", 3, "'@1+'" },
	{ "cay-trace 2\nport 0\n@+1 drain 0\n", 3, "'@+1'" },
	{ "cay-trace 2\nport 0\n@1/2 drain 0\n", 3, "'@1/2'" },
	{ "cay-trace 2\nport 0\n@1+2/ drain 0\n", 3, "'@1+2/'" },
	{ "cay-trace 2\nport 0\n@1+2/4294967296 drain 0\n", 3, "'@1" },
	{ "cay-trace 1\nqueues nq_entries=17\n", 0, "power of two" },
	{ "cay-trace 1\nqueues nq_entries=8\n", 0, "power of two" },
	{ "cay-trace 1\nqueues rdr_bytes=1000\n", 0, "power of two" },
	{ "cay-trace 1\nqueues posted=1\n", 0, "power of two" },
	{ "cay-trace 1\nqueues windows=0\n", 0, "windows" },
	{ "cay-trace 1\nqueues entries=16\n", 2, "'entries'" },
	{ "cay-trace 1\nqueues\nqueues\n", 3, "once" },
	{ HEAD "send 0 1\nport 2\n", 5, "before" },
	{ HEAD "send 0 1\nqueues\n", 5, "before" },
	{ HEAD "sent 0 1\n", 4, "'sent'" },
	{ HEAD "send 0\n", 4, "port number" },
	{ HEAD "send 0 2\n", 4, "'2'" },
	{ HEAD "send -1 0\n", 4, "'-1'" },
	{ HEAD "send 0 1 tag\n", 4, "NAME=VALUE" },
	{ HEAD "send 0 1 tag=\n", 4, "'tag='" },
	{ HEAD "send 0 1 tag=+1\n", 4, "'tag=+1'" },
	{ HEAD "send 0 1 tag=0x\n", 4, "'tag=0x'" },
	{ HEAD "send 0 1 tag=0x10000000000000000\n", 4, "tag=" },
	{ HEAD "send 0 1 tag=18446744073709551616\n", 4, "tag=" },
	{ HEAD "send 0 1 api_tag=0x100000000\n", 4, "api_tag=" },
	{ HEAD "send 0 1 tag=1 tag=2\n", 4, "repeated field 'tag'" },
	{ HEAD "send 0 1 window=1\n", 4, "send has no field 'window'" },
	{ HEAD "send 0 1 flags=\n", 4, "'flags='" },
	{ HEAD "send 0 1 flags=notify,\n", 4, "flags=" },
	{ HEAD "send 0 1 flags=notify,notify\n", 4, "flags=" },
	{ HEAD "send 0 1 flags=loud\n", 4, "flags=loud" },
	{ HEAD "send 0 1 data=\n", 4, "data=" },
	{ HEAD "send 0 1 data=0\n", 4, "data=0" },
	{ HEAD "send 0 1 data=0G\n", 4, "data=0G" },
	{ HEAD "send 0 1 data=00 bytes=1\n", 4, "excludes" },
	{ HEAD "send 0 1 data=00 seed=1\n", 4, "excludes" },
	{ HEAD "send 0 1 bytes=1073741825\n", 4, "bytes=" },
	{ HEAD "put 0 1\n", 4, "needs window=" },
	{ HEAD "put 0 1 window=65536\n", 4, "window=" },
	{ HEAD "put 0 1 window=0 key=0x1000000000000\n", 4, "key=" },
	{ HEAD "put_masked 0 1 window=0 enables=256\n", 4, "enables=" },
	{ HEAD "get 0 1 window=0 bytes=25 to=event\n", 4, "event holds" },
	{ HEAD "get 0 1 window=0 to=event\n", 4, "event holds" },
	{ HEAD "get 0 1 window=0 to=disk\n", 4, "to=disk" },
	{ HEAD "window 0 window=0 bytes=8\n", 4, "needs rights=" },
	{ HEAD "window 0 window=64 bytes=8 rights=read\n", 4, "0 and 63" },
	{ HEAD "window 0 window=0 bytes=0 rights=read\n", 4, "empty" },
	{ HEAD "window 0 window=0 bytes=8 rights=notify_access\n", 4, "right" },
	{ HEAD "window 0 window=0 bytes=8 rights=read base=0xfffffffffffffffc"
	       "\n",
		4, "address space" },
	{ HEAD "window 0 window=0 bytes=1 rights=read data=0001\n", 4,
		"exceed" },
	{ HEAD "receive_post 0 bytes=0\n", 4, "empty" },
	{ HEAD "receive_mode 0 mode=lost\n", 4, "mode=lost" },
	{ HEAD "port_close 0\nsend 0 1\n", 5, "closed" },
	{ HEAD "@ send 0 1\n", 4, "invalid time" },
	{ HEAD "@5\n", 4, "without an instruction" },
	{ HEAD "send 0 1\r\n", 4, "control character" },
	{ HEAD "\n# comment\n  # error:\nsend 0 1 x=1\n", 7, "'x'" },
};

static void errors_name_their_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(invalid_texts); i++) {
		const struct invalid *w = &invalid_texts[i];
		struct trace t;
		struct trace_error e = { 0 };
		int r = trace_parse(w->text, strlen(w->text), &t, &e);
		if (r != -EINVAL || e.line != w->line ||
			!strstr(e.text, w->message))
			fail_msg("'%s': %d, line %u: %s", w->text, r, e.line,
				e.text);
	}
}

static void limits_the_number_of_ports(void **state)
{
	(void)state;
	char text[8192] = "cay-trace 1\n";
	struct trace t;
	struct trace_error e;
	for (int i = 0; i < TRACE_PORTS_MAX; i++)
		sprintf(text + strlen(text), "port %d\n", i);
	assert_int_equal(trace_parse(text, strlen(text), &t, &e), 0);
	assert_int_equal(t.ports, TRACE_PORTS_MAX);
	trace_free(&t);
	sprintf(text + strlen(text), "port %d\n", TRACE_PORTS_MAX);
	assert_int_equal(trace_parse(text, strlen(text), &t, &e), -EINVAL);
	assert_int_equal(e.line, TRACE_PORTS_MAX + 2);
}

/* ---- regions ---- */

static void overlapping_windows_share_a_region(void **state)
{
	(void)state;
	static const char text[] = HEAD
		"window 0 window=0 bytes=16 rights=read base=0x1004\n"
		"window 0 window=1 bytes=16 rights=read base=0x1010\n"
		"window 0 window=2 bytes=16 rights=read base=0x1020\n"
		"window 1 window=0 bytes=16 rights=read base=0x1004\n"
		"window 1 window=1 bytes=16 rights=read\n"
		"window 1 window=2 bytes=16 rights=read\n"
		"window_close 1 window=0\n"
		"window 1 window=0 bytes=64 rights=read base=0x0fff\n";
	struct trace t;
	struct trace_error e;
	assert_int_equal(trace_parse(text, sizeof(text) - 1, &t, &e), 0);
	const struct trace_instruction *i = t.instruction;
	assert_int_equal(t.regions, 5);
	assert_int_equal(i[0].region, i[1].region);
	assert_int_equal(i[1].region_at, 0xc);
	assert_int_equal(t.region[i[0].region].bytes, 0x1c);
	assert_int_equal(t.region[i[0].region].skew, 4);
	assert_int_not_equal(i[2].region, i[0].region);
	assert_int_equal(i[3].region, i[7].region);
	assert_int_equal(i[3].region_at, 5);
	assert_int_equal(t.region[i[7].region].skew, 0xfff);
	assert_int_equal(t.region[i[7].region].bytes, 64);
	assert_int_not_equal(i[4].region, i[5].region);
	trace_free(&t);
}

/* ---- corruption ---- */

static size_t text_corrupt(char *text, size_t length, uint64_t *random)
{
	static const char likely[] = "0123456789abcdefx=,@# \n\tportsend-";
	size_t at = bytes_random(random) % length;
	size_t some = bytes_random(random) % 20 + 1;
	some = at + some > length ? length - at : some;
	switch (bytes_random(random) % 10) {
	case 6:
	case 7:
	case 8:
	case 9: /* another digit, or the next character if it is none */
		while (at + 1 < length && (text[at] < '0' || text[at] > '9'))
			at++;
		text[at] = (char)('0' + bytes_random(random) % 10);
		return length;
	case 0:
		text[at] = (char)bytes_random(random);
		return length;
	case 1:
	case 2:
		text[at] = likely[bytes_random(random) % (sizeof(likely) - 1)];
		return length;
	case 3: /* removes some characters */
		memmove(text + at, text + at + some, length - at - some);
		return length - some;
	case 4: /* repeats some characters */
		memmove(text + at + some, text + at, length - at);
		return length + some;
	default:
		return at + 1;
	}
}

/* Limits the time and memory of a replay. */
static bool trace_small(const struct trace *t)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < t->regions; i++)
		bytes += t->region[i].bytes + t->region[i].skew;
	for (uint32_t i = 0; i < t->count; i++)
		bytes += t->instruction[i].bytes;
	return bytes < 1u << 20 && t->ports < 16 &&
	       t->queues.nq_entries <= 4096 && t->queues.windows <= 4096;
}

static void trace_run(const struct trace *t, uint64_t seed)
{
	struct outcome seen, expected;
	struct replay r;
	char text[1000];
	if (!trace_small(t) || t->ports == 0 ||
		replay_open(&r, t, &platform_real, &seen) != 0)
		return;
	assert_int_equal(replay_run(&r), 0);
	replay_close(&r);
	assert_int_equal(oracle_run(t, ORACLE_CORRECT, &expected), 0);
	if (outcome_differs(&seen, &expected, text, sizeof(text)))
		fail_msg("CAY_SEED=%lu CAY_TRACES=1: %s", (unsigned long)seed,
			text);
	outcome_free(&seen);
	outcome_free(&expected);
}

static void corrupted_traces_run_or_are_rejected(void **state)
{
	(void)state;
	char *text = malloc(TEXT_MAX + 100);
	uint64_t seed = first_seed(), start = clock_now_ns(), valid = 0;
	uint64_t traces = environment("CAY_TRACES", 10000);
	assert_non_null(text);
	for (uint64_t i = seed; i < seed + traces; i++) {
		uint64_t random = i;
		struct trace t;
		struct trace_error e = { 0 };
		trace_random(i % 100, &t);
		size_t length = text_write(&t, text);
		trace_free(&t);
		for (uint64_t n = 1 + random % 3; n; n--)
			length = text_corrupt(text, length, &random);
		/* Of exactly this size, so that ASan detects an overrun. */
		char *copy = malloc(length);
		assert_non_null(copy);
		memcpy(copy, text, length);
		int r = trace_parse(copy, length, &t, &e);
		free(copy);
		if (r == 0) {
			trace_run(&t, i);
			trace_free(&t);
			valid++;
		} else {
			assert_int_equal(r, -EINVAL);
			assert_true(strlen(e.text) > 0);
		}
	}
	free(text);
	speed_print("corrupted traces", traces, start);
	printf("%lu of them are valid\n", (unsigned long)valid);
}

/* The file of a recorder. */
static size_t part_write(const struct trace *t, char *to)
{
	size_t used = (size_t)sprintf(to, "cay-trace-part 1\n");
	for (uint32_t p = 0; p < t->ports; p++)
		used += (size_t)sprintf(
			to + used, "@%u port_open %u node=0x7\n", p, p);
	for (uint32_t i = 0; i < t->count; i++) {
		struct trace_instruction x = t->instruction[i];
		char line[TRACE_LINE_MAX];
		x.node = 7;
		x.time_ns = 100 + i;
		size_t length = trace_line(&x, line);
		memcpy(to + used, line, length);
		used += length;
	}
	return used;
}

static void corrupted_parts_are_merged_or_rejected(void **state)
{
	(void)state;
	char *text = malloc(TEXT_MAX + 100);
	uint64_t seed = first_seed(), valid = 0;
	assert_non_null(text);
	for (uint64_t i = seed; i < seed + 2000; i++) {
		uint64_t random = i;
		struct trace t, part, merged;
		struct trace_error e = { 0 };
		struct merge_report report;
		trace_random(i % 100, &t);
		size_t length = part_write(&t, text);
		trace_free(&t);
		length = text_corrupt(text, length, &random);
		if (trace_parse_part(text, length, &part, &e) != 0)
			continue;
		int r = trace_merge(&part, 1, &merged, &report, &e);
		assert_true(r == 0 || r == -EINVAL || r == -ENODATA);
		if (r == 0)
			trace_free(&merged);
		trace_free(&part);
		valid += r == 0;
	}
	free(text);
	assert_true(valid > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_what_it_writes),
		cmocka_unit_test(longest_line_fits),
		cmocka_unit_test(errors_name_their_line),
		cmocka_unit_test(limits_the_number_of_ports),
		cmocka_unit_test(overlapping_windows_share_a_region),
		cmocka_unit_test(corrupted_traces_run_or_are_rejected),
		cmocka_unit_test(corrupted_parts_are_merged_or_rejected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
