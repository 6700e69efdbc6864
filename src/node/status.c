/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the node knows, written into a memfd for whoever asks.
 *
 * Looking must cost nothing: reading a page of the arena that nobody has
 * touched would make it exist. So tables that a port may never have used are
 * read only where the kernel says that there are pages. And what members write
 * is copied, never believed: no number from there is used as an index.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "node/pages.h"
#include "node/record.h"

#define RECORD_LOOKS 3 /* at one that changes while it is read */

/* ---- what a report is being written with ---- */

struct report {
	struct node *node;
	struct node_status head;
	struct pages pages;
	FILE *to;
};

static void head_fill(struct node *n, struct node_status *s)
{
	struct stat st;
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
		if (fstat(r->fd, &st) == 0)
			s->memory_bytes += (uint64_t)st.st_blocks * 512;
	}
}

/* ---- threads ---- */

/*
 * The i-th record of a process if it may say something; *i goes on to the
 * next. NULL behind the last. A page that does not exist has none in use.
 */
static const struct op_record *record_next(
	struct report *r, const struct process *p, uint32_t *i)
{
	bool known = pages_of(&r->pages, p->realm);
	while (*i < p->record_page_count * OP_RECORDS_PER_PAGE) {
		uint32_t page = *i / OP_RECORDS_PER_PAGE;
		if (*i % OP_RECORDS_PER_PAGE || !known ||
			page_exists(&r->pages, p->record_pages[page]))
			return record_at(p, (*i)++);
		*i += OP_RECORDS_PER_PAGE;
	}
	return NULL;
}

