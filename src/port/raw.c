/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw API; see cay_raw(3). */
#include "cay/raw.h"

#include <errno.h>

#include "base/bits.h"
#include "port/allocation.h"
#include "port/consumer.h"
#include "port/emulate.h"
#include "port/lock.h"
#include "port/long_receive.h"
#include "port/pending.h"
#include "port/posted.h"
#include "port/record.h"
#include "port/resolved.h"

/* ---- work requests ---- */

int cay_vci_post(struct cay_port *port, const struct cay_vci *v)
{
	if (!port_usable(port))
		return port_error(port);
	if (!v)
		return -EFAULT;
	if ((v->word[0] & CAY_COMMAND_OPERATION) == CAY_SEND &&
		v->word[CAY_VCI_WORD_LENGTH] > QUEUE_PAYLOAD_MAX &&
		pending_announce(port) != 0)
		return -EAGAIN;
	return device_post(&port->origin, v) ? 0 : -EAGAIN;
}

/* Returns the oldest entries; entries that were not read are not accepted. */
static struct cay_answer trigger_return(struct cay_port *port, unsigned count)
{
	struct consumer *rx = &port->consumer;
	struct cay_answer answer = { 0 };
	for (; answer.accepted < count; answer.accepted++) {
		/* The oldest entries are those of the first migrated set. */
		struct consumer *at = rx;
		while (at->former)
			at = at->former;
		if (!at->slots || at->oldest == at->next)
			break;
		if (consumer_slot(at, at->oldest)->reference)
			long_receive_finish(port, at, at->oldest);
		consumer_release(port, at, at->oldest);
		consumer_retire(port, at);
	}
	if (answer.accepted < count)
		answer.reason = CAY_ERROR_COMMAND;
	consumer_return_all(port, rx);
	answer.free = rx->own->nq_entries -
		      (uint32_t)queue_ahead(rx->next, rx->oldest);
	return answer;
}

static struct cay_answer trigger_device(struct cay_port *port,
	struct op_record *op, enum cay_issue command, unsigned parameter)
{
	struct cay_answer answer;
	struct lock_guard guard;
	/*
	 * pending_complete() checks under this lock whether a completion is a
	 * duplicate: it must not see a reference slot half filled in.
	 */
	bool locked = unlikely(port->announced);
	if (locked)
		lock_take(&port->lock, &guard);
	answer = device_trigger(&port->origin, op, command, parameter);
	if (locked)
		lock_drop(&port->lock, &guard);
	return answer;
}

struct cay_answer cay_trigger(
	struct cay_port *port, enum cay_issue command, unsigned parameter)
{
	struct cay_answer answer = { .reason = CAY_ERROR_ORIGIN_VPID };
	bool status = command & CAY_ISSUE_STATUS;
	unsigned base = command & ~(unsigned)CAY_ISSUE_STATUS;
	bool returns = base == CAY_ISSUE_NQ || base == CAY_ISSUE_RDR;
	bool device = base == CAY_ISSUE_VCI || base == CAY_ISSUE_SNAPSHOT;
	struct op_record *op = NULL;
	if (!port_usable(port))
		return answer;
	if (!returns && !device && base != CAY_ISSUE_POSTED)
		return (struct cay_answer){ .reason = CAY_ERROR_COMMAND };
	if (parameter == 0 || parameter > CAY_ISSUE_PARAMETER_MAX)
		parameter = CAY_ISSUE_PARAMETER_MAX;
	if (device || status) {
		op = record_of(port->member);
		if (!op)
			return answer;
	}
	/* The entry of the NOTIFY_STATUS, before the command has any effect. */
	if (status && !device_reserve_completion(&port->origin))
		return (struct cay_answer){ .reason = CAY_ERROR_NO_RESOURCES };
	if (returns)
		answer = trigger_return(port, parameter);
	else if (device)
		answer = trigger_device(
			port, op, (enum cay_issue)base, parameter);
	else
		answer = posted_trigger(port, parameter);
	if (status)
		device_status(&port->origin, op);
	return answer;
}

/* ---- notifications ---- */

/* Returns false for a duplicate, or if no completion was requested. */
static bool raw_completion(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot)
{
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	struct cay_event unused = {
		.error = (int)((n->word[CAY_NQE_WORD_VALID] &
				       CAY_COMMAND_ERROR_MASK) >>
			       CAY_COMMAND_ERROR_SHIFT)
	};
	enum pending_result result = PENDING_REPORT;
	if (reference)
		result = pending_complete(port, reference,
			(uint32_t)(word >> CAY_NQE_SEQUENCE_SHIFT), &unused);
	slot->completion = result != PENDING_STALE;
	return result == PENDING_REPORT;
}

/*
 * Executes an emulated access. If the window notifies accesses, the entry,
 * which belongs to this port now, is changed into a NOTIFY_RMA.
 */
