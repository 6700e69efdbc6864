/* SPDX-License-Identifier: BSD-2-Clause */
/* See batch.h. */
#include "network/stats/batch.h"

#include <math.h>

#define RELATED_LEAST 10 /* batches */
#define RELATED_MOST  0.9

/* There is no more room: two of them are one from now on. */
static void batches_join(struct batches *b)
{
	for (unsigned i = 0; i < BATCHES_MAX / 2; i++) {
		const struct batch *two = &b->of[2 * i];
		b->of[i] = (struct batch){ two[0].count + two[1].count,
			two[0].sum + two[1].sum };
	}
	b->count = BATCHES_MAX / 2;
	b->longer++;
}

void batches_add(struct batches *b, uint64_t count, uint64_t sum)
{
	struct batch *last = &b->of[b->count];
	if (b->added == 0)
		*last = (struct batch){ 0 };
	last->count += count;
	last->sum += sum;
	if (++b->added >> b->longer == 0)
		return;
	b->added = 0;
	if (++b->count == BATCHES_MAX)
		batches_join(b);
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

/* 97.5 % of Student's distribution, for two degrees of freedom or more. */
static double student(double freedom)
{
	return 1.96 + 2.372 / freedom + 2.823 / (freedom * freedom);
}

/*
 * Batches that are too short go up and down together, and all of them say less
 * than so many should: by that factor. Of few batches it is not known.
 */
static double batches_related(double squares, double neighbours, double n)
{
	double share = squares > 0 ? neighbours / squares : 0;
	if (n < RELATED_LEAST || share < 0)
		return 1;
	share = fmin(share, RELATED_MOST);
	return sqrt((1 + share) / (1 - share));
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
		double off =
			(double)b->of[i].sum - mean * (double)b->of[i].count;
		squares += off * off;
		neighbours += off * last;
		last = off;
	}
	return student(n - 1) * sqrt(squares / (n - 1) * n) /
	       (double)all.count * batches_related(squares, neighbours, n);
}

double batches_precision(const struct batches *b)
{
	double mean = batches_mean(b);
	return mean > 0 ? batches_error(b) / mean : HUGE_VAL;
}
