/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The errors that an instruction can end in, found by fault injection: its work
 * request is issued once with each fault below, on a fresh fixture, and the
 * errors of the resulting notifications are collected. A fault that does not
 * apply to an instruction adds no error.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

/* A work request and its environment, before it is issued. */
struct trial {
	struct fixture b;
	struct explanation e;
};

static struct cay_window_descriptor *window_of(struct trial *t, uint32_t port)
{
	return &t->b.port[port].origin.wdt[0];
}

/* ---- faults that are not in the work request ---- */

/* The peer table belongs to the node, which the fixture stands for. */
static void fault_realm(struct trial *t)
{
	struct peer_entry *entry =
		(struct peer_entry *)(uintptr_t)&t->b.port[0].origin.peers[1];
	entry->path = PATH_FORBIDDEN;
	atomic_store_explicit(&entry->epoch, 0, memory_order_release);
}

static void fault_peer_gone(struct trial *t)
{
	const struct queue_config *c = &t->b.port[1].config;
	queue_set_close(&t->b.arena, c->vpid, c->epoch);
}

static void fault_origin_locked(struct trial *t)
{
	window_of(t, 0)->lock = UINT64_MAX;
}

static void fault_target_locked(struct trial *t)
{
	window_of(t, 1)->lock = UINT64_MAX;
}

static void rights_remove(struct trial *t, uint32_t right)
{
	struct cay_window_descriptor *d = window_of(t, 1);
	if (d->rights)
		d->rights = CAY_RIGHT_NOTIFY_REFUSAL | (d->rights & ~right);
}

static void fault_no_read(struct trial *t)
{
	rights_remove(t, CAY_RIGHT_READ);
}

static void fault_no_write(struct trial *t)
{
	rights_remove(t, CAY_RIGHT_WRITE);
}

static void fault_no_atomic(struct trial *t)
{
	rights_remove(t, CAY_RIGHT_ATOMIC);
}

static void fault_memory(struct trial *t)
{
	window_of(t, 1)->start = 1ull << 60;
}

static void fault_posted_short(struct trial *t)
{
	fixture_own(&t->b, 1)->posted[0].length = 1;
}

/* ---- all faults ---- */

enum change {
	CHANGE_NONE,
	CHANGE_OR,
	CHANGE_XOR,
	CHANGE_ADD,
	CHANGE_SET,
};

/* Changes words of the VCI, the mode of the origin, or its environment. */
static const struct fault {
	bool word_mode;
	struct {
		enum change change;
		unsigned word;
		uint64_t value;
	} vci[2];
	void (*inject)(struct trial *);
} faults[] = {
	/* command and route */
	{ .vci = { { CHANGE_OR, CAY_VCI_WORD_COMMAND,
		  1u << CAY_COMMAND_GROUP_SHIFT } } },
	{ .vci = { { CHANGE_OR, CAY_VCI_WORD_COMMAND,
		  CAY_VCI_ROUTING_OFFSET_MASK
			  << CAY_VCI_ROUTING_OFFSET_SHIFT } } },
	{ .vci = { { CHANGE_OR, CAY_VCI_WORD_COMMAND,
		  2ull << CAY_VCI_ROUTING_LENGTH_SHIFT } } },
	{ .inject = fault_realm },
	{ .vci = { { CHANGE_XOR, CAY_VCI_WORD_TARGET, 0x40 } } },
	{ .inject = fault_peer_gone },
	/* window and SDR of the origin */
	{ .vci = { { CHANGE_SET, CAY_VCI_WORD_ORIGIN, UINT16_MAX } } },
	{ .inject = fault_origin_locked },
	{ .vci = { { CHANGE_SET, CAY_VCI_WORD_ORIGIN_OFFSET, UINT64_MAX } } },
	{ .vci = { { CHANGE_SET, CAY_VCI_WORD_SDR_OFFSET, UINT64_MAX } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_ORIGIN_OFFSET, 4 } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_BYTES, -4ull } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_SDR_OFFSET, 4 },
			{ CHANGE_ADD, CAY_VCI_WORD_LENGTH, -8ull } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_LENGTH, -4ull } } },
	/* window of the target */
	{ .vci = { { CHANGE_ADD, CAY_VCI_WORD_WINDOW, 1 } } },
	{ .vci = { { CHANGE_XOR, CAY_VCI_WORD_WINDOW,
		  1ull << CAY_VCI_CAPABILITY_SHIFT } } },
	{ .inject = fault_no_read },
	{ .inject = fault_no_write },
	{ .inject = fault_no_atomic },
	{ .inject = fault_target_locked },
	{ .vci = { { CHANGE_SET, CAY_VCI_WORD_OFFSET, 1ull << 40 } } },
	{ .vci = { { CHANGE_ADD, CAY_VCI_WORD_OFFSET, 4 } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_OFFSET, 4 } } },
	{ .word_mode = true,
		.vci = { { CHANGE_ADD, CAY_VCI_WORD_TARGET,
			-(1ull << CAY_VCI_BYTES_SHIFT) } } },
	{ .inject = fault_memory },
	{ .inject = fault_posted_short },
};

