/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a scenario; each function is the body of one, and exits. */
#ifndef CAY_TESTS_CRASH_PARTIES_H
#define CAY_TESTS_CRASH_PARTIES_H

#include "page.h"
#include "scenario.h"

_Noreturn void receiver_main(struct page *, const struct scenario *);
_Noreturn void survivor_main(struct page *, const struct scenario *);
/* Fails at the scenario's step: PARTY_VICTIM or PARTY_SECOND. */
_Noreturn void faulty_main(struct page *, const struct scenario *, enum party);
/* The victim of MODE_ORPHAN, and the next owner of the receiver's memory. */
_Noreturn void orphan_main(struct page *, const struct scenario *);
_Noreturn void successor_main(struct page *, const struct scenario *);
/* A victim that is the target of messages or of emulated accesses. */
_Noreturn void target_main(struct page *, const struct scenario *);

/* ---- common.c ---- */

#define PARTY_TIMEOUT_NS (20 * 1000000000ull)

struct cay_port *party_open(
	struct page *, const char *name, uint32_t nq_entries);
struct cay_peer *party_find(struct page *, struct cay_port *, const char *name);
const char *party_name(enum party);
bool party_is_set(const _Atomic uint32_t *, enum party);

/* A key in the format of the page. */
uint64_t key_pack(struct cay_key);
struct cay_key key_unpack(uint64_t);

/* Tag of operations to such a victim, whose completions are counted. */
#define TARGET_TAG (0xffull << 56)

/* Events that the port has polled. */
struct party_events {
	uint64_t complete; /* operations to the victim */
	uint64_t executed; /* accesses among them */
	uint64_t gone;
	uint64_t awaited; /* tag of the completion to store below */
	struct party_completion {
		bool arrived;
		int error;
		uint64_t previous;
		uint64_t data[3];
	} completion;
};
extern struct party_events party_events;

/* Polls and counts all events. */
void party_drain(struct cay_port *);

/*
 * Sends the next message and retries until it is accepted. Returns 0, -EPIPE,
 * or -ETIMEDOUT.
 */
int party_send(struct page *, struct cay_port *, struct cay_peer *, enum party,
	enum message, uint64_t number, void *memory);

/*
 * Does the same with a burst, advances *number past the messages that were
 * accepted and records them.
 */
int party_burst(struct page *, struct cay_port *, struct cay_peer *, enum party,
	uint64_t *number);

#endif
