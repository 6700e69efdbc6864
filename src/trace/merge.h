/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges the files that the recorder wrote in several processes into one trace,
 * ordered by time and, within a process, as written. VPIDs are replaced by port
 * numbers in the order in which ports appear, capabilities by numbers in the
 * order in which windows got them. Single-threaded.
 */
#ifndef CAY_TRACE_MERGE_H
#define CAY_TRACE_MERGE_H

#include "trace/trace.h"

struct merge_report {
	uint32_t unrecorded; /* target ports without a recorded process */
};

/*
 * `parts` come from trace_parse_part(). Returns 0, -ENODATA if there are no
 * instructions, -E2BIG if there are too many ports, -EINVAL with the error set,
 * or -ENOMEM.
 */
int trace_merge(const struct trace *parts, uint32_t count, struct trace *,
	struct merge_report *, struct trace_error *);

#endif
