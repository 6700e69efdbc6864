/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's remote memory: checks of an access, and its effects. */
#include <errno.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/oracle_model.h"

/* ---- checks ---- */

/* Returns NULL if the window is not open. */
static struct model_window *window_of(
	const struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->peer];
	return i->window < o->trace->queues.windows &&
			       p->window[i->window].rights
		       ? &p->window[i->window]
		       : NULL;
}

/*
 * The checks in the order of cay_contract(7): window, capability, rights, lock,
 * bounds, alignment. The first that fails determines the error.
 */
enum cay_error oracle_refusal(
	const struct oracle *o, const struct trace_instruction *i)
{
	const struct model_window *w = window_of(o, i);
	unsigned needed = trace_is_atomic(i->kind) ? CAY_RIGHT_ATOMIC
			  : i->kind == TRACE_GET   ? CAY_RIGHT_READ
						   : CAY_RIGHT_WRITE;
	if (!w)
		return CAY_ERROR_TARGET_WINDOW;
	if (o->fault == ORACLE_ERROR_ORDER && !(w->rights & needed))
		return CAY_ERROR_RIGHTS;
	if (w->key != i->key)
		return CAY_ERROR_CAPABILITY;
	if (!(w->rights & needed))
		return CAY_ERROR_RIGHTS;
	uint32_t lock = o->lock[w->region];
	if (lock && lock != i->port + 1u && o->fault != ORACLE_LOCK)
		return CAY_ERROR_TARGET_LOCKED;
	uint64_t end = w->bytes + (o->fault == ORACLE_BOUNDS);
	if (i->offset > end || trace_length(i) > end - i->offset)
		return CAY_ERROR_TARGET_BOUNDS;
	bool word = trace_is_word(i->kind);
	bool words = o->port[i->port].words;
	uint64_t address = o->trace->region[w->region].skew + w->at + i->offset;
	if (((word || words) && i->offset % 8) || (word && address % 8))
		return CAY_ERROR_TARGET_OFFSET_ALIGN;
	if (words && trace_length(i) % 8)
		return CAY_ERROR_TARGET_LENGTH_ALIGN;
	return CAY_ERROR_NONE;
}

uint32_t oracle_region(
	const struct oracle *o, const struct trace_instruction *i, uint64_t *at)
{
	const struct model_window *w = window_of(o, i);
	*at = w->at + i->offset;
	return w->region;
}

bool oracle_notifies_owner(
	const struct oracle *o, const struct trace_instruction *i)
{
	return window_of(o, i)->rights & CAY_RIGHT_NOTIFY_ACCESS;
}

/* ---- effects ---- */

void oracle_operate(const struct trace_instruction *i, enum oracle_fault fault,
	uint64_t *word, uint64_t result[2])
{
	uint64_t before = *word, compare = i->operand[0];
	result[1] = before;
	switch (i->kind) {
	case TRACE_PUT_MASKED:
		for (unsigned b = 0; b < 8; b++) {
			uint64_t mask = 0xffull << 8 * b;
			if (i->operand[1] >> b & 1 || fault == ORACLE_MASK)
				*word = (*word & ~mask) |
					(i->operand[0] & mask);
		}
		break;
	case TRACE_FETCH_ADD:
		result[0] = *word = before + i->operand[0];
		if (fault == ORACLE_ADD_PREVIOUS)
			result[1] = *word;
		break;
	default:
		if (before == compare || fault == ORACLE_SWAP_ALWAYS)
			*word = i->operand[1];
		result[0] = before == compare ? i->operand[1] : before;
		if (fault == ORACLE_SWAP_RESULT)
			result[0] = compare;
	}
}

/* Changes memory and fills in the data words of the completion. */
static void access_execute(struct oracle *o, const struct trace_instruction *i,
	struct outcome_nqe *completion, uint64_t *data_digest)
{
	uint64_t at, word, result[2];
	uint32_t region = oracle_region(o, i, &at);
	unsigned char *memory = o->out->memory[region] + at;
	if (i->kind == TRACE_PUT) {
		trace_payload(i, memory);
	} else if (i->kind == TRACE_GET && i->event) {
		memset(completion->word, 0, sizeof(completion->word));
		memcpy(completion->word, memory, i->bytes);
		completion->bytes = (uint16_t)i->bytes;
	} else if (i->kind == TRACE_GET) {
		*data_digest = bytes_digest(memory, i->bytes);
	} else {
		memcpy(&word, memory, sizeof(word));
		oracle_operate(i, o->fault, &word, result);
		memcpy(memory, &word, sizeof(word));
		if (!trace_is_atomic(i->kind))
			return;
		completion->word[1] = result[0];
		completion->word[2] = result[1];
		if (!i->event)
			*data_digest =
				bytes_digest(&result[1], sizeof(result[1]));
	}
}

/*
 * A refusal always has a completion. If none can be reserved the access is
 * retried, and the retry may notify the owner a second time.
 */
static int access_refuse(struct oracle *o, const struct trace_instruction *i,
	enum cay_error error, bool reserved)
{
	const struct outcome_nqe completion = oracle_completion(i, error);
	struct model_window *w = window_of(o, i);
	/* The owner is notified once until it polls. */
	if (w && w->rights & CAY_RIGHT_NOTIFY_REFUSAL && !w->refusal_notified &&
		oracle_free_entries(o, i->peer, 0)) {
		const struct model_entry e = {
			.nqe = oracle_access_notice(i, error), .sender = NO_PORT
		};
		w->refusal_notified = true;
		oracle_notify(o, i->peer, &e);
	}
	if (!reserved && o->fault == ORACLE_SILENT)
		return 1;
	if (!reserved && !oracle_reserve(o, i->port))
		return -EAGAIN;
	oracle_complete(o, i->port, &completion);
	return 1;
}

int oracle_access(struct oracle *o, const struct trace_instruction *i,
	bool reserved, uint64_t *data_digest)
{
	enum cay_error error = oracle_refusal(o, i);
	if (error)
		return access_refuse(o, i, error, reserved);
	if (oracle_notifies_owner(o, i)) {
		const struct model_entry e = { .nqe = oracle_access_notice(
						       i, CAY_ERROR_NONE),
			.sender = NO_PORT };
		if (oracle_free_entries(o, i->peer, 0) == 0)
			return -EAGAIN;
		oracle_notify(o, i->peer, &e);
	}
	struct outcome_nqe completion = oracle_completion(i, CAY_ERROR_NONE);
	access_execute(o, i, &completion, data_digest);
	if (reserved)
		oracle_complete(o, i->port, &completion);
	return 0;
}
