/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program bench-native: sessions of Cay's own API, of the sketches, and of
 * what needs no library.
 */
#include <stdlib.h>

#include "bench/harness/session.h"
#include "bench/native/workloads.h"
#include "cay/contract.h"
#include "cay/error.h"
#include "cay/message.h"
#include "cay/ultra.h"
#include "cay/version.h"

static const struct workload *cay_workload(enum session_kind kind, size_t bytes)
{
	switch (kind) {
	case SESSION_LATENCY:
		return bytes <= CAY_EAGER_MAX ? &cay_message_workload
					      : &cay_copied_workload;
	case SESSION_RATE:
		return &cay_rate_workload;
	case SESSION_PUT_SEEN:
		return &cay_put_workload;
	case SESSION_PUT_FLUSH:
		return &cay_put_flush_workload;
	case SESSION_GET:
		return &cay_get_flush_workload;
	case SESSION_FETCH_ADD:
		return &cay_fetch_add_into_workload;
	case SESSION_RING:
		return &ring_cay_workload;
	default:
		return NULL;
	}
}

static const struct workload *borrow_workload(
	enum session_kind kind, size_t bytes)
{
	return kind == SESSION_LATENCY && bytes > CAY_EAGER_MAX
		       ? &cay_malloc_workload
		       : NULL;
}

static const struct workload *fetch_workload(
	enum session_kind kind, size_t bytes)
{
	return kind == SESSION_LATENCY && bytes > CAY_EAGER_MAX
		       ? &cay_fetch_workload
		       : NULL;
}

static const struct workload *alloc_workload(
	enum session_kind kind, size_t bytes)
{
	return kind == SESSION_LATENCY && bytes > CAY_EAGER_MAX
		       ? &cay_alloc_workload
		       : NULL;
}

static const struct workload *sketch_workload(
	enum session_kind kind, size_t bytes)
{
	switch (kind) {
	case SESSION_LATENCY:
		return bytes <= CAY_FAST_SEND_BYTES ? &baseline_fast_workload
		       : bytes <= CAY_EAGER_MAX	    ? &baseline_send_workload
						: &baseline_reference_workload;
	case SESSION_RATE:
		return &baseline_rate_workload;
	case SESSION_PUT_SEEN:
		return &baseline_put_workload;
	case SESSION_PUT_FLUSH:
		return &baseline_put_flush_workload;
	case SESSION_GET:
		return &baseline_get_workload;
	case SESSION_FETCH_ADD:
		return &baseline_fetch_add_workload;
	case SESSION_RING:
		return &ring_futex_workload;
	default:
		return NULL;
	}
}

static const struct workload *burst_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return kind == SESSION_RATE ? &cay_burst_workload : NULL;
}

/* Slices have at most 4096 bytes, with a header of 16. */
#define ULTRA_BYTES_MAX 4080u

static const struct workload *ultra_of(enum session_kind kind, size_t bytes)
{
	if (bytes > ULTRA_BYTES_MAX)
		return NULL;
	return kind == SESSION_LATENCY ? &cay_ultra_workload
	       : kind == SESSION_RATE  ? &cay_ultra_stream_workload
				       : NULL;
}

static const struct workload *line_of(enum session_kind kind, size_t bytes)
{
	if (bytes > CAY_ULTRA_LINE_MAX)
		return NULL;
	return kind == SESSION_LATENCY ? &baseline_line_workload
	       : kind == SESSION_RATE  ? &baseline_line_stream_workload
				       : NULL;
}

static const struct workload *spsc_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return kind == SESSION_LATENCY ? &spsc_workload
	       : kind == SESSION_RATE  ? &spsc_stream_workload
				       : NULL;
}

static const struct workload *pipe_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return kind == SESSION_LATENCY || kind == SESSION_RING ? &pipe_workload
	       : kind == SESSION_RATE ? &pipe_stream_workload
				      : NULL;
}

static const struct workload *socket_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return kind == SESSION_LATENCY || kind == SESSION_RING
		       ? &socket_workload
	       : kind == SESSION_RATE ? &socket_stream_workload
				      : NULL;
}

static const struct workload *handover_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return kind == SESSION_LATENCY ? &handover_workload : NULL;
}

#define CAY_PEER(name_, workload_)                                   \
	{                                                            \
		.name = name_, .version = "Cay " CAY_VERSION_STRING, \
		.shared_bytes = WORKLOAD_SHARED_BYTES,               \
		.error_text = cay_strerror, .workload = workload_    \
	}
#define OTHER_PEER(name_, workload_)                                  \
	{                                                             \
		.name = name_, .shared_bytes = WORKLOAD_SHARED_BYTES, \
		.workload = workload_                                 \
	}

int main(int argc, char **argv)
{
	static const struct session_peer peers[] = {
		CAY_PEER("cay", cay_workload),
		CAY_PEER("borrow", borrow_workload),
		CAY_PEER("fetch", fetch_workload),
		CAY_PEER("alloc", alloc_workload),
		CAY_PEER("burst", burst_of),
		CAY_PEER("ultra", ultra_of),
		OTHER_PEER("sketch", sketch_workload),
		OTHER_PEER("line", line_of),
		OTHER_PEER("ring", spsc_of),
		OTHER_PEER("pipe", pipe_of),
		OTHER_PEER("socket", socket_of),
		OTHER_PEER("handover", handover_of),
	};

	return session_main(argc, argv, peers, ARRAY_COUNT(peers));
}
