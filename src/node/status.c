/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status report, written into a memfd: processes, ports, threads. A node
 * with many ports writes it in steps, between which it serves other clients;
 * one report serves all requests that came before it began.
 *
 * A report must not allocate memory: reading an untouched page of the arena
 * would. Tables that a port may never have used are therefore read only where
 * the kernel says that pages exist. Values that members write are copied and
 * never used as an index.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "node/pages.h"
#include "node/record.h"
#include "node/wire.h"

/*
 * Work of one step, in words that are read; a port counts as many more for the
 * system calls that ask which of its pages exist.
 */
#define REPORT_STEP_WORK 65536u
#define REPORT_PORT_WORK 128u

#define RECORD_READS_MAX 3 /* of a record that changes while it is read */

struct report {
	struct node *node;
	struct node_status head;
	struct pages pages;
	int fd; /* of the memfd */
	FILE *to, *threads;
	char *thread_text; /* of the stream `threads` */
	size_t thread_bytes;
	struct process *process; /* the next one; NULL: all are written */
	uint32_t vpid;		 /* the next one */
	uint64_t work;		 /* of this step */
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
		r->work++;
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
		fwrite(&t, sizeof(t), 1, r->threads);
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
	out.blocks = (uint32_t)p->used[QUOTA_BLOCKS];
	out.peers = (uint32_t)p->used[QUOTA_PEERS];
	out.mappings = (uint32_t)p->used[QUOTA_MAPPINGS];
	out.paths = (uint32_t)p->used[QUOTA_PATHS];
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
			i += sizeof(*table), r->work++)
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
	out.peers = p->peer_count;
	r->work += REPORT_PORT_WORK + p->peer_room;
	for (uint32_t i = 0; i < p->peer_room; i++) {
		if (!p->peers[i])
			continue;
		if (!p->peers[i]->target)
			out.peers_gone++;
		else
			out.paths[p->peers[i]->path]++;
	}
	out.watchers = p->watcher_count;
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
		.over_quota = n->count.over_quota,
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

static struct process *realm_first(const struct node *n, struct list *at)
{
	for (; at != &n->realms; at = at->next) {
		struct realm *r = list_of(at, struct realm, link);
		if (!list_empty(&r->processes))
			return list_of(r->processes.next, struct process, link);
	}
	return NULL;
}

/* Returns the next member of any realm, or NULL. */
static struct process *process_next(const struct node *n, struct process *p)
{
	if (p->link.next != &p->realm->processes)
		return list_of(p->link.next, struct process, link);
	return realm_first(n, p->realm->link.next);
}

static void report_end(struct report *r)
{
	if (r->to)
		fclose(r->to);
	if (r->threads)
		fclose(r->threads);
	free(r->thread_text);
	pages_end(&r->pages);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static int report_begin(struct node *n, struct report **out)
{
	struct report *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->node = n;
	r->pages.fd = -1;
	r->fd = realm_memfd("cay-status");
	if (r->fd < 0) {
		int e = r->fd;
		report_end(r);
		return e;
	}
	int copy = dup(r->fd);
	r->to = copy < 0 ? NULL : fdopen(copy, "w");
	r->threads = r->to ? open_memstream(&r->thread_text, &r->thread_bytes)
			   : NULL;
	if (!r->threads) {
		int e = -errno;
		if (copy >= 0 && !r->to)
			close(copy);
		report_end(r);
		return e;
	}
	head_fill(n, &r->head);
	fwrite(&r->head, sizeof(r->head), 1, r->to);
	r->process = realm_first(n, n->realms.next);
	r->vpid = 1;
	*out = r;
	return 0;
}

/* Continues with limited work. Returns true when all is written. */
static bool report_step(struct report *r)
{
	struct node *n = r->node;
	r->work = 0;
	while (r->process && r->work < REPORT_STEP_WORK) {
		report_process(r, r->process);
		report_threads(r, r->process, r->head.processes - 1);
		r->process = process_next(n, r->process);
	}
	for (; !r->process && r->vpid < CAY_VPIDS && r->work < REPORT_STEP_WORK;
		r->vpid++)
		if (n->ports[r->vpid])
			report_port(r, n->ports[r->vpid]);
	n->report_work = r->work;
	return r->vpid == CAY_VPIDS;
}

/* Appends the threads, and writes the head again with the counts. */
static int report_finish(struct report *r, struct node_reply *reply)
{
	int e = 0;
	if (fflush(r->threads) != 0)
		e = -errno;
	fwrite(r->thread_text, 1, r->thread_bytes, r->to);
	rewind(r->to);
	fwrite(&r->head, sizeof(r->head), 1, r->to);
	if (fflush(r->to) != 0 && !e)
		e = -errno;
	/* Several clients receive the same descriptor. */
	if (fcntl(r->fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
			0 &&
		!e)
		e = -errno;
	*reply = (struct node_reply){ .error = e };
	reply->status.bytes =
		sizeof(r->head) +
		r->head.processes * sizeof(struct node_status_process) +
		r->head.ports * sizeof(struct node_status_port) +
		r->head.threads * sizeof(struct node_status_thread);
	reply->status.ports = r->head.ports;
	reply->status.processes = r->head.processes;
	return e;
}

int status_request(struct process *p, struct node_reply *reply, int *fd)
{
	struct node *n = p->node;
	struct report *r;
	if (n->report) {
		list_append(&n->report_later, &p->report_link);
		return -EINPROGRESS;
	}
	int e = report_begin(n, &r);
	if (e)
		return e;
	if (!report_step(r)) {
		n->report = r;
		list_append(&n->report_waiting, &p->report_link);
		return -EINPROGRESS;
	}
	e = report_finish(r, reply);
	if (e == 0) {
		*fd = r->fd;
		r->fd = -1;
	}
	report_end(r);
	return e;
}

/* Answers all that wait for the report. */
static void waiting_answer(
	struct node *n, const struct node_reply *reply, int fd)
{
	while (!list_empty(&n->report_waiting)) {
		struct process *p = list_of(
			n->report_waiting.next, struct process, report_link);
		list_remove(&p->report_link);
		/* Without room for it the client does not read its replies. */
		if (wire_send(p->socket, reply, sizeof(*reply),
			    reply->error ? -1 : fd, MSG_DONTWAIT) != 0)
			process_disconnect(p);
	}
}

bool status_continue(struct node *n)
{
	struct node_reply reply = { 0 };
	if (!n->report)
		return false;
	if (!report_step(n->report))
		return true;
	report_finish(n->report, &reply);
	waiting_answer(n, &reply, n->report->fd);
	report_end(n->report);
	n->report = NULL;
	/* Those that asked meanwhile get a report that begins now. */
	while (!list_empty(&n->report_later)) {
		struct list *at = n->report_later.next;
		list_remove(at);
		list_append(&n->report_waiting, at);
	}
	if (list_empty(&n->report_waiting))
		return false;
	reply = (struct node_reply){ .error = report_begin(n, &n->report) };
	if (reply.error)
		waiting_answer(n, &reply, -1);
	return n->report != NULL;
}

void status_forget(struct process *p)
{
	list_remove(&p->report_link);
	if (p->realm && p->node->report && p->node->report->process == p)
		p->node->report->process = process_next(p->node, p);
}

void status_end(struct node *n)
{
	if (n->report)
		report_end(n->report);
}
