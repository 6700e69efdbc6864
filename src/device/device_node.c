/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device in the node: repair, and the notifications that the node sends.
 * Members can write the words that its loops read, so the loops are bounded,
 * and it never waits for a member.
 */
#include "device/host_real.h"

#define DEVICE(name)	 node_device_##name
#define NODE_RETRIES_MAX 1000

static inline bool host_pause(const struct arena *a)
{
	(void)a;
	return false;
}

static inline bool host_retry(uint32_t *tries)
{
	return ++*tries < NODE_RETRIES_MAX;
}

#include "device/units.h"
