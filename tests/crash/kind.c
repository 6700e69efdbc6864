/* SPDX-License-Identifier: BSD-2-Clause */
/* See kind.h. */
#include "kind.h"

#include <stddef.h>
#include <string.h>

#define SENDS(name, message)                        \
	{                                           \
		name, FAMILY_SEND, message, 0, 0, 0 \
	}
#define POSTS(name, message, posting)                     \
	{                                                 \
		name, FAMILY_SEND, message, posting, 0, 0 \
	}
#define ACCESSES(name, window, access)                    \
	{                                                 \
		name, FAMILY_ACCESS, 0, 0, window, access \
	}

const struct kind kinds[] = {
	SENDS("fast", MESSAGE_FAST),
	SENDS("send", MESSAGE_SEND),
	SENDS("long", MESSAGE_LONG),
	SENDS("staged", MESSAGE_STAGED),
	SENDS("copied", MESSAGE_COPIED),
	SENDS("ack", MESSAGE_ACK),
	SENDS("burst", MESSAGE_BURST),
	{ "receive", FAMILY_RECEIVE, 0, 0, 0, 0 },

	ACCESSES("put", WINDOW_PLAIN, ACCESS_PUT),
	ACCESSES("bulk", WINDOW_PLAIN, ACCESS_BULK),
	ACCESSES("masked", WINDOW_PLAIN, ACCESS_MASKED),
	ACCESSES("get", WINDOW_PLAIN, ACCESS_GET),
	ACCESSES("add", WINDOW_PLAIN, ACCESS_ADD),
	ACCESSES("swap", WINDOW_PLAIN, ACCESS_SWAP),

	ACCESSES("notified-put", WINDOW_NOTIFIED, ACCESS_PUT),
	ACCESSES("notified-bulk", WINDOW_NOTIFIED, ACCESS_BULK),
	ACCESSES("notified-masked", WINDOW_NOTIFIED, ACCESS_MASKED),
	ACCESSES("notified-get", WINDOW_NOTIFIED, ACCESS_GET),
	ACCESSES("notified-add", WINDOW_NOTIFIED, ACCESS_ADD),
	ACCESSES("notified-swap", WINDOW_NOTIFIED, ACCESS_SWAP),

	ACCESSES("refused-put", WINDOW_REFUSED, ACCESS_PUT),
	ACCESSES("refused-bulk", WINDOW_REFUSED, ACCESS_BULK),
	ACCESSES("refused-masked", WINDOW_REFUSED, ACCESS_MASKED),
	ACCESSES("refused-get", WINDOW_REFUSED, ACCESS_GET),
	ACCESSES("refused-add", WINDOW_REFUSED, ACCESS_ADD),
	ACCESSES("refused-swap", WINDOW_REFUSED, ACCESS_SWAP),

	ACCESSES("ordinary-put", WINDOW_ORDINARY, ACCESS_PUT),
	ACCESSES("emulated-add", WINDOW_ORDINARY, ACCESS_ADD),
	{ "execute", FAMILY_EXECUTE, 0, 0, 0, 0 },

	{ "lock", FAMILY_LOCK, 0, 0, WINDOW_LOCKED, ACCESS_COUNTED },

	POSTS("posted", MESSAGE_SHORT, POSTING_RDR),
	POSTS("posted-bulk", MESSAGE_BULK, POSTING_RDR),
	POSTS("held", MESSAGE_SHORT, POSTING_HELD),
};
const unsigned kind_count = sizeof(kinds) / sizeof(kinds[0]);

const struct kind *kind_named(const char *name)
{
	for (unsigned i = 0; i < kind_count; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

/* Returns true if the operation claims an entry of the receiver. */
static bool kind_claims(const struct kind *k)
{
	return k->family != FAMILY_LOCK &&
	       !(k->family == FAMILY_ACCESS && k->window == WINDOW_PLAIN) &&
	       !(k->window == WINDOW_ORDINARY && k->access == ACCESS_PUT);
}

static bool kind_by_reference(const struct kind *k)
{
	return k->family == FAMILY_SEND
		       ? k->message == MESSAGE_LONG ||
				 k->message == MESSAGE_STAGED ||
				 k->message == MESSAGE_COPIED
		       : k->window == WINDOW_ORDINARY &&
				 k->access == ACCESS_ADD;
}

static bool kind_accesses(const struct kind *k)
{
	return k->family == FAMILY_LOCK ||
	       (k->family == FAMILY_ACCESS && !kind_by_reference(k));
}

/* The victim publishes completions; accesses are to its own window. */
static bool target_passes(const struct kind *k, enum device_step step)
{
	switch (step) {
	case STEP_POSTED:
	case STEP_PAYLOAD:
	case STEP_FILLED:
	case STEP_SENT:
	case STEP_RECLAIM:
		return false;
	case STEP_ACCESS:
	case STEP_WINDOW:
	case STEP_STORED:
		return k->family == FAMILY_EXECUTE;
	default:
		return step >= STEP_TRY;
	}
}

bool kind_passes(const struct kind *k, enum device_step step)
{
	bool send = k->family == FAMILY_SEND;
	if (k->family == FAMILY_RECEIVE || k->family == FAMILY_EXECUTE)
		return target_passes(k, step);
	switch (step) {
	case STEP_STAGED:
	case STEP_RECLAIM:
		return send && k->message == MESSAGE_COPIED;
	case STEP_REFERENCE:
	case STEP_SENT:
		return kind_by_reference(k);
	case STEP_ACCESS:
		return kind_accesses(k) || k->posting;
	case STEP_WINDOW:
	case STEP_STORED:
		return kind_accesses(k) && k->window != WINDOW_REFUSED;
	case STEP_POSTED:
	case STEP_FILLED:
		return k->posting;
	case STEP_PAYLOAD:
		return send ? k->message != MESSAGE_FAST &&
				       k->message != MESSAGE_ACK &&
				       k->message != MESSAGE_BURST
			    : kind_by_reference(k);
	case STEP_ENTRY:
		return !k->posting && kind_claims(k) &&
		       k->window != WINDOW_NOTIFIED;
	case STEP_TRY:
	case STEP_CLAIMED:
	case STEP_OWN:
	case STEP_PUBLISH:
	case STEP_WAKE:
		return kind_claims(k);
	case STEP_IDLE:
		return true;
	default:
		return false;
	}
}

unsigned kind_times(const struct kind *k, enum device_step step)
{
	if (k->family != FAMILY_SEND)
		return 1;
	if (k->message == MESSAGE_BURST)
		return step == STEP_ENTRY || step == STEP_PUBLISH ? PARTY_BURST
								  : 1;
	return k->message == MESSAGE_ACK ? 2 : 1;
}

bool kind_blocks(const struct kind *k, enum device_step step)
{
	if (!kind_claims(k))
		return false;
	switch (step) {
	case STEP_PAYLOAD:
		return !k->posting;
	case STEP_CLAIMED:
	case STEP_OWN:
	case STEP_STORED:
	case STEP_FILLED:
	case STEP_ENTRY:
	case STEP_PUBLISH: /* the sender must still wake the receiver */
	case STEP_SENT:
		return true;
	default:
		return false;
	}
}

bool kind_inside(const struct kind *k, enum device_step step)
{
	return kind_accesses(k) &&
	       (step == STEP_ACCESS || step == STEP_WINDOW ||
		       step == STEP_STORED);
}
