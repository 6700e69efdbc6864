/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of topology classes; see class.h. */
#include "network/topology/class.h"

#include <stddef.h>
#include <string.h>

#define CLASS_POINTER(name, text) &topology_class_##name,
static const struct topology_class *const classes[] = { TOPOLOGY_CLASSES(
	CLASS_POINTER) NULL };

#define CLASS_NAME(name, text) text,
const char *const topology_names[] = { TOPOLOGY_CLASSES(CLASS_NAME) NULL };

const struct topology_class *topology_class_find(const char *name)
{
	for (unsigned i = 0; classes[i]; i++)
		if (strcmp(classes[i]->name, name) == 0)
			return classes[i];
	return NULL;
}
