/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay explain --machine` executes work requests on machines, and shows the
 * events of the units by cycle. The origin is on node 1, the target on node 2;
 * or both are on node 1.
 */
#ifndef CAY_CLI_EXPLAIN_JOURNEY_H
#define CAY_CLI_EXPLAIN_JOURNEY_H

#include "cli/explain/explain.h"
#include "contract/packet.h"
#include "device/machine/machine.h"

#define JOURNEY_REQUESTS_MAX 3

struct journey_options {
	struct machine_config config;
	const char *preset;
	bool local;   /* both ports on one node */
	bool packets; /* show packets field by field */
};

struct journey_request {
	uint32_t from, to; /* ports */
	uint64_t bytes;
	struct cay_vci vci;
};

struct journey_event {
	struct machine_note note; /* `packet` and `bytes` are not valid */
	uint32_t request;	  /* from 1 on; 0: none */
	uint32_t cycles;	  /* HELD: how many */
	struct packet_header header;
	unsigned char *bytes; /* of an encoded packet, or NULL */
};

struct journey {
	const char *name;
	const struct journey_options *options;
	uint32_t requests;
	struct journey_request request[JOURNEY_REQUESTS_MAX];
	uint32_t events, events_max;
	struct journey_event *event;
	bool failed; /* memory was exhausted */
	uint64_t cycles, packets, bytes;
	struct counting counted;
};

/* What is executed instead of an instruction. */
enum journey_scenario {
	JOURNEY_ORDER,
	JOURNEY_ULTRA,
	JOURNEY_SCENARIOS,
};
extern const char *const journey_scenarios[JOURNEY_SCENARIOS];

/*
 * Executes an instruction, or if it is NULL a scenario. Fills the journey,
 * which the caller frees. Returns 0 or -errno.
 */
int journey_run(const struct explain_instruction *, enum journey_scenario,
	uint64_t bytes, const struct journey_options *, struct journey *);
void journey_free(struct journey *);

/* ---- journey_output.c ---- */

void journey_print(const struct journey *);
void journey_json(struct json *, const struct journey *);

/* The configuration; what no published design gives is marked as assumed. */
void journey_config_print(const struct journey_options *);
void journey_config_json(struct json *, const struct journey_options *);

#endif
