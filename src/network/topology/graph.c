/* SPDX-License-Identifier: BSD-2-Clause */
/* See graph.h. */
#include "network/topology/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the text; not terminated. */
struct graph_span {
	const char *at;
	size_t length;
};

struct graph_parser {
	struct graph_span rest; /* of the text */
	struct graph_error *error;
	unsigned line;
	uint32_t nodes;	   /* 0: not known yet */
	uint8_t *links_of; /* by node */
	uint8_t *hosts_of; /* by node; NULL: one each */
	struct topology_link *link;
	struct topology_link_kind *kind; /* by link */
	bool kinds;			 /* some are not zero */
	uint32_t count, capacity;
};

static int parse_error(struct graph_parser *p, const char *why)
{
	*p->error = (struct graph_error){ p->line, why };
	return -EINVAL;
}

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void span_skip(struct graph_span *s, size_t length)
{
	s->at += length;
	s->length -= length;
}

/* The next line without its comment; false at the end of the text. */
static bool line_next(struct graph_parser *p, struct graph_span *line)
{
	if (p->rest.length == 0)
		return false;
	const char *end = memchr(p->rest.at, '\n', p->rest.length);
	size_t length = end ? (size_t)(end - p->rest.at) : p->rest.length;
	*line = (struct graph_span){ p->rest.at, length };
	span_skip(&p->rest, end ? length + 1 : length);
	p->line++;
	const char *comment = length ? memchr(line->at, '#', length) : NULL;
	if (comment)
		line->length = (size_t)(comment - line->at);
	return true;
}

/* The next word of a line; empty at its end. */
static struct graph_span word_next(struct graph_span *line)
{
	size_t n = 0;
	while (line->length && is_blank(*line->at))
		span_skip(line, 1);
	while (n < line->length && !is_blank(line->at[n]))
		n++;
	struct graph_span word = { line->at, n };
	span_skip(line, n);
	return word;
}

/* Parses a decimal number up to `most`. */
static bool number_parse(struct graph_span s, uint32_t most, uint32_t *value)
{
	uint64_t n = 0;
	if (s.length == 0)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(s.at[i] - '0');
		if (n > most)
			return false;
	}
	*value = (uint32_t)n;
	return true;
}

/* ---- lines ---- */

static bool word_is(struct graph_span word, const char *text)
{
	return word.length == strlen(text) &&
	       memcmp(word.at, text, word.length) == 0;
}

static int nodes_parse(
	struct graph_parser *p, struct graph_span first, struct graph_span line)
{
	if (!word_is(first, "nodes"))
		return parse_error(p, "the first line must be `nodes N`");
	if (!number_parse(word_next(&line), TOPOLOGY_NODES_MAX, &p->nodes) ||
		p->nodes == 0)
		return parse_error(
			p, "the number of nodes must be 1 to 1048576");
	if (word_next(&line).length)
		return parse_error(
			p, "unexpected text after the number of nodes");
	p->links_of = calloc(p->nodes, sizeof(*p->links_of));
	return p->links_of ? 0 : -ENOMEM;
}

