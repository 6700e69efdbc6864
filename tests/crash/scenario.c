/* SPDX-License-Identifier: BSD-2-Clause */
/* See scenario.h. */
#include "scenario.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "parties.h"
#include "run.h"

#define STOPPED_NS (200 * CLOCK_NS_PER_MS)
#define CLOSING_NS (30 * CLOCK_NS_PER_MS)
#define LOCKED_NS  (30 * CLOCK_NS_PER_MS)
#define RECLAIM_NS (50 * CLOCK_NS_PER_MS) /* several ticks of the node */
/* Messages of the survivor. */
#define WHILE_STOPPED 50
#define AFTER_FAILURE 20

const char *mode_name(enum mode mode)
{
	static const char *const names[] = { "die", "stop", "die-beside",
		"fence", "orphan", "together" };
	return names[mode];
}

/* The other parties make progress while the victim is stopped. */
static void others_continue(struct run *run)
{
	const _Atomic uint64_t *received = &run->page->received[PARTY_SURVIVOR];
	run_until(run, received, atomic_load(received) + WHILE_STOPPED,
		"the survivor is blocked by a stopped party");
}

/* Returns true if the stopped party has an access to the window in progress. */
static bool victim_inside(struct run *run, enum party stopped)
{
	const struct scenario *s = run->scenario;
	/* A victim that executes accesses does so on its own window. */
	bool inside = party_is_set(&run->page->inside, stopped) &&
		      !run_victim_is_target(run);
	if (kind_inside(s->kind, s->step) && !inside)
		page_fail(run->page, "the op record does not name the window");
	return inside;
}

/* ---- lock ---- */

static const _Atomic uint64_t *lock_counted(const struct run *run)
{
	return &run->page->tally[PARTY_SURVIVOR][WINDOW_LOCKED][ACCESS_COUNTED]
			.done;
}

/* The holder is dead or has unlocked. */
static void check_lock_free(struct run *run)
{
	const _Atomic uint64_t *counted = lock_counted(run);
	run_until(run, counted, atomic_load(counted) + 2,
		"the window stays locked");
}

/* The stopped party holds it. */
static void check_lock_held(struct run *run)
{
	uint64_t counted = atomic_load(lock_counted(run));
	clock_nap_ns(LOCKED_NS);
	if (atomic_load(lock_counted(run)) != counted)
		page_fail(run->page, "two parties hold the lock");
}

/* No lock is granted while an access is in progress. */
static void check_lock_waits(struct run *run)
{
	struct page *page = run->page;
	const struct kind *kind = run->scenario->kind;
	bool held = victim_inside(run, PARTY_VICTIM) ||
		    kind->family == FAMILY_LOCK;
	atomic_store(&page->lock_held, held);
	atomic_store(&page->lock_requested, 1u + (uint32_t)kind->window);
	if (run_until32(
		    run, &page->locked, 1, "the survivor makes no progress") &&
		atomic_load(&page->lock_result) != (held ? -ETIMEDOUT : 0))
		page_fail(page, "locking returned: %s",
			cay_strerror(atomic_load(&page->lock_result)));
}

/* ---- closing a window ---- */

static void close_request(struct run *run)
{
	atomic_store(&run->page->close_requested,
		1u + (uint32_t)run->scenario->kind->window);
}

/* Closing waits for the access of a stopped party. */
static void check_close_waits(struct run *run, enum party stopped)
{
	if (!victim_inside(run, stopped)) {
		run_until32(run, &run->page->closed, 1,
			"closing waits for no access");
		return;
	}
	clock_nap_ns(CLOSING_NS);
	if (atomic_load(&run->page->closed))
		page_fail(run->page, "closed during an access: %s",
			cay_strerror(atomic_load(&run->page->close_result)));
}

static void close_end(struct run *run)
{
	if (run_until32(run, &run->page->closed, 1, "the window stays open") &&
		atomic_load(&run->page->close_result))
		page_fail(run->page, "closing: %s",
			cay_strerror(atomic_load(&run->page->close_result)));
}

static void check_while_stopped(struct run *run, enum party stopped)
{
	const struct scenario *s = run->scenario;
	if (s->mode == MODE_FENCE) {
		run_fence(run, stopped);
		others_continue(run);
	} else if (s->mode == MODE_STOP && !run_victim_is_target(run) &&
		   !kind_blocks(s->kind, s->step)) {
		others_continue(run);
		check_lock_waits(run);
	}
	if (s->kind->family == FAMILY_LOCK)
		check_lock_held(run);
	close_request(run);
	check_close_waits(run, stopped);
	if (s->mode != MODE_FENCE)
		clock_nap_ns(STOPPED_NS);
	kill(run->party[stopped], SIGCONT);
	close_end(run);
}

static void check_after_death(struct run *run)
{
	if (run->scenario->kind->family == FAMILY_LOCK)
		check_lock_free(run);
	close_request(run);
	close_end(run);
}

