/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See trend.h. A network that has a steady state also fills at first, slower
 * and slower, and the closer to saturation, the longer. So the second, third
 * and last quarter of all time are compared: each must show growth that is no
 * accident, and the last not much less than the second. Growth by the square
 * root of time, as of a queue that is just full, is not enough.
 */
#include "network/stats/trend.h"

#include <math.h>

#define QUARTERS_LEAST 8    /* points of a quarter */
#define QUARTERS_SURE  32   /* so many, and small growth counts as well */
#define GROWTH_SOON    0.1  /* of what was sent, before that */
#define GROWTH_LEAST   0.01 /* and later */
#define DEVIATIONS     6    /* of what comes at random */
#define KEEPS	       0.8  /* how much of its growth the last quarter has */
#define RISES	       1.1  /* of what was there two quarters before */

void trend_add(struct trend *t, uint64_t sent, uint64_t busy)
{
	if (t->offered++ & ((1u << t->rarer) - 1))
		return;
	t->at[t->count++] = (struct trend_point){ sent, busy };
	if (t->count < TREND_MAX)
		return;
	t->count = TREND_MAX / 2;
	t->rarer++;
	for (unsigned i = 0; i < t->count; i++)
		t->at[i] = t->at[2 * i];
}

/* By how much of what was sent between two points; 0 if by accident. */
static double trend_growth(const struct trend *t, unsigned from, unsigned to)
{
	double sent = (double)(t->at[to].sent - t->at[from].sent);
	double more = (double)t->at[to].busy - (double)t->at[from].busy;
	return more > DEVIATIONS * sqrt(sent) ? more / sent : 0;
}

bool trend_grows(const struct trend *t)
{
	unsigned quarter = t->count ? (t->count - 1) / 4 : 0;
	unsigned last = t->count - 1;
	double least = quarter < QUARTERS_SURE ? GROWTH_SOON : GROWTH_LEAST;
	if (quarter < QUARTERS_LEAST)
		return false;
	double second = trend_growth(t, last - 3 * quarter, last - 2 * quarter);
	double third = trend_growth(t, last - 2 * quarter, last - quarter);
	double fourth = trend_growth(t, last - quarter, last);
	return second >= least && third >= least && fourth >= least &&
	       fourth >= KEEPS * second;
}

/* Of all points of a quarter; 1 is the first one. */
static double trend_mean(const struct trend *t, unsigned number)
{
	unsigned quarter = t->count / 4;
	double sum = 0;
	for (unsigned i = 0; i < quarter; i++)
		sum += (double)t->at[t->count - 1 - i - (4 - number) * quarter]
			       .busy;
	return sum / quarter;
}

bool trend_rises(const struct trend *t)
{
	if (t->count / 4 < QUARTERS_LEAST)
		return false;
	double second = trend_mean(t, 2), third = trend_mean(t, 3);
	double fourth = trend_mean(t, 4);
	return second < third && third < fourth && fourth > RISES * second;
}
