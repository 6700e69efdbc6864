/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quotas: a process that takes all it can get is refused with -EDQUOT, gets
 * more after it has returned something, and leaves enough for other processes
 * and realms. Many blocks do not make calls slow: the visits of tree members
 * are counted.
 */
#include "cay/port.h"
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES (64ull << 20)

static struct node *node_with(struct quota quota, uint64_t heap_bytes)
{
	struct node_options o = { .arena_bytes = ARENA_HEAP_OFFSET + heap_bytes,
		.quota = quota };
	struct node *n = calloc(1, sizeof(*n));
	assert_non_null(n);
	node_init(n, &o);
	return n;
}

static int join(
	struct node *n, pid_t pid, const char *realm, struct process **out)
{
	struct node_request q = inside_hello(realm);
	struct node_reply reply;
	*out = inside_connect(n, pid);
	return *out ? inside_call(*out, &q, &reply) : -EDQUOT;
}

static int port_open(struct process *p, uint16_t *vpid)
{
	return inside_port_open(p, 64, 0, vpid);
}

static int alloc(struct process *p, uint64_t bytes, uint64_t *offset)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	q.alloc.bytes = bytes;
	int r = inside_call(p, &q, &reply);
	*offset = reply.alloc.offset;
	return r;
}

static int release(struct process *p, uint64_t offset)
{
	struct node_request q = { .kind = NODE_FREE };
	struct node_reply reply;
	q.free.offset = offset;
	return inside_call(p, &q, &reply);
}

static int resolve(struct process *p, uint16_t by, uint16_t target)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	struct node_reply reply;
	q.resolve.vpid = by;
	q.resolve.node = p->node->id;
	q.resolve.target = target;
	return inside_call(p, &q, &reply);
}

static int records(struct process *p)
{
	struct node_request q = { .kind = NODE_RECORDS };
	struct node_reply reply;
	return inside_call(p, &q, &reply);
}

/* Another process can do all that the greedy one is refused. */
static void assert_served(struct process *p)
{
	uint16_t vpid;
	uint64_t offset;
	assert_int_equal(port_open(p, &vpid), 0);
	assert_int_equal(resolve(p, vpid, vpid), 0);
	assert_int_equal(alloc(p, ARENA_PAGE, &offset), 0);
	assert_int_equal(release(p, offset), 0);
	assert_int_equal(records(p), 0);
}

static void end(struct node *n, struct process **processes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		process_exited(processes[i]);
	/* A node frees a part of a process in each tick. */
	for (unsigned i = 0; i < 4096 && node_tick(n); i++)
		continue;
	inside_check_empty(n);
	node_end(n);
}

/* ---- refusals ---- */

static void ports_are_limited(void **state)
{
	struct quota q = { .process[QUOTA_PORTS] = 3, .realm[QUOTA_PORTS] = 5 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"), inside_join(n, 2, "a"),
		inside_join(n, 3, "b"), inside_join(n, 1, "b") };
	uint16_t vpid[5], none;
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(port_open(p[0], &vpid[i]), 0);
	assert_int_equal(port_open(p[0], &none), -EDQUOT);
	/* All connections of a process count together. */
	assert_int_equal(port_open(p[3], &none), -EDQUOT);
	/* The realm. */
	assert_int_equal(port_open(p[1], &vpid[3]), 0);
	assert_int_equal(port_open(p[1], &vpid[4]), 0);
	assert_int_equal(port_open(p[1], &none), -EDQUOT);
	assert_int_equal(n->count.over_quota, 3);
	assert_served(p[2]);
	/* A closed port returns its share. */
	struct node_request close = { .kind = NODE_CLOSE };
	struct node_reply reply;
	close.close.vpid = vpid[0];
	assert_int_equal(inside_call(p[0], &close, &reply), 0);
	assert_int_equal(port_open(p[0], &vpid[0]), 0);
	assert_int_equal(port_open(p[0], &none), -EDQUOT);
	end(n, p, ARRAY_COUNT(p));
}