static uint64_t word_look(const _Atomic uint64_t *word)
{
	/* Relaxed, like the rest: nothing is concluded from their order. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* One look; its words may belong to different moments. */
static struct node_status_thread record_look(const struct op_record *op)
{
	struct record_seen s = record_read(op);
	uint64_t posted = word_look(&op->posted);
	uint64_t window = word_look(&op->window);
	return (struct node_status_thread){
		.tid = atomic_load_explicit(&op->thread, memory_order_relaxed),
		.step = atomic_load_explicit(&op->step, memory_order_relaxed),
		.issued = word_look(&op->issued),
		.vpid = (uint16_t)atomic_load_explicit(
			&op->port, memory_order_relaxed),
		.target = s.vpid,
		.target_epoch = s.epoch,
		.state = (uint8_t)s.state,
		.abandoned = s.abandoned,
		/* Beyond the last Win-ID: memory that is no window's. */
		.window = window <= CAY_VPIDS ? (uint32_t)window : 0,
		.entry = record_claims(&s) ? queue_nq(s.w_old) : 0,
		.posted = (uint32_t)posted,
		.posted_target = (uint16_t)(posted >> 32),
	};
}

/* Looks again until two looks agree, or its thread is too fast for that. */
static struct node_status_thread record_looks(const struct op_record *op)
{
	struct node_status_thread t = record_look(op);
	for (unsigned i = 1; i < RECORD_LOOKS; i++) {
		struct node_status_thread again = record_look(op);
		if (memcmp(&t, &again, sizeof(t)) == 0)
			break;
		t = again;
	}
	return t;
}

static void report_threads(
	struct report *r, const struct process *p, uint32_t process)
{
	const struct op_record *op;
	for (uint32_t i = 0; (op = record_next(r, p, &i));) {
		struct node_status_thread t = record_looks(op);
		if (t.tid == 0)
			continue;
		t.pid = (uint32_t)p->pid;
		t.process = process;
		t.record = (uint64_t)((const unsigned char *)op -
				      p->realm->arena.base);
		r->head.threads++;
		fwrite(&t, sizeof(t), 1, r->to);
	}
}

/* ---- processes ---- */

static void process_threads(struct report *r, const struct process *p,
	struct node_status_process *out)
{
	const struct op_record *op;
	for (uint32_t i = 0; (op = record_next(r, p, &i));) {
		out->records += atomic_load_explicit(
					&op->thread, memory_order_relaxed) != 0;
		out->busy += record_read(op).state != OP_IDLE;
	}
}

static void process_heap(
	const struct process *p, struct node_status_process *out)
{
	out->heap_bytes = (uint64_t)p->record_page_count * ARENA_PAGE;
	list_for_each (at, &p->blocks)
		out->alloc_bytes += list_of(at, struct block, link)->bytes;
	list_for_each (at, &p->ports) {
		const struct vport *port = list_of(at, struct vport, link);
		out->ports++;
		out->heap_bytes +=
			port->config.queues_bytes + port->config.tables_bytes;
		if (port->former.epoch)
			out->heap_bytes += port->former.queues_bytes;
	}
	out->heap_bytes += out->alloc_bytes;
}

static void report_process(struct report *r, const struct process *p)
{
	struct node_status_process out = { .pid = (uint32_t)p->pid };
	process_heap(p, &out);
	process_threads(r, p, &out);
	memcpy(out.realm, p->realm->name, sizeof(out.realm));
	r->head.zombies += p->state != PROCESS_MEMBER;
	r->head.processes++;
	fwrite(&out, sizeof(out), 1, r->to);
}

/* ---- ports ---- */

static const void *port_table(const struct vport *p, uint32_t at)
{
	return p->realm->arena.base + p->config.tables_offset +
	       (uint64_t)at * CAY_LINE;
}

static uint64_t port_table_offset(const struct vport *p, uint32_t at)
{
	return p->config.tables_offset + (uint64_t)at * CAY_LINE;
}

static void holder_note(struct node_status_port *out, uint64_t lock)
{
	uint16_t vpid = (uint16_t)lock;
	for (uint32_t i = 0; i < ARRAY_COUNT(out->holders); i++) {
		if (out->holders[i] == vpid)
			return;
		if (out->holders[i] == 0) {
			out->holders[i] = vpid;
			return;
		}
	}
}

static void window_count(
	struct node_status_port *out, const struct cay_window_descriptor *d)
{
	if (atomic_load_explicit((const _Atomic uint32_t *)&d->rights,
		    memory_order_relaxed) == 0)
		return;
	uint64_t lock = word_look((const _Atomic uint64_t *)&d->lock);
	out->windows_open++;
	out->windows_locked += lock != 0;
	if (lock)
		holder_note(out, lock);
}

/* A table begins with a page, and descriptors never lie across two. */
static void port_windows(
	struct report *r, const struct vport *p, struct node_status_port *out)
{
	const struct cay_window_descriptor *table =
		port_table(p, p->config.wdt_at);
	uint64_t from = port_table_offset(p, p->config.wdt_at);
	uint64_t end = from + p->config.windows * sizeof(*table);

	out->window_entries = p->config.windows;
	if (!pages_of(&r->pages, p->realm)) {
		out->windows_open = out->windows_locked = NODE_UNKNOWN;
		return;
	}
	for (uint64_t at = pages_next(&r->pages, from, end); at < end;
		at = pages_next(&r->pages, at + ARENA_PAGE, end))
		for (uint64_t i = at; i < bits_min(at + ARENA_PAGE, end);
			i += sizeof(*table))
			window_count(out, &table[(i - from) / sizeof(*table)]);
}

static void port_posted(struct report *r, const struct vport *p,
	const struct queue_control *c, struct node_status_port *out)
{
	const struct posted_head *head = port_table(p, p->config.posted_at);
	uint32_t mode = atomic_load_explicit(&c->posted, memory_order_relaxed);

	out->posted_entries = 1u << p->config.posted_log2;
	out->posted_mode = (uint8_t)bits_min(mode, UINT8_MAX);
	if (mode == POSTED_NONE)
		return;
	if (!pages_of(&r->pages, p->realm)) {
		out->posted_available = NODE_UNKNOWN;
		return;
	}
	if (!page_exists(&r->pages, port_table_offset(p, p->config.posted_at)))
		return;
	/* Too many where somebody died; below none only by a mistake. */
	int64_t available = (int64_t)word_look(&head->available);
	if (available > 0)
		out->posted_available = (uint32_t)bits_min(
			(uint64_t)available, out->posted_entries);
}

/* Only those that have said that they send by reference have the page. */
static void port_references(const struct vport *p, struct node_status_port *out)
{
	const struct reference *refs = port_table(p, p->config.refs_at);
	out->references_entries = 1u << p->config.refs_log2;
	for (uint32_t i = 0;
		!list_empty(&p->sender_link) && i < out->references_entries;
		i++)
		out->references_used +=
			(word_look(&refs[i].state) & REFERENCE_STATE_MASK) !=
			REFERENCE_FREE;
}

/* Entries that we have written exist; what stands there now is a hint. */
static void port_peers(const struct vport *p, struct node_status_port *out)
{
	const struct peer_entry *entries = port_table(p, p->config.peers_at);
	out->peers = p->peer_count;
	for (uint32_t i = 0; i < p->peer_room; i++) {
		if (!p->peers[i])
			continue;
		uint8_t path = entries[i].path;
		if (!p->peers[i]->target)
			out->peers_gone++;
		else
			out->paths[path < NODE_STATUS_PATHS ? path
							    : PATH_NONE]++;
	}
	list_for_each (at, &p->watchers)
		out->watchers++;
}

static void report_port(struct report *r, const struct vport *p)
{
	const struct queue_control *c =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	struct node_status_port out = { .pid = (uint32_t)p->process->pid,
		.epoch = p->epoch,
		.vpid = p->config.vpid,
		.closed = p->state != VPORT_OPEN,
		.disabled = p->disabled,
		.doorbell = p->doorbell >= 0,
		.w = word_look(&c->w),
		.r = word_look(&c->r),
		.nq_entries = 1u << p->config.nq_log2,
		.rdr_units = 1u << p->config.rdr_log2 };
	port_peers(p, &out);
	port_windows(r, p, &out);
	port_posted(r, p, c, &out);
	port_references(p, &out);
	memcpy(out.name, p->name, sizeof(out.name));
	r->head.zombies += out.closed;
	r->head.ports++;
	fwrite(&out, sizeof(out), 1, r->to);
}

/* ---- all of it ---- */

static void report_processes(struct report *r, bool threads)
{
	uint32_t process = 0;
	list_for_each (realm_at, &r->node->realms) {
		struct realm *realm = list_of(realm_at, struct realm, link);
		list_for_each (at, &realm->processes) {
			struct process *p = list_of(at, struct process, link);
			if (threads)
				report_threads(r, p, process++);
			else
				report_process(r, p);
		}
	}
}

static void report_write(struct report *r)
{
	head_fill(r->node, &r->head);
	fwrite(&r->head, sizeof(r->head), 1, r->to);
	report_processes(r, false);
	for (uint32_t i = 1; i < CAY_VPIDS; i++)
		if (r->node->ports[i])
			report_port(r, r->node->ports[i]);
	report_processes(r, true);
	rewind(r->to);
	fwrite(&r->head, sizeof(r->head), 1, r->to);
}

int status_write(struct node *n, struct node_reply *reply, int *fd)
{
	*fd = memfd_create("cay-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	int copy = dup(*fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f) {
		int e = -errno;
		if (copy >= 0)
			close(copy);
		close(*fd);
		*fd = -1;
		return e;
	}
	struct report r = { .node = n, .pages = { .fd = -1 }, .to = f };
	report_write(&r);
	pages_end(&r.pages);
	int e = fclose(f) == 0 ? 0 : -errno;
	reply->status.bytes =
		sizeof(r.head) +
		r.head.processes * sizeof(struct node_status_process) +
		r.head.ports * sizeof(struct node_status_port) +
		r.head.threads * sizeof(struct node_status_thread);
	reply->status.ports = r.head.ports;
	reply->status.processes = r.head.processes;
	return e;
}
