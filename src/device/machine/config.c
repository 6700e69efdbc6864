/* SPDX-License-Identifier: BSD-2-Clause */
/* Presets and parameters of a machine; see config.h. */
#include "device/machine/config.h"

#include <string.h>

#include "base/bits.h"

/*
 * Two requesters are those of the published example of the scoreboard. The
 * favoured design is multi-issue with wait queues.
 */
#define ASSUMED_SIZES                                                     \
	.csb_entries = 64, .csb_port_entries = 16, .issue_entries = 16,   \
	.requesters = 2, .completers = 2, .responders = 2, .key_type = 0, \
	.requests = 64, .port_requests = 16, .packets = 64,               \
	.park_cycles = 10000, .assemblies = 32, .holders = 64,            \
	.notify_entries = 16, .ack_entries = 16, .ultra_ports = 64,       \
	.ultra_lines = 1024, .ultra_packets = 16, .mtu = 4096,            \
	.encode_local = 0, .service_ns = 500

const struct machine_preset machine_presets[] = {
	{ "multi-wait", "multi-issue with wait queues",
		{ ASSUMED_SIZES, .policy = MACHINE_MULTI_ISSUE, .window = 4,
			.wait_entries = 4 } },
	{ "multi", "multi-issue",
		{ ASSUMED_SIZES, .policy = MACHINE_MULTI_ISSUE, .window = 4 } },
	{ "look-ahead-wait", "look-ahead with wait queues",
		{ ASSUMED_SIZES, .policy = MACHINE_LOOK_AHEAD, .window = 4,
			.wait_entries = 4 } },
	{ "look-ahead", "look-ahead",
		{ ASSUMED_SIZES, .policy = MACHINE_LOOK_AHEAD, .window = 4 } },
	{ "single-wait", "single issue with wait queues",
		{ ASSUMED_SIZES, .policy = MACHINE_SINGLE_ISSUE, .window = 1,
			.wait_entries = 4 } },
	{ "single", "single issue",
		{ ASSUMED_SIZES, .policy = MACHINE_SINGLE_ISSUE,
			.window = 1 } },
};
const unsigned machine_preset_count = ARRAY_COUNT(machine_presets);

const struct machine_config *machine_preset(const char *name)
{
	for (unsigned i = 0; i < machine_preset_count; i++)
		if (strcmp(machine_presets[i].name, name) == 0)
			return &machine_presets[i].config;
	return NULL;
}

#define AT(member) offsetof(struct machine_config, member)

const struct machine_parameter machine_parameters[] = {
	{ "csb-entries", AT(csb_entries), 1, 65536, true,
		"entries of the conditional store buffer" },
	{ "csb-port-entries", AT(csb_port_entries), 1, 65536, true,
		"of them, entries of one port" },
	{ "issue-entries", AT(issue_entries), 1, 4096, true,
		"entries of the issue queue" },
	{ "policy", AT(policy), 0, MACHINE_MULTI_ISSUE, false,
		"0 single issue, 1 look-ahead, 2 multi-issue" },
	{ "window", AT(window), 1, 64, true,
		"depth of look-ahead, or width of multi-issue" },
	{ "wait-entries", AT(wait_entries), 0, 64, true,
		"wait queue in front of each unit; 0: none" },
	{ "requesters", AT(requesters), 1, 16, false, "requester units" },
	{ "completers", AT(completers), 1, 16, true, "completer units" },
	{ "responders", AT(responders), 1, 16, true, "responder units" },
	{ "key-type", AT(key_type), 0, 1, false,
		"1: the ordering key contains the command" },
	{ "requests", AT(requests), 1, 65536, true, "requests in flight" },
	{ "port-requests", AT(port_requests), 1, 65536, true,
		"of them, of one port" },
	{ "packets", AT(packets), 4, 65536, true,
		"packets that have arrived and are not executed" },
	{ "park-cycles", AT(park_cycles), 1, UINT32_MAX, true,
		"after which packets for a full port are refused, if others "
		"cannot arrive" },
	{ "assemblies", AT(assemblies), 1, 65536, true,
		"segmented transfers that arrive at once" },
	{ "holders", AT(holders), 1, 65535, true,
		"ports of other nodes that hold locks" },
	{ "notify-entries", AT(notify_entries), 1, 4096, true,
		"queue of the notification unit" },
	{ "ack-entries", AT(ack_entries), 1, 4096, true,
		"queue of the acknowledge unit" },
	{ "ultra-ports", AT(ultra_ports), 1, 2048, true,
		"ports of the ULTRA requester, and of the ULTRA completer" },
	{ "ultra-lines", AT(ultra_lines), 1, 65536, true,
		"packet queue of the ULTRA requester, in lines of 64 bytes" },
	{ "ultra-packets", AT(ultra_packets), 1, 65536, true,
		"ULTRA messages that have arrived and are not stored" },
	{ "mtu", AT(mtu), 64, 65472, true, "bytes of payload in a packet" },
	{ "encode-local", AT(encode_local), 0, 1, true,
		"1: local transfers are encoded as bits as well" },
	{ "service-ns", AT(service_ns), 1, 1000000, true,
		"time of one work request, for the wait hint" },
};
const unsigned machine_parameter_count = ARRAY_COUNT(machine_parameters);

const char *machine_config_invalid(const struct machine_config *c)
{
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		const struct machine_parameter *p = &machine_parameters[i];
		uint32_t value = machine_parameter_value(c, p);
		if (value < p->min || value > p->max)
			return p->name;
	}
	return c->mtu % 64 ? "mtu" : NULL;
}