static void fault_apply(struct trial *t, const struct fault *f)
{
	if (f->word_mode)
		t->b.port[0].origin.word_mode = WORD_MODE_VCI;
	if (f->inject)
		f->inject(t);
	for (unsigned i = 0; i < ARRAY_COUNT(f->vci); i++) {
		uint64_t *word = &t->e.vci.word[f->vci[i].word];
		uint64_t value = f->vci[i].value;
		switch (f->vci[i].change) {
		case CHANGE_NONE:
			break;
		case CHANGE_OR:
			*word |= value;
			break;
		case CHANGE_XOR:
			*word ^= value;
			break;
		case CHANGE_ADD:
			*word += value;
			break;
		case CHANGE_SET:
			*word = value;
			break;
		}
	}
}

/* ---- trials ---- */

/* The errors of all notifications of a port. */
static uint32_t errors_at(struct trial *t, uint32_t port)
{
	struct context *own = fixture_own(&t->b, port);
	uint64_t at = queue_nq(
		atomic_load_explicit(&own->control->r, memory_order_relaxed));
	uint32_t errors = 0;
	uint64_t word;
	for (; (word = counting_peek(own, at)); at++)
		errors |= 1u << ((word & CAY_COMMAND_ERROR_MASK) >>
				  CAY_COMMAND_ERROR_SHIFT);
	return errors;
}

static int trial_run(const struct explain_instruction *i, struct trial *t,
	const struct fault *fault, uint32_t *errors)
{
	memset(&t->e, 0, sizeof(t->e));
	t->e.bytes = i->bytes_default;
	int r = fixture_open(&t->b, 2, &(struct queue_options){ 0 });
	if (r)
		return r;
	struct origin *o = &t->b.port[0].origin;
	r = i->prepare(&t->b, &t->e);
	/* Without a work request, the call returns the errors. */
	bool request = t->e.vci.word[CAY_VCI_WORD_COMMAND] != 0;
	if (r == 0 && fault)
		fault_apply(t, fault);
	if (r == 0 && request && counting_post(o, &t->e.vci)) {
		counting_trigger(o, t->b.port[0].op, CAY_ISSUE_VCI, 1);
		*errors |= errors_at(t, 0) | errors_at(t, 1);
		/* An operation in flight can be cancelled: cay_cancel(). */
		if (atomic_load_explicit(
			    &o->device.references, memory_order_relaxed) &&
			counting_reference_withdraw(&o->refs[0]))
			*errors |= 1u << CAY_ERROR_TIMEOUT;
	}
	fixture_close(&t->b);
	return r;
}

int explain_errors(const struct explain_instruction *i, uint32_t *errors)
{
	static struct trial t;
	*errors = 0;
	int r = trial_run(i, &t, NULL, errors);
	for (unsigned f = 0; r == 0 && f < ARRAY_COUNT(faults); f++)
		r = trial_run(i, &t, &faults[f], errors);
	*errors &= ~(1u << CAY_ERROR_NONE);
	return r;
}
