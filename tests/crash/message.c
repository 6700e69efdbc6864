/* SPDX-License-Identifier: BSD-2-Clause */
/* See message.h. */
#include "message.h"

static unsigned char message_byte(uint64_t tag, size_t at)
{
	return (unsigned char)((tag >> 56) * 31 + tag * 7 + at * 13 + at / 256);
}

void message_fill(unsigned char *to, size_t bytes, uint64_t tag)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = message_byte(tag, i);
}

bool message_whole(const struct cay_event *e)
{
	const unsigned char *from = e->data;
	for (size_t i = 0; i < e->length; i++)
		if (from[i] != message_byte(e->tag, i))
			return false;
	return true;
}
