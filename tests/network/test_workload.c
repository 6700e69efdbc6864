/* SPDX-License-Identifier: BSD-2-Clause */
/* Workload files: valid ones, errors and their lines, and garbage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/topology/class.h"
#include "network/traffic/random.h"
#include "network/traffic/workload.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct topology topology = {
	.class = &topology_class_graph, .nodes = 20, .hosts = 20
};

static int read_bytes(const void *bytes, size_t size, struct workload *w,
	struct workload_error *c)
{
	/* A copy of the exact size, so that reading beyond it is detected. */
	char *copy = malloc(size + 1);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	FILE *f = size ? fmemopen(copy, size, "r") : fopen("/dev/null", "r");
	assert_non_null(f);
	*c = (struct workload_error){ 0 };
	int e = workload_read(f, &topology, w, c);
	fclose(f);
	free(copy);
	return e;
}

static void assert_packet(const struct workload_packet *p, uint64_t time,
	uint32_t from, uint32_t to, uint32_t length)
{
	assert_int_equal(p->time, time);
	assert_int_equal(p->from, from);
	assert_int_equal(p->to, to);
	assert_int_equal(p->length, length);
}

/* ---- valid files ---- */

static void packets_are_read(void **state)
{
	static const char text[] = "# an application\n"
				   "\n"
				   "10 0 19 4\n"
				   "\t 5  3\t3 4096 \r\n"
				   "  # and now\n"
				   "281474976710656 19 0 1# the last time\n"
				   "0010 007 1 02";
	struct workload w;
	struct workload_error c;
	(void)state;
	assert_int_equal(read_bytes(text, strlen(text), &w, &c), 0);
	assert_int_equal(w.count, 4);
	assert_packet(&w.packet[0], 5, 3, 3, 4096);
	assert_packet(&w.packet[1], 10, 0, 19, 4);
	assert_packet(&w.packet[2], 10, 7, 1, 2);
	assert_packet(&w.packet[3], WORKLOAD_TIME_MAX, 19, 0, 1);
	assert_null(c.why);
	workload_free(&w);
	assert_null(w.packet);
	assert_int_equal(w.count, 0);
}

static void a_file_may_be_empty(void **state)
{
	static const char *const empty[] = { "", "\n", "\n\n\r\n", "#", " ",
		"# nothing\n#" };
	struct workload w;
	struct workload_error c;
	(void)state;
	for (unsigned i = 0; i < COUNT(empty); i++) {
		assert_int_equal(
			read_bytes(empty[i], strlen(empty[i]), &w, &c), 0);
		assert_int_equal(w.count, 0);
		workload_free(&w);
	}
}

static void nul_is_a_character(void **state)
{
	static const char comment[] = "# a\0b\n1 2 3 4\n";
	static const char number[] = "1 2 3 4\n1 2\0 3 4\n";
	static const char behind[] = "1 2 3 4\0";
	static const char alone[] = "\0";
	struct workload w;
	struct workload_error c;
	(void)state;
	assert_int_equal(read_bytes(comment, sizeof(comment) - 1, &w, &c), 0);
	assert_int_equal(w.count, 1);
	workload_free(&w);
	assert_int_equal(
		read_bytes(number, sizeof(number) - 1, &w, &c), -EINVAL);
	assert_int_equal(c.line, 2);
	assert_int_equal(
		read_bytes(behind, sizeof(behind) - 1, &w, &c), -EINVAL);
	assert_int_equal(read_bytes(alone, sizeof(alone) - 1, &w, &c), -EINVAL);
	assert_int_equal(c.line, 1);
}

/* ---- errors ---- */

