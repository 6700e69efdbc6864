/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar of a trace file; see format.h and cay-trace(1). */
#include "trace/format.h"

#include <string.h>

static const struct format_name flag_names[] = {
	{ "notify", CAY_NOTIFY },
	{ "free_order", CAY_FREE_ORDER },
	{ "fence", CAY_FENCE },
	{ "interrupt", CAY_INTERRUPT },
	{ "priority", CAY_PRIORITY },
	{ "ack", CAY_ACK },
	{ "borrow", CAY_BORROW },
	{ 0 },
};

static const struct format_name right_names[] = {
	{ "read", CAY_RIGHT_READ },
	{ "write", CAY_RIGHT_WRITE },
	{ "atomic", CAY_RIGHT_ATOMIC },
	{ "notify_access", CAY_RIGHT_NOTIFY_ACCESS },
	{ "notify_refusal", CAY_RIGHT_NOTIFY_REFUSAL },
	{ 0 },
};

static const struct format_name to_names[] = {
	{ "memory", false },
	{ "event", true },
	{ 0 },
};

static const struct format_name mode_names[] = {
	{ "rdr", CAY_RECEIVE_RDR },
	{ "only", CAY_RECEIVE_POSTED_ONLY },
	{ 0 },
};

static const struct format_name words_names[] = {
	{ "no", false },
	{ "yes", true },
	{ 0 },
};

#define MEMBER(m)                              \
	offsetof(struct trace_instruction, m), \
		sizeof(((struct trace_instruction *)0)->m)

const struct format_field format_fields[FORMAT_FIELDS] = {
	[FIELD_WINDOW] = { "window", FORMAT_NUMBER, MEMBER(window), UINT16_MAX,
		NULL },
	[FIELD_KEY] = { "key", FORMAT_WORD, MEMBER(key), CAY_CAPABILITY_MASK,
		NULL },
	[FIELD_OFFSET] = { "offset", FORMAT_NUMBER, MEMBER(offset), UINT64_MAX,
		NULL },
	[FIELD_BASE] = { "base", FORMAT_WORD, MEMBER(base), UINT64_MAX, NULL },
	[FIELD_BYTES] = { "bytes", FORMAT_NUMBER, MEMBER(bytes),
		TRACE_BYTES_MAX, NULL },
	[FIELD_RIGHTS] = { "rights", FORMAT_LIST, MEMBER(rights), UINT8_MAX,
		right_names },
	[FIELD_ADDEND] = { "addend", FORMAT_WORD, MEMBER(operand[0]),
		UINT64_MAX, NULL },
	[FIELD_COMPARE] = { "compare", FORMAT_WORD, MEMBER(operand[0]),
		UINT64_MAX, NULL },
	[FIELD_SWAP] = { "swap", FORMAT_WORD, MEMBER(operand[1]), UINT64_MAX,
		NULL },
	[FIELD_WORD] = { "word", FORMAT_WORD, MEMBER(operand[0]), UINT64_MAX,
		NULL },
	[FIELD_ENABLES] = { "enables", FORMAT_WORD, MEMBER(operand[1]),
		UINT8_MAX, NULL },
	[FIELD_TO] = { "to", FORMAT_NAME, MEMBER(event), true, to_names },
	[FIELD_MODE] = { "mode", FORMAT_NAME, MEMBER(mode),
		CAY_RECEIVE_POSTED_ONLY, mode_names },
	[FIELD_COOKIE] = { "cookie", FORMAT_WORD, MEMBER(cookie), UINT64_MAX,
		NULL },
	[FIELD_TAG] = { "tag", FORMAT_WORD, MEMBER(tag), UINT64_MAX, NULL },
	[FIELD_API_TAG] = { "api_tag", FORMAT_WORD, MEMBER(api_tag), UINT32_MAX,
		NULL },
	[FIELD_FLAGS] = { "flags", FORMAT_LIST, MEMBER(flags), UINT8_MAX,
		flag_names },
	[FIELD_SEED] = { "seed", FORMAT_WORD, MEMBER(seed), UINT64_MAX, NULL },
	[FIELD_DATA] = { "data", FORMAT_DATA, MEMBER(data_bytes),
		TRACE_DATA_MAX, NULL },
	[FIELD_WORDS] = { "words", FORMAT_NAME, MEMBER(words), true,
		words_names },
	[FIELD_NODE] = { "node", FORMAT_WORD, MEMBER(node), UINT32_MAX, NULL },
};

