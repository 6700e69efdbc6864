/* SPDX-License-Identifier: BSD-2-Clause */
/* Emulated accesses to a word of a window, for the tests of them. */
#ifndef CAY_TESTS_PORT_EMULATE_H
#define CAY_TESTS_PORT_EMULATE_H

#include "instruction.h"

static inline uint64_t word_at(const struct rma_pair *r, size_t at)
{
	uint64_t word;
	memcpy(&word, r->memory + at, sizeof(word));
	return word;
}

static inline int add(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_fetch_add(r->origin, r->peer, r->key, 0, 1, tag, flags);
}

#endif
