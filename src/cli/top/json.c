/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame of cay top as JSON: what cay node status says, and rates. */
#include "base/json.h"
#include "base/clock.h"
#include "cli/node/status.h"
#include "cli/top/top.h"
#include "contract/arena.h"

#define RATE_DECIMALS 3

static void put_rate(struct json *j, const char *key, double rate)
{
	json_put_fixed(j, key, rate, RATE_DECIMALS);
}

static void put_program(struct json *j, const char *program)
{
	json_put_string(j, "program", *program ? program : NULL);
}

static void total_json(struct json *j, const struct top_total *t)
{
	json_key(j, "total");
	json_object_begin(j);
	put_rate(j, "received_per_s", t->received);
	put_rate(j, "returned_per_s", t->returned);
	put_rate(j, "issued_per_s", t->issued);
	json_put_number(j, "nq_used", t->entries);
	json_put_number(j, "rdr_used_bytes", t->bytes);
	json_put_number(j, "busy", t->busy);
	json_object_end(j);
}

static void processes_json(struct json *j, const struct top_frame *f)
{
	json_key(j, "processes");
	json_array_begin(j);
	for (uint32_t i = 0; i < f->report.head->processes; i++) {
		json_object_begin(j);
		status_process_json(j, &f->report.processes[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void port_json(struct json *j, const struct top_port *p)
{
	json_object_begin(j);
	status_port_json(j, p->now);
	put_program(j, p->program);
	json_put_bool(j, "sleeping", p->now->w & W_SLEEP);
	json_put_bool(j, "armed", p->now->w & W_ARMED);
	json_put_bool(j, "closed", p->now->closed);
	json_put_bool(j, "senders_wait", p->now->r & R_WAITERS);
	put_rate(j, "received_per_s", p->received);
	put_rate(j, "returned_per_s", p->returned);
	json_object_end(j);
}

static void thread_json(struct json *j, const struct top_thread *t)
{
	char state[2] = { t->state, 0 };
	json_object_begin(j);
	status_thread_json(j, t->now);
	put_program(j, t->program);
	json_put_string(j, "state", t->state == '?' ? NULL : state);
	put_rate(j, "issued_per_s", t->issued);
	put_rate(j, "stuck_s", (double)t->stuck_ns / CLOCK_NS_PER_S);
	json_object_end(j);
}

void top_json_print(const struct top_frame *f, FILE *to)
{
	struct json j;

	json_open(&j, to);
	json_object_begin(&j);
	json_put_fixed(&j, "time", f->wall, 6);
	json_put_fixed(&j, "elapsed_s", f->elapsed, 6);
	status_head_json(&j, f->report.head);
	total_json(&j, &f->total);
	processes_json(&j, f);
	json_key(&j, "ports");
	json_array_begin(&j);
	for (uint32_t i = 0; i < f->report.head->ports; i++)
		port_json(&j, &f->ports[i]);
	json_array_end(&j);
	json_key(&j, "threads");
	json_array_begin(&j);
	for (uint32_t i = 0; i < f->report.head->threads; i++)
		thread_json(&j, &f->threads[i]);
	json_array_end(&j);
	json_object_end(&j);
	json_close(&j);
}
