/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that are well-formed and wrong: each field of each request with
 * values that no library sends. The node answers with the right error, serves
 * everybody else meanwhile and keeps nothing.
 */
#include <sys/eventfd.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "hostile.h"

#define DESCRIPTORS_MAX 253 /* that one record can carry */
#define KIND_LAST	NODE_DISABLE

/* What ends the connection must not end anything else. */
static void assert_hung_up(const struct node_request *q)
{
	int c = raw_connect();
	struct node_request again = hello_request("default");
	assert_true(c >= 0);
	assert_int_equal(raw_call(c, q, -1, &reply, NULL), -EPROTO);
	assert_int_equal(raw_call(c, &again, -1, &reply, NULL), -ENOTCONN);
	close(c);
}

/* ---- HELLO ---- */

static void nothing_goes_before_hello(void **state)
{
	(void)state;
	for (uint32_t kind = NODE_HELLO + 1; kind <= KIND_LAST; kind++) {
		struct node_request q = { .kind = kind };
		if (kind != NODE_STATUS && kind != NODE_FENCE)
			assert_hung_up(&q);
	}
}

static void unknown_kinds_end_the_connection(void **state)
{
	static const uint32_t kinds[] = { 0, KIND_LAST + 1, 255, 0x10001,
		0x80000001, UINT32_MAX };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(kinds); i++)
		assert_hung_up(&(struct node_request){ .kind = kinds[i] });
}

static void hello_must_be_right(void **state)
{
	(void)state;
	struct node_request q = hello_request("default");
	q.hello.magic ^= 1;
	assert_hung_up(&q);
	q = hello_request("default");
	memset(q.hello.realm, 'r', sizeof(q.hello.realm));
	assert_hung_up(&q);
	static const char *const realms[] = { "", "a/b", "..\n", "a b" };
	for (unsigned i = 0; i < ARRAY_COUNT(realms); i++) {
		q = hello_request(realms[i]);
		assert_hung_up(&q);
	}
	/* Twice is once too often. */
	q = hello_request("other");
	assert_int_equal(call(&q), -EPROTO);
	assert_int_equal(call(&q), -ENOTCONN);
	hung_up = 1;
}

static void after_leaving_nothing_goes(void **state)
{
	struct node_request leave = { .kind = NODE_LEAVE };
	struct node_request open = { .kind = NODE_OPEN };
	(void)state;
	port_open();
	assert_int_equal(call(&leave), 0);
	assert_int_equal(call(&open), -EPROTO);
}

/* ---- ports and peers ---- */

static void sizes_of_ports_are_checked(void **state)
{
	static const uint8_t wrong[] = { 1, 3, 21, 32, 63, 64, 200, 255 };
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
}

static void names_of_ports_are_checked(void **state)
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
	hung_up = 1;
}

static void resolve_names_are_checked(void **state)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	(void)state;
	q.resolve.vpid = port_open();
	memset(q.resolve.name, 'n', sizeof(q.resolve.name));
	assert_int_equal(call(&q), -EPROTO);
	hung_up = 1;
}

static uint16_t foreign_vpid(unsigned i, uint16_t own)
{
	const uint16_t list[] = { 0, 65535, cay_port_addr(anchor).vpid,
		(uint16_t)(own + 1) };
	return list[i];
}

/* The anchor's port, the node's, one that nobody has. */
static void a_process_speaks_only_of_its_own_ports(void **state)
{
	uint16_t own = port_open();
	int bell = eventfd(0, EFD_CLOEXEC);
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct node_request q = { .kind = NODE_CLOSE };
		q.close.vpid = foreign_vpid(i, own);
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_REFERENCES;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_DISABLE;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_QUIESCE;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_LOCK;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_UNLOCK;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_RESOLVE;
		q.resolve.target = own;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_RELEASE;
		q.release.index = 0;
		assert_int_equal(call(&q), -ENXIO);
		q.kind = NODE_DOORBELL_SET;
		assert_int_equal(raw_call(s, &q, bell, &reply, NULL), -EINVAL);
	}
	close(bell);
	/* Closed once, it is not its own any more. */
	struct node_request q = { .kind = NODE_CLOSE };
	q.close.vpid = own;
	assert_int_equal(call(&q), 0);
	assert_int_equal(call(&q), -ENXIO);
}

