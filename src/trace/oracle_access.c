/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's remote memory: checks, effects, and how instructions end. */
#include <errno.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/oracle_model.h"

/* ---- what an instruction is ---- */

static bool is_atomic(const struct trace_instruction *i)
{
	return i->kind == TRACE_FETCH_ADD || i->kind == TRACE_COMPARE_SWAP;
}

/* Its command, as it stands in notifications. */
static uint16_t command_of(const struct trace_instruction *i)
{
	unsigned words = (unsigned)(i->bytes + 7) / 8;
	bool fast = i->bytes >= 1 && i->bytes <= CAY_FAST_PUT_BYTES;
	unsigned command;
	switch (i->kind) {
	case TRACE_SEND:
		command = i->bytes <= CAY_FAST_SEND_BYTES
				  ? CAY_FAST_SEND | words
				  : CAY_SEND;
		break;
	case TRACE_PUT:
		command = fast ? CAY_FAST_PUT | words : CAY_PUT;
		break;
	case TRACE_PUT_MASKED:
		command = CAY_MISALIGNED_PUT;
		break;
	case TRACE_GET: /* a result acknowledges by itself */
		return (uint16_t)(i->event ? CAY_FAST_GET | words : CAY_GET);
	default:
		return i->kind == TRACE_FETCH_ADD ? CAY_FAA : CAY_CAS;
	}
	return (uint16_t)(i->flags & CAY_ACK ? command | CAY_COMMAND_ACK
					     : command);
}

/* What it moves: the operand of the others is a word. */
static uint64_t length_of(const struct trace_instruction *i)
{
	return is_atomic(i) || i->kind == TRACE_PUT_MASKED ? 8 : i->bytes;
}

bool oracle_completes(const struct trace_instruction *i)
{
	if (i->flags & (CAY_NOTIFY | CAY_ACK))
		return true;
	if (i->kind == TRACE_SEND)
		return i->bytes > CAY_EAGER_MAX;
	return (is_atomic(i) || i->kind == TRACE_GET) && i->event;
}

struct outcome_note oracle_completion(
	const struct trace_instruction *i, enum cay_error error)
{
	bool send = i->kind == TRACE_SEND;
	return (struct outcome_note){
		.command = model_command(CAY_NOTIFY_CC, error),
		.peer = i->peer,
		.completed = command_of(i),
		.api_tag = i->api_tag,
		.tag = i->tag,
		.word = { length_of(i), send ? 0 : i->offset,
			send ? 0 : i->window },
	};
}

struct outcome_note oracle_access(
	const struct trace_instruction *i, enum cay_error error)
{
	return (struct outcome_note){
		.command = model_command(CAY_NOTIFY_RMA, error),
		.peer = i->port,
		.completed = command_of(i),
		.tag = i->tag,
		.word = { length_of(i), i->offset, i->window },
	};
}

/* ---- checks ---- */

static unsigned right_of(const struct trace_instruction *i)
{
	if (is_atomic(i))
		return CAY_RIGHT_ATOMIC;
	return i->kind == TRACE_GET ? CAY_RIGHT_READ : CAY_RIGHT_WRITE;
}

/* NULL: there is none. */
static struct model_window *window_of(
	const struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->peer];
	return i->window < o->trace->queues.windows &&
			       p->window[i->window].rights
		       ? &p->window[i->window]
		       : NULL;
}

static enum cay_error alignment(const struct oracle *o,
	const struct model_window *w, const struct trace_instruction *i)
{
	bool word = is_atomic(i) || i->kind == TRACE_PUT_MASKED;
	bool words = o->port[i->port].words;
	uint64_t address = o->trace->region[w->region].skew + w->at + i->offset;
	if (((word || words) && i->offset % 8) || (word && address % 8))
		return CAY_ERROR_TARGET_OFFSET_ALIGN;
	if (words && length_of(i) % 8)
		return CAY_ERROR_TARGET_LENGTH_ALIGN;
	return CAY_ERROR_NONE;
}

static enum cay_error capability_and_rights(const struct oracle *o,
	const struct model_window *w, const struct trace_instruction *i)
{
	bool right = w->rights & right_of(i);
	if (o->fault == ORACLE_ERROR_ORDER && !right)
		return CAY_ERROR_RIGHTS;
	if (w->key != i->key)
		return CAY_ERROR_CAPABILITY;
	return right ? CAY_ERROR_NONE : CAY_ERROR_RIGHTS;
}

/* Window, capability, rights, lock, bounds, alignment: the first decides. */
enum cay_error oracle_refusal(
	const struct oracle *o, const struct trace_instruction *i)
{
	const struct model_window *w = window_of(o, i);
	if (!w)
		return CAY_ERROR_TARGET_WINDOW;
	enum cay_error error = capability_and_rights(o, w, i);
	if (error)
		return error;
	uint32_t lock = o->lock[w->region];
	if (lock && lock != i->port + 1u && o->fault != ORACLE_LOCK)
		return CAY_ERROR_TARGET_LOCKED;
	uint64_t end = w->bytes + (o->fault == ORACLE_BOUNDS);
	if (i->offset > end || length_of(i) > end - i->offset)
		return CAY_ERROR_TARGET_BOUNDS;
	return alignment(o, w, i);
}

