/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw level: see cay_raw(3). */
#include "cay/raw.h"

#include <errno.h>

#include "base/bits.h"
#include "port/event.h"
#include "port/intake.h"
#include "port/lock.h"
#include "port/memory.h"
#include "port/outgoing.h"
#include "port/posted.h"
#include "port/record.h"

int cay_vci_post(struct cay_port *port, const struct cay_vci *v)
{
	if (!port_here(port))
		return port_absent(port);
	if ((v->word[0] & CAY_COMMAND_OPERATION) == CAY_SEND &&
		v->word[CAY_VCI_WORD_LENGTH] > QUEUE_PAYLOAD_MAX)
		outgoing_announce(port);
	return device_post(&port->origin, v) ? 0 : -EAGAIN;
}

/* False: one that came twice, or that nobody has asked for. */
static bool raw_completion(struct cay_port *port, const struct cay_nqe *n,
	struct intake_slot *slot)
{
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	struct cay_event unused = {
		.error = (int)((n->word[CAY_NQE_WORD_VALID] &
				       CAY_COMMAND_ERROR_MASK) >>
			       CAY_COMMAND_ERROR_SHIFT)
	};
	enum outgoing_end end = OUTGOING_TOLD;
	if (reference)
		end = outgoing_complete(port, reference,
			(uint32_t)(word >> CAY_NQE_SEQUENCE_SHIFT), &unused);
	slot->completion = end != OUTGOING_NOT_OURS;
	return end == OUTGOING_TOLD;
}

/* A long message, whose origin is told when it is given back. */
static void raw_long(const struct cay_nqe *n, struct intake_slot *slot)
{
	/* A peer's word: no slot of its own is larger. */
	if (n->word[CAY_NQE_WORD_REFERENCE] > 1u << QUEUE_REFS_LOG2)
		return;
	slot->reference = (uint32_t)n->word[CAY_NQE_WORD_REFERENCE];
	slot->sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
}

/*
 * An access that we made for its origin. If the window's owner wants to know,
 * the entry, which is ours now, becomes the NOTIFY_RMA that says so.
 */
static bool raw_served(
	struct cay_port *port, const struct cay_nqe *n, struct cay_nqe *shared)
{
	uint64_t word = n->word[CAY_NQE_WORD_VALID];
	struct cay_event e = { .tag = n->word[CAY_NQE_WORD_TAG],
		.peer = { (uint32_t)n->word[CAY_NQE_WORD_PEER],
			(uint16_t)(word >> CAY_NQE_VPID_SHIFT) } };
	if (serve_access(port, n, &e) != 1)
		return false;
	shared->word[CAY_NQE_WORD_LENGTH] = e.length;
	shared->word[CAY_NQE_WORD_OFFSET] = e.offset;
	shared->word[CAY_NQE_WORD_WINDOW] = e.window;
	shared->word[CAY_NQE_WORD_COMPLETED] = e.command;
	shared->word[CAY_NQE_WORD_VALID] =
		(word & ~(uint64_t)CAY_COMMAND_MASK) | CAY_NOTIFY_RMA;
	return true;
}

/* False: nothing that the raw level shows. */
static bool raw_note(struct cay_port *port, struct cay_nqe *shared,
	uint64_t word, struct intake_slot *slot)
{
	unsigned command = word & CAY_COMMAND_MASK;
	struct cay_event unused = { 0 };
	struct cay_nqe copy = *shared;
	const struct cay_nqe *n = &copy;
	copy.word[CAY_NQE_WORD_VALID] = word;
	slot->special = 1;
	if (command == CAY_NOTIFY_FAST_RECV)
		return true;
	slot->rdr = (uint32_t)(n->word[CAY_NQE_WORD_POINTERS] >>
			       CAY_NQE_RDR_WRITE_SHIFT) &
		    QUEUE_RDR_MASK;
	slot->has_rdr = command != CAY_NQE_INVALID || void_has_extent(word);
	switch (command) {
	case CAY_NOTIFY_RECV:
		raw_long(n, slot);
		return true;
	case CAY_NOTIFY_STATUS:
		slot->completion = 1;
		return true;
	case CAY_NOTIFY_CC:
		return raw_completion(port, n, slot);
	case CAY_NOTIFY_POSTED_RECV:
		posted_event(port, n, &unused);
		return true;
	default:
		return !command_is_access(command) ||
		       raw_served(port, n, shared);
	}
}

const struct cay_nqe *cay_nqe_next(struct cay_port *port)
{
	if (!port_here(port) || intake_ready(port) != 0)
		return NULL;
	struct intake *in = &port->intake;
	for (;;) {
		uint64_t word = intake_peek(port), position = in->next;
		if (!word) {
			intake_idle(port, in);
			return NULL;
		}
		struct cay_nqe *n = device_entry(in->own, position);
		bool told = raw_note(port, n, word, intake_slot(in, position));
		intake_take(in);
		if (told)
			return n;
		intake_release(port, in, position);
	}
}

/* What is held longest: of a set that was replaced, if one is left. */
static struct intake *advance_from(struct cay_port *port)
{
	struct intake *in = &port->intake;
	while (in->former)
		in = in->former;
	return in;
}

/* False: everything that was seen has been given back. */
static bool advance_one(struct cay_port *port)
{
	struct intake *in = advance_from(port);
	if (!in->slots || in->oldest == in->next)
		return false;
	/* A long message is done with: its origin is told. */
	if (intake_slot(in, in->oldest)->reference)
		incoming_finish(port, in, in->oldest);
	intake_release(port, in, in->oldest);
	intake_retire(port, in);
	return true;
}

/* Gives the oldest entries back; those not yet seen are not accepted. */
static struct cay_answer trigger_advance(struct cay_port *port, unsigned count)
{
	struct intake *in = &port->intake;
	struct cay_answer answer = { 0 };
	while (answer.accepted < count && advance_one(port))
		answer.accepted++;
	if (answer.accepted < count)
		answer.reason = CAY_ERROR_COMMAND;
	intake_idle(port, in);
	answer.free = in->own->nq_entries -
		      (uint32_t)queue_ahead(in->next, in->oldest);
	return answer;
}

static struct cay_answer trigger_device(struct cay_port *port,
	struct op_record *op, enum cay_issue command, unsigned parameter)
{
	struct cay_answer answer =
		device_trigger(&port->origin, op, command, parameter);
	port_watch(port);
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
	if (command == CAY_ISSUE_POSTED)
		return posted_trigger(port, parameter);
	struct op_record *op = record_of(port->member);
	if (!op)
		return refused;
	if (likely(!port->announced))
		return trigger_device(port, op, command, parameter);
	/*
	 * Long messages: who takes a completion that came twice looks at slots
	 * under this lock, and must not find one that is half filled in.
	 */
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	struct cay_answer answer = trigger_device(port, op, command, parameter);
	lock_drop(&port->lock, &guard);
	return answer;
}

void *cay_sdr(struct cay_port *port, size_t *bytes)
{
	*bytes = port->origin.sdr_bytes;
	return port->origin.sdr;
}

int cay_offset(struct cay_port *port, const void *memory, size_t bytes,
	uint64_t *offset)
{
	uint64_t at;
	if (!port_here(port))
		return port_absent(port);
	if (!memory_mapped(port->member, memory, bytes, &at))
		return -EFAULT;
	*offset = at;
	return 0;
}

const void *cay_rdr(struct cay_port *port, size_t *bytes)
{
	*bytes = (uint64_t)RDR_UNIT << port->intake.own->rdr_log2;
	return port->intake.own->rdr;
}
