/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines for the calls that wait; see cay_wait(3). Any thread. */
#include "base/clock.h"
#include "cay/port.h"

static uint64_t deadline_after(uint64_t count, uint64_t unit_ns)
{
	return count > UINT64_MAX / unit_ns ? CAY_FOREVER
					    : clock_after_ns(count * unit_ns);
}

uint64_t cay_deadline_us(uint64_t us)
{
	return deadline_after(us, CLOCK_NS_PER_US);
}

uint64_t cay_deadline_ms(uint64_t ms)
{
	return deadline_after(ms, CLOCK_NS_PER_MS);
}

uint64_t cay_deadline_s(uint64_t s)
{
	return deadline_after(s, CLOCK_NS_PER_S);
}
