/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGKILL of clients and nodes at random moments: afterwards no process, socket
 * or shared memory is left, and the next client can start at once.
 */
#include "outside.h"

#define LEFTOVERS_MS_MAX 3000 /* until nothing is left */
#define START_MS_MAX	 2000 /* until the next port is open */
#define CLIENTS		 4
#define KILLS		 300

/* ---- clients that send until they are killed ---- */

struct clients {
	pid_t pids[CLIENTS];
	int ready[2];
};

/* Sends to all other clients that can be resolved. */
_Noreturn static int client_body(void *argument)
{
	static unsigned char data[20000];
	struct clients *c = argument;
	struct cay_peer *peers[CLIENTS] = { 0 };
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	assert_true(cay_alloc(port, 1 << 20, 0));
	assert_true(cay_port_fd(port) >= 0);
	signal_ready(c->ready[1]);
	struct cay_addr self = cay_port_addr(port);
	for (uint64_t i = 0;; i++) {
		struct cay_event e[8];
		unsigned which = i % CLIENTS;
		uint16_t vpid = (uint16_t)(1 + which);
		if (!peers[which] && vpid != self.vpid)
			cay_peer_resolve(port,
				(struct cay_addr){ self.node, vpid },
				&peers[which]);
		size_t bytes = i % 64 == 0 ? sizeof(data) : i % 3000;
		if (peers[which])
			cay_send(port, peers[which], i, data, bytes, 0);
		int n = cay_poll(port, e, 8);
		for (int j = 0; j < n; j++)
			cay_release(port, &e[j]);
	}
}

static void clients_start(struct clients *c)
{
	assert_int_equal(pipe2(c->ready, O_CLOEXEC), 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		c->pids[i] = child_start(client_body, c);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_true(wait_ready(c->ready[0]));
}

static void clients_kill(struct clients *c)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		kill(c->pids[i], SIGKILL);
	for (unsigned i = 0; i < CLIENTS; i++)
		child_join(c->pids[i]);
	close(c->ready[0]);
	close(c->ready[1]);
}

/* Checks all nodes of this run. */
static void assert_no_leftovers(const char *after)
{
	uint64_t since = clock_now_ns();
	struct names names = names_of_run();
	if (!wait_for(no_leftovers, &names, LEFTOVERS_MS_MAX))
		fail_msg("after %s: %u processes, %u sockets, %u files", after,
			processes_named(&names), sockets_named(&names),
			shm_files());
	print_message("  %s: nothing left after %llu ms\n", after,
		(unsigned long long)elapsed_ms(since));
}

/* A port can be opened at once, even while the last node is exiting. */
static void assert_port_opens(void)
{
	uint64_t since = clock_now_ns();
	struct cay_port *port = cay_port_open(NULL);
	uint64_t took = elapsed_ms(since);
	if (!port)
		fail_msg("cay_port_open: %s", strerror(errno));
	assert_true(took < START_MS_MAX);
	assert_int_equal(cay_port_close(port), 0);
}

static void random_nap(uint64_t *seed)
{
	clock_nap_ns(random_below(seed, 30) * CLOCK_NS_PER_MS);
}

/* ---- victims ---- */

static void kill_one_client(struct clients *c, uint64_t *seed)
{
	kill(c->pids[random_below(seed, CLIENTS)], SIGKILL);
	random_nap(seed);
	assert_port_opens();
}

static void kill_all_clients(struct clients *c, uint64_t *seed)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		kill(c->pids[i], SIGKILL);
		if (random_below(seed, 2))
			random_nap(seed);
	}
	assert_port_opens();
}

/* Clients continue without their node; new clients start a new node. */
static void kill_node(struct clients *c, uint64_t *seed)
{
	pid_t node = node_pid();
	(void)c;
	assert_true(node > 0);
	kill(node, SIGKILL);
	assert_port_opens();
	random_nap(seed);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(kill(c->pids[i], 0), 0);
}

static void kill_all(struct clients *c, uint64_t *seed)
{
	pid_t node = node_pid();
	assert_true(node > 0);
	bool node_first = random_below(seed, 2);
	if (node_first)
		kill(node, SIGKILL);
	for (unsigned i = 0; i < CLIENTS; i++)
		kill(c->pids[i], SIGKILL);
	if (!node_first)
		kill(node, SIGKILL);
	assert_port_opens();
}

static const struct {
	const char *name;
	void (*run)(struct clients *, uint64_t *seed);
} victims[] = {
	{ "a client", kill_one_client },
	{ "all clients", kill_all_clients },
	{ "the node", kill_node },
	{ "clients and node", kill_all },
};

static void kill_leaves_nothing(void **state)
{
	uint64_t seed = random_seed();
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct clients c;
		unsigned which = round % 4;
		harness_rename();
		clients_start(&c);
		random_nap(&seed);
		victims[which].run(&c, &seed);
		clients_kill(&c);
		assert_no_leftovers(victims[which].name);
		assert_port_opens();
		assert_no_leftovers("the next client");
	}
}

