/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Window requests of a member that also writes to the arena: locks, quiescing
 * and disabled ports. The node replies to every request, and corrupt links
 * between windows cause neither an endless loop nor an access out of bounds.
 */
#include <sys/mman.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "hostile.h"

/* A port opened by raw requests, with the arena mapped. */
struct raw_port {
	int socket;
	unsigned char *base;
	uint64_t bytes, records;
	uint16_t vpid;
	struct cay_window_descriptor *wdt; /* of the attacked port */
};

static struct raw_port raw_port_open(void)
{
	struct raw_port p = { .socket = raw_connect() };
	struct node_request q = hello_request("default");
	int fd = -1;
	assert_int_equal(raw_call(p.socket, &q, -1, &reply, &fd), 0);
	p.bytes = reply.hello.arena_bytes;
	p.records = reply.hello.records;
	p.base = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_true(p.base != MAP_FAILED);
	close(fd);
	q = (struct node_request){ .kind = NODE_OPEN };
	assert_int_equal(raw_call(p.socket, &q, -1, &reply, NULL), 0);
	p.vpid = reply.open.vpid;
	return p;
}

static void raw_port_close(struct raw_port *p)
{
	munmap(p->base, p->bytes);
	raw_leave(p->socket);
}

static uint32_t directory_epoch(const struct raw_port *p, uint16_t vpid)
{
	struct arena_entry *directory =
		(void *)(p->base + ARENA_DIRECTORY_OFFSET);
	return atomic_load(&directory[vpid].epoch);
}

static void raw_port_map_wdt(struct raw_port *p, uint16_t vpid)
{
	uint32_t epoch = directory_epoch(p, vpid);
	struct queue_control *c =
		(void *)(p->base + ARENA_CONTROL_OFFSET((epoch & 1ull)) +
			 vpid * sizeof(*c));
	p->wdt = (void *)(p->base + c->config.tables_offset +
			  (uint64_t)c->config.wdt_at * CAY_LINE);
}

static struct node_request lock_request(
	const struct raw_port *p, uint16_t target, struct cay_key key)
{
	struct node_request q = { .kind = NODE_LOCK };
	q.lock.vpid = p->vpid;
	q.lock.target = target;
	q.lock.epoch = directory_epoch(p, target);
	q.lock.window = (uint16_t)key.window;
	q.lock.capability = key.capability;
	return q;
}

static int raw_port_call(struct raw_port *p, const struct node_request *q)
{
	return raw_call(p->socket, q, -1, &reply, NULL);
}

static uint64_t memory[16];

static struct cay_key anchor_window(unsigned i)
{
	struct cay_window *w = NULL;
	struct cay_key key;
	assert_int_equal(
		cay_window_open(anchor, &memory[i], 8, CAY_RIGHT_READ, &w), 0);
	cay_window_key(w, &key);
	return key;
}

/* A port, and a request for the lock of window 0 of the anchor. */
static struct raw_port raw_port_at_anchor(struct node_request *q)
{
	struct raw_port p = raw_port_open();
	uint16_t target = cay_port_addr(anchor).vpid;
	*q = lock_request(&p, target, anchor_window(0));
	raw_port_map_wdt(&p, target);
	return p;
}

static void lock_requests_are_validated(void **state)
{
	struct node_request good, q;
	struct raw_port p = raw_port_at_anchor(&good);
	(void)state;
	for (unsigned kind = NODE_LOCK; kind <= NODE_UNLOCK; kind++) {
		q = good;
		q.kind = kind;
		q.lock.target = 0;
		assert_int_equal(raw_port_call(&p, &q), -EPIPE);
		q.lock.target = 65535;
		assert_int_equal(raw_port_call(&p, &q), -EPIPE);
		q.lock.target = good.lock.target;
		q.lock.epoch++;
		assert_int_equal(raw_port_call(&p, &q), -EPIPE);
		q.lock.epoch = 0;
		assert_int_equal(raw_port_call(&p, &q), -EPIPE);
		q.lock.epoch = good.lock.epoch;
		q.lock.window = 1;
		assert_int_equal(raw_port_call(&p, &q), -ENXIO);
		q.lock.window = 65535;
		assert_int_equal(raw_port_call(&p, &q), -ENXIO);
		q.lock.window = good.lock.window;
		q.lock.capability ^= 1ull << 47;
		assert_int_equal(raw_port_call(&p, &q), -EACCES);
	}
	/* Polling or releasing a lock that was not requested. */
	q = good;
	q.lock.poll = 1;
	assert_int_equal(raw_port_call(&p, &q), -EPERM);
	q.lock.poll = 65535;
	assert_int_equal(raw_port_call(&p, &q), -EPERM);
	q = good;
	q.kind = NODE_UNLOCK;
	assert_int_equal(raw_port_call(&p, &q), -EPERM);
	assert_int_equal(raw_port_call(&p, &good), 0);
	assert_int_equal(raw_port_call(&p, &good), -EALREADY);
	q = good;
	q.lock.poll = 2;
	assert_int_equal(raw_port_call(&p, &q), 0);
	q.kind = NODE_UNLOCK;
	assert_int_equal(raw_port_call(&p, &q), 0);
	assert_int_equal(raw_port_call(&p, &q), -EPERM);
	raw_port_close(&p);
}

