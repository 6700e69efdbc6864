/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory barriers of the node: for members that could not register for
 * expedited barriers the node uses global ones. If these are unavailable, calls
 * that need a barrier fail with -EOPNOTSUPP, and the memory of closed ports is
 * not reused. System call filters deny membarrier(2) to the client, to the
 * node, or to both.
 */
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "node/node.h"
#include "outside.h"

#define DENY_NONE   (-1)
#define DENY_ALL    (-2)
#define PORTS	    40
#define SKIP_STATUS 77

/* Makes one command of membarrier(2), or all of them, fail with ENOSYS. */
static bool deny(int command)
{
	struct sock_filter all[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, args[0])),
		/* Jumps to the next line in any case if all are denied. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)command, 0,
			command == DENY_ALL ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_COUNT(all), all };
	return command == DENY_NONE ||
	       (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ==
			       0);
}

/* ---- node ---- */

static int serve_body(void *argument)
{
	struct node_options o = { .name = harness_name };
	assert_true(deny(*(const int *)argument));
	return -node_serve(&o);
}

static void node_start(int denied)
{
	server_start(serve_body, &denied);
}

static struct node_status status_now(void)
{
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	return s;
}

/* ---- one member ---- */

struct member_options {
	int denied;
	int expected; /* result of each call that needs a barrier */
};

static int member_body(void *argument)
{
	const struct member_options *s = argument;
	static char memory[2][4096];
	struct cay_window *w[2];
	struct cay_key key;
	struct cay_peer *peer;

	assert_true(deny(s->denied));
	struct cay_port *owner = cay_port_open(NULL);
	struct cay_port *other = cay_port_open(NULL);
	assert_true(owner && other);
	for (int i = 0; i < 2; i++)
		assert_true(cay_window_open(owner, memory[i], sizeof(memory[i]),
				    CAY_RIGHT_WRITE, &w[i]) == 0);
	assert_true(cay_peer_resolve(other, cay_port_addr(owner), &peer) == 0);

	assert_true(cay_window_revoke(w[0], &key) == s->expected);
	assert_true(cay_window_lock(other, peer, key, 0) == s->expected);
	if (s->expected == 0)
		assert_true(cay_window_unlock(other, peer, key) == 0);
	else /* The lock was not granted. */
		assert_true(cay_window_unlock(other, peer, key) == -EPERM);
	assert_true(cay_window_close(w[0]) == s->expected);
	struct node_request q = { .kind = NODE_FENCE };
	struct node_reply reply;
	q.fence.pid = (uint32_t)getpid();
	int socket = raw_connect();
	assert_true(socket >= 0);
	assert_true(raw_call(socket, &q, -1, &reply, NULL) == s->expected);
	close(socket);
	/* One window is open: closing the port waits for accesses to it. */
	assert_true(cay_port_close(owner) == s->expected);
	assert_true(cay_port_close(other) == 0);
	return 0;
}

static void run(int node_denied, int member_denied, int expected)
{
	struct member_options s = { member_denied, expected };
	node_start(node_denied);
	assert_int_equal(child_run(member_body, &s), 0);
	server_join();
}

static void registered_members_need_expedited_barriers(void **state)
{
	(void)state;
	run(MEMBARRIER_CMD_GLOBAL, DENY_NONE, 0);
}

static void unregistered_members_need_global_barriers(void **state)
{
	(void)state;
	run(MEMBARRIER_CMD_GLOBAL_EXPEDITED, DENY_ALL, 0);
}

static void missing_global_barriers_are_an_error(void **state)
{
	(void)state;
	run(MEMBARRIER_CMD_GLOBAL, DENY_ALL, -EOPNOTSUPP);
}

static void missing_barriers_are_an_error(void **state)
{
	(void)state;
	run(DENY_ALL, DENY_NONE, -EOPNOTSUPP);
}

/* ---- two members ---- */

struct peer_options {
	int denied;
	unsigned ports;
};

/* Opens ports and waits to be killed. */
static int peer_body(void *argument)
{
	const struct peer_options *s = argument;
	assert_true(deny(s->denied));
	for (unsigned i = 0; i < s->ports; i++)
		assert_true(cay_port_open(NULL));
	child_ready();
	pause();
	return 1;
}