/* ---- kills during set-up ---- */

/* Opens a port, resolves, sends and closes in a loop. */
_Noreturn static int reopen_body(void *argument)
{
	struct cay_addr *to = argument;
	struct cay_port_options o = { .nq_entries = 16, .name = "reopen" };
	for (;;) {
		struct cay_peer *peer;
		struct cay_port *port = cay_port_open(&o);
		/* The node may not have reaped the previous process yet. */
		if (!port && errno == EEXIST)
			continue;
		assert_true(port);
		assert_true(cay_peer_resolve(port, *to, &peer) == 0);
		cay_send(port, peer, 1, "x", 1, 0);
		assert_true(cay_alloc(port, 5000, 0));
		assert_true(cay_port_fd(port) >= 0);
		cay_peer_release(peer);
		assert_true(cay_port_close(port) == 0);
	}
}

static void drain(struct cay_port *port)
{
	struct cay_event e[16];
	int n;
	while ((n = cay_poll(port, e, 16)) > 0)
		for (int i = 0; i < n; i++)
			cay_release(port, &e[i]);
	assert_int_equal(n, 0);
}

static void kill_during_setup(void **state)
{
	uint64_t seed = random_seed();
	(void)state;
	harness_rename();
	struct cay_port *anchor = cay_port_open(NULL);
	assert_non_null(anchor);
	struct cay_addr addr = cay_port_addr(anchor);
	pid_t node = node_pid();
	struct usage usage = usage_now();
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t child = child_start(reopen_body, &addr);
		clock_nap_ns(random_below(&seed, 3000) * CLOCK_NS_PER_US);
		child_kill(child);
		drain(anchor);
	}
	assert_usage(&usage);
	assert_int_equal(node_pid(), node);
	assert_int_equal(cay_port_close(anchor), 0);
	assert_node_exits();
}

static int starter_body(void *unused)
{
	(void)unused;
	assert_true(cay_port_open(NULL));
	pause();
	return 1;
}

static void kill_during_node_start(void **state)
{
	uint64_t seed = random_seed();
	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		harness_rename();
		pid_t child = child_start(starter_body, NULL);
		clock_nap_ns(random_below(&seed, 4000) * CLOCK_NS_PER_US);
		child_kill(child);
		if (i % 8 == 0)
			assert_port_opens();
		if (i % 8 == 7)
			assert_no_leftovers("a client that starts the node");
	}
}

/* The node has a descriptor for each port that has a doorbell. */
static void closed_ports_leave_no_descriptor(void **state)
{
	(void)state;
	harness_rename();
	struct cay_port *first = cay_port_open(NULL);
	assert_non_null(first);
	pid_t node = node_pid();
	fd_count_settle(node);
	int before = fd_count(node);
	for (unsigned i = 0; i < 16; i++) {
		struct cay_port *port = cay_port_open(NULL);
		assert_non_null(port);
		assert_true(cay_port_fd(port) >= 0);
		assert_int_equal(cay_port_close(port), 0);
	}
	/* A loaded node closes later: wait for the count, not for a time. */
	uint64_t since = clock_now_ns();
	while (fd_count(node) > before && elapsed_ms(since) < 10000)
		clock_nap_ns(4 * CLOCK_NS_PER_MS);
	assert_true(fd_count(node) <= before);
	assert_int_equal(cay_port_close(first), 0);
}

/* ---- exit of the node ---- */

static void node_exits_after_last_port(void **state)
{
	uint64_t best = UINT64_MAX;
	(void)state;
	/* The best of three, since load may delay an exit. */
	for (unsigned i = 0; i < 3; i++) {
		harness_rename();
		struct cay_port *ports[2] = { cay_port_open(NULL),
			cay_port_open(&(struct cay_port_options){
				.realm = "other" }) };
		assert_non_null(ports[0]);
		assert_non_null(ports[1]);
		pid_t node = node_pid();
		assert_int_equal(cay_port_close(ports[0]), 0);
		/* The other realm still has a port. */
		assert_false(exit_wait(node, 700));
		uint64_t since = clock_now_ns();
		assert_int_equal(cay_port_close(ports[1]), 0);
		assert_true(exit_wait(node, 5000));
		uint64_t took = elapsed_ms(since);
		best = took < best ? took : best;
	}
	print_message("the node exits %llu ms after the last port\n",
		(unsigned long long)best);
	assert_true(best < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_leaves_nothing),
		cmocka_unit_test(kill_during_setup),
		cmocka_unit_test(kill_during_node_start),
		cmocka_unit_test(closed_ports_leave_no_descriptor),
		cmocka_unit_test(node_exits_after_last_port),
	};
	harness_begin("cleanup");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
