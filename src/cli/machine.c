/* SPDX-License-Identifier: BSD-2-Clause */
/* See machine.h. */
#include "cli/machine.h"

#include <string.h>

bool machine_preset_parse(struct machine_config *to, const char *text)
{
	const struct machine_config *preset = machine_preset(text);
	if (preset)
		*to = *preset;
	return preset;
}

bool machine_set_parse(struct machine_config *to, const char *text)
{
	const char *equals = strchr(text, '=');
	uint64_t value;
	if (!equals || !option_number(equals + 1, UINT32_MAX, &value))
		return false;
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		const struct machine_parameter *p = &machine_parameters[i];
		if (strncmp(p->name, text, (size_t)(equals - text)) != 0 ||
			p->name[equals - text])
			continue;
		struct machine_config changed = *to;
		*(uint32_t *)(void *)((char *)&changed + p->offset) =
			(uint32_t)value;
		if (machine_config_invalid(&changed))
			return false;
		*to = changed;
		return true;
	}
	return false;
}
