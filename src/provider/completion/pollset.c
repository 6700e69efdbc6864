/* SPDX-License-Identifier: BSD-2-Clause */
/* Poll sets: completion queues and counters of a domain, polled together. */
#include <stdlib.h>

#include "provider/completion/cntr.h"
#include "provider/completion/cq.h"
#include "provider/progress/progress.h"
#include "provider/unsupported.h"

struct pollset_entry {
	struct fid *fid;
	uint64_t changes; /* of a counter, at the last poll */
};

struct pollset {
	struct fid_poll fid;
	struct domain *domain;
	struct pollset_entry *entries;
	unsigned count, capacity;
};

static struct pollset *pollset_of(struct fid_poll *fid)
{
	return (struct pollset *)(void *)fid;
}

static struct cq *as_cq(struct fid *fid)
{
	return (struct cq *)(void *)fid;
}

static struct cntr *as_cntr(struct fid *fid)
{
	return (struct cntr *)(void *)fid;
}

/* ---- polling ---- */

static int pollset_poll(struct fid_poll *fid, void **contexts, int count)
{
	struct pollset *p = pollset_of(fid);
	int found = 0;
	if (count < 0 || (count && !contexts))
		return -FI_EINVAL;
	domain_lock(p->domain);
	domain_progress(p->domain);
	for (unsigned i = 0; i < p->count && found < count; i++) {
		struct pollset_entry *e = &p->entries[i];
		bool ready;
		if (e->fid->fclass == FI_CLASS_CQ) {
			const struct cq *q = as_cq(e->fid);
			ready = q->head != q->tail;
		} else {
			/* Changes by the application itself do not count. */
			const struct cntr *c = as_cntr(e->fid);
			ready = c->changes != e->changes &&
				c->changes != c->settled;
			e->changes = c->changes;
		}
		if (ready)
			contexts[found++] = e->fid->context;
	}
	domain_unlock(p->domain);
	return found;
}

/* ---- members ---- */

static struct pollset_entry *pollset_find(struct pollset *p, struct fid *fid)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->entries[i].fid == fid)
			return &p->entries[i];
	return NULL;
}

static int pollset_insert(struct pollset *p, struct fid *fid)
{
	if (pollset_find(p, fid))
		return 0;
	if (p->count == p->capacity) {
		unsigned n = p->capacity ? 2 * p->capacity : 8;
		struct pollset_entry *entries =
			reallocarray(p->entries, n, sizeof(entries[0]));
		if (!entries)
			return -FI_ENOMEM;
		p->entries = entries;
		p->capacity = n;
	}
	struct pollset_entry e = { fid, 0 };
	if (fid->fclass == FI_CLASS_CQ) {
		as_cq(fid)->users++;
	} else {
		as_cntr(fid)->users++;
		e.changes = as_cntr(fid)->changes;
	}
	p->entries[p->count++] = e;
	return 0;
}

/* Returns true for a queue or counter of the set's domain. */
static bool fid_fits(const struct pollset *p, struct fid *fid)
{
	if (!fid)
		return false;
	if (fid->fclass == FI_CLASS_CQ)
		return as_cq(fid)->domain == p->domain;
	return fid->fclass == FI_CLASS_CNTR &&
	       as_cntr(fid)->domain == p->domain;
}

static int pollset_add(struct fid_poll *fid, struct fid *event, uint64_t flags)
{
	struct pollset *p = pollset_of(fid);
	if (flags || !fid_fits(p, event))
		return -FI_EINVAL;
	domain_lock(p->domain);
	int r = pollset_insert(p, event);
	domain_unlock(p->domain);
	return r;
}

static int pollset_del(struct fid_poll *fid, struct fid *event, uint64_t flags)
{
	struct pollset *p = pollset_of(fid);
	if (flags || !fid_fits(p, event))
		return -FI_EINVAL;
	domain_lock(p->domain);
	struct pollset_entry *e = pollset_find(p, event);
	if (e) {
		if (event->fclass == FI_CLASS_CQ)
			as_cq(event)->users--;
		else
			as_cntr(event)->users--;
		*e = p->entries[--p->count];
	}
	domain_unlock(p->domain);
	return e ? 0 : -FI_EINVAL;
}

/* ---- set-up ---- */

static int pollset_close(struct fid *fid)
{
	struct pollset *p = (struct pollset *)(void *)fid;
	domain_lock(p->domain);
	bool busy = p->count > 0;
	domain_unlock(p->domain);
	if (busy)
		return -FI_EBUSY;
	p->domain->users--;
	free(p->entries);
	free(p);
	return 0;
}

static struct fi_ops pollset_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = pollset_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_poll pollset_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = pollset_poll,
	.poll_add = pollset_add,
	.poll_del = pollset_del,
};

int pollset_open(struct fid_domain *fid, struct fi_poll_attr *attr,
	struct fid_poll **out)
{
	if (!fid || !out || (attr && attr->flags))
		return -FI_EINVAL;
	struct pollset *p = calloc(1, sizeof(*p));
	if (!p)
		return -FI_ENOMEM;
	p->domain = domain_of(fid);
	p->fid.fid = (struct fid){ FI_CLASS_POLL, NULL, &pollset_fid_ops };
	p->fid.ops = &pollset_ops;
	p->domain->users++;
	*out = &p->fid;
	return 0;
}
