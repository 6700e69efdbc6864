/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of messages, the same for Cay and for every peer: the sender writes
 * each line of a message before it sends it, beginning with the message's
 * number; the receiver checks the number and reads each line.
 */
#ifndef CAY_BENCH_HARNESS_PAYLOAD_H
#define CAY_BENCH_HARNESS_PAYLOAD_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define PAYLOAD_LINE 64u

/* Longer messages are written before a batch, outside the measured time. */
#define PAYLOAD_SHORT_MAX 256u

/*
 * Writes each line, as an application with new data does. A source that is not
 * rewritten is read from the receiver's own cache.
 */
static inline void payload_rewrite(
	unsigned char *data, size_t bytes, uint64_t number)
{
	if (bytes < sizeof(number)) {
		memcpy(data, &number, bytes);
		return;
	}
	for (size_t at = 0; at + sizeof(number) <= bytes; at += PAYLOAD_LINE)
		memcpy(data + at, &number, sizeof(number));
}

/* Before each message: all of a short one, of a long one its number. */
static inline void payload_stamp(
	unsigned char *data, size_t bytes, uint64_t number)
{
	payload_rewrite(data,
		bytes <= PAYLOAD_SHORT_MAX ? bytes : sizeof(number), number);
}

/* Returns 0, or -EBADMSG if this is not the expected message. */
static inline int payload_verify(
	const void *data, size_t length, size_t bytes, uint64_t number)
{
	const volatile unsigned char *at = data; /* the values are not used */

	if (length != bytes)
		return -EBADMSG;
	if (bytes >= sizeof(number)) {
		uint64_t first;
		memcpy(&first, data, sizeof(first));
		if (first != number)
			return -EBADMSG;
	} else if (bytes && memcmp(data, &number, bytes) != 0) {
		return -EBADMSG;
	}
	for (size_t i = PAYLOAD_LINE; i < bytes; i += PAYLOAD_LINE)
		(void)at[i];
	return 0;
}

#endif
