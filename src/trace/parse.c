/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses a trace file. Everything outside the grammar is an error that names
 * its line, and every number is checked against its limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "trace/format.h"

/* A piece of the file, without a terminating 0. */
struct span {
	const char *at;
	size_t length;
};

struct parser {
	struct trace *trace;
	struct trace_error *error;
	const char *at, *end; /* of the whole text */
	uint32_t line;
	bool queues; /* the line of queues has been parsed */
	bool part;   /* file of the recorder */
};

#define SPAN(s) (int)bits_min((s).length, 40), (s).at

static bool span_is(struct span s, const char *name)
{
	return strlen(name) == s.length && memcmp(s.at, name, s.length) == 0;
}

/* Removes the next word of a line; empty at the end and at a comment. */
static struct span span_next(struct span *line)
{
	struct span word;
	while (line->length && (*line->at == ' ' || *line->at == '\t')) {
		line->at++;
		line->length--;
	}
	word.at = line->at;
	while (line->length && *line->at != ' ' && *line->at != '\t') {
		line->at++;
		line->length--;
	}
	word.length = (size_t)(line->at - word.at);
	if (word.length && word.at[0] == '#')
		word.length = line->length = 0;
	return word;
}

/* Splits at the first `mark`. Returns false if there is none. */
static bool span_split(
	struct span s, char mark, struct span *before, struct span *after)
{
	const char *found = s.length ? memchr(s.at, mark, s.length) : NULL;
	if (!found)
		return false;
	*before = (struct span){ s.at, (size_t)(found - s.at) };
	*after = (struct span){ found + 1, s.length - before->length - 1 };
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Parses a decimal number, or a hexadecimal one after 0x. */
static bool number_parse(struct span s, uint64_t max, uint64_t *value)
{
	uint64_t base = 10, n = 0;
	if (s.length > 2 && s.at[0] == '0' && s.at[1] == 'x') {
		base = 16;
		s.at += 2;
		s.length -= 2;
	}
	if (s.length == 0)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		int d = digit(s.at[i]);
		if (d < 0 || (uint64_t)d >= base ||
			n > (UINT64_MAX - (uint64_t)d) / base)
			return false;
		n = n * base + (uint64_t)d;
	}
	*value = n;
	return n <= max;
}

/* ---- field values ---- */

static bool name_parse(
	struct span s, const struct format_name *names, uint64_t *value)
{
	for (; names->name; names++)
		if (span_is(s, names->name)) {
			*value = names->value;
			return true;
		}
	return false;
}

static bool value_parse(const struct format_field *f, struct span s,
	struct trace_instruction *i)
{
	struct span first, rest = s;
	uint64_t value = 0, bit = 0;
	bool valid = true, more = true;
	switch (f->type) {
	case FORMAT_NUMBER:
	case FORMAT_WORD:
		valid = number_parse(s, f->max, &value);
		break;
	case FORMAT_NAME:
		valid = name_parse(s, f->names, &value);
		break;
	case FORMAT_LIST: /* each name may occur once */
		for (; valid && more; value |= bit) {
			s = rest;
			more = span_split(s, ',', &first, &rest);
			valid = name_parse(more ? first : s, f->names, &bit) &&
				!(value & bit);
		}
		break;
	case FORMAT_DATA:
		if (s.length == 0 || s.length % 2 ||
			s.length / 2 > TRACE_DATA_MAX)
			return false;
		for (size_t at = 0; at < s.length; at += 2) {
			int high = digit(s.at[at]), low = digit(s.at[at + 1]);
			if (high < 0 || low < 0)
				return false;
			i->data[at / 2] = (unsigned char)(high << 4 | low);
		}
		value = s.length / 2; /* the field is data_bytes */
		break;
	}
	if (valid)
		format_set(f, i, value);
	return valid;
}

/* ---- lines ---- */

static int reject_word(struct parser *p, const char *what, struct span s)
{
	return trace_reject(p->error, p->line, "%s '%.*s'", what, SPAN(s));
}

