/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry point of the plug-in. libfabric calls it once, before anything
 * else.
 */
#include "provider/provider.h"

#include "provider/fabric/domain.h"
#include "provider/fabric/fabric.h"
#include "provider/fabric/hints.h"

FI_EXT_INI
{
	provider.getinfo = info_get;
	provider.fabric = fabric_open;
	hints_set_own(&fabric_ops, &domain_ops);
	settings_read();
	return &provider;
}
