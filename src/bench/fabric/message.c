/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling messages and looking at them; outside the measured time. */
#include "bench/fabric/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *pool_part(void)
{
	unsigned char *part = aligned_alloc(4096, MESSAGE_POOL_BYTES);

	if (part)
		memset(part, 0x5a, MESSAGE_POOL_BYTES);
	return part;
}

int pool_open(struct pool *p)
{
	p->source = pool_part();
	p->target = pool_part();
	if (p->source && p->target)
		return 0;
	pool_close(p);
	return -ENOMEM;
}

void pool_close(struct pool *p)
{
	free(p->source);
	free(p->target);
}

/* The first word is the number itself, so that message_is() fits too. */
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
