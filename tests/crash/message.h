/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that contain their sender, number and a check of their content. */
#ifndef CAY_TESTS_CRASH_MESSAGE_H
#define CAY_TESTS_CRASH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cay/cay.h"
#include "page.h"

#define MESSAGE_BYTES_MAX (64u << 10)

static inline uint64_t message_tag(enum party from, uint64_t number)
{
	return (uint64_t)from << 56 | number;
}

static inline enum party message_from(const struct cay_event *e)
{
	return (enum party)(e->tag >> 56);
}

static inline uint64_t message_number(const struct cay_event *e)
{
	return e->tag & 0xffffffffffffffull;
}

void message_fill(unsigned char *, size_t bytes, uint64_t tag);
bool message_whole(const struct cay_event *);

#endif
