/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports as the node sees them: VPIDs with epochs, names, queue sets. A port
 * closes in three steps, because other threads may be using it: claims and
 * accesses fail; its watchers are notified; and when no thread accesses its
 * memory, the memory is freed and, last, the VPID.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cay/port.h"
#include "node/address.h"
#include "node/doorbell.h"
#include "node/record.h"

#define CLOSING_PORTS_MAX 256 /* in a tick */

/* The flags of a port that a process may request. */
#define PORT_FLAGS                                              \
	(CAY_PORT_SHARED | CAY_PORT_WORD_MODE | CAY_PORT_HUGE | \
		CAY_PORT_TELL_GONE | CAY_PORT_FETCH)

static struct list *name_bucket(struct node *n, const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return &n->names[hash % NODE_NAME_BUCKETS];
}

struct vport *vport_by_name(
	struct node *n, struct realm *realm, const char *name)
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

/* Computes the requested configuration and allocates its memory. */
static int config_allocate(struct process *p,
	const struct node_request *request, struct queue_config *c)
{
	struct realm *r = p->realm;
	struct queue_options options = { .nq_log2 = request->open.nq_log2,
		.rdr_log2 = request->open.rdr_log2,
		.wq_log2 = request->open.wq_log2,
		.sdr_log2 = request->open.sdr_log2,
		.posted_log2 = request->open.posted_log2,
		.peers = request->open.peers,
		.windows = request->open.windows };
	/* Upper limits here; queue_config_valid() checks the rest. */
	if (options.nq_log2 > QUEUE_NQ_LOG2_MAX ||
		options.rdr_log2 > QUEUE_RDR_LOG2_MAX ||
		options.wq_log2 > QUEUE_WQ_LOG2_MAX ||
		options.sdr_log2 > QUEUE_SDR_LOG2_MAX ||
		options.peers > CAY_VPIDS || options.windows > CAY_VPIDS ||
		options.posted_log2 > QUEUE_POSTED_LOG2_MAX)
		return -EINVAL;
	queue_set_layout(c, &options);
	int e = quota_take(p, QUOTA_HEAP, c->queues_bytes + c->tables_bytes);
	if (e)
		return e;
	c->queues_offset = realm_allocate(r, c->queues_bytes);
	if (!c->queues_offset)
		goto err_quota;
	c->tables_offset = realm_allocate(r, c->tables_bytes);
	if (!c->tables_offset)
		goto err_queues;
	return 0;

err_queues:
	realm_free(r, c->queues_offset, c->queues_bytes);
err_quota:
	quota_return(p, QUOTA_HEAP, c->queues_bytes + c->tables_bytes);
	return -ENOSPC;
}

static void config_free(struct process *p, const struct queue_config *c)
{
	realm_free(p->realm, c->queues_offset, c->queues_bytes);
	realm_free(p->realm, c->tables_offset, c->tables_bytes);
	quota_return(p, QUOTA_HEAP, c->queues_bytes + c->tables_bytes);
}

static int name_check(struct process *process, const char *name)
{
	if (memchr(name, 0, NODE_NAME_MAX) == NULL)
		return -EPROTO;
	if (!*name)
		return 0;
	if (!node_name_valid(name))
		return -EINVAL;
	return vport_by_name(process->node, process->realm, name) ? -EEXIST : 0;
}

int vport_open(struct process *process, const struct node_request *request,
	struct vport **out)
{
	struct node *n = process->node;
	int r = name_check(process, request->open.name);
	if (r)
		return r;
	if (request->open.flags & ~(uint64_t)PORT_FLAGS)
		return -EINVAL;
	struct vport *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->process = process;
	p->realm = process->realm;
	p->doorbell = -1;
	p->tell_gone = request->open.flags & CAY_PORT_TELL_GONE;
	memcpy(p->name, request->open.name, strlen(request->open.name) + 1);
	list_init(&p->watchers);
	list_init(&p->reverse);
	list_init(&p->mappings);
	list_init(&p->name_link);
	list_init(&p->closing_link);
	list_init(&p->origin_link);
	list_init(&p->process_origin_link);
	list_init(&p->lockers);
	list_init(&p->ultra_in);
	list_init(&p->ultra_out);
	tree_init(&p->locks, n->random++);

	r = quota_take(process, QUOTA_PORTS, 1);
	if (r)
		goto err_port;
	r = config_allocate(process, request, &p->config);
	if (r)
		goto err_quota;
	r = -ENOSPC;
	uint16_t vpid;
	if (!vpid_take(p->realm, &vpid))
		goto err_config;
	p->config.vpid = vpid;
	p->config.epoch = p->epoch = p->first_epoch = epoch_next(n, vpid);
	r = -EINVAL;
	if (!queue_config_valid(&p->config, process->realm->arena.bytes))
		goto err_vpid;

	n->ports[vpid] = p;
	n->port_count++;
	list_append(&process->ports, &p->link);
	if (*p->name)
		list_append(name_bucket(n, p->name), &p->name_link);
	queue_set_open(
		&p->realm->arena, &p->config, p->first_epoch, POSTED_NONE);
	*out = p;
	return 0;

err_vpid:
	vpid_free(n, vpid);
err_config:
	config_free(process, &p->config);
err_quota:
	quota_return(process, QUOTA_PORTS, 1);
err_port:
	free(p);
	return r;
}

