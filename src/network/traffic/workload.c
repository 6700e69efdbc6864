/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See workload.h. The text is untrusted: the bound of a number is checked at
 * each digit, that of a line before a character is stored, and NUL is an
 * ordinary character.
 */
#include "network/traffic/workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define PACKETS_FIRST 256 /* initial capacity */

/* ---- lines ---- */

struct workload_line {
	const char *at, *end; /* of the part not read yet */
	uint64_t number;
	char text[WORKLOAD_LINE_MAX];
};

/* Returns 1 if there is a line, 0 at the end, -EINVAL: too long, -EIO. */
static int line_read(FILE *file, struct workload_line *l)
{
	size_t length = 0;
	int c;
	while ((c = getc_unlocked(file)) != EOF && c != '\n') {
		if (length == sizeof(l->text)) {
			l->number++;
			return -EINVAL;
		}
		l->text[length++] = (char)c;
	}
	if (c == EOF && ferror(file))
		return -EIO;
	if (c == EOF && length == 0)
		return 0;
	const char *comment = memchr(l->text, '#', length);
	l->at = l->text;
	l->end = comment ? comment : l->text + length;
	l->number++;
	return 1;
}

/* Carriage returns count as blanks. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool line_at_end(struct workload_line *l)
{
	while (l->at < l->end && is_blank(*l->at))
		l->at++;
	return l->at == l->end;
}

/* ---- numbers ---- */

struct workload_field {
	uint64_t least, most;
	const char *no_number, *out_of_bounds;
};

static const char *field_read(struct workload_line *l,
	const struct workload_field *f, uint64_t *number)
{
	uint64_t value = 0;
	if (line_at_end(l))
		return f->no_number;
	for (; l->at < l->end && !is_blank(*l->at); l->at++) {
		if (*l->at < '0' || *l->at > '9')
			return f->no_number;
		/* All bounds are far below UINT64_MAX / 10. */
		if (value <= f->most)
			value = value * 10 + (uint64_t)(*l->at - '0');
	}
	*number = value;
	return value < f->least || value > f->most ? f->out_of_bounds : NULL;
}

/* Returns NULL, or why the line is not a packet. */
static const char *packet_read(struct workload_line *l,
	const struct topology *t, struct workload_packet *p)
{
	const struct workload_field fields[] = {
		{ 0, WORKLOAD_TIME_MAX, "the time is not a number",
			"the time is beyond 2^48" },
		{ 0, t->hosts - 1, "the sender is not a number",
			"the sender is not a node of the topology" },
		{ 0, t->hosts - 1, "the receiver is not a number",
			"the receiver is not a node of the topology" },
		{ 1, LENGTH_MAX, "the length is not a number",
			"the length is 0 or more than a packet may have" },
	};
	uint64_t number[4] = { 0 };
	for (unsigned i = 0; i < 4; i++) {
		const char *why = field_read(l, &fields[i], &number[i]);
		if (why)
			return why;
	}
	if (!line_at_end(l))
		return "unexpected text after the length";
	*p = (struct workload_packet){ number[0], (uint32_t)number[1],
		(uint32_t)number[2], (uint32_t)number[3] };
	return NULL;
}

/* ---- all packets ---- */

static int packet_add(
	struct workload *w, uint64_t *capacity, const struct workload_packet *p)
{
	if (w->count == *capacity) {
		uint64_t more = *capacity ? 2 * *capacity : PACKETS_FIRST;
		struct workload_packet *packets =
			reallocarray(w->packet, more, sizeof(*packets));
		if (!packets)
			return -ENOMEM;
		w->packet = packets;
		*capacity = more;
	}
	w->packet[w->count++] = *p;
	return 0;
}

static int read_packets(FILE *file, const struct topology *t,
	struct workload *w, struct workload_error *error)
{
	struct workload_line l = { .number = 0 };
	struct workload_packet p;
	uint64_t capacity = 0;
	const char *why = NULL;
	int e;
	while ((e = line_read(file, &l)) == 1) {
		if (line_at_end(&l))
			continue;
		why = w->count < WORKLOAD_PACKETS_MAX
			      ? packet_read(&l, t, &p)
			      : "there are more than 67108864 packets";
		e = why ? -EINVAL : packet_add(w, &capacity, &p);
		if (e)
			break;
	}
	if (e == -EINVAL)
		*error = (struct workload_error){ l.number,
			why ? why : "the line is too long" };
	return e;
}

/* ---- order ---- */

/* Merges two sorted runs, [0, middle) and [middle, end). */
static void merge(const struct workload_packet *from, uint64_t middle,
	uint64_t end, struct workload_packet *to)
{
	uint64_t a = 0, b = middle;
	for (uint64_t i = 0; i < end; i++) {
		bool first = b == end ||
			     (a < middle && from[a].time <= from[b].time);
		to[i] = from[first ? a++ : b++];
	}
}

/* A merge sort: qsort() is not stable. */
static int sort(struct workload *w)
{
	uint64_t n = w->count;
	uint64_t sorted_until = 1;
	while (sorted_until < n && w->packet[sorted_until - 1].time <=
					   w->packet[sorted_until].time)
		sorted_until++;
	if (sorted_until >= n)
		return 0;
	struct workload_packet *other = reallocarray(NULL, n, sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (uint64_t run = 1; run < n; run *= 2) {
		for (uint64_t at = 0; at < n; at += 2 * run)
			merge(w->packet + at, bits_min(run, n - at),
				bits_min(2 * run, n - at), other + at);
		struct workload_packet *sorted = other;
		other = w->packet;
		w->packet = sorted;
	}
	free(other);
	return 0;
}

int workload_read(FILE *file, const struct topology *t, struct workload *w,
	struct workload_error *error)
{
	*w = (struct workload){ 0 };
	int e = read_packets(file, t, w, error);
	if (e == 0)
		e = sort(w);
	if (e)
		workload_free(w);
	return e;
}

int workload_write(FILE *file, const struct workload *w)
{
	fprintf(file, "# time from to length\n");
	for (uint64_t i = 0; i < w->count && !ferror(file); i++) {
		const struct workload_packet *p = &w->packet[i];
		fprintf(file,
			"%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
			p->time, p->from, p->to, p->length);
	}
	return fflush(file) || ferror(file) ? -EIO : 0;
}

void workload_free(struct workload *w)
{
	free(w->packet);
	*w = (struct workload){ 0 };
}
