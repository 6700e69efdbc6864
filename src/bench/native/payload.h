/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all workloads do with a message, so that none gets away with less: the
 * sender puts the number of the message into its first word, the receiver
 * checks it and reads every line.
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
 * Writes each line, as an application does that has something new to say.
 * A source that is sent again untouched is read from the receiver's own cache.
 */
static inline void payload_refresh(
	unsigned char *data, size_t bytes, uint64_t number)
{
	for (size_t at = 0; at + sizeof(number) <= bytes; at += PAYLOAD_LINE)
		memcpy(data + at, &number, sizeof(number));
}

/* Reads each line after the first. Volatile: the sum itself is of no use. */
static inline void payload_read(const void *data, size_t bytes)
{
	const volatile unsigned char *at = data;

	for (size_t i = PAYLOAD_LINE; i < bytes; i += PAYLOAD_LINE)
		(void)at[i];
}

/* 0, or -EBADMSG: this is not the message that was due. */
static inline int payload_verify(
	const void *data, size_t length, size_t bytes, uint64_t number)
{
	uint64_t first = number;

	if (length != bytes)
		return -EBADMSG;
	if (bytes >= sizeof(first))
		memcpy(&first, data, sizeof(first));
	if (first != number)
		return -EBADMSG;
	payload_read(data, bytes);
	return 0;
}

#endif
