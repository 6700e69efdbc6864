/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NOTIFY_GONE is never lost: a watcher whose queue is full when its peer exits
 * receives it after the peer's last message, as soon as an entry is free.
 */
#include "outside.h"

#define SENDERS 5

struct sender_options {
	struct cay_addr to;
	int ready[2]; /* from and to the parent */
	unsigned flags;
};

/* Fills the target's queue until a send fails. */
static int sender_body(void *argument)
{
	struct sender_options *s = argument;
	struct cay_peer *peer;
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	assert_true(cay_peer_resolve(port, s->to, &peer) == 0);
	struct cay_addr self = cay_port_addr(port);
	assert_true(write(s->ready[1], &self, sizeof(self)) == sizeof(self));
	assert_true(wait_ready(s->ready[0]));
	while (cay_send(port, peer, 1, "x", 1, s->flags) == 0)
		continue;
	signal_ready(s->ready[1]);
	pause();
	return 1;
}

struct sender {
	pid_t pid;
	struct cay_addr addr;
	struct cay_peer *peer;
	int ends[2]; /* from and to the child */
	unsigned gone;
};

static void sender_start(
	struct cay_port *watcher, struct sender *s, unsigned flags)
{
	struct sender_options o = { .to = cay_port_addr(watcher),
		.flags = flags };
	int down[2], up[2];
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	*s = (struct sender){ .ends = { up[0], down[1] } };
	o.ready[0] = down[0];
	o.ready[1] = up[1];
	s->pid = child_start(sender_body, &o);
	close(o.ready[0]);
	close(o.ready[1]);
	assert_int_equal(
		read(s->ends[0], &s->addr, sizeof(s->addr)), sizeof(s->addr));
	assert_int_equal(cay_peer_resolve(watcher, s->addr, &s->peer), 0);
}

static void queue_fill(struct sender *s)
{
	signal_ready(s->ends[1]);
	assert_true(wait_ready(s->ends[0]));
}

static void sender_release(struct sender *s)
{
	cay_peer_release(s->peer);
	close(s->ends[0]);
	close(s->ends[1]);
}

static struct cay_port *watcher_open(void)
{
	harness_rename();
	struct cay_port *port =
		cay_port_open(&(struct cay_port_options){ .nq_entries = 16 });
	assert_non_null(port);
	return port;
}

/* Counts GONE, which must be the last event of a peer. */
static void poll_events(
	struct cay_port *watcher, struct sender *s, unsigned count)
{
	struct cay_event e[16];
	int n = cay_poll(watcher, e, 16);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		for (unsigned j = 0; j < count; j++) {
			if (e[i].peer.vpid != s[j].addr.vpid)
				continue;
			if (e[i].kind == CAY_EVENT_GONE)
				s[j].gone++;
			else
				assert_int_equal(s[j].gone, 0);
		}
		cay_release(watcher, &e[i]);
	}
}

/* Polls until all are gone, then once more to detect duplicates. */
static void assert_gone_once(
	struct cay_port *watcher, struct sender *s, unsigned count)
{
	uint64_t deadline = clock_after_ns(10 * CLOCK_NS_PER_S);
	unsigned missing = count;
	while (missing && !clock_passed(deadline)) {
		cay_wait(watcher, clock_after_ns(100 * CLOCK_NS_PER_MS));
		poll_events(watcher, s, count);
		missing = 0;
		for (unsigned i = 0; i < count; i++)
			missing += s[i].gone == 0;
	}
	assert_int_equal(missing, 0);
	clock_nap_ns(50 * CLOCK_NS_PER_MS);
	poll_events(watcher, s, count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(s[i].gone, 1);
}

static uint64_t gone_sent(void)
{
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	return s.gone_sent;
}

/* Waits until the node has reaped all but `processes`. */
static void wait_processes(uint32_t processes)
{
	struct node_status s = { 0 };
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(status_get(&s), 0);
		if (s.processes == processes)
			return;
		clock_nap_ns(2 * CLOCK_NS_PER_MS);
	}
	fail_msg("%u processes instead of %u", s.processes, processes);
}

static void gone_with_full_queue(unsigned flags)
{
	struct sender s;
	struct cay_port *watcher = watcher_open();
	sender_start(watcher, &s, flags);
	queue_fill(&s);
	child_kill(s.pid);
	wait_processes(1);
	assert_int_equal(gone_sent(), 0);
	assert_gone_once(watcher, &s, 1);
	assert_int_equal(gone_sent(), 1);
	sender_release(&s);
	assert_int_equal(cay_port_close(watcher), 0);
}

static void gone_is_kept_while_queue_is_full(void **state)
{
	(void)state;
	gone_with_full_queue(0);
}

static void gone_is_kept_while_priority_queue_is_full(void **state)
{
	(void)state;
	gone_with_full_queue(CAY_PRIORITY);
}

static void gone_of_many_senders(void **state)
{
	struct sender s[SENDERS];
	struct cay_port *watcher = watcher_open();
	(void)state;
	for (unsigned i = 0; i < SENDERS; i++)
		sender_start(watcher, &s[i], i % 2 ? CAY_PRIORITY : 0);
	for (unsigned i = 0; i < SENDERS; i++)
		queue_fill(&s[i]);
	for (unsigned i = 0; i < SENDERS; i++)
		child_kill(s[i].pid);
	wait_processes(1);
	assert_gone_once(watcher, s, SENDERS);
	for (unsigned i = 0; i < SENDERS; i++)
		sender_release(&s[i]);
	assert_int_equal(cay_port_close(watcher), 0);
}

/* Undelivered GONE notifications do not outlive the watcher. */
static void closed_watcher_does_not_block_node(void **state)
{
	struct sender s;
	struct cay_port *watcher = watcher_open();
	(void)state;
	sender_start(watcher, &s, 0);
	queue_fill(&s);
	child_kill(s.pid);
	wait_processes(1);
	sender_release(&s);
	assert_int_equal(cay_port_close(watcher), 0);
	assert_node_exits();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_is_kept_while_queue_is_full),
		cmocka_unit_test(gone_is_kept_while_priority_queue_is_full),
		cmocka_unit_test(gone_of_many_senders),
		cmocka_unit_test(closed_watcher_does_not_block_node),
	};
	harness_begin("gone");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
