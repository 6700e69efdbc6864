/* SPDX-License-Identifier: BSD-2-Clause */
/* See length.h. */
#include "network/traffic/length.h"

#include <errno.h>
#include <stdbool.h>

/* This many digits of a weight are exact, as an integer and as a double. */
#define WEIGHT_DIGITS_MAX 15

/* ---- parsing: each call advances the text, and returns false on error ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool accept(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

static bool parse_flits(const char **text, uint32_t *flits)
{
	uint32_t value = 0;
	if (!is_digit(**text))
		return false;
	for (; is_digit(**text) && value <= LENGTH_MAX; (*text)++)
		value = value * 10 + (uint32_t)(**text - '0');
	*flits = value;
	return value >= 1 && value <= LENGTH_MAX;
}

/* Digits and at most one point; strtod() would depend on the locale. */
static bool parse_weight(const char **text, double *weight)
{
	uint64_t digits = 0, scale = 1;
	unsigned count = 0;
	bool point = false;
	for (; is_digit(**text) || (**text == '.' && !point); (*text)++) {
		if (**text == '.') {
			point = true;
			continue;
		}
		if (count++ == WEIGHT_DIGITS_MAX)
			return false;
		digits = digits * 10 + (uint64_t)(**text - '0');
		scale *= point ? 10 : 1;
	}
	*weight = (double)digits / (double)scale;
	return digits > 0;
}

/* Stores the weight of the class in `until`. */
static bool parse_class(const char **text, struct length_class *c)
{
	if (!parse_flits(text, &c->from))
		return false;
	c->to = c->from;
	if (accept(text, '-') && !parse_flits(text, &c->to))
		return false;
	c->until = 1;
	if (accept(text, ':') && !parse_weight(text, &c->until))
		return false;
	return c->from <= c->to;
}

int length_parse(const char *text, struct length *length)
{
	struct length l = { 0 };
	do {
		if (l.count == LENGTH_CLASSES_MAX ||
			!parse_class(&text, &l.of[l.count]))
			return -EINVAL;
		l.count++;
	} while (accept(&text, ','));
	if (*text)
		return -EINVAL;
	/* Weights become cumulative shares; the last is exactly 1. */
	double sum = 0;
	for (unsigned i = 0; i < l.count; i++) {
		sum += l.of[i].until;
		l.of[i].until = sum;
	}
	for (unsigned i = 0; i < l.count; i++)
		l.of[i].until /= sum;
	*length = l;
	return 0;
}

/* ---- the distribution ---- */

uint32_t length_draw(const struct length *l, struct random *r)
{
	const struct length_class *c = l->of;
	if (l->count > 1) {
		/* Below 1, where the last class ends. */
		double share = random_real(r);
		while (share >= c->until)
			c++;
	}
	if (c->from == c->to)
		return c->from;
	return c->from + random_below(r, c->to - c->from + 1);
}

double length_mean(const struct length *l)
{
	double mean = 0, before = 0;
	for (unsigned i = 0; i < l->count; i++) {
		const struct length_class *c = &l->of[i];
		mean += (c->until - before) * (c->from + c->to) / 2;
		before = c->until;
	}
	return mean;
}

uint32_t length_longest(const struct length *l)
{
	uint32_t longest = 0;
	for (unsigned i = 0; i < l->count; i++)
		if (l->of[i].to > longest)
			longest = l->of[i].to;
	return longest;
}
