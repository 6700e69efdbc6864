/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes VCIs and NQEs into named fields. */
#ifndef CAY_CLI_DECODE_H
#define CAY_CLI_DECODE_H

#include <stddef.h>

#include "cay/contract.h"

struct decode_field {
	unsigned word, high, low; /* bits high to low of the word */
	const char *name;
	uint64_t value;
	char meaning[64]; /* of a code or flags; may be empty */
};

#define DECODE_FIELDS_MAX 16

/* Return the number of fields, at most DECODE_FIELDS_MAX. */
size_t decode_vci(const struct cay_vci *, struct decode_field *);
size_t decode_nqe(const struct cay_nqe *, struct decode_field *);

#endif
