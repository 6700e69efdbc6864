/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See packet.h. frame_pack() and frame_unpack() follow one table, so that they
 * are each other's inverse. packet_decode() packs again what it has unpacked
 * and compares: a frame with a reserved bit or a stray byte is refused without
 * a check of its own.
 */
#include "contract/packet.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/crc32c.h"
#include "contract/command.h"

#define WORD 8 /* bytes */

_Static_assert(PACKET_MTU_MAX % CAY_LINE == 0 && PACKET_MTU_MAX <= UINT16_MAX,
	"`bytes` of a command frame has 16 bits");
_Static_assert(PACKET_MTU_MIN >= CAY_FAST_SEND_BYTES,
	"immediate data fits where a payload fits");
_Static_assert(PACKET_ROUTING_BYTES_MAX % WORD == 0 &&
		       PACKET_ROUTING_BYTES_MAX >= 2 * (1 + STRING_PHITS_MAX),
	"tag and phits in whole words");
_Static_assert(PACKET_FLAGS == STRING_FLAGS >> STRING_FLAGS_SHIFT,
	"the host phit has room for the flags");
_Static_assert(sizeof(struct packet_header) == 96, "no hole");

/* ---- command frame ---- */

/* The words of a command; 0: the command has no such word. */
struct layout {
	uint16_t command;  /* with A and L, or the flags of ULTRA, 0 */
	uint8_t variable;  /* those bits */
	uint8_t immediate; /* first word of immediate data */
	uint8_t segment;   /* a payload follows the frame */
	uint8_t length;
	uint8_t operands; /* number of words from word 5 on */
	uint8_t completed;
	bool access; /* words 3 and 4: target */
	bool ultra;  /* a payload follows the frame; the variable bits are flags
		      */
};

#define A   CAY_COMMAND_ACK
#define LL  CAY_COMMAND_LENGTH2
#define LLL CAY_COMMAND_LENGTH

static const struct layout layouts[] = {
	{ CAY_FAST_SEND, A | LLL, .immediate = 3 },
	{ CAY_SEND, A, .segment = 3, .length = 4 },
	{ CAY_FAST_PUT, A | LL, .access = true, .immediate = 5 },
	{ CAY_PUT, A, .access = true, .segment = 5, .length = 6 },
	{ CAY_MISALIGNED_PUT, A, .access = true, .operands = 2 },
	{ CAY_FAST_GET, LL, .access = true },
	{ CAY_FAST_GET_RESPONSE, LL, .immediate = 5 },
	{ CAY_GET, 0, .access = true, .length = 6 },
	{ CAY_GET_RESPONSE, 0, .segment = 5, .length = 6 },
	{ CAY_FAA, 0, .access = true, .operands = 1 },
	{ CAY_FAA_RESPONSE, 0, .operands = 2 },
	{ CAY_CAS, 0, .access = true, .operands = 2 },
	{ CAY_CAS_RESPONSE, 0, .operands = 2 },
	{ CAY_ACKNOWLEDGE, 0, .completed = 5 },
	{ PACKET_ULTRA, PACKET_ULTRA_FLAGS, .ultra = true },
};

#undef A
#undef LL
#undef LLL

/* Returns NULL if no packet has this command. */
static const struct layout *layout_of(uint16_t command)
{
	unsigned known = command & ~CAY_COMMAND_ERROR_MASK;
	for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++)
		if ((known & ~layouts[i].variable) == layouts[i].command)
			return &layouts[i];
	return NULL;
}

/* A fast operation: L in the command, bytes in word 1. */
static bool layout_is_fast(const struct layout *l)
{
	return l->variable & CAY_COMMAND_LENGTH && !l->ultra;
}

static bool layout_has_payload(const struct layout *l)
{
	return l->segment || l->ultra;
}

