/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows, as somebody treats them who has the arena mapped and writes into it
 * as he likes: locks, quiescence and disabled ports. The node answers, goes
 * round no ring for ever, and believes no link.
 */
#include <sys/mman.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "hostile.h"

/* A member that has the arena mapped, and writes into it as it likes. */
struct vandal {
	int socket;
	unsigned char *base;
	uint64_t bytes, records;
	uint16_t vpid;
	struct cay_window_descriptor *wdt; /* of whom it visits */
};

static struct vandal vandal_open(void)
{
	struct vandal v = { .socket = raw_connect() };
	struct node_request q = hello_request("default");
	int fd = -1;
	assert_int_equal(raw_call(v.socket, &q, -1, &reply, &fd), 0);
	v.bytes = reply.hello.arena_bytes;
	v.records = reply.hello.records;
	v.base = mmap(NULL, v.bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_true(v.base != MAP_FAILED);
	close(fd);
	q = (struct node_request){ .kind = NODE_OPEN };
	assert_int_equal(raw_call(v.socket, &q, -1, &reply, NULL), 0);
	v.vpid = reply.open.vpid;
	return v;
}

static void vandal_close(struct vandal *v)
{
	munmap(v->base, v->bytes);
	raw_leave(v->socket);
}

static uint32_t vandal_epoch(const struct vandal *v, uint16_t vpid)
{
	struct arena_entry *directory =
		(void *)(v->base + ARENA_DIRECTORY_OFFSET);
	return atomic_load(&directory[vpid].epoch);
}

static void vandal_visit(struct vandal *v, uint16_t vpid)
{
	uint32_t epoch = vandal_epoch(v, vpid);
	struct queue_control *c =
		(void *)(v->base + ARENA_CONTROL_OFFSET((epoch & 1ull)) +
			 vpid * sizeof(*c));
	v->wdt = (void *)(v->base + c->config.tables_offset +
			  (uint64_t)c->config.wdt_at * CAY_LINE);
}

static struct node_request lock_request(
	const struct vandal *v, uint16_t target, struct cay_key key)
{
	struct node_request q = { .kind = NODE_LOCK };
	q.lock.vpid = v->vpid;
	q.lock.target = target;
	q.lock.epoch = vandal_epoch(v, target);
	q.lock.window = (uint16_t)key.window;
	q.lock.capability = key.capability;
	return q;
}

static int vandal_call(struct vandal *v, const struct node_request *q)
{
	return raw_call(v->socket, q, -1, &reply, NULL);
}

static uint64_t memory[16];

static struct cay_key window_of_anchor(unsigned i)
{
	struct cay_window *w = NULL;
	struct cay_key key;
	assert_int_equal(
		cay_window_open(anchor, &memory[i], 8, CAY_RIGHT_READ, &w), 0);
	cay_window_key(w, &key);
	return key;
}

/* Whatever is wrong with it, it is not locked, and the right one is. */
static void locks_must_be_right(void **state)
{
	struct vandal v = vandal_open();
	struct cay_key key = window_of_anchor(0);
	uint16_t target = cay_port_addr(anchor).vpid;
	struct node_request good = lock_request(&v, target, key), q = good;
	(void)state;
	for (unsigned kind = NODE_LOCK; kind <= NODE_UNLOCK; kind++) {
		q = good;
		q.kind = kind;
		q.lock.target = 0;
		assert_int_equal(vandal_call(&v, &q), -EPIPE);
		q.lock.target = 65535;
		assert_int_equal(vandal_call(&v, &q), -EPIPE);
		q.lock.target = target;
		q.lock.epoch++;
		assert_int_equal(vandal_call(&v, &q), -EPIPE);
		q.lock.epoch = 0;
		assert_int_equal(vandal_call(&v, &q), -EPIPE);
		q.lock.epoch = good.lock.epoch;
		q.lock.window = 1;
		assert_int_equal(vandal_call(&v, &q), -ENXIO);
		q.lock.window = 65535;
		assert_int_equal(vandal_call(&v, &q), -ENXIO);
		q.lock.window = good.lock.window;
		q.lock.capability ^= 1ull << 47;
		assert_int_equal(vandal_call(&v, &q), -EACCES);
	}
	/* What it does not have it does not wait for, nor give back. */
	q = good;
	q.lock.poll = 1;
	assert_int_equal(vandal_call(&v, &q), -EPERM);
	q.lock.poll = 65535;
	assert_int_equal(vandal_call(&v, &q), -EPERM);
	q = good;
	q.kind = NODE_UNLOCK;
	assert_int_equal(vandal_call(&v, &q), -EPERM);
	assert_int_equal(vandal_call(&v, &good), 0);
	assert_int_equal(vandal_call(&v, &good), -EALREADY);
	q = good;
	q.lock.poll = 2;
	assert_int_equal(vandal_call(&v, &q), 0);
	q.kind = NODE_UNLOCK;
	assert_int_equal(vandal_call(&v, &q), 0);
	assert_int_equal(vandal_call(&v, &q), -EPERM);
	vandal_close(&v);
}

/* Links of windows are what a member has written there. */
static const uint16_t damage[][4] = {
	/* next of windows 0 to 3 */
	{ 64, 2, 3, 0 }, /* out of the table */
	{ 65535, 2, 3, 0 }, { 1, 2, 65535, 0 },
	{ 1, 2, 1, 0 }, /* a circle that does not come back */
	{ 1, 1, 1, 1 }, { 3, 0, 1, 3 },
	{ 63, 0, 0, 0 }, /* into windows that nobody has opened */
};

static void damaged_links_do_not_hang(void **state)
{
	struct vandal v = vandal_open();
	struct cay_key key[4];
	uint16_t target = cay_port_addr(anchor).vpid;
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		key[i] = window_of_anchor(i);
	vandal_visit(&v, target);
	struct node_request q = lock_request(&v, target, key[0]);
	for (unsigned i = 0; i < ARRAY_COUNT(damage); i++) {
		for (unsigned j = 0; j < 4; j++) {
			v.wdt[j].next = damage[i][j];
			v.wdt[j].previous = (uint16_t)~damage[i][j];
		}
		q.kind = NODE_LOCK;
		int r = vandal_call(&v, &q);
		assert_true(r == 0 || r == -EAGAIN);
		q.kind = NODE_UNLOCK;
		assert_int_equal(vandal_call(&v, &q), r ? -EPERM : 0);
		assert_int_equal(node_pid(), node);
	}
	/* Whole again, it works again. */
	for (unsigned j = 0; j < 4; j++)
		v.wdt[j].next = v.wdt[j].previous = (uint16_t)j;
	q.kind = NODE_LOCK;
	assert_int_equal(vandal_call(&v, &q), 0);
	vandal_close(&v);
}

/* The largest table there is, as one circle that does not come back. */
static void long_links_do_not_hang(void **state)
{
	struct vandal v = vandal_open();
	struct cay_port_options o = { .windows = CAY_VPIDS };
	struct cay_port *port = cay_port_open(&o);
	struct cay_window *w = NULL;
	struct cay_key key;
	(void)state;
	assert_non_null(port);
	assert_int_equal(
		cay_window_open(port, memory, 8, CAY_RIGHT_READ, &w), 0);
	cay_window_key(w, &key);
	uint16_t target = cay_port_addr(port).vpid;
	vandal_visit(&v, target);
	for (uint32_t i = 0; i < CAY_VPIDS; i++)
		v.wdt[i].next = (uint16_t)(i + 1 < CAY_VPIDS ? i + 1 : 1);
	struct node_request q = lock_request(&v, target, key);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(vandal_call(&v, &q), -EAGAIN);
	/* And all of it, which does. */
	v.wdt[CAY_VPIDS - 1].next = 0;
	assert_int_equal(vandal_call(&v, &q), 0);
	vandal_close(&v);
	assert_int_equal(cay_port_close(port), 0);
}

/* Locks in the name of somebody who never was are nobody's to give back. */
static void made_up_locks(void **state)
{
	struct vandal v = vandal_open();
	struct cay_key key = window_of_anchor(0);
	uint16_t target = cay_port_addr(anchor).vpid;
	struct node_request q = lock_request(&v, target, key);
	(void)state;
	vandal_visit(&v, target);
	v.wdt[0].lock = UINT64_MAX;
	assert_int_equal(vandal_call(&v, &q), -EAGAIN);
	q.kind = NODE_UNLOCK;
	assert_int_equal(vandal_call(&v, &q), -EPERM);
	q.kind = NODE_LOCK;
	v.wdt[0].lock = 0;
	assert_int_equal(vandal_call(&v, &q), 0);
	/* The node writes it anew if somebody else does. */
	v.wdt[0].lock = 0;
	assert_int_equal(vandal_call(&v, &q), 0);
	vandal_close(&v);
	assert_int_equal(cay_port_stats(anchor, &(struct cay_stats){ 0 }), 0);
}

/* A record that says so is believed, but no longer than its process lives. */
static void quiet_goes_by_records(void **state)
{
	struct vandal v = vandal_open();
	uint16_t target = cay_port_addr(anchor).vpid;
	struct node_request q = { .kind = NODE_QUIESCE };
	static const uint32_t windows[] = { 0, 1, 64, 65, 65536, UINT32_MAX };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(windows); i++) {
		q.quiesce.vpid = v.vpid;
		q.quiesce.window = windows[i];
		assert_int_equal(vandal_call(&v, &q), 0);
	}
	struct op_record *op = (void *)(v.base + v.records);
	atomic_store(&op->window, 7);
	atomic_store(&op->state, OP_ACCESS | (uint64_t)v.vpid << OP_VPID_SHIFT |
					 (uint64_t)vandal_epoch(&v, v.vpid)
						 << OP_EPOCH_SHIFT);
	q.quiesce.window = 7;
	assert_int_equal(vandal_call(&v, &q), -EAGAIN);
	q.quiesce.window = 0;
	assert_int_equal(vandal_call(&v, &q), -EAGAIN);
	q.quiesce.window = 8;
	assert_int_equal(vandal_call(&v, &q), 0);
	/* At the anchor's windows; then it leaves. */
	struct cay_window *w = NULL;
	assert_int_equal(
		cay_window_open(anchor, memory, 8, CAY_RIGHT_READ, &w), 0);
	atomic_store(&op->window, 1);
	atomic_store(&op->state, OP_ACCESS | (uint64_t)target << OP_VPID_SHIFT |
					 (uint64_t)vandal_epoch(&v, target)
						 << OP_EPOCH_SHIFT);
	vandal_close(&v);
	assert_int_equal(cay_window_close(w), 0);
}

