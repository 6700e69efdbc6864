/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kill -9 of anybody, at any moment: soon nothing is left, neither process nor
 * name nor memory, and the next start works at once.
 */
#include "outside.h"

#define TRACES_MS_MAX 3000 /* until nothing is left */
#define START_MS_MAX  2000 /* of the next one */
#define CLIENTS	      4
#define KILLS	      300

/* ---- clients that work until they are killed ---- */

struct crowd {
	pid_t pids[CLIENTS];
	int ready[2];
};

/* Everybody sends to everybody it finds. */
static int client_work(struct cay_port *port, struct cay_peer **peers)
{
	struct cay_addr self = cay_port_addr(port);
	static unsigned char data[20000];
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
	return 0;
}

static int client_body(void *argument)
{
	struct crowd *c = argument;
	struct cay_peer *peers[CLIENTS] = { 0 };
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	NEED(cay_alloc(port, 1 << 20, 0));
	NEED(cay_port_fd(port) >= 0);
	signal_ready(c->ready[1]);
	return client_work(port, peers);
}

static void crowd_start(struct crowd *c)
{
	assert_int_equal(pipe2(c->ready, O_CLOEXEC), 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		c->pids[i] = child_start(client_body, c);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_true(wait_ready(c->ready[0]));
}

/* Those who are still there. */
static void crowd_end(struct crowd *c)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		kill(c->pids[i], SIGKILL);
	for (unsigned i = 0; i < CLIENTS; i++)
		child_join(c->pids[i]);
	close(c->ready[0]);
	close(c->ready[1]);
}

/* Of any node of this run: each test waits until its own are gone. */
static void assert_no_traces(const char *after)
{
	uint64_t since = clock_now_ns();
	struct names names = names_of_run();
	if (!wait_for(nothing_left, &names, TRACES_MS_MAX))
		fail_msg("after %s: %u processes, %u sockets, %u files", after,
			processes_named(&names), sockets_named(&names),
			shm_files());
	print_message("  %s: nothing left after %llu ms\n", after,
		(unsigned long long)elapsed_ms(since));
}

/* Right now, whatever is still going on with the one before. */
static void assert_starts(void)
{
	uint64_t since = clock_now_ns();
	struct cay_port *port = cay_port_open(NULL);
	uint64_t took = elapsed_ms(since);
	if (!port)
		fail_msg("the next start: %s", strerror(errno));
	assert_true(took < START_MS_MAX);
	assert_int_equal(cay_port_close(port), 0);
}

static void some_time(uint64_t *seed)
{
	clock_nap_ns(chance_below(seed, 30) * CLOCK_NS_PER_MS);
}

/* ---- who is killed ---- */

static void kill_one_client(struct crowd *c, uint64_t *seed)
{
	kill(c->pids[chance_below(seed, CLIENTS)], SIGKILL);
	some_time(seed);
	assert_starts();
}

static void kill_all_clients(struct crowd *c, uint64_t *seed)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		kill(c->pids[i], SIGKILL);
		if (chance_below(seed, 2))
			some_time(seed);
	}
	assert_starts();
}

/* What is mapped goes on; a new node serves whoever comes. */
static void kill_node(struct crowd *c, uint64_t *seed)
{
	pid_t node = node_pid();
	(void)c;
	assert_true(node > 0);
	kill(node, SIGKILL);
	assert_starts();
	some_time(seed);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(kill(c->pids[i], 0), 0);
}

static void kill_everybody(struct crowd *c, uint64_t *seed)
{
	pid_t node = node_pid();
	assert_true(node > 0);
	bool node_first = chance_below(seed, 2);
	if (node_first)
		kill(node, SIGKILL);
	for (unsigned i = 0; i < CLIENTS; i++)
		kill(c->pids[i], SIGKILL);
	if (!node_first)
		kill(node, SIGKILL);
	assert_starts();
}

