/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw level: see cay_raw(3). */
#include "cay/raw.h"

#include <errno.h>

#include "base/bits.h"
#include "port/intake.h"
#include "port/record.h"

int cay_vci_post(struct cay_port *port, const struct cay_vci *v)
{
	if (!port_here(port))
		return -ECHILD;
	return device_post(&port->origin, v) ? 0 : -EAGAIN;
}

const struct cay_nqe *cay_nqe_next(struct cay_port *port)
{
	if (!port_here(port) || intake_ready(port) != 0)
		return NULL;
	struct intake *in = &port->intake;
	uint64_t word = intake_peek(port);
	if (!word) {
		intake_idle(port, in);
		return NULL;
	}
	struct cay_nqe *nqe = device_entry(in->own, in->next);
	struct intake_slot *slot = intake_slot(in, in->next);
	unsigned command = word & CAY_COMMAND_MASK;
	slot->special = 1;
	slot->completion = command == CAY_NOTIFY_CC ||
			   command == CAY_NOTIFY_STATUS;
	if (command != CAY_NOTIFY_FAST_RECV) {
		slot->rdr = (uint32_t)(nqe->word[CAY_NQE_WORD_POINTERS] >>
				       CAY_NQE_RDR_WRITE_SHIFT) &
			    QUEUE_RDR_MASK;
		slot->has_rdr = command != CAY_NQE_INVALID ||
				(word >> CAY_NQE_BYTES_SHIFT & 1);
	}
	intake_take(in);
	return nqe;
}

/* Gives the oldest entries back; those not yet seen are not accepted. */
static struct cay_answer trigger_advance(struct cay_port *port, unsigned count)
{
	struct intake *in = &port->intake;
	struct cay_answer answer = { 0 };
	while (answer.accepted < count && in->slots && in->oldest != in->next) {
		intake_release(port, in, in->oldest);
		answer.accepted++;
	}
	if (answer.accepted < count)
		answer.reason = CAY_ERROR_COMMAND;
	intake_idle(port, in);
	answer.free = (uint32_t)queue_ahead(in->next, in->oldest);
	return answer;
}

struct cay_answer cay_trigger(
	struct cay_port *port, enum cay_issue command, unsigned parameter)
{
	struct cay_answer refused = { .reason = CAY_ERROR_ORIGIN_VPID };
	if (!port_here(port))
		return refused;
	if (parameter > CAY_ISSUE_PARAMETER_MAX)
		parameter = CAY_ISSUE_PARAMETER_MAX;
	if (parameter == 0)
		parameter = CAY_ISSUE_PARAMETER_MAX;
	if (command == CAY_ISSUE_NQ || command == CAY_ISSUE_RDR)
		return trigger_advance(port, parameter);
	struct op_record *op = record_of(port->member);
	if (!op)
		return refused;
	return device_trigger(&port->origin, op, command, parameter);
}

void *cay_sdr(struct cay_port *port, size_t *bytes)
{
	*bytes = port->origin.sdr_bytes;
	return port->origin.sdr;
}

const void *cay_rdr(struct cay_port *port, size_t *bytes)
{
	*bytes = (uint64_t)RDR_UNIT << port->intake.own->rdr_log2;
	return port->intake.own->rdr;
}
