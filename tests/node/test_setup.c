/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up without descriptors, address space or mappings, in the client or in
 * the node. The call fails with the errno documented in cay_port(3), leaks
 * nothing in the node, and succeeds once resources are available.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "node/node.h"
#include "outside.h"

static struct cay_port *anchor; /* keeps the node alive */

static int anchor_open(void **state)
{
	(void)state;
	harness_rename();
	anchor = cay_port_open(NULL);
	return anchor ? 0 : -1;
}

static int anchor_close(void **state)
{
	(void)state;
	int r = cay_port_close(anchor);
	anchor = NULL;
	return r;
}

static bool limit_set(int which, rlim_t soft)
{
	struct rlimit limit;
	if (getrlimit(which, &limit) != 0)
		return false;
	limit.rlim_cur = soft;
	return setrlimit(which, &limit) == 0;
}

/* Lets this process open exactly `count` more descriptors. */
static bool fd_limit_self(unsigned count)
{
	rlim_t limit = 0;
	if (limit_set(RLIMIT_NOFILE, 1024))
		limit = fd_limit_for(getpid(), count);
	return limit > 0 && limit_set(RLIMIT_NOFILE, limit);
}

/* Returns 0, or the errno. */
static int open_error(const struct cay_port_options *o)
{
	struct cay_port *port = cay_port_open(o);
	if (!port)
		return errno;
	return cay_port_close(port) == 0 ? 0 : -1;
}

/*
 * Runs a client in a child and checks the node before the child exits, so that
 * leaks are not hidden by reaping. The body calls client_wait() at its end.
 */
static void client_run(int (*body)(void *))
{
	struct usage usage = usage_now();
	int checked[2];
	assert_int_equal(pipe(checked), 0);
	pid_t child = child_start_ready(body, checked);
	assert_usage(&usage);
	signal_ready(checked[1]);
	assert_int_equal(child_join(child), 0);
	close(checked[0]);
	close(checked[1]);
}

static bool client_wait(const int *checked)
{
	child_ready();
	return wait_ready(checked[0]);
}

/* ---- descriptors of the client ---- */

/* Increases the limit: EMFILE until enough descriptors are free. */
static int few_fds_body(void *argument)
{
	unsigned spare = 0;
	int r = EMFILE;
	for (; r == EMFILE && spare < 16; spare++) {
		assert_true(fd_limit_self(spare));
		r = open_error(NULL);
	}
	assert_true(limit_set(RLIMIT_NOFILE, 1024));
	assert_true(r == 0);
	assert_true(spare > 1); /* opening failed at least once */
	assert_true(client_wait(argument));
	return 0;
}

static void client_out_of_fds(void **state)
{
	(void)state;
	client_run(few_fds_body);
}

static int no_doorbell_fd_body(void *unused)
{
	(void)unused;
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	assert_true(fd_limit_self(0));
	assert_true(cay_port_fd(port) == -EMFILE);
	assert_true(cay_port_arm(port) == -EBADF);
	assert_true(fd_limit_self(1));
	assert_true(cay_port_fd(port) >= 0);
	assert_true(cay_port_arm(port) == 0);
	assert_true(cay_port_close(port) == 0);
	return 0;
}

static void client_out_of_fds_for_doorbell(void **state)
{
	(void)state;
	assert_int_equal(child_run(no_doorbell_fd_body, NULL), 0);
}

/* A sender that cannot receive the descriptor asks the node to ring it. */
static int sender_body(void *argument)
{
	struct cay_addr *to = argument;
	struct cay_peer *peer;
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	assert_true(cay_peer_resolve(port, *to, &peer) == 0);
	assert_true(fd_limit_self(0));
	assert_true(cay_send(port, peer, 1, "x", 1, 0) == 0);
	cay_peer_release(peer);
	assert_true(cay_port_close(port) == 0);
	return 0;
}

static void sender_out_of_fds_rings_doorbell(void **state)
{
	struct cay_addr addr = cay_port_addr(anchor);
	struct pollfd p = { .fd = cay_port_fd(anchor), .events = POLLIN };
	struct cay_event e;
	(void)state;
	assert_true(p.fd >= 0);
	assert_int_equal(cay_port_arm(anchor), 0);
	pid_t child = child_start(sender_body, &addr);
	assert_int_equal(poll(&p, 1, HARNESS_TIMEOUT_MS), 1);
	assert_int_equal(child_join(child), 0);
	assert_int_equal(cay_poll(anchor, &e, 1), 1);
	cay_release(anchor, &e);
}

