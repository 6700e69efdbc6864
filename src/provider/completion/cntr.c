/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters: the calls of fi_cntr(3). */
#include "provider/completion/cntr.h"

#include <stdlib.h>

#include "provider/completion/sleep.h"
#include "provider/unsupported.h"

/* A thread in fi_cntr_wait(), on its stack. */
struct sleeper {
	struct list link;
	uint64_t threshold;
	uint64_t errors; /* of the counter, at the beginning */
};

static bool cntr_idle(const struct wait *w)
{
	const struct cntr *c = list_of(w, struct cntr, wait);
	if (c->tried && c->changes != c->seen)
		return false;
	list_for_each (at, &c->sleepers) {
		const struct sleeper *s = list_of(at, struct sleeper, link);
		if (c->value >= s->threshold || c->errors != s->errors)
			return false;
	}
	return true;
}

/* ---- reading ---- */

static uint64_t cntr_get(struct cntr *c, const uint64_t *which)
{
	domain_lock(c->domain);
	wait_progress(&c->wait);
	uint64_t value = *which;
	bool changed = c->seen != c->changes;
	c->seen = c->changes;
	c->tried = false;
	domain_unlock(c->domain);
	if (changed)
		wait_found(&c->wait);
	else
		wait_missed(&c->wait);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct cntr *c = cntr_of(fid);
	return cntr_get(c, &c->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct cntr *c = cntr_of(fid);
	return cntr_get(c, &c->errors);
}

int cntr_trywait(struct cntr *c)
{
	domain_lock(c->domain);
	int r = c->changes != c->seen ? -FI_EAGAIN : wait_try(&c->wait);
	if (r == 0)
		c->tried = true;
	domain_unlock(c->domain);
	return r;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct cntr *c = cntr_of(fid);
	struct sleeper s = { .threshold = threshold };
	if (c->wait.object == FI_WAIT_NONE)
		return -FI_ENOSYS;
	uint64_t deadline = wait_deadline(timeout);
	uint64_t spin = wait_spin_end();
	int r = 0;
	domain_lock(c->domain);
	s.errors = c->errors;
	list_append(&c->sleepers, &s.link);
	while (r == 0 || r == -FI_EINTR) {
		wait_progress(&c->wait);
		if (c->value >= threshold || c->errors != s.errors) {
			r = c->value >= threshold ? 0 : -FI_EAVAIL;
			break;
		}
		r = wait_turn(&c->wait, spin, deadline);
	}
	list_remove(&s.link);
	domain_unlock(c->domain);
	return r;
}

/* ---- changing ---- */

static int cntr_change(struct cntr *c, uint64_t *which, uint64_t to, bool add)
{
	domain_lock(c->domain);
	*which = add ? *which + to : to;
	c->settled = ++c->changes;
	wait_wake(&c->wait);
	domain_unlock(c->domain);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct cntr *c = cntr_of(fid);
	return cntr_change(c, &c->value, value, true);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct cntr *c = cntr_of(fid);
	return cntr_change(c, &c->value, value, false);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct cntr *c = cntr_of(fid);
	return cntr_change(c, &c->errors, value, true);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct cntr *c = cntr_of(fid);
	return cntr_change(c, &c->errors, value, false);
}

/* ---- set-up ---- */

static int cntr_control(struct fid *fid, int command, void *argument)
{
	struct cntr *c = (struct cntr *)(void *)fid;
	return wait_control(&c->wait, command, argument);
}

static int cntr_close(struct fid *fid)
{
	struct cntr *c = (struct cntr *)(void *)fid;
	domain_lock(c->domain);
	bool busy = c->users > 0;
	if (!busy)
		list_remove(&c->link);
	domain_unlock(c->domain);
	if (busy)
		return -FI_EBUSY;
	wait_close(&c->wait);
	c->domain->users--;
	free(c);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = no_bind,
	.control = cntr_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr,
	struct fid_cntr **out, void *context)
{
	static const struct fi_cntr_attr defaults;
	const struct fi_cntr_attr *a = attr ? attr : &defaults;
	if (!fid || !out || a->flags || a->events != FI_CNTR_EVENTS_COMP)
		return -FI_EINVAL;
	struct cntr *c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->domain = domain_of(fid);
	int r = wait_open(&c->wait, c->domain, a->wait_obj, cntr_idle);
	if (r) {
		free(c);
		return r;
	}
	list_init(&c->sleepers);
	list_init(&c->link);
	c->fid.fid = (struct fid){ FI_CLASS_CNTR, context, &cntr_fid_ops };
	c->fid.ops = &cntr_ops;
	c->domain->users++;
	*out = &c->fid;
	return 0;
}
