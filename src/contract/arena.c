/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Validation of copies of shared structures: each function returns whether a
 * correct writer could have written the copy. No function modifies anything.
 */
#include "contract/arena.h"

#include <errno.h>

#include "base/bits.h"

void arena_header_layout(
	struct arena_header *h, uint64_t bytes, uint32_t control_stride)
{
	uint64_t rest =
		ARENA_SIZE_FOR(0ull, control_stride) - ARENA_HEAP_OFFSET;
	h->size = bytes;
	h->control_stride = control_stride;
	h->directory_offset = ARENA_DIRECTORY_OFFSET;
	h->heap_offset = ARENA_HEAP_OFFSET;
	h->heap_end = bytes > rest ? bytes - rest : 0;
	h->control_offset[0] = ARENA_CONTROL_OFFSET(0ull);
	h->control_offset[1] = ARENA_CONTROL_OFFSET(1ull);
	if (rest) {
		h->heap_end -= h->heap_end % ARENA_PAGE;
		h->control_offset[0] = h->heap_end;
		h->control_offset[1] = h->heap_end + rest / 2;
	}
}

int arena_header_valid(const struct arena_header *h, uint64_t mapped_bytes)
{
	if (h->magic != ARENA_MAGIC)
		return -EPROTO;
	if (h->major != ARENA_MAJOR || h->features != 0)
		return -EPROTONOSUPPORT;
	if (h->control_stride != ARENA_STRIDE_PACKED &&
		h->control_stride != ARENA_STRIDE_PAGE)
		return -EBADMSG;
	struct arena_header right = { 0 };
	arena_header_layout(&right, h->size, h->control_stride);
	if (h->size > mapped_bytes || right.heap_end <= right.heap_offset ||
		h->directory_offset != right.directory_offset ||
		h->control_offset[0] != right.control_offset[0] ||
		h->control_offset[1] != right.control_offset[1] ||
		h->heap_offset != right.heap_offset ||
		h->heap_end != right.heap_end)
		return -EBADMSG;
	return 0;
}

static bool log2_between(uint8_t log2, unsigned low, unsigned high)
{
	return log2 >= low && log2 <= high;
}

/* An extent of the heap, in whole pages. */
static bool extent_valid(uint64_t offset, uint64_t bytes, uint64_t arena_bytes)
{
	return offset >= ARENA_HEAP_OFFSET && offset % ARENA_PAGE == 0 &&
	       bits_inside(offset, bytes, arena_bytes);
}

/* A region of an extent; `at` counts lines. */
static bool region_valid(uint32_t at, uint64_t bytes, uint64_t extent_bytes)
{
	return bits_inside((uint64_t)at * CAY_LINE, bytes, extent_bytes);
}

static bool queues_valid(const struct queue_config *c)
{
	uint64_t bytes = c->queues_bytes;
	return region_valid(
		       c->nq_at, (uint64_t)CAY_LINE << c->nq_log2, bytes) &&
	       region_valid(
		       c->rdr_at, (uint64_t)RDR_UNIT << c->rdr_log2, bytes);
}

static bool tables_valid(const struct queue_config *c)
{
	uint64_t bytes = c->tables_bytes;
	return region_valid(
		       c->wq_at, (uint64_t)CAY_LINE << c->wq_log2, bytes) &&
	       region_valid(
		       c->sdr_at, (uint64_t)RDR_UNIT << c->sdr_log2, bytes) &&
	       region_valid(c->refs_at, QUEUE_REFS_BYTES, bytes) &&
	       region_valid(c->peers_at,
		       (uint64_t)c->peers * sizeof(struct peer_entry), bytes) &&
	       region_valid(c->wdt_at,
		       (uint64_t)c->windows *
			       sizeof(struct cay_window_descriptor),
		       bytes) &&
	       region_valid(c->posted_at,
		       ((uint64_t)CAY_LINE << c->posted_log2) + CAY_LINE,
		       bytes);
}

bool queue_config_valid(const struct queue_config *c, uint64_t arena_bytes)
{
	if (c->epoch == 0 ||
		!log2_between(
			c->nq_log2, QUEUE_NQ_LOG2_MIN, QUEUE_NQ_LOG2_MAX) ||
		!log2_between(
			c->rdr_log2, QUEUE_RDR_LOG2_MIN, QUEUE_RDR_LOG2_MAX) ||
		!log2_between(
			c->wq_log2, QUEUE_WQ_LOG2_MIN, QUEUE_WQ_LOG2_MAX) ||
		!log2_between(
			c->sdr_log2, QUEUE_SDR_LOG2_MIN, QUEUE_SDR_LOG2_MAX) ||
		c->refs_log2 != QUEUE_REFS_LOG2 || c->peers > CAY_VPIDS ||
		c->windows > CAY_VPIDS ||
		c->posted_log2 > QUEUE_POSTED_LOG2_MAX)
		return false;
	if ((uint64_t)c->cq_reserve + c->priority_reserve >= 1ull << c->nq_log2)
		return false;
	return extent_valid(c->queues_offset, c->queues_bytes, arena_bytes) &&
	       extent_valid(c->tables_offset, c->tables_bytes, arena_bytes) &&
	       queues_valid(c) && tables_valid(c);
}

