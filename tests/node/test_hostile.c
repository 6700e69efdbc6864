/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Well-formed requests with invalid values in each field. The node returns the
 * right error, continues to serve other clients, and leaks nothing.
 */
#include "base/bits.h"
#include "contract/arena.h"
#include "hostile.h"

/* The request is refused with -EPROTO and ends its connection. */
static void assert_disconnected(const struct node_request *q)
{
	int c = raw_connect();
	struct node_request again = hello_request("default");
	assert_true(c >= 0);
	assert_int_equal(raw_call(c, q, -1, &reply, NULL), -EPROTO);
	assert_int_equal(raw_call(c, &again, -1, &reply, NULL), -ENOTCONN);
	close(c);
}

/* ---- HELLO ---- */

static void requests_before_hello_are_refused(void **state)
{
	(void)state;
	for (uint32_t kind = NODE_HELLO + 1; kind <= KIND_LAST; kind++) {
		struct node_request q = { .kind = kind };
		if (kind != NODE_STATUS && kind != NODE_FENCE)
			assert_disconnected(&q);
	}
}

static void unknown_kinds_are_refused(void **state)
{
	static const uint32_t kinds[] = { 0, KIND_LAST + 1, 255, 0x10001,
		0x80000001, UINT32_MAX };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(kinds); i++)
		assert_disconnected(&(struct node_request){ .kind = kinds[i] });
}

static void hello_is_validated(void **state)
{
	(void)state;
	struct node_request q = hello_request("default");
	q.hello.magic ^= 1;
	assert_disconnected(&q);
	q = hello_request("default");
	memset(q.hello.realm, 'r', sizeof(q.hello.realm));
	assert_disconnected(&q);
	static const char *const realms[] = { "", "a/b", "..\n", "a b" };
	for (unsigned i = 0; i < ARRAY_COUNT(realms); i++) {
		q = hello_request(realms[i]);
		assert_disconnected(&q);
	}
	/* A second HELLO on the same connection. */
	q = hello_request("other");
	assert_int_equal(call(&q), -EPROTO);
	assert_int_equal(call(&q), -ENOTCONN);
	disconnected = 1;
}

static void requests_after_leave_are_refused(void **state)
{
	struct node_request leave = { .kind = NODE_LEAVE };
	struct node_request open = { .kind = NODE_OPEN };
	(void)state;
	port_open();
	assert_int_equal(call(&leave), 0);
	assert_int_equal(call(&open), -EPROTO);
}

/* ---- ports and peers ---- */

static void port_sizes_are_validated(void **state)
{
	static const uint8_t wrong[] = { 1, 3, 21, 32, 63, 64, 200, 255 };
	struct usage usage = usage_now();
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		struct node_request q[4] = { 0 };
		q[0].open.nq_log2 = q[1].open.rdr_log2 = q[2].open.wq_log2 =
			q[3].open.sdr_log2 = wrong[i];
		for (unsigned j = 0; j < 4; j++) {
			q[j].kind = NODE_OPEN;
			assert_int_equal(call(&q[j]), -EINVAL);
		}
	}
	struct node_request q = { .kind = NODE_OPEN };
	q.open.peers = UINT32_MAX;
	assert_int_equal(call(&q), -EINVAL);
	q.open.peers = CAY_VPIDS + 1;
	assert_int_equal(call(&q), -EINVAL);
	q.open.peers = 0;
	q.open.windows = UINT32_MAX;
	assert_int_equal(call(&q), -EINVAL);
	q.open.windows = CAY_VPIDS + 1;
	assert_int_equal(call(&q), -EINVAL);
	assert_usage(&usage);
}

static void port_names_are_validated(void **state)
{
	struct node_request q = { .kind = NODE_OPEN };
	(void)state;
	strcpy(q.open.name, "a/b");
	assert_int_equal(call(&q), -EINVAL);
	strcpy(q.open.name, "once");
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -EEXIST);
	memset(q.open.name, 'n', sizeof(q.open.name));
	assert_int_equal(call(&q), -EPROTO);
	disconnected = 1;
}

