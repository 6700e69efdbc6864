/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one trace of what the recorder has written in several processes: by
 * time, and in each process in the order in which it was written. VPIDs become
 * port numbers in the order in which ports appear, capabilities become numbers
 * in the order in which windows got them. Private memory of one thread.
 */
#ifndef CAY_TRACE_MERGE_H
#define CAY_TRACE_MERGE_H

#include "trace/trace.h"

struct merge_report {
	uint32_t unknown; /* ports that were spoken to, but not recorded */
};

/*
 * `parts` are of trace_parse_part(). 0, -ENODATA (nothing was recorded),
 * -E2BIG (too many ports), -EINVAL (the complaint says why), -ENOMEM.
 */
int merge(const struct trace *parts, uint32_t count, struct trace *,
	struct merge_report *, struct trace_complaint *);

#endif