static const struct {
	const char *name;
	void (*run)(struct crowd *, uint64_t *seed);
} killings[] = {
	{ "a client", kill_one_client },
	{ "all clients", kill_all_clients },
	{ "the node", kill_node },
	{ "everybody", kill_everybody },
};

static void killing_leaves_nothing(void **state)
{
	uint64_t seed = chance_seed();
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct crowd c;
		unsigned which = round % 4;
		harness_rename();
		crowd_start(&c);
		some_time(&seed);
		killings[which].run(&c, &seed);
		crowd_end(&c);
		assert_no_traces(killings[which].name);
		assert_starts();
		assert_no_traces("a start afterwards");
	}
}

/* ---- death in the middle of set-up ---- */

/* For ever: open, resolve, send, close. */
static int restless_body(void *argument)
{
	struct cay_addr *to = argument;
	struct cay_port_options o = { .nq_entries = 16, .name = "restless" };
	for (;;) {
		struct cay_peer *peer;
		struct cay_port *port = cay_port_open(&o);
		/* The one before it may not be forgotten yet. */
		if (!port && errno == EEXIST)
			continue;
		NEED(port);
		NEED(cay_peer_resolve(port, *to, &peer) == 0);
		cay_send(port, peer, 1, "x", 1, 0);
		NEED(cay_alloc(port, 5000, 0));
		NEED(cay_port_fd(port) >= 0);
		cay_peer_release(peer);
		NEED(cay_port_close(port) == 0);
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

static void death_during_set_up(void **state)
{
	uint64_t seed = chance_seed();
	(void)state;
	harness_rename();
	struct cay_port *anchor = cay_port_open(NULL);
	assert_non_null(anchor);
	struct cay_addr addr = cay_port_addr(anchor);
	pid_t node = node_pid();
	struct rest rest = rest_now();
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t child = child_start(restless_body, &addr);
		clock_nap_ns(chance_below(&seed, 3000) * CLOCK_NS_PER_US);
		child_kill(child);
		drain(anchor);
	}
	assert_rest(&rest);
	assert_int_equal(node_pid(), node);
	assert_int_equal(cay_port_close(anchor), 0);
	assert_node_ends();
}

static int starter_body(void *unused)
{
	(void)unused;
	NEED(cay_port_open(NULL));
	pause();
	return 1;
}

/* A client that is killed while it starts the node. */
static void death_while_the_node_starts(void **state)
{
	uint64_t seed = chance_seed();
	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		harness_rename();
		pid_t child = child_start(starter_body, NULL);
		clock_nap_ns(chance_below(&seed, 4000) * CLOCK_NS_PER_US);
		child_kill(child);
		if (i % 8 == 0)
			assert_starts();
		if (i % 8 == 7)
			assert_no_traces("a client that was starting it");
	}
}

/* ---- the node's own end ---- */

static void the_node_goes_with_the_last_port(void **state)
{
	uint64_t best = UINT64_MAX;
	(void)state;
	/* Somebody else's load may delay one of them. */
	for (unsigned i = 0; i < 3; i++) {
		harness_rename();
		struct cay_port *ports[2] = { cay_port_open(NULL),
			cay_port_open(&(struct cay_port_options){
				.realm = "other" }) };
		assert_non_null(ports[0]);
		assert_non_null(ports[1]);
		pid_t node = node_pid();
		assert_int_equal(cay_port_close(ports[0]), 0);
		/* It stays for the other one. */
		assert_false(exit_wait(node, 700));
		uint64_t since = clock_now_ns();
		assert_int_equal(cay_port_close(ports[1]), 0);
		assert_true(exit_wait(node, 5000));
		uint64_t took = elapsed_ms(since);
		best = took < best ? took : best;
	}
	print_message("the node goes %llu ms after the last port\n",
		(unsigned long long)best);
	assert_true(best < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killing_leaves_nothing),
		cmocka_unit_test(death_during_set_up),
		cmocka_unit_test(death_while_the_node_starts),
		cmocka_unit_test(the_node_goes_with_the_last_port),
	};
	harness_begin("cleanup");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
