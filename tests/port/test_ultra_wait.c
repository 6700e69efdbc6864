/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping on a port and its ULTRA paths together: no wake-up is lost, by
 * cay_wait() and by epoll, within a realm and across realms, for messages, room
 * and acknowledgements.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ultra.h"

#define PAUSE_NS (120 * NS_PER_US)

/* One side of an exchange; the two are in processes of their own. */
struct side {
	const char *realm;    /* NULL: that of the program */
	bool epoll, port_too; /* some messages through the ports */
	uint64_t rounds;
	struct cay_port *port;
	struct cay_peer *peer; /* if port_too */
	struct cay_ultra *in, *out;
	struct random random;
	int fd;
};

static uint64_t addr_pack(struct cay_addr a)
{
	return (uint64_t)a.node << 16 | a.vpid;
}

static struct cay_addr addr_unpack(uint64_t word)
{
	return (struct cay_addr){ (uint32_t)(word >> 16), (uint16_t)word };
}

static void side_open(struct side *s, struct child *other)
{
	s->port = open_port(&(struct cay_port_options){ .realm = s->realm });
	child_send(other, addr_pack(cay_port_addr(s->port)));
	struct cay_addr to = addr_unpack(child_receive(other));
	s->in = ultra_accept(s->port, to, 64);
	s->out = ultra_connect(s->port, to);
	if (s->port_too)
		assert_int_equal(cay_peer_resolve(s->port, to, &s->peer), 0);
	if (s->epoll) {
		struct epoll_event e = { .events = EPOLLIN };
		s->fd = epoll_create1(EPOLL_CLOEXEC);
		assert_int_equal(epoll_ctl(s->fd, EPOLL_CTL_ADD,
					 cay_port_fd(s->port), &e),
			0);
	}
}

static void side_close(struct side *s, struct child *other)
{
	child_send(other, 0);
	child_receive(other);
	cay_ultra_close(s->in);
	cay_ultra_close(s->out);
	cay_peer_release(s->peer);
	close_port(s->port);
	if (s->epoll)
		close(s->fd);
}

static void side_sleep(struct side *s)
{
	struct epoll_event e;
	if (!s->epoll) {
		assert_int_equal(cay_wait(s->port, soon()), 0);
		return;
	}
	int r = cay_port_arm(s->port);
	if (r == 0)
		assert_int_equal(
			epoll_wait(s->fd, &e, 1, (int)(TIMEOUT_NS / NS_PER_MS)),
			1);
	else
		assert_int_equal(r, -EAGAIN);
}

static bool by_port(const struct side *s, uint64_t number)
{
	return s->port_too && number % 5 == 2;
}

static void side_send(struct side *s, uint64_t number)
{
	random_pause(&s->random, PAUSE_NS);
	assert_int_equal(
		by_port(s, number)
			? cay_send(s->port, s->peer, number, NULL, 0, 0)
			: ultra_send_number(s->out, number, 8, 0),
		0);
}

static void side_receive(struct side *s, uint64_t number)
{
	for (;;) {
		struct cay_event e;
		if (by_port(s, number) && poll_event(s->port, &e)) {
			assert_int_equal(e.tag, number);
			cay_release(s->port, &e);
			return;
		}
		int r = by_port(s, number) ? -EAGAIN
					   : ultra_recv_number(s->in, number);
		if (r != -EAGAIN) {
			assert_int_equal(r, 8);
			return;
		}
		side_sleep(s);
	}
}

static void other_side(struct child *parent, void *argument)
{
	struct side *s = argument;
	side_open(s, parent);
	for (uint64_t i = 0; i < s->rounds; i++) {
		side_receive(s, i);
		side_send(s, i);
	}
	side_close(s, parent);
}

static void exchange(bool epoll, bool port_too, const char *realm)
{
	struct child child;
	struct side other = { .realm = realm,
		.epoll = epoll,
		.port_too = port_too,
		.rounds = scaled(4000),
		.random = { 1 } };
	struct side s = other;
	s.realm = NULL;
	s.random.state = 2;
	child_start_local(&child, other_side, &other);
	side_open(&s, &child);
	for (uint64_t i = 0; i < s.rounds; i++) {
		side_send(&s, i);
		side_receive(&s, i);
	}
	side_close(&s, &child);
	child_join(&child);
}

static void wait_for_messages(void **state)
{
	(void)state;
	exchange(false, false, NULL);
}

