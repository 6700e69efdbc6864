/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slice takes a millisecond or a few, so that its hand-overs before and after
 * tell about it; small messages have more than ten thousand trips in that half
 * of the slices which must be kept.
 */
#include "bench/fabric/kinds.h"

#include <string.h>

#include "bench/fabric/message.h"

enum {
	MIB = 1 << 20,
	QUICKER = 20, /* times */
};

#define PING(bytes_, batches_, slices_)                                        \
	{                                                                      \
		.name = "send_" #bytes_, .form = FORM_PING, .fresh = true,     \
		.bytes = bytes_, .count = 1, .window = 1, .batches = batches_, \
		.slices = slices_                                              \
	}

static const struct kind kinds_all[KIND_COUNT] = {
	{ .name = "inject_8",
		.form = FORM_PING,
		.inject = true,
		.each = true,
		.bytes = 8,
		.count = 32,
		.window = 1,
		.batches = 4,
		.slices = 200 },
	{ .name = "send_8",
		.form = FORM_PING,
		.each = true,
		.bytes = 8,
		.count = 32,
		.window = 1,
		.batches = 4,
		.slices = 200 },
	{ .name = "rate_8",
		.form = FORM_STREAM,
		.bytes = 8,
		.count = 1024,
		.window = MESSAGE_WINDOW_MAX,
		.batches = 2,
		.slices = 100 },
	PING(4096, 16, 200),
	PING(65536, 8, 100),
	PING(1048576, 4, 60),
	{ .name = "stream_1048576",
		.form = FORM_STREAM,
		.fresh = true,
		.bytes = MIB,
		.count = MESSAGE_POOL_BYTES / MIB,
		.window = MESSAGE_POOL_BYTES / MIB,
		.batches = 2,
		.slices = 40 },
};

void kinds_list(struct kind kinds[KIND_COUNT], bool quick)
{
	memcpy(kinds, kinds_all, sizeof(kinds_all));
	for (int i = 0; quick && i < KIND_COUNT; i++)
		kinds[i].slices /= QUICKER;
}
