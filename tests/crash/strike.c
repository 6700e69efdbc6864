/* SPDX-License-Identifier: BSD-2-Clause */
/* See strike.h. */
#include "strike.h"

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
	enum place place;
	uint64_t window; /* Win-ID of the place */
	int signal;
	bool armed;
	bool again; /* and once more, when its record is idle */
} strike;

/* As the owner of the window sees it: does the record name it? */
static bool strike_inside(void)
{
	const struct op_record *op = record_cache.op;
	return op && (atomic_load(&op->state) & OP_STATE_MASK) != OP_IDLE &&
	       atomic_load(&op->window) == strike.window + 1;
}

static void strike_hook(enum device_step step)
{
	if (!strike.armed || step != strike.step || strike.pass-- != 0)
		return;
	strike.armed = strike.again;
	strike.again = false;
	strike.step = STEP_IDLE;
	strike.pass = 0;
	if (strike_inside())
		atomic_fetch_or(&strike.page->inside, 1u << strike.party);
	kill(getpid(), strike.signal);
}

void strike_prepare(
	struct page *page, const struct scenario *s, enum party party)
{
	bool die = s->mode == MODE_DIE ||
		   (s->mode == MODE_DIE_BESIDE && party == PARTY_VICTIM);
	strike.page = page;
	strike.party = party;
	strike.step = s->mode == MODE_TOGETHER && party == PARTY_BESIDE
			      ? STEP_TRY
			      : s->step;
	strike.pass = s->pass;
	strike.place = s->kind->place;
	strike.signal = die ? SIGKILL : SIGSTOP;
	strike.again = s->mode == MODE_ORPHAN;
	host_step_hook = strike_hook;
}

void strike_wait(void)
{
	atomic_fetch_or(&strike.page->poised, 1u << strike.party);
	while (!party_is_set(&strike.page->strike, strike.party) &&
		!atomic_load(&strike.page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	strike.window =
		key_unpack(atomic_load(&strike.page->keys[strike.place]))
			.window;
	strike.armed = true;
}

bool strike_due(void)
{
	return strike.armed;
}
