/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of cay top: a node's report, and rates since the previous one. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/node/status.h"
#include "cli/top/top.h"
#include "contract/arena.h"
#include "device/queue.h"

/* ---- processes and threads in /proc ---- */

/* Reads up to size - 1 bytes; the text is empty if there are none. */
static void file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
}

/* Reads a process's name, without characters that a terminal would interpret
 * or that end a column. */
static void program_name(uint32_t pid, char program[TOP_PROGRAM_MAX])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file_read(path, program, TOP_PROGRAM_MAX);
	program[strcspn(program, "\n")] = 0;
	for (char *at = program; *at; at++)
		if (!isgraph((unsigned char)*at))
			*at = *at == ' ' ? '_' : '?';
}

static void thread_state(uint32_t pid, uint32_t tid, char state[2])
{
	char path[64], text[128];
	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	file_read(path, text, sizeof(text));
	/* "17 (any name) S ..." */
	const char *end = strrchr(text, ')');
	if (end && end[1] == ' ' && isalpha((unsigned char)end[2]))
		state[0] = end[2];
}

/* ---- order of ports and threads ---- */

static int port_order(const void *a, const void *b)
{
	const struct node_status_port *p = a, *q = b;
	return (p->vpid > q->vpid) - (p->vpid < q->vpid);
}

static int thread_order(const void *a, const void *b)
{
	const struct node_status_thread *p = a, *q = b;
	if (p->pid != q->pid)
		return p->pid > q->pid ? 1 : -1;
	if (p->tid != q->tid)
		return p->tid > q->tid ? 1 : -1;
	return (p->record > q->record) - (p->record < q->record);
}

/* The node sorts them too, but bsearch() must not depend on that. */
static void report_sort(const struct node_report *r)
{
	qsort(r->ports, r->head->ports, sizeof(*r->ports), port_order);
	qsort(r->threads, r->head->threads, sizeof(*r->threads), thread_order);
}

/* ---- rates ---- */

/*
 * Bytes per second come from the RDR count of W, which wraps at 64 MiB. An
 * entry uses at most a maximal eager payload, and skips less than that at the
 * end of a lap: fewer entries than this between two reports cannot wrap the
 * count, and the difference is exact. Of a faster port more reports are taken
 * between two frames. Between two that are at most STEP_NS_MAX apart a wrap
 * would take 1.6 GB/s, which is assumed not to happen; otherwise the rate is
 * unknown.
 */
#define DATA_ENTRIES_EXACT \
	((QUEUE_RDR_MASK + 1) / (2 * QUEUE_PAYLOAD_MAX / RDR_UNIT))

#define STEP_NS_MAX (2 * TOP_FOLLOW_NS)

/* The same queue set in another report, or NULL: counters of a new queue set
 * start elsewhere. */
static const struct node_status_port *port_in(
	const struct node_report *r, const struct node_status_port *now)
{
	const struct node_status_port *p =
		bsearch(now, r->ports, r->head->ports, sizeof(*p), port_order);
	return p && p->epoch == now->epoch && p->pid == now->pid ? p : NULL;
}

static uint64_t entries_between(
	const struct node_status_port *from, const struct node_status_port *to)
{
	return queue_ahead(queue_nq(to->w), queue_nq(from->w));
}

/* Adds the bytes since the last report of a port, step_ns before. */
static void data_add(struct top_data *d, const struct node_status_port *last,
	const struct node_status_port *now, uint64_t step_ns)
{
	bool exact = entries_between(last, now) < DATA_ENTRIES_EXACT;
	d->bytes += RDR_UNIT *
		    queue_rdr_ahead(queue_rdr(now->w), queue_rdr(last->w));
	d->estimated |= !exact;
	d->unknown |= !exact && step_ns > STEP_NS_MAX;
}

