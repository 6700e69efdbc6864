/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbered steps of the units, in the order in which a message passes
 * them. A test build can stop or die at each; `cay explain` prints them; an op
 * record shows the last one that its thread has passed.
 */
#ifndef CAY_DEVICE_STEP_H
#define CAY_DEVICE_STEP_H

enum device_step {
	STEP_NONE = 0,
	/* requester */
	STEP_CONTEXT,	 /* 1 context loaded */
	STEP_DESCRIPTOR, /* 2 work request loaded */
	STEP_ROUTE,	 /* 3 route fetched and checked */
	STEP_REFERENCE,	 /* 4 long message: reference filled in and READY */
	/* completer: claim */
	STEP_TRY,     /* 5 the record says TRY */
	STEP_CLAIMED, /* 6 W is swapped, the record does not know yet */
	STEP_OWN,     /* 7 the record says OWN */
	/* completer: deliver */
	STEP_PAYLOAD, /* 8 payload stored in the RDR */
	STEP_ENTRY,   /* 9 words 0 to 6 of the notification stored */
	STEP_PUBLISH, /* 10 word 7 stored: the target may see it */
	STEP_SENT,    /* 11 long message: the reference says SENT */
	STEP_WAKE,    /* 12 a sleeping target was woken */
	STEP_IDLE,    /* 13 the record says IDLE */
	/* the target's side */
	STEP_TAKE,   /* 14 an entry was taken by the consumer */
	STEP_DONE,   /* 15 long message: the reference says DONE */
	STEP_RETURN, /* 16 R has moved */
	STEP_ROOM,   /* 17 senders that waited for room were woken */
	STEP_SLEEP,  /* 18 SLEEP is set in W */
	/* window: check */
	STEP_ACCESS, /* the record names the window */
	STEP_WINDOW, /* the descriptor was checked */
	STEP_STORED, /* memory was read or written */
	/* posted receive */
	STEP_POSTED, /* the record names the slot that it will take */
	STEP_FILLED, /* the slot says FILLED */
	STEP_COUNT,
};

const char *device_step_name(enum device_step);

#endif