static void resolve_names_are_validated(void **state)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	(void)state;
	q.resolve.vpid = port_open();
	memset(q.resolve.name, 'n', sizeof(q.resolve.name));
	assert_int_equal(call(&q), -EPROTO);
	disconnected = 1;
}

static void ports_of_others_are_refused(void **state)
{
	uint16_t own = port_open();
	/* The node's VPID, two unused ones, and the anchor's. */
	const uint16_t foreign[] = { CAY_VPID_NODE, 65535, (uint16_t)(own + 1),
		cay_port_addr(anchor).vpid };
	static const uint32_t kinds[] = { NODE_CLOSE, NODE_REFERENCES,
		NODE_DISABLE, NODE_QUIESCE, NODE_LOCK, NODE_UNLOCK,
		NODE_DOORBELL_SET };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(foreign); i++) {
		struct node_request q = { 0 };
		q.close.vpid = foreign[i];
		for (unsigned j = 0; j < ARRAY_COUNT(kinds); j++) {
			q.kind = kinds[j];
			assert_int_equal(call(&q), -ENXIO);
		}
		q.kind = NODE_RESOLVE;
		q.resolve.target = own;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_RELEASE;
		q.release.index = 0;
		assert_int_equal(call(&q), -ENXIO);
	}
	/* A closed port. */
	struct node_request q = { .kind = NODE_CLOSE };
	q.close.vpid = own;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -ENXIO);
}

static void resolve_targets_are_validated(void **state)
{
	struct cay_addr anchor_addr = cay_port_addr(anchor);
	struct node_request q = { .kind = NODE_RESOLVE };
	int other = raw_member("other");
	(void)state;
	assert_true(other >= 0);
	q.resolve.vpid = port_open();
	q.resolve.node = anchor_addr.node;
	q.resolve.target = 0;
	assert_int_equal(call(&q), -ENXIO);
	q.resolve.target = 65535;
	assert_int_equal(call(&q), -ENXIO);
	q.resolve.target = anchor_addr.vpid;
	q.resolve.node = anchor_addr.node + 1;
	assert_int_equal(call(&q), -EHOSTUNREACH);
	strcpy(q.resolve.name, "unknown");
	assert_int_equal(call(&q), -ENXIO);
	/* From another realm. */
	struct node_request open = { .kind = NODE_OPEN };
	assert_int_equal(raw_call(other, &open, -1, &reply, NULL), 0);
	q.resolve.vpid = reply.open.vpid;
	q.resolve.node = anchor_addr.node;
	q.resolve.name[0] = 0;
	assert_int_equal(raw_call(other, &q, -1, &reply, NULL), -EACCES);
	raw_leave(other);
}

static void peer_indexes_are_validated(void **state)
{
	struct cay_addr anchor_addr = cay_port_addr(anchor);
	struct node_request q = { .kind = NODE_OPEN };
	(void)state;
	q.open.peers = 3;
	assert_int_equal(call(&q), 0);
	uint16_t own = reply.open.vpid;
	q = (struct node_request){ .kind = NODE_RESOLVE };
	q.resolve.vpid = own;
	q.resolve.node = anchor_addr.node;
	q.resolve.target = anchor_addr.vpid;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(call(&q), 0);
		assert_int_equal(reply.resolve.index, i);
	}
	assert_int_equal(call(&q), -ENOSPC);
	struct node_request release = { .kind = NODE_RELEASE };
	release.release.vpid = own;
	static const uint32_t wrong[] = { 3, 4, 1024, UINT32_MAX };
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		release.release.index = wrong[i];
		assert_int_equal(call(&release), -ENXIO);
	}
	release.release.index = 1;
	assert_int_equal(call(&release), 0);
	assert_int_equal(call(&release), -ENXIO);
	assert_int_equal(call(&q), 0);
	assert_int_equal(reply.resolve.index, 1);
}

/* ---- memory and records ---- */

static void huge_allocations_are_refused(void **state)
{
	static const uint64_t sizes[] = { 0, 1ull << 40, 1ull << 63,
		UINT64_MAX - 4095, UINT64_MAX - 1, UINT64_MAX };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
		struct node_request q = { .kind = NODE_ALLOC };
		q.alloc.bytes = sizes[i];
		assert_int_equal(call(&q), -ENOSPC);
	}
}

