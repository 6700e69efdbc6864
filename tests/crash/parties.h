/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a scenario; each function is one of them, and exits. */
#ifndef CAY_TESTS_CRASH_PARTIES_H
#define CAY_TESTS_CRASH_PARTIES_H

#include "page.h"
#include "scenario.h"

_Noreturn void receiver_main(struct page *, const struct scenario *);
_Noreturn void survivor_main(struct page *, const struct scenario *);
/* Strikes at the scenario's step: PARTY_VICTIM or PARTY_BESIDE. */
_Noreturn void striker_main(struct page *, const struct scenario *, enum party);
/* The same where the receiver dies meanwhile, and whoever gets its memory. */
_Noreturn void orphan_main(struct page *, const struct scenario *);
_Noreturn void heir_main(struct page *, const struct scenario *);
/* The victim that receives, or serves. */
_Noreturn void taker_main(struct page *, const struct scenario *);

/* ---- what they share: common.c ---- */

#define PARTY_PATIENCE_NS (20 * 1000000000ull)

struct cay_port *party_open(
	struct page *, const char *name, uint32_t nq_entries);
struct cay_peer *party_find(struct page *, struct cay_port *, const char *name);
const char *party_name(enum party);
bool party_is_set(const _Atomic uint32_t *, enum party);

/* A key as it stands on the page. */
uint64_t key_pack(struct cay_key);
struct cay_key key_unpack(uint64_t);

/* Tag of what is for a victim that receives; completions of these count. */
#define TAKER_TAG (0xffull << 56)

/* What has come from the port's queue. */
struct party_seen {
	uint64_t complete; /* of what was for the taker */
	uint64_t served;   /* of these, accesses that were made */
	uint64_t gone;
	/* The completion of what has this tag. */
	uint64_t wanted;
	struct answer {
		bool come;
		int error;
		uint64_t previous;
		uint64_t data[3];
	} answer;
};
extern struct party_seen party_seen;

/* Takes what has come and counts it. */
void party_drain(struct cay_port *);

/*
 * Sends the next message; tries until it is accepted. 0, -EPIPE, or
 * -ETIMEDOUT.
 */
int party_send(struct page *, struct cay_port *, struct cay_peer *, enum party,
	enum message, uint64_t number, void *memory);

#endif
