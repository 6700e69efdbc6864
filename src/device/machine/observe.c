/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of units, stages and events; see observe.h. */
#include "device/machine/observe.h"

#include "base/bits.h"

const char *machine_unit_name(enum unit_kind kind)
{
	static const char *const names[UNIT_KINDS] = { "requester", "completer",
		"responder", "ULTRA requester", "ULTRA completer" };
	return kind < UNIT_KINDS ? names[kind] : "?";
}

/* As in request_unit.c, target_unit.c and the units of ULTRA. */
const char *machine_stage_name(enum unit_kind kind, uint32_t stage)
{
	static const char *const requester[] = { "context load",
		"routing fetch", "command frame", "origin window",
		"payload and transmit", "context write-back" };
	static const char *const target[] = { "context load",
		"window check or claim", "payload", "notification",
		"acknowledge", "context write-back" };
	static const char *const responder[] = { "context load", "window check",
		"fetch and response", "notification", "acknowledge",
		"context write-back" };
	static const char *const ultra[UNIT_KINDS][4] = {
		[UNIT_ULTRA_REQUESTER] = { "context load", "route and frame",
			"payload and transmit",
			"notification and context write-back" },
		[UNIT_ULTRA_COMPLETER] = { "context load and checks",
			"payload and tag", "status",
			"interrupt and context write-back" },
	};
	if (kind >= UNIT_HOST_KINDS && kind < UNIT_KINDS)
		return stage < ARRAY_COUNT(ultra[kind]) ? ultra[kind][stage]
							: "?";
	if (stage >= ARRAY_COUNT(target))
		return "?";
	return kind == UNIT_REQUESTER	? requester[stage]
	       : kind == UNIT_COMPLETER ? target[stage]
					: responder[stage];
}

const char *machine_event_name(enum machine_event event)
{
	static const char *const names[MACHINE_EVENTS] = { "accepted",
		"refused", "fetched", "held", "issued", "stage", "transmitted",
		"arrived", "dispatched", "parked", "notified", "answered",
		"retired", "discarded", "interrupted", "returned" };
	return event < MACHINE_EVENTS ? names[event] : "?";
}
