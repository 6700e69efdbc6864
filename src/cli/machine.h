/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For `cay explain` and `cay trace`: the options that configure a machine, and
 * the accesses that the counting platform has counted.
 */
#ifndef CAY_CLI_MACHINE_H
#define CAY_CLI_MACHINE_H

#include "base/json.h"
#include "cli/options.h"
#include "device/counting.h"
#include "device/machine/config.h"

#define MACHINE_PRESETS                                               \
	WORDS("multi-wait", "multi", "look-ahead-wait", "look-ahead", \
		"single-wait", "single")
#define MACHINE_SET_EXPECTED "a parameter and its value, such as requesters=4"

/* Values of --preset and --set: true if the text is one. */
bool machine_preset_parse(struct machine_config *, const char *text);
bool machine_set_parse(struct machine_config *, const char *text);

/* Accesses by kind, those that occurred. */
void counted_print(const struct counting *);
void counted_json(struct json *, const char *key, const struct counting *);

#endif
