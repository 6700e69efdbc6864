/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling and checking messages, outside the measured time. */
#include "bench/fabric/message.h"

#include <stdlib.h>
#include <string.h>

const struct pool *pool_get(void)
{
	static struct pool pool;

	if (!pool.source) {
		pool.source = aligned_alloc(4096, MESSAGE_POOL_BYTES);
		pool.target = aligned_alloc(4096, MESSAGE_POOL_BYTES);
		if (!pool.source || !pool.target)
			return NULL;
		memset(pool.source, 0x5a, MESSAGE_POOL_BYTES);
		memset(pool.target, 0x5a, MESSAGE_POOL_BYTES);
	}
	return &pool;
}

/* The first word is the number itself, as message_is() expects. */
static uint64_t message_word(uint64_t number, size_t at)
{
	return number + ((uint64_t)at << 40);
}

void message_fill(unsigned char *at, size_t bytes, uint64_t number)
{
	uint64_t *word = (uint64_t *)(void *)at;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = message_word(number, i);
}

bool message_whole(const unsigned char *at, size_t bytes, uint64_t number)
{
	const uint64_t *word = (const uint64_t *)(const void *)at;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		if (word[i] != message_word(number, i))
			return false;
	return true;
}
