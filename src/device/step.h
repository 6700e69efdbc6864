/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbered steps of the units, in the order in which a message passes them.
 * A test build can stop or kill the process at each; `cay explain` prints them;
 * in test builds an op record contains the last step of its thread.
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
	/* window: check; posted receive: claim */
	STEP_ACCESS, /* 5 the record is in state ACCESS and names the window */
	STEP_WINDOW, /* 6 the window's descriptor was checked */
	STEP_POSTED, /* 7 the record names the slot to claim */
	/* completer: claim; a posted buffer is filled before */
	STEP_TRY,     /* 8 the record is in state TRY */
	STEP_CLAIMED, /* 9 W is advanced, the record is still in state TRY */
	STEP_OWN,     /* 10 the record is in state OWN */
	/* completer: deliver; responder */
	STEP_PAYLOAD, /* 11 payload stored in the RDR, or the posted buffer */
	STEP_STORED,  /* 12 a window's memory was read or written */
	STEP_FILLED,  /* 13 the slot of the posted receive is FILLED */
	STEP_ENTRY,   /* 14 words 0 to 6 of the notification stored */
	STEP_PUBLISH, /* 15 word 7 stored: the target may see it */
	STEP_SENT,    /* 16 long message: the reference is SENT */
	STEP_WAKE,    /* 17 a sleeping target was woken */
	STEP_IDLE,    /* 18 the record is in state IDLE */
	/* target */
	STEP_TAKE,   /* 19 the consumer has found an entry */
	STEP_DONE,   /* 20 long message: the reference is DONE */
	STEP_RETURN, /* 21 R is advanced */
	STEP_ROOM,   /* 22 senders that waited for room were woken */
	STEP_SLEEP,  /* 23 SLEEP is set in W */
	STEP_COUNT,
};

const char *device_step_name(enum device_step);

#endif
