/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An origin and a window that it can reach, in every way that there is: memory
 * of the arena, of the heap or static, in this process or in another. What the
 * owner must do itself is done whenever the origin waits.
 *
 *	static void body(struct rma_pair *r) { ... }
 *	each_setup(BYTES, RIGHTS, body);
 */
#ifndef CAY_TESTS_PORT_REMOTE_H
#define CAY_TESTS_PORT_REMOTE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "harness.h"

#define RIGHTS_ACCESS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

#define STATIC_BYTES ((size_t)2 << 20)

enum place {
	PLACE_ARENA,  /* cay_alloc(): mapped by all processes */
	PLACE_HEAP,   /* malloc(): process_vm_readv(), emulated atomics */
	PLACE_STATIC, /* as PLACE_HEAP */
	PLACES,
};

struct rma_pair {
	struct cay_port *origin;
	struct cay_peer *peer; /* the owner as a peer of the origin */
	struct cay_key key;
	size_t bytes;
	enum place place;
	/* NULL if the owner is another process. */
	struct cay_port *owner;
	struct cay_window *window;
	unsigned char *memory;
};

/* ---- memory ---- */

static inline unsigned char *place_alloc(
	struct cay_port *owner, enum place place, size_t bytes)
{
	static unsigned char fixed[STATIC_BYTES];
	assert_true(bytes <= sizeof(fixed));
	memset(fixed, 0, bytes);
	unsigned char *p = place == PLACE_ARENA	 ? cay_alloc(owner, bytes, 0)
			   : place == PLACE_HEAP ? calloc(1, bytes)
						 : fixed;
	assert_true(p != NULL);
	return p;
}

static inline void place_free(
	struct cay_port *owner, enum place place, unsigned char *memory)
{
	if (place == PLACE_ARENA)
		cay_free(owner, memory);
	if (place == PLACE_HEAP)
		free(memory);
}

static inline struct cay_window *open_window(struct cay_port *owner,
	void *memory, size_t bytes, unsigned rights, struct cay_key *key)
{
	struct cay_window *w = NULL;
	assert_int_equal(cay_window_open(owner, memory, bytes, rights, &w), 0);
	assert_int_equal(cay_window_key(w, key), 0);
	return w;
}

static inline void close_window(struct cay_window *w)
{
	assert_int_equal(cay_window_close(w), 0);
}

/* ---- passing keys between processes ---- */

static inline void key_send(struct child *c, struct cay_key key)
{
	child_send(c, key.capability);
	child_send(c, key.window);
}

static inline struct cay_key key_receive(struct child *c)
{
	struct cay_key key = { .capability = child_receive(c) };
	key.window = (uint32_t)child_receive(c);
	return key;
}

/* ---- an owner and an origin ---- */

static inline struct rma_pair rma_open(
	enum place place, size_t bytes, unsigned rights)
{
	struct rma_pair r = { .place = place, .bytes = bytes };
	r.owner = open_port(NULL);
	r.origin = open_port(NULL);
	r.peer = open_peer(r.origin, r.owner);
	r.memory = place_alloc(r.owner, place, bytes);
	r.window = open_window(r.owner, r.memory, bytes, rights, &r.key);
	return r;
}

static inline void rma_close(struct rma_pair *r)
{
	check_empty(r->origin);
	check_empty(r->owner);
	if (r->window)
		close_window(r->window);
	place_free(r->owner, r->place, r->memory);
	cay_peer_release(r->peer);
	close_port(r->origin);
	close_port(r->owner);
}

/* Polls the owner, which must not get an event. */
static inline void rma_poll_owner(struct rma_pair *r)
{
	struct cay_event e;
	if (r->owner)
		assert_true(!poll_event(r->owner, &e));
}

/* Flushes; executes emulated accesses if the owner is in this process. */
static inline int rma_flush(struct rma_pair *r)
{
	uint64_t deadline = soon();
	int result;
	while ((result = cay_flush(r->origin, r->peer,
			r->owner ? 0 : deadline)) == -EAGAIN) {
		rma_poll_owner(r);
		assert_true(now_ns() < deadline);
	}
	return result;
}

/* Waits until all operations are complete, without an event. */
static inline void rma_settle(struct rma_pair *r)
{
	struct cay_event e;
	assert_int_equal(rma_flush(r), 0);
	/* Returns the entries of completions by polling. */
	assert_true(!poll_event(r->origin, &e));
}

/* Returns the next event of the origin. */
static inline void rma_event(struct rma_pair *r, struct cay_event *e)
{
	uint64_t deadline = soon();
	if (!r->owner) {
		next_event(r->origin, e);
		return;
	}
	while (!poll_event(r->origin, e)) {
		if (r->owner != r->origin)
			rma_poll_owner(r);
		assert_true(now_ns() < deadline);
	}
}

/* Asserts that the event is a completion with this error. */
static inline void rma_complete(struct rma_pair *r, uint64_t tag, int error)
{
	struct cay_event e;
	rma_event(r, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.error, error);
	cay_release(r->origin, &e);
}

/* ---- origin in another process ---- */

/* Makes process_vm_readv() fail in this process, as in a container. */
static inline void forbid_process_memory(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(code), code };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

struct rma_child {
	void (*body)(struct rma_pair *);
	struct cay_key key;
	size_t bytes;
	enum place place;
	bool forbidden; /* forbid_process_memory() */
};

static inline void far_child(struct child *parent, void *argument)
{
	const struct rma_child *f = argument;
	struct rma_pair r = { .origin = open_port(NULL),
		.key = f->key,
		.bytes = f->bytes,
		.place = f->place };
	r.peer = open_peer_named(r.origin, "owner");
	if (f->forbidden)
		forbid_process_memory();
	f->body(&r);
	check_empty(r.origin);
	cay_peer_release(r.peer);
	close_port(r.origin);
	child_send(parent, 1);
}

static inline bool child_has_sent(struct child *c)
{
	uint64_t word;
	ssize_t n = recv(c->fd, &word, sizeof(word), MSG_PEEK | MSG_DONTWAIT);
	return n >= 0;
}

static inline void rma_far(enum place place, size_t bytes, unsigned rights,
	void (*body)(struct rma_pair *), bool forbidden)
{
	struct cay_port *owner = open_named("owner");
	unsigned char *memory = place_alloc(owner, place, bytes);
	struct rma_child f = { .body = body,
		.bytes = bytes,
		.place = place,
		.forbidden = forbidden };
	struct cay_window *w =
		open_window(owner, memory, bytes, rights, &f.key);
	struct cay_event e;
	struct child child;
	child_start(&child, far_child, &f);
	while (!child_has_sent(&child)) {
		assert_true(!poll_event(owner, &e));
		sched_yield();
	}
	child_receive(&child);
	child_join(&child);
	close_window(w);
	place_free(owner, place, memory);
	close_port(owner);
}

/*
 * Runs `body` in one process and between two, on each kind of memory, and
 * without process_vm_readv().
 */
static inline void each_setup(
	size_t bytes, unsigned rights, void (*body)(struct rma_pair *))
{
	for (enum place place = 0; place < PLACES; place++) {
		struct rma_pair r = rma_open(place, bytes, rights);
		body(&r);
		rma_close(&r);
		rma_far(place, bytes, rights, body, false);
	}
	rma_far(PLACE_HEAP, bytes, rights, body, true);
}

#endif
