/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair of references: messages by reference and emulated accesses whose
 * origin or target is gone. The origin gets an error completion for what a
 * closed target can no longer execute, and none for copied messages; the memory
 * of a dead origin stays allocated until its targets have read it.
 */
#include <errno.h>

#include "base/bits.h"
#include "node/node.h"

#define REFERENCES (1u << QUEUE_REFS_LOG2)

static enum reference_state reference_state(
	const struct reference *ref, uint32_t *sequence)
{
	/* Acquire pairs with G1 and G2 in device/reference.c. */
	uint64_t word = atomic_load_explicit(&ref->state, memory_order_acquire);
	*sequence = (uint32_t)(word >> REFERENCE_SEQUENCE_SHIFT);
	return (enum reference_state)(word & REFERENCE_STATE_MASK);
}

static bool reference_set(struct reference *ref, uint32_t sequence,
	enum reference_state from, enum reference_state to)
{
	uint64_t word = (uint64_t)sequence << REFERENCE_SEQUENCE_SHIFT | from;
	return atomic_compare_exchange_strong_explicit(&ref->state, &word,
		(uint64_t)sequence << REFERENCE_SEQUENCE_SHIFT | to,
		memory_order_acq_rel, memory_order_acquire);
}

static bool reference_is_to(
	const struct reference *ref, const struct vport *target)
{
	return ref->target_vpid == target->config.vpid &&
	       ref->target_epoch >= target->first_epoch &&
	       ref->target_epoch <= target->epoch;
}

/* ---- references to a closed port ---- */

/*
 * Completes an emulated access: the origin has staged the request, and the dead
 * target may have stored the results.
 */
static void completion_of_access(const struct realm *r,
	const struct reference *ref, struct completion *c)
{
	struct reference copy = { .kind = ref->kind,
		.address = ref->address,
		.length = ref->length };
	if (copy.kind != REFERENCE_ACCESS ||
		!reference_valid(&copy, r->arena.bytes))
		return;
	const unsigned char *at = r->arena.base + copy.address;
	struct emulated_access access =
		*(const struct emulated_access *)(const void *)at;
	struct response response = { access.result, access.previous };
	c->command = access.command;
	c->length = access.length;
	c->result = access.offset;
	c->previous = access.window;
	if (c->error == CAY_ERROR_NONE)
		completion_results(c, &response, at + sizeof(access),
			bits_min(bits_min(access.length, CAY_FAST_PUT_BYTES),
				copy.length - sizeof(access)));
}

/*
 * Sends the completion to the origin. The target may have sent it just before
 * it died; the origin then recognizes the duplicate by the sequence number. No
 * completion is reserved for a duplicate, so it leaves as many entries free as
 * a message does. The reference is FREE afterwards, so that it is completed
 * only once. Returns false if the origin's queue is full.
 */
static bool reference_complete(struct vport *origin, const struct vport *closed,
	struct reference *ref, uint32_t index, uint32_t sequence)
{
	struct realm *r = origin->realm;
	struct context to;
	/* The port's state decides, not W, which members can write. */
	bool open = origin->state == VPORT_OPEN &&
		    vport_context(origin, origin->epoch, &to) == 0;
	if (node_device_reference_done(ref, sequence))
		atomic_fetch_or_explicit(
			&ref->outcome, CAY_ERROR_GONE, memory_order_relaxed);
	struct completion c = { .tag = ref->tag,
		.api_tag = (uint32_t)(ref->cookie >> REFERENCE_API_TAG_SHIFT),
		.command = CAY_SEND | (ref->flags & CAY_COMMAND_ACK),
		.length = ref->length,
		.error = (uint8_t)(atomic_load_explicit(&ref->outcome,
					   memory_order_relaxed) &
				   REFERENCE_ERROR_MASK),
		.peer_node = r->node->id,
		.peer_vpid = closed->config.vpid,
		.reference = (uint16_t)(index + 1),
		.sequence = sequence };
	completion_of_access(r, ref, &c);
	if (open && node_device_complete(&to, r->op, &c,
			    to.cq_reserve + to.priority_reserve) == -EAGAIN)
		return false;
	reference_set(ref, sequence, REFERENCE_DONE, REFERENCE_FREE);
	return true;
}

/*
 * The references to a port are found by a pass over the tables of all origins,
 * which are up to 400 MB. A pass is made in steps, in several rounds of the
 * node, and serves all ports that were closed before it began. After the close
 * no reference to the port becomes READY and is then published, so one complete
 * pass finds all, or finds some that a later pass has to complete.
 */
