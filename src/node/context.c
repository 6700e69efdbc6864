/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue sets as the node sees them: contexts and fenced entries from its own
 * state, never from the arena, where members can overwrite both.
 */
#include <errno.h>

#include "node/node.h"

int vport_context(const struct vport *p, uint32_t epoch, struct context *c)
{
	const struct queue_config *config = epoch == p->epoch ? &p->config
							      : &p->previous;
	if (epoch == 0 || config->epoch != epoch)
		return -EPIPE;
	context_from_config(&p->realm->arena, config, c);
	return 0;
}

bool vport_fenced(const struct vport *p, uint32_t epoch, uint64_t position)
{
	if (epoch != p->previous.epoch)
		return false;
	for (uint32_t i = 0; i < p->fenced_count; i++)
		if (queue_in_range(
			    position, p->fenced[i].from, p->fenced[i].to))
			return true;
	return false;
}
