/* SPDX-License-Identifier: BSD-2-Clause */
/* Graph files: valid ones, errors and their lines, and arbitrary text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network/topology/graph.h"

#include "topologies.h"

static void files_become_topologies(void **state)
{
	static const char text[] = "# a triangle with a tail\n"
				   "\n"
				   "  nodes\t5 # one of them alone\r\n"
				   "0 1\n1 2\r\n"
				   "\t2   0#x\n"
				   "2 3\n"
				   "0 1";
	struct graph_error c;
	struct topology t;
	(void)state;
	assert_int_equal(graph_parse(text, sizeof(text) - 1, &t, &c), 0);
	assert_int_equal(t.class == &topology_class_graph, true);
	assert_int_equal(t.nodes, 5);
	assert_int_equal(t.ports, 3);
	assert_int_equal(topology_next(&t, 0, 0), 1);
	assert_int_equal(topology_next(&t, 0, 1), 2);
	assert_int_equal(topology_next(&t, 0, 2), 1);
	assert_int_equal(topology_next(&t, 2, 2), 3);
	assert_int_equal(topology_next(&t, 3, 0), 2);
	assert_int_equal(topology_next(&t, 4, 0), TOPOLOGY_NOWHERE);
	check_links(&t);
	topology_free(&t);
	assert_int_equal(graph_parse("nodes 1", 7, &t, &c), 0);
	assert_int_equal(t.nodes, 1);
	topology_free(&t);
}

static void errors_name_the_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *why; /* a part of it */
	} wrong[] = {
		{ "", 1, "no line `nodes" },
		{ "# nothing\n\n", 2, "no line `nodes" },
		{ "0 1\n", 1, "first line" },
		{ "node 4\n", 1, "first line" },
		{ "nodes4\n", 1, "first line" },
		{ "nodes\n", 1, "1 to" },
		{ "nodes 0\n", 1, "1 to" },
		{ "nodes -1\n", 1, "1 to" },
		{ "nodes +1\n", 1, "1 to" },
		{ "nodes 0x10\n", 1, "1 to" },
		{ "nodes 1048577\n", 1, "1 to" },
		{ "nodes 18446744073709551620\n", 1, "1 to" },
		{ "nodes 4 5\n", 1, "after the number" },
		{ "nodes 4\nnodes 4\n", 2, "two node numbers" },
		{ "nodes 4\n0 1\n1\n", 3, "two node numbers" },
		{ "nodes 4\n0 #1\n", 2, "two node numbers" },
		{ "nodes 4\n\n0 4\n", 3, "two node numbers" },
		{ "nodes 4\n0 4294967297\n", 2, "two node numbers" },
		{ "nodes 4\n0 -1\n", 2, "two node numbers" },
		{ "nodes 4\n0,1\n", 2, "two node numbers" },
		{ "nodes 4\n0 1 2\n", 2, "after the link" },
		{ "nodes 4\n2 2\n", 2, "itself" },
	};
	struct graph_error c;
	struct topology t;
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		c = (struct graph_error){ 0 };
		assert_int_equal(graph_parse(wrong[i].text,
					 strlen(wrong[i].text), &t, &c),
			-EINVAL);
		assert_int_equal(c.line, wrong[i].line);
		assert_non_null(strstr(c.why, wrong[i].why));
	}
	/* NUL is neither an end nor a blank. */
	assert_int_equal(graph_parse("nodes 4\n0 1\0\n", 13, &t, &c), -EINVAL);
	assert_int_equal(c.line, 2);
}

/* A star. */
static int star(unsigned arms, struct topology *t, struct graph_error *c)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "nodes 40\n");
	for (unsigned i = 1; i <= arms; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u 0\n", i);
	return graph_parse(text, (size_t)n, t, c);
}

