/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the provider has what the hints of an application ask for. */
#ifndef CAY_PROVIDER_HINTS_H
#define CAY_PROVIDER_HINTS_H

#include "provider/provider.h"

/* `have` is what there is at most. Says in the log what was lacking. */
bool hints_fit(uint32_t version, const struct fi_info *asked,
	const struct fi_info *have);
/*
 * The registration modes for an application that can deal with those asked:
 * what it offered of addresses and keys of ours, so that it gets what it is
 * most used to; no other is needed. false: such a combination there is not.
 */
bool hints_mr_mode(uint32_t version, int asked, int *granted);

#endif
