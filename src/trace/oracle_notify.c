/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's notifications: their contents, and the NQ of each port. */
#include <assert.h>

#include "trace/oracle_model.h"

/* ---- contents ---- */

/* The command as notifications name it. */
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
	case TRACE_GET: /* the result is the acknowledgement */
		return (uint16_t)(i->event ? CAY_FAST_GET | words : CAY_GET);
	default:
		return i->kind == TRACE_FETCH_ADD ? CAY_FAA : CAY_CAS;
	}
	return (uint16_t)(i->flags & CAY_ACK ? command | CAY_COMMAND_ACK
					     : command);
}

struct outcome_nqe oracle_completion(
	const struct trace_instruction *i, enum cay_error error)
{
	bool send = i->kind == TRACE_SEND;
	return (struct outcome_nqe){
		.command = oracle_command(CAY_NOTIFY_CC, error),
		.peer = i->peer,
		.completed = command_of(i),
		.api_tag = i->api_tag,
		.tag = i->tag,
		.word = { trace_length(i), send ? 0 : i->offset,
			send ? 0 : i->window },
	};
}

struct outcome_nqe oracle_access_notice(
	const struct trace_instruction *i, enum cay_error error)
{
	return (struct outcome_nqe){
		.command = oracle_command(CAY_NOTIFY_RMA, error),
		.peer = i->port,
		.completed = command_of(i),
		.tag = i->tag,
		.word = { trace_length(i), i->offset, i->window },
	};
}

/* ---- queues ---- */

uint32_t oracle_free_entries(
	const struct oracle *o, uint32_t port, unsigned flags)
{
	uint32_t keep = o->keep_completions +
			(flags & CAY_PRIORITY ? 0 : o->keep_priority);
	uint32_t used = o->port[port].count + keep;
	return used < o->nq_entries ? o->nq_entries - used : 0;
}

bool oracle_reserve(struct oracle *o, uint32_t port)
{
	if (o->port[port].completions == o->keep_completions)
		return false;
	o->port[port].completions++;
	return true;
}

void oracle_notify(struct oracle *o, uint32_t port, const struct model_entry *e)
{
	struct model_port *p = &o->port[port];
	assert(p->count <= o->trace->queues.nq_entries);
	if (!p->closed)
		p->entry[p->count++] = *e;
}

void oracle_complete(
	struct oracle *o, uint32_t port, const struct outcome_nqe *nqe)
{
	const struct model_entry e = {
		.nqe = *nqe, .reserved = true, .sender = NO_PORT
	};
	oracle_notify(o, port, &e);
}
