/* SPDX-License-Identifier: BSD-2-Clause */
/* Delivers messages to posted receives. See receive.h. */
#include <string.h>

#include "provider/endpoint/control.h"
#include "provider/message/fetch.h"
#include "provider/message/path.h"
#include "provider/message/receive.h"
#include "provider/message/unexpected.h"

/* Copies an eager message into the buffers of a receive and completes it. */
static void deliver_eager(
	struct endpoint *ep, struct receive *r, const struct incoming *m)
{
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = receive_flags(m->head),
		.buf = (char *)r->iov[0].iov_base + r->used,
		.data = m->data,
		.tag = m->tag };
	size_t at = r->used, done = 0;
	for (uint32_t i = 0; i < r->iov_count && done < m->length; i++) {
		size_t here = r->iov[i].iov_len;
		if (at >= here) {
			at -= here;
			continue;
		}
		size_t n = bits_min(here - at, m->length - done);
		memcpy((char *)r->iov[i].iov_base + at, m->bytes + done, n);
		done += n;
		at = 0;
	}
	e.len = done;
	if (unlikely(done < m->length)) {
		e.err = FI_ETRUNC;
		e.prov_errno = -FI_ETRUNC;
		e.olen = m->length - done;
	}
	r->used += done;
	receive_end(ep, r, &e, m->from->fi_addr);
}

int deliver(struct endpoint *ep, struct receive *r, const struct incoming *m,
	struct matcher *posted)
{
	struct op *op = NULL;
	int e = receive_reserve(ep, r);
	if (unlikely(e))
		return e;
	if (!m->bytes) {
		op = fetch_new(ep, r, m);
		if (!op)
			return -FI_ENOMEM;
	} else if (unlikely(m->head & WIRE_ID)) {
		e = control_send(m->from, WIRE_FIN, m->id, NULL, 0);
		if (e)
			return e;
	}
	if (posted && receive_full(r, bits_min(m->length, r->length - r->used)))
		receive_dequeue(ep, posted, r);
	if (op)
		fetch_start(op);
	else
		deliver_eager(ep, r, m);
	return 0;
}

int deliver_incoming(struct endpoint *ep, const struct incoming *m)
{
	struct matcher *matcher = receive_matcher(ep, receive_tagged(m->head));
	struct receive *r =
		matcher_find_receive(matcher, m->from->fi_addr, m->tag);
	if (likely(r != NULL))
		return deliver(ep, r, m, matcher);
	return unexpected_hold(ep, matcher, m);
}

/* ---- parsing ---- */

/* Parses a word at the front of the payload. Returns false if it is missing. */
static bool word_parse(struct incoming *m, uint64_t *word)
{
	if (m->length < sizeof(*word))
		return false;
	memcpy(word, m->bytes, sizeof(*word));
	m->bytes += sizeof(*word);
	m->length -= sizeof(*word);
	return true;
}

static bool words_parse(struct incoming *m)
{
	if (m->head & WIRE_DATA_WORD) {
		if (!word_parse(m, &m->data))
			return false;
	} else {
		m->data = m->head >> WIRE_IMMEDIATE_SHIFT;
	}
	return !(m->head & WIRE_ID) || word_parse(m, &m->id);
}

static bool rts_parse(struct incoming *m)
{
	struct wire_rts rts;
	if (m->length != sizeof(rts))
		return false;
	memcpy(&rts, m->bytes, sizeof(rts));
	if (!(m->head & WIRE_ID) || rts.length > PROVIDER_MESSAGE_MAX ||
		rts.address < WIRE_BULK_BASE)
		return false;
	m->bytes = NULL;
	m->length = rts.length;
	m->address = rts.address;
	m->key = wire_key_of(rts.key);
	return true;
}

int deliver_message(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	/* Never NULL for an empty message: that would mean rendezvous. */
	struct incoming m = { .from = from,
		.head = e->api_tag,
		.tag = e->tag,
		.bytes = e->data ? e->data : (const void *)"",
		.length = e->length };
	unsigned kind = WIRE_KIND(m.head);
	bool valid = words_parse(&m);
	if (valid && (kind == WIRE_RTS || kind == WIRE_TAGGED_RTS))
		valid = rts_parse(&m);
	if (unlikely(!valid))
		return -EBADMSG;
	int r = deliver_incoming(ep, &m);
	if (r == 0 && e->length <= PATH_BYTES_MAX)
		path_count(from);
	return r;
}

/* ---- the fast path ---- */

/* Does the same as deliver(), in a straight line. */
bool deliver_fast(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct receive *r =
		matcher_find_receive(&ep->tagged, from->fi_addr, e->tag);
	if (unlikely(!r || r->iov_count != 1 || e->length > r->length ||
		     !r->reserved || receive_silent(ep, r)))
		return false;
	receive_dequeue(ep, &ep->tagged, r);
	if (likely(e->length <= PATH_BYTES_MAX)) {
		copy_short(r->iov[0].iov_base, e->data, e->length);
		path_count(from);
	} else {
		memcpy(r->iov[0].iov_base, e->data, e->length);
	}

	struct cq_slot *slot = cq_slot(ep->rx_cq);
	slot->entry.op_context = r->context;
	slot->entry.flags = receive_flags(e->api_tag);
	slot->entry.len = e->length;
	slot->entry.buf = r->iov[0].iov_base;
	slot->entry.data = e->api_tag >> WIRE_IMMEDIATE_SHIFT;
	slot->entry.tag = e->tag;
	slot->source = from->fi_addr;
	slot->failed = 0;
	if (unlikely(ep->rx_cq->wait.watched))
		wait_wake(&ep->rx_cq->wait);
	if (ep->counters[COUNT_RECV])
		cntr_count(ep->counters[COUNT_RECV], false);

	r->reserved = 0;
	receive_recycle(ep, r);
	return true;
}
