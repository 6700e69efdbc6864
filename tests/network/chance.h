/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of random samples, within five standard deviations. */
#ifndef CAY_TESTS_NETWORK_CHANCE_H
#define CAY_TESTS_NETWORK_CHANCE_H

#include <stdint.h>

/* Chi-square test of n equal frequencies; its variance is twice its mean. */
static inline void assert_alike(const uint32_t *count, unsigned n)
{
	double total = 0, chi = 0;
	for (unsigned i = 0; i < n; i++)
		total += count[i];
	for (unsigned i = 0; i < n; i++) {
		double off = count[i] - total / n;
		chi += off * off / (total / n);
	}
	double off = chi - (n - 1);
	assert_true(off * off < 25 * 2.0 * (n - 1));
}

static inline void assert_share(uint64_t hits, uint64_t draws, double share)
{
	double off = (double)hits - (double)draws * share;
	double variance = (double)draws * share * (1 - share);
	assert_true(off * off <= 25 * variance);
}

#endif