static void wait_for_port_and_paths(void **state)
{
	(void)state;
	exchange(false, true, NULL);
}

static void epoll_for_messages(void **state)
{
	(void)state;
	exchange(true, true, NULL);
}

static void wait_across_realms(void **state)
{
	(void)state;
	exchange(false, false, "elsewhere");
}

static void epoll_across_realms(void **state)
{
	(void)state;
	exchange(true, false, "elsewhere");
}

/* ---- room and acknowledgements ---- */

/* Receives all messages, after pauses, and sleeps in between. */
static void slow_receiver(struct child *parent, void *argument)
{
	struct side *s = argument;
	side_open(s, parent);
	for (uint64_t i = 0; i < s->rounds; i++) {
		if (i % 100 == 0)
			random_pause(&s->random, 4 * PAUSE_NS);
		side_receive(s, i);
	}
	side_close(s, parent);
}

static void stream(unsigned flags, const char *realm)
{
	struct child child;
	struct side other = {
		.realm = realm, .rounds = scaled(60000), .random = { 3 }
	};
	struct side s = other;
	s.realm = NULL;
	uint64_t acknowledged = 0;
	child_start_local(&child, slow_receiver, &other);
	side_open(&s, &child);
	for (uint64_t i = 0; i < s.rounds;) {
		struct cay_event e;
		while (poll_event(s.port, &e)) {
			assert_int_equal(e.kind, CAY_EVENT_ULTRA);
			assert_int_equal(e.error, 0);
			assert_int_equal(e.tag, acknowledged++);
			cay_release(s.port, &e);
		}
		int r = ultra_send_number(s.out, i, 8, flags);
		if (r == 0) {
			i++;
			continue;
		}
		assert_int_equal(r, -EAGAIN);
		assert_int_equal(cay_wait(s.port, soon()), 0);
	}
	while (flags & CAY_ACK && acknowledged < s.rounds)
		expect_ultra(
			s.port, acknowledged, CAY_ULTRA_ACK, 0, acknowledged),
			acknowledged++;
	side_close(&s, &child);
	child_join(&child);
}

static void wait_for_room(void **state)
{
	(void)state;
	stream(0, NULL);
}

static void wait_for_room_across_realms(void **state)
{
	(void)state;
	stream(0, "elsewhere");
}

static void wait_for_acknowledgements(void **state)
{
	(void)state;
	stream(CAY_ACK, NULL);
}

/* ---- several consuming threads ---- */

struct receivers {
	struct cay_port *port;
	struct cay_ultra *in;
	_Atomic uint64_t received;
	_Atomic uint64_t sum;
	uint64_t messages;
};

static void *receive_some(void *argument)
{
	struct receivers *g = argument;
	while (atomic_load(&g->received) < g->messages) {
		uint64_t tag, word;
		int r = cay_ultra_recv(g->in, &tag, &word, sizeof(word));
		if (r == 8) {
			assert_int_equal(word, tag);
			atomic_fetch_add(&g->sum, tag);
			atomic_fetch_add(&g->received, 1);
		} else if (r == -EPIPE) {
			break;
		} else {
			assert_int_equal(r, -EAGAIN);
			assert_int_equal(cay_wait(g->port, soon()), 0);
		}
	}
	return NULL;
}

/* Threads of a shared port receive and wait at the same time. */
static void shared_port(void **state)
{
	(void)state;
	struct receivers g = { .port = open_port(&(struct cay_port_options){
				       .flags = CAY_PORT_SHARED }),
		.messages = scaled(20000) };
	struct cay_port *origin = open_port(NULL);
	g.in = ultra_accept(g.port, ANY, 64);
	struct cay_ultra *out = ultra_connect(origin, cay_port_addr(g.port));
	struct cay_peer *peer = open_peer(origin, g.port);
	pthread_t threads[3];
	struct random random = { 5 };
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, receive_some, &g), 0);
	for (uint64_t i = 0; i < g.messages;) {
		int r = cay_ultra_send(out, i, &i, sizeof(i), 0);
		if (r == 0)
			i++;
		else
			assert_int_equal(r, -EAGAIN);
		if (i % 64 == 0)
			random_pause(&random, PAUSE_NS);
	}
	uint64_t deadline = soon();
	while (atomic_load(&g.received) < g.messages && now_ns() < deadline)
		nap_ns(NS_PER_MS);
	/* An event that no one polls ends every wait. */
	assert_int_equal(cay_send(origin, peer, 0, NULL, 0, 0), 0);
	for (unsigned i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	cay_peer_release(peer);
	assert_int_equal(g.received, g.messages);
	assert_int_equal(g.sum, g.messages * (g.messages - 1) / 2);
	close_port(origin);
	close_port(g.port);
}