/* ---- descriptors of the node ---- */

/* Lets the node open exactly `count` more descriptors. */
static void fd_limit_node(pid_t node, unsigned count)
{
	struct rlimit limit;
	fd_count_settle(node);
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = fd_limit_for(node, count);
	assert_true(limit.rlim_cur > 0);
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void fd_unlimit_node(pid_t node)
{
	struct rlimit limit;
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, &limit, NULL), 0);
}

static int open_body(void *argument)
{
	return open_error(argument);
}

static uint64_t refused_now(void)
{
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	return s.refused;
}

/* Depending on the limit, accept(), pidfd_open() or memfd_create() fails. */
static void limit_node_fds(const struct cay_port_options *o, unsigned enough)
{
	struct usage usage = usage_now();
	pid_t node = node_pid();
	for (unsigned spare = 0; spare <= enough; spare++) {
		uint64_t refused = refused_now();
		fd_limit_node(node, spare);
		int r = child_run(open_body, (void *)o);
		fd_unlimit_node(node);
		if (r != (spare < enough ? EMFILE : 0))
			fail_msg("%u free in the node: %d", spare, r);
		/* The client got the error at its first attempt. */
		assert_true(refused_now() - refused <= 1);
		assert_usage(&usage);
	}
	assert_int_equal(node_pid(), node);
}

static void node_out_of_fds(void **state)
{
	(void)state;
	/* Socket and pidfd. */
	limit_node_fds(NULL, 2);
}

static void node_out_of_fds_for_realm(void **state)
{
	struct cay_port_options o = { .realm = "another" };
	(void)state;
	/* Socket, pidfd, arena. */
	limit_node_fds(&o, 3);
}

static void node_out_of_fds_for_doorbell(void **state)
{
	pid_t node = node_pid();
	(void)state;
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	fd_limit_node(node, 0);
	assert_int_equal(cay_port_fd(port), -EMFILE);
	fd_unlimit_node(node);
	assert_true(cay_port_fd(port) >= 0);
	assert_int_equal(cay_port_close(port), 0);
}

static void node_out_of_fds_for_status(void **state)
{
	struct node_request q = { .kind = NODE_STATUS };
	struct node_reply reply;
	pid_t node = node_pid();
	int s = raw_member("default");
	(void)state;
	assert_true(s >= 0);
	/* The status needs a memfd and a duplicate of it. */
	fd_limit_node(node, 0);
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EMFILE);
	fd_limit_node(node, 1);
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EMFILE);
	fd_unlimit_node(node);
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), 0);
	close(s);
}

/* ---- address space ---- */

static rlim_t address_space_now(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (rlim_t)pages * 4096;
}

static int address_space_body(void *argument)
{
	assert_true(limit_set(RLIMIT_AS, address_space_now() + (1ull << 30)));
	assert_true(open_error(NULL) == ENOMEM);
	assert_true(limit_set(RLIMIT_AS, address_space_now() + 4096));
	assert_true(open_error(NULL) == ENOMEM);
	assert_true(limit_set(RLIMIT_AS, RLIM_INFINITY));
	assert_true(open_error(NULL) == 0);
	assert_true(client_wait(argument));
	return 0;
}

static void client_out_of_address_space(void **state)
{
	(void)state;
	if (HARNESS_SANITIZED)
		skip();
	client_run(address_space_body);
}

/* The node inherits the limit of the client that starts it. */
static int small_node_body(void *unused)
{
	(void)unused;
	harness_rename();
	assert_true(limit_set(RLIMIT_AS, address_space_now() + (1ull << 30)));
	assert_true(open_error(NULL) == ENOMEM);
	assert_true(wait_for(node_absent, NULL, 5000));
	return 0;
}

static void node_out_of_address_space(void **state)
{
	(void)state;
	if (HARNESS_SANITIZED)
		skip();
	assert_int_equal(child_run(small_node_body, NULL), 0);
}

/* ---- mappings ---- */

