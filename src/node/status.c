/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status report, written into a memfd: processes, ports, threads.
 *
 * A report must not allocate memory: reading an untouched page of the arena
 * would. Tables that a port may never have used are therefore read only where
 * the kernel says that pages exist. Values that members write are copied and
 * never used as an index.
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

#define RECORD_READS_MAX 3 /* of a record that changes while it is read */

struct report {
	struct node *node;
	struct node_status head;
	struct pages pages;
	FILE *to;
};

/* ---- threads ---- */

/*
 * Returns the next record of a process from *i on, and advances *i; NULL after
 * the last. Pages that do not exist contain no record in use.
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

static uint64_t word_load(const _Atomic uint64_t *word)
{
	/* Relaxed, as all loads of the report: their order does not matter. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Reads a record once; its words may be of different operations. */
static struct node_status_thread thread_read(const struct op_record *op)
{
	struct record_copy s = record_read(op);
	uint64_t posted = word_load(&op->posted);
	uint64_t window = word_load(&op->window);
	return (struct node_status_thread){
		.tid = atomic_load_explicit(&op->thread, memory_order_relaxed),
		.step = atomic_load_explicit(&op->step, memory_order_relaxed),
		.issued = word_load(&op->issued),
		.vpid = (uint16_t)atomic_load_explicit(
			&op->port, memory_order_relaxed),
		.target = s.vpid,
		.target_epoch = s.epoch,
		.state = (uint8_t)s.state,
		.abandoned = s.abandoned,
		/* Members write it: no larger value names a window. */
		.window = window <= CAY_VPIDS ? (uint32_t)window : 0,
		.entry = record_claims(&s) ? queue_nq(s.w_old) : 0,
		.posted = (uint32_t)posted,
		.posted_target = (uint16_t)(posted >> 32),
	};
}

static void report_threads(
	struct report *r, const struct process *p, uint32_t process)
{
	const struct op_record *op;
	for (uint32_t i = 0; (op = record_next(r, p, &i));) {
		struct node_status_thread t = thread_read(op), again;
		/* Until two reads agree, or the thread is too fast. */
		for (unsigned n = 1; n < RECORD_READS_MAX; n++, t = again) {
			again = thread_read(op);
			if (memcmp(&t, &again, sizeof(t)) == 0)
				break;
		}
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

static void report_process(struct report *r, const struct process *p)
{
	struct node_status_process out = { .pid = (uint32_t)p->pid };
	const struct op_record *op;

	out.heap_bytes = p->used[QUOTA_HEAP];
	out.alloc_bytes = p->alloc_bytes;
	out.ports = (uint32_t)p->used[QUOTA_PORTS];
	for (uint32_t i = 0; (op = record_next(r, p, &i));) {
		out.records += atomic_load_explicit(
				       &op->thread, memory_order_relaxed) != 0;
		out.busy += record_read(op).state != OP_IDLE;
	}
	memcpy(out.realm, p->realm->name, sizeof(out.realm));
	r->head.zombies += p->state != PROCESS_MEMBER;
	r->head.processes++;
	fwrite(&out, sizeof(out), 1, r->to);
}

/* ---- ports ---- */

static uint64_t port_table_offset(const struct vport *p, uint32_t at)
{
	return p->config.tables_offset + (uint64_t)at * CAY_LINE;
}

static void window_count(
	struct node_status_port *out, const struct cay_window_descriptor *d)
{
	if (atomic_load_explicit((const _Atomic uint32_t *)&d->rights,
		    memory_order_relaxed) == 0)
		return;
	out->windows_open++;
	uint64_t lock = word_load((const _Atomic uint64_t *)&d->lock);
	if (!lock)
		return;
	out->windows_locked++;
	/* Note the holder, once. */
	for (uint32_t i = 0; i < ARRAY_COUNT(out->holders); i++) {
		if (out->holders[i] == 0)
			out->holders[i] = (uint16_t)lock;
		if (out->holders[i] == (uint16_t)lock)
			return;
	}
}

/* The table starts on a page, and no descriptor crosses pages. */
static void port_windows(
	struct report *r, const struct vport *p, struct node_status_port *out)
{
	const struct cay_window_descriptor *table =
		vport_table(p, p->config.wdt_at);
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
	const struct posted_head *head = vport_table(p, p->config.posted_at);
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
	/* Too large after a sender died; negative only if damaged. */
	int64_t available = (int64_t)word_load(&head->available);
	if (available > 0)
		out->posted_available = (uint32_t)bits_min(
			(uint64_t)available, out->posted_entries);
}

/* A copied message that is DONE waits only for its origin's next call. */
static bool reference_in_use(uint32_t index, uint64_t state)
{
	return state != REFERENCE_FREE &&
	       !(reference_is_copied(index) && state == REFERENCE_DONE);
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
		.w = word_load(&c->w),
		.r = word_load(&c->r),
		.nq_entries = 1u << p->config.nq_log2,
		.rdr_units = 1u << p->config.rdr_log2 };
	/* Messages leave these to completions and priority messages. */
	out.message_entries = out.nq_entries - p->config.cq_reserve -
			      p->config.priority_reserve;
	/* The node has written the peer table, so its page exists. */
	const struct peer_entry *peers = vport_table(p, p->config.peers_at);
	out.peers = p->peer_count;
	for (uint32_t i = 0; i < p->peer_room; i++) {
		if (!p->peers[i])
			continue;
		uint8_t path = peers[i].path;
		if (!p->peers[i]->target)
			out.peers_gone++;
		else
			out.paths[path < NODE_STATUS_PATHS ? path
							   : PATH_NONE]++;
	}
	list_for_each (at, &p->watchers)
		out.watchers += list_of(at, struct watch, link)->index !=
				WATCH_REVERSE;
	port_windows(r, p, &out);
	port_posted(r, p, c, &out);
	/* The page exists if the port has announced that it sends so. */
	const struct reference *refs = vport_table(p, p->config.refs_at);
	out.references_entries = 1u << p->config.refs_log2;
	for (uint32_t i = 0;
		!list_empty(&p->origin_link) && i < out.references_entries; i++)
		out.references_used += reference_in_use(
			i, word_load(&refs[i].state) & REFERENCE_STATE_MASK);
	memcpy(out.name, p->name, sizeof(out.name));
	r->head.zombies += out.closed;
	r->head.ports++;
	fwrite(&out, sizeof(out), 1, r->to);
}

/* ---- the report ---- */

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
		.refused = n->count.refused,
		.barriers = n->count.barriers };
	memcpy(s->name, n->name, sizeof(s->name));
	list_for_each (at, &n->realms) {
		struct realm *r = list_of(at, struct realm, link);
		s->realms++;
		s->heap_bytes += r->heap.total;
		s->heap_used += r->heap.used;
		if (fstat(r->fd, &st) == 0)
			s->memory_bytes += (uint64_t)st.st_blocks * 512;
	}
}

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
	head_fill(n, &r.head);
	fwrite(&r.head, sizeof(r.head), 1, f);
	report_processes(&r, false);
	for (uint32_t i = 1; i < CAY_VPIDS; i++)
		if (n->ports[i])
			report_port(&r, n->ports[i]);
	report_processes(&r, true);
	/* Again, with the counts. */
	rewind(f);
	fwrite(&r.head, sizeof(r.head), 1, f);
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