static void only_what_is_there_is_resolved(void **state)
{
	struct cay_addr there = cay_port_addr(anchor);
	struct node_request q = { .kind = NODE_RESOLVE };
	int other = raw_member("other");
	(void)state;
	assert_true(other >= 0);
	q.resolve.vpid = port_open();
	q.resolve.node = there.node;
	q.resolve.target = 0;
	assert_int_equal(call(&q), -ENXIO);
	q.resolve.target = 65535;
	assert_int_equal(call(&q), -ENXIO);
	q.resolve.target = there.vpid;
	q.resolve.node = there.node + 1;
	assert_int_equal(call(&q), -EHOSTUNREACH);
	strcpy(q.resolve.name, "nobody");
	assert_int_equal(call(&q), -ENXIO);
	/* From another realm. */
	struct node_request open = { .kind = NODE_OPEN };
	assert_int_equal(raw_call(other, &open, -1, &reply, NULL), 0);
	q.resolve.vpid = reply.open.vpid;
	q.resolve.node = there.node;
	q.resolve.name[0] = 0;
	assert_int_equal(raw_call(other, &q, -1, &reply, NULL), -EACCES);
	raw_leave(other);
}

static void peer_tables_have_an_end(void **state)
{
	struct cay_addr there = cay_port_addr(anchor);
	struct node_request q = { .kind = NODE_OPEN };
	(void)state;
	q.open.peers = 3;
	assert_int_equal(call(&q), 0);
	uint16_t own = reply.open.vpid;
	q = (struct node_request){ .kind = NODE_RESOLVE };
	q.resolve.vpid = own;
	q.resolve.node = there.node;
	q.resolve.target = there.vpid;
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

static void absurd_sizes_are_refused(void **state)
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

static void only_own_blocks_are_freed(void **state)
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

/* Asking how large a block is does not free it, and tells only its owner. */
static void asking_is_not_freeing(void **state)
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
	static const uint32_t asking[] = { 1, 2, UINT32_MAX };
	q = (struct node_request){ .kind = NODE_FREE };
	for (unsigned i = 0; i < ARRAY_COUNT(asking); i++) {
		q.free.query = asking[i];
		for (unsigned j = 0; j < ARRAY_COUNT(wrong); j++) {
			q.free.offset = wrong[j];
			assert_int_equal(call(&q), -EINVAL);
		}
		q.free.offset = own;
		assert_int_equal(call(&q), 0);
		assert_int_equal(reply.alloc.offset, own);
		assert_int_equal(reply.alloc.bytes, 3 * ARENA_PAGE);
	}
	q.free.query = 0;
	assert_int_equal(call(&q), 0);
	q.free.query = 1;
	assert_int_equal(call(&q), -EINVAL);
	cay_free(anchor, others);
}

static void only_own_records_are_recovered(void **state)
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

static void only_members_are_fenced(void **state)
{
	static const uint32_t pids[] = { 0, 1, 0x7fffffff, UINT32_MAX };
	struct node_request q = { .kind = NODE_FENCE };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(pids); i++) {
		q.fence.pid = pids[i];
		assert_int_equal(call(&q), -ESRCH);
	}
	/* It is in the middle of nothing, so nothing moves. */
	q.fence.pid = (uint32_t)getpid();
	assert_int_equal(call(&q), 0);
	assert_int_equal(reply.fence.migrated, 0);
}

/* ---- bells ---- */

static int bell_call(enum node_request_kind kind, uint16_t vpid, int fd)
{
	struct node_request q = { .kind = kind };
	q.doorbell.vpid = vpid;
	q.doorbell.epoch = 1;
	return raw_call(s, &q, fd, &reply, NULL);
}

static void a_bell_must_come_along(void **state)
{
	uint16_t own = port_open();
	(void)state;
	assert_int_equal(bell_call(NODE_DOORBELL_SET, own, -1), -EINVAL);
	assert_int_equal(bell_call(NODE_DOORBELL_GET, own, -1), -ENXIO);
	assert_int_equal(bell_call(NODE_DOORBELL_GET, 0, -1), -ENXIO);
	assert_int_equal(bell_call(NODE_DOORBELL_GET, 65535, -1), -ENXIO);
	assert_int_equal(bell_call(NODE_DOORBELL_RING, 65535, -1), 0);
}