/* Alternating protection keeps the kernel from merging mappings. */
static unsigned mappings_fill(void **first, unsigned most)
{
	unsigned count = 0;
	for (; count < most; count++) {
		void *p = mmap(NULL, 4096, count % 2 ? PROT_READ : PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			break;
		first[count] = p;
	}
	return count;
}

static int mappings_body(void *unused)
{
	static void *pages[1 << 17];
	unsigned count, unmapped = 0;
	(void)unused;
	count = mappings_fill(pages, 1 << 17);
	assert_true(count > 1000);
	int r = open_error(NULL);
	assert_true(r == ENOMEM);
	/* Frees one mapping per attempt, so that each mmap() fails in turn. */
	while (r == ENOMEM && unmapped < 64) {
		munmap(pages[count - 1 - unmapped++], 4096);
		r = open_error(NULL);
	}
	assert_true(r == 0);
	return 0;
}

static long mappings_allowed(void)
{
	long most = 0;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	if (f && fscanf(f, "%ld", &most) != 1)
		most = 0;
	if (f)
		fclose(f);
	return most;
}

static void client_out_of_mappings(void **state)
{
	struct usage usage = usage_now();
	(void)state;
	/* The limit is too high on some systems. */
	if (HARNESS_SANITIZED || mappings_allowed() > 1 << 17)
		skip();
	assert_int_equal(child_run(mappings_body, NULL), 0);
	assert_usage(&usage);
}

/* ---- program, names and versions ---- */

static int no_program_body(void *unused)
{
	(void)unused;
	harness_rename();
	setenv("CAY_NODE_PROGRAM", "/nonexistent/cay", 1);
	assert_true(open_error(NULL) == ENOENT);
	return 0;
}

static void node_program_is_missing(void **state)
{
	(void)state;
	assert_int_equal(child_run(no_program_body, NULL), 0);
}

static void invalid_names_are_refused(void **state)
{
	char text[NODE_NAME_MAX + 1];
	memset(text, 'n', sizeof(text));
	text[NODE_NAME_MAX] = 0;
	const char *const wrong[] = { text, "a/b", "a b", "\n", "\xc3\xa9" };
	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(open_error(&(struct cay_port_options){
					 .node = wrong[i] }),
			EINVAL);
		assert_int_equal(open_error(&(struct cay_port_options){
					 .realm = wrong[i] }),
			EINVAL);
		assert_int_equal(open_error(&(struct cay_port_options){
					 .name = wrong[i] }),
			EINVAL);
	}
}

static void other_versions_are_refused(void **state)
{
	struct node_request q = hello_request("default");
	struct node_reply reply;
	int s = raw_connect();
	(void)state;
	assert_true(s >= 0);
	q.hello.major = NODE_MAJOR + 1;
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EPROTONOSUPPORT);
	q.hello.major = 0;
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EPROTONOSUPPORT);
	/* Minor versions are compatible. */
	q.hello.major = NODE_MAJOR;
	q.hello.minor = NODE_MINOR + 1;
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), 0);
	close(s);
}

/* ---- a node without memfd_create(2) ---- */

static int serve_without_memfd_body(void *error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ERRNO | *(const unsigned *)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_COUNT(filter), filter };
	struct node_options o = { .name = harness_name };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	return -node_serve(&o);
}

/* A filter fails with EPERM, too, which means a node of another user. */
static void node_without_memfd(void **state)
{
	static unsigned errors[] = { EPERM, ENOSYS };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(errors); i++) {
		struct node_request q = { .kind = NODE_STATUS };
		struct node_reply reply;
		server_start(serve_without_memfd_body, &errors[i]);
		assert_null(cay_port_open(NULL));
		assert_int_equal(errno, ENOSYS);
		assert_non_null(strstr(
			cay_call_strerror("cay_port_open", errno), "memfd"));
		int s = raw_connect();
		assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -ENOSYS);
		close(s);
		server_join();
	}
}

#define WITH_ANCHOR(test) \
	cmocka_unit_test_setup_teardown(test, anchor_open, anchor_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ANCHOR(client_out_of_fds),
		WITH_ANCHOR(client_out_of_fds_for_doorbell),
		WITH_ANCHOR(sender_out_of_fds_rings_doorbell),
		WITH_ANCHOR(node_out_of_fds),
		WITH_ANCHOR(node_out_of_fds_for_realm),
		WITH_ANCHOR(node_out_of_fds_for_doorbell),
		WITH_ANCHOR(node_out_of_fds_for_status),
		WITH_ANCHOR(client_out_of_address_space),
		WITH_ANCHOR(node_out_of_address_space),
		WITH_ANCHOR(client_out_of_mappings),
		WITH_ANCHOR(node_program_is_missing),
		WITH_ANCHOR(invalid_names_are_refused),
		WITH_ANCHOR(other_versions_are_refused),
		cmocka_unit_test(node_without_memfd),
	};
	harness_begin("setup");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
