/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up when something has run out: descriptors, address space, mappings, in
 * the client or in the node. Each time the errno that cay_port(3) names, no
 * trace of the attempt at the node, and success once there is enough again.
 */
#include <sys/mman.h>

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

/* Exactly so many descriptors may still be opened. */
static bool descriptors_leave(unsigned count)
{
	rlim_t limit = 0;
	if (limit_set(RLIMIT_NOFILE, 1024))
		limit = fd_limit_leaving(getpid(), count);
	return limit > 0 && limit_set(RLIMIT_NOFILE, limit);
}

/* 0, or the errno. */
static int open_error(const struct cay_port_options *o)
{
	struct cay_port *port = cay_port_open(o);
	if (!port)
		return errno;
	return cay_port_close(port) == 0 ? 0 : -1;
}

/* The status of the connection between two processes, told by a parent. */
struct steps {
	int forth[2], back[2];
};

static void steps_open(struct steps *s)
{
	assert_int_equal(pipe(s->forth), 0);
	assert_int_equal(pipe(s->back), 0);
}

static void steps_close(struct steps *s)
{
	for (int i = 0; i < 2; i++) {
		close(s->forth[i]);
		close(s->back[i]);
	}
}

/* ---- descriptors of the client ---- */

/* Free numbers from none to plenty: EMFILE at first, then success. */
static int descriptors_body(void *argument)
{
	struct steps *s = argument;
	unsigned leaving = 0;
	int r = EMFILE;
	for (; r == EMFILE && leaving < 16; leaving++) {
		NEED(descriptors_leave(leaving));
		r = open_error(NULL);
	}
	NEED(limit_set(RLIMIT_NOFILE, 1024));
	NEED(r == 0);
	NEED(leaving > 1); /* without any it cannot have worked */
	signal_ready(s->forth[1]);
	NEED(wait_ready(s->back[0])); /* the parent has looked at the node */
	return 0;
}

static void a_client_without_descriptors(void **state)
{
	struct steps s;
	struct rest rest = rest_now();
	(void)state;
	steps_open(&s);
	pid_t child = child_start(descriptors_body, &s);
	assert_true(wait_ready(s.forth[0]));
	/* It lives, so nothing of its failures is tidied up by its death. */
	assert_rest(&rest);
	signal_ready(s.back[1]);
	assert_int_equal(child_join(child), 0);
	steps_close(&s);
}

static int descriptor_body(void *unused)
{
	(void)unused;
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	NEED(descriptors_leave(0));
	NEED(cay_port_fd(port) == -EMFILE);
	NEED(cay_port_arm(port) == -EBADF);
	NEED(descriptors_leave(1));
	NEED(cay_port_fd(port) >= 0);
	NEED(cay_port_arm(port) == 0);
	NEED(cay_port_close(port) == 0);
	return 0;
}

static void a_port_without_a_descriptor(void **state)
{
	(void)state;
	assert_int_equal(child_run(descriptor_body, NULL), 0);
}

/* A sender that finds no place for the target's eventfd asks the node. */
static int ringer_body(void *argument)
{
	struct cay_addr *to = argument;
	struct cay_peer *peer;
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	NEED(cay_peer_resolve(port, *to, &peer) == 0);
	NEED(descriptors_leave(0));
	NEED(cay_send(port, peer, 1, "x", 1, 0) == 0);
	cay_peer_release(peer);
	NEED(cay_port_close(port) == 0);
	return 0;
}

static void a_sender_without_descriptors_rings(void **state)
{
	struct cay_addr addr = cay_port_addr(anchor);
	struct pollfd p = { .fd = cay_port_fd(anchor), .events = POLLIN };
	struct cay_event e;
	(void)state;
	assert_true(p.fd >= 0);
	assert_int_equal(cay_port_arm(anchor), 0);
	pid_t child = child_start(ringer_body, &addr);
	assert_int_equal(poll(&p, 1, HARNESS_TIMEOUT_MS), 1);
	assert_int_equal(child_join(child), 0);
	assert_int_equal(cay_poll(anchor, &e, 1), 1);
	cay_release(anchor, &e);
}

/* ---- descriptors of the node ---- */

