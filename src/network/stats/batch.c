/* SPDX-License-Identifier: BSD-2-Clause */
/* See batch.h. */
#include "network/stats/batch.h"

#include <math.h>

#define CORRELATION_BATCHES 10 /* least number to estimate it */
#define CORRELATION_MOST    0.9

void batches_add(struct batches *b, uint64_t count, uint64_t sum)
{
	struct batch *last = &b->of[b->count];
	if (b->added == 0)
		*last = (struct batch){ 0 };
	last->count += count;
	last->sum += sum;
	if (++b->added >> b->log2_size == 0)
		return;
	b->added = 0;
	if (++b->count < BATCHES_MAX)
		return;
	/* Join neighbours; batches are twice as long from now on. */
	for (unsigned i = 0; i < BATCHES_MAX / 2; i++) {
		const struct batch *two = &b->of[2 * i];
		b->of[i] = (struct batch){ two[0].count + two[1].count,
			two[0].sum + two[1].sum };
	}
	b->count = BATCHES_MAX / 2;
	b->log2_size++;
}

static struct batch batches_all(const struct batches *b)
{
	struct batch all = { 0 };
	for (unsigned i = 0; i < b->count; i++) {
		all.count += b->of[i].count;
		all.sum += b->of[i].sum;
	}
	return all;
}

double batches_mean(const struct batches *b)
{
	struct batch all = batches_all(b);
	return all.count ? (double)all.sum / (double)all.count : 0;
}

/* 97.5 % quantile of Student's t, for two degrees of freedom or more. */
static double student(double freedom)
{
	return 1.96 + 2.372 / freedom + 2.823 / (freedom * freedom);
}

/*
 * Factor by which the correlation of neighbouring batches widens the interval;
 * 1 if there are too few batches to estimate it.
 */
static double correlation_factor(double squares, double neighbours, double n)
{
	double correlation = squares > 0 ? neighbours / squares : 0;
	if (n < CORRELATION_BATCHES || correlation < 0)
		return 1;
	correlation = fmin(correlation, CORRELATION_MOST);
	return sqrt((1 + correlation) / (1 - correlation));
}

/* Batches have different counts, so the mean is a ratio of two sums. */
double batches_error(const struct batches *b)
{
	struct batch all = batches_all(b);
	double mean = batches_mean(b), n = b->count;
	double squares = 0, neighbours = 0, last = 0;
	if (b->count < 2 || all.count == 0)
		return HUGE_VAL;
	for (unsigned i = 0; i < b->count; i++) {
		double deviation =
			(double)b->of[i].sum - mean * (double)b->of[i].count;
		squares += deviation * deviation;
		neighbours += deviation * last;
		last = deviation;
	}
	return student(n - 1) * sqrt(squares / (n - 1) * n) /
	       (double)all.count * correlation_factor(squares, neighbours, n);
}

double batches_precision(const struct batches *b)
{
	double mean = batches_mean(b);
	return mean > 0 ? batches_error(b) / mean : HUGE_VAL;
}