static void blocks_and_heap_are_limited(void **state)
{
	struct quota q = { .process[QUOTA_BLOCKS] = 10,
		.realm[QUOTA_BLOCKS] = 15,
		.process[QUOTA_HEAP] = 1 << 20 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"), inside_join(n, 2, "a"),
		inside_join(n, 3, "b") };
	uint64_t offset[10], none;
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(alloc(p[0], 1, &offset[i]), 0);
	assert_int_equal(alloc(p[0], 1, &none), -EDQUOT);
	assert_int_equal(release(p[0], offset[9]), 0);
	/* Bytes: one block more, but not of this size. */
	assert_int_equal(alloc(p[0], 1 << 20, &none), -EDQUOT);
	assert_int_equal(alloc(p[0], UINT64_MAX, &none), -ENOSPC);
	assert_int_equal(alloc(p[0], UINT64_MAX - 4095, &none), -ENOSPC);
	assert_int_equal(alloc(p[0], 512 << 10, &offset[9]), 0);
	assert_int_equal(alloc(p[1], 1, &none), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(alloc(p[1], 1, &none), 0);
	assert_int_equal(alloc(p[1], 1, &none), -EDQUOT);
	assert_served(p[2]);
	end(n, p, ARRAY_COUNT(p));
}

static void records_and_peers_are_limited(void **state)
{
	struct quota q = { .process[QUOTA_RECORDS] = 2,
		.realm[QUOTA_RECORDS] = 3,
		.process[QUOTA_PEERS] = 4,
		.realm[QUOTA_PEERS] = 6 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"), inside_join(n, 2, "a"),
		inside_join(n, 3, "b") };
	uint16_t first, second;
	(void)state;
	assert_int_equal(records(p[0]), 0);
	assert_int_equal(records(p[0]), 0);
	assert_int_equal(records(p[0]), -EDQUOT);
	assert_int_equal(records(p[1]), 0);
	assert_int_equal(records(p[1]), -EDQUOT);
	assert_int_equal(port_open(p[0], &first), 0);
	assert_int_equal(port_open(p[1], &second), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(resolve(p[0], first, second), 0);
	assert_int_equal(resolve(p[0], first, second), -EDQUOT);
	assert_int_equal(resolve(p[1], second, first), 0);
	assert_int_equal(resolve(p[1], second, first), 0);
	assert_int_equal(resolve(p[1], second, first), -EDQUOT);
	struct node_request give = { .kind = NODE_RELEASE };
	struct node_reply reply;
	give.release.vpid = first;
	give.release.index = 1;
	assert_int_equal(inside_call(p[0], &give, &reply), 0);
	assert_int_equal(resolve(p[0], first, second), 0);
	assert_served(p[2]);
	end(n, p, ARRAY_COUNT(p));
}

/* Opens window 0 of a port on a block, as its owner's library does. */
static void window_open(struct vport *port, uint64_t offset, uint64_t bytes)
{
	struct cay_window_descriptor *d =
		vport_table(port, port->config.wdt_at);
	*d = (struct cay_window_descriptor){ .start = offset,
		.length = bytes,
		.capability = 1,
		.rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC };
}

static int window_call(struct process *p, enum node_request_kind kind,
	uint16_t by, const struct vport *target, struct node_reply *reply)
{
	struct node_request q = { .kind = kind };
	q.lock.vpid = by;
	q.lock.target = target->config.vpid;
	q.lock.epoch = target->epoch;
	q.lock.capability = 1;
	return inside_call(p, &q, reply);
}

/* A block that a peer has mapped outlives its owner, charged to the realm. */
static void mapped_blocks_stay_charged(void **state)
{
	struct quota q = { .realm[QUOTA_HEAP] = 8 << 20,
		.realm[QUOTA_BLOCKS] = 2 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *owner = inside_join(n, 1, "a");
	struct process *p[] = { inside_join(n, 2, "a"),
		inside_join(n, 3, "b") };
	const uint64_t bytes = 6 << 20;
	uint16_t by, vpid;
	uint64_t offset;
	struct node_reply mapped, reply;
	(void)state;
	assert_int_equal(port_open(owner, &vpid), 0);
	assert_int_equal(port_open(p[0], &by), 0);
	assert_int_equal(alloc(owner, bytes, &offset), 0);
	window_open(n->ports[vpid], offset, bytes);
	assert_int_equal(
		window_call(p[0], NODE_MAP, by, n->ports[vpid], &mapped), 0);
	process_exited(owner);
	inside_settle(n);
	assert_null(n->ports[vpid]);
	assert_true(p[0]->realm->used[QUOTA_HEAP] >= bytes);
	assert_int_equal(p[0]->realm->used[QUOTA_BLOCKS], 1);
	assert_int_equal(alloc(p[0], bytes, &offset), -EDQUOT);
	/* The last mapping ends the charge. */
	struct node_request unmap = { .kind = NODE_UNMAP };
	unmap.unmap.number = mapped.map.number;
	assert_int_equal(inside_call(p[0], &unmap, &reply), 0);
	assert_int_equal(alloc(p[0], bytes, &offset), 0);
	assert_served(p[1]);
	end(n, p, ARRAY_COUNT(p));
}

/* Opens a port with so many windows, of which the first can be locked. */
static struct vport *windows_open(struct process *p, uint32_t windows)
{
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	q.open.nq_log2 = 4;
	q.open.rdr_log2 = 10;
	q.open.sdr_log2 = 6;
	q.open.posted_log2 = 1;
	q.open.peers = 4;
	q.open.windows = windows;
	assert_int_equal(inside_call(p, &q, &reply), 0);
	struct vport *port = p->node->ports[reply.open.vpid];
	window_open(port, ARENA_HEAP_OFFSET, 8);
	return port;
}

static bool window_locked(const struct vport *port)
{
	const struct cay_window_descriptor *d =
		vport_table(port, port->config.wdt_at);
	return d->lock != 0;
}

/* A port counts as a peer of those that lock its windows. */
static void window_locks_are_limited(void **state)
{
	struct quota q = { .process[QUOTA_PEERS] = 2 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	struct vport *target[3];
	struct node_reply reply;
	uint16_t by;
	(void)state;
	assert_int_equal(port_open(p[0], &by), 0);
	for (unsigned i = 0; i < 3; i++)
		target[i] = windows_open(p[1], 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			window_call(p[0], NODE_LOCK, by, target[i], &reply), 0);
	assert_int_equal(
		window_call(p[0], NODE_LOCK, by, target[2], &reply), -EDQUOT);
	assert_false(window_locked(target[2]));
	/* The same port again. */
	assert_int_equal(
		window_call(p[0], NODE_UNLOCK, by, target[1], &reply), 0);
	assert_int_equal(
		window_call(p[0], NODE_LOCK, by, target[1], &reply), 0);
	/* A port that is closed counts no longer. */
	struct node_request close = { .kind = NODE_CLOSE };
	close.close.vpid = target[0]->config.vpid;
	assert_int_equal(inside_call(p[1], &close, &reply), 0);
	assert_int_equal(
		window_call(p[0], NODE_LOCK, by, target[2], &reply), 0);
	end(n, p, ARRAY_COUNT(p));
}

/* The locks of a port that closes are released in steps of limited work. */
static void many_locks_are_released_in_steps(void **state)
{
	struct node *n = node_with((struct quota){ 0 }, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	struct node_request close = { .kind = NODE_CLOSE };
	struct node_reply reply;
	struct vport *target[6];
	unsigned rounds = 0, locked = ARRAY_COUNT(target);
	(void)state;
	assert_int_equal(port_open(p[0], &close.close.vpid), 0);
	for (unsigned i = 0; i < ARRAY_COUNT(target); i++) {
		target[i] = windows_open(p[1], CAY_VPIDS);
		assert_int_equal(window_call(p[0], NODE_LOCK, close.close.vpid,
					 target[i], &reply),
			0);
	}
	assert_int_equal(inside_call(p[0], &close, &reply), 0);
	while (locked) {
		unsigned before = locked;
		locked = 0;
		for (unsigned i = 0; i < ARRAY_COUNT(target); i++)
			locked += window_locked(target[i]);
		assert_in_range(before - locked, 1, 2);
		assert_true(++rounds < 10);
		node_tick(n);
	}
	assert_null(n->ports[close.close.vpid]);
	end(n, p, ARRAY_COUNT(p));
}

/* The node's record that a port is to be told of another one is charged. */
static void reverse_watches_are_limited(void **state)
{
	struct quota q = { .process[QUOTA_PEERS] = 4 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"), inside_join(n, 2, "a"),
		inside_join(n, 3, "b") };
	struct node_reply reply;
	uint16_t told, vpid;
	unsigned resolved = 0;
	(void)state;
	assert_int_equal(
		inside_port_open(p[0], 64, CAY_PORT_TELL_GONE, &told), 0);
	for (unsigned i = 0; i < 6; i++) {
		struct node_request give = { .kind = NODE_RELEASE };
		assert_int_equal(port_open(p[1], &vpid), 0);
		give.release.vpid = vpid;
		if (resolve(p[1], vpid, told) != 0)
			continue;
		resolved++;
		assert_int_equal(inside_call(p[1], &give, &reply), 0);
	}
	assert_int_equal(resolved, 4);
	assert_served(p[2]);
	end(n, p, ARRAY_COUNT(p));
}

static void realms_and_connections_are_limited(void **state)
{
	struct quota q = { .realms = 2,
		.waiting = 3,
		.process[QUOTA_CONNECTIONS] = 4,
		.realm[QUOTA_CONNECTIONS] = 3 };
	struct node *n = node_with(q, HEAP_BYTES);
	struct process *p[10];
	unsigned count = 0;
	(void)state;
	p[count++] = inside_join(n, 1, "a");
	p[count++] = inside_join(n, 1, "b");
	assert_int_equal(join(n, 1, "c", &p[count++]), -EDQUOT);
	p[count++] = inside_join(n, 1, "b");
	/* The fifth connection of the process. */
	assert_null(inside_connect(n, 1));
	p[count++] = inside_join(n, 2, "b");
	assert_int_equal(join(n, 3, "b", &p[count++]), -EDQUOT);
	/* Two wait since their HELLO was refused; one more may. */
	p[count++] = inside_connect(n, 4);
	assert_non_null(p[count - 1]);
	assert_null(inside_connect(n, 5));
	process_disconnect(p[2]);
	p[2] = p[--count];
	node_tick(n);
	p[count++] = inside_join(n, 5, "a");
	end(n, p, count);
}

/* ---- defaults ---- */

/* A process at all its default quotas does not starve another realm. */
static void defaults_leave_enough_for_others(void **state)
{
	struct node *n = node_with((struct quota){ 0 }, 16ull << 30);
	struct process *p[] = { inside_join(n, 1, "a"), inside_join(n, 2, "a"),
		inside_join(n, 3, "b") };
	uint64_t offset;
	uint16_t vpid;
	unsigned ports = 0, blocks = 0;
	(void)state;
	while (port_open(p[0], &vpid) == 0)
		ports++;
	while (alloc(p[0], 1, &offset) == 0)
		blocks++;
	while (resolve(p[0], vpid, vpid) == 0)
		continue;
	while (records(p[0]) == 0)
		continue;
	print_message("%u ports, %u blocks\n", ports, blocks);
	assert_in_range(ports, 20000, CAY_VPIDS / 2);
	assert_in_range(blocks, 10000, 65536);
	assert_served(p[1]);
	assert_served(p[2]);
	end(n, p, ARRAY_COUNT(p));
}

/* ---- cost ---- */

/* Returns the visits of tree members per call, with so many blocks. */
static uint64_t visits_with(unsigned blocks)
{
	struct quota q = { .process[QUOTA_BLOCKS] = blocks + 1,
		.realm[QUOTA_BLOCKS] = blocks + 1 };
	struct node *n = node_with(q, 4ull << 30);
	struct process *p = inside_join(n, 1, "a");
	uint64_t *offsets = malloc(blocks * sizeof(*offsets));
	assert_non_null(offsets);
	for (unsigned i = 0; i < blocks; i++)
		assert_int_equal(alloc(p, 1, &offsets[i]), 0);
	uint64_t before = p->blocks.visits + p->realm->heap.free.visits;
	unsigned calls = 0;
	/* Every third block is freed, and half of these are allocated again. */
	for (unsigned i = 0; i < blocks; i += 3, calls++)
		assert_int_equal(release(p, offsets[i]), 0);
	for (unsigned i = 0; i < blocks; i += 6, calls++)
		assert_int_equal(alloc(p, 1, &offsets[i]), 0);
	uint64_t visits =
		p->blocks.visits + p->realm->heap.free.visits - before;
	free(offsets);
	end(n, &p, 1);
	return visits / calls;
}

static void many_blocks_are_not_slow(void **state)
{
	(void)state;
	uint64_t few = visits_with(3000), many = visits_with(300000);
	print_message("%llu visits per call with 3000 blocks, %llu with "
		      "300000\n",
		(unsigned long long)few, (unsigned long long)many);
	assert_true(many < 3 * few);
}

/* ---- names ---- */

/*
 * Opening a port that reuses a VPID scans the queues of its realm once per
 * round through the free VPIDs, not once per port.
 */
static void reused_vpids_do_not_scan_the_queues_each_time(void **state)
{
	struct node *n = inside_node(64 << 20);
	struct process *p = inside_join(n, 1, "a");
	unsigned scans = 0;
	(void)state;
	for (unsigned i = 0; i < 3 * CAY_VPIDS; i++) {
		uint64_t before = p->realm->named_freed;
		struct node_request q = { .kind = NODE_CLOSE };
		struct node_reply reply;
		assert_int_equal(port_open(p, &q.close.vpid), 0);
		assert_int_equal(inside_call(p, &q, &reply), 0);
		inside_settle(n);
		scans += p->realm->named_freed != before;
	}
	assert_in_range(scans, 2, 3);
	end(n, &p, 1);
}

static void quotas_have_names(void **state)
{
	struct quota q = { 0 };
	(void)state;
	for (unsigned i = 0; quota_names[i]; i++)
		assert_true(quota_set(&q, quota_names[i], 1000 * (i + 1)));
	assert_false(quota_set(&q, "ports", 1));
	assert_false(quota_set(&q, "", 1));
	assert_int_equal(q.process[QUOTA_PORTS], 1000);
	assert_int_equal(q.process[QUOTA_HEAP], 3000);
	assert_int_equal(q.process[QUOTA_RECORDS], 3999 / 32);
	assert_int_equal(q.process[QUOTA_OFFERS], 9000);
	assert_int_equal(q.realm[QUOTA_PORTS], 10000);
	assert_int_equal(q.realm[QUOTA_CONNECTIONS], 15000);
	assert_int_equal(q.realm[QUOTA_MAPPINGS], 16000);
	assert_int_equal(q.realm[QUOTA_PATHS], 17000);
	assert_int_equal(q.realms, 19000);
	assert_int_equal(q.waiting, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_limited),
		cmocka_unit_test(blocks_and_heap_are_limited),
		cmocka_unit_test(records_and_peers_are_limited),
		cmocka_unit_test(mapped_blocks_stay_charged),
		cmocka_unit_test(window_locks_are_limited),
		cmocka_unit_test(many_locks_are_released_in_steps),
		cmocka_unit_test(reverse_watches_are_limited),
		cmocka_unit_test(realms_and_connections_are_limited),
		cmocka_unit_test(defaults_leave_enough_for_others),
		cmocka_unit_test(many_blocks_are_not_slow),
		cmocka_unit_test(reused_vpids_do_not_scan_the_queues_each_time),
		cmocka_unit_test(quotas_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
