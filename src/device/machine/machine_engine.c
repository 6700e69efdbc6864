/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine on the real clock: it serves ports whose consumers are other
 * processes.
 */
#include "device/host_plain.h"
#include "device/machine/engine.h"
#include "device/machine/host_machine.h"

/* Of the consumer's half, for a consumer in this process. */
static inline void host_wake_senders(struct context *own)
{
	private_store32(&own->room, 1);
}

/* Other processes cannot set the word, but clear WAITERS when they swap R. */
static inline bool host_room(struct context *own)
{
	return private_load32(&own->room) ||
	       !(host_load(&own->control->r, HOST_R) & R_WAITERS);
}

#define MACHINE(name) engine_##name

#include "device/machine/machine.c"
