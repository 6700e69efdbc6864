/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: executes a packet at its target. Its steps are context load,
 * (window load and check for remote memory), acknowledge, payload, notification
 * generation, notification store, context write-back. Here the write-back comes
 * first, as the claim on W, because all senders share the context.
 *
 * On the direct path it runs on the thread of the sender.
 */

/* Returns how many entries a message must leave free at its target. */
static inline uint32_t completer_reserve(
	const struct context *to, unsigned flags)
{
	return flags & CAY_VCI_PRIORITY ? to->cq_reserve
					: to->cq_reserve + to->priority_reserve;
}

/* Returns the last 1 to 7 bytes of a message as a word. */
static inline uint64_t completer_tail(const unsigned char *from, size_t bytes)
{
	uint64_t word = 0;
	for (size_t i = 0; i < bytes; i++)
		word |= (uint64_t)from[i] << (8 * i);
	return word;
}

static inline void completer_word(uint64_t *to, const unsigned char *from,
	unsigned i, enum host_kind kind)
{
	uint64_t word;
	memcpy(&word, from + 8 * i, sizeof(word));
	host_write(&to[i], word, kind);
}

#define COMPLETER_IMMEDIATE_MAX 48 /* bytes of a message in one line */

/*
 * Stores immediate data in whole words, the width in which it is loaded, from
 * word `first` of `line` on. Unrolled, because a loop of at most six iterations
 * costs more than its body.
 */
static folded void completer_immediate(uint64_t *line, unsigned first,
	const unsigned char *from, size_t bytes, enum host_kind kind)
{
	size_t words = bytes / 8;
	switch (words) {
	case 6:
		completer_word(line + first, from, 5, kind);
		/* fall through */
	case 5:
		completer_word(line + first, from, 4, kind);
		/* fall through */
	case 4:
		completer_word(line + first, from, 3, kind);
		/* fall through */
	case 3:
		completer_word(line + first, from, 2, kind);
		/* fall through */
	case 2:
		completer_word(line + first, from, 1, kind);
		/* fall through */
	case 1:
		completer_word(line + first, from, 0, kind);
	}
	if (unlikely(bytes % 8))
		host_write(&line[first + words],
			completer_tail(from + 8 * words, bytes % 8), kind);
}

static inline void completer_gather(unsigned char *to, const struct iovec *from,
	uint32_t pieces, enum host_kind kind)
{
	for (uint32_t i = 0; i < pieces; i++) {
		if (from[i].iov_len)
			host_copy(to, from[i].iov_base, from[i].iov_len, kind);
		to += from[i].iov_len;
	}
}

#define COMPLETER_SHORT_MAX 512 /* bytes that are copied without a call */

/* Stores a message in the RDR. */
static folded void completer_payload(unsigned char *to, const struct packet *p)
{
	if (p->pieces == 1 && p->length >= HOST_COPY_SHORT &&
		p->length <= COMPLETER_SHORT_MAX)
		host_copy_short(to, p->payload->iov_base, p->length, HOST_RDR);
	else
		completer_gather(to, p->payload, p->pieces, HOST_RDR);
}

/* Stores a message of up to 40 bytes in its notification. */
static folded void completer_fast_fill(
	struct op_record *op, struct cay_nqe *nqe, const struct packet *p)
{
	notify_head(nqe, p->tag, p->origin_node, p->api_tag);
	if (p->pieces == 1) {
		completer_immediate(nqe->word, CAY_NQE_WORD_DATA,
			p->payload->iov_base, p->length, HOST_NQE);
	} else {
		unsigned char joined[COMPLETER_IMMEDIATE_MAX];
		completer_gather(joined, p->payload, p->pieces, HOST_NQE);
		completer_immediate(nqe->word, CAY_NQE_WORD_DATA, joined,
			p->length, HOST_NQE);
	}
	host_step(op, STEP_ENTRY);
}

