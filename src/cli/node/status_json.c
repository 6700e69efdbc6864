/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node status --json: a node's report for programs. */
#include "cli/node/status.h"
#include "contract/arena.h"
#include "device/step.h"

/* NODE_UNKNOWN becomes null. */
static void put_count(struct json *j, const char *key, uint32_t count)
{
	if (count == NODE_UNKNOWN)
		json_put_string(j, key, NULL);
	else
		json_put_number(j, key, count);
}

/* 1 + a number; 0 becomes null. */
static void put_named(struct json *j, const char *key, uint32_t named)
{
	if (named == 0)
		json_put_string(j, key, NULL);
	else
		json_put_number(j, key, named - 1);
}

void status_head_json(struct json *j, const struct node_status *s)
{
	json_put_string(j, "name", s->name);
	json_put_number(j, "node", s->node);
	json_put_number(j, "pid", s->pid);
	json_put_number(j, "uptime_ns", s->uptime_ns);
	json_put_number(j, "heap_bytes", s->heap_bytes);
	json_put_number(j, "heap_used", s->heap_used);
	json_put_number(j, "memory_bytes", s->memory_bytes);
	json_put_number(j, "repaired", s->repaired);
	json_put_number(j, "voided", s->voided);
	json_put_number(j, "gone_sent", s->gone_sent);
	json_put_number(j, "fenced", s->fenced);
	json_put_number(j, "refused", s->refused);
	json_put_number(j, "zombies", s->zombies);
}

void status_process_json(struct json *j, const struct node_status_process *p)
{
	json_put_number(j, "pid", p->pid);
	json_put_string(j, "realm", p->realm);
	json_put_number(j, "ports", p->ports);
	json_put_number(j, "threads", p->records);
	json_put_number(j, "busy", p->busy);
	json_put_number(j, "heap_bytes", p->heap_bytes);
	json_put_number(j, "alloc_bytes", p->alloc_bytes);
}

static void paths_json(struct json *j, const struct node_status_port *p)
{
	json_key(j, "paths");
	json_object_begin(j);
	json_put_number(j, "direct", p->paths[PATH_DIRECT]);
	json_put_number(j, "guarded", p->paths[PATH_GUARDED]);
	json_put_number(j, "link", p->paths[PATH_LINK]);
	json_object_end(j);
}

static void windows_json(struct json *j, const struct node_status_port *p)
{
	put_count(j, "windows", p->windows_open);
	json_put_number(j, "window_entries", p->window_entries);
	put_count(j, "windows_locked", p->windows_locked);
	json_key(j, "locked_by");
	json_array_begin(j);
	for (uint32_t i = 0; i < NODE_STATUS_HOLDERS && p->holders[i]; i++)
		json_number(j, p->holders[i]);
	json_array_end(j);
}

void status_port_json(struct json *j, const struct node_status_port *p)
{
	json_put_number(j, "vpid", p->vpid);
	json_put_number(j, "epoch", p->epoch);
	json_put_number(j, "pid", p->pid);
	json_put_string(j, "name", *p->name ? p->name : NULL);
	json_put_string(j, "state", port_state(p));
	json_put_bool(j, "disabled", p->disabled);
	json_put_bool(j, "descriptor", p->doorbell);
	json_put_number(j, "nq_used", port_entries(p));
	json_put_number(j, "nq_entries", p->nq_entries);
	json_put_number(j, "rdr_used_bytes", port_bytes(p));
	json_put_number(j, "rdr_bytes", (uint64_t)p->rdr_units * RDR_UNIT);
	json_put_number(j, "peers", p->peers);
	json_put_number(j, "peers_gone", p->peers_gone);
	paths_json(j, p);
	json_put_number(j, "watchers", p->watchers);
	windows_json(j, p);
	json_put_string(j, "posted_mode", posted_mode_name(p->posted_mode));
	put_count(j, "posted_available", p->posted_available);
	json_put_number(j, "posted_entries", p->posted_entries);
	json_put_number(j, "references_used", p->references_used);
	json_put_number(j, "references_entries", p->references_entries);
}

void status_thread_json(struct json *j, const struct node_status_thread *t)
{
	bool busy = t->state != OP_IDLE;
	bool claims = t->state == OP_TRY || t->state == OP_OWN;
	json_put_number(j, "pid", t->pid);
	json_put_number(j, "tid", t->tid);
	put_named(j, "vpid", t->vpid ? t->vpid + 1u : 0);
	json_put_number(j, "issued", t->issued);
	json_put_string(j, "doing", thread_doing(t));
	put_named(j, "target", busy ? t->target + 1u : 0);
	json_key(j, "entry");
	if (claims)
		json_number(j, t->entry);
	else
		json_string(j, NULL);
	put_named(j, "window", busy ? t->window : 0);
	put_named(j, "posted", busy ? t->posted : 0);
	json_put_bool(j, "abandoned", t->abandoned);
	json_put_string(j, "step",
		busy && t->step != STEP_NONE ? device_step_name(t->step)
					     : NULL);
}

void node_status_json(const struct node_report *r)
{
	struct json j;

	json_open(&j, stdout);
	json_object_begin(&j);
	status_head_json(&j, r->head);
	json_key(&j, "processes");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->processes; i++) {
		json_object_begin(&j);
		status_process_json(&j, &r->processes[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_key(&j, "ports");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->ports; i++) {
		json_object_begin(&j);
		status_port_json(&j, &r->ports[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_key(&j, "threads");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->threads; i++) {
		json_object_begin(&j);
		status_thread_json(&j, &r->threads[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_close(&j);
}
