/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared memory of an ULTRA path: two memfds, which the node creates and
 * the two processes map.
 *
 *	slices object	origin page | slices	the origin writes, the target
 *						maps it read-only
 *	return page	the target and the node write, the origin maps it
 *			read-only
 *
 * Neither side reads back what it writes, and neither trusts what it reads: the
 * worst that one of them can do is to end or garble this path.
 */
#ifndef CAY_CONTRACT_ULTRA_H
#define CAY_CONTRACT_ULTRA_H

#include <stdatomic.h>
#include <stdint.h>

#include "cay/contract.h"

#define ULTRA_MAGIC 0x6172746c75796163ull /* "cayultra" */
#define ULTRA_MAJOR 1
#define ULTRA_MINOR 0

#define ULTRA_PAGE	      4096u
#define ULTRA_SLICE_LOG2_MIN  6
#define ULTRA_SLICE_LOG2_MAX  12
#define ULTRA_SLICES_LOG2_MIN 4
#define ULTRA_BYTES_LOG2      15 /* of all slices, unless that is too few */

/* A UPID names one end of a path; 0 is none. */
#define ULTRA_UPIDS 65536u

/* Written by the node: by accept, and the origin's part before ENABLED. */
struct ultra_config {
	uint64_t magic;
	uint32_t major, minor;
	uint8_t slice_log2, slices_log2;
	uint16_t target_upid;
	uint16_t origin_upid;
	uint16_t origin_vpid;
	uint32_t local; /* 1: origin and target are in one realm */
	uint32_t reserved1;
	uint64_t reserved[4];
};

enum ultra_page_flag {
	ULTRA_ENABLED = 1 << 0,	    /* set by the node */
	ULTRA_ORIGIN_GONE = 1 << 1, /* by the node: closed or exited */
	ULTRA_TARGET_GONE = 1 << 2, /* the same */
	ULTRA_ASLEEP = 1 << 3,	    /* by the target: wake it */
};

/* The target counts its sleeps in bits 63:32: one wake-up for each suffices. */
#define ULTRA_SLEEPS_SHIFT 32

struct ultra_return_page {
	struct ultra_config config;
	uint8_t padding1[64];
	_Atomic uint64_t flags; /* enum ultra_page_flag */
	uint8_t padding2[120];
	_Atomic uint64_t
		position; /* messages before it are taken; the target */
	uint8_t padding3[ULTRA_PAGE - 264];
};

/* The first page of the slices object. */
struct ultra_origin_page {
	/* 0, or the number of the sleep: wake the origin after a return. */
	_Atomic uint64_t asleep;
	uint8_t padding[ULTRA_PAGE - 8];
};

CAY_STATIC_ASSERT(sizeof(struct ultra_config) == CAY_LINE, "config");
CAY_STATIC_ASSERT(sizeof(struct ultra_return_page) == ULTRA_PAGE, "page");
CAY_STATIC_ASSERT(sizeof(struct ultra_origin_page) == ULTRA_PAGE, "page");
CAY_STATIC_ASSERT(CAY_ULTRA_SLICE_MIN == 1 << ULTRA_SLICE_LOG2_MIN &&
			  CAY_ULTRA_SLICE_MAX == 1 << ULTRA_SLICE_LOG2_MAX,
	"sizes of slices");

/* Returns the log2 of the number of slices of this size. */
static inline uint8_t ultra_slices_log2(unsigned slice_log2)
{
	return (uint8_t)(ULTRA_BYTES_LOG2 - slice_log2 > ULTRA_SLICES_LOG2_MIN
				 ? ULTRA_BYTES_LOG2 - slice_log2
				 : ULTRA_SLICES_LOG2_MIN);
}

/* Returns the bytes of the slices object. */
static inline uint64_t ultra_slices_bytes(
	unsigned slice_log2, unsigned slices_log2)
{
	return ULTRA_PAGE + (1ull << (slice_log2 + slices_log2));
}

#endif
