/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of a domain. It costs a comparison where the application has
 * promised that one thread at a time uses the domain (FI_THREAD_DOMAIN and
 * the like) and the domain has no thread of its own.
 */
#ifndef CAY_PROVIDER_GUARD_H
#define CAY_PROVIDER_GUARD_H

#include <pthread.h>
#include <stdbool.h>

struct guard {
	bool needed;
	pthread_mutex_t mutex;
};

static inline void guard_init(struct guard *g, bool needed)
{
	g->needed = needed;
	pthread_mutex_init(&g->mutex, NULL);
}

static inline void guard_destroy(struct guard *g)
{
	pthread_mutex_destroy(&g->mutex);
}

static inline void guard_enter(struct guard *g)
{
	if (g->needed)
		pthread_mutex_lock(&g->mutex);
}

static inline void guard_leave(struct guard *g)
{
	if (g->needed)
		pthread_mutex_unlock(&g->mutex);
}

#endif
