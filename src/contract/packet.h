/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets: the decoded header that units hand over, and its encoding as bytes
 * for a network. A local transfer hands over a header and a reference to the
 * payload, and never encodes. cay_packet(7) describes the encoding in prose. In
 * little-endian 64-bit words it is
 *
 *	routing frame	the routing string, 2 bytes per phit: tag, path, host
 *			phit, return path; zero phits fill the last word
 *	command frame	one line, below
 *	payload		0 to MTU bytes, zero bytes fill the last word
 *	trailer		target epoch 31:0, origin epoch 63:32;
 *			request identifier 31:0, CRC 63:32
 *
 * and of the command frame
 *
 *	word 0		command word 15:0, origin VPID 31:16, origin node 63:32
 *	word 1		target VPID 15:0, bytes 31:16, API tag 63:32
 *	word 2		user tag
 *	words 3 to 7	per command:
 *
 *	FAST_SEND		3-7 data
 *	SEND			3 segment, 4 length
 *	FAST_PUT		3, 4 target, 5-7 data
 *	PUT			3, 4 target, 5 segment, 6 length
 *	MISALIGNED_PUT		3, 4 target, 5 data, 6 byte enables
 *	FAST_GET		3, 4 target
 *	FAST_GET_RESPONSE	5-7 data
 *	GET			3, 4 target, 6 length
 *	GET_RESPONSE		5 segment, 6 length
 *	FAA			3, 4 target, 5 addend
 *	CAS			3, 4 target, 5 value to compare with, 6 to store
 *	FAA_, CAS_RESPONSE	5 result, 6 previous value
 *	ACK			5 completed command word, 6 resume offset
 *	ULTRA			none
 *	ACK of an ULTRA path	5 command word, 6 position
 *
 * target: Win-ID 15:0 and capability 63:16, then the offset in the window.
 * segment: offset of this packet's payload in the whole message or access 62:0,
 * last mark 63. An ACK with a resume offset does not end its request: the
 * target had no room and has dropped segments, and expects them again from
 * there on. Words and bits that are not listed are 0.
 *
 * An ULTRA message is a packet of the group ULTRA whose command is its flags
 * (enum cay_ultra_flag), with 0 to 4080 bytes of payload. Its request
 *identifier names the path: OUPID 15:0, TUPID 31:16. An ACK with that
 *identifier returns the position of the target: messages before it are taken.
 *
 * The commands, the command frame as an altered VCI, and the routing string
 * with an optional return path are those of EXTOLL. Ours are: the place of the
 * flags, the flag of word mode, fill, epochs, request identifier, segments,
 * last mark, abort, resume offset, MTU, CRC, the place of the UPIDs, and the
 * words of the responses and of ACK.
 */
#ifndef CAY_CONTRACT_PACKET_H
#define CAY_CONTRACT_PACKET_H

#include <stddef.h>
#include <sys/uio.h>

#include "cay/contract.h"
#include "contract/routing_string.h"

#define PACKET_MTU     4096u  /* default: bytes of payload in a packet */
#define PACKET_MTU_MIN 64u    /* an MTU is a multiple of the line, */
#define PACKET_MTU_MAX 65472u /* and `bytes` has 16 bits */

#define PACKET_ROUTING_BYTES_MAX 136u /* tag and 64 phits, in whole words */
#define PACKET_TRAILER_BYTES	 16u
#define PACKET_BYTES_MAX(mtu) \
	(PACKET_ROUTING_BYTES_MAX + CAY_LINE + (mtu) + PACKET_TRAILER_BYTES)

/*
 * Of `flags`, besides those of the VCI: the origin is in word mode, and the
 * target refuses an access whose offset or length is not a multiple of 8.
 */
#define PACKET_WORD_MODE (1u << 5)
#define PACKET_FLAGS	 (CAY_VCI_FLAGS | PACKET_WORD_MODE)

