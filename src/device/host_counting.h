/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting platform: each access follows a call of counting_yield() and
 * precedes one of counting_note(). Memory orders are those of the real
 * platform, so that threads may interleave as well as coroutines.
 */
#ifndef CAY_DEVICE_HOST_COUNTING_H
#define CAY_DEVICE_HOST_COUNTING_H

#define DEVICE(name) counting_##name

#include "device/host_counted.h"
#include "device/host_direct.h"

static inline void host_interrupt(struct context *to, uint64_t flags)
{
	(void)to;
	counting_yield();
	counting_note_interrupt(flags);
}

static inline void host_wake_senders(struct context *own)
{
	(void)own;
	counting_yield();
	counting_note_room();
}

/* Acquire, as host_load(); the partners are in claim.c and notify.c. */
static inline uint32_t host_epoch(const struct context *to)
{
	return host_load32(&to->control->epoch, HOST_W);
}

static inline uint32_t host_migration(const struct context *to)
{
	return host_load32(&to->control->migration, HOST_MIGRATION);
}

/* Nothing sleeps: the test runs another coroutine. */
static inline int host_sleep_consumer(
	struct context *own, uint64_t w, uint64_t deadline)
{
	(void)own;
	(void)w;
	(void)deadline;
	return 0;
}

static inline int host_sleep_sender(
	struct context *to, uint64_t r, uint64_t deadline)
{
	(void)to;
	(void)r;
	(void)deadline;
	return 0;
}

/* The caller, a coroutine, has run the others in host_before(). */
static inline bool host_pause(const struct arena *a, uint64_t *deadline)
{
	(void)deadline;
	return !a->orphaned(a);
}

static inline bool host_retry(uint32_t *tries)
{
	(void)tries;
	return true;
}

#endif
