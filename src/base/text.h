/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoding of untrusted UTF-8. */
#ifndef CAY_BASE_TEXT_H
#define CAY_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length that a first byte announces, or 0 if invalid. */
static inline size_t utf8_announced(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >> 5 == 0x6)
		return 2;
	if (first >> 4 == 0xe)
		return 3;
	return first >> 3 == 0x1e ? 4 : 0;
}

/* Decodes one character. Returns its length, or 0 if it is invalid. */
static inline size_t utf8_next(const unsigned char *s, uint32_t *code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = utf8_announced(s[0]);
	*code = bytes <= 1 ? s[0] : s[0] & 0x7fu >> bytes;
	for (size_t i = 1; i < bytes; i++) {
		if (s[i] >> 6 != 2)
			return 0; /* includes the terminating null byte */
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < smallest[bytes] || *code > 0x10ffff || *code >> 11 == 0x1b)
		return 0;
	return bytes;
}

#endif
