/* SPDX-License-Identifier: BSD-2-Clause */
/* Poll sets: completion queues and counters of a domain, looked at together. */
#include <stdlib.h>

#include "provider/completion/cntr.h"
#include "provider/completion/cq.h"

struct pollset_entry {
	struct fid *fid;
	uint64_t changes; /* of a counter, at the last look */
};

struct pollset {
	struct fid_poll fid;
	struct domain *domain;
	struct pollset_entry *entries;
	unsigned count, room;
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

/* ---- looking ---- */

static bool cntr_has(const struct cntr *c, struct pollset_entry *e)
{
	/* What the application has set itself is no news. */
	bool has = c->changes != e->changes && c->changes != c->settled;
	e->changes = c->changes;
	return has;
}

static bool entry_has(struct pollset_entry *e)
{
	if (e->fid->fclass == FI_CLASS_CNTR)
		return cntr_has(as_cntr(e->fid), e);
	const struct cq *q = as_cq(e->fid);
	return q->head != q->tail;
}

static int pollset_poll(struct fid_poll *fid, void **contexts, int count)
{
	struct pollset *p = pollset_of(fid);
	int found = 0;
	if (count < 0 || (count && !contexts))
		return -FI_EINVAL;
	guard_enter(&p->domain->guard);
	domain_progress(p->domain);
	for (unsigned i = 0; i < p->count && found < count; i++)
		if (entry_has(&p->entries[i]))
			contexts[found++] = p->entries[i].fid->context;
	guard_leave(&p->domain->guard);
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

static int pollset_grow(struct pollset *p)
{
	unsigned room = p->room ? 2 * p->room : 8;
	struct pollset_entry *e =
		reallocarray(p->entries, room, sizeof(p->entries[0]));
	if (!e)
		return -FI_ENOMEM;
	p->entries = e;
	p->room = room;
	return 0;
}

static int pollset_insert(struct pollset *p, struct fid *fid)
{
	if (pollset_find(p, fid))
		return 0;
	if (p->count == p->room) {
		int r = pollset_grow(p);
		if (r)
			return r;
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

/* Something of this set's domain that it can look at? */
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
	guard_enter(&p->domain->guard);
	int r = pollset_insert(p, event);
	guard_leave(&p->domain->guard);
	return r;
}

static void pollset_erase(struct pollset *p, struct pollset_entry *e)
{
	if (e->fid->fclass == FI_CLASS_CQ)
		as_cq(e->fid)->users--;
	else
		as_cntr(e->fid)->users--;
	*e = p->entries[--p->count];
}

static int pollset_del(struct fid_poll *fid, struct fid *event, uint64_t flags)
{
	struct pollset *p = pollset_of(fid);
	if (flags || !fid_fits(p, event))
		return -FI_EINVAL;
	guard_enter(&p->domain->guard);
	struct pollset_entry *e = pollset_find(p, event);
	if (e)
		pollset_erase(p, e);
	guard_leave(&p->domain->guard);
	return e ? 0 : -FI_EINVAL;
}

/* ---- opening and closing ---- */

static int pollset_close(struct fid *fid)
{
	struct pollset *p = (struct pollset *)(void *)fid;
	guard_enter(&p->domain->guard);
	bool busy = p->count > 0;
	guard_leave(&p->domain->guard);
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