/* A request that is always answered, or asks for it: it needs a return path. */
static bool command_is_answered(const struct layout *l, uint16_t command)
{
	if (l->variable & CAY_COMMAND_ACK)
		return command & CAY_COMMAND_ACK;
	return l->access || l->ultra;
}

static void frame_pack(const struct packet_header *h, const struct layout *l,
	const void *immediate, struct cay_vci *frame)
{
	uint64_t *word = frame->word;
	uint64_t bytes = layout_is_fast(l)	 ? h->length
			 : layout_has_payload(l) ? h->bytes
						 : 0;
	memset(frame, 0, sizeof(*frame));
	word[CAY_VCI_WORD_COMMAND] =
		h->command | (uint64_t)h->origin_vpid << PACKET_VPID_SHIFT |
		(uint64_t)h->origin_node << PACKET_NODE_SHIFT;
	word[CAY_VCI_WORD_TARGET] =
		h->target_vpid | bytes << CAY_VCI_BYTES_SHIFT |
		(uint64_t)h->api_tag << CAY_VCI_API_TAG_SHIFT;
	word[CAY_VCI_WORD_TAG] = h->tag;
	if (l->access) {
		word[CAY_VCI_WORD_WINDOW] =
			h->window | h->capability << CAY_VCI_CAPABILITY_SHIFT;
		word[CAY_VCI_WORD_OFFSET] = h->offset;
	}
	if (l->segment)
		word[l->segment] = h->segment |
				   (h->last ? PACKET_SEGMENT_LAST : 0);
	if (l->length)
		word[l->length] = h->length;
	for (unsigned i = 0; i < l->operands; i++)
		word[CAY_VCI_WORD_OPERAND + i] = h->operand[i];
	if (l->command == CAY_MISALIGNED_PUT)
		word[CAY_VCI_WORD_OPERAND + 1] &= 0xff; /* byte enables */
	if (l->completed) {
		word[l->completed] = h->completed;
		word[l->completed + 1] = h->segment;
	}
	if (l->immediate && h->bytes)
		memcpy(&word[l->immediate], immediate, h->bytes);
}

static void frame_unpack(const struct cay_vci *frame, const struct layout *l,
	struct packet_header *h)
{
	const uint64_t *word = frame->word;
	uint64_t target = word[CAY_VCI_WORD_TARGET];
	uint16_t bytes = (uint16_t)(target >> CAY_VCI_BYTES_SHIFT);
	*h = (struct packet_header){
		.command = (uint16_t)word[CAY_VCI_WORD_COMMAND],
		.origin_vpid = (uint16_t)(word[CAY_VCI_WORD_COMMAND] >>
					  PACKET_VPID_SHIFT),
		.origin_node = (uint32_t)(word[CAY_VCI_WORD_COMMAND] >>
					  PACKET_NODE_SHIFT),
		.target_vpid = (uint16_t)target,
		.api_tag = (uint32_t)(target >> CAY_VCI_API_TAG_SHIFT),
		.tag = word[CAY_VCI_WORD_TAG],
		.bytes = l->immediate || layout_has_payload(l) ? bytes : 0,
		.length = l->length			  ? word[l->length]
			  : layout_is_fast(l) || l->ultra ? bytes
			  : command_is_word(l->command)	  ? WORD
							  : 0,
		.last = true,
	};
	if (l->access) {
		uint64_t window = word[CAY_VCI_WORD_WINDOW];
		h->window = (uint16_t)window;
		h->capability = window >> CAY_VCI_CAPABILITY_SHIFT;
		h->offset = word[CAY_VCI_WORD_OFFSET];
	}
	if (l->segment) {
		h->segment = word[l->segment] & ~PACKET_SEGMENT_LAST;
		h->last = word[l->segment] & PACKET_SEGMENT_LAST;
	}
	for (unsigned i = 0; i < l->operands; i++)
		h->operand[i] = word[CAY_VCI_WORD_OPERAND + i];
	if (l->completed) {
		h->completed = (uint16_t)word[l->completed];
		h->segment = word[l->completed + 1];
		h->last = h->segment == 0;
	}
}

