/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports as the node sees them: VPIDs with epochs, names, queue sets. Closing
 * is in three steps, because others may be in the middle of something: no
 * claim succeeds any more; everybody who resolved it is told; and when no
 * thread touches its memory any more that is given back, the VPID last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/address.h"
#include "node/doorbell.h"
#include "node/node.h"

static struct list *name_bucket(struct node *n, const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return &n->names[hash % NODE_NAME_BUCKETS];
}

struct vport *vport_named(struct node *n, struct realm *realm, const char *name)
{
	list_for_each (at, name_bucket(n, name)) {
		struct vport *p = list_of(at, struct vport, name_link);
		if (p->realm == realm && p->state == VPORT_OPEN &&
			strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

struct vport *vport_find(struct node *n, struct process *process, uint16_t vpid)
{
	struct vport *p = n->ports[vpid];
	return p && p->process == process && p->state == VPORT_OPEN ? p : NULL;
}

/* A request is a stranger's word: sizes are checked as a whole below. */
static int config_make(struct realm *r, const struct node_request *request,
	struct queue_config *c)
{
	struct queue_options options = { .nq_log2 = request->open.nq_log2,
		.rdr_log2 = request->open.rdr_log2,
		.wq_log2 = request->open.wq_log2,
		.sdr_log2 = request->open.sdr_log2,
		.posted_log2 = request->open.posted_log2,
		.peers = request->open.peers,
		.windows = request->open.windows };
	if (options.nq_log2 > QUEUE_NQ_LOG2_MAX ||
		options.rdr_log2 > QUEUE_RDR_LOG2_MAX ||
		options.wq_log2 > QUEUE_WQ_LOG2_MAX ||
		options.sdr_log2 > QUEUE_SDR_LOG2_MAX ||
		options.peers > CAY_VPIDS || options.windows > CAY_VPIDS ||
		options.posted_log2 > QUEUE_POSTED_LOG2_MAX)
		return -EINVAL;
	queue_set_layout(c, &options);
	c->queues_offset = realm_take(r, c->queues_bytes);
	if (!c->queues_offset)
		return -ENOSPC;
	c->tables_offset = realm_take(r, c->tables_bytes);
	if (!c->tables_offset) {
		realm_put(r, c->queues_offset, c->queues_bytes);
		return -ENOSPC;
	}
	return 0;
}

static void config_free(struct realm *r, const struct queue_config *c)
{
	realm_put(r, c->queues_offset, c->queues_bytes);
	realm_put(r, c->tables_offset, c->tables_bytes);
}

static int vpid_take(struct node *n, uint16_t *vpid)
{
	if (n->free_count == 0)
		return -ENOSPC;
	*vpid = n->free_vpids[n->free_first];
	n->free_first = (n->free_first + 1) % CAY_VPIDS;
	n->free_count--;
	return 0;
}

static void vpid_put(struct node *n, uint16_t vpid)
{
	n->free_vpids[(n->free_first + n->free_count) % CAY_VPIDS] = vpid;
	n->free_count++;
}

/* Epoch 0 means none, so it is left out when the count comes round. */
uint32_t epoch_next(struct node *n, uint16_t vpid)
{
	if (++n->epochs[vpid] == 0)
		n->epochs[vpid] = 2; /* parity goes on alternating */
	return n->epochs[vpid];
}

static struct vport *vport_new(struct process *process, const char *name)
{
	struct vport *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->process = process;
	p->realm = process->realm;
	p->doorbell = -1;
	memcpy(p->name, name, strlen(name) + 1);
	list_init(&p->watchers);
	list_init(&p->name_link);
	list_init(&p->closing_link);
	list_init(&p->sender_link);
	list_init(&p->locks);
	return p;
}

static int vport_check(
	struct process *process, const struct node_request *request)
{
	const char *name = request->open.name;
	if (memchr(name, 0, NODE_NAME_MAX) == NULL)
		return -EPROTO;
	if (!*name)
		return 0;
	if (!node_name_valid(name))
		return -EINVAL;
	return vport_named(process->node, process->realm, name) ? -EEXIST : 0;
}

static void vport_enter(struct node *n, struct vport *p)
{
	n->ports[p->config.vpid] = p;
	n->port_count++;
	list_append(&p->process->ports, &p->link);
	if (*p->name)
		list_append(name_bucket(n, p->name), &p->name_link);
	queue_set_open(
		&p->realm->arena, &p->config, p->first_epoch, POSTED_NONE);
}

int vport_open(struct process *process, const struct node_request *request,
	struct vport **out)
{
	struct node *n = process->node;
	int r = vport_check(process, request);
	if (r)
		return r;
	struct vport *p = vport_new(process, request->open.name);
	if (!p)
		return -ENOMEM;
	uint16_t vpid;
	r = config_make(process->realm, request, &p->config);
	if (r)
		goto err_port;
	r = vpid_take(n, &vpid);
	if (r)
		goto err_config;
	p->config.vpid = vpid;
	p->config.epoch = p->epoch = p->first_epoch = epoch_next(n, vpid);
	if (!queue_config_valid(&p->config, process->realm->arena.bytes)) {
		r = -EINVAL;
		goto err_vpid;
	}
	vport_enter(n, p);
	*out = p;
	return 0;

err_vpid:
	vpid_put(n, vpid);
err_config:
	config_free(process->realm, &p->config);
err_port:
	free(p);
	return r;
}

void vport_close(struct vport *p)
{
	if (p->state != VPORT_OPEN)
		return;
	p->state = VPORT_CLOSED;
	if (queue_set_close(&p->realm->arena, p->config.vpid, p->epoch) &
		W_ARMED)
		doorbell_ring_port(p);
	/* Accesses that begin after this find its gate closed. */
	barrier_everywhere();
	window_unlock_all(p);
	list_remove(&p->name_link);
	/* It watches nobody any more. */
	for (uint32_t i = 0; i < p->peer_room; i++)
		if (p->peers[i])
			watch_remove(p, i);
}

static bool vport_quiet(struct vport *p)
{
	struct realm *r = p->realm;
	if (p->former.epoch &&
		!repair_quiet(r, p->former.vpid, p->former.epoch))
		return false;
	return repair_quiet(r, p->config.vpid, p->epoch) &&
	       !repair_pending(p, 0, UINT64_MAX);
}

static void vport_free(struct vport *p)
{
	struct node *n = p->process->node;
	uint16_t vpid = p->config.vpid;

	queue_set_forget(&p->realm->arena, vpid);
	config_free(p->realm, &p->config);
	if (p->former.epoch)
		realm_put(p->realm, p->former.queues_offset,
			p->former.queues_bytes);
	list_remove(&p->link);
	list_remove(&p->closing_link);
	list_remove(&p->sender_link);
	n->ports[vpid] = NULL;
	n->port_count--;
	vpid_put(n, vpid);
	if (p->doorbell >= 0)
		close(p->doorbell);
	free(p->peers);
	free(p);
}

bool vport_reclaim(struct vport *p)
{
	if (p->state == VPORT_CLOSED) {
		bool all = repair_references(p);
		watch_gone(p, all);
		if (!all)
			return false;
		p->state = VPORT_QUIET;
	}
	if (!vport_quiet(p))
		return false;
	vport_free(p);
	return true;
}

void vport_reclaim_soon(struct vport *p)
{
	struct node *n = p->process->node;
	if (!vport_reclaim(p))
		list_append(&n->closing, &p->closing_link);
}