static void port_fill(struct top_port *p, struct top_frame *f,
	const struct top_frame *previous)
{
	static const char *const paths[NODE_STATUS_PATHS] = {
		[PATH_NONE] = "none",
		[PATH_DIRECT] = "direct",
		[PATH_GUARDED] = "guarded",
		[PATH_LINK] = "link",
	};
	const struct node_status_port *now = &p->port.now;
	const struct node_status_port *before =
		previous ? port_in(&previous->report, now) : NULL;
	p->sleeping = now->w & W_SLEEP;
	p->armed = now->w & W_ARMED;
	p->senders_wait = now->r & R_WAITERS;
	for (uint32_t i = 0; i < NODE_STATUS_PATHS; i++)
		if (now->paths[i])
			p->path = p->path ? "mixed" : paths[i];
	/* Rounded up, so that a single entry shows. */
	uint64_t all = p->port.rdr_bytes;
	uint64_t entries = p->port.entries * TOP_BAR + now->nq_entries - 1;
	uint64_t bytes = p->port.bytes * TOP_BAR + all - 1;
	for (uint64_t i = 0; i < TOP_BAR; i++)
		p->fill[i] = i < entries / now->nq_entries || i < bytes / all
				     ? '#'
				     : '.';
	p->received = p->returned = p->data = NAN;
	if (!before)
		return;
	uint64_t entries_in = entries_between(before, now);
	p->received = (double)entries_in / f->elapsed;
	p->returned =
		(double)queue_ahead(queue_nq(now->r), queue_nq(before->r)) /
		f->elapsed;
	/* From the last report of the previous frame on. */
	const struct top_port *then =
		&previous->ports[before - previous->report.ports];
	struct top_data data = then->since;
	data_add(&data, &then->last, now,
		f->report.head->uptime_ns - previous->last_ns);
	f->fast |= entries_in >= DATA_ENTRIES_EXACT / 2;
	p->data_estimated = data.estimated;
	if (!data.unknown)
		p->data = (double)data.bytes / f->elapsed;
}

static void thread_fill(struct top_thread *t, const struct top_frame *f,
	const struct top_frame *previous)
{
	const struct node_status_thread *now = &t->thread.now, *then = NULL;
	thread_state(now->pid, now->tid, t->state);
	t->issued = NAN;
	if (previous)
		then = bsearch(now, previous->report.threads,
			previous->report.head->threads, sizeof(*then),
			thread_order);
	if (!then)
		return;
	/* The counter restarts with each port that the thread issues on. */
	if (then->vpid == now->vpid && then->issued <= now->issued)
		t->issued = (double)(now->issued - then->issued) / f->elapsed;
	/* The same operation is in progress as before. */
	if (now->state != OP_IDLE && now->state == then->state &&
		now->target == then->target &&
		now->target_epoch == then->target_epoch &&
		now->entry == then->entry && now->window == then->window &&
		now->posted == then->posted && now->issued == then->issued)
		t->stuck_s = previous->threads[then - previous->report.threads]
				     .stuck_s +
			     f->elapsed;
}

static void total_fill(struct top_frame *f)
{
	struct top_total *t = &f->total;
	double unknown = isnan(f->elapsed) ? NAN : 0;
	t->received = t->returned = t->data = t->issued = unknown;
	for (uint32_t i = 0; i < f->report.head->ports; i++) {
		struct top_port *p = &f->ports[i];
		char text[FIELD_BYTES];
		snprintf(p->data_text, sizeof(p->data_text), "%s%.8s",
			p->data_estimated && !isnan(p->data) ? "~" : "",
			rate_text(p->data, text));
		/* A new port adds nothing; a count that wrapped is unknown. */
		t->data += isnan(p->data) && !p->data_estimated ? 0 : p->data;
		t->data_estimated |= p->data_estimated;
		t->received += isnan(p->received) ? 0 : p->received;
		t->returned += isnan(p->returned) ? 0 : p->returned;
		t->entries += p->port.entries;
		t->bytes += p->port.bytes;
	}
	for (uint32_t i = 0; i < f->report.head->threads; i++) {
		const struct top_thread *p = &f->threads[i];
		t->issued += isnan(p->issued) ? 0 : p->issued;
		t->busy += p->thread.now.state != OP_IDLE;
	}
}

