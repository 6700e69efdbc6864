/* SPDX-License-Identifier: BSD-2-Clause */
/* A domain: endpoints, queues and memory that belong together. */
#ifndef CAY_PROVIDER_DOMAIN_H
#define CAY_PROVIDER_DOMAIN_H

#include "provider/fabric/fabric.h"
#include "provider/fabric/guard.h"

struct engine; /* engine.h: the thread of automatic progress */
struct eq;

struct domain {
	struct fid_domain fid;
	struct fabric *fabric;
	struct guard guard;
	_Atomic int users;     /* endpoints, queues, registrations */
	struct list endpoints; /* enabled ones: endpoint.link */
	struct list regions;   /* mr.link */
	struct mr **keys;      /* hashed by key, chained: mr.c */
	size_t key_room, key_count;
	uint64_t next_key;   /* provider keys */
	struct list answers; /* to atomic operations: atomic_serve.c */
	int mr_mode;	     /* FI_MR_VIRT_ADDR, FI_MR_PROV_KEY or not */
	enum fi_progress progress;
	struct engine *engine; /* NULL: manual progress */
	struct eq *eq;
	uint32_t api_version;
};

int domain_open(struct fid_fabric *, struct fi_info *, struct fid_domain **,
	void *context);

static inline struct domain *domain_of(struct fid_domain *fid)
{
	return (struct domain *)(void *)fid;
}

/* Is it one of this provider's? */
bool domain_is_ours(const struct fid_domain *);

/* Takes up all that has arrived at the domain's endpoints. */
void domain_progress(struct domain *);

/* The calls that make objects of a domain, in the files of these. */
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
int eq_open(struct fid_fabric *, struct fi_eq_attr *, struct fid_eq **,
	void *context);
int fabric_trywait(struct fid_fabric *, struct fid **, int count); /* wait.c */
int atomic_query(struct fid_domain *, enum fi_datatype, enum fi_op,
	struct fi_atomic_attr *, uint64_t flags);
extern struct fi_ops_mr mr_ops;

#endif
