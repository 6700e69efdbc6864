/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device in the client library, as one translation unit. Its loops end
 * because each failed CAS means that another thread has made progress.
 */
#include "base/clock.h"
#include "device/host_real.h"

#define DEVICE(name) device_##name

/* After this time a wait ends without the node or the peer. */
#define PAUSE_NS_MAX (10 * 1000 * CLOCK_NS_PER_MS)

#ifdef CAY_HOST_STEPS
void (*host_step_hook)(enum device_step);
#endif

/* Acquire, as host_load(); the partners are in claim.c and notify.c. */
static inline uint32_t host_epoch(const struct context *to)
{
	return host_load32(&to->control->epoch, HOST_W);
}

static inline uint32_t host_migration(const struct context *to)
{
	return host_load32(&to->control->migration, HOST_MIGRATION);
}

static inline bool host_pause(const struct arena *a, uint64_t *deadline)
{
	if (*deadline == 0)
		*deadline = clock_after_ns(PAUSE_NS_MAX);
	if (clock_passed(*deadline) || a->orphaned(a))
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
