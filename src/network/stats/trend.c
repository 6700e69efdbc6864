/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See trend.h. A network with a steady state fills at first too, at a
 * decreasing rate, and the longer the closer it is to saturation. So the
 * second, third and last quarter of the time are compared: each must show
 * significant growth, and the last not much less than the second. Growth with
 * the square root of time, as of a critically loaded queue, is not enough.
 */
#include "network/stats/trend.h"

#include <math.h>

#define QUARTER_LEAST 8	   /* points of a quarter */
#define QUARTER_MANY  32   /* points, from which small growth counts */
#define GROWTH_FEW    0.1  /* least growth, as a share of what was sent */
#define GROWTH_MANY   0.01 /* the same, with QUARTER_MANY points */
#define DEVIATIONS    6	   /* standard deviations of a significant growth */
#define GROWTH_LAST   0.8  /* of the last quarter, relative to the second */
#define RISE	      1.1  /* of the last quarter over the second */

void trend_add(struct trend *t, uint64_t sent, uint64_t busy)
{
	if (t->added++ & ((1u << t->log2_stride) - 1))
		return;
	t->at[t->count++] = (struct trend_point){ sent, busy };
	if (t->count < TREND_MAX)
		return;
	t->count = TREND_MAX / 2;
	t->log2_stride++;
	for (unsigned i = 0; i < t->count; i++)
		t->at[i] = t->at[2 * i];
}

/* Growth as a share of what was sent; 0 if it is not significant. */
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
	double least = quarter < QUARTER_MANY ? GROWTH_FEW : GROWTH_MANY;
	if (quarter < QUARTER_LEAST)
		return false;
	double second = trend_growth(t, last - 3 * quarter, last - 2 * quarter);
	double third = trend_growth(t, last - 2 * quarter, last - quarter);
	double fourth = trend_growth(t, last - quarter, last);
	return second >= least && third >= least && fourth >= least &&
	       fourth >= GROWTH_LAST * second;
}

/* Mean of a quarter; 1 is the first one. */
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
	if (t->count / 4 < QUARTER_LEAST)
		return false;
	double second = trend_mean(t, 2), third = trend_mean(t, 3);
	double fourth = trend_mean(t, 4);
	return second < third && third < fourth && fourth > RISE * second;
}