/* ---- a node that is stopped ---- */

/*
 * A message to a sleeping port of another realm does not wait for the node, and
 * its wake-up is not lost.
 */
static void stopped_node(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_port *foreign =
		open_port(&(struct cay_port_options){ .realm = "elsewhere" });
	struct cay_ultra *in = ultra_accept(port, cay_port_addr(foreign), 64);
	struct cay_ultra *out = ultra_connect(foreign, cay_port_addr(port));
	struct pollfd p = { .fd = cay_port_fd(port), .events = POLLIN };
	pid_t node = node_process(node_name());
	assert_true(node > 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cay_port_arm(port), 0);
		assert_int_equal(kill(node, SIGSTOP), 0);
		uint64_t start = now_ns();
		assert_int_equal(ultra_send_number(out, i, 8, 0), 0);
		assert_true(now_ns() - start < 5 * NS_PER_S);
		assert_int_equal(kill(node, SIGCONT), 0);
		assert_int_equal(poll(&p, 1, (int)(TIMEOUT_NS / NS_PER_MS)), 1);
		assert_int_equal(ultra_recv_number(in, i), 8);
	}
	close_port(foreign);
	close_port(port);
}

/* A poll does not disarm the paths of a port. */
static void polling_stays_armed(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(port));
	struct pollfd p = { .fd = cay_port_fd(port), .events = POLLIN };
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cay_port_arm(port), 0);
		check_empty(port);
		assert_int_equal(cay_wait(port, now_ns() + 1), -ETIMEDOUT);
		assert_int_equal(poll(&p, 1, 0), 0);
		assert_int_equal(ultra_send_number(out, i, 8, 0), 0);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(ultra_recv_number(in, i), 8);
	}
	close_port(port);
}

/* An armed origin is woken for room and acknowledgements, again and again. */
static void armed_origin(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL), *target = open_port(NULL);
	struct cay_ultra *in = ultra_accept(target, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(target));
	struct pollfd p = { .fd = cay_port_fd(port), .events = POLLIN };
	uint64_t sent = 0, received = 0;
	for (unsigned i = 0; i < 5; i++) {
		int r;
		while ((r = ultra_send_number(out, sent, 8, 0)) == 0)
			sent++;
		assert_int_equal(r, -EAGAIN);
		assert_int_equal(cay_port_arm(port), 0);
		while (received < sent)
			assert_int_equal(ultra_recv_number(in, received++), 8);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(cay_port_arm(port), -EAGAIN);

		assert_int_equal(ultra_send_number(out, sent++, 8, CAY_ACK), 0);
		assert_int_equal(cay_port_arm(port), 0);
		assert_int_equal(ultra_recv_number(in, received++), 8);
		assert_int_equal(poll(&p, 1, 0), 1);
		expect_ultra(port, sent - 1, CAY_ULTRA_ACK, 0, sent - 1);
		/* Armed without waiting for anything; then for room. */
		assert_int_equal(cay_port_arm(port), 0);
	}
	close_port(target);
	close_port(port);
}

/* ---- interrupts ---- */

static void interrupt_rings_an_unarmed_doorbell(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(port));
	struct pollfd p = { .fd = cay_port_fd(port), .events = POLLIN };
	assert_int_equal(ultra_send_number(out, 1, 8, 0), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(ultra_send_number(out, 2, 8, CAY_INTERRUPT), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(cay_port_arm(port), -EAGAIN);
	assert_int_equal(ultra_recv_number(in, 1), 8);
	assert_int_equal(ultra_recv_number(in, 2), 8);
	assert_int_equal(cay_port_arm(port), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(ultra_send_number(out, 3, 8, 0), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(wait_for_messages),
		TEST(wait_for_port_and_paths),
		TEST(epoll_for_messages),
		TEST(wait_across_realms),
		TEST(epoll_across_realms),
		TEST(wait_for_room),
		TEST(wait_for_room_across_realms),
		TEST(wait_for_acknowledgements),
		TEST(shared_port),
		TEST(stopped_node),
		TEST(polling_stays_armed),
		TEST(armed_origin),
		TEST(interrupt_rings_an_unarmed_doorbell),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
