/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of a machine: everything that the published designs leave
 * open or make configurable. A value that no published design gives is marked
 * as assumed in machine_parameters[], and printed so.
 */
#ifndef CAY_DEVICE_MACHINE_CONFIG_H
#define CAY_DEVICE_MACHINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How work requests leave the issue queue. */
enum machine_policy {
	MACHINE_SINGLE_ISSUE, /* the oldest, one per cycle */
	MACHINE_LOOK_AHEAD,   /* the oldest that can, of the first `window` */
	MACHINE_MULTI_ISSUE,  /* up to `window` per cycle, of the first */
};

struct machine_config {
	uint32_t csb_entries;	   /* conditional store buffer */
	uint32_t csb_port_entries; /* of one port */
	uint32_t issue_entries;	   /* issue queue */
	uint32_t policy;	   /* enum machine_policy */
	uint32_t window;	   /* of look-ahead and multi-issue */
	uint32_t wait_entries;	   /* wait queue of each unit; 0: none */
	uint32_t requesters, completers, responders;
	uint32_t key_type;	 /* 1: the ordering key contains the command */
	uint32_t requests;	 /* in flight */
	uint32_t port_requests;	 /* in flight, of one port */
	uint32_t packets;	 /* arrived and not yet executed */
	uint32_t park_cycles;	 /* after which a full port may be refused */
	uint32_t assemblies;	 /* segmented transfers that arrive */
	uint32_t holders;	 /* ports of other nodes that hold locks */
	uint32_t notify_entries; /* queue of the notification unit */
	uint32_t ack_entries;	 /* queue of the acknowledge unit */
	uint32_t ultra_ports;	 /* of the ULTRA requester, of the completer */
	uint32_t ultra_lines;	 /* packet queue of the ULTRA requester */
	uint32_t ultra_packets;	 /* ULTRA messages, arrived and not stored */
	uint32_t mtu;		 /* bytes of payload in a packet */
	uint32_t encode_local;	 /* 1: local transfers are encoded as well */
	uint32_t service_ns;	 /* of one work request, for the wait hint */
};

/* "single", "look-ahead", "multi", each also with "-wait": see config.c. */
struct machine_preset {
	const char *name, *what;
	struct machine_config config;
};
extern const struct machine_preset machine_presets[];
extern const unsigned machine_preset_count;

/* Returns a preset, or NULL. */
const struct machine_config *machine_preset(const char *name);

struct machine_parameter {
	const char *name;
	size_t offset; /* in struct machine_config, of a uint32_t */
	uint32_t min, max;
	bool assumed; /* no published design gives the value */
	const char *what;
};
extern const struct machine_parameter machine_parameters[];
extern const unsigned machine_parameter_count;

static inline uint32_t machine_parameter_value(
	const struct machine_config *c, const struct machine_parameter *p)
{
	return *(const uint32_t *)(const void *)((const char *)c + p->offset);
}

/* Returns NULL, or the name of the first parameter that is out of range. */
const char *machine_config_invalid(const struct machine_config *);

#endif
