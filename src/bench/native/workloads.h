/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads of `cay bench`, by file. */
#ifndef CAY_BENCH_NATIVE_WORKLOADS_H
#define CAY_BENCH_NATIVE_WORKLOADS_H

#include "bench/harness/workload.h"

/* Memory that the ranks share in each workload. */
#define WORKLOAD_SHARED_BYTES (16u << 20)

/*
 * Notification entries of every queue, as log2: one page. The default of a
 * port is larger, for bursts; each further page makes messages slower, those
 * of the baseline as well as Cay's.
 */
#define WORKLOAD_NQ_LOG2 6

/* baseline.c */
extern const struct workload baseline_fast_workload;
extern const struct workload baseline_send_workload;
extern const struct workload baseline_reference_workload;

/* endpoint.c */
extern const struct workload cay_message_workload;
extern const struct workload cay_copied_workload;
extern const struct workload cay_malloc_workload;
extern const struct workload cay_fetch_workload;
extern const struct workload cay_alloc_workload;

/* ultra.c */
extern const struct workload baseline_line_workload;
extern const struct workload baseline_line_stream_workload;
extern const struct workload cay_ultra_workload;
extern const struct workload cay_ultra_stream_workload;

/* rma_baseline.c */
extern const struct workload baseline_put_workload;
extern const struct workload baseline_put_flush_workload;
extern const struct workload baseline_fetch_add_workload;
extern const struct workload baseline_compare_swap_workload;
extern const struct workload baseline_get_workload;

/* rma.c */
extern const struct workload cay_put_workload;
extern const struct workload cay_put_flush_workload;
extern const struct workload cay_put_masked_workload;
extern const struct workload cay_fetch_add_workload;
extern const struct workload cay_fetch_add_into_workload;
extern const struct workload cay_compare_swap_workload;
extern const struct workload cay_get_flush_workload;
extern const struct workload cay_get_event_workload;
extern const struct workload cay_emulated_workload;

/* bulk.c */
extern const struct workload memcpy_put_workload;
extern const struct workload memcpy_get_workload;
extern const struct workload cay_put_alloc_workload;
extern const struct workload cay_put_malloc_workload;
extern const struct workload cay_get_alloc_workload;
extern const struct workload cay_get_malloc_workload;

/* posted.c */
extern const struct workload copy_workload;
extern const struct workload cay_posted_workload;

/* rate.c */
extern const struct workload baseline_rate_workload;
extern const struct workload cay_rate_workload;
extern const struct workload cay_burst_workload;

/* kernel.c */
extern const struct workload pipe_workload;
extern const struct workload pipe_stream_workload;
extern const struct workload socket_workload;
extern const struct workload socket_stream_workload;

/* spsc.c */
extern const struct workload spsc_workload;
extern const struct workload spsc_stream_workload;

/* ring.c */
extern const struct workload ring_futex_workload;
extern const struct workload ring_cay_workload;

/* sleep.c */
extern const struct workload sleep_futex_workload;
extern const struct workload sleep_eventfd_workload;
extern const struct workload sleep_cay_workload;

#endif
