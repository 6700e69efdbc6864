/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder: a library for LD_PRELOAD that interposes the calls of libcay,
 * forwards them, and records the calls that succeed. Programs that are not
 * recorded do not load it.
 *
 * The time stamp of a call is taken before it is forwarded, so an effect never
 * has an earlier time than its cause. Failed calls (-EAGAIN and others) are not
 * recorded. Any thread.
 *
 * This file has ports, peers and messages; record_memory.c has the rest.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "contract/arena.h"
#include "trace/record_call.h"
#include "trace/record_log.h"

/* ---- ports and peers ---- */

static uint32_t power_of_two(uint64_t size, unsigned lowest, unsigned usual)
{
	unsigned n = size ? bits_log2_up(size) : usual;
	return 1u << (n < lowest ? lowest : n);
}

static void queues_record(const struct cay_port_options *o)
{
	const struct trace_queues q = {
		.nq_entries = power_of_two(o->nq_entries, QUEUE_NQ_LOG2_MIN,
			QUEUE_NQ_LOG2_DEFAULT),
		.rdr_bytes =
			(uint64_t)RDR_UNIT *
			power_of_two((o->rdr_bytes + RDR_UNIT - 1) / RDR_UNIT,
				QUEUE_RDR_LOG2_MIN, QUEUE_RDR_LOG2_DEFAULT),
		.windows = o->windows ? o->windows : QUEUE_WINDOWS_DEFAULT,
		.posted = power_of_two(o->posted, 1, QUEUE_POSTED_LOG2_DEFAULT),
	};
	record_queues(&q);
}

CAY_API struct cay_port *cay_port_open(const struct cay_port_options *options)
{
	struct cay_port_options o = { 0 };
	if (!real_load()) {
		errno = ENOSYS;
		return NULL;
	}
	struct trace_instruction i = call_begin(TRACE_PORT_OPEN, NULL, NULL);
	struct cay_port *port = real.port_open(options);
	int before = errno;
	if (port) {
		struct cay_addr addr = real.port_addr(port);
		if (options)
			memcpy(&o, options,
				options->size
					? bits_min(options->size, sizeof(o))
					: sizeof(o));
		i.node = addr.node;
		i.port = i.peer = addr.vpid;
		i.words = o.flags & CAY_PORT_WORD_MODE;
		queues_record(&o);
	}
	call_end(&i, port ? 0 : -1);
	errno = before;
	return port;
}

CAY_API int cay_port_close(struct cay_port *port)
{
	if (!real_load())
		return -ENOSYS;
	if (!port)
		return real.port_close(port);
	struct trace_instruction i = call_begin(TRACE_PORT_CLOSE, port, NULL);
	struct cay_addr addr = real.port_addr(port);
	int r = real.port_close(port);
	if (r == 0)
		handles_remove(addr);
	return call_end(&i, r);
}

/* Time of this thread's last cay_peer_resolve(). */
static _Thread_local uint64_t resolved_ns;

static int peer_end(struct trace_instruction *i, struct cay_port *port,
	struct cay_peer **out, int r)
{
	if (r == 0) {
		const struct record_handle h = { .port = real.port_addr(port) };
		i->peer = real.peer_addr(*out).vpid;
		handle_add(*out, &h);
	}
	return call_end(i, r);
}

CAY_API int cay_peer_resolve(
	struct cay_port *port, struct cay_addr addr, struct cay_peer **out)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_PEER_RESOLVE, port, NULL);
	resolved_ns = i.time_ns;
	return peer_end(&i, port, out, real.peer_resolve(port, addr, out));
}

CAY_API int cay_peer_lookup(struct cay_port *port, const char *name,
	uint64_t deadline, struct cay_peer **out)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i = call_begin(TRACE_PEER_RESOLVE, port, NULL);
	int r = real.peer_lookup(port, name, deadline, out);
	i.time_ns = clock_now_ns(); /* the lookup may block */
	return peer_end(&i, port, out, r);
}

CAY_API void cay_peer_release(struct cay_peer *peer)
{
	struct record_handle h;
	if (!real_load())
		return;
	if (!peer || !handle_remove(peer, &h)) {
		real.peer_release(peer);
		return;
	}
	struct trace_instruction i = call_begin(TRACE_PEER_RELEASE, NULL, peer);
	i.node = h.port.node;
	i.port = h.port.vpid;
	real.peer_release(peer);
	call_end(&i, 0);
}

/* ---- messages ---- */

static struct trace_instruction begin_send(struct cay_port *port,
	struct cay_peer *peer, uint64_t tag, const void *data, size_t length,
	unsigned flags)
{
	struct trace_instruction i = call_begin(TRACE_SEND, port, peer);
	call_request(&i, tag, flags);
	call_payload(&i, data, length);
	return i;
}

