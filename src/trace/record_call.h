/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common parts of the interposed calls: the calls of libcay, and the recording
 * of a call.
 *
 *	struct trace_instruction i = call_begin(TRACE_FLUSH, port, peer);
 *	return call_end(&i, real.flush(port, peer, deadline));
 */
#ifndef CAY_TRACE_RECORD_CALL_H
#define CAY_TRACE_RECORD_CALL_H

#include "cay/cay.h"
#include "trace/trace.h"

/* The interposed calls of libcay. */
struct real_calls {
	__typeof__(&cay_port_open) port_open;
	__typeof__(&cay_port_close) port_close;
	__typeof__(&cay_port_addr) port_addr;
	__typeof__(&cay_peer_resolve) peer_resolve;
	__typeof__(&cay_peer_lookup) peer_lookup;
	__typeof__(&cay_peer_release) peer_release;
	__typeof__(&cay_peer_addr) peer_addr;
	__typeof__(&cay_send) send;
	__typeof__(&cay_send_tagged) send_tagged;
	__typeof__(&cay_sendv_tagged) sendv_tagged;
	__typeof__(&cay_send_wait) send_wait;
	__typeof__(&cay_send_burst) send_burst;
	__typeof__(&cay_reply) reply;
	__typeof__(&cay_poll) poll;
	__typeof__(&cay_put) put;
	__typeof__(&cay_put_masked) put_masked;
	__typeof__(&cay_get) get;
	__typeof__(&cay_fetch_add) fetch_add;
	__typeof__(&cay_fetch_add_into) fetch_add_into;
	__typeof__(&cay_compare_swap) compare_swap;
	__typeof__(&cay_compare_swap_into) compare_swap_into;
	__typeof__(&cay_flush) flush;
	__typeof__(&cay_window_open) window_open;
	__typeof__(&cay_window_close) window_close;
	__typeof__(&cay_window_key) window_key;
	__typeof__(&cay_window_revoke) window_revoke;
	__typeof__(&cay_window_lock) window_lock;
	__typeof__(&cay_window_unlock) window_unlock;
	__typeof__(&cay_receive_mode) receive_mode;
	__typeof__(&cay_receive_post) receive_post;
	__typeof__(&cay_receive_cancel) receive_cancel;
};

extern struct real_calls real;

/*
 * Finds the calls of libcay; must be called first. Returns false if there is no
 * libcay, or one that lacks a call.
 */
bool real_load(void);

/* Returns true if the return address is inside libcay itself. */
bool real_is_caller(const void *return_address);

/* Starts a record with the current time. Port and peer may be NULL. */
struct trace_instruction call_begin(
	enum trace_kind, struct cay_port *, struct cay_peer *);

/* Records the call and its duration if r, its result, is not an error. Returns
 * r. */
int call_end(struct trace_instruction *, int r);

/* Arguments of a call. */
void call_payload(struct trace_instruction *, const void *data, uint64_t bytes);
void call_place(struct trace_instruction *, struct cay_key, uint64_t offset);
void call_request(struct trace_instruction *, uint64_t tag, unsigned flags);

#endif
