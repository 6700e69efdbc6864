/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32C (Castagnoli), as in iSCSI: polynomial 0x1edc6f41, bits reflected,
 * initial value and final XOR 0xffffffff.
 */
#ifndef CAY_BASE_CRC32C_H
#define CAY_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the CRC of data. `crc` is that of the data before it, 0 for none. Any
 * thread.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
