/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting and completing, as an application does. */
#include "bench/fabric/link.h"

#include <stdio.h>

enum {
	BURST = 16
};

int link_complain(const struct link *l, const char *call, int error)
{
	fprintf(stderr, "fabric: %s: rank %d: %s: %s\n", l->provider,
		l->seat->rank, call, fi_strerror(-error));
	return error;
}

void link_rewind(struct link *l)
{
	for (unsigned i = 0; i < MESSAGE_WINDOW_MAX; i++)
		l->free[i] = MESSAGE_WINDOW_MAX - 1 - i;
	l->free_count = MESSAGE_WINDOW_MAX;
}

static int link_error(struct link *l, ssize_t said)
{
	struct fi_cq_err_entry entry = { 0 };

	if (said != -FI_EAVAIL)
		return link_complain(l, "fi_cq_read", (int)said);
	if (fi_cq_readerr(l->cq, &entry, 0) != 1)
		return link_complain(l, "fi_cq_readerr", -FI_EOTHER);
	return link_complain(l, "an operation", -entry.err);
}

static void link_complete(struct link *l, const struct slot *slot)
{
	if (slot->receive)
		l->full[l->full_tail++ % MESSAGE_WINDOW_MAX] = slot->index;
	else
		l->free[l->free_count++] = slot->index;
}

int link_poll(struct link *l)
{
	struct fi_cq_tagged_entry entry[BURST];
	ssize_t count = fi_cq_read(l->cq, entry, BURST);

	if (count < 0)
		return count == -FI_EAGAIN ? 0 : link_error(l, count);
	for (ssize_t i = 0; i < count; i++)
		link_complete(l, entry[i].op_context);
	return 0;
}

int link_receive(struct link *l, unsigned slot, size_t bytes, uint64_t tag)
{
	unsigned char *at = l->pool->target + message_at(slot, bytes);
	ssize_t r;

	while ((r = fi_trecv(l->ep, at, bytes, NULL, FI_ADDR_UNSPEC, tag, 0,
			&l->receives[slot].context)) == -FI_EAGAIN) {
		int error = link_poll(l);
		if (error)
			return error;
	}
	return r ? link_complain(l, "fi_trecv", (int)r) : 0;
}

int link_take(struct link *l, unsigned *slot)
{
	while (l->full_head == l->full_tail) {
		int r = link_poll(l);
		if (r)
			return r;
	}
	*slot = l->full[l->full_head++ % MESSAGE_WINDOW_MAX];
	return 0;
}

/* Slots from the window on stay free: that many at most are under way. */
int link_claim(struct link *l, unsigned window, unsigned *slot)
{
	while (l->free_count <= MESSAGE_WINDOW_MAX - window) {
		int r = link_poll(l);
		if (r)
			return r;
	}
	*slot = l->free[--l->free_count];
	return 0;
}

int link_send(struct link *l, unsigned slot, size_t bytes, uint64_t tag)
{
	const unsigned char *at = l->pool->source + message_at(slot, bytes);
	ssize_t r;

	while ((r = fi_tsend(l->ep, at, bytes, NULL, l->peer, tag,
			&l->sends[slot].context)) == -FI_EAGAIN) {
		int error = link_poll(l);
		if (error)
			return error;
	}
	return r ? link_complain(l, "fi_tsend", (int)r) : 0;
}

int link_inject(struct link *l, const void *at, size_t bytes, uint64_t tag)
{
	ssize_t r;

	while ((r = fi_tinject(l->ep, at, bytes, l->peer, tag)) == -FI_EAGAIN) {
		int error = link_poll(l);
		if (error)
			return error;
	}
	return r ? link_complain(l, "fi_tinject", (int)r) : 0;
}

int link_drain(struct link *l)
{
	while (l->free_count < MESSAGE_WINDOW_MAX) {
		int r = link_poll(l);
		if (r)
			return r;
	}
	return 0;
}
