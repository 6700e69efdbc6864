/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device in the client library, as one translation unit. Its loops end
 * because each failed CAS means that another thread has made progress.
 */
#include "base/clock.h"
#include "device/host_real.h"

#define DEVICE(name) device_##name

#ifdef CAY_HOST_STEPS
void (*host_step_hook)(enum device_step);
#endif

static inline bool host_pause(const struct arena *a)
{
	if (a->orphaned(a))
		return false;
	clock_nap_ns(CLOCK_NS_PER_MS);
	return true;
}

static inline bool host_retry(uint32_t *tries)
{
	(void)tries;
	return true;
}

#include "device/units.h"

#include "device/entry.c"