/* Does the same and publishes it. */
static folded int completer_fast_entry(struct context *to, struct op_record *op,
	const struct packet *p, const struct claim *claim)
{
	uint64_t position = queue_nq(claim->w_old);
	struct cay_nqe *nqe = notify_entry(to, position);
	completer_fast_fill(op, nqe, p);
	notify_publish(nqe, notify_word(to, position, CAY_NOTIFY_FAST_RECV,
				    p->length, p->origin_vpid));
	host_step(op, STEP_PUBLISH);
	return notify_finish(to, op, claim, p->flags);
}

/* Delivers a message of up to 40 bytes in its notification. */
static folded int completer_fast_send(
	struct context *to, struct op_record *op, const struct packet *p)
{
	struct claim claim;
	int r = notify_claim(
		to, op, 0, completer_reserve(to, p->flags), &claim);
	return likely(!r) ? completer_fast_entry(to, op, p, &claim) : r;
}

/* Of a claim in a replaced set: counts the entries before the fenced ones. */
__attribute__((cold, noinline, unused)) static int completer_delivered(
	const struct context *to, const struct claim *claim)
{
	uint32_t count = claim_entries(claim), i = 0;
	while (i < count && !notify_fenced(to, queue_nq(claim->w_old + i)))
		i++;
	return i ? (int)i : -ESTALE;
}

/*
 * Delivers messages of up to 40 bytes: claims an entry for each with one CAS,
 * publishes them in order and wakes the target once. `p` has what is the same
 * for all. Returns how many are delivered, as many as there is room for, or
 * -EAGAIN, -EPIPE or -ESTALE if none is.
 */
static folded int completer_burst(struct context *to, struct op_record *op,
	struct packet p, const struct cay_message *m, uint32_t count)
{
	struct claim claim;
	int r = claim_try(
		to, op, count, 0, completer_reserve(to, p.flags), &claim);
	if (unlikely(r)) {
		record_idle(op);
		return r;
	}
	uint64_t position = queue_nq(claim.w_old);
	const struct cay_message *end = m + claim_entries(&claim);
	count = claim_entries(&claim);
	while (m < end) {
		/* Up to the end of the lap the entries follow each other. */
		uint64_t lap =
			to->nq_entries - (position & (to->nq_entries - 1));
		const struct cay_message *stop =
			m + bits_min((uint64_t)(end - m), lap);
		struct cay_nqe *nqe = notify_entry(to, position);
		uint64_t word = notify_word(
			to, position, CAY_NOTIFY_FAST_RECV, 0, p.origin_vpid);
		position = queue_nq(position + lap);
		for (; m < stop; m++, nqe++) {
			const struct iovec data = { (void *)m->data,
				m->length };
			p.tag = m->tag;
			p.api_tag = m->api_tag;
			p.length = m->length;
			p.payload = &data;
			completer_fast_fill(op, nqe, &p);
			notify_publish(
				nqe, word | p.length << CAY_NQE_BYTES_SHIFT);
			host_step(op, STEP_PUBLISH);
		}
	}
	r = notify_wake(to, op, &claim, p.flags);
	r = likely(!r) ? (int)count : completer_delivered(to, &claim);
	record_idle(op);
	return r;
}

/* Fills in a NOTIFY_RECV, which says where the payload is. */
static inline void completer_recv_entry(struct cay_nqe *nqe,
	const struct packet *p, uint64_t start, const struct claim *claim)
{
	notify_head(nqe, p->tag, p->origin_node, p->api_tag);
	notify_fill(nqe, &(struct notify_body){ p->length, start, p->reference,
				 notify_pointers(claim),
				 /* The target copies it into the completion. */
				 p->reference ? p->command : 0 });
}

/* Returns the command of the notification: an emulated access keeps its own. */
static inline uint16_t completer_notification(const struct packet *p)
{
	return (p->command & CAY_COMMAND_OPERATION) == CAY_SEND
		       ? CAY_NOTIFY_RECV
		       : p->command;
}

/* Returns the payload space that a message needs in the RDR. */
static inline uint32_t completer_units(const struct packet *p)
{
	return p->reference ? 0
			    : (uint32_t)((p->length + RDR_UNIT - 1) / RDR_UNIT);
}

