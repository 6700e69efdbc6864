/* SPDX-License-Identifier: BSD-2-Clause */
/* Scans of the op records of all live processes of a realm. */
#include "node/record.h"

bool record_any(struct realm *r, record_test *holds, const void *argument)
{
	list_for_each (at, &r->processes) {
		const struct process *p = list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0; process_lives(p) && (op = record_at(p, i));
			i++) {
			r->record_left--;
			if (holds(op, argument))
				return true;
		}
	}
	return false;
}

bool realm_lives(const struct realm *r)
{
	list_for_each (at, &r->processes)
		if (process_lives(list_of(at, struct process, link)))
			return true;
	return false;
}

struct queue_set {
	uint16_t vpid;
	uint32_t epoch;
};

static bool record_on_queue_set(
	const struct op_record *op, const void *argument)
{
	const struct queue_set *set = argument;
	struct record_copy c = record_read(op);
	return record_is_on(&c, set->vpid, set->epoch);
}

static void realm_scan(struct realm *r)
{
	r->scan++;
	r->scan_round = r->node->round;
	list_for_each (at, &r->processes) {
		const struct process *process =
			list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0;
			process_lives(process) && (op = record_at(process, i));
			i++) {
			struct record_copy c = record_read(op);
			struct vport *p = r->node->ports[c.vpid];
			if (p && p->realm == r &&
				(record_is_on(&c, c.vpid, p->epoch) ||
					(p->previous.epoch &&
						record_is_on(&c, c.vpid,
							p->previous.epoch))))
				p->scan_busy = r->scan;
		}
	}
}

bool vport_quiesced(struct vport *p)
{
	struct realm *r = p->realm;
	if (r->scan < p->scan_first || r->scan_round != r->node->round)
		realm_scan(r);
	return p->scan_busy != r->scan;
}

bool queue_set_quiesced(struct realm *r, uint16_t vpid, uint32_t epoch)
{
	return !record_any(
		r, record_on_queue_set, &(struct queue_set){ vpid, epoch });
}
