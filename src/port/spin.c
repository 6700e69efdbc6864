/* SPDX-License-Identifier: BSD-2-Clause */
/* See spin.h. */
#include "port/spin.h"

#include <sys/resource.h>

#include "base/bits.h"

uint64_t spin_preemptions(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nivcsw
						     : 0;
}

bool spin_allowed(
	struct spin *s, uint64_t now_ns, uint64_t (*preemptions)(void))
{
	uint64_t elapsed = now_ns - s->sampled_ns;
	if (elapsed < SPIN_SAMPLE_NS)
		return now_ns >= s->resume_ns;

	uint64_t count = preemptions();
	if (s->sampled_ns &&
		(count - s->preemptions) * SPIN_PREEMPTION_NS > elapsed) {
		/*
		 * A thread that does not spin is hardly ever preempted, so
		 * contention is noticed only after the back-off: spinning
		 * resumes for a sample, and less and less often.
		 */
		s->backoff_ns =
			bits_min(2 * s->backoff_ns, SPIN_BACKOFF_NS_MAX);
		if (s->backoff_ns < SPIN_BACKOFF_NS_MIN)
			s->backoff_ns = SPIN_BACKOFF_NS_MIN;
		s->resume_ns = now_ns + s->backoff_ns;
	} else if (now_ns >= s->resume_ns + SPIN_SAMPLE_NS) {
		s->backoff_ns /= 2;
	}
	s->sampled_ns = now_ns;
	s->preemptions = count;
	return now_ns >= s->resume_ns;
}