bool queue_position_valid(
	uint64_t w, uint64_t r, uint8_t nq_log2, uint8_t rdr_log2)
{
	uint64_t entries = (w - r) & QUEUE_NQ_MASK;
	uint64_t units = ((w >> QUEUE_NQ_BITS) - (r >> QUEUE_NQ_BITS)) &
			 QUEUE_RDR_MASK;
	return entries <= 1ull << nq_log2 && units <= 1ull << rdr_log2;
}

bool peer_entry_valid(const struct peer_entry *p, const struct arena_header *h)
{
	return p->epoch != 0 && p->path == PATH_DIRECT &&
	       p->control_offset ==
		       h->control_offset[p->epoch & 1] +
			       (uint64_t)p->vpid * h->control_stride;
}

bool window_valid(const struct cay_window_descriptor *w, uint64_t arena_bytes)
{
	if (w->pid != 0)
		return w->start + w->length >= w->start;
	return w->start >= ARENA_HEAP_OFFSET &&
	       bits_inside(w->start, w->length, arena_bytes);
}

bool posted_valid(const struct cay_posted_receive *p, uint64_t arena_bytes)
{
	if (p->flags == CAY_POSTED_PRIVATE)
		return p->length != 0 && p->pid != 0 &&
		       p->offset + p->length >= p->length;
	return p->flags == 0 && p->length != 0 &&
	       p->offset >= ARENA_HEAP_OFFSET &&
	       bits_inside(p->offset, p->length, arena_bytes);
}

bool reference_valid(const struct reference *ref, uint64_t arena_bytes)
{
	/* Node and target use the emulated access in place. */
	if (ref->kind == REFERENCE_ACCESS &&
		(ref->length < sizeof(struct emulated_access) ||
			ref->address % _Alignof(struct emulated_access)))
		return false;
	if (ref->kind != REFERENCE_PROCESS)
		return ref->kind <= REFERENCE_ACCESS &&
		       ref->address >= ARENA_HEAP_OFFSET &&
		       bits_inside(ref->address, ref->length, arena_bytes);
	return ref->pid != 0 && ref->address + ref->length >= ref->address;
}

bool op_record_valid(uint64_t state, uint64_t w_old, uint64_t w_new)
{
	unsigned now = state & OP_STATE_MASK;
	if (now == OP_IDLE || now == OP_ACCESS)
		return true;
	uint64_t entries = (w_new - w_old) & QUEUE_NQ_MASK;
	return entries >= 1 && entries <= QUEUE_CLAIM_MAX &&
	       (w_new & W_FLAGS) == 0;
}

/* Returns the number of immediate words in a fast command. */
static unsigned vci_words(unsigned command)
{
	return command & ((command & CAY_COMMAND_OPERATION) == CAY_FAST_SEND
					 ? CAY_COMMAND_LENGTH
					 : CAY_COMMAND_LENGTH2);
}

bool vci_valid(const struct cay_vci *v)
{
	unsigned word = v->word[0] & 0xffff;
	unsigned flags = (v->word[0] >> CAY_VCI_FLAGS_SHIFT) & 0xff;
	unsigned bytes = (v->word[1] >> CAY_VCI_BYTES_SHIFT) & 0xffff;

	if (word & ~CAY_COMMAND_MASK || flags & ~CAY_VCI_FLAGS)
		return false;
	unsigned words = vci_words(word);
	switch (word & CAY_COMMAND_OPERATION) {
	case CAY_FAST_SEND:
		return words <= CAY_FAST_SEND_WORDS && words == (bytes + 7) / 8;
	case CAY_FAST_PUT:
		return !(word & CAY_COMMAND_RESPONSE) && words >= 1 &&
		       words == (bytes + 7) / 8;
	case CAY_FAST_GET:
		return !(word & (CAY_COMMAND_RESPONSE | CAY_COMMAND_ACK)) &&
		       words >= 1 && words == (bytes + 7) / 8;
	case CAY_MISALIGNED_PUT:
	case CAY_SEND:
	case CAY_PUT:
		return (word & CAY_COMMAND_LENGTH) == 0;
	case CAY_GET:
		return word == CAY_GET;
	default:
		return word == CAY_FAA || word == CAY_CAS;
	}
}

bool nqe_valid(const struct cay_nqe *n)
{
	uint64_t valid = n->word[CAY_NQE_WORD_VALID];
	unsigned command = valid & CAY_COMMAND_MASK;
	unsigned error = (valid & CAY_COMMAND_ERROR_MASK) >>
			 CAY_COMMAND_ERROR_SHIFT;
	unsigned bytes = (valid >> CAY_NQE_BYTES_SHIFT) & 0xffff;

	if (valid & CAY_COMMAND_GROUP_MASK || error >= CAY_ERROR_COUNT)
		return false;
	switch (command) {
	case CAY_NQE_INVALID:
		return bytes == CAY_VOID_EXTENT || bytes == CAY_VOID_UNKNOWN;
	case CAY_NOTIFY_FAST_RECV:
		return bytes <= CAY_FAST_SEND_BYTES;
	case CAY_NOTIFY_CC: /* of a FAST_GET: with its bytes */
		return bytes <= CAY_FAST_PUT_BYTES;
	case CAY_NOTIFY_RMA:
	case CAY_NOTIFY_RECV:
	case CAY_NOTIFY_STATUS:
	case CAY_NOTIFY_POSTED_RECV:
	case CAY_NOTIFY_ULTRA:
	case CAY_NOTIFY_BARRIER:
	case CAY_NOTIFY_GONE:
		return bytes == 0;
	default:
		return false;
	}
}