/* L is the number of words; only a FAST_SEND may be empty. */
static bool words_valid(const struct layout *l, uint16_t command)
{
	unsigned words = command & l->variable & CAY_COMMAND_LENGTH;
	if (l->ultra)
		return true;
	return words <= CAY_FAST_SEND_WORDS &&
	       (words || !layout_is_fast(l) || l->command == CAY_FAST_SEND);
}

static bool fast_valid(const struct packet_header *h, const struct layout *l)
{
	unsigned words = h->command & l->variable & CAY_COMMAND_LENGTH;
	return h->length <= CAY_FAST_SEND_BYTES &&
	       words == (h->length + WORD - 1) / WORD &&
	       (!l->immediate || h->bytes == h->length);
}

/*
 * The last mark is where the length says, and no other segment is empty. An
 * abort follows at least one segment, and ends before the length.
 */
static bool segment_valid(const struct packet_header *h, uint32_t mtu)
{
	if (h->bytes > mtu || !bits_inside(h->segment, h->bytes, h->length))
		return false;
	if (h->command & CAY_COMMAND_ERROR_MASK)
		return h->last && h->bytes == 0 && h->segment > 0 &&
		       h->segment < h->length;
	return h->last == (h->bytes == h->length - h->segment) &&
	       (h->bytes || h->length == 0);
}

/*
 * A positive ACK is for a request that can have A, whether it has it or not; a
 * negative one for any request; one with a resume offset for a segmented one.
 * That of an ULTRA path is positive and has a position.
 */
static bool completed_valid(const struct packet_header *h)
{
	const struct layout *l = layout_of(h->completed);
	bool negative = h->command & CAY_COMMAND_ERROR_MASK;
	if (h->completed == PACKET_ULTRA)
		return !negative && h->segment &&
		       h->segment < PACKET_LENGTH_MAX;
	return l && (l->access || command_is_send(l->command)) &&
	       words_valid(l, h->completed) &&
	       !(h->completed & CAY_COMMAND_ERROR_MASK) &&
	       (negative || l->variable & CAY_COMMAND_ACK) &&
	       (h->segment == 0 || (l->segment && !negative &&
					   h->segment < PACKET_LENGTH_MAX));
}

static bool header_valid(const struct packet_header *h, const struct layout *l,
	const struct routing_string *route, uint32_t mtu)
{
	unsigned host = routing_string_host(route);
	if (h->command >> CAY_COMMAND_ERROR_SHIFT >= CAY_ERROR_COUNT ||
		!words_valid(l, h->command) || h->flags & ~PACKET_FLAGS ||
		(l->length && h->length > PACKET_LENGTH_MAX) ||
		(l->access && h->capability > CAY_CAPABILITY_MASK))
		return false;
	if (command_is_answered(l, h->command) &&
		!(route->phit[host] & STRING_RETURN))
		return false;
	if (l->completed)
		return completed_valid(h);
	if (l->segment)
		return segment_valid(h, mtu);
	if (h->command & CAY_COMMAND_ERROR_MASK)
		return false;
	if (l->ultra)
		return h->bytes <= bits_min(mtu, PACKET_ULTRA_MAX) &&
		       h->length == h->bytes;
	return !layout_is_fast(l) || fast_valid(h, l);
}

struct packet_header packet_answer(
	const struct packet_header *request, uint16_t command, uint32_t node)
{
	return (struct packet_header){
		.command = command,
		.flags = request->flags,
		.last = true,
		.origin_vpid = request->target_vpid,
		.target_vpid = request->origin_vpid,
		.origin_node = node,
		.origin_epoch = request->target_epoch,
		.target_epoch = request->origin_epoch,
		.api_tag = request->api_tag,
		.tag = request->tag,
		.request = request->request,
	};
}

