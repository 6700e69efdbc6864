/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters. See cntr.h. */
#include "provider/completion/cntr.h"

#include <stdlib.h>

/* A thread in fi_cntr_wait(), on its stack. */
struct sleeper {
	struct list link;
	uint64_t threshold;
	uint64_t errors; /* when it came */
};

static bool sleeper_done(const struct cntr *c, const struct sleeper *s)
{
	return c->value >= s->threshold || c->errors != s->errors;
}

static bool cntr_idle(const struct wait *w)
{
	const struct cntr *c = list_of(w, struct cntr, wait);
	if (c->tried && c->changes != c->seen)
		return false;
	list_for_each (at, &c->sleepers)
		if (sleeper_done(c, list_of(at, struct sleeper, link)))
			return false;
	return true;
}

/* ---- reading ---- */

static uint64_t cntr_look(struct cntr *c, const uint64_t *which)
{
	guard_enter(&c->domain->guard);
	wait_progress(&c->wait);
	uint64_t value = *which;
	bool changed = c->seen != c->changes;
	c->seen = c->changes;
	c->tried = false;
	guard_leave(&c->domain->guard);
	wait_polled(&c->wait, changed);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct cntr *c = cntr_of(fid);
	return cntr_look(c, &c->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct cntr *c = cntr_of(fid);
	return cntr_look(c, &c->errors);
}

int cntr_try(struct cntr *c)
{
	guard_enter(&c->domain->guard);
	int r = c->changes != c->seen ? -FI_EAGAIN : wait_try(&c->wait);
	if (r == 0)
		c->tried = true;
	guard_leave(&c->domain->guard);
	return r;
}

static int cntr_await(struct cntr *c, const struct sleeper *s, int timeout)
{
	uint64_t deadline = wait_deadline(timeout);
	uint64_t spin = wait_spin_end();
	for (;;) {
		wait_progress(&c->wait);
		if (c->value >= s->threshold)
			return 0;
		if (c->errors != s->errors)
			return -FI_EAVAIL;
		int r = wait_turn(&c->wait, spin, deadline);
		if (r && r != -FI_EINTR)
			return r;
	}
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct cntr *c = cntr_of(fid);
	struct sleeper s = { .threshold = threshold };
	if (c->wait.object == FI_WAIT_NONE)
		return -FI_ENOSYS;
	guard_enter(&c->domain->guard);
	s.errors = c->errors;
	list_append(&c->sleepers, &s.link);
	int r = cntr_await(c, &s, timeout);
	list_remove(&s.link);
	guard_leave(&c->domain->guard);
	return r;
}

/* ---- changing ---- */

static int cntr_change(struct cntr *c, uint64_t *which, uint64_t to, bool add)
{
	guard_enter(&c->domain->guard);
	*which = add ? *which + to : to;
	c->settled = ++c->changes;
	wait_wake(&c->wait);
	guard_leave(&c->domain->guard);
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

/* ---- opening and closing ---- */

static int cntr_control(struct fid *fid, int command, void *argument)
{
	struct cntr *c = (struct cntr *)(void *)fid;
	return wait_control(&c->wait, command, argument);
}

static int cntr_close(struct fid *fid)
{
	struct cntr *c = (struct cntr *)(void *)fid;
	guard_enter(&c->domain->guard);
	bool busy = c->users > 0;
	guard_leave(&c->domain->guard);
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
	static const struct fi_cntr_attr usual;
	const struct fi_cntr_attr *a = attr ? attr : &usual;
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
	c->fid.fid = (struct fid){ FI_CLASS_CNTR, context, &cntr_fid_ops };
	c->fid.ops = &cntr_ops;
	c->domain->users++;
	*out = &c->fid;
	return 0;
}
