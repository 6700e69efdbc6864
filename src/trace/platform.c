/* SPDX-License-Identifier: BSD-2-Clause */
/* See platform.h. */
#include "trace/platform.h"

const struct platform platform_real = { .name = "real",
	.send = device_send,
	.send_fast = device_send_fast,
	.send_reference = device_send_reference,
	.access = device_access,
	.put = device_put,
	.get = device_get,
	.atomic = device_atomic,
	.complete = device_complete,
	.peek = device_peek,
	.return_entries = device_return_entries,
	.reference_begin = device_reference_begin,
	.reference_done = device_reference_done,
	.reference_pending = device_reference_pending,
	.reference_free = device_reference_free,
	.completions_returned = device_completions_returned };

const struct platform platform_counting = { .name = "counting",
	.send = counting_send,
	.send_fast = counting_send_fast,
	.send_reference = counting_send_reference,
	.access = counting_access,
	.put = counting_put,
	.get = counting_get,
	.atomic = counting_atomic,
	.complete = counting_complete,
	.peek = counting_peek,
	.return_entries = counting_return_entries,
	.reference_begin = counting_reference_begin,
	.reference_done = counting_reference_done,
	.reference_pending = counting_reference_pending,
	.reference_free = counting_reference_free,
	.completions_returned = counting_completions_returned };