/* Exactly so many may still be opened in the node. */
static void node_leave(pid_t node, unsigned count)
{
	struct rlimit limit;
	fd_settle(node);
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = fd_limit_leaving(node, count);
	assert_true(limit.rlim_cur > 0);
	assert_int_equal(prlimit(node, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void node_relieve(pid_t node)
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

/* Which of accept, pidfd or the realm's memfd fails depends on how many. */
static void starve_node(const struct cay_port_options *o, unsigned enough)
{
	struct rest rest = rest_now();
	pid_t node = node_pid();
	for (unsigned leaving = 0; leaving <= enough; leaving++) {
		uint64_t refused = refused_now();
		node_leave(node, leaving);
		int r = child_run(open_body, (void *)o);
		node_relieve(node);
		if (r != (leaving < enough ? EMFILE : 0))
			fail_msg("%u free in the node: %d", leaving, r);
		/* It was told, and did not try until it happened to hear. */
		assert_true(refused_now() - refused <= 1);
		assert_rest(&rest);
	}
	assert_int_equal(node_pid(), node);
}

static void a_node_without_descriptors(void **state)
{
	(void)state;
	/* Socket and pidfd. */
	starve_node(NULL, 2);
}

static void a_node_without_one_for_a_realm(void **state)
{
	struct cay_port_options o = { .realm = "another" };
	(void)state;
	/* Socket, pidfd, arena. */
	starve_node(&o, 3);
}

/* The eventfd that a port sends along finds no place there. */
static void a_node_without_one_for_a_bell(void **state)
{
	pid_t node = node_pid();
	(void)state;
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	node_leave(node, 0);
	assert_int_equal(cay_port_fd(port), -EMFILE);
	node_relieve(node);
	assert_true(cay_port_fd(port) >= 0);
	assert_int_equal(cay_port_close(port), 0);
}

static void a_node_without_one_for_its_status(void **state)
{
	struct node_request q = { .kind = NODE_STATUS };
	struct node_reply reply;
	pid_t node = node_pid();
	int s = raw_member("default");
	(void)state;
	assert_true(s >= 0);
	/* A memfd, and a stream that writes it. */
	node_leave(node, 0);
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EMFILE);
	node_leave(node, 1);
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), -EMFILE);
	node_relieve(node);
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

static int space_body(void *argument)
{
	struct steps *s = argument;
	NEED(limit_set(RLIMIT_AS, address_space_now() + (1ull << 30)));
	NEED(open_error(NULL) == ENOMEM);
	NEED(limit_set(RLIMIT_AS, address_space_now() + 4096));
	NEED(open_error(NULL) == ENOMEM);
	NEED(limit_set(RLIMIT_AS, RLIM_INFINITY));
	NEED(open_error(NULL) == 0);
	signal_ready(s->forth[1]);
	NEED(wait_ready(s->back[0]));
	return 0;
}

static void a_client_without_address_space(void **state)
{
	struct steps s;
	struct rest rest = rest_now();
	(void)state;
	if (HARNESS_SANITIZED)
		skip();
	steps_open(&s);
	pid_t child = child_start(space_body, &s);
	assert_true(wait_ready(s.forth[0]));
	assert_rest(&rest);
	signal_ready(s.back[1]);
	assert_int_equal(child_join(child), 0);
	steps_close(&s);
}

/* The node inherits the limit of whoever starts it, and says the same. */
static int small_node_body(void *unused)
{
	(void)unused;
	harness_rename();
	NEED(limit_set(RLIMIT_AS, address_space_now() + (1ull << 30)));
	NEED(open_error(NULL) == ENOMEM);
	NEED(wait_for(no_node, NULL, 5000));
	return 0;
}

static void a_node_without_address_space(void **state)
{
	(void)state;
	if (HARNESS_SANITIZED)
		skip();
	assert_int_equal(child_run(small_node_body, NULL), 0);
}

/* ---- mappings ---- */

/* Pages of alternating rights, so that no two become one mapping. */
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
	unsigned count, given_back = 0;
	(void)unused;
	count = mappings_fill(pages, 1 << 17);
	NEED(count > 1000);
	int r = open_error(NULL);
	NEED(r == ENOMEM);
	/* A few more each time: all the places where one is needed. */
	while (r == ENOMEM && given_back < 64) {
		munmap(pages[count - 1 - given_back++], 4096);
		r = open_error(NULL);
	}
	NEED(r == 0);
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

static void a_client_without_mappings(void **state)
{
	struct rest rest = rest_now();
	(void)state;
	/* Some machines allow far more than can be filled. */
	if (HARNESS_SANITIZED || mappings_allowed() > 1 << 17)
		skip();
	assert_int_equal(child_run(mappings_body, NULL), 0);
	assert_rest(&rest);
}

/* ---- the node itself ---- */

static int no_program_body(void *unused)
{
	(void)unused;
	harness_rename();
	setenv("CAY_NODE_PROGRAM", "/nonexistent/cay", 1);
	NEED(open_error(NULL) == ENOENT);
	return 0;
}

static void no_program_for_the_node(void **state)
{
	(void)state;
	assert_int_equal(child_run(no_program_body, NULL), 0);
}

static void names_that_cannot_be(void **state)
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

static void another_version_is_refused(void **state)
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
	/* A newer minor version only adds. */
	q.hello.major = NODE_MAJOR;
	q.hello.minor = NODE_MINOR + 1;
	assert_int_equal(raw_call(s, &q, -1, &reply, NULL), 0);
	close(s);
}

#define WITH_ANCHOR(test) \
	cmocka_unit_test_setup_teardown(test, anchor_open, anchor_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ANCHOR(a_client_without_descriptors),
		WITH_ANCHOR(a_port_without_a_descriptor),
		WITH_ANCHOR(a_sender_without_descriptors_rings),
		WITH_ANCHOR(a_node_without_descriptors),
		WITH_ANCHOR(a_node_without_one_for_a_realm),
		WITH_ANCHOR(a_node_without_one_for_a_bell),
		WITH_ANCHOR(a_node_without_one_for_its_status),
		WITH_ANCHOR(a_client_without_address_space),
		WITH_ANCHOR(a_node_without_address_space),
		WITH_ANCHOR(a_client_without_mappings),
		WITH_ANCHOR(no_program_for_the_node),
		WITH_ANCHOR(names_that_cannot_be),
		WITH_ANCHOR(another_version_is_refused),
	};
	harness_begin("setup");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