/* ---- modes: return false if the step is never passed ---- */

static bool mode_alone(struct run *run)
{
	if (!run_fault(run, PARTY_VICTIM))
		return false;
	atomic_store(&run->page->faulted, 1);
	if (run->scenario->mode == MODE_DIE)
		check_after_death(run);
	else
		check_while_stopped(run, PARTY_VICTIM);
	return true;
}

/* The first failure may prevent the other party from reaching the step. */
static void both_waiting(struct run *run)
{
	uint32_t both = 1u << PARTY_VICTIM | 1u << PARTY_SECOND;
	run_until32(
		run, &run->page->waiting, both, "not all victims are waiting");
}

static bool mode_beside(struct run *run)
{
	both_waiting(run);
	if (!run_fault(run, PARTY_SECOND) || !run_fault(run, PARTY_VICTIM))
		return false;
	atomic_store(&run->page->faulted, 1);
	check_while_stopped(run, PARTY_SECOND);
	return true;
}

/*
 * No other party advances W, so that both try to claim the same entry. The node
 * notices both deaths at once.
 */
static bool mode_together(struct run *run)
{
	struct page *page = run->page;
	both_waiting(run);
	atomic_store(&page->pause_request, 1);
	run_until32(run, &page->paused, 1, "the survivor does not pause");
	if (!run_fault(run, PARTY_SECOND) || !run_fault(run, PARTY_VICTIM))
		return false;
	pid_t node = run_node(run);
	if (node <= 0)
		return true;
	kill(node, SIGSTOP);
	run_kill(run, &run->party[PARTY_SECOND]);
	run_kill(run, &run->party[PARTY_VICTIM]);
	kill(node, SIGCONT);
	atomic_store(&page->faulted, 1);
	atomic_store(&page->pause_request, 0);
	check_after_death(run);
	return true;
}

/* The successor allocates the freed memory of the dead receiver. */
static void successor_allocate(struct run *run, uint32_t times)
{
	clock_nap_ns(RECLAIM_NS);
	atomic_store(&run->page->successor_requested, times);
	run_until32(run, &run->page->successor_done, times,
		"the successor cannot allocate");
	kill(run->party[PARTY_VICTIM], SIGCONT);
}

static bool mode_orphan(struct run *run)
{
	if (!run_fault(run, PARTY_VICTIM))
		return false;
	run_kill(run, &run->receiver);
	successor_allocate(run, 1);
	if (run_faulted(run, PARTY_VICTIM) && !run->party[PARTY_VICTIM])
		page_fail(run->page, "the orphan did not stop again");
	successor_allocate(run, 2);
	return true;
}

static bool mode_run(struct run *run)
{
	switch (run->scenario->mode) {
	case MODE_DIE_BESIDE:
		return mode_beside(run);
	case MODE_TOGETHER:
		return mode_together(run);
	case MODE_ORPHAN:
		return mode_orphan(run);
	default:
		return mode_alone(run);
	}
}

/* ---- end ---- */

/* The parties continue for a while after the failure. */
static void continue_after(struct run *run)
{
	struct page *page = run->page;
	const _Atomic uint64_t *received = &page->received[PARTY_SURVIVOR];
	run_until(run, received, atomic_load(received) + AFTER_FAILURE,
		"the survivor makes no progress");
	run_until(run, &page->refusals, atomic_load(&page->refusals) + 2,
		"refusals are no longer notified");
	check_lock_free(run);
}

static void scenario_finish(struct run *run)
{
	if (run->scenario->mode != MODE_ORPHAN)
		continue_after(run);
	run_end(run, &run->party[PARTY_VICTIM], "victim");
	run_end(run, &run->party[PARTY_SECOND], "second victim");
	atomic_store(&run->page->finish, 1);
	run_end(run, &run->party[PARTY_SURVIVOR], "survivor");
	run_end(run, &run->receiver, "receiver");
}

static int scenario_verdict(const struct run *run, bool passed)
{
	const struct scenario *s = run->scenario;
	if (!atomic_load(&run->page->failed))
		return passed ? 0 : 77;
	fprintf(stderr, "%s %s at '%s' pass %u: %s\n", s->kind->name,
		mode_name(s->mode), device_step_name(s->step), s->pass,
		run->page->what);
	return 1;
}

int scenario_run(const struct scenario *s)
{
	char name[64];
	struct run run = { .scenario = s };
	snprintf(name, sizeof(name), "crash-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	run.page = mmap(NULL, sizeof(*run.page), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool passed = run_start(&run) && mode_run(&run);
	if (passed && !atomic_load(&run.page->failed))
		scenario_finish(&run);
	/*
	 * A scenario that does not reach its step ends with messages in flight.
	 * The parties that are still running report the deaths of the killed
	 * ones as failures, so the verdict precedes the kills.
	 */
	int verdict = scenario_verdict(&run, passed);
	run_kill_all(&run);
	return verdict;
}