static void no_node_has_more_links_than_ports(void **state)
{
	struct graph_error c;
	struct topology t;
	(void)state;
	assert_int_equal(star(TOPOLOGY_PORTS_MAX, &t, &c), 0);
	assert_int_equal(t.ports, TOPOLOGY_PORTS_MAX);
	topology_free(&t);
	assert_int_equal(star(TOPOLOGY_PORTS_MAX + 1, &t, &c), -EINVAL);
	assert_int_equal(c.line, TOPOLOGY_PORTS_MAX + 2);
	assert_non_null(strstr(c.why, "more than 32 links"));
}

static void the_largest_graph_is_read(void **state)
{
	static const char text[] = "nodes 1048576\n1048575 0\n";
	struct graph_error c;
	struct topology t;
	(void)state;
	assert_int_equal(graph_parse(text, sizeof(text) - 1, &t, &c), 0);
	assert_int_equal(topology_next(&t, 0, 0), 1048575);
	topology_free(&t);
}

/*
 * The highest number of links, and one more. Links between neighbours, in
 * several passes, so that no node runs out of ports before.
 */
static void the_number_of_links_is_bounded(void **state)
{
	const uint32_t nodes = 1u << 19, count = GRAPH_LINKS_MAX + 1;
	char *text = malloc(32 + count * 16ull), *at = text;
	struct graph_error c;
	struct topology t;
	(void)state;
	assert_non_null(text);
	at += sprintf(at, "nodes %u\n", nodes);
	for (uint32_t i = 0; i < count; i++)
		at += sprintf(at, "%u %u\n", i % nodes, (i + 1) % nodes);
	assert_int_equal(
		graph_parse(text, (size_t)(at - text), &t, &c), -EINVAL);
	assert_int_equal(c.line, count + 1);
	assert_non_null(strstr(c.why, "4194304 links"));
	free(text);
}

/* ---- any text ---- */

/* In a buffer of the exact size, so that reading beyond it is detected. */
static int parse_exactly(const char *text, size_t length)
{
	struct graph_error c = { 0 };
	struct topology t;
	unsigned lines = 1;
	char *copy = malloc(length ? length : 1);
	assert_non_null(copy);
	memcpy(copy, text, length);
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	int r = graph_parse(copy, length, &t, &c);
	free(copy);
	if (r == 0) {
		assert_true(t.nodes >= 1 && t.nodes <= TOPOLOGY_NODES_MAX);
		check_links(&t);
		topology_free(&t);
		return 0;
	}
	assert_int_equal(r, -EINVAL);
	assert_non_null(c.why);
	assert_true(c.line >= 1 && c.line <= lines);
	return r;
}

static size_t random_lines(struct random *r, char *text, size_t capacity)
{
	static const char *const words[] = { "nodes", " ", "\n", "\t", "#", "0",
		"1", "7", "12", "-", "4294967296", "nodes 9\n", "2 3\n",
		"nodes 4\n0 1\n", "\r\n", "x" };
	size_t n = 0;
	for (uint32_t left = random_below(r, 24); left; left--) {
		const char *word = words[random_below(r, COUNT(words))];
		if (n + strlen(word) > capacity)
			break;
		memcpy(text + n, word, strlen(word));
		n += strlen(word);
	}
	return n;
}

static size_t random_change(struct random *r, char *text)
{
	static const char good[] = "nodes 12\n0 1\n1 2\n2 3\n3 4\n10 11\n5 0\n";
	size_t n = sizeof(good) - 1;
	memcpy(text, good, n);
	for (uint32_t left = 1 + random_below(r, 3); left; left--)
		text[random_below(r, (uint32_t)n)] = (char)random_below(r, 256);
	return n - random_below(r, 8);
}

static void any_text_is_safe(void **state)
{
	struct random r = test_random(11);
	unsigned taken = 0, refused = 0;
	char text[256];
	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t n = i & 1 ? random_lines(&r, text, sizeof(text))
				 : random_change(&r, text);
		if (parse_exactly(text, n))
			refused++;
		else
			taken++;
	}
	assert_true(taken > 100);
	assert_true(refused > 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_become_topologies),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(no_node_has_more_links_than_ports),
		cmocka_unit_test(the_largest_graph_is_read),
		cmocka_unit_test(the_number_of_links_is_bounded),
		cmocka_unit_test(any_text_is_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
