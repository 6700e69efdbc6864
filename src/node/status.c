/* SPDX-License-Identifier: BSD-2-Clause */
/* What the node knows, written into a memfd for whoever asks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/record.h"

static void status_head(struct node *n, struct node_status *s)
{
	*s = (struct node_status){ .magic = NODE_MAGIC,
		.node = n->id,
		.pid = (uint32_t)getpid(),
		.uptime_ns = clock_now_ns() - n->started_ns,
		.repaired = n->count.repaired,
		.voided = n->count.voided,
		.gone_sent = n->count.gone_sent,
		.fenced = n->count.fenced,
		.refused = n->count.refused };
	memcpy(s->name, n->name, sizeof(s->name));
	list_for_each (at, &n->realms) {
		struct realm *r = list_of(at, struct realm, link);
		s->heap_bytes += r->heap.total;
		s->heap_used += r->heap.used;
	}
}

/* Threads that have a record, or those in the middle of something. */
static uint32_t records_count(const struct process *p, bool busy)
{
	uint32_t count = 0;
	struct op_record *op;
	for (uint32_t i = 0; (op = record_at(p, i)); i++)
		count += busy ? record_read(op).state != OP_IDLE
			      : atomic_load_explicit(
					&op->thread, memory_order_relaxed) != 0;
	return count;
}

static uint32_t ports_count(const struct process *p)
{
	uint32_t count = 0;
	list_for_each (at, &p->ports)
		count++;
	return count;
}

static void status_process(FILE *f, struct node_status *s, struct process *p)
{
	struct node_status_process out = { .pid = (uint32_t)p->pid,
		.ports = ports_count(p),
		.records = records_count(p, false),
		.busy = records_count(p, true) };
	memcpy(out.realm, p->realm->name, sizeof(out.realm));
	if (p->state != PROCESS_MEMBER)
		s->zombies++;
	s->processes++;
	fwrite(&out, sizeof(out), 1, f);
}

static void status_port(FILE *f, struct node_status *s, struct vport *p)
{
	const struct queue_control *c =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	struct node_status_port out = { .pid = (uint32_t)p->process->pid,
		.epoch = p->epoch,
		.vpid = p->config.vpid,
		.closed = p->state != VPORT_OPEN,
		.bell = p->bell >= 0,
		.peers = p->peer_count,
		.w = atomic_load_explicit(&c->w, memory_order_relaxed),
		.r = atomic_load_explicit(&c->r, memory_order_relaxed),
		.nq_entries = 1u << p->config.nq_log2,
		.rdr_units = 1u << p->config.rdr_log2 };
	list_for_each (at, &p->watchers)
		out.watchers++;
	memcpy(out.name, p->name, sizeof(out.name));
	s->zombies += out.closed;
	s->ports++;
	fwrite(&out, sizeof(out), 1, f);
}

static void status_body(struct node *n, FILE *f, struct node_status *s)
{
	fwrite(s, sizeof(*s), 1, f);
	list_for_each (realm_at, &n->realms) {
		struct realm *r = list_of(realm_at, struct realm, link);
		list_for_each (at, &r->processes)
			status_process(f, s, list_of(at, struct process, link));
	}
	for (uint32_t i = 1; i < CAY_VPIDS; i++)
		if (n->ports[i])
			status_port(f, s, n->ports[i]);
	rewind(f);
	fwrite(s, sizeof(*s), 1, f);
}

int status_write(struct node *n, struct node_reply *reply, int *fd)
{
	struct node_status s;
	*fd = memfd_create("cay-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	int copy = dup(*fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f) {
		int r = -errno;
		if (copy >= 0)
			close(copy);
		close(*fd);
		*fd = -1;
		return r;
	}
	status_head(n, &s);
	status_body(n, f, &s);
	int r = fclose(f) == 0 ? 0 : -errno;
	reply->status.bytes = sizeof(s) +
			      s.processes * sizeof(struct node_status_process) +
			      s.ports * sizeof(struct node_status_port);
	reply->status.ports = s.ports;
	reply->status.processes = s.processes;
	return r;
}