static bool raw_emulated(
	struct cay_port *port, const struct cay_nqe *n, struct cay_nqe *shared)
{
	uint64_t word = n->word[CAY_NQE_WORD_VALID];
	struct cay_event e = { .tag = n->word[CAY_NQE_WORD_TAG],
		.peer = { (uint32_t)n->word[CAY_NQE_WORD_PEER],
			(uint16_t)(word >> CAY_NQE_VPID_SHIFT) } };
	if (emulate_execute(port, n, &e) != 1)
		return false;
	shared->word[CAY_NQE_WORD_LENGTH] = e.length;
	shared->word[CAY_NQE_WORD_OFFSET] = e.offset;
	shared->word[CAY_NQE_WORD_WINDOW] = e.window;
	shared->word[CAY_NQE_WORD_COMPLETED] = e.command;
	shared->word[CAY_NQE_WORD_VALID] =
		(word & ~(uint64_t)CAY_COMMAND_MASK) | CAY_NOTIFY_RMA;
	return true;
}

/* Processes an entry. Returns false if the raw API does not show it. */
static bool raw_entry(struct cay_port *port, struct cay_nqe *shared,
	uint64_t word, struct consumer_slot *slot)
{
	unsigned command = word & CAY_COMMAND_MASK;
	uint16_t from = (uint16_t)(word >> CAY_NQE_VPID_SHIFT);
	struct cay_event unused = { 0 };
	struct cay_nqe copy = *shared;
	const struct cay_nqe *n = &copy;
	copy.word[CAY_NQE_WORD_VALID] = word;
	slot->special = SLOT_OTHER;
	if (command == CAY_NOTIFY_FAST_RECV || command == CAY_NOTIFY_RECV ||
		command == CAY_NOTIFY_POSTED_RECV)
		resolved_heard(port, from);
	if (command == CAY_NOTIFY_FAST_RECV)
		return true;
	slot->rdr = (uint32_t)(n->word[CAY_NQE_WORD_POINTERS] >>
			       CAY_NQE_RDR_WRITE_SHIFT) &
		    QUEUE_RDR_MASK;
	slot->has_rdr = command != CAY_NQE_INVALID || void_has_extent(word);
	switch (command) {
	case CAY_NOTIFY_RECV:
		/*
		 * A long message is completed when its entry is returned. The
		 * index is written by the peer.
		 */
		if (n->word[CAY_NQE_WORD_REFERENCE] <= 1u << QUEUE_REFS_LOG2) {
			slot->reference =
				(uint32_t)n->word[CAY_NQE_WORD_REFERENCE];
			slot->sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
		}
		return true;
	case CAY_NOTIFY_STATUS:
		slot->completion = 1;
		return true;
	case CAY_NOTIFY_CC:
		return raw_completion(port, n, slot);
	case CAY_NOTIFY_POSTED_RECV:
		posted_event(port, n, &unused);
		return true;
	case CAY_NOTIFY_GONE:
		return resolved_gone(port, from, 0, &unused.handle);
	default:
		return !command_is_access(command) ||
		       raw_emulated(port, n, shared);
	}
}

const struct cay_nqe *cay_nqe_next(struct cay_port *port)
{
	if (!port_usable(port) || consumer_prepare(port) != 0)
		return NULL;
	struct consumer *rx = &port->consumer;
	for (;;) {
		uint64_t word = consumer_peek(port), position = rx->next;
		if (!word) {
			consumer_return_all(port, rx);
			return NULL;
		}
		struct cay_nqe *n = device_entry(rx->own, position);
		bool shown =
			raw_entry(port, n, word, consumer_slot(rx, position));
		consumer_advance(rx);
		if (shown)
			return n;
		consumer_release(port, rx, position);
	}
}

/* ---- memory ---- */

void *cay_sdr(struct cay_port *port, size_t *bytes)
{
	size_t length = port ? port->origin.sdr_bytes : 0;
	if (bytes)
		*bytes = length;
	return port ? port->origin.sdr : NULL;
}

const void *cay_rdr(struct cay_port *port, size_t *bytes)
{
	const struct context *own = port ? port->consumer.own : NULL;
	if (bytes)
		*bytes = own ? (uint64_t)RDR_UNIT << own->rdr_log2 : 0;
	return own ? own->rdr : NULL;
}

int cay_offset(struct cay_port *port, const void *memory, size_t bytes,
	uint64_t *offset)
{
	uint64_t at;
	if (!port_usable(port))
		return port_error(port);
	struct lock_guard guard;
	lock_guard_begin(&guard);
	bool inside = allocation_contains(port->member, memory, bytes, &at);
	lock_guard_end(&guard);
	if (!inside || !offset)
		return -EFAULT;
	*offset = at;
	return 0;
}