uint32_t oracle_place(
	const struct oracle *o, const struct trace_instruction *i, uint64_t *at)
{
	const struct model_window *w = window_of(o, i);
	*at = w->at + i->offset;
	return w->region;
}

bool oracle_tells(const struct oracle *o, const struct trace_instruction *i)
{
	return window_of(o, i)->rights & CAY_RIGHT_NOTIFY_ACCESS;
}

/* ---- effects ---- */

static void operate_masked(const struct trace_instruction *i,
	enum oracle_fault fault, uint64_t *word)
{
	for (unsigned b = 0; b < 8; b++) {
		uint64_t mask = 0xffull << 8 * b;
		if (i->operand[1] >> b & 1 || fault == ORACLE_MASK)
			*word = (*word & ~mask) | (i->operand[0] & mask);
	}
}

void oracle_operate(const struct trace_instruction *i, enum oracle_fault fault,
	uint64_t *word, uint64_t result[2])
{
	uint64_t before = *word, compare = i->operand[0];
	result[1] = before;
	switch (i->kind) {
	case TRACE_PUT_MASKED:
		operate_masked(i, fault, word);
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

static void access_word(struct oracle *o, const struct trace_instruction *i,
	unsigned char *memory, struct outcome_note *n, uint64_t *got)
{
	uint64_t word, result[2];
	memcpy(&word, memory, sizeof(word));
	oracle_operate(i, o->fault, &word, result);
	memcpy(memory, &word, sizeof(word));
	if (!is_atomic(i))
		return;
	n->word[1] = result[0];
	n->word[2] = result[1];
	if (!i->event)
		*got = bytes_digest(&result[1], sizeof(result[1]));
}

/* What it does to memory, and what its completion then says. */
static void access_do(struct oracle *o, const struct trace_instruction *i,
	struct outcome_note *n, uint64_t *got)
{
	uint64_t at;
	uint32_t region = oracle_place(o, i, &at);
	unsigned char *memory = o->out->memory[region] + at;
	if (i->kind == TRACE_PUT) {
		trace_payload(i, memory);
	} else if (i->kind != TRACE_GET) {
		access_word(o, i, memory, n, got);
	} else if (!i->event) {
		*got = bytes_digest(memory, i->bytes);
	} else {
		memset(n->word, 0, sizeof(n->word));
		memcpy(n->word, memory, i->bytes);
		n->bytes = (uint16_t)i->bytes;
	}
}

/* The owner is told, if it asked for it, once until it has taken that. */
static void refusal_tell(struct oracle *o, const struct trace_instruction *i,
	enum cay_error error)
{
	struct model_window *w = window_of(o, i);
	if (!w || !(w->rights & CAY_RIGHT_NOTIFY_REFUSAL) || w->told ||
		oracle_room(o, i->peer, 0) == 0)
		return;
	const struct model_entry e = { .note = oracle_access(i, error),
		.from = NOBODY };
	w->told = true;
	model_notify(o, i->peer, &e);
}

/*
 * A refusal is always told to the origin. If there is no room for that the
 * access is tried again, and its target may by then be told once more.
 */
static int access_refuse(struct oracle *o, const struct trace_instruction *i,
	enum cay_error error, bool reserved)
{
	const struct outcome_note n = oracle_completion(i, error);
	refusal_tell(o, i, error);
	if (!reserved && o->fault == ORACLE_SILENT)
		return 1;
	if (!reserved && !model_reserve(o, i->port))
		return -EAGAIN;
	model_complete(o, i->port, &n);
	return 1;
}

static int access(struct oracle *o, const struct trace_instruction *i,
	bool reserved, uint64_t *got)
{
	enum cay_error error = oracle_refusal(o, i);
	if (error)
		return access_refuse(o, i, error, reserved);
	if (oracle_tells(o, i)) {
		const struct model_entry e = {
			.note = oracle_access(i, CAY_ERROR_NONE), .from = NOBODY
		};
		if (oracle_room(o, i->peer, 0) == 0)
			return -EAGAIN;
		model_notify(o, i->peer, &e);
	}
	struct outcome_note n = oracle_completion(i, CAY_ERROR_NONE);
	access_do(o, i, &n, got);
	if (reserved)
		model_complete(o, i->port, &n);
	return 0;
}

/* ---- any instruction ---- */

/* Are long messages of the port under way? */
static bool pending(const struct oracle *o, uint32_t port)
{
	for (uint32_t i = 0; i < o->trace->ports; i++)
		if (o->port[port].pending[i])
			return true;
	return false;
}

int model_issue(
	struct oracle *o, const struct trace_instruction *i, uint64_t *got)
{
	bool completes = oracle_completes(i);
	if (i->flags & CAY_FENCE && pending(o, i->port))
		return -EAGAIN;
	if (completes && !model_reserve(o, i->port))
		return -EAGAIN;
	int r = -EPIPE;
	if (!o->port[i->peer].closed)
		r = i->kind == TRACE_SEND ? model_send(o, i)
					  : access(o, i, completes, got);
	if (r < 0 && completes)
		o->port[i->port].completions--;
	return r;
}
