/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes a trace on a platform of the device, on a workbench: ports without
 * node and processes. What the library of a port would do around the device is
 * done here, and what the node would do (locks, closing).
 *
 *	struct replay r;
 *	struct outcome o;
 *	replay_open(&r, &trace, &platform_real, &o);
 *	replay_run(&r);
 *	replay_close(&r);
 *	... o ...
 *	outcome_free(&o);
 *
 * One thread. Whoever lets origins race calls replay_issue() for each in a
 * thread of its own, after the set-up and before the draining, which are
 * replay_step() and replay_end() by one thread.
 */
#ifndef CAY_TRACE_REPLAY_H
#define CAY_TRACE_REPLAY_H

#include "device/workbench.h"
#include "trace/outcome.h"
#include "trace/platform.h"

/* A long message that its target has not yet taken. */
struct replay_long {
	unsigned char *data; /* NULL: the reference slot is not in use */
};

struct replay_port {
	unsigned char *data; /* payload of what is issued, or what it gets */
	uint32_t *region;    /* by Win-ID: of the window that was opened */
	uint64_t posted;     /* offset of its posted buffers */
	uint64_t posted_each;
	struct replay_long sent[64]; /* by reference slot */
	bool closed;
};

struct replay {
	const struct trace *trace;
	const struct platform *platform;
	struct workbench bench;
	struct replay_port *port;
	uint64_t *memory; /* by region: its offset in the arena */
	struct outcome *out;
};

/*
 * Opens ports and takes memory. Fills `out`, which is the caller's to free. 0,
 * -ENOMEM, -EFBIG (windows and posted buffers need more than a workbench has).
 */
int replay_open(struct replay *, const struct trace *, const struct platform *,
	struct outcome *out);

/* Everything. 0 or -ENOMEM. */
int replay_run(struct replay *);

void replay_close(struct replay *);

/* ---- in parts ---- */

/* Executes instruction i as the trace says, held if there is no room. */
void replay_step(struct replay *, uint32_t i);

/* Issues it once; its result is noted. By the origin's thread. */
int replay_issue(struct replay *, uint32_t i);

/* Takes all that the port has been notified of. By its consumer. */
void replay_drain(struct replay *, uint32_t port);

/* Everybody drains until nothing is left; what is in memory is noted. */
int replay_end(struct replay *);

#endif
