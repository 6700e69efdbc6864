/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapped windows: a pointer into the memory of a peer. While a process has one
 * mapped, its owner cannot withdraw it, nobody can lock it, and the memory
 * stays allocated; the end of the process ends the mapping.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "status.h"

#define BYTES  8192
#define RIGHTS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

struct pair {
	struct cay_port *owner, *other;
	struct cay_peer *peer; /* the owner, as a peer of the other */
	unsigned char *memory;
	struct cay_window *window;
	struct cay_key key;
};

static struct pair pair_open(unsigned rights)
{
	struct pair p = { .owner = open_port(NULL), .other = open_port(NULL) };
	p.peer = open_peer(p.other, p.owner);
	p.memory = cay_alloc(p.owner, BYTES, 0);
	assert_non_null(p.memory);
	assert_int_equal(
		cay_window_open(p.owner, p.memory, BYTES, rights, &p.window),
		0);
	assert_int_equal(cay_window_key(p.window, &p.key), 0);
	return p;
}

static void pair_close(struct pair *p)
{
	if (p->window)
		assert_int_equal(cay_window_close(p->window), 0);
	cay_peer_release(p->peer);
	close_port(p->other);
	close_port(p->owner);
}

static int map(struct pair *p, unsigned char **memory)
{
	size_t bytes = 0;
	void *at = NULL;
	int r = cay_window_map(p->other, p->peer, p->key, &at, &bytes);
	assert_true(r || bytes == BYTES);
	*memory = at;
	return r;
}

static int unmap(struct pair *p, void *memory)
{
	return cay_window_unmap(p->other, memory);
}

/* ---- access ---- */

static void memory_is_shared(void **state)
{
	struct pair p = pair_open(RIGHTS);
	unsigned char *at, got[8];
	(void)state;
	assert_int_equal(map(&p, &at), 0);
	memcpy(at + 100, "stored", 7);
	assert_string_equal((char *)p.memory + 100, "stored");
	assert_int_equal(
		cay_put(p.other, p.peer, p.key, 200, "putputt", 8, 0, 0), 0);
	assert_string_equal((char *)at + 200, "putputt");
	memcpy(got, at + 200, sizeof(got));
	assert_memory_equal(got, "putputt", 8);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(unmap(&p, at), -EINVAL);
	assert_int_equal(unmap(&p, NULL), -EINVAL);
	assert_int_equal(unmap(&p, got), -EINVAL);
	assert_int_equal(unmap(&p, p.memory + 1), -EINVAL);
	pair_close(&p);
}

/* All three rights are needed; only a wrong capability counts as one. */
static void rights_and_capability(void **state)
{
	static const unsigned lacking[] = { CAY_RIGHT_READ | CAY_RIGHT_WRITE,
		CAY_RIGHT_READ | CAY_RIGHT_ATOMIC,
		CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC };
	unsigned char *at;
	(void)state;
	for (unsigned i = 0; i < COUNT(lacking); i++) {
		struct pair p = pair_open(lacking[i]);
		assert_int_equal(map(&p, &at), -EACCES);
		assert_int_equal(port_stats(p.other).invalid_capabilities, 0);
		pair_close(&p);
	}
	struct pair p = pair_open(RIGHTS);
	p.key.capability ^= 1;
	assert_int_equal(map(&p, &at), -EACCES);
	assert_int_equal(port_stats(p.other).invalid_capabilities, 1);
	p.key.capability ^= 1;
	p.key.window = 63;
	assert_int_equal(map(&p, &at), -ENXIO);
	p.key.window = 1 << 20;
	assert_int_equal(map(&p, &at), -ENXIO);
	pair_close(&p);
}

static void only_arena_memory(void **state)
{
	static unsigned char fixed[BYTES];
	struct pair p = pair_open(RIGHTS);
	struct cay_window *window;
	unsigned char *at;
	(void)state;
	assert_int_equal(
		cay_window_open(p.owner, fixed, BYTES, RIGHTS, &window), 0);
	assert_int_equal(cay_window_key(window, &p.key), 0);
	assert_int_equal(map(&p, &at), -EOPNOTSUPP);
	assert_int_equal(cay_window_close(window), 0);
	pair_close(&p);
}