static void blocks_of_others_are_not_freed(void **state)
{
	struct node_request q = { .kind = NODE_ALLOC };
	(void)state;
	unsigned char *others = cay_alloc(anchor, 4096, 0);
	assert_non_null(others);
	q.alloc.bytes = 4 * ARENA_PAGE;
	assert_int_equal(call(&q), 0);
	uint64_t own = reply.alloc.offset;
	const uint64_t wrong[] = { 0, own + ARENA_PAGE, own + 1, own - 1,
		own - ARENA_PAGE, ARENA_HEAP_OFFSET, UINT64_MAX };
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		q = (struct node_request){ .kind = NODE_FREE };
		q.free.offset = wrong[i];
		assert_int_equal(call(&q), -EINVAL);
	}
	q.free.offset = own;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -EINVAL);
	cay_free(anchor, others);
}

/* A query returns the size of an own block only, and does not free it. */
static void query_does_not_free(void **state)
{
	struct node_request q = { .kind = NODE_ALLOC };
	(void)state;
	unsigned char *others = cay_alloc(anchor, 4096, 0);
	assert_non_null(others);
	q.alloc.bytes = 3 * ARENA_PAGE - 1;
	assert_int_equal(call(&q), 0);
	uint64_t own = reply.alloc.offset;
	const uint64_t wrong[] = { 0, own + 1, own - 1, own + ARENA_PAGE,
		own - ARENA_PAGE, ARENA_HEAP_OFFSET, UINT64_MAX };
	q = (struct node_request){ .kind = NODE_FREE };
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		q.free.offset = wrong[i];
		assert_int_equal(call(&q), -EINVAL);
	}
	q.free.offset = own;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -EINVAL);
	cay_free(anchor, others);
}

static void records_of_others_are_not_recovered(void **state)
{
	struct node_request q = { .kind = NODE_RECORDS };
	(void)state;
	assert_int_equal(call(&q), 0);
	uint64_t page = reply.alloc.offset;
	q = (struct node_request){ .kind = NODE_RECOVER };
	/* The first page of the heap is the anchor's. */
	const uint64_t wrong[] = { 0, page + 1, page + 64, page + ARENA_PAGE,
		ARENA_HEAP_OFFSET, UINT64_MAX, UINT64_MAX - 127 };
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		q.recover.offset = wrong[i];
		assert_int_equal(call(&q), -EINVAL);
	}
	q.recover.offset = page + ARENA_PAGE - 128;
	assert_int_equal(call(&q), 0);
}

static void only_members_can_be_fenced(void **state)
{
	static const uint32_t pids[] = { 0, 1, 0x7fffffff, UINT32_MAX };
	struct node_request q = { .kind = NODE_FENCE };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(pids); i++) {
		q.fence.pid = pids[i];
		assert_int_equal(call(&q), -ESRCH);
	}
	/* No operation is in progress, so no queue set migrates. */
	q.fence.pid = (uint32_t)getpid();
	assert_int_equal(call(&q), 0);
	assert_int_equal(reply.fence.migrated, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOSTILE_TEST(requests_before_hello_are_refused),
		HOSTILE_TEST(unknown_kinds_are_refused),
		HOSTILE_TEST(hello_is_validated),
		HOSTILE_TEST(requests_after_leave_are_refused),
		HOSTILE_TEST(port_sizes_are_validated),
		HOSTILE_TEST(port_names_are_validated),
		HOSTILE_TEST(resolve_names_are_validated),
		HOSTILE_TEST(ports_of_others_are_refused),
		HOSTILE_TEST(resolve_targets_are_validated),
		HOSTILE_TEST(peer_indexes_are_validated),
		HOSTILE_TEST(huge_allocations_are_refused),
		HOSTILE_TEST(blocks_of_others_are_not_freed),
		HOSTILE_TEST(query_does_not_free),
		HOSTILE_TEST(records_of_others_are_not_recovered),
		HOSTILE_TEST(only_members_can_be_fenced),
	};
	harness_begin("hostile");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
