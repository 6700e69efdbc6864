/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the hints of an application against what the provider supports. */
#ifndef CAY_PROVIDER_HINTS_H
#define CAY_PROVIDER_HINTS_H

#include "provider/provider.h"

/*
 * Sets the tables of calls by which fabrics and domains in hints are recognized
 * as those of this provider. Called once, by the entry point.
 */
void hints_set_own(const struct fi_ops_fabric *, const struct fi_ops_domain *);

/* Logs the first attribute that `have` does not satisfy. */
bool hints_fit(uint32_t version, const struct fi_info *asked,
	const struct fi_info *have);
/*
 * Selects the registration mode for an application that supports those asked:
 * FI_MR_VIRT_ADDR and FI_MR_PROV_KEY as far as it offered them; the provider
 * requires none. Returns false for an invalid combination.
 */
bool hints_mr_mode(uint32_t version, int asked, int *granted);

#endif
