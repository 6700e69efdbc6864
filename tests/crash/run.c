/* SPDX-License-Identifier: BSD-2-Clause */
/* See run.h. */
#include "run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/wire.h"
#include "parties.h"
#include "port/member.h"

bool run_victim_is_target(const struct run *run)
{
	enum family family = run->scenario->kind->family;
	return family == FAMILY_RECEIVE || family == FAMILY_EXECUTE;
}

/* Returns true if the word has reached the value; words have two sizes. */
typedef bool reached_fn(const void *word, uint64_t least);

static bool reached64(const void *word, uint64_t least)
{
	return atomic_load((const _Atomic uint64_t *)word) >= least;
}

static bool reached32(const void *word, uint64_t least)
{
	return atomic_load((const _Atomic uint32_t *)word) >= least;
}

static bool wait_until(struct run *run, reached_fn *reached, const void *word,
	uint64_t least, const char *otherwise)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	while (!reached(word, least)) {
		if (atomic_load(&run->page->failed))
			return false;
		if (clock_passed(deadline))
			return page_fail(run->page, "%s", otherwise);
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	return true;
}

bool run_until(struct run *run, const _Atomic uint64_t *word, uint64_t least,
	const char *otherwise)
{
	return wait_until(run, reached64, word, least, otherwise);
}

bool run_until32(struct run *run, const _Atomic uint32_t *word, uint32_t least,
	const char *otherwise)
{
	return wait_until(run, reached32, word, least, otherwise);
}

/* ---- start ---- */

_Noreturn static void party_main(struct run *run, int which)
{
	const struct scenario *s = run->scenario;
	bool orphan = s->mode == MODE_ORPHAN;
	if (which < 0)
		receiver_main(run->page, s);
	if (which == PARTY_SURVIVOR)
		(orphan ? successor_main : survivor_main)(run->page, s);
	if (run_victim_is_target(run))
		target_main(run->page, s);
	if (orphan)
		orphan_main(run->page, s);
	faulty_main(run->page, s, (enum party)which);
}

static pid_t party_fork(struct run *run, int which)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	party_main(run, which);
}

bool run_start(struct run *run)
{
	enum mode mode = run->scenario->mode;
	bool beside = mode == MODE_DIE_BESIDE || mode == MODE_TOGETHER;
	run->receiver = party_fork(run, -1);
	run->party[PARTY_SURVIVOR] = party_fork(run, PARTY_SURVIVOR);
	if (beside)
		run->party[PARTY_SECOND] = party_fork(run, PARTY_SECOND);
	/* The node reaps processes in the order in which they joined. */
	if (mode == MODE_TOGETHER)
		run_until32(run, &run->page->ready, 2,
			"the first parties are not ready");
	run->party[PARTY_VICTIM] = party_fork(run, PARTY_VICTIM);
	return run_until32(run, &run->page->ready, beside ? 4 : 3,
		"not all parties are ready");
}

/* ---- failures ---- */

static bool never(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 77;
}

bool run_faulted(struct run *run, enum party party)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	int status;
	while (waitpid(run->party[party], &status, WUNTRACED | WNOHANG) == 0) {
		if (clock_passed(deadline) || atomic_load(&run->page->failed))
			return page_fail(run->page, "%s did not fail",
				party_name(party));
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (!WIFSTOPPED(status))
		run->party[party] = 0;
	return !never(status);
}

bool run_fault(struct run *run, enum party party)
{
	atomic_fetch_or(&run->page->fault, 1u << party);
	return run_faulted(run, party);
}

/* ---- node ---- */

/* Returns the descriptor of the reply, or -1. */
static int node_call(struct run *run, struct node_request *request)
{
	struct node_reply reply = { 0 };
	char name[NODE_NAME_MAX];
	int fd = -1, socket = control_connect(
			     NULL, name, clock_after_ns(PARTY_TIMEOUT_NS));
	if (socket < 0 ||
		wire_send(socket, request, sizeof(*request), -1, 0) != 0 ||
		wire_receive(socket, &reply, sizeof(reply), &fd, 0) !=
			sizeof(reply) ||
		reply.error)
		page_fail(run->page, "node: %s", cay_strerror(reply.error));
	if (socket >= 0)
		close(socket);
	return fd;
}

void run_fence(struct run *run, enum party party)
{
	struct node_request request = { .kind = NODE_FENCE };
	request.fence.pid = (uint32_t)run->party[party];
	node_call(run, &request);
}

pid_t run_node(struct run *run)
{
	struct node_request request = { .kind = NODE_STATUS };
	struct node_status status = { 0 };
	int fd = node_call(run, &request);
	if (fd < 0 || pread(fd, &status, sizeof(status), 0) != sizeof(status))
		page_fail(run->page, "no status of the node");
	if (fd >= 0)
		close(fd);
	return (pid_t)status.pid;
}

/* ---- end ---- */

void run_kill(struct run *run, pid_t *pid)
{
	(void)run;
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

void run_end(struct run *run, pid_t *pid, const char *name)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	int status = 0;
	if (*pid <= 0)
		return;
	while (waitpid(*pid, &status, WNOHANG) == 0) {
		if (clock_passed(deadline)) {
			page_fail(run->page, "%s does not exit", name);
			run_kill(run, pid);
			return;
		}
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	*pid = 0;
	if (status)
		page_fail(run->page, "%s exited with status %#x", name, status);
}

void run_kill_all(struct run *run)
{
	for (int i = 0; i < PARTY_COUNT; i++)
		run_kill(run, &run->party[i]);
	run_kill(run, &run->receiver);
}
