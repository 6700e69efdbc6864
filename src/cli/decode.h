/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes VCIs, NQEs and packets into named fields. */
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

/*
 * Decodes an encoded packet, with the first words of its payload. Its words are
 * counted from its beginning. Returns the number of fields, at most
 * DECODE_PACKET_MAX, or 0 if the packet is not valid.
 */
#define DECODE_PACKET_MAX     96
#define DECODE_PACKET_PAYLOAD 4 /* words */
size_t decode_packet(
	const void *bytes, size_t size, uint32_t mtu, struct decode_field *);

#endif
