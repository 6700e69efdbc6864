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
	STEP_STAGED,	 /* 4 copied message: payload in staging memory */
	STEP_REFERENCE,	 /* 5 long message: reference filled in and READY */
	/* window: check; posted receive: claim */
	STEP_ACCESS, /* 6 the record is in state ACCESS and names the window */
	STEP_WINDOW, /* 7 the window's descriptor was checked */
	STEP_POSTED, /* 8 the record names the slot to claim */
	/* completer: claim; a posted buffer is filled before */
	STEP_TRY,     /* 9 the record is in state TRY */
	STEP_CLAIMED, /* 10 W is advanced, the record is still in state TRY */
	STEP_OWN,     /* 11 the record is in state OWN */
	/* completer: deliver; responder */
	STEP_PAYLOAD, /* 12 payload stored in the RDR, or the posted buffer */
	STEP_STORED,  /* 13 a window's memory was read or written */
	STEP_FILLED,  /* 14 the slot of the posted receive is FILLED */
	STEP_ENTRY,   /* 15 words 0 to 6 of the notification stored */
	STEP_PUBLISH, /* 16 word 7 stored: the target may see it */
	STEP_SENT,    /* 17 long message: the reference is SENT */
	STEP_WAKE,    /* 18 a sleeping target was woken */
	STEP_IDLE,    /* 19 the record is in state IDLE */
	/* target */
	STEP_TAKE,   /* 20 the consumer has found an entry */
	STEP_DONE,   /* 21 long message: the reference is DONE */
	STEP_RETURN, /* 22 R is advanced */
	STEP_ROOM,   /* 23 senders that waited for room were woken */
	STEP_SLEEP,  /* 24 SLEEP is set in W */
	/* origin, at a later call */
	STEP_RECLAIM, /* 25 copied message: the reference is FREE */
	STEP_COUNT,
};

const char *device_step_name(enum device_step);

#endif