/* This thread is in cay_reply(), which may leave by a jump to cay_send(). */
static _Thread_local bool replying;

CAY_API int cay_send(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	if (replying || real_is_caller(__builtin_return_address(0)))
		return real.send(port, peer, tag, data, length, flags);
	struct trace_instruction i =
		begin_send(port, peer, tag, data, length, flags);
	return call_end(&i, real.send(port, peer, tag, data, length, flags));
}

CAY_API int cay_send_tagged(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, uint32_t api_tag, const void *data, size_t length,
	unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		begin_send(port, peer, tag, data, length, flags);
	i.api_tag = api_tag;
	return call_end(&i, real.send_tagged(port, peer, tag, api_tag, data,
				    length, flags));
}

/* Copies the pieces into one buffer. Returns NULL if they are invalid. */
static unsigned char *pieces_join(
	const struct iovec *pieces, int count, size_t *length)
{
	size_t all = 0, at = 0;
	if (count < 0 || count > IOV_MAX || (count && !pieces))
		return NULL;
	for (int i = 0; i < count; i++) {
		if (!pieces[i].iov_base && pieces[i].iov_len)
			return NULL;
		all += pieces[i].iov_len;
	}
	unsigned char *joined = malloc(all + 1);
	for (int i = 0; joined && i < count; i++) {
		if (pieces[i].iov_len)
			memcpy(joined + at, pieces[i].iov_base,
				pieces[i].iov_len);
		at += pieces[i].iov_len;
	}
	*length = all;
	return joined;
}

CAY_API int cay_sendv_tagged(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, uint32_t api_tag, const struct iovec *pieces, int count,
	unsigned flags)
{
	size_t length = 0;
	if (!real_load())
		return -ENOSYS;
	unsigned char *joined = pieces_join(pieces, count, &length);
	struct trace_instruction i =
		begin_send(port, peer, tag, joined, length, flags);
	i.api_tag = api_tag;
	free(joined);
	return call_end(&i, real.sendv_tagged(port, peer, tag, api_tag, pieces,
				    count, flags));
}

CAY_API int cay_sendv(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, const struct iovec *pieces, int count, unsigned flags)
{
	return cay_sendv_tagged(port, peer, tag, 0, pieces, count, flags);
}

CAY_API int cay_send_wait(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, const void *data, size_t length, unsigned flags,
	uint64_t deadline)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		begin_send(port, peer, tag, data, length, flags);
	int r = real.send_wait(port, peer, tag, data, length, flags, deadline);
	return call_end(&i, r);
}

/*
 * Each message that was sent is an instruction. They are in the order of their
 * times, which differ by less than a message takes.
 */
CAY_API int cay_send_burst(struct cay_port *port, struct cay_peer *peer,
	const struct cay_message *messages, int count)
{
	if (!real_load())
		return -ENOSYS;
	uint64_t time_ns = clock_now_ns();
	int n = real.send_burst(port, peer, messages, count);
	for (int at = 0; at < n; at++) {
		const struct cay_message *m = &messages[at];
		struct trace_instruction i = begin_send(
			port, peer, m->tag, m->data, m->length, m->flags);
		i.api_tag = m->api_tag;
		i.time_ns = time_ns + (uint64_t)at;
		call_end(&i, 0);
	}
	return n;
}

/*
 * A reply may resolve the peer first. That call of libcay is recorded with its
 * own, later time, so the message gets a time after it.
 */
CAY_API int cay_reply(struct cay_port *port, const struct cay_event *e,
	uint64_t tag, const void *data, size_t length, unsigned flags)
{
	if (!real_load())
		return -ENOSYS;
	struct trace_instruction i =
		begin_send(port, NULL, tag, data, length, flags);
	replying = true;
	int r = real.reply(port, e, tag, data, length, flags);
	replying = false;
	if (r == 0) {
		i.peer = e->peer.vpid;
		if (resolved_ns >= i.time_ns)
			i.time_ns = resolved_ns + 1;
	}
	return call_end(&i, r);
}

/*
 * The time stamp is taken afterwards: the events were caused before. The end of
 * a resolution is recorded as cay_peer_resolve() is.
 */
CAY_API int cay_poll(struct cay_port *port, struct cay_event *events, int max)
{
	if (!real_load())
		return -ENOSYS;
	int n = real.poll(port, events, max);
	for (int e = 0; e < n; e++)
		if (events[e].kind == CAY_EVENT_RESOLVED && events[e].handle) {
			struct trace_instruction i =
				call_begin(TRACE_PEER_RESOLVE, port, NULL);
			peer_end(&i, port, &events[e].handle, 0);
		}
	if (n > 0) {
		struct trace_instruction i =
			call_begin(TRACE_DRAIN, port, NULL);
		call_end(&i, 0);
	}
	return n;
}
