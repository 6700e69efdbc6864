/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzer of packets, both ways. The first byte of an input selects
 *
 *	a header and a route, which must come back from their bytes;
 *	bytes, which must be refused or encode to the same bytes again;
 *	a packet, damaged by the rest of the input, with and without a right
 *	CRC, which must be refused or encode to the same bytes again.
 *
 * Packets and payloads are in allocations of exactly their size, so that
 * AddressSanitizer finds any access beyond them.
 *
 * Built with clang -fsanitize=fuzzer and
 * -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION it is a libFuzzer target;
 * otherwise it runs the given files, or COUNT random inputs from the seed
 * CAY_SEED:
 *
 * usage: fuzz_packet [FILE... | COUNT]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "packets.h"

#define FUZZ_SEED	1
#define FUZZ_COUNT	50000
#define FUZZ_INPUT_MAX	1024
#define FUZZ_DAMAGE_MAX 4

/* Assertion that is also active with NDEBUG, and visible to a fuzzer. */
#define REQUIRE(e)                                                      \
	((e) ? (void)0                                                  \
	     : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #e), \
		       abort()))

static unsigned long accepted, refused;

struct input {
	const uint8_t *at;
	size_t left;
};

static uint64_t input_take(struct input *in, size_t bytes)
{
	uint64_t value = 0;
	bytes = bits_min(bytes, in->left);
	if (bytes)
		memcpy(&value, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return value;
}

static uint64_t input_below(struct input *in, uint64_t limit)
{
	return input_take(in, 8) % limit;
}

/* ---- headers ---- */

static void path_draw(struct input *in, struct routing_string *r, unsigned legs,
	unsigned host)
{
	for (unsigned i = 0; i < legs; i++) {
		unsigned low = (unsigned)input_take(in, 1) & 63;
		unsigned high = (unsigned)input_take(in, 1) & 63;
		r->phit[r->count++] = phit_make(
			(unsigned)input_below(in, 6), low, low ? high : 1);
	}
	r->phit[r->count++] = (uint16_t)host;
}

static struct routing_string route_draw(struct input *in)
{
	static const uint8_t hosts[] = { 6, 8, 9, 10, 11, 15 };
	struct routing_string r = { .tag = (uint16_t)input_take(in, 2) };
	unsigned legs = (unsigned)input_below(in, 8) ? 3 : 31;
	unsigned host = hosts[input_below(in, sizeof(hosts))];
	path_draw(in, &r, (unsigned)input_below(in, legs + 1),
		host | STRING_RETURN);
	path_draw(in, &r, (unsigned)input_below(in, legs + 1), host);
	return r;
}

/* Usually a small number, sometimes one near a power of two. */
static uint64_t number_draw(struct input *in, uint64_t limit)
{
	uint64_t kind = input_take(in, 1);
	uint64_t n = kind < 200 ? input_take(in, 2)
				: (1ull << kind % 64) + input_take(in, 1) - 1;
	return n % limit;
}

/* Draws offset, bytes and last mark of a segment of a random length. */
static void segment_draw(
	struct input *in, struct packet_header *h, uint32_t mtu)
{
	h->length = number_draw(in, PACKET_LENGTH_MAX) + 1;
	h->segment = number_draw(in, h->length);
	h->bytes = bits_min(1 + input_below(in, mtu), h->length - h->segment);
	if (h->segment && input_take(in, 1) < 16) {
		h->command |= (uint16_t)(1 + input_below(in, 25)) << 11;
		h->bytes = 0;
		return;
	}
	if (input_take(in, 1) < 8)
		h->length = h->segment = h->bytes = 0;
	h->last = h->segment + h->bytes == h->length;
}

static void target_draw(struct input *in, struct packet_header *h)
{
	h->window = (uint16_t)input_take(in, 2);
	h->capability = input_take(in, 6);
	h->offset = input_take(in, 8);
}

/* Draws a header that packet_encode() accepts and packet_decode() returns. */
static struct packet_header header_draw(struct input *in, uint32_t mtu)
{
	static const uint8_t requests[] = { 0x10, 0x1d, 0x90, 0x98, 0x21, 0x2b,
		0xa0, 0xa8, 0x40, 0x48, 0x31, 0x33, 0xb0, 0x62, 0x73 };
	static const uint8_t acknowledged[] = { 0x18, 0x1d, 0x98, 0x29, 0x2b,
		0xa8, 0x48 };
	struct packet_header h = {
		.flags = (uint8_t)(input_take(in, 1) & PACKET_FLAGS),
		.last = true,
		.origin_vpid = (uint16_t)input_take(in, 2),
		.target_vpid = (uint16_t)input_take(in, 2),
		.origin_node = (uint32_t)input_take(in, 4),
		.api_tag = (uint32_t)input_take(in, 4),
		.tag = input_take(in, 8),
		.request = (uint32_t)input_take(in, 4),
		.target_epoch = (uint32_t)input_take(in, 4),
		.origin_epoch = (uint32_t)input_take(in, 4),
	};
	uint16_t a = input_take(in, 1) & CAY_COMMAND_ACK;
	switch (input_below(in, 16)) {
	case 0:
		h.length = h.bytes = input_below(in, 41);
		h.command = (uint16_t)(0x10 | a | (h.length + 7) / 8);
		break;
	case 1:
		h.command = 0x90 | a;
		segment_draw(in, &h, mtu);
		break;
	case 2:
		h.length = h.bytes = 1 + input_below(in, 24);
		h.command = (uint16_t)(0x20 | a | (h.length + 7) / 8);
		target_draw(in, &h);
		break;
	case 3:
		h.command = 0xa0 | a;
		target_draw(in, &h);
		segment_draw(in, &h, mtu);
		break;
	case 4:
		h.command = 0x40 | a;
		h.length = 8;
		target_draw(in, &h);
		h.operand[0] = input_take(in, 8);
		h.operand[1] = input_take(in, 1);
		break;
	case 5:
		h.length = 1 + input_below(in, 24);
		h.command = (uint16_t)(0x30 | (h.length + 7) / 8);
		target_draw(in, &h);
		break;
	case 6:
		h.length = h.bytes = 1 + input_below(in, 24);
		h.command = (uint16_t)(0x34 | (h.length + 7) / 8);
		break;
	case 7:
		h.command = 0xb0;
		h.length = number_draw(in, PACKET_LENGTH_MAX);
		target_draw(in, &h);
		break;
	case 8:
		h.command = 0xb4;
		segment_draw(in, &h, mtu);
		break;
	case 9:
		h.command = 0x62;
		h.length = 8;
		target_draw(in, &h);
		h.operand[0] = input_take(in, 8);
		break;
	case 10:
		h.command = 0x73;
		h.length = 8;
		target_draw(in, &h);
		h.operand[0] = input_take(in, 8);
		h.operand[1] = input_take(in, 8);
		break;
	case 11:
		h.command = input_take(in, 1) & 1 ? 0x66 : 0x77;
		h.length = 8;
		h.operand[0] = input_take(in, 8);
		h.operand[1] = input_take(in, 8);
		break;
	case 12:
		h.command = 0xff;
		h.completed =
			acknowledged[input_below(in, sizeof(acknowledged))];
		if ((h.completed == 0x98 || h.completed == 0xa8) &&
			input_take(in, 1) < 128)
			h.segment = number_draw(in, PACKET_LENGTH_MAX - 1);
		h.last = h.segment == 0;
		break;
	case 13:
		h.command = (uint16_t)(0x100 | input_below(in, 8));
		h.length = h.bytes = input_below(in, bits_min(mtu, 4080) + 1);
		break;
	case 14:
		h.command = 0xff;
		h.completed = 0x100;
		h.segment = 1 + number_draw(in, PACKET_LENGTH_MAX - 1);
		h.last = false;
		break;
	default:
		h.command = (uint16_t)((1 + input_below(in, 25)) << 11 | 0xff);
		h.completed = requests[input_below(in, sizeof(requests))];
	}
	return h;
}

static uint32_t mtu_draw(struct input *in)
{
	static const uint32_t mtus[] = { PACKET_MTU, PACKET_MTU_MIN, 256,
		PACKET_MTU_MAX };
	return mtus[input_below(in, ARRAY_COUNT(mtus))];
}

/* ---- packets ---- */

/* Encodes into an allocation of the exact size, which the caller frees. */
static unsigned char *encode(const struct packet_header *h,
	const struct routing_string *r, unsigned char *data, uint32_t mtu,
	size_t *size)
{
	static unsigned char wire[PACKET_BYTES_MAX(PACKET_MTU_MAX)];
	size_t cut = h->bytes / 2;
	const struct iovec pieces[2] = { { data, cut },
		{ data + cut, h->bytes - cut } };
	int n = packet_encode(h, r, pieces, 2, mtu, wire, sizeof(wire));
	REQUIRE(n > 0 && (size_t)n <= PACKET_BYTES_MAX(mtu));
	REQUIRE(packet_encode(h, r, pieces, 2, mtu, wire, (size_t)n - 1) ==
		-ENOSPC);
	unsigned char *exact = malloc((size_t)n);
	REQUIRE(exact);
	REQUIRE(packet_encode(h, r, pieces, 2, mtu, exact, (size_t)n) == n);
	*size = (size_t)n;
	return exact;
}

/* Accepted bytes encode to the same bytes again. */
static void check_bytes(const unsigned char *wire, size_t size, uint32_t mtu)
{
	struct packet_header h;
	struct routing_string r;
	unsigned char *copy = malloc(size + !size), *data = malloc(mtu);
	size_t again_size;
	REQUIRE(copy && data);
	memcpy(copy, wire, size);
	int n = packet_decode(copy, size, mtu, &h, &r, data);
	if (n < 0) {
		REQUIRE(n == -EINVAL || n == -EMSGSIZE || n == -EBADMSG);
		refused++;
	} else {
		REQUIRE((size_t)n <= size);
		unsigned char *again = encode(&h, &r, data, mtu, &again_size);
		REQUIRE(again_size == (size_t)n);
		REQUIRE(memcmp(again, wire, again_size) == 0);
		free(again);
		accepted++;
	}
	free(copy);
	free(data);
}

static void check_header(const struct packet_header *h,
	const struct routing_string *r, const unsigned char *wire, size_t size,
	const unsigned char *data, uint32_t mtu)
{
	struct packet_header h_out;
	struct routing_string r_out;
	unsigned char *data_out = malloc(mtu);
	REQUIRE(data_out);
	REQUIRE(packet_decode(wire, size, mtu, &h_out, &r_out, data_out) ==
		(int)size);
	REQUIRE(memcmp(h, &h_out, sizeof(*h)) == 0);
	REQUIRE(memcmp(r, &r_out, sizeof(*r)) == 0);
	REQUIRE(memcmp(data, data_out, h->bytes) == 0);
	free(data_out);
}

/* Alters bytes, of the frames rather than of the payload. */
static void damage(
	struct input *in, unsigned char *wire, size_t size, size_t routing)
{
	uint64_t count = 1 + input_below(in, FUZZ_DAMAGE_MAX);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t frames = bits_min(size, routing + CAY_LINE);
		uint64_t at = input_take(in, 1) & 7 ? input_below(in, frames)
						    : input_below(in, size);
		if (input_take(in, 1) & 1)
			wire[at] = (unsigned char)input_take(in, 1);
		else
			wire[at] ^= (unsigned char)(1 << input_below(in, 8));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static unsigned char data[PACKET_MTU_MAX];
	struct input in = { bytes, count };
	unsigned way = (unsigned)input_take(&in, 1) % 3;
	uint32_t mtu = mtu_draw(&in);
	if (way == 0) {
		check_bytes(in.at, in.left, mtu);
		return 0;
	}
	struct routing_string r = route_draw(&in);
	struct packet_header h = header_draw(&in, mtu);
	size_t size, routing = routing_frame_bytes(&r);
	for (size_t i = 0; i < h.bytes; i++)
		data[i] = (unsigned char)(h.tag + i * 7);
	unsigned char *wire = encode(&h, &r, data, mtu, &size);
	if (way == 1) {
		check_header(&h, &r, wire, size, data, mtu);
	} else {
		damage(&in, wire, size, routing);
		check_bytes(wire, size, mtu);
		packet_seal(wire, size, routing, h.flags);
		check_bytes(wire, size - (input_take(&in, 1) == 0), mtu);
	}
	free(wire);
	return 0;
}

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include "../fuzz.h"

int main(int argc, char **argv)
{
	int failed = fuzz_main(argc, argv, FUZZ_SEED, FUZZ_COUNT);
	printf("of the bytes %lu accepted, %lu refused\n", accepted, refused);
	return failed;
}

#endif
