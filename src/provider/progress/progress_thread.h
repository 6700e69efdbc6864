/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread of a domain with automatic progress. */
#ifndef CAY_PROVIDER_PROGRESS_THREAD_H
#define CAY_PROVIDER_PROGRESS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>

struct domain;
struct endpoint;

struct progress_thread {
	struct domain *domain;
	pthread_t thread;
	int epoll, event;
	bool asleep;	/* or about to be, and the eventfd is clear */
	bool must_poll; /* the epoll set lacks a doorbell: never sleep */
	unsigned polls; /* of all endpoints, at the end of the last turn */
	_Atomic bool stop;
};

/* Sets domain->thread. Without the lock. Returns 0 or -fi_errno. */
int progress_thread_start(struct domain *);
/* Without the lock, after the last endpoint has closed. */
void progress_thread_stop(struct domain *);
/* Adds an endpoint that has got its port. */
void progress_thread_add(struct domain *, struct endpoint *);
/* Removes an endpoint, before its port is closed. */
void progress_thread_remove(struct domain *, struct endpoint *);

/* Wakes the thread for work that no doorbell announces. */
static inline void progress_thread_wake(struct progress_thread *t)
{
	if (!t->asleep)
		return;
	t->asleep = false;
	eventfd_write(t->event, 1);
}

#endif
