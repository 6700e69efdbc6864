/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an instruction can end in, found out by trying: its work request is
 * issued once for each fault below, on a fresh fixture, and the errors of the
 * notifications that come of it are the answer. A fault that an instruction
 * does not mind adds nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

/* Everything that a fault may spoil. */
struct trial {
	struct fixture b;
	struct explanation e;
};

static struct origin *origin_of(struct trial *t)
{
	return &t->b.port[0].origin;
}

static struct cay_window_descriptor *window_of(struct trial *t, uint32_t port)
{
	return &t->b.port[port].origin.wdt[0];
}

static uint64_t *word_of(struct trial *t, unsigned word)
{
	return &t->e.vci.word[word];
}

/* ---- of the request ---- */

static void spoil_command(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_COMMAND) |= 1u << CAY_COMMAND_GROUP_SHIFT;
}

static void spoil_route(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_COMMAND) |= CAY_VCI_ROUTING_OFFSET_MASK
					     << CAY_VCI_ROUTING_OFFSET_SHIFT;
}

static void spoil_route_length(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_COMMAND) |= 2ull
					     << CAY_VCI_ROUTING_LENGTH_SHIFT;
}

/* The peer table is the node's; here that is us. */
static void spoil_realm(struct trial *t)
{
	struct peer_entry *entry =
		(struct peer_entry *)(uintptr_t)&origin_of(t)->peers[1];
	entry->path = PATH_FORBIDDEN;
	atomic_store_explicit(&entry->epoch, 0, memory_order_release);
}

static void spoil_vpid(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_TARGET) ^= 0x40;
}

static void spoil_peer(struct trial *t)
{
	const struct queue_config *c = &t->b.port[1].config;
	queue_set_close(&t->b.arena, c->vpid, c->epoch);
}

/* ---- of the origin's memory ---- */

static void spoil_origin_window(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_ORIGIN) = UINT16_MAX;
}

static void spoil_origin_lock(struct trial *t)
{
	window_of(t, 0)->lock = UINT64_MAX;
}

static void spoil_origin_bounds(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_ORIGIN_OFFSET) = UINT64_MAX;
}

static void spoil_sdr_bounds(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_SDR_OFFSET) = UINT64_MAX;
}

static void spoil_origin_offset(struct trial *t)
{
	origin_of(t)->word_mode = true;
	*word_of(t, CAY_VCI_WORD_ORIGIN_OFFSET) += 4;
}

static void spoil_origin_length(struct trial *t)
{
	origin_of(t)->word_mode = true;
	*word_of(t, CAY_VCI_WORD_BYTES) -= 4;
}

static void spoil_sdr_offset(struct trial *t)
{
	origin_of(t)->word_mode = true;
	*word_of(t, CAY_VCI_WORD_SDR_OFFSET) += 4;
	*word_of(t, CAY_VCI_WORD_LENGTH) -= 8;
}

static void spoil_sdr_length(struct trial *t)
{
	origin_of(t)->word_mode = true;
	*word_of(t, CAY_VCI_WORD_LENGTH) -= 4;
}

/* ---- of the target's window ---- */

static void spoil_window(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_WINDOW) += 1;
}

static void spoil_capability(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_WINDOW) ^= 1ull << CAY_VCI_CAPABILITY_SHIFT;
}

static void rights_without(struct trial *t, uint32_t right)
{
	if (window_of(t, 1)->rights)
		window_of(t, 1)->rights = CAY_RIGHT_NOTIFY_REFUSAL |
					  (window_of(t, 1)->rights & ~right);
}

static void spoil_read(struct trial *t)
{
	rights_without(t, CAY_RIGHT_READ);
}

static void spoil_write(struct trial *t)
{
	rights_without(t, CAY_RIGHT_WRITE);
}

static void spoil_atomic(struct trial *t)
{
	rights_without(t, CAY_RIGHT_ATOMIC);
}

static void spoil_lock(struct trial *t)
{
	window_of(t, 1)->lock = UINT64_MAX;
}

static void spoil_bounds(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_OFFSET) = 1ull << 40;
}

static void spoil_alignment(struct trial *t)
{
	*word_of(t, CAY_VCI_WORD_OFFSET) += 4;
}

static void spoil_words_offset(struct trial *t)
{
	origin_of(t)->word_mode = true;
	spoil_alignment(t);
}

static void spoil_words_length(struct trial *t)
{
	origin_of(t)->word_mode = true;
	*word_of(t, CAY_VCI_WORD_TARGET) -= 1ull << CAY_VCI_BYTES_SHIFT;
}

static void spoil_memory(struct trial *t)
{
	window_of(t, 1)->start = 1ull << 60;
}

/* ---- of what was posted ---- */

static void spoil_posted(struct trial *t)
{
	fixture_own(&t->b, 1)->posted[0].length = 1;
}

static void (*const faults[])(struct trial *) = {
	spoil_command,
	spoil_route,
	spoil_route_length,
	spoil_realm,
	spoil_vpid,
	spoil_peer,
	spoil_origin_window,
	spoil_origin_lock,
	spoil_origin_bounds,
	spoil_sdr_bounds,
	spoil_origin_offset,
	spoil_origin_length,
	spoil_sdr_offset,
	spoil_sdr_length,
	spoil_window,
	spoil_capability,
	spoil_read,
	spoil_write,
	spoil_atomic,
	spoil_lock,
	spoil_bounds,
	spoil_alignment,
	spoil_words_offset,
	spoil_words_length,
	spoil_memory,
	spoil_posted,
};

/* ---- a trial ---- */

/* The errors of all notifications that a port has got. */
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

/* Under way, and its origin may take it back: cay_cancel(). */
static uint32_t errors_withdrawn(struct trial *t)
{
	struct origin *o = origin_of(t);
	bool pending =
		atomic_load_explicit(&o->references, memory_order_relaxed);
	return pending && counting_reference_withdraw(&o->refs[0])
		       ? 1u << CAY_ERROR_TIMEOUT
		       : 0;
}

static uint32_t trial_issue(struct trial *t)
{
	struct origin *o = origin_of(t);
	if (!counting_post(o, &t->e.vci))
		return 0;
	counting_trigger(o, t->b.port[0].op, CAY_ISSUE_VCI, 1);
	uint32_t errors = errors_at(t, 0) | errors_at(t, 1);
	return (errors | errors_withdrawn(t)) & ~(1u << CAY_ERROR_NONE);
}

static int trial_run(const struct explain_instruction *i, struct trial *t,
	void (*spoil)(struct trial *), uint32_t *errors)
{
	memset(&t->e, 0, sizeof(t->e));
	t->e.bytes = i->bytes_default;
	int r = fixture_open(&t->b, 2, &(struct queue_options){ 0 });
	if (r)
		return r;
	r = i->prepare(&t->b, &t->e);
	if (r == 0) {
		if (spoil)
			spoil(t);
		*errors |= trial_issue(t);
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
		r = trial_run(i, &t, faults[f], errors);
	return r;
}
