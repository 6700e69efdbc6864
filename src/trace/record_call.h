/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the calls of the recorder have in common: the library behind them, and
 * how a call becomes a line.
 *
 *	struct trace_instruction i = call_begin(TRACE_FLUSH, port, peer);
 *	return call_end(&i, real.flush(port, peer, deadline));
 */
#ifndef CAY_TRACE_RECORD_CALL_H
#define CAY_TRACE_RECORD_CALL_H

#include "cay/cay.h"
#include "trace/trace.h"

/* Its calls, behind ours of the same names. */
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

/* Before anything else. False: that is another libcay, or none. */
bool real_ready(void);

/* Is it the library itself that calls, from inside another call? */
bool real_calls_us(const void *return_address);

/* Either may be NULL. The time is now. */
struct trace_instruction call_begin(
	enum trace_kind, struct cay_port *, struct cay_peer *);

/* Writes it down if the library has accepted it. Gives r. */
int call_end(const struct trace_instruction *, int r);

/* What a call was told. */
void call_payload(struct trace_instruction *, const void *data, uint64_t bytes);
void call_place(struct trace_instruction *, struct cay_key, uint64_t offset);
void call_request(struct trace_instruction *, uint64_t tag, unsigned flags);

#endif
