/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder: remote memory, windows, posted receives. See record.c. */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "trace/record_call.h"
#include "trace/record_log.h"

/* Windows of up to this many bytes are recorded with their contents. */
#define CONTENT_MAX (16u << 20)

/* ---- remote memory ---- */

static struct trace_instruction begin_access(enum trace_kind kind,
	struct cay_port *port, struct cay_peer *peer, struct cay_key key,
	uint64_t offset, uint64_t tag, unsigned flags)
{
	struct trace_instruction i = call_begin(kind, port, peer);
	call_place(&i, key, offset);
	call_request(&i, tag, flags);
	return i;
}

CAY_API int cay_put(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, const void *data, size_t length,
	uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		begin_access(TRACE_PUT, port, peer, key, offset, tag, flags);
	call_payload(&i, data, length);
	return call_end(&i,
		real.put(port, peer, key, offset, data, length, tag, flags));
}

CAY_API int cay_put_masked(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t data, uint8_t enables,
	uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = begin_access(
		TRACE_PUT_MASKED, port, peer, key, offset, tag, flags);
	i.operand[0] = data;
	i.operand[1] = enables;
	return call_end(&i, real.put_masked(port, peer, key, offset, data,
				    enables, tag, flags));
}

CAY_API int cay_get(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, void *to, size_t length,
	uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		begin_access(TRACE_GET, port, peer, key, offset, tag, flags);
	i.bytes = bits_min(length, TRACE_BYTES_MAX);
	i.event = !to && length;
	return call_end(
		&i, real.get(port, peer, key, offset, to, length, tag, flags));
}

CAY_API int cay_fetch_add(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend, uint64_t tag,
	unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = begin_access(
		TRACE_FETCH_ADD, port, peer, key, offset, tag, flags);
	i.operand[0] = addend;
	i.event = true;
	return call_end(&i,
		real.fetch_add(port, peer, key, offset, addend, tag, flags));
}

CAY_API int cay_fetch_add_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t addend,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = begin_access(
		TRACE_FETCH_ADD, port, peer, key, offset, tag, flags);
	i.operand[0] = addend;
	return call_end(&i, real.fetch_add_into(port, peer, key, offset, addend,
				    previous, tag, flags));
}

CAY_API int cay_compare_swap(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = begin_access(
		TRACE_COMPARE_SWAP, port, peer, key, offset, tag, flags);
	i.operand[0] = compare;
	i.operand[1] = swap;
	i.event = true;
	return call_end(&i, real.compare_swap(port, peer, key, offset, compare,
				    swap, tag, flags));
}

CAY_API int cay_compare_swap_into(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = begin_access(
		TRACE_COMPARE_SWAP, port, peer, key, offset, tag, flags);
	i.operand[0] = compare;
	i.operand[1] = swap;
	return call_end(&i, real.compare_swap_into(port, peer, key, offset,
				    compare, swap, previous, tag, flags));
}

CAY_API int cay_flush(
	struct cay_port *port, struct cay_peer *peer, uint64_t deadline)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_FLUSH, port, peer);
	int r = real.flush(port, peer, deadline);
	/* All operations are complete, though one was refused. */
	call_end(&i, r == -EREMOTEIO ? 0 : r);
	return r;
}

/* ---- windows ---- */

CAY_API int cay_window_open(struct cay_port *port, void *memory, size_t bytes,
	unsigned rights, struct cay_window **out)
{
	struct cay_key key;
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_WINDOW, port, NULL);
	i.bytes = bits_min(bytes, TRACE_BYTES_MAX);
	i.base = (uint64_t)(uintptr_t)memory;
	/* Contents, unless zero or recorded with another window. */
	const unsigned char *first = memory;
	bool zero = !memory || bytes == 0 ||
		    (*first == 0 && memcmp(first, first + 1, bytes - 1) == 0);
	if (!zero && bytes <= CONTENT_MAX &&
		!handles_cover(real.port_addr(port), memory, bytes))
		call_payload(&i, memory, bytes);
	int r = real.window_open(port, memory, bytes, rights, out);
	if (r == 0) {
		real.window_key(*out, &key);
		const struct record_handle h = { .port = real.port_addr(port),
			.window = (uint16_t)key.window,
			.memory = memory,
			.bytes = bytes };
		handle_add(*out, &h);
		call_place(&i, key, 0);
		i.rights = (uint8_t)rights;
	}
	return call_end(&i, r);
}

/* The port of a window is known from its opening. */
static struct trace_instruction begin_window(
	enum trace_kind kind, const struct record_handle *h)
{
	struct trace_instruction i = call_begin(kind, NULL, NULL);
	i.node = h->port.node;
	i.port = i.peer = h->port.vpid;
	i.window = h->window;
	return i;
}

/* Also called by cay_free(). */
CAY_API int cay_window_close(struct cay_window *window)
{
	struct record_handle h;
	if (!real_load())
		return -ENOSYS;
	if (!handle_find(window, &h))
		return real.window_close(window);
	struct trace_instruction i = begin_window(TRACE_WINDOW_CLOSE, &h);
	int r = real.window_close(window);
	/* After these errors the caller closes the window again. */
	if (r != -ETIMEDOUT && r != -ECHILD)
		handle_remove(window, &h);
	return call_end(&i, r);
}

CAY_API int cay_window_revoke(struct cay_window *window, struct cay_key *key)
{
	struct record_handle h;
	if (!real_load())
		return -ENOSYS;
	if (!handle_find(window, &h))
		return real.window_revoke(window, key);
	struct trace_instruction i = begin_window(TRACE_WINDOW_REVOKE, &h);
	int r = real.window_revoke(window, key);
	if (r == 0)
		i.key = key->capability & CAY_CAPABILITY_MASK;
	return call_end(&i, r);
}

CAY_API int cay_window_lock(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t deadline)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_WINDOW_LOCK, port, peer);
	call_place(&i, key, 0);
	int r = real.window_lock(port, peer, key, deadline);
	i.time_ns = clock_now_ns(); /* the call may block */
	return call_end(&i, r);
}

CAY_API int cay_window_unlock(
	struct cay_port *port, struct cay_peer *peer, struct cay_key key)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		call_begin(TRACE_WINDOW_UNLOCK, port, peer);
	call_place(&i, key, 0);
	return call_end(&i, real.window_unlock(port, peer, key));
}

/* ---- posted receives ---- */

CAY_API int cay_receive_mode(struct cay_port *port, enum cay_receive_mode mode)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_RECEIVE_MODE, port, NULL);
	i.mode = mode;
	return call_end(&i, real.receive_mode(port, mode));
}

CAY_API int cay_receive_post(
	struct cay_port *port, void *memory, size_t bytes, uint64_t cookie)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_RECEIVE_POST, port, NULL);
	i.bytes = bits_min(bytes, TRACE_BYTES_MAX);
	i.cookie = cookie;
	return call_end(&i, real.receive_post(port, memory, bytes, cookie));
}

CAY_API int cay_receive_cancel(struct cay_port *port, uint64_t cookie)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		call_begin(TRACE_RECEIVE_CANCEL, port, NULL);
	i.cookie = cookie;
	return call_end(&i, real.receive_cancel(port, cookie));
}