/* ---- bytes ---- */

static bool mtu_valid(uint32_t mtu)
{
	return mtu >= PACKET_MTU_MIN && mtu <= PACKET_MTU_MAX &&
	       mtu % CAY_LINE == 0;
}

static size_t routing_bytes(unsigned phits)
{
	return bits_round_up(2 * (1 + phits), WORD);
}

struct trailer {
	uint64_t word[PACKET_TRAILER_BYTES / WORD];
};

/*
 * The trailer of a packet whose frame and payload are in private memory. The
 * CRC is that of frame, payload and the trailer itself with the flags in the
 * place of the CRC: the flags are in the routing frame only for lack of room.
 */
static struct trailer trailer_of(const struct packet_header *h,
	const struct cay_vci *frame, const void *payload, size_t payload_bytes)
{
	struct trailer t = { { h->target_epoch | (uint64_t)h->origin_epoch
							 << PACKET_EPOCH_SHIFT,
		h->request | (uint64_t)h->flags << PACKET_CRC_SHIFT } };
	uint32_t crc = crc32c(0, frame, sizeof(*frame));
	crc = crc32c(crc, payload, payload_bytes);
	crc = crc32c(crc, &t, sizeof(t));
	t.word[1] = h->request | (uint64_t)crc << PACKET_CRC_SHIFT;
	return t;
}

static bool pieces_have(
	const struct iovec *data, unsigned pieces, uint64_t bytes)
{
	for (; pieces && data->iov_len <= bytes; pieces--)
		bytes -= data++->iov_len;
	return pieces == 0 && bytes == 0;
}

static void pieces_gather(
	const struct iovec *data, unsigned pieces, unsigned char *to)
{
	for (; pieces; pieces--, data++)
		if (data->iov_len) {
			memcpy(to, data->iov_base, data->iov_len);
			to += data->iov_len;
		}
}

int packet_encode(const struct packet_header *h,
	const struct routing_string *route, const struct iovec *data,
	unsigned pieces, uint32_t mtu, void *buffer, size_t size)
{
	const struct layout *l = layout_of(h->command);
	if (!l || !mtu_valid(mtu) || routing_string_check(route))
		return -EINVAL;
	unsigned host = routing_string_host(route);
	if (route->phit[host] & STRING_FLAGS || !header_valid(h, l, route, mtu))
		return -EINVAL;
	uint64_t bytes = l->immediate || layout_has_payload(l) ? h->bytes : 0;
	if (!pieces_have(data, pieces, bytes))
		return -EINVAL;
	size_t routing = routing_bytes(route->count);
	size_t payload = layout_has_payload(l) ? bits_round_up(bytes, WORD) : 0;
	size_t total = routing + CAY_LINE + payload + PACKET_TRAILER_BYTES;
	if (size < total)
		return -ENOSPC;

	unsigned char *at = buffer;
	memset(at, 0, routing);
	memcpy(at, &route->tag, 2);
	memcpy(at + 2, route->phit, 2u * route->count);
	uint16_t phit = route->phit[host];
	phit |= (uint16_t)(h->flags << STRING_FLAGS_SHIFT);
	memcpy(at + 2 * (1 + host), &phit, 2);
	at += routing;

	unsigned char immediate[CAY_FAST_SEND_BYTES];
	struct cay_vci frame;
	if (l->immediate)
		pieces_gather(data, pieces, immediate);
	frame_pack(h, l, immediate, &frame);
	memcpy(at, &frame, CAY_LINE);
	at += CAY_LINE;

	if (layout_has_payload(l)) {
		pieces_gather(data, pieces, at);
		memset(at + bytes, 0, payload - bytes);
	}
	struct trailer trailer = trailer_of(h, &frame, at, payload);
	memcpy(at + payload, &trailer, sizeof(trailer));
	return (int)total;
}