#define BIT(id) (1u << FIELD_##id)
#define WHERE	(BIT(WINDOW) | BIT(KEY))
#define REQUEST (BIT(TAG) | BIT(FLAGS))
#define PAYLOAD (BIT(BYTES) | BIT(SEED) | BIT(DATA))
#define ACCESS	(WHERE | BIT(OFFSET) | REQUEST)

const struct format_kind format_kinds[TRACE_KINDS] = {
	[TRACE_WINDOW] = { "window", false, false,
		WHERE | BIT(BASE) | BIT(RIGHTS) | PAYLOAD,
		BIT(WINDOW) | BIT(BYTES) | BIT(RIGHTS) },
	[TRACE_WINDOW_CLOSE] = { "window_close", false, false, BIT(WINDOW),
		BIT(WINDOW) },
	[TRACE_WINDOW_REVOKE] = { "window_revoke", false, false, WHERE, WHERE },
	[TRACE_WINDOW_LOCK] = { "window_lock", true, false, WHERE,
		BIT(WINDOW) },
	[TRACE_WINDOW_UNLOCK] = { "window_unlock", true, false, WHERE,
		BIT(WINDOW) },
	[TRACE_RECEIVE_MODE] = { "receive_mode", false, false, BIT(MODE),
		BIT(MODE) },
	[TRACE_RECEIVE_POST] = { "receive_post", false, false,
		BIT(BYTES) | BIT(COOKIE), BIT(BYTES) },
	[TRACE_RECEIVE_CANCEL] = { "receive_cancel", false, false, BIT(COOKIE),
		BIT(COOKIE) },
	[TRACE_PEER_RESOLVE] = { "peer_resolve", true, false, 0, 0 },
	[TRACE_PEER_RELEASE] = { "peer_release", true, false, 0, 0 },
	[TRACE_SEND] = { "send", true, false, REQUEST | BIT(API_TAG) | PAYLOAD,
		0 },
	[TRACE_PUT] = { "put", true, false, ACCESS | PAYLOAD, BIT(WINDOW) },
	[TRACE_PUT_MASKED] = { "put_masked", true, false,
		ACCESS | BIT(WORD) | BIT(ENABLES), BIT(WINDOW) },
	[TRACE_GET] = { "get", true, false, ACCESS | BIT(BYTES) | BIT(TO),
		BIT(WINDOW) },
	[TRACE_FETCH_ADD] = { "fetch_add", true, true,
		ACCESS | BIT(ADDEND) | BIT(TO), BIT(WINDOW) },
	[TRACE_COMPARE_SWAP] = { "compare_swap", true, true,
		ACCESS | BIT(COMPARE) | BIT(SWAP) | BIT(TO), BIT(WINDOW) },
	[TRACE_FLUSH] = { "flush", true, false, 0, 0 },
	[TRACE_DRAIN] = { "drain", false, false, 0, 0 },
	[TRACE_PORT_CLOSE] = { "port_close", false, false, 0, 0 },
	[TRACE_PORT_OPEN] = { "port_open", false, false, BIT(WORDS), 0 },
};

const char *trace_kind_name(enum trace_kind kind)
{
	return format_kinds[kind].name;
}

/* The host is little-endian: the low bytes come first. */
uint64_t format_get(
	const struct format_field *f, const struct trace_instruction *i)
{
	uint64_t value = 0;
	memcpy(&value, (const unsigned char *)i + f->at, f->size);
	return value;
}

void format_set(const struct format_field *f, struct trace_instruction *i,
	uint64_t value)
{
	memcpy((unsigned char *)i + f->at, &value, f->size);
}