/* Whoever would write into it would die of SIGPIPE, or wait for ever. */
static void a_bell_is_an_eventfd(void **state)
{
	uint16_t own = port_open();
	int broken[2], full[2], flags = O_CLOEXEC | O_NONBLOCK;
	(void)state;
	assert_int_equal(pipe2(broken, O_CLOEXEC), 0);
	assert_int_equal(pipe2(full, flags), 0);
	close(broken[0]);
	while (write(full[1], "full", 4) == 4)
		continue;
	assert_int_equal(fcntl(full[1], F_SETFL, 0), 0);
	const int others[] = { broken[1], full[1],
		open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/", O_RDONLY | O_CLOEXEC) };
	for (unsigned i = 0; i < ARRAY_COUNT(others); i++) {
		int r = bell_call(NODE_DOORBELL_SET, own, others[i]);
		assert_int_equal(bell_call(NODE_DOORBELL_RING, own, -1), 0);
		assert_int_equal(r, -EINVAL);
		close(others[i]);
	}
	close(full[0]);
	assert_int_equal(node_pid(), node);
}

/* An eventfd that blocks, and has no room for one more. */
static void a_full_bell_does_not_stop_the_node(void **state)
{
	uint16_t own = port_open();
	uint64_t most = UINT64_MAX - 1;
	int bell = eventfd(0, EFD_CLOEXEC);
	(void)state;
	assert_true(bell >= 0);
	assert_int_equal(bell_call(NODE_DOORBELL_SET, own, bell), 0);
	assert_int_equal(write(bell, &most, sizeof(most)), sizeof(most));
	assert_int_equal(bell_call(NODE_DOORBELL_RING, own, -1), 0);
	assert_int_equal(node_pid(), node);
	close(bell);
}

/* ---- descriptors where none is expected ---- */

/* Any number of descriptors with one record. */
static void send_with(int to, const void *q, size_t bytes, unsigned count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	} space = { 0 };
	struct iovec data = { (void *)q, bytes };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (unsigned i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &to, sizeof(int));
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), bytes);
}

static void surplus_descriptors_are_closed(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, DESCRIPTORS_MAX };
	(void)state;
	for (uint32_t kind = 0; kind <= KIND_LAST + 1; kind++)
		for (unsigned i = 0; i < ARRAY_COUNT(counts); i++) {
			struct node_request q = hello_request("default");
			int fd = -1;
			q.kind = kind;
			int c = kind == NODE_HELLO ? raw_connect()
						   : raw_member("default");
			assert_true(c >= 0);
			/* Descriptors of the very socket that they go over. */
			send_with(c, &q, sizeof(q), counts[i]);
			int r = raw_reply(c, &reply, &fd);
			hung_up += r == -EPROTO;
			if (fd >= 0)
				close(fd);
			raw_leave(c);
		}
}

/* A record of no bytes looks like the end, but may bring a descriptor. */
static void empty_records_leave_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		int fd = -1, c = raw_connect();
		assert_true(c >= 0);
		send_with(c, "", 0, 1);
		assert_true(raw_reply(c, &reply, &fd) < 0);
		close(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MEMBER(nothing_goes_before_hello),
		WITH_MEMBER(unknown_kinds_end_the_connection),
		WITH_MEMBER(hello_must_be_right),
		WITH_MEMBER(after_leaving_nothing_goes),
		WITH_MEMBER(sizes_of_ports_are_checked),
		WITH_MEMBER(names_of_ports_are_checked),
		WITH_MEMBER(resolve_names_are_checked),
		WITH_MEMBER(a_process_speaks_only_of_its_own_ports),
		WITH_MEMBER(only_what_is_there_is_resolved),
		WITH_MEMBER(peer_tables_have_an_end),
		WITH_MEMBER(absurd_sizes_are_refused),
		WITH_MEMBER(only_own_blocks_are_freed),
		WITH_MEMBER(asking_is_not_freeing),
		WITH_MEMBER(only_own_records_are_recovered),
		WITH_MEMBER(only_members_are_fenced),
		WITH_MEMBER(a_bell_must_come_along),
		WITH_MEMBER(a_bell_is_an_eventfd),
		WITH_MEMBER(a_full_bell_does_not_stop_the_node),
		WITH_MEMBER(surplus_descriptors_are_closed),
		WITH_MEMBER(empty_records_leave_nothing),
	};
	harness_begin("hostile");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