static void wrong_lines_are_refused(void **state)
{
	static const struct {
		const char *text, *about;
		unsigned line;
	} wrong[] = {
		{ "x 0 1 4", "time is not", 1 },
		{ "-1 0 1 4", "time is not", 1 },
		{ "+1 0 1 4", "time is not", 1 },
		{ "0x1 0 1 4", "time is not", 1 },
		{ "1.5 0 1 4", "time is not", 1 },
		{ "281474976710657 0 1 4", "beyond", 1 },
		{ "18446744073709551616 0 1 4", "beyond", 1 },
		{ "999999999999999999999999999999999 0 1 4", "beyond", 1 },
		{ "\n\n1", "sender is not a number", 3 },
		{ "1 2 3 4\n1 ,2 3 4\n", "sender is not a number", 2 },
		{ "1 20 3 4\n", "sender is not a node", 1 },
		{ "1 4294967297 3 4\n", "sender is not a node", 1 },
		{ "1 2\n 3 4\n", "receiver is not a number", 1 },
		{ "1 2 20 4\n", "receiver is not a node", 1 },
		{ "1 2 18446744073709551617 4\n", "receiver is not a node", 1 },
		{ "# 1\n1 2 3 # 4\n", "length is not", 2 },
		{ "1 2 3 4x\n", "length is not", 1 },
		{ "1 2 3 0\n", "length is 0", 1 },
		{ "1 2 3 4097\n", "length is 0", 1 },
		{ "1 2 3 4294967300\n", "length is 0", 1 },
		{ "1 2 3 4 5\n", "after the length", 1 },
		{ "1 2 3 4 x", "after the length", 1 },
		{ "1 2 3 4\v\n", "length is not", 1 },
		{ "9 2 3 4\n8 2 3 4\n7 2 3 4 5\n", "after the length", 3 },
	};
	struct workload w;
	struct workload_error c;
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		const char *text = wrong[i].text;
		assert_int_equal(
			read_bytes(text, strlen(text), &w, &c), -EINVAL);
		assert_int_equal(c.line, wrong[i].line);
		assert_non_null(strstr(c.why, wrong[i].about));
		assert_null(w.packet);
		assert_int_equal(w.count, 0);
	}
}

static void the_length_of_a_line_is_bounded(void **state)
{
	char text[WORKLOAD_LINE_MAX + 32] = "1 2 3 4\n";
	size_t first = strlen(text);
	struct workload w;
	struct workload_error c;
	(void)state;
	/* The longest line, with and without a newline. */
	memset(text + first, '#', WORKLOAD_LINE_MAX);
	text[first + WORKLOAD_LINE_MAX] = '\n';
	for (unsigned end = 0; end < 2; end++) {
		size_t size = first + WORKLOAD_LINE_MAX + end;
		assert_int_equal(read_bytes(text, size, &w, &c), 0);
		assert_int_equal(w.count, 1);
		workload_free(&w);
	}
	text[first + WORKLOAD_LINE_MAX] = '#';
	assert_int_equal(
		read_bytes(text, first + WORKLOAD_LINE_MAX + 1, &w, &c),
		-EINVAL);
	assert_int_equal(c.line, 2);
	assert_non_null(strstr(c.why, "long"));
}

static void read_errors_are_reported(void **state)
{
	struct workload_packet packet = { 1, 2, 3, 4 };
	struct workload w = { &packet, 1 };
	struct workload_error c;
	FILE *f = fopen("/dev/full", "w");
	(void)state;
	if (f) {
		assert_int_equal(workload_write(f, &w), -EIO);
		fclose(f);
	}
	/* A directory opens, but does not read. */
	f = fopen(".", "r");
	assert_non_null(f);
	assert_int_equal(workload_read(f, &topology, &w, &c), -EIO);
	assert_null(w.packet);
	fclose(f);
}

/* ---- order and round trip ---- */

/* Writes a workload and reads it back. */
static void write_and_read(const struct workload *from, struct workload *to)
{
	struct workload_error c;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	assert_non_null(f);
	assert_int_equal(workload_write(f, from), 0);
	fclose(f);
	assert_int_equal(read_bytes(text, size, to, &c), 0);
	assert_int_equal(to->count, from->count);
	free(text);
}

static bool same(
	const struct workload_packet *a, const struct workload_packet *b)
{
	return a->time == b->time && a->from == b->from && a->to == b->to &&
	       a->length == b->length;
}

/* Encodes the number of a packet in its fields. */
static struct workload_packet numbered(uint64_t time, uint32_t number)
{
	return (struct workload_packet){ time, number % 20, number / 20 % 20,
		number / 400 + 1 };
}

static uint32_t number_of(const struct workload_packet *p)
{
	return p->from + 20 * p->to + 400 * (p->length - 1);
}

