/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of a platform of the device as a table without gaps. */
#ifndef CAY_TRACE_PLATFORM_H
#define CAY_TRACE_PLATFORM_H

#include "device/counting.h"
#include "device/device.h"

struct platform {
	const char *name;
	__typeof__(&device_send) send;
	__typeof__(&device_send_fast_tagged) send_fast;
	__typeof__(&device_send_eager_tagged) send_eager;
	__typeof__(&device_send_reference) send_reference;
	__typeof__(&device_send_copied) send_copied;
	__typeof__(&device_access) access;
	__typeof__(&device_put) put;
	__typeof__(&device_get) get;
	__typeof__(&device_fetch_add) fetch_add;
	__typeof__(&device_compare_swap) compare_swap;
	__typeof__(&device_complete) complete;
	__typeof__(&device_peek) peek;
	__typeof__(&device_return_entries) return_entries;
	__typeof__(&device_reference_begin) reference_begin;
	__typeof__(&device_reference_done) reference_done;
	__typeof__(&device_reference_pending) reference_pending;
	__typeof__(&device_reference_free) reference_free;
	__typeof__(&device_reference_reclaim) reference_reclaim;
	__typeof__(&device_completions_returned) completions_returned;
};

extern const struct platform platform_real, platform_counting;

#endif
