/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the steps. */
#include "device/step.h"

static const char *const names[STEP_COUNT] = {
	[STEP_NONE] = "none",
	[STEP_CONTEXT] = "context load",
	[STEP_DESCRIPTOR] = "descriptor load",
	[STEP_ROUTE] = "route fetch",
	[STEP_STAGED] = "staging store",
	[STEP_REFERENCE] = "reference ready",
	[STEP_ACCESS] = "record: access",
	[STEP_WINDOW] = "window check",
	[STEP_POSTED] = "record: posted receive",
	[STEP_TRY] = "record: try",
	[STEP_CLAIMED] = "claim",
	[STEP_OWN] = "record: own",
	[STEP_PAYLOAD] = "payload store",
	[STEP_STORED] = "memory access",
	[STEP_FILLED] = "posted receive filled",
	[STEP_ENTRY] = "notification generation",
	[STEP_PUBLISH] = "notification store",
	[STEP_SENT] = "reference sent",
	[STEP_WAKE] = "wake the target",
	[STEP_IDLE] = "record: idle",
	[STEP_TAKE] = "notification polled",
	[STEP_DONE] = "reference done",
	[STEP_RETURN] = "entries returned",
	[STEP_ROOM] = "wake the senders",
	[STEP_SLEEP] = "sleep announced",
	[STEP_RECLAIM] = "reference reclaimed",
};

const char *device_step_name(enum device_step step)
{
	return step < STEP_COUNT && names[step] ? names[step] : "unknown";
}
