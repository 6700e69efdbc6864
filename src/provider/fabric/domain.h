/* SPDX-License-Identifier: BSD-2-Clause */
/* A domain: endpoints, queues and memory regions under one lock. */
#ifndef CAY_PROVIDER_DOMAIN_H
#define CAY_PROVIDER_DOMAIN_H

#include <pthread.h>

#include "provider/fabric/fabric.h"

struct eq;
struct progress_thread;

struct domain {
	struct fid_domain fid;
	struct fabric *fabric;
	bool locks; /* false: the application serializes its calls */
	pthread_mutex_t mutex;
	_Atomic int users;     /* endpoints, queues, memory regions */
	struct list endpoints; /* the enabled ones: endpoint.link */
	struct list regions;   /* mr.link */
	struct mr **keys;      /* hash table of regions by key: mr.c */
	size_t key_capacity, key_count;
	uint64_t next_key;	    /* of keys that the provider chooses */
	struct list event_counters; /* cntr.link: bound to a region */
	struct list replies;	    /* to atomic operations: atomic_target.c */
	int mr_mode;		    /* of FI_MR_VIRT_ADDR and FI_MR_PROV_KEY */
	struct progress_thread *thread; /* NULL: manual progress */
	struct eq *eq;
	uint32_t api_version;
};

extern struct fi_ops_domain domain_ops;
int domain_open(struct fid_fabric *, struct fi_info *, struct fid_domain **,
	void *context);

static inline struct domain *domain_of(struct fid_domain *fid)
{
	return (struct domain *)(void *)fid;
}

/*
 * The lock costs a comparison where the application has promised that one
 * thread at a time uses the domain (FI_THREAD_DOMAIN), and the domain has no
 * progress thread.
 */
static inline void domain_lock(struct domain *d)
{
	if (d->locks)
		pthread_mutex_lock(&d->mutex);
}

static inline void domain_unlock(struct domain *d)
{
	if (d->locks)
		pthread_mutex_unlock(&d->mutex);
}

/* The calls that open the objects of a domain, each in the object's file. */
int av_open(struct fid_domain *, struct fi_av_attr *, struct fid_av **,
	void *context);
int cq_open(struct fid_domain *, struct fi_cq_attr *, struct fid_cq **,
	void *context);
int cntr_open(struct fid_domain *, struct fi_cntr_attr *, struct fid_cntr **,
	void *context);
int pollset_open(
	struct fid_domain *, struct fi_poll_attr *, struct fid_poll **);
int endpoint_open(
	struct fid_domain *, struct fi_info *, struct fid_ep **, void *context);
int atomic_query(struct fid_domain *, enum fi_datatype, enum fi_op,
	struct fi_atomic_attr *, uint64_t flags);
extern struct fi_ops_mr mr_ops;

#endif