static int link_parse(
	struct graph_parser *p, struct graph_span first, struct graph_span line)
{
	struct topology_link link;
	struct graph_span second = word_next(&line);
	if (!number_parse(first, p->nodes - 1, &link.node[0]) ||
		!number_parse(second, p->nodes - 1, &link.node[1]))
		return parse_error(
			p, "a link must be two node numbers, from 0");
	struct topology_link_kind kind = { 0 };
	for (struct graph_span name; (name = word_next(&line)).length;) {
		bool delay = word_is(name, "delay");
		uint32_t value;
		if (!delay && !word_is(name, "cycles"))
			return parse_error(p,
				"unexpected text after the link: only "
				"`delay N` and `cycles N` may follow");
		if (!number_parse(word_next(&line), GRAPH_DELAY_MAX, &value) ||
			value == 0)
			return parse_error(p, "delay and cycles must be 1 to "
					      "1000");
		if (delay)
			kind.delay = (uint16_t)value;
		else
			kind.cycles = (uint16_t)value;
	}
	p->kinds |= kind.delay || kind.cycles;
	if (link.node[0] == link.node[1])
		return parse_error(p, "a link leads from a node to itself");
	if (p->count == GRAPH_LINKS_MAX)
		return parse_error(p, "there are more than 4194304 links");
	for (int end = 0; end < 2; end++)
		if (p->links_of[link.node[end]]++ == TOPOLOGY_PORTS_MAX)
			return parse_error(p, "a node has more than 32 links");
	if (p->count == p->capacity) {
		uint32_t capacity = p->capacity ? 2 * p->capacity : 64;
		void *more = realloc(p->link, capacity * sizeof(*p->link));
		if (!more)
			return -ENOMEM;
		p->link = more;
		more = realloc(p->kind, capacity * sizeof(*p->kind));
		if (!more)
			return -ENOMEM;
		p->kind = more;
		p->capacity = capacity;
	}
	p->kind[p->count] = kind;
	p->link[p->count++] = link;
	return 0;
}

/* `hosts NODE COUNT`, or `hosts COUNT` for all nodes */
static int hosts_parse(struct graph_parser *p, struct graph_span line)
{
	struct graph_span words[2] = { word_next(&line), word_next(&line) };
	bool all = words[1].length == 0;
	uint32_t node = 0, count;
	if (!p->hosts_of) {
		p->hosts_of = malloc(p->nodes);
		if (!p->hosts_of)
			return -ENOMEM;
		memset(p->hosts_of, 1, p->nodes);
	}
	if ((!all && !number_parse(words[0], p->nodes - 1, &node)) ||
		!number_parse(words[!all], TOPOLOGY_HOSTS_MAX, &count) ||
		word_next(&line).length)
		return parse_error(p, "expected `hosts N` or `hosts NODE N`, N "
				      "from 0 to 15");
	if (all)
		memset(p->hosts_of, (int)count, p->nodes);
	else
		p->hosts_of[node] = (uint8_t)count;
	return 0;
}

static int text_parse(struct graph_parser *p)
{
	struct graph_span line;
	while (line_next(p, &line)) {
		struct graph_span first = word_next(&line);
		if (first.length == 0)
			continue;
		int r = !p->nodes		  ? nodes_parse(p, first, line)
			: word_is(first, "hosts") ? hosts_parse(p, line)
						  : link_parse(p, first, line);
		if (r)
			return r;
	}
	if (p->nodes)
		return 0;
	if (p->line == 0)
		p->line = 1;
	return parse_error(p, "there is no line `nodes N`");
}

/* Links have ports in the order of their lines. */
static int kinds_set(struct graph_parser *p, struct topology *t)
{
	int r = 0;
	memset(p->links_of, 0, p->nodes);
	for (uint32_t i = 0; r == 0 && i < p->count; i++) {
		const uint32_t *node = p->link[i].node;
		r = topology_link_set(
			t, node[0], p->links_of[node[0]], p->kind[i]);
		p->links_of[node[0]]++;
		p->links_of[node[1]]++;
	}
	return r;
}

int graph_parse(const char *text, size_t length, struct topology *t,
	struct graph_error *error)
{
	struct graph_parser p = { .rest = { text, length }, .error = error };
	int r = text_parse(&p);
	if (r == 0)
		r = topology_graph(t, p.nodes, p.link, p.count);
	if (r == 0) {
		if (p.hosts_of)
			r = topology_hosts(t, p.hosts_of);
		if (r == -EINVAL)
			parse_error(&p, "there is no host");
		if (r == 0 && p.kinds)
			r = kinds_set(&p, t);
		if (r)
			topology_free(t);
	}
	free(p.links_of);
	free(p.hosts_of);
	free(p.link);
	free(p.kind);
	return r;
}