/* Copies memory that may change: the compiler does not read it again. */
static void copy_once(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	__asm__ volatile("" : : : "memory");
}

/*
 * Reads a routing frame. A host phit ends it, the second one if the first flags
 * a return path. Returns its bytes, -EINVAL or -EMSGSIZE.
 */
static int routing_read(
	const void *from, size_t size, struct routing_string *route)
{
	uint16_t phits[PACKET_ROUTING_BYTES_MAX / 2];
	size_t present = bits_min(size, sizeof(phits)) / 2, n = 1;
	bool back = false, end = false;
	copy_once(phits, from, 2 * present);
	for (; !end && n < present && n <= STRING_PHITS_MAX; n++) {
		if (!phit_valid(phits[n], back))
			return -EINVAL;
		if (phit_is_host(phits[n])) {
			end = !(phits[n] & STRING_RETURN);
			back = true;
		}
	}
	if (!end)
		return n > STRING_PHITS_MAX ? -EINVAL : -EMSGSIZE;
	route->tag = phits[0];
	route->count = (uint16_t)(n - 1);
	memcpy(route->phit, &phits[1], 2u * route->count);
	size_t total = routing_bytes(route->count);
	if (2 * present < total)
		return -EMSGSIZE;
	for (; n < total / 2; n++)
		if (phits[n])
			return -EINVAL;
	return (int)total;
}

int packet_decode(const void *buffer, size_t size, uint32_t mtu,
	struct packet_header *header, struct routing_string *string, void *data)
{
	const unsigned char *at = buffer;
	struct routing_string route = { 0 };
	struct cay_vci frame, again;
	struct packet_header h;
	struct trailer trailer, expected;

	if (!mtu_valid(mtu))
		return -EINVAL;
	int routing = routing_read(buffer, size, &route);
	if (routing < 0)
		return routing;
	at += routing;
	size -= (size_t)routing;

	/* One copy of everything: the buffer may change. */
	if (size < CAY_LINE + PACKET_TRAILER_BYTES)
		return -EMSGSIZE;
	copy_once(&frame, at, CAY_LINE);
	const struct layout *l =
		layout_of((uint16_t)frame.word[CAY_VCI_WORD_COMMAND]);
	if (!l)
		return -EINVAL;
	frame_unpack(&frame, l, &h);
	if (h.bytes > mtu)
		return -EINVAL;
	size_t payload = layout_has_payload(l) ? bits_round_up(h.bytes, WORD)
					       : 0;
	if (size < CAY_LINE + payload + PACKET_TRAILER_BYTES)
		return -EMSGSIZE;
	copy_once(data, at + CAY_LINE, payload);
	copy_once(&trailer, at + CAY_LINE + payload, sizeof(trailer));

	unsigned host = routing_string_host(&route);
	h.flags = (uint8_t)((route.phit[host] & STRING_FLAGS) >>
			    STRING_FLAGS_SHIFT);
	route.phit[host] &= (uint16_t)~STRING_FLAGS;
	h.target_epoch = (uint32_t)trailer.word[0];
	h.origin_epoch = (uint32_t)(trailer.word[0] >> PACKET_EPOCH_SHIFT);
	h.request = (uint32_t)trailer.word[1];
	expected = trailer_of(&h, &frame, data, payload);
	if (memcmp(&trailer, &expected, sizeof(trailer)))
		return -EBADMSG;

	if (!header_valid(&h, l, &route, mtu))
		return -EINVAL;
	if (l->immediate)
		memcpy(data, &frame.word[l->immediate], h.bytes);
	frame_pack(&h, l, data, &again);
	if (memcmp(&frame, &again, sizeof(frame)))
		return -EINVAL;
	for (size_t i = h.bytes; i < payload; i++)
		if (((unsigned char *)data)[i])
			return -EINVAL;
	*header = h;
	*string = route;
	return routing + (int)(CAY_LINE + payload + PACKET_TRAILER_BYTES);
}