/* Publishes the notification of a message whose payload is stored. */
static inline int completer_entry(struct context *to, struct op_record *op,
	const struct packet *p, struct reference *ref,
	const struct claim *claim)
{
	uint64_t position = queue_nq(claim->w_old);
	struct cay_nqe *nqe = notify_entry(to, position);
	uint64_t start = p->reference ? p->sequence : claim->start;
	completer_recv_entry(nqe, p, start, claim);
	host_step(op, STEP_ENTRY);
	notify_publish(nqe, notify_word(to, position, completer_notification(p),
				    0, p->origin_vpid));
	host_step(op, STEP_PUBLISH);
	if (ref)
		reference_sent(ref, p->sequence, op);
	return notify_finish(to, op, claim, p->flags);
}

/*
 * Delivers a message with its payload in the RDR or, with p->reference, one
 * whose payload stays at the origin.
 */
static inline int completer_send(struct context *to, struct op_record *op,
	const struct packet *p, struct reference *ref)
{
	struct claim claim;
	int r = notify_claim(to, op, completer_units(p),
		completer_reserve(to, p->flags), &claim);
	if (unlikely(r))
		return r;
	if (!p->reference)
		completer_payload(
			to->rdr + (uint64_t)claim.start * RDR_UNIT, p);
	host_step(op, STEP_PAYLOAD);
	return completer_entry(to, op, p, ref, &claim);
}

/* ---- remote memory ---- */

/* Stores whole words, each atomically and after earlier stores. */
static inline void completer_words(
	unsigned char *to, const unsigned char *from, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++) {
		uint64_t word;
		memcpy(&word, from + 8 * i, sizeof(word));
		host_store((_Atomic uint64_t *)(void *)(to + 8 * i), word,
			HOST_MEMORY);
	}
}

static inline void completer_store(
	unsigned char *at, const unsigned char *from, uint64_t bytes)
{
	if (likely(bytes <= CAY_FAST_PUT_BYTES &&
		    ((uintptr_t)at | bytes) % 8 == 0)) {
		completer_words(at, from, bytes / 8);
		return;
	}
	/* Earlier stores of this port become visible first. */
	host_fence_stores();
	host_copy(at, from, bytes, HOST_MEMORY);
}

/* Returns the command for a put: short ones have their data in the VCI. */
static inline uint16_t completer_put_command(uint64_t bytes)
{
	return (uint16_t)(bytes >= 1 && bytes <= CAY_FAST_PUT_BYTES
				  ? CAY_FAST_PUT | (bytes + 7) / 8
				  : CAY_PUT);
}

/* PUT and FAST_PUT. Returns 0, a positive enum cay_error, or -EXDEV. */
static inline int completer_put(
	struct context *to, const struct access *a, const struct packet *p)
{
	const unsigned char *from = p->payload->iov_base;
	if (unlikely(a->owner.pid))
		return translate_process(
			to, a, (void *)(uintptr_t)from, p->length, true);
	completer_store(translate_arena(to, a), from, p->length);
	return 0;
}

/* Expands byte enables to a mask of bits. */
static inline uint64_t completer_mask(uint64_t enables)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < 8; i++)
		if (enables >> i & 1)
			mask |= 0xffull << (8 * i);
	return mask;
}

/* MISALIGNED_PUT: the other bytes of the word do not change. */
static inline int completer_put_masked(
	struct context *to, const struct access *a, const struct packet *p)
{
	if (unlikely(a->owner.pid))
		return -EXDEV;
	_Atomic uint64_t *word = translate_word(to, a);
	uint64_t mask = completer_mask(p->operand[1]);
	uint64_t old = host_load(word, HOST_MEMORY);
	uint32_t tries = 0;
	do {
		if (host_cas(word, &old, (old & ~mask) | (p->operand[0] & mask),
			    HOST_MEMORY))
			return 0;
	} while (host_retry(&tries));
	return -EAGAIN;
}