/* The command word of an ULTRA message without flags. */
#define PACKET_ULTRA	   (CAY_GROUP_ULTRA << CAY_COMMAND_GROUP_SHIFT)
#define PACKET_ULTRA_FLAGS (CAY_ULTRA_NOTIFY | CAY_ULTRA_ACK | CAY_ULTRA_IRQ)
#define PACKET_ULTRA_MAX   (CAY_ULTRA_SLICE_MAX - CAY_ULTRA_TRAILER)
#define PACKET_UPID_SHIFT  16 /* of the target, in `request` */

#define PACKET_VPID_SHIFT   16 /* in word 0 */
#define PACKET_NODE_SHIFT   32
#define PACKET_SEGMENT_LAST (1ull << 63)
#define PACKET_LENGTH_MAX   (PACKET_SEGMENT_LAST - 1)
#define PACKET_EPOCH_SHIFT  32 /* of the origin, in the trailer */
#define PACKET_CRC_SHIFT    32 /* there, in the last word */

/*
 * Members that a command does not have are 0 after packet_decode(), and are
 * ignored by packet_encode(). SEND, PUT and GET_RESPONSE are segmented; every
 * other packet is whole: `last` is true, but in an ACK with a resume offset or
 * a position.
 */
struct packet_header {
	uint16_t command; /* command word; ACK, abort: with the error code */
	uint8_t flags;	  /* PACKET_FLAGS; in a response: the request's */
	bool last;	  /* the last segment, or an abort */
	uint16_t origin_vpid; /* of the port that sends this packet */
	uint16_t target_vpid;
	uint32_t origin_node; /* that sends this packet */
	/*
	 * A port accepts packets with one of its own epochs, and never those
	 * for a former port with its VPID.
	 */
	uint32_t
		origin_epoch; /* the first of the port that sends this packet */
	uint32_t target_epoch; /* in a response: the request's origin_epoch */
	uint32_t api_tag;      /* in a response: the request's; `tag` also */
	uint64_t tag;
	uint64_t length;    /* of the whole message or access, in bytes */
	uint64_t bytes;	    /* of data in this packet */
	uint64_t segment;   /* offset of this packet's data; ACK: resume offset,
			       or position */
	uint32_t request;   /* identifier, unique at the node that requests;
			       ULTRA: the UPIDs */
	uint16_t completed; /* ACK: command word of the request */
	uint16_t window;    /* Win-ID at the target */
	uint64_t capability; /* 48 bits */
	uint64_t offset;     /* in the window, of the whole access */
	uint64_t operand[2]; /* MISALIGNED_PUT, FAA, CAS; results */
};

/* Returns true for an ULTRA message. */
static inline bool packet_is_ultra(uint16_t command)
{
	return (command & CAY_COMMAND_GROUP_MASK) == PACKET_ULTRA;
}

static inline uint32_t packet_upids(uint16_t origin, uint16_t target)
{
	return origin | (uint32_t)target << PACKET_UPID_SHIFT;
}

/*
 * Begins the header of a response or ACK: addressed to the origin of the
 * request, with its identifier, tags and flags. The caller adds what the
 * command has.
 */
struct packet_header packet_answer(
	const struct packet_header *request, uint16_t command, uint32_t node);

/*
 * Encodes a packet. `data` are the `bytes` of the header, immediate or payload;
 * they are read once. The string's flags are 0: those of the header are put
 * there. Returns the number of bytes written, at most PACKET_BYTES_MAX(mtu);
 * -EINVAL: no such packet exists; -ENOSPC: the buffer is too small. The buffer
 * is written only on success. Any thread.
 */
int packet_encode(const struct packet_header *, const struct routing_string *,
	const struct iovec *data, unsigned pieces, uint32_t mtu, void *buffer,
	size_t size);

/*
 * Decodes the packet at the start of a buffer, which is read once and may
 * change meanwhile. `data`, with room for `mtu` bytes, gets the immediate data
 * or the payload. Returns the number of bytes of the packet, which encodes to
 * the same bytes again; -EMSGSIZE: the buffer ends before the packet; -EBADMSG:
 * wrong CRC; -EINVAL: malformed. On failure the header and the string are
 * unchanged, and `data` is undefined. Any thread.
 */
int packet_decode(const void *buffer, size_t size, uint32_t mtu,
	struct packet_header *, struct routing_string *, void *data);

#endif
