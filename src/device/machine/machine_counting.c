/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine on the counting platform. */
#include "device/host_counted.h"
#include "device/machine/host_machine.h"
#include "device/machine/machine.h"

static inline void host_interrupt(struct context *to, uint64_t flags)
{
	(void)to;
	counting_note_interrupt(flags);
}

/* The consumer has found WAITERS in R: parked packets are tried again. */
static inline void host_wake_senders(struct context *own)
{
	private_store32(&own->room, 1);
	counting_note_room();
}

/* A packet is parked for the port: has the consumer made room since? */
static inline bool host_room(struct context *own)
{
	return private_load32(&own->room);
}

#define MACHINE(name) machine_##name

#include "device/machine/machine.c"