static int port_parse(struct parser *p, struct span *line, uint16_t *port)
{
	uint64_t value;
	struct span word = span_next(line);
	uint64_t ports = p->part ? CAY_VPIDS : p->trace->ports;
	if (!number_parse(word, UINT16_MAX, &value) || value >= ports)
		return reject_word(p, "invalid port number", word);
	*port = (uint16_t)value;
	return 0;
}

static int field_parse(struct parser *p, struct span word,
	const struct format_kind *k, struct trace_instruction *i,
	uint32_t *given)
{
	struct span name, value;
	uint32_t allowed = k->allowed | (p->part ? 1u << FIELD_NODE : 0);
	int id = 0;
	if (!span_split(word, '=', &name, &value))
		return reject_word(p, "expected NAME=VALUE, found", word);
	while (id < FORMAT_FIELDS &&
		!(allowed >> id & 1 && span_is(name, format_fields[id].name)))
		id++;
	if (id == FORMAT_FIELDS)
		return trace_reject(p->error, p->line, "%s has no field '%.*s'",
			k->name, SPAN(name));
	if (*given >> id & 1)
		return reject_word(p, "repeated field", name);
	*given |= 1u << id;
	return value_parse(&format_fields[id], value, i)
		       ? 0
		       : reject_word(p, "invalid value", word);
}

/* "@START", "@START+DURATION" or "@START+DURATION/THREAD" */
static bool time_parse(struct span s, struct trace_instruction *i)
{
	struct span start, duration, thread;
	uint64_t value = 0;
	s = (struct span){ s.at + 1, s.length - 1 };
	if (!span_split(s, '+', &start, &duration))
		return number_parse(s, UINT64_MAX, &i->time_ns);
	if (span_split(duration, '/', &s, &thread)) {
		if (!number_parse(thread, UINT32_MAX, &value))
			return false;
		i->thread = (uint32_t)value;
		duration = s;
	}
	return number_parse(start, UINT64_MAX, &i->time_ns) &&
	       number_parse(duration, UINT64_MAX, &i->duration_ns);
}

static int instruction_parse(struct parser *p, enum trace_kind kind,
	struct trace_instruction i, struct span *line)
{
	const struct format_kind *k = &format_kinds[kind];
	uint32_t given = 0;
	i.kind = kind;
	i.line = p->line;
	i.event = k->event;
	int r = port_parse(p, line, &i.port);
	i.peer = i.port;
	if (r == 0 && k->peer)
		r = port_parse(p, line, &i.peer);
	for (struct span word; r == 0 && (word = span_next(line)).length;)
		r = field_parse(p, word, k, &i, &given);
	if (r)
		return r;
	uint32_t missing = k->required & ~given;
	if (missing)
		return trace_reject(p->error, p->line, "%s needs %s=", k->name,
			format_fields[__builtin_ctz(missing)].name);
	if (i.data_bytes && kind != TRACE_WINDOW) {
		if (given & (1u << FIELD_BYTES | 1u << FIELD_SEED))
			return trace_reject(p->error, p->line,
				"data= excludes bytes= and seed=");
		i.bytes = i.data_bytes;
	}
	return trace_add(p->trace, &i);
}

static int port_line(struct parser *p, struct span *line)
{
	struct trace *t = p->trace;
	struct span word = span_next(line), mode = span_next(line);
	uint64_t number;
	if (t->count || p->part)
		return trace_reject(p->error, p->line,
			"ports must be declared before the first instruction");
	if (!number_parse(word, TRACE_PORTS_MAX - 1, &number) ||
		number != t->ports)
		return trace_reject(p->error, p->line,
			"ports must be numbered 0, 1, ... up to %d",
			TRACE_PORTS_MAX - 1);
	struct trace_port port = { .words = span_is(mode, "words") };
	struct span option = port.words ? span_next(line) : mode, name, value;
	if (option.length && span_split(option, '=', &name, &value) &&
		span_is(name, "process") &&
		number_parse(value, UINT32_MAX, &number)) {
		port.process = (uint32_t)number;
		option = span_next(line);
	}
	if (option.length)
		return reject_word(p, "unknown port option", option);
	t->port[t->ports++] = port;
	return 0;
}