static void packets_are_sorted(uint32_t count, uint32_t times, struct random *r)
{
	struct workload_packet *packet = calloc(count, sizeof(*packet));
	const struct workload from = { packet, count };
	struct workload to;
	assert_non_null(packet);
	for (uint32_t i = 0; i < count; i++)
		packet[i] = numbered(random_below(r, times), i);
	write_and_read(&from, &to);
	for (uint32_t i = 0; i < count; i++) {
		const struct workload_packet *p = &to.packet[i];
		/* None is lost, as they are all different. */
		assert_true(same(p, &packet[number_of(p)]));
		if (i == 0)
			continue;
		assert_true(p[-1].time <= p->time);
		assert_true(p[-1].time < p->time ||
			    number_of(p - 1) < number_of(p));
	}
	free(packet);
	workload_free(&to);
}

static void equal_times_stay_in_order(void **state)
{
	struct random r = random_stream(13, 0);
	(void)state;
	for (uint32_t count = 1; count < 40; count++) {
		packets_are_sorted(count, 1, &r);
		packets_are_sorted(count, 5, &r);
		packets_are_sorted(count, 1000000, &r);
	}
	packets_are_sorted(5000, 300, &r);
	packets_are_sorted(8192, UINT32_MAX, &r);
}

/* ---- garbage ---- */

/* Fragments that are almost valid. */
static const char *const pieces[] = { " ", "\t", "\n", "\n", "\r\n", "#", "0",
	"1", "7", "19", "20", "4096", "4097", "281474976710656",
	"18446744073709551615", "-", "x", "1 2 3 4\n", "9 0 1 5", " 3 4 5 6\n",
	"# note\n", "\xff" };

static size_t garbage(struct random *r, char *text, size_t capacity)
{
	size_t size = 0, wanted = random_below(r, 80);
	bool bytes = random_below(r, 8) == 0;
	while (size < wanted) {
		const char *piece = pieces[random_below(r, COUNT(pieces))];
		char any = (char)random_next(r);
		bool one = bytes || random_below(r, 64) == 0;
		size_t length = one ? 1 : strlen(piece);
		assert_true(size + length <= capacity);
		memcpy(text + size, one ? &any : piece, length);
		size += length;
	}
	return size;
}

static void check_packets(const struct workload *w)
{
	for (uint64_t i = 0; i < w->count; i++) {
		const struct workload_packet *p = &w->packet[i];
		assert_true(p->time <= WORKLOAD_TIME_MAX);
		assert_true(p->from < topology.nodes && p->to < topology.nodes);
		assert_true(p->length >= 1 && p->length <= LENGTH_MAX);
		assert_true(i == 0 || p[-1].time <= p->time);
	}
}

static void check_error(const struct workload_error *c,
	const struct workload *w, const char *text, size_t size)
{
	uint64_t lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	assert_true(c->line >= 1 && c->line <= lines);
	assert_non_null(c->why);
	assert_null(w->packet);
}

static void garbage_is_safe(void **state)
{
	struct random r = random_stream(13, 1);
	unsigned right = 0, wrong = 0;
	char text[256];
	(void)state;
	for (unsigned i = 0; i < 40000; i++) {
		size_t size = garbage(&r, text, sizeof(text));
		struct workload_error c;
		struct workload w, again;
		int e = read_bytes(text, size, &w, &c);
		assert_true(e == 0 || e == -EINVAL);
		if (e) {
			check_error(&c, &w, text, size);
			wrong++;
			continue;
		}
		check_packets(&w);
		write_and_read(&w, &again);
		for (uint64_t j = 0; j < w.count; j++)
			assert_true(same(&w.packet[j], &again.packet[j]));
		right += w.count > 0;
		workload_free(&w);
		workload_free(&again);
	}
	/* Both outcomes occur, so that the test is meaningful. */
	assert_true(right > 200 && wrong > 10000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_read),
		cmocka_unit_test(a_file_may_be_empty),
		cmocka_unit_test(nul_is_a_character),
		cmocka_unit_test(wrong_lines_are_refused),
		cmocka_unit_test(the_length_of_a_line_is_bounded),
		cmocka_unit_test(read_errors_are_reported),
		cmocka_unit_test(equal_times_stay_in_order),
		cmocka_unit_test(garbage_is_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
