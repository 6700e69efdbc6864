/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes a trace on a platform of the device, with the ports of a fixture:
 * without node and processes. The replay performs what the library would do
 * around the device, and the node's part (locks, closing of ports).
 *
 *	struct replay r;
 *	struct outcome o;
 *	replay_open(&r, &trace, &platform_real, &o);
 *	replay_run(&r);
 *	replay_close(&r);
 *	... o ...
 *	outcome_free(&o);
 *
 * replay_open_machine() executes it on machines instead. There every
 * instruction is a VCI that is posted and triggered, several are in flight, and
 * what the call would return arrives as a completion:
 *
 * - an error completion makes the result 1, and CAY_ERROR_GONE -EPIPE;
 * - messages go in segments instead of by reference, and a completion that the
 *   call would not have is dropped;
 * - a machine holds an instruction whose target has no room: all ports drain,
 *   and the instruction counts as retried;
 * - a message that would be held until a receive is posted is not issued: its
 *   result is -EAGAIN;
 * - instructions whose outcome depends on the order between origins, or that
 *   may be reordered, are not in flight at the same time.
 *
 * outcome_pairs_differ() compares such an outcome.
 *
 * Single-threaded, except that a test may race origins: it calls
 * replay_issue() in one thread per origin, after the set-up with replay_step()
 * and before replay_end().
 */
#ifndef CAY_TRACE_REPLAY_H
#define CAY_TRACE_REPLAY_H

#include "device/fixture.h"
#include "device/machine/config.h"
#include "trace/outcome.h"
#include "trace/platform.h"

struct replay_port {
	unsigned char *data; /* payload to issue, or data that was read */
	uint32_t *region;    /* of each open window, by Win-ID */
	uint64_t posted;     /* offset of its posted buffers in the arena */
	uint64_t posted_each;
	/* Payloads of messages by reference, by slot; copied ones are last. */
	unsigned char *reference[1u << QUEUE_REFS_LOG2];
	bool closed;
};

struct replay_machine;

struct replay {
	const struct trace *trace;
	const struct platform *platform;
	struct fixture fixture;
	struct replay_port *port;
	uint64_t *memory; /* by region: its offset in the arena */
	struct outcome *out;
	struct replay_machine *machine; /* NULL: the platform executes */
};

/*
 * Opens the ports and allocates their memory. Fills `out`, which the caller
 * frees. Returns 0, -ENOMEM, or -EFBIG if windows and posted buffers exceed the
 * memory of a fixture.
 */
int replay_open(struct replay *, const struct trace *, const struct platform *,
	struct outcome *out);

#define REPLAY_MACHINES_MAX  16
#define REPLAY_IN_FLIGHT_MAX 64

struct replay_machine_options {
	struct machine_config config;
	uint32_t machines;  /* port p is on machine p modulo `machines` */
	uint32_t in_flight; /* instructions; 1: one after the other */
	uint32_t delay;	    /* of a stage, at most, and a fourth of a wire's */
	uint64_t seed;	    /* of the delays */
};

/*
 * The same, on machines that a wire connects. Returns in addition -EINVAL:
 * invalid options.
 */
int replay_open_machine(struct replay *, const struct trace *,
	const struct replay_machine_options *, struct outcome *out);

/*
 * Executes all instructions and replay_end(). Returns 0, -ENOMEM, or -EBUSY: a
 * machine holds an instruction although all ports have drained.
 */
int replay_run(struct replay *);

void replay_close(struct replay *);

/* ---- step by step ---- */

/* Executes instruction i, with a retry as described in trace.h. */
void replay_step(struct replay *, uint32_t i);

/*
 * Executes instruction i once, without a retry, and stores its result, which it
 * returns. Called in the thread of the origin.
 */
int replay_issue(struct replay *, uint32_t i);

/* Consumes all notifications of a port. Called in the consumer's thread. */
void replay_drain(struct replay *, uint32_t port);

/*
 * Drains all ports until no notification is left and copies the memory into the
 * outcome. Returns as replay_run().
 */
int replay_end(struct replay *);

/* What the machines have done: cycles, packets on the wire, refused triggers.
 */
struct replay_machine_totals {
	uint64_t cycles, packets, refused, parked, stalls;
};
struct replay_machine_totals replay_machine_totals(const struct replay *);

#endif