static int queues_line(struct parser *p, struct span *line)
{
	struct trace_queues q = p->trace->queues;
	struct span word, name, text;
	uint64_t value;
	if (!p->part && (p->queues || p->trace->count))
		return trace_reject(p->error, p->line,
			"queues may be given once, before the first "
			"instruction");
	p->queues = true;
	while ((word = span_next(line)).length) {
		if (!span_split(word, '=', &name, &text) ||
			!number_parse(text, UINT32_MAX, &value))
			return reject_word(p, "invalid value", word);
		if (span_is(name, "nq_entries"))
			q.nq_entries = (uint32_t)value;
		else if (span_is(name, "rdr_bytes"))
			q.rdr_bytes = value;
		else if (span_is(name, "windows"))
			q.windows = (uint32_t)value;
		else if (span_is(name, "posted"))
			q.posted = (uint32_t)value;
		else
			return reject_word(p, "unknown queue size", name);
	}
	if (p->part)
		trace_queues_join(&p->trace->queues, &q);
	else
		p->trace->queues = q;
	return 0;
}

static int line_parse(struct parser *p, struct span line)
{
	struct span word = span_next(&line);
	struct trace_instruction i = { 0 };
	if (word.length && word.at[0] == '@') {
		if (!time_parse(word, &i))
			return reject_word(p, "invalid time", word);
		word = span_next(&line);
		if (word.length == 0)
			return trace_reject(p->error, p->line,
				"time without an instruction");
	}
	if (word.length == 0)
		return 0;
	for (int k = 0; k < TRACE_KINDS; k++)
		if (span_is(word, format_kinds[k].name))
			return instruction_parse(
				p, (enum trace_kind)k, i, &line);
	if (span_is(word, "port"))
		return port_line(p, &line);
	if (span_is(word, "queues"))
		return queues_line(p, &line);
	return reject_word(p, "unknown instruction", word);
}

/*
 * Every line, the last one included, ends in a newline. Returns 1 if the last
 * line of a part lacks it.
 */
static int line_next(struct parser *p, struct span *line)
{
	const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
	p->line++;
	if (!end && p->part)
		return 1;
	if (!end)
		return trace_reject(
			p->error, p->line, "the last line is not terminated");
	*line = (struct span){ p->at, (size_t)(end - p->at) };
	p->at = end + 1;
	for (size_t i = 0; i < line->length; i++)
		if ((line->at[i] < ' ' && line->at[i] != '\t') ||
			line->at[i] == 127)
			return trace_reject(
				p->error, p->line, "control character");
	return 0;
}

static int text_parse(struct parser *p)
{
	const char *header = p->part ? FORMAT_PART : FORMAT_HEADER;
	struct span line = { 0 };
	if (p->at == p->end)
		return trace_reject(p->error, 1, "the file is empty");
	int r = line_next(p, &line);
	if (r == 0 && !span_is(line, header) &&
		(p->part || !span_is(line, FORMAT_FIRST)))
		return trace_reject(
			p->error, 1, "the first line must be '%s'", header);
	while (r == 0 && p->at != p->end) {
		r = line_next(p, &line);
		if (r == 0)
			r = line_parse(p, line);
	}
	return r > 0 ? 0 : r;
}

int trace_parse(
	const char *text, size_t length, struct trace *t, struct trace_error *e)
{
	struct parser p = {
		.trace = t, .error = e, .at = text, .end = text + length
	};
	trace_open(t);
	int r = text_parse(&p);
	if (r == 0)
		r = trace_check(t, e);
	if (r)
		trace_free(t);
	return r;
}

int trace_parse_part(
	const char *text, size_t length, struct trace *t, struct trace_error *e)
{
	struct parser p = { .trace = t,
		.error = e,
		.at = text,
		.end = text + length,
		.part = true };
	trace_open(t);
	t->queues = (struct trace_queues){ 0 };
	int r = text_parse(&p);
	if (r)
		trace_free(t);
	return r;
}
