/* SPDX-License-Identifier: BSD-2-Clause */
/* Builders of work requests and checks of notifications, for the raw tests. */
#ifndef CAY_TESTS_PORT_VCI_H
#define CAY_TESTS_PORT_VCI_H

#include <string.h>

#include "harness.h"

/* Words 0 to 2; `command` with its A and LLL bits, `flags` of a VCI. */
static inline struct cay_vci vci_to(const struct cay_peer *peer,
	unsigned command, unsigned flags, uint64_t tag)
{
	struct cay_vci v = { { 0 } };
	v.word[CAY_VCI_WORD_COMMAND] =
		command | (uint64_t)flags << CAY_VCI_FLAGS_SHIFT |
		CAY_VCI_ROUTE_LOCAL |
		(uint64_t)cay_peer_route(peer) << CAY_VCI_ROUTING_OFFSET_SHIFT;
	v.word[CAY_VCI_WORD_TARGET] = cay_peer_addr(peer).vpid;
	v.word[CAY_VCI_WORD_TAG] = tag;
	return v;
}

/* FAST_SEND with inline data; LLL follows from the length. */
static inline struct cay_vci vci_fast(const struct cay_peer *peer,
	unsigned command_bits, unsigned flags, uint64_t tag, size_t bytes)
{
	struct cay_vci v = vci_to(peer,
		CAY_FAST_SEND | command_bits | (unsigned)(bytes + 7) / 8, flags,
		tag);
	v.word[CAY_VCI_WORD_TARGET] |= bytes << CAY_VCI_BYTES_SHIFT;
	content_fill(&v.word[CAY_VCI_WORD_DATA], bytes, tag);
	return v;
}

static inline struct cay_vci vci_send(const struct cay_peer *peer,
	unsigned command_bits, unsigned flags, uint64_t tag, uint64_t offset,
	uint64_t bytes)
{
	struct cay_vci v = vci_to(peer, CAY_SEND | command_bits, flags, tag);
	v.word[CAY_VCI_WORD_SDR_OFFSET] = offset;
	v.word[CAY_VCI_WORD_LENGTH] = bytes;
	return v;
}

/* SEND with its data in the SDR. */
static inline struct cay_vci vci_send_content(struct cay_port *port,
	const struct cay_peer *peer, unsigned command_bits, unsigned flags,
	uint64_t tag, uint64_t offset, uint64_t bytes)
{
	size_t room;
	unsigned char *sdr = cay_sdr(port, &room);
	assert_true(offset + bytes <= room);
	content_fill(sdr + offset, bytes, tag);
	return vci_send(peer, command_bits, flags, tag, offset, bytes);
}

/* Remote memory: words 3 and 4. */
static inline struct cay_vci vci_access(const struct cay_peer *peer,
	unsigned command, unsigned flags, uint64_t tag, struct cay_key key,
	uint64_t offset)
{
	struct cay_vci v = vci_to(peer, command, flags, tag);
	v.word[CAY_VCI_WORD_WINDOW] =
		key.window | key.capability << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OFFSET] = offset;
	return v;
}

/* PUT and GET: between a window of the origin and one of the peer. */
static inline struct cay_vci vci_bulk(const struct cay_peer *peer,
	unsigned command, unsigned flags, uint64_t tag, struct cay_key key,
	uint64_t offset, uint32_t origin, uint64_t origin_at, uint64_t bytes)
{
	struct cay_vci v = vci_access(peer, command, flags, tag, key, offset);
	v.word[CAY_VCI_WORD_ORIGIN] = origin;
	v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = origin_at;
	v.word[CAY_VCI_WORD_BYTES] = bytes;
	return v;
}

/* FAST_PUT with inline data, and FAST_GET. */
static inline struct cay_vci vci_fast_access(const struct cay_peer *peer,
	unsigned command, unsigned flags, uint64_t tag, struct cay_key key,
	uint64_t offset, size_t bytes)
{
	struct cay_vci v = vci_access(peer, command | (unsigned)(bytes + 7) / 8,
		flags, tag, key, offset);
	v.word[CAY_VCI_WORD_TARGET] |= bytes << CAY_VCI_BYTES_SHIFT;
	content_fill(&v.word[CAY_VCI_WORD_OPERAND], bytes, tag);
	return v;
}

/* MISALIGNED_PUT, FAA, CAS: words 5 and 6. */
static inline struct cay_vci vci_operands(const struct cay_peer *peer,
	unsigned command, unsigned flags, uint64_t tag, struct cay_key key,
	uint64_t offset, uint64_t first, uint64_t second)
{
	struct cay_vci v = vci_access(peer, command, flags, tag, key, offset);
	v.word[CAY_VCI_WORD_OPERAND] = first;
	v.word[CAY_VCI_WORD_OPERAND + 1] = second;
	return v;
}

static inline void vci_post(struct cay_port *port, const struct cay_vci *v)
{
	assert_int_equal(cay_vci_post(port, v), 0);
}

static inline void vci_issue(struct cay_port *port, const struct cay_vci *v)
{
	vci_post(port, v);
	assert_int_equal(cay_trigger(port, CAY_ISSUE_VCI, 1).accepted, 1);
}

/* ---- notifications ---- */

/* Waits for the next notification. It is valid until nqe_done(). */
static inline const struct cay_nqe *nqe_next(struct cay_port *port)
{
	uint64_t deadline = soon();
	const struct cay_nqe *n;
	while (!(n = cay_nqe_next(port)))
		assert_true(now_ns() < deadline);
	return n;
}

static inline void nqe_done(struct cay_port *port)
{
	assert_int_equal(cay_trigger(port, CAY_ISSUE_NQ, 1).accepted, 1);
}

static inline uint64_t nqe_valid(const struct cay_nqe *n)
{
	return n->word[CAY_NQE_WORD_VALID];
}

static inline unsigned nqe_command(const struct cay_nqe *n)
{
	return nqe_valid(n) & CAY_COMMAND_MASK;
}

static inline unsigned nqe_error(const struct cay_nqe *n)
{
	return (nqe_valid(n) & CAY_COMMAND_ERROR_MASK) >>
	       CAY_COMMAND_ERROR_SHIFT;
}

static inline size_t nqe_bytes(const struct cay_nqe *n)
{
	return (nqe_valid(n) >> CAY_NQE_BYTES_SHIFT) & 0xffff;
}

static inline uint16_t nqe_vpid(const struct cay_nqe *n)
{
	return (uint16_t)(nqe_valid(n) >> CAY_NQE_VPID_SHIFT);
}

static inline uint16_t nqe_generation(const struct cay_nqe *n)
{
	return (uint16_t)(nqe_valid(n) >> CAY_NQE_GENERATION_SHIFT);
}

static inline uint64_t nqe_tag(const struct cay_nqe *n)
{
	return n->word[CAY_NQE_WORD_TAG];
}

/* Checks that the next notification is a completion of this request. */
static inline void expect_cc(
	struct cay_port *port, uint64_t tag, unsigned command, unsigned error)
{
	const struct cay_nqe *n = nqe_next(port);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
	assert_int_equal(nqe_error(n), error);
	assert_int_equal(nqe_tag(n), tag);
	assert_int_equal(n->word[CAY_NQE_WORD_COMPLETED] & 0xffff, command);
	nqe_done(port);
}

static inline void expect_nothing(struct cay_port *port)
{
	assert_true(cay_nqe_next(port) == NULL);
}

#endif