/* ---- withdrawal ---- */

static void mapped_windows_are_not_closed(void **state)
{
	struct pair p = pair_open(RIGHTS);
	unsigned char *first, *second;
	(void)state;
	assert_int_equal(map(&p, &first), 0);
	assert_int_equal(map(&p, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(cay_window_close(p.window), -EBUSY);
	/* It is withdrawn: no new mapping, but the old ones continue. */
	assert_int_equal(map(&p, &second), -ENXIO);
	first[0] = 1;
	assert_int_equal(unmap(&p, first), 0);
	assert_int_equal(cay_window_close(p.window), -EBUSY);
	assert_int_equal(unmap(&p, first), 0);
	assert_int_equal(unmap(&p, first), -EINVAL);
	assert_int_equal(cay_window_close(p.window), 0);
	p.window = NULL;
	pair_close(&p);
}

static void mapped_windows_are_not_revoked(void **state)
{
	struct pair p = pair_open(RIGHTS);
	struct cay_key key;
	unsigned char *at, *none;
	(void)state;
	assert_int_equal(map(&p, &at), 0);
	assert_int_equal(cay_window_revoke(p.window, &key), -EBUSY);
	assert_int_equal(map(&p, &none), -EACCES);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(cay_window_revoke(p.window, &p.key), 0);
	assert_int_equal(map(&p, &at), 0);
	assert_int_equal(unmap(&p, at), 0);
	pair_close(&p);
}

/* Of two windows on overlapping memory, one is mapped or locked. */
static void locks_and_mappings_exclude_each_other(void **state)
{
	struct pair p = pair_open(RIGHTS);
	struct cay_window *window;
	struct cay_key other, whole = p.key;
	unsigned char *at;
	(void)state;
	assert_int_equal(
		cay_window_open(p.owner, p.memory + 4000, 100, RIGHTS, &window),
		0);
	assert_int_equal(cay_window_key(window, &other), 0);
	assert_int_equal(map(&p, &at), 0);
	assert_int_equal(cay_window_lock(p.other, p.peer, whole, 0), -EBUSY);
	assert_int_equal(cay_window_lock(p.other, p.peer, other, 0), -EBUSY);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(cay_window_lock(p.other, p.peer, other, soon()), 0);
	assert_int_equal(map(&p, &at), -EBUSY);
	assert_int_equal(cay_window_unlock(p.other, p.peer, other), 0);
	assert_int_equal(map(&p, &at), 0);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(cay_window_close(window), 0);
	pair_close(&p);
}

/* ---- the memory stays ---- */

static uint64_t heap_used(void)
{
	return status_settled().heap_used;
}

static void freed_memory_stays_until_unmapped(void **state)
{
	struct pair p = pair_open(RIGHTS);
	struct cay_window *window;
	unsigned char *at;
	(void)state;
	uint64_t before = heap_used();
	assert_int_equal(map(&p, &at), 0);
	content_fill(at, BYTES, 7);
	cay_free(p.owner, p.memory);
	p.window = NULL;
	assert_int_equal(heap_used(), before);
	/* Other memory, whose window may have the same number. */
	unsigned char *more = cay_alloc(p.owner, BYTES, 0);
	assert_non_null(more);
	assert_ptr_not_equal(more, at);
	assert_int_equal(
		cay_window_open(p.owner, more, BYTES, RIGHTS, &window), 0);
	assert_int_equal(cay_window_close(window), 0);
	memset(more, 1, BYTES);
	assert_true(content_fits(at, BYTES, 7));
	cay_free(p.owner, more);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(heap_used(), before - BYTES);
	pair_close(&p);
}

static void closing_the_owner_keeps_memory(void **state)
{
	struct pair p = pair_open(RIGHTS);
	unsigned char *at;
	(void)state;
	assert_int_equal(map(&p, &at), 0);
	close_port(p.owner);
	content_fill(at, BYTES, 8);
	status_settled();
	assert_true(content_fits(at, BYTES, 8));
	assert_int_equal(unmap(&p, at), 0);
	cay_peer_release(p.peer);
	close_port(p.other);
}

/* ---- other processes ---- */

static void owner_body(struct child *parent, void *unused)
{
	struct cay_window *window;
	struct cay_key key;
	struct cay_port *port = open_named("owner");
	(void)unused;
	unsigned char *memory = cay_alloc(port, BYTES, 0);
	assert_non_null(memory);
	content_fill(memory, BYTES, 9);
	assert_int_equal(
		cay_window_open(port, memory, BYTES, RIGHTS, &window), 0);
	assert_int_equal(cay_window_key(window, &key), 0);
	child_send(parent, key.capability);
	child_send(parent, key.window);
	/* Closes the window when the parent says so, or is killed. */
	while (child_receive(parent))
		child_send(parent, (uint64_t)-cay_window_close(window));
	close_port(port);
}

static struct pair owner_start(struct child *child)
{
	struct pair p = { .other = open_port(NULL) };
	child_start(child, owner_body, NULL);
	p.key.capability = child_receive(child);
	p.key.window = (uint32_t)child_receive(child);
	p.peer = open_peer_named(p.other, "owner");
	return p;
}

static void killed_owner_leaves_memory(void **state)
{
	struct child child;
	unsigned char *at;
	struct pair p = owner_start(&child);
	(void)state;
	assert_int_equal(map(&p, &at), 0);
	child_kill(&child);
	uint64_t before = heap_used();
	unsigned char *more = cay_alloc(p.other, BYTES, 0);
	assert_non_null(more);
	memset(more, 1, BYTES);
	assert_true(content_fits(at, BYTES, 9));
	cay_free(p.other, more);
	assert_int_equal(unmap(&p, at), 0);
	assert_int_equal(heap_used(), before - BYTES);
	expect_gone(p.other, cay_peer_addr(p.peer).vpid);
	cay_peer_release(p.peer);
	close_port(p.other);
}

static void mapper_body(struct child *parent, void *argument)
{
	const struct pair *owner = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "mapped");
	size_t bytes;
	void *at;
	assert_int_equal(
		cay_window_map(port, peer, owner->key, &at, &bytes), 0);
	child_send(parent, 1);
	child_receive(parent);
	/* Leaving the realm ends the mapping, too. */
	close_port(port);
	child_send(parent, 1);
	child_receive(parent);
}

static void end_of_the_mapper_ends_mappings(void **state)
{
	struct pair p = { .owner = open_named("mapped") };
	struct child child;
	(void)state;
	p.memory = cay_alloc(p.owner, BYTES, 0);
	assert_non_null(p.memory);
	for (unsigned killed = 0; killed < 2; killed++) {
		assert_int_equal(cay_window_open(p.owner, p.memory, BYTES,
					 RIGHTS, &p.window),
			0);
		assert_int_equal(cay_window_key(p.window, &p.key), 0);
		child_start(&child, mapper_body, &p);
		child_receive(&child);
		assert_int_equal(cay_window_close(p.window), -EBUSY);
		if (killed) {
			child_kill(&child);
			status_settled();
		} else {
			child_send(&child, 1);
			child_receive(&child);
		}
		assert_int_equal(cay_window_close(p.window), 0);
		if (!killed) {
			child_send(&child, 1);
			child_join(&child);
		}
	}
	cay_free(p.owner, p.memory);
	close_port(p.owner);
}

static void forked_child_is_refused(void **state)
{
	struct pair p = pair_open(RIGHTS);
	unsigned char *at;
	int status;
	(void)state;
	assert_int_equal(map(&p, &at), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		size_t bytes;
		void *none;
		bool refused = cay_window_map(p.other, p.peer, p.key, &none,
				       &bytes) == -ECHILD &&
			       cay_window_unmap(p.other, at) == -ECHILD;
		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unmap(&p, at), 0);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(memory_is_shared),
		TEST(rights_and_capability),
		TEST(only_arena_memory),
		TEST(mapped_windows_are_not_closed),
		TEST(mapped_windows_are_not_revoked),
		TEST(locks_and_mappings_exclude_each_other),
		TEST(freed_memory_stays_until_unmapped),
		TEST(closing_the_owner_keeps_memory),
		TEST(killed_owner_leaves_memory),
		TEST(end_of_the_mapper_ends_mappings),
		TEST(forked_child_is_refused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
