/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that configure a machine, for `cay explain` and `cay trace`. */
#ifndef CAY_CLI_MACHINE_H
#define CAY_CLI_MACHINE_H

#include "cli/options.h"
#include "device/machine/config.h"

#define MACHINE_PRESETS                                               \
	WORDS("multi-wait", "multi", "look-ahead-wait", "look-ahead", \
		"single-wait", "single")
#define MACHINE_SET_EXPECTED "a parameter and its value, such as requesters=4"

/* Values of --preset and --set: true if the text is one. */
bool machine_preset_parse(struct machine_config *, const char *text);
bool machine_set_parse(struct machine_config *, const char *text);

#endif
