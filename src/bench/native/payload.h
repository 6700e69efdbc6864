/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of messages, the same in all workloads: the sender puts the message
 * number into the first word; the receiver checks it and reads every line.
 */
#ifndef CAY_BENCH_NATIVE_PAYLOAD_H
#define CAY_BENCH_NATIVE_PAYLOAD_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define PAYLOAD_LINE 64u

static inline void payload_stamp(
	unsigned char *data, size_t bytes, uint64_t number)
{
	if (bytes >= sizeof(number))
		memcpy(data, &number, sizeof(number));
}

/*
 * Writes each line, as an application with new data does. A source that is not
 * rewritten is read from the receiver's own cache.
 */
static inline void payload_rewrite(
	unsigned char *data, size_t bytes, uint64_t number)
{
	for (size_t at = 0; at + sizeof(number) <= bytes; at += PAYLOAD_LINE)
		memcpy(data + at, &number, sizeof(number));
}

/* Returns 0, or -EBADMSG if this is not the expected message. */
static inline int payload_verify(
	const void *data, size_t length, size_t bytes, uint64_t number)
{
	const volatile unsigned char *at = data; /* the values are not used */
	uint64_t first = number;

	if (length != bytes)
		return -EBADMSG;
	if (bytes >= sizeof(first))
		memcpy(&first, data, sizeof(first));
	if (first != number)
		return -EBADMSG;
	for (size_t i = PAYLOAD_LINE; i < bytes; i += PAYLOAD_LINE)
		(void)at[i];
	return 0;
}

#endif