/* A descriptor behind the table is not a window, whatever it contains. */
static void windows_behind_the_table_are_refused(void **state)
{
	struct node_request q;
	struct raw_port p = raw_port_at_anchor(&q);
	(void)state;
	uint16_t window = q.lock.window;
	struct cay_window_descriptor saved = p.wdt[QUEUE_WINDOWS_DEFAULT];
	p.wdt[QUEUE_WINDOWS_DEFAULT] = p.wdt[window];
	q.lock.window = QUEUE_WINDOWS_DEFAULT;
	assert_int_equal(raw_port_call(&p, &q), -ENXIO);
	assert_true(p.wdt[QUEUE_WINDOWS_DEFAULT].lock == 0);
	/* A ring of windows that leads there. */
	p.wdt[QUEUE_WINDOWS_DEFAULT].next = window;
	p.wdt[window].next = QUEUE_WINDOWS_DEFAULT;
	q.lock.window = window;
	assert_int_equal(raw_port_call(&p, &q), -EAGAIN);
	assert_true(p.wdt[QUEUE_WINDOWS_DEFAULT].lock == 0);
	p.wdt[QUEUE_WINDOWS_DEFAULT] = saved;
	p.wdt[window].next = window;
	raw_port_close(&p);
}

/* Members can write the links between windows. */
static const uint16_t corrupt_next[][4] = {
	/* `next` of windows 0 to 3 */
	{ 64, 2, 3, 0 }, /* outside the table */
	{ 65535, 2, 3, 0 }, { 1, 2, 65535, 0 },
	{ 1, 2, 1, 0 }, /* cycles that do not contain window 0 */
	{ 1, 1, 1, 1 }, { 3, 0, 1, 3 },
	{ 63, 0, 0, 0 }, /* a window that is not open */
};

static void corrupt_links_do_not_hang(void **state)
{
	struct raw_port p = raw_port_open();
	struct cay_key key[4];
	uint16_t target = cay_port_addr(anchor).vpid;
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		key[i] = anchor_window(i);
	raw_port_map_wdt(&p, target);
	struct node_request q = lock_request(&p, target, key[0]);
	for (unsigned i = 0; i < ARRAY_COUNT(corrupt_next); i++) {
		for (unsigned j = 0; j < 4; j++) {
			p.wdt[j].next = corrupt_next[i][j];
			p.wdt[j].previous = (uint16_t)~corrupt_next[i][j];
		}
		q.kind = NODE_LOCK;
		int r = raw_port_call(&p, &q);
		assert_true(r == 0 || r == -EAGAIN);
		q.kind = NODE_UNLOCK;
		assert_int_equal(raw_port_call(&p, &q), r ? -EPERM : 0);
		assert_int_equal(node_pid(), node);
	}
	/* Locking works again after the links are restored. */
	for (unsigned j = 0; j < 4; j++)
		p.wdt[j].next = p.wdt[j].previous = (uint16_t)j;
	q.kind = NODE_LOCK;
	assert_int_equal(raw_port_call(&p, &q), 0);
	raw_port_close(&p);
}

/* A cycle through the largest table that does not contain window 0. */
static void corrupt_links_of_largest_table_do_not_hang(void **state)
{
	struct raw_port p = raw_port_open();
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
	raw_port_map_wdt(&p, target);
	for (uint32_t i = 0; i < CAY_VPIDS; i++)
		p.wdt[i].next = (uint16_t)(i + 1 < CAY_VPIDS ? i + 1 : 1);
	struct node_request q = lock_request(&p, target, key);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(raw_port_call(&p, &q), -EAGAIN);
	/* A cycle that contains it. */
	p.wdt[CAY_VPIDS - 1].next = 0;
	assert_int_equal(raw_port_call(&p, &q), 0);
	raw_port_close(&p);
	assert_int_equal(cay_port_close(port), 0);
}

