/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node status: a node's report for people and for programs. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/node_status.h"
#include "device/queue.h"

/* ---- what W and R say ---- */

static uint64_t port_entries(const struct node_status_port *p)
{
	return queue_ahead(queue_nq(p->w), queue_nq(p->r));
}

static uint64_t port_bytes(const struct node_status_port *p)
{
	return RDR_UNIT * queue_rdr_ahead(queue_rdr(p->w), queue_rdr(p->r));
}

/* One word: what its owner or its senders do. */
static const char *port_state(const struct node_status_port *p)
{
	if (p->closed)
		return "closed";
	if (p->r & R_WAITERS)
		return "full"; /* a sender waits for room */
	if (p->w & W_SLEEP)
		return "asleep";
	return p->w & W_ARMED ? "armed" : "open";
}

/* ---- for people ---- */

/* "3.2 MiB"; text has room for 16. */
static const char *bytes_text(uint64_t bytes, char text[16])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	unsigned unit = 0;
	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 16, unit && value < 100 ? "%.1f %s" : "%.0f %s", value,
		units[unit]);
	return text;
}

static void uptime_print(uint64_t ns)
{
	uint64_t s = ns / CLOCK_NS_PER_S;
	if (s >= 86400)
		printf("%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		printf("%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		printf("%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		printf("%.1f s", (double)ns / CLOCK_NS_PER_S);
}

static void head_print(const struct node_status *s)
{
	char used[16], all[16];

	printf("node %s, id %08x, pid %u, up ", s->name, s->node, s->pid);
	uptime_print(s->uptime_ns);
	printf("\nheap: %s of %s in use\n", bytes_text(s->heap_used, used),
		bytes_text(s->heap_bytes, all));
	printf("the dead: %" PRIu64 " repaired after, %" PRIu64
	       " entries voided, %" PRIu64 " peers told\n",
		s->repaired, s->voided, s->gone_sent);
	printf("queue sets replaced: %" PRIu64 ", requests refused: %" PRIu64
	       ", not yet reclaimed: %" PRIu64 "\n",
		s->fenced, s->refused, s->zombies);
}

static void process_print(const struct node_status_process *p)
{
	printf("%8u %6u %8u %5u  %s\n", p->pid, p->ports, p->records, p->busy,
		p->realm);
}

static void port_print(const struct node_status_port *p)
{
	char used[16];

	printf("%5u %6u %8u %-6s %5" PRIu64 "/%-6u %9s %5u %8u  %s\n", p->vpid,
		p->epoch, p->pid, port_state(p), port_entries(p), p->nq_entries,
		bytes_text(port_bytes(p), used), p->peers, p->watchers,
		*p->name ? p->name : "-");
}

void node_status_print(const struct node_report *r)
{
	head_print(r->head);
	printf("\n%u process%s\n", r->head->processes,
		r->head->processes == 1 ? "" : "es");
	if (r->head->processes)
		printf("     pid  ports  threads  busy  realm\n");
	for (uint32_t i = 0; i < r->head->processes; i++)
		process_print(&r->processes[i]);
	printf("\n%u port%s\n", r->head->ports, r->head->ports == 1 ? "" : "s");
	if (r->head->ports)
		printf(" vpid  epoch      pid state   queue/size       data "
		       "peers watchers  name\n");
	for (uint32_t i = 0; i < r->head->ports; i++)
		port_print(&r->ports[i]);
}

/* ---- for programs ---- */

static void head_json(struct json *j, const struct node_status *s)
{
	json_put_string(j, "name", s->name);
	json_put_number(j, "node", s->node);
	json_put_number(j, "pid", s->pid);
	json_put_number(j, "uptime_ns", s->uptime_ns);
	json_put_number(j, "heap_bytes", s->heap_bytes);
	json_put_number(j, "heap_used", s->heap_used);
	json_put_number(j, "repaired", s->repaired);
	json_put_number(j, "voided", s->voided);
	json_put_number(j, "gone_sent", s->gone_sent);
	json_put_number(j, "fenced", s->fenced);
	json_put_number(j, "refused", s->refused);
	json_put_number(j, "zombies", s->zombies);
}

static void process_json(struct json *j, const struct node_status_process *p)
{
	json_object_begin(j);
	json_put_number(j, "pid", p->pid);
	json_put_string(j, "realm", p->realm);
	json_put_number(j, "ports", p->ports);
	json_put_number(j, "threads", p->records);
	json_put_number(j, "busy", p->busy);
	json_object_end(j);
}

static void port_json(struct json *j, const struct node_status_port *p)
{
	json_object_begin(j);
	json_put_number(j, "vpid", p->vpid);
	json_put_number(j, "epoch", p->epoch);
	json_put_number(j, "pid", p->pid);
	json_put_string(j, "name", *p->name ? p->name : NULL);
	json_put_string(j, "state", port_state(p));
	json_put_bool(j, "descriptor", p->bell);
	json_put_number(j, "nq_used", port_entries(p));
	json_put_number(j, "nq_entries", p->nq_entries);
	json_put_number(j, "rdr_used_bytes", port_bytes(p));
	json_put_number(j, "rdr_bytes", (uint64_t)p->rdr_units * RDR_UNIT);
	json_put_number(j, "peers", p->peers);
	json_put_number(j, "watchers", p->watchers);
	json_object_end(j);
}

void node_status_json(const struct node_report *r)
{
	struct json j;

	json_open(&j, stdout);
	json_object_begin(&j);
	head_json(&j, r->head);
	json_key(&j, "processes");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->processes; i++)
		process_json(&j, &r->processes[i]);
	json_array_end(&j);
	json_key(&j, "ports");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->ports; i++)
		port_json(&j, &r->ports[i]);
	json_array_end(&j);
	json_object_end(&j);
	json_close(&j);
}
