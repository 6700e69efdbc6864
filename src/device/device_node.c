/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device in the node: repair, and the notifications that the node sends.
 * Members can write the words that its loops read, so the loops are bounded,
 * and it never waits for a member.
 */
#include "device/host_real.h"

#define DEVICE(name)	 node_device_##name
#define NODE_RETRIES_MAX 1000

/*
 * Only the node changes epochs and starts migrations, on the thread that is
 * here, and it claims entries only of a port's current queue set. So the copies
 * in the arena, which members can write, are not read.
 */
static inline uint32_t host_epoch(const struct context *to)
{
	return to->epoch;
}

static inline uint32_t host_migration(const struct context *to)
{
	(void)to;
	return QUEUE_STABLE;
}

static inline bool host_pause(const struct arena *a, uint64_t *deadline)
{
	(void)a;
	(void)deadline;
	return false;
}

static inline bool host_retry(uint32_t *tries)
{
	return ++*tries < NODE_RETRIES_MAX;
}

#include "device/units.h"