/* ---- a frame ---- */

static int process_order(const void *a, const void *b)
{
	const struct top_process *p = a, *q = b;
	return (p->pid > q->pid) - (p->pid < q->pid);
}

static const char *program_of(const struct top_frame *f, uint32_t pid)
{
	struct top_process key = { .pid = pid };
	const struct top_process *p = bsearch(&key, f->processes,
		f->report.head->processes, sizeof(*p), process_order);
	return p && *p->program ? p->program : NULL;
}

static void frame_fill(struct top_frame *f, const struct top_frame *previous)
{
	const struct node_report *r = &f->report;
	report_sort(r);
	for (uint32_t i = 0; i < r->head->processes; i++) {
		f->processes[i].pid = r->processes[i].pid;
		program_name(r->processes[i].pid, f->processes[i].program);
	}
	qsort(f->processes, r->head->processes, sizeof(*f->processes),
		process_order);
	for (uint32_t i = 0; i < r->head->ports; i++) {
		f->ports[i].port = status_port_of(&r->ports[i]);
		f->ports[i].last = r->ports[i];
		f->ports[i].program = program_of(f, r->ports[i].pid);
		port_fill(&f->ports[i], f, previous);
	}
	for (uint32_t i = 0; i < r->head->threads; i++) {
		f->threads[i].thread = status_thread_of(r, &r->threads[i]);
		f->threads[i].program = program_of(f, r->threads[i].pid);
		thread_fill(&f->threads[i], f, previous);
	}
	total_fill(f);
}

int top_frame_take(const struct node_address *a,
	const struct top_frame *previous, struct top_frame *f)
{
	const struct node_status *before = previous->report.head;
	struct timespec wall;
	*f = (struct top_frame){ 0 };
	int e = node_client_status(a, &f->report);
	if (e) {
		*f = (struct top_frame){ 0 };
		return e;
	}
	const struct node_status *now = f->report.head;
	/* One more, because calloc() may return NULL for none. */
	f->processes = calloc(now->processes + 1ul, sizeof(*f->processes));
	f->ports = calloc(now->ports + 1ul, sizeof(*f->ports));
	f->threads = calloc(now->threads + 1ul, sizeof(*f->threads));
	if (!f->processes || !f->ports || !f->threads) {
		top_frame_free(f);
		return -ENOMEM;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	f->wall = (double)wall.tv_sec + (double)wall.tv_nsec / CLOCK_NS_PER_S;
	/* Seconds between the two reports, by the clock of the node. */
	f->elapsed = NAN;
	f->fast = !before; /* not known yet */
	f->last_ns = now->uptime_ns;
	if (before && before->node == now->node && before->pid == now->pid &&
		before->uptime_ns < now->uptime_ns)
		f->elapsed = (double)(now->uptime_ns - before->uptime_ns) /
			     CLOCK_NS_PER_S;
	frame_fill(f, isnan(f->elapsed) ? NULL : previous);
	return 0;
}

void top_frame_follow(const struct node_address *a, struct top_frame *f)
{
	struct node_report r;
	if (!f->fast || node_client_status(a, &r) != 0)
		return;
	report_sort(&r);
	for (uint32_t i = 0; i < f->report.head->ports; i++) {
		struct top_port *p = &f->ports[i];
		const struct node_status_port *now = port_in(&r, &p->last);
		if (!now)
			continue;
		data_add(&p->since, &p->last, now,
			r.head->uptime_ns - f->last_ns);
		p->last = *now;
	}
	f->last_ns = r.head->uptime_ns;
	node_report_free(&r);
}

void top_frame_free(struct top_frame *f)
{
	node_report_free(&f->report);
	free(f->processes);
	free(f->ports);
	free(f->threads);
	*f = (struct top_frame){ 0 };
}