static void pass_origin(struct vport *p)
{
	struct realm *r = p->realm;
	struct reference *refs = vport_table(p, p->config.refs_at);
	for (uint32_t i = 0; i < REFERENCES; i++) {
		uint32_t sequence;
		enum reference_state state =
			reference_state(&refs[i], &sequence);
		if (state == REFERENCE_FREE)
			continue;
		struct vport *closed = r->node->ports[refs[i].target_vpid];
		if (!closed || closed == p || closed->realm != r ||
			closed->state != VPORT_CLOSED ||
			closed->pass_first > r->pass ||
			!reference_is_to(&refs[i], closed))
			continue;
		/* READY: the origin publishes it or finds W closed. */
		if (state == REFERENCE_READY && p->state == VPORT_OPEN)
			closed->pass_left = r->pass;
		else if (reference_is_copied(i))
			/* Complete already: the origin reclaims it. */
			node_device_reference_done(&refs[i], sequence);
		else if (!reference_complete(p, closed, &refs[i], i, sequence))
			closed->pass_left = r->pass;
	}
}

/* Continues the pass of a realm, or begins the next one. */
static void pass_continue(struct realm *r)
{
	if (!r->pass_next) {
		r->pass++;
		r->pass_round = r->node->round;
		r->pass_next = r->reference_origins.next;
	}
	while (r->pass_next != &r->reference_origins && r->reference_left > 0) {
		struct vport *p =
			list_of(r->pass_next, struct vport, origin_link);
		r->pass_next = r->pass_next->next;
		r->reference_left -= REFERENCES;
		pass_origin(p);
	}
	if (r->pass_next == &r->reference_origins)
		r->pass_next = NULL;
}

bool repair_references_to(struct vport *closed)
{
	struct realm *r = closed->realm;
	for (;;) {
		uint64_t complete = r->pass_next ? r->pass - 1 : r->pass;
		bool passed = complete >= closed->pass_first;
		if (passed && closed->pass_left < complete)
			return true;
		/* What was left is tried again once in a round. */
		if (r->reference_left <= 0 ||
			(passed && !r->pass_next &&
				r->pass_round == r->node->round))
			return false;
		pass_continue(r);
	}
}

void repair_origin_end(struct vport *p)
{
	struct realm *r = p->realm;
	if (r->pass_next == &p->origin_link)
		r->pass_next = p->origin_link.next;
	list_remove(&p->origin_link);
}

bool repair_has_references(const struct vport *by, const struct vport *closed)
{
	const struct reference *refs = vport_table(by, by->config.refs_at);
	uint32_t sequence;
	if (list_empty(&by->origin_link))
		return false;
	/* A copied message is owed no completion. */
	for (uint32_t i = 0; i < REFERENCE_COPIED; i++)
		if (reference_state(&refs[i], &sequence) != REFERENCE_FREE &&
			reference_is_to(&refs[i], closed))
			return true;
	return false;
}

/* ---- references of a port ---- */

/* Returns the target of a reference if it is open, else NULL. */
static struct vport *reference_target(
	const struct vport *origin, const struct reference *ref)
{
	struct vport *target = vport_at(origin->realm, ref->target_vpid);
	bool open = target && target->state == VPORT_OPEN &&
		    reference_is_to(ref, target);
	return open ? target : NULL;
}

bool repair_references_of(struct vport *dead)
{
	struct realm *r = dead->realm;
	struct reference *refs = vport_table(dead, dead->config.refs_at);
	if (list_empty(&dead->origin_link))
		return true;
	for (; dead->repair_at < REFERENCES; dead->repair_at++) {
		uint32_t i = dead->repair_at, sequence;
		if (r->reference_left <= 0)
			return false;
		r->reference_left--;
		if (reference_state(&refs[i], &sequence) != REFERENCE_READY)
			continue;
		const struct vport *target = reference_target(dead, &refs[i]);
		struct context to;
		bool sent = false;
		if (target && vport_context(target, target->epoch, &to) == 0) {
			r->reference_left -= to.nq_entries;
			sent = node_device_reference_published(
				&to, dead->config.vpid, i, sequence);
		}
		reference_set(&refs[i], sequence, REFERENCE_READY,
			sent ? REFERENCE_SENT : REFERENCE_FREE);
	}
	return true;
}

bool repair_references_read(struct vport *p, uint64_t from, uint64_t bytes)
{
	const struct reference *refs = vport_table(p, p->config.refs_at);
	if (list_empty(&p->origin_link))
		return false;
	for (uint32_t i = 0; i < REFERENCES; i++) {
		const struct reference *ref = &refs[i];
		uint32_t sequence;
		enum reference_state state = reference_state(ref, &sequence);
		if ((state == REFERENCE_SENT || state == REFERENCE_READY ||
			    state == REFERENCE_STARTED) &&
			ref->kind != REFERENCE_PROCESS &&
			ref->address - from < bytes && reference_target(p, ref))
			return true;
	}
	return false;
}
