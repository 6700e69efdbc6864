/* SPDX-License-Identifier: BSD-2-Clause */
/* See fault.h. */
#include "fault.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "port/record.h"

extern void (*host_step_hook)(enum device_step);

static struct {
	struct page *page;
	enum party party;
	enum device_step step;
	unsigned pass;
	enum window window;
	uint64_t win_id; /* of the window */
	int signal;
	bool armed;
	bool again_when_idle; /* fails a second time at STEP_IDLE */
} fault;

/*
 * Returns true if the op record names the window, so that quiescing waits for
 * it.
 */
static bool fault_inside(void)
{
	const struct op_record *op = record_cache.op;
	return op && (atomic_load(&op->state) & OP_STATE_MASK) != OP_IDLE &&
	       atomic_load(&op->window) == fault.win_id + 1;
}

static void fault_hook(enum device_step step)
{
	if (step == STEP_PUBLISH)
		atomic_fetch_add(&fault.page->published[fault.party], 1);
	if (!fault.armed || step != fault.step || fault.pass-- != 0)
		return;
	fault.armed = fault.again_when_idle;
	fault.again_when_idle = false;
	fault.step = STEP_IDLE;
	fault.pass = 0;
	if (fault_inside())
		atomic_fetch_or(&fault.page->inside, 1u << fault.party);
	kill(getpid(), fault.signal);
}

void fault_prepare(
	struct page *page, const struct scenario *s, enum party party)
{
	bool die = s->mode == MODE_DIE ||
		   (s->mode == MODE_DIE_BESIDE && party == PARTY_VICTIM);
	fault.page = page;
	fault.party = party;
	fault.step = s->mode == MODE_TOGETHER && party == PARTY_SECOND
			     ? STEP_TRY
			     : s->step;
	fault.pass = s->pass;
	fault.window = s->kind->window;
	fault.signal = die ? SIGKILL : SIGSTOP;
	fault.again_when_idle = s->mode == MODE_ORPHAN;
	host_step_hook = fault_hook;
}

void fault_wait(void)
{
	atomic_fetch_or(&fault.page->waiting, 1u << fault.party);
	while (!party_is_set(&fault.page->fault, fault.party) &&
		!atomic_load(&fault.page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	fault.win_id =
		key_unpack(atomic_load(&fault.page->keys[fault.window])).window;
	fault.armed = true;
}

bool fault_due(void)
{
	return fault.armed;
}
