/* SPDX-License-Identifier: BSD-2-Clause */
/* See scenario.h. */
#include "scenario.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/wire.h"
#include "parties.h"
#include "port/member.h"

#define STOPPED_NS CLOCK_NS_PER_S

const char *kind_name(enum kind kind)
{
	static const char *const names[] = { "fast", "send", "long", "staged",
		"ack", "take" };
	return names[kind];
}

const char *mode_name(enum mode mode)
{
	static const char *const names[] = { "die", "stop", "die-beside",
		"fence" };
	return names[mode];
}

struct run {
	struct page *page;
	const struct scenario *scenario;
	pid_t receiver, party[PARTY_COUNT];
};

static pid_t party_fork(struct run *run, int which)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (which < 0)
		receiver_main(run->page, run->scenario);
	if (which == PARTY_SURVIVOR)
		survivor_main(run->page, run->scenario);
	if (run->scenario->kind == KIND_TAKE)
		taker_main(run->page, run->scenario);
	striker_main(run->page, run->scenario, (enum party)which);
}

static uint32_t run_start(struct run *run)
{
	bool beside = run->scenario->mode == MODE_DIE_BESIDE;
	run->receiver = party_fork(run, -1);
	run->party[PARTY_SURVIVOR] = party_fork(run, PARTY_SURVIVOR);
	run->party[PARTY_VICTIM] = party_fork(run, PARTY_VICTIM);
	if (beside)
		run->party[PARTY_BESIDE] = party_fork(run, PARTY_BESIDE);
	return beside ? 4 : 3;
}

static bool run_ready(struct run *run, uint32_t parties)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	while (atomic_load(&run->page->ready) < parties) {
		if (clock_passed(deadline))
			return page_fail(run->page, "not all got ready");
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	return true;
}

/* Lets a party strike and waits until it has: its wait status. */
static int run_strike(struct run *run, enum party party)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	int status;
	atomic_fetch_or(&run->page->strike, 1u << party);
	while (waitpid(run->party[party], &status, WUNTRACED | WNOHANG) == 0) {
		if (clock_passed(deadline) || atomic_load(&run->page->failed)) {
			page_fail(run->page, "%s did not strike",
				party_name(party));
			return 0;
		}
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (!WIFSTOPPED(status))
		run->party[party] = 0;
	return status;
}

static bool never(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 77;
}

/* Asks the node as `cay node fence` does. */
static void run_fence(struct run *run)
{
	struct node_request request = { .kind = NODE_FENCE };
	struct node_reply reply = { 0 };
	char name[NODE_NAME_MAX];
	int fd, socket = control_connect(
			NULL, name, clock_after_ns(PARTY_PATIENCE_NS));
	request.fence.pid = (uint32_t)run->party[PARTY_VICTIM];
	if (socket < 0 ||
		wire_send(socket, &request, sizeof(request), -1, 0) != 0 ||
		wire_receive(socket, &reply, sizeof(reply), &fd, 0) !=
			sizeof(reply) ||
		reply.error)
		page_fail(run->page, "fence: %s", cay_strerror(reply.error));
	close(socket);
}

/* While the victim stays stopped, everybody else gets on. */
static void run_goes_on(struct run *run)
{
	uint64_t before = atomic_load(&run->page->received[PARTY_SURVIVOR]);
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	while (atomic_load(&run->page->received[PARTY_SURVIVOR]) < before + 50)
		if (clock_passed(deadline)) {
			page_fail(run->page, "fenced, but stuck");
			break;
		} else {
			clock_nap_ns(CLOCK_NS_PER_MS);
		}
}

static int run_strikes(struct run *run)
{
	int status = 0;
	if (run->scenario->mode == MODE_DIE_BESIDE) {
		status = run_strike(run, PARTY_BESIDE);
		if (never(status))
			return 77;
	}
	status = run_strike(run, PARTY_VICTIM);
	if (never(status))
		return 77;
	if (run->scenario->mode == MODE_FENCE) {
		run_fence(run);
		run_goes_on(run);
	} else if (run->scenario->mode != MODE_DIE) {
		clock_nap_ns(STOPPED_NS);
	}
	if (run->scenario->mode != MODE_DIE)
		kill(run->scenario->mode == MODE_DIE_BESIDE
				? run->party[PARTY_BESIDE]
				: run->party[PARTY_VICTIM],
			SIGCONT);
	return 0;
}

/* A party must end by itself with status 0. */
static void run_end(struct run *run, pid_t pid, const char *name)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_passed(deadline)) {
			page_fail(run->page, "%s does not end", name);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (status)
		page_fail(run->page, "%s ended with %#x", name, status);
}

/* After the strike life goes on for a while, then everybody ends. */
static void run_finish(struct run *run)
{
	uint64_t before = atomic_load(&run->page->received[PARTY_SURVIVOR]);
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	while (atomic_load(&run->page->received[PARTY_SURVIVOR]) <
			before + 20 &&
		!atomic_load(&run->page->failed)) {
		if (clock_passed(deadline))
			page_fail(run->page, "the survivor is stuck");
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (run->scenario->kind != KIND_TAKE)
		run_end(run, run->party[PARTY_VICTIM], "victim");
	run_end(run, run->party[PARTY_BESIDE], "beside");
	if (run->scenario->kind == KIND_TAKE)
		run_end(run, run->party[PARTY_VICTIM], "victim");
	atomic_store(&run->page->finish, 1);
	run_end(run, run->party[PARTY_SURVIVOR], "survivor");
	run_end(run, run->receiver, "receiver");
}

static void run_kill(struct run *run)
{
	for (int i = 0; i < PARTY_COUNT; i++)
		if (run->party[i] > 0)
			kill(run->party[i], SIGKILL);
	kill(run->receiver, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

int scenario_run(const struct scenario *s)
{
	char name[64];
	struct run run = { .scenario = s };
	snprintf(name, sizeof(name), "crash-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	run.page = mmap(NULL, sizeof(*run.page), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r = 0;
	if (run_ready(&run, run_start(&run)))
		r = run_strikes(&run);
	if (r == 0 && !atomic_load(&run.page->failed))
		run_finish(&run);
	run_kill(&run);
	if (atomic_load(&run.page->failed)) {
		fprintf(stderr, "%s %s at '%s' pass %u: %s\n",
			kind_name(s->kind), mode_name(s->mode),
			device_step_name(s->step), s->pass, run.page->what);
		return 1;
	}
	return r;
}