static void forged_locks_cannot_be_released(void **state)
{
	struct node_request q;
	struct raw_port p = raw_port_at_anchor(&q);
	(void)state;
	p.wdt[0].lock = UINT64_MAX;
	assert_int_equal(raw_port_call(&p, &q), -EAGAIN);
	q.kind = NODE_UNLOCK;
	assert_int_equal(raw_port_call(&p, &q), -EPERM);
	q.kind = NODE_LOCK;
	p.wdt[0].lock = 0;
	assert_int_equal(raw_port_call(&p, &q), 0);
	/* A member has cleared the lock word: it can be locked again. */
	p.wdt[0].lock = 0;
	assert_int_equal(raw_port_call(&p, &q), 0);
	raw_port_close(&p);
	assert_int_equal(cay_port_stats(anchor, &(struct cay_stats){ 0 }), 0);
}

/* Quiescing waits while an op record names the window. */
static void quiesce_waits_for_records(void **state)
{
	struct raw_port p = raw_port_open();
	uint16_t target = cay_port_addr(anchor).vpid;
	struct node_request q = { .kind = NODE_QUIESCE };
	static const uint32_t windows[] = { 0, 1, 64, 65, 65536, UINT32_MAX };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(windows); i++) {
		q.quiesce.vpid = p.vpid;
		q.quiesce.window = windows[i];
		assert_int_equal(raw_port_call(&p, &q), 0);
	}
	struct op_record *op = (void *)(p.base + p.records);
	atomic_store(&op->window, 7);
	atomic_store(&op->state, OP_ACCESS | (uint64_t)p.vpid << OP_VPID_SHIFT |
					 (uint64_t)directory_epoch(&p, p.vpid)
						 << OP_EPOCH_SHIFT);
	q.quiesce.window = 7;
	assert_int_equal(raw_port_call(&p, &q), -EAGAIN);
	q.quiesce.window = 0;
	assert_int_equal(raw_port_call(&p, &q), -EAGAIN);
	q.quiesce.window = 8;
	assert_int_equal(raw_port_call(&p, &q), 0);
	/* A record that names the anchor's window; then its process leaves. */
	struct cay_window *w = NULL;
	assert_int_equal(
		cay_window_open(anchor, memory, 8, CAY_RIGHT_READ, &w), 0);
	atomic_store(&op->window, 1);
	atomic_store(&op->state, OP_ACCESS | (uint64_t)target << OP_VPID_SHIFT |
					 (uint64_t)directory_epoch(&p, target)
						 << OP_EPOCH_SHIFT);
	raw_port_close(&p);
	assert_int_equal(cay_window_close(w), 0);
}

/* Claims on a disabled port fail. */
static void disabled_port_can_only_be_closed(void **state)
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
	static const uint32_t refused[] = { NODE_REFERENCES, NODE_LOCK,
		NODE_UNLOCK, NODE_RESOLVE };
	for (unsigned i = 0; i < ARRAY_COUNT(refused); i++) {
		q.kind = refused[i];
		assert_int_equal(call(&q), -ENXIO);
	}
	/* Windows can still be quiesced. */
	q.kind = NODE_QUIESCE;
	assert_int_equal(call(&q), 0);
	assert_int_equal(cay_peer_resolve(anchor, addr, &peer), -ENXIO);
	q.kind = NODE_CLOSE;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -ENXIO);
	/* A disabled port that is not closed is reclaimed with its process. */
	q.close.vpid = port_open();
	q.kind = NODE_DISABLE;
	assert_int_equal(call(&q), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOSTILE_TEST(lock_requests_are_validated),
		HOSTILE_TEST(windows_behind_the_table_are_refused),
		HOSTILE_TEST(corrupt_links_do_not_hang),
		HOSTILE_TEST(corrupt_links_of_largest_table_do_not_hang),
		HOSTILE_TEST(forged_locks_cannot_be_released),
		HOSTILE_TEST(quiesce_waits_for_records),
		HOSTILE_TEST(disabled_port_can_only_be_closed),
	};
	harness_begin("hostile-window");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
