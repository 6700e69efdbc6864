/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fake node: a thread that replies to HELLO with an offer that a test has
 * corrupted, and to later requests by a callback of the test.
 *
 *	struct fake f = { .offer = offer_good() };
 *	f.offer.header.major++;
 *	fake_start(&f);
 *	... cay_port_open() ...
 *	fake_stop(&f);
 */
#ifndef CAY_TESTS_NODE_FAKE_H
#define CAY_TESTS_NODE_FAKE_H

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "contract/arena.h"
#include "outside.h"

#define FAKE_ARENA_BYTES (ARENA_HEAP_OFFSET + (1ull << 20))
#define FAKE_NODE	 0xca7u

/* The reply to HELLO. */
struct offer {
	struct node_reply reply;
	size_t reply_bytes;
	int fds[3]; /* sent instead of the arena; -1 ends the list */
	bool no_arena;
	uint64_t arena_bytes; /* of the memfd */
	unsigned seals;
	struct arena_header header;
};

struct fake {
	struct offer offer;
	/* Fills the reply to any request but HELLO; NULL: a zeroed reply. */
	void (*reply)(struct fake *, const struct node_request *,
		struct node_reply *);
	unsigned disconnects; /* connections to close without a reply */
	bool silent;	      /* never replies */
	int arena, listener, stop;
	unsigned char *base; /* the arena, mapped */
	pthread_t thread;
};

static inline struct offer offer_good(void)
{
	struct offer o = { .reply_bytes = sizeof(struct node_reply),
		.fds = { -1, -1, -1 },
		.arena_bytes = FAKE_ARENA_BYTES,
		.seals = F_SEAL_SHRINK | F_SEAL_GROW };
	o.reply.hello.arena_bytes = FAKE_ARENA_BYTES;
	o.reply.hello.records = ARENA_HEAP_OFFSET;
	o.reply.hello.node = FAKE_NODE;
	o.reply.hello.block_bytes_max = FAKE_ARENA_BYTES;
	o.header = (struct arena_header){ .magic = ARENA_MAGIC,
		.major = ARENA_MAJOR,
		.minor = ARENA_MINOR,
		.node = FAKE_NODE };
	arena_header_layout(&o.header, FAKE_ARENA_BYTES, ARENA_STRIDE_PACKED);
	return o;
}

static inline void fake_arena(struct fake *f)
{
	struct offer *o = &f->offer;
	f->arena = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(f->arena >= 0);
	assert_int_equal(ftruncate(f->arena, (off_t)o->arena_bytes), 0);
	size_t bytes = sizeof(o->header);
	if (o->arena_bytes < bytes)
		bytes = (size_t)o->arena_bytes;
	assert_int_equal(pwrite(f->arena, &o->header, bytes, 0), bytes);
	f->base = MAP_FAILED;
	/* No writable mapping may exist when F_SEAL_WRITE is added. */
	if (o->seals & F_SEAL_WRITE || o->arena_bytes == 0)
		bytes = 0;
	if (o->seals)
		assert_int_equal(fcntl(f->arena, F_ADD_SEALS, o->seals), 0);
	if (bytes)
		f->base = mmap(NULL, o->arena_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED, f->arena, 0);
}

/* As wire_send(), but with any number of descriptors. */
static inline void fake_send(
	int s, const void *record, size_t bytes, const int *fds, unsigned count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} space = { 0 };
	struct iovec data = { (void *)record, bytes };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	if (count) {
		m.msg_control = &space;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	sendmsg(s, &m, MSG_NOSIGNAL);
}

static inline void fake_hello(struct fake *f, int s)
{
	static const unsigned char zeros[8192];
	unsigned char record[8192];
	const struct offer *o = &f->offer;
	int fds[3];
	unsigned count = 0;
	memcpy(record, zeros, sizeof(record));
	memcpy(record, &o->reply, sizeof(o->reply));
	if (o->fds[0] >= 0)
		while (count < 3 && o->fds[count] >= 0) {
			fds[count] = o->fds[count];
			count++;
		}
	else if (!o->no_arena)
		fds[count++] = f->arena;
	fake_send(s, record, o->reply_bytes, fds, count);
}

static inline void fake_reply(
	struct fake *f, int s, const struct node_request *q)
{
	struct node_reply reply = { 0 };
	if (q->kind == NODE_HELLO) {
		fake_hello(f, s);
		return;
	}
	if (f->reply)
		f->reply(f, q, &reply);
	fake_send(s, &reply, sizeof(reply), NULL, 0);
}

/* Serves one client until it disconnects or the test stops the node. */
static inline void fake_serve_client(struct fake *f, int s)
{
	struct pollfd p[2] = { { .fd = s, .events = POLLIN },
		{ .fd = f->stop, .events = POLLIN } };
	struct node_request q;
	while (poll(p, 2, HARNESS_TIMEOUT_MS) > 0 && !p[1].revents) {
		if (recv(s, &q, sizeof(q), 0) <= 0)
			return;
		if (f->disconnects) {
			f->disconnects--;
			return;
		}
		if (!f->silent)
			fake_reply(f, s, &q);
	}
}

static inline void *fake_run(void *argument)
{
	struct fake *f = argument;
	struct pollfd p[2] = { { .fd = f->listener, .events = POLLIN },
		{ .fd = f->stop, .events = POLLIN } };
	while (poll(p, 2, HARNESS_TIMEOUT_MS) > 0 && !p[1].revents) {
		int s = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
		if (s < 0)
			break;
		fake_serve_client(f, s);
		close(s);
	}
	close(f->listener);
	return NULL;
}

static inline void fake_start(struct fake *f)
{
	struct node_address a;
	harness_rename();
	fake_arena(f);
	assert_int_equal(node_address(harness_name, &a), 0);
	f->listener = raw_listen(&a);
	assert_true(f->listener >= 0);
	f->stop = eventfd(0, EFD_CLOEXEC);
	assert_true(f->stop >= 0);
	assert_int_equal(pthread_create(&f->thread, NULL, fake_run, f), 0);
}

static inline void fake_stop(struct fake *f)
{
	uint64_t one = 1;
	assert_int_equal(write(f->stop, &one, sizeof(one)), sizeof(one));
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	close(f->stop);
	close(f->arena);
	if (f->base != MAP_FAILED)
		munmap(f->base, f->offer.arena_bytes);
}

#endif
