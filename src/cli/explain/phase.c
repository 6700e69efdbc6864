/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the instructions of `cay explain`: phases and requests. */
#include <errno.h>

#include "cli/explain/explain.h"

/* ---- phases ---- */

void phase_begin(struct fixture *b, struct explanation *e, const char *name,
	const char *side)
{
	struct explain_phase *p = &e->phase[e->phases++];
	p->name = name;
	p->side = side;
	p->counting = (struct counting){ .arena = &b->arena,
		.trace = p->trace,
		.trace_max = EXPLAIN_TRACE_MAX };
	counting_begin(&p->counting);
}

void phase_end(void)
{
	counting_end();
}

int entry_consume(struct fixture *b, uint32_t port, struct explanation *e,
	const char *name)
{
	struct context *own = fixture_own(b, port);
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	if (!counting_peek(own, queue_nq(r)))
		return -EIO;
	struct cay_nqe *nqe =
		&own->nq[queue_nq(r) & ((1ull << own->nq_log2) - 1)];
	e->entry[e->entries++] = (struct explain_entry){ name, *nqe };
	return 0;
}

void entries_return(struct fixture *b, uint32_t port)
{
	struct context *own = fixture_own(b, port);
	uint64_t w =
		atomic_load_explicit(&own->control->w, memory_order_relaxed);
	counting_return_entries(own, w & ~W_FLAGS);
}

int target_receives(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "target receives", "target");
	int r = entry_consume(b, 1, e, "at the target");
	entries_return(b, 1);
	phase_end();
	return r;
}

int origin_receives(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "origin receives the completion", "origin");
	int r = entry_consume(b, 0, e, "at the origin");
	entries_return(b, 0);
	counting_completions_returned(&b->port[0].origin, 1);
	phase_end();
	return r;
}

/* ---- requests and completions ---- */

struct completion completion_of(const struct explanation *e, uint16_t command)
{
	const uint64_t *w = e->entry[0].nqe.word;
	return (struct completion){ .tag = w[CAY_NQE_WORD_TAG],
		.api_tag = EXPLAIN_API_TAG,
		.command = command,
		.peer_node = FIXTURE_NODE,
		.peer_vpid = fixture_vpid(1),
		.length = e->bytes,
		.reference = (uint16_t)w[CAY_NQE_WORD_REFERENCE],
		.sequence = (uint32_t)w[CAY_NQE_WORD_START] };
}

struct packet packet_of(const struct fixture *b, uint16_t command,
	const struct iovec *payload, unsigned flags)
{
	const struct origin *o = &b->port[0].origin;
	return (struct packet){ .command = command,
		.flags = (uint8_t)flags,
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = EXPLAIN_TAG,
		.api_tag = EXPLAIN_API_TAG,
		.pieces = 1,
		.length = payload->iov_len,
		.payload = payload };
}

void vci_fill(struct explanation *e, unsigned command, unsigned flags)
{
	uint64_t *w = e->vci.word;
	w[CAY_VCI_WORD_COMMAND] =
		command | (uint64_t)flags << CAY_VCI_FLAGS_SHIFT |
		CAY_VCI_ROUTE_LOCAL | 1ull << CAY_VCI_ROUTING_OFFSET_SHIFT |
		1ull << CAY_VCI_GENERATION_SHIFT;
	w[CAY_VCI_WORD_TARGET] = fixture_vpid(1) |
				 (uint64_t)EXPLAIN_API_TAG
					 << CAY_VCI_API_TAG_SHIFT;
	w[CAY_VCI_WORD_TAG] = EXPLAIN_TAG;
}

void payload_fill(const struct explanation *e, unsigned char *data)
{
	for (uint64_t i = 0; i < e->bytes; i++)
		data[i] = (unsigned char)(i + 1);
}
