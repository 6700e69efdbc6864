/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NOTIFY_GONE is never lost: a watcher whose queue is full when its peer dies
 * learns of it as soon as it has polled, after the peer's last message.
 */
#include "outside.h"

#define SENDERS 5

struct sender {
	struct cay_addr to;
	int ready[2];
	unsigned flags;
};

/* Fills the target's queue to the last entry that it can get. */
static int sender_body(void *argument)
{
	struct sender *s = argument;
	struct cay_peer *peer;
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	NEED(cay_peer_resolve(port, s->to, &peer) == 0);
	struct cay_addr self = cay_port_addr(port);
	NEED(write(s->ready[1], &self, sizeof(self)) == sizeof(self));
	NEED(wait_ready(s->ready[0]));
	while (cay_send(port, peer, 1, "x", 1, s->flags) == 0)
		continue;
	signal_ready(s->ready[1]);
	pause();
	return 1;
}

/* One direction each way. */
static void channel(int parent[2], int child[2])
{
	int down[2], up[2];
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	parent[0] = up[0];
	parent[1] = down[1];
	child[0] = down[0];
	child[1] = up[1];
}

struct watched {
	pid_t pid;
	struct cay_addr addr;
	struct cay_peer *peer;
	int ends[2];
	unsigned gone;
};

static void watch(struct cay_port *watcher, struct watched *w, unsigned flags)
{
	struct sender s = { .to = cay_port_addr(watcher), .flags = flags };
	*w = (struct watched){ 0 };
	channel(w->ends, s.ready);
	w->pid = child_start(sender_body, &s);
	close(s.ready[0]);
	close(s.ready[1]);
	assert_int_equal(
		read(w->ends[0], &w->addr, sizeof(w->addr)), sizeof(w->addr));
	assert_int_equal(cay_peer_resolve(watcher, w->addr, &w->peer), 0);
}

static void fill(struct watched *w)
{
	signal_ready(w->ends[1]);
	assert_true(wait_ready(w->ends[0]));
}

static void unwatch(struct watched *w)
{
	cay_peer_release(w->peer);
	close(w->ends[0]);
	close(w->ends[1]);
}

static struct cay_port *watcher_open(void)
{
	harness_rename();
	struct cay_port *port =
		cay_port_open(&(struct cay_port_options){ .nq_entries = 16 });
	assert_non_null(port);
	return port;
}

/* What one event means for those who are watched. */
static void event_note(
	const struct cay_event *e, struct watched *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (e->peer.vpid != w[i].addr.vpid)
			continue;
		if (e->kind == CAY_EVENT_GONE)
			w[i].gone++;
		else /* GONE is the last that comes from a peer */
			assert_int_equal(w[i].gone, 0);
	}
}

static unsigned poll_all(
	struct cay_port *watcher, struct watched *w, unsigned count)
{
	struct cay_event e[16];
	int n = cay_poll(watcher, e, 16);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		event_note(&e[i], w, count);
		cay_release(watcher, &e[i]);
	}
	return (unsigned)n;
}

/* Until each is known to be gone, and a while longer for those too many. */
static void gone_exactly_once(
	struct cay_port *watcher, struct watched *w, unsigned count)
{
	uint64_t deadline = clock_after_ns(10 * CLOCK_NS_PER_S);
	unsigned missing = count;
	while (missing && !clock_passed(deadline)) {
		cay_wait(watcher, clock_after_ns(100 * CLOCK_NS_PER_MS));
		poll_all(watcher, w, count);
		missing = 0;
		for (unsigned i = 0; i < count; i++)
			missing += w[i].gone == 0;
	}
	assert_int_equal(missing, 0);
	clock_nap_ns(50 * CLOCK_NS_PER_MS);
	poll_all(watcher, w, count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(w[i].gone, 1);
}

static uint64_t gone_sent(void)
{
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	return s.gone_sent;
}

/* The node has seen the death, but cannot say so. */
static void death_seen(uint32_t processes)
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

static void one_full_queue(unsigned flags)
{
	struct watched w;
	struct cay_port *watcher = watcher_open();
	watch(watcher, &w, flags);
	fill(&w);
	child_kill(w.pid);
	death_seen(1);
	assert_int_equal(gone_sent(), 0);
	gone_exactly_once(watcher, &w, 1);
	assert_int_equal(gone_sent(), 1);
	unwatch(&w);
	assert_int_equal(cay_port_close(watcher), 0);
}

static void gone_waits_for_room(void **state)
{
	(void)state;
	one_full_queue(0);
}

static void gone_waits_behind_priority_too(void **state)
{
	(void)state;
	one_full_queue(CAY_PRIORITY);
}

/* More of them at a time than there is room for at once. */
static void many_are_gone(void **state)
{
	struct watched w[SENDERS];
	struct cay_port *watcher = watcher_open();
	(void)state;
	for (unsigned i = 0; i < SENDERS; i++)
		watch(watcher, &w[i], i % 2 ? CAY_PRIORITY : 0);
	for (unsigned i = 0; i < SENDERS; i++)
		fill(&w[i]);
	for (unsigned i = 0; i < SENDERS; i++)
		child_kill(w[i].pid);
	death_seen(1);
	gone_exactly_once(watcher, w, SENDERS);
	for (unsigned i = 0; i < SENDERS; i++)
		unwatch(&w[i]);
	assert_int_equal(cay_port_close(watcher), 0);
}

/* A watcher that never polls keeps nobody: not the dead, not the node. */
static void nobody_waits_for_a_watcher_that_closes(void **state)
{
	struct watched w;
	struct cay_port *watcher = watcher_open();
	(void)state;
	watch(watcher, &w, 0);
	fill(&w);
	child_kill(w.pid);
	death_seen(1);
	unwatch(&w);
	assert_int_equal(cay_port_close(watcher), 0);
	assert_node_ends();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_waits_for_room),
		cmocka_unit_test(gone_waits_behind_priority_too),
		cmocka_unit_test(many_are_gone),
		cmocka_unit_test(nobody_waits_for_a_watcher_that_closes),
	};
	harness_begin("gone");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