/*
 * Makes claims on a port fail and removes its name and its watches. Returns
 * false if the port was closed already; else the caller issues a barrier.
 */
static bool vport_shut(struct vport *p)
{
	if (p->state != VPORT_OPEN)
		return false;
	p->state = VPORT_CLOSED;
	p->pass_first = p->realm->pass + 1;
	/* The barrier follows before any scan. */
	p->scan_first = p->realm->scan + 1;
	if (queue_set_close(&p->realm->arena, p->config.vpid, p->epoch) &
		W_ARMED)
		doorbell_ring_port(p);
	list_remove(&p->name_link);
	/* Before NOTIFY_GONE: the target knows how far its paths go. */
	ultra_close_all(p);
	for (uint32_t i = 0; i < p->peer_room; i++)
		if (p->peers[i])
			watch_remove(p, i);
	watch_remove_reverse(p);
	return true;
}

void vport_close(struct vport *p)
{
	if (!vport_shut(p))
		return;
	/*
	 * Accesses that start after this find access_epoch 0. vport_reclaim()
	 * issues one slow barrier for all ports that were closed before it.
	 */
	p->barrier_mark = p->realm->node->slow_barriers;
	p->no_barrier = realm_barrier_slow(p->realm) ||
			realm_barrier(p->realm) != 0;
	window_unlock_all(p);
}

void vport_close_all(struct process *process)
{
	bool any = false;
	list_for_each (at, &process->ports)
		any |= vport_shut(list_of(at, struct vport, link));
	if (!any)
		return;
	uint64_t mark = process->node->slow_barriers;
	bool no_barrier = realm_barrier_slow(process->realm) ||
			  realm_barrier(process->realm) != 0;
	list_for_each (at, &process->ports) {
		struct vport *p = list_of(at, struct vport, link);
		p->no_barrier |= no_barrier;
		p->barrier_mark = mark;
		window_unlock_all(p);
	}
}

static void vport_free(struct vport *p)
{
	struct node *n = p->process->node;
	uint16_t vpid = p->config.vpid;

	mapping_detach_all(p);
	window_forget(p);
	queue_set_forget(&p->realm->arena, vpid);
	config_free(p->process, &p->config);
	quota_return(p->process, QUOTA_PORTS, 1);
	if (p->previous.epoch) {
		realm_free(p->realm, p->previous.queues_offset,
			p->previous.queues_bytes);
		quota_return(p->process, QUOTA_HEAP, p->previous.queues_bytes);
	}
	list_remove(&p->link);
	list_remove(&p->closing_link);
	repair_origin_end(p);
	p->process->origin_count -= !list_empty(&p->process_origin_link);
	list_remove(&p->process_origin_link);
	n->ports[vpid] = NULL;
	n->port_count--;
	vpid_free(n, vpid);
	if (p->doorbell >= 0)
		close(p->doorbell);
	free(p->peers);
	free(p->reversed);
	free(p);
}

/* Completes what others sent to a closed port and notifies its watchers. */
static bool vport_announce(struct vport *p)
{
	if (p->state == VPORT_CLOSED) {
		/* GONE follows the last completion for each watcher. */
		bool all = repair_references_to(p);
		if (!watch_notify_gone(p, all) || !all)
			return false;
		p->state = VPORT_ANNOUNCED;
	}
	return true;
}

bool vport_reclaim(struct vport *p)
{
	const struct realm *r = p->realm;
	if (!vport_announce(p))
		return false;
	/* Without a barrier the op records may not show all accesses. */
	if (p->no_barrier && realm_lives(r)) {
		p->no_barrier =
			realm_barrier_since(p->realm, p->barrier_mark) != 0;
		if (p->no_barrier)
			return false;
		p->scan_first = r->scan + 1;
	}
	/* No thread may use its queue sets, or read its messages. */
	if (!vport_quiesced(p) || repair_references_read(p, 0, UINT64_MAX) ||
		!window_unlock_all(p))
		return false;
	vport_free(p);
	return true;
}

void vport_reclaim_soon(struct vport *p)
{
	struct node *n = p->process->node;
	list_remove(&p->closing_link);
	if (p->disabled ? !vport_announce(p)
			: p->no_barrier || !vport_reclaim(p))
		list_append(&n->closing, &p->closing_link);
}

bool vport_continue(struct node *n)
{
	const struct list *last = n->closing.previous, *at = NULL;
	n->notify_left = NODE_NOTIFY_MAX;
	/* Those that stay move to the end of the list. */
	for (unsigned i = 0; i < CLOSING_PORTS_MAX && n->notify_left > 0 &&
			     at != last && !list_empty(&n->closing);
		i++) {
		struct vport *p =
			list_of(n->closing.next, struct vport, closing_link);
		at = &p->closing_link;
		list_remove(&p->closing_link);
		/* Ports of other processes are reclaimed when these exit. */
		if (p->process->state != PROCESS_MEMBER)
			continue;
		list_append(&n->closing, &p->closing_link);
		if (!p->disabled)
			vport_reclaim(p);
		else if (vport_announce(p))
			list_remove(&p->closing_link);
	}
	return !list_empty(&n->closing);
}