static pid_t peer_start(int denied, unsigned ports)
{
	struct peer_options s = { denied, ports };
	return child_start_ready(peer_body, &s);
}

/* Barriers must reach all members of a realm. */
static void unregistered_member_affects_its_realm(void **state)
{
	struct member_options fails = { DENY_NONE, -EOPNOTSUPP };
	struct member_options works = { DENY_NONE, 0 };
	(void)state;
	node_start(MEMBARRIER_CMD_GLOBAL);
	pid_t peer = peer_start(DENY_ALL, 1);
	assert_int_equal(child_run(member_body, &fails), 0);
	child_kill(peer);
	assert_int_equal(child_run(member_body, &works), 0);
	server_join();
}

static bool one_process_left(void *unused)
{
	(void)unused;
	struct node_status s = status_now();
	return s.processes == 1 && s.zombies == 0;
}

static bool repaired(void *unused)
{
	(void)unused;
	return status_now().repaired == 1;
}

/* The node keeps the memory of a port until no member is left. */
static void ports_are_not_reclaimed_without_barriers(void **state)
{
	(void)state;
	node_start(DENY_ALL);
	pid_t first = peer_start(DENY_NONE, 1);
	pid_t second = peer_start(DENY_NONE, 3);
	child_kill(second);
	assert_true(wait_for(repaired, NULL, 5000));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(status_now().ports, 4);
		clock_nap_ns(5 * CLOCK_NS_PER_MS);
	}
	child_kill(first);
	server_join();
}

static void reaping_a_process_needs_one_barrier(void **state)
{
	(void)state;
	node_start(DENY_NONE);
	pid_t first = peer_start(DENY_NONE, 1);
	pid_t second = peer_start(DENY_NONE, PORTS);
	uint64_t before = status_now().barriers;
	child_kill(second);
	assert_true(wait_for(one_process_left, NULL, 5000));
	assert_int_equal(status_now().barriers - before, 1);
	child_kill(first);
	server_join();
}

/*
 * A member that has not registered, and whose op records name a port each:
 * however many there are, fencing it issues two barriers.
 */
static int fence_body(void *unused)
{
	struct node_request q = hello_request("default");
	struct node_reply reply;
	struct node_status before, after;
	int fd = -1, s = raw_connect();
	(void)unused;
	q.hello.flags = 0;
	assert_true(s >= 0 && raw_call(s, &q, -1, &reply, &fd) == 0);
	struct op_record *records = mmap(NULL, ARENA_PAGE,
		PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		(off_t)reply.hello.records);
	assert_true(records != MAP_FAILED);
	for (unsigned i = 0; i < OP_RECORDS_PER_PAGE; i++) {
		q = (struct node_request){ .kind = NODE_OPEN };
		assert_true(raw_call(s, &q, -1, &reply, NULL) == 0);
		atomic_store(&records[i].state,
			op_state_word(
				OP_TRY, reply.open.vpid, reply.open.epoch));
	}
	assert_true(status_get(&before) == 0);
	q = (struct node_request){ .kind = NODE_FENCE };
	q.fence.pid = (uint32_t)getpid();
	assert_true(raw_call(s, &q, -1, &reply, NULL) == 0);
	assert_true(status_get(&after) == 0);
	assert_true(reply.fence.migrated == OP_RECORDS_PER_PAGE);
	assert_true(after.barriers - before.barriers == 2);
	return 0;
}

static void fencing_needs_two_barriers(void **state)
{
	(void)state;
	node_start(DENY_NONE);
	assert_int_equal(child_run(fence_body, NULL), 0);
	server_join();
}

static int filter_body(void *unused)
{
	(void)unused;
	return !deny(DENY_ALL) ||
	       syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) >= 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(registered_members_need_expedited_barriers),
		cmocka_unit_test(unregistered_members_need_global_barriers),
		cmocka_unit_test(missing_global_barriers_are_an_error),
		cmocka_unit_test(missing_barriers_are_an_error),
		cmocka_unit_test(unregistered_member_affects_its_realm),
		cmocka_unit_test(ports_are_not_reclaimed_without_barriers),
		cmocka_unit_test(reaping_a_process_needs_one_barrier),
		cmocka_unit_test(fencing_needs_two_barriers),
	};
	harness_begin("barrier");
	if (child_run(filter_body, NULL) != 0 ||
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
		return SKIP_STATUS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