/* No claim on it succeeds any more, but it can be closed. */
static void disabled_ports(void **state)
{
	uint16_t own = port_open();
	struct node_request q = { .kind = NODE_DISABLE };
	struct cay_peer *peer = NULL;
	struct cay_event e;
	(void)state;
	struct cay_addr addr = { cay_port_addr(anchor).node, own };
	assert_int_equal(cay_peer_resolve(anchor, addr, &peer), 0);
	q.close.vpid = own;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -ENXIO);
	assert_int_equal(cay_send(anchor, peer, 1, "", 1, 0), -EPIPE);
	assert_int_equal(cay_poll(anchor, &e, 1), 1);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	cay_release(anchor, &e);
	cay_peer_release(peer);
	static const uint32_t over[] = { NODE_REFERENCES, NODE_LOCK,
		NODE_UNLOCK, NODE_RESOLVE };
	for (unsigned i = 0; i < ARRAY_COUNT(over); i++) {
		q.kind = over[i];
		assert_int_equal(call(&q), -ENXIO);
	}
	/* Its windows can be closed one by one. */
	q.kind = NODE_QUIESCE;
	assert_int_equal(call(&q), 0);
	assert_int_equal(cay_peer_resolve(anchor, addr, &peer), -ENXIO);
	q.kind = NODE_CLOSE;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -ENXIO);
	/* One that is never closed goes with its process. */
	q.close.vpid = port_open();
	q.kind = NODE_DISABLE;
	assert_int_equal(call(&q), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MEMBER(locks_must_be_right),
		WITH_MEMBER(damaged_links_do_not_hang),
		WITH_MEMBER(long_links_do_not_hang),
		WITH_MEMBER(made_up_locks),
		WITH_MEMBER(quiet_goes_by_records),
		WITH_MEMBER(disabled_ports),
	};
	harness_begin("hostile-window");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
