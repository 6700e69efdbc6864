/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every error code of the contract, caused through the public interface, and
 * the order of the checks: of two faults the first one sets the code.
 */
#include <sys/mman.h>

#include "instruction.h"
#include "vci.h"

#define BYTES 256ul

/*
 * An origin and a target, each with an ordinary window and one locked by a
 * third port; the target also has a read-only window.
 */
enum {
	PLAIN = 0,
	LOCKED = 1,
	READ_ONLY = 2
};

struct scene {
	struct cay_port *origin, *target, *third;
	struct cay_peer *peer, *third_origin, *third_target;
	unsigned char *local, *memory;
	struct cay_window *own[2], *windows[4];
	struct cay_key own_key[2], key[4];
	uint64_t tag;
};

static void scene_windows(struct scene *s)
{
	for (unsigned i = 0; i < 2; i++)
		s->own[i] = open_window(s->origin, s->local + i * BYTES, BYTES,
			CAY_RIGHT_READ, &s->own_key[i]);
	for (unsigned i = 0; i < 4; i++)
		s->windows[i] = open_window(s->target, s->memory + i * BYTES,
			BYTES, i & READ_ONLY ? CAY_RIGHT_READ : RIGHTS_ACCESS,
			&s->key[i]);
	assert_int_equal(cay_window_lock(s->third, s->third_origin,
				 s->own_key[LOCKED], 0),
		0);
	for (unsigned i = 0; i < 4; i += READ_ONLY)
		assert_int_equal(cay_window_lock(s->third, s->third_target,
					 s->key[i | LOCKED], 0),
			0);
}

static struct scene scene_open(uint64_t flags)
{
	struct cay_port_options o = { .flags = flags };
	struct scene s = { .tag = 100 };
	s.origin = open_port(&o);
	s.target = open_port(NULL);
	s.third = open_port(NULL);
	s.peer = open_peer(s.origin, s.target);
	s.third_origin = open_peer(s.third, s.origin);
	s.third_target = open_peer(s.third, s.target);
	s.local = cay_alloc(s.origin, 2 * BYTES, 0);
	s.memory = cay_alloc(s.target, 4 * BYTES, 0);
	content_fill(s.memory, 4 * BYTES, 1);
	scene_windows(&s);
	return s;
}

/* The target's memory is unchanged, and no event was sent. */
static void scene_close(struct scene *s)
{
	assert_true(content_fits(s->memory, 4 * BYTES, 1));
	expect_nothing(s->origin);
	expect_nothing(s->target);
	cay_peer_release(s->peer);
	cay_peer_release(s->third_origin);
	cay_peer_release(s->third_target);
	close_port(s->third);
	close_port(s->origin);
	close_port(s->target);
}

static struct cay_vci good_put(struct scene *s)
{
	return vci_bulk(s->peer, CAY_PUT, 0, ++s->tag, s->key[PLAIN], 8,
		s->own_key[PLAIN].window, 16, 64);
}

static void ends_in(struct scene *s, const struct cay_vci *v, unsigned error)
{
	vci_issue(s->origin, v);
	expect_cc(s->origin, v->word[CAY_VCI_WORD_TAG], v->word[0] & 0xffff,
		error);
}

/* ---- each code ---- */

static void cause_command(struct scene *s)
{
	struct cay_vci v = vci_to(s->peer, 0x55, 0, 1);
	ends_in(s, &v, CAY_ERROR_COMMAND);
}

/* A forked child has the handle, but not the port. */
static void trigger_child(struct child *parent, void *argument)
{
	struct scene *s = argument;
	struct cay_answer answer = cay_trigger(s->origin, CAY_ISSUE_VCI, 1);
	(void)parent;
	assert_int_equal(answer.accepted, 0);
	assert_int_equal(answer.reason, CAY_ERROR_ORIGIN_VPID);
}

static void cause_origin_vpid(struct scene *s)
{
	struct child child;
	child_start(&child, trigger_child, s);
	child_join(&child);
}

static void set_route(struct cay_vci *v, uint64_t route)
{
	v->word[0] &=
		~(CAY_VCI_ROUTING_OFFSET_MASK << CAY_VCI_ROUTING_OFFSET_SHIFT);
	v->word[0] |= route << CAY_VCI_ROUTING_OFFSET_SHIFT;
}

static void set_route_length(struct cay_vci *v, uint64_t length)
{
	v->word[0] &= ~(0xffull << CAY_VCI_ROUTING_LENGTH_SHIFT);
	v->word[0] |= length << CAY_VCI_ROUTING_LENGTH_SHIFT;
}

static void cause_route(struct scene *s)
{
	struct cay_vci v = good_put(s);
	set_route(&v, 77);
	ends_in(s, &v, CAY_ERROR_ROUTE);
	v = good_put(s);
	set_route_length(&v, 0);
	ends_in(s, &v, CAY_ERROR_ROUTE);
}

static void cause_origin_window(struct scene *s)
{
	static const uint64_t none[] = { 2, 63, 64, 65535, 65536, UINT64_MAX };
	for (unsigned i = 0; i < COUNT(none); i++) {
		struct cay_vci v = good_put(s);
		v.word[CAY_VCI_WORD_ORIGIN] = none[i];
		ends_in(s, &v, CAY_ERROR_ORIGIN_WINDOW);
	}
}

static void cause_origin_bounds(struct scene *s)
{
	static const uint64_t outside[][2] = { { BYTES, 1 }, { 0, BYTES + 1 },
		{ UINT64_MAX, 1 }, { UINT64_MAX - 7, 8 }, { 8, UINT64_MAX },
		{ UINT64_MAX, UINT64_MAX }, { BYTES + 1, 0 } };
	for (unsigned i = 0; i < COUNT(outside); i++) {
		struct cay_vci v = good_put(s);
		v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = outside[i][0];
		v.word[CAY_VCI_WORD_BYTES] = outside[i][1];
		ends_in(s, &v, CAY_ERROR_ORIGIN_BOUNDS);
	}
	struct cay_vci v = vci_send(s->peer, 0, 0, 1, UINT64_MAX, 8);
	ends_in(s, &v, CAY_ERROR_ORIGIN_BOUNDS);
}

static void cause_target_vpid(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_TARGET] ^= 1;
	ends_in(s, &v, CAY_ERROR_TARGET_VPID);
}

static void cause_target_window(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_WINDOW] |= 0xffff;
	ends_in(s, &v, CAY_ERROR_TARGET_WINDOW);
}

static void cause_capability(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_WINDOW] ^= 1ull << 63;
	ends_in(s, &v, CAY_ERROR_CAPABILITY);
}

static void cause_target_bounds(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_OFFSET] = UINT64_MAX - 63;
	ends_in(s, &v, CAY_ERROR_TARGET_BOUNDS);
}

static void cause_target_offset(struct scene *s)
{
	static const unsigned commands[] = { CAY_FAA, CAY_CAS,
		CAY_MISALIGNED_PUT };
	for (unsigned i = 0; i < COUNT(commands); i++) {
		struct cay_vci v = vci_operands(
			s->peer, commands[i], 0, i, s->key[PLAIN], 12, 1, 1);
		ends_in(s, &v, CAY_ERROR_TARGET_OFFSET_ALIGN);
	}
}

static void cause_unreachable(struct scene *s)
{
	struct cay_vci v = good_put(s);
	set_route_length(&v, 2);
	ends_in(s, &v, CAY_ERROR_UNREACHABLE);
	/* A route of one step is valid. */
	v = vci_fast(s->peer, 0, 0, 5, 8);
	set_route_length(&v, 1);
	vci_issue(s->origin, &v);
	assert_int_equal(nqe_tag(nqe_next(s->target)), 5);
	nqe_done(s->target);
}

static void posted_refused(struct scene *s, uint64_t offset, uint64_t length,
	uint64_t flags, unsigned reason)
{
	uint32_t entries;
	struct cay_posted_receive *posted = cay_posted(s->origin, &entries);
	posted[0].offset = offset;
	posted[0].length = length;
	posted[0].flags = flags;
	struct cay_answer answer = cay_trigger(s->origin, CAY_ISSUE_POSTED, 1);
	assert_int_equal(answer.accepted, 0);
	assert_int_equal(answer.reason, reason);
	assert_int_equal(answer.free, entries);
}

static void cause_posted_physical(struct scene *s)
{
	posted_refused(s, 1ull << 30, 64, CAY_POSTED_PHYSICAL,
		CAY_ERROR_POSTED_PHYSICAL);
}

static void cause_posted_address(struct scene *s)
{
	posted_refused(s, 0, 64, 0, CAY_ERROR_POSTED_ADDRESS);
	posted_refused(s, UINT64_MAX, 64, 0, CAY_ERROR_POSTED_ADDRESS);
	posted_refused(s, 1ull << 30, UINT64_MAX, 0, CAY_ERROR_POSTED_ADDRESS);
	posted_refused(s, 1ull << 30, 0, 0, CAY_ERROR_POSTED_ADDRESS);
	posted_refused(s, 1ull << 30, 64, 2, CAY_ERROR_POSTED_ADDRESS);
}

static void cause_truncated(struct scene *s)
{
	unsigned char *buffer = cay_alloc(s->third, 64, 0);
	struct cay_port *third = s->third;
	struct cay_peer *peer = open_peer(s->origin, third);
	struct cay_event e;
	assert_int_equal(cay_receive_post(third, buffer, 50, 77), 0);
	assert_int_equal(cay_send(s->origin, peer, 1, s->memory, 51, 0), 0);
	next_event(third, &e);
	assert_int_equal(e.kind, CAY_EVENT_POSTED);
	assert_int_equal(e.error, CAY_ERROR_POSTED_TRUNCATED);
	assert_int_equal(e.result, 77);
	assert_int_equal(e.length, 50);
	assert_int_equal(e.previous, 51);
	cay_release(third, &e);
	cay_peer_release(peer);
	cay_free(third, buffer);
}

static void cause_origin_locked(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_ORIGIN] = s->own_key[LOCKED].window;
	ends_in(s, &v, CAY_ERROR_ORIGIN_LOCKED);
	v.word[0] = (v.word[0] & ~0xffull) | CAY_GET;
	ends_in(s, &v, CAY_ERROR_ORIGIN_LOCKED);
}

static void cause_target_locked(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_WINDOW] = s->key[LOCKED].window |
				      s->key[LOCKED].capability << 16;
	ends_in(s, &v, CAY_ERROR_TARGET_LOCKED);
}

static void cause_rights(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_WINDOW] = s->key[READ_ONLY].window |
				      s->key[READ_ONLY].capability << 16;
	ends_in(s, &v, CAY_ERROR_RIGHTS);
}

static void cause_gone(struct scene *s)
{
	struct cay_port *mortal = open_port(NULL);
	struct cay_peer *peer = open_peer(s->origin, mortal);
	struct cay_vci v = vci_fast(peer, 0, 0, 3, 8);
	close_port(mortal);
	assert_int_equal(nqe_command(nqe_next(s->origin)), CAY_NOTIFY_GONE);
	nqe_done(s->origin);
	ends_in(s, &v, CAY_ERROR_GONE);
	v = vci_operands(peer, CAY_FAA, 0, 4, s->key[PLAIN], 0, 1, 0);
	ends_in(s, &v, CAY_ERROR_GONE);
	cay_peer_release(peer);
}

/* An emulated access to an owner that does not poll. */
static void cause_timeout(struct scene *s)
{
	uint64_t word = 0;
	struct cay_key key;
	struct cay_window *w =
		open_window(s->target, &word, 8, RIGHTS_ACCESS, &key);
	struct cay_vci v = vci_operands(s->peer, CAY_FAA, 0, 9, key, 0, 1, 0);
	vci_issue(s->origin, &v);
	assert_int_equal(cay_cancel(s->origin, 9), 1);
	expect_cc(s->origin, 9, CAY_FAA, CAY_ERROR_TIMEOUT);
	expect_nothing(s->target);
	assert_int_equal(word, 0);
	close_window(w);
}

static void cause_realm(struct scene *s)
{
	struct cay_port_options o = { .realm = "elsewhere" };
	struct cay_port *other_realm = open_port(&o),
			*unrouted = open_port(NULL);
	struct cay_peer *peer = NULL;
	struct cay_vci v = good_put(s);
	assert_int_equal(
		cay_peer_resolve(unrouted, cay_port_addr(other_realm), &peer),
		-EACCES);
	set_route(&v, 0);
	vci_issue(unrouted, &v);
	expect_cc(unrouted, v.word[CAY_VCI_WORD_TAG], CAY_PUT, CAY_ERROR_REALM);
	close_port(unrouted);
	close_port(other_realm);
}

static void cause_no_resources(struct scene *s)
{
	struct cay_port *small = open_small(NULL, 16);
	struct cay_peer *peer = open_peer(s->origin, small);
	struct cay_answer answer;
	unsigned accepted = 0;
	do {
		struct cay_vci v = vci_fast(peer, 0, 0, accepted, 8);
		vci_post(s->origin, &v);
		answer = cay_trigger(s->origin, CAY_ISSUE_VCI, 1);
		accepted += answer.accepted;
	} while (answer.accepted);
	assert_int_equal(accepted, 11);
	assert_int_equal(answer.reason, CAY_ERROR_NO_RESOURCES);
	assert_true(answer.wait_ns > 0);
	/* The access in flight completes when its target is gone. */
	close_port(small);
	assert_int_equal(nqe_command(nqe_next(s->origin)), CAY_NOTIFY_GONE);
	nqe_done(s->origin);
	assert_int_equal(cay_trigger(s->origin, CAY_ISSUE_VCI, 1).accepted, 1);
	expect_cc(s->origin, accepted, CAY_FAST_SEND | 1, CAY_ERROR_GONE);
	cay_peer_release(peer);
}

/* A window on memory that its owner has unmapped. */
static void cause_memory(struct scene *s)
{
	void *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cay_key key;
	assert_true(memory != MAP_FAILED);
	struct cay_window *w =
		open_window(s->target, memory, 8192, RIGHTS_ACCESS, &key);
	munmap(memory, 8192);
	struct cay_vci v = vci_bulk(s->peer, CAY_PUT, 0, 7, key, 0,
		s->own_key[PLAIN].window, 0, 64);
	ends_in(s, &v, CAY_ERROR_MEMORY);
	v = vci_fast_access(s->peer, CAY_FAST_GET, 0, 8, key, 0, 8);
	ends_in(s, &v, CAY_ERROR_MEMORY);
	close_window(w);
}

/* ---- word mode ---- */

static void cause_origin_offset(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_ORIGIN_OFFSET] += 4;
	ends_in(s, &v, CAY_ERROR_ORIGIN_OFFSET_ALIGN);
	v = vci_send(s->peer, 0, 0, 1, 4, 64);
	ends_in(s, &v, CAY_ERROR_ORIGIN_OFFSET_ALIGN);
}

static void cause_origin_length(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_BYTES] = 63;
	ends_in(s, &v, CAY_ERROR_ORIGIN_LENGTH_ALIGN);
	v = vci_send(s->peer, 0, 0, 1, 8, 63);
	ends_in(s, &v, CAY_ERROR_ORIGIN_LENGTH_ALIGN);
}

static void cause_word_offset(struct scene *s)
{
	struct cay_vci v = good_put(s);
	v.word[CAY_VCI_WORD_OFFSET] = 4;
	ends_in(s, &v, CAY_ERROR_TARGET_OFFSET_ALIGN);
	v = vci_fast_access(s->peer, CAY_FAST_PUT, 0, 1, s->key[PLAIN], 4, 8);
	ends_in(s, &v, CAY_ERROR_TARGET_OFFSET_ALIGN);
}

static void cause_target_length(struct scene *s)
{
	struct cay_vci v = vci_fast_access(
		s->peer, CAY_FAST_PUT, 0, 1, s->key[PLAIN], 8, 7);
	ends_in(s, &v, CAY_ERROR_TARGET_LENGTH_ALIGN);
	v = vci_fast_access(s->peer, CAY_FAST_GET, 0, 2, s->key[PLAIN], 8, 17);
	ends_in(s, &v, CAY_ERROR_TARGET_LENGTH_ALIGN);
}

/* ---- the table ---- */

static const struct {
	enum cay_error code;
	bool words;
	void (*provoke)(struct scene *);
} codes[] = {
	{ CAY_ERROR_COMMAND, false, cause_command },
	{ CAY_ERROR_ORIGIN_VPID, false, cause_origin_vpid },
	{ CAY_ERROR_ROUTE, false, cause_route },
	{ CAY_ERROR_ORIGIN_WINDOW, false, cause_origin_window },
	{ CAY_ERROR_ORIGIN_BOUNDS, false, cause_origin_bounds },
	{ CAY_ERROR_ORIGIN_OFFSET_ALIGN, true, cause_origin_offset },
	{ CAY_ERROR_ORIGIN_LENGTH_ALIGN, true, cause_origin_length },
	{ CAY_ERROR_TARGET_VPID, false, cause_target_vpid },
	{ CAY_ERROR_TARGET_WINDOW, false, cause_target_window },
	{ CAY_ERROR_CAPABILITY, false, cause_capability },
	{ CAY_ERROR_TARGET_BOUNDS, false, cause_target_bounds },
	{ CAY_ERROR_TARGET_OFFSET_ALIGN, false, cause_target_offset },
	{ CAY_ERROR_TARGET_OFFSET_ALIGN, true, cause_word_offset },
	{ CAY_ERROR_TARGET_LENGTH_ALIGN, true, cause_target_length },
	{ CAY_ERROR_UNREACHABLE, false, cause_unreachable },
	{ CAY_ERROR_POSTED_PHYSICAL, false, cause_posted_physical },
	{ CAY_ERROR_POSTED_ADDRESS, false, cause_posted_address },
	{ CAY_ERROR_POSTED_TRUNCATED, false, cause_truncated },
	{ CAY_ERROR_ORIGIN_LOCKED, false, cause_origin_locked },
	{ CAY_ERROR_TARGET_LOCKED, false, cause_target_locked },
	{ CAY_ERROR_RIGHTS, false, cause_rights },
	{ CAY_ERROR_GONE, false, cause_gone },
	{ CAY_ERROR_TIMEOUT, false, cause_timeout },
	{ CAY_ERROR_REALM, false, cause_realm },
	{ CAY_ERROR_NO_RESOURCES, false, cause_no_resources },
	{ CAY_ERROR_MEMORY, false, cause_memory },
};

static void every_code(void **state)
{
	bool seen[CAY_ERROR_COUNT] = { [CAY_ERROR_NONE] = true };
	(void)state;
	for (unsigned i = 0; i < COUNT(codes); i++) {
		struct scene s =
			scene_open(codes[i].words ? CAY_PORT_WORD_MODE : 0);
		codes[i].provoke(&s);
		scene_close(&s);
		seen[codes[i].code] = true;
	}
	for (unsigned i = 0; i < CAY_ERROR_COUNT; i++)
		assert_true(seen[i]);
}

/* Without word mode, any offset and length is valid. */
static void word_mode_is_optional(void **state)
{
	struct scene s = scene_open(0);
	(void)state;
	content_fill(s.local + 3, 61, 1);
	struct cay_vci v = vci_bulk(s.peer, CAY_PUT, CAY_VCI_NOTIFY, 1,
		s.key[PLAIN], 0, s.own_key[PLAIN].window, 3, 61);
	ends_in(&s, &v, 0);
	v = vci_fast_access(s.peer, CAY_FAST_GET, 0, 2, s.key[PLAIN], 5, 7);
	ends_in(&s, &v, 0);
	scene_close(&s);
}

/* ---- two faults ---- */

enum fault {
	FAULT_COMMAND,
	FAULT_ROUTE,
	FAULT_ORIGIN_WINDOW,
	FAULT_ORIGIN_LOCK,
	FAULT_ORIGIN_BOUNDS,
	FAULT_ORIGIN_OFFSET, /* word mode */
	FAULT_VPID,
	FAULT_WINDOW,
	FAULT_CAPABILITY,
	FAULT_RIGHTS,
	FAULT_LOCK,
	FAULT_BOUNDS,
	FAULT_OFFSET, /* word mode */
	FAULTS,
};

static const enum cay_error fault_code[FAULTS] = {
	[FAULT_COMMAND] = CAY_ERROR_COMMAND,
	[FAULT_ROUTE] = CAY_ERROR_ROUTE,
	[FAULT_ORIGIN_WINDOW] = CAY_ERROR_ORIGIN_WINDOW,
	[FAULT_ORIGIN_LOCK] = CAY_ERROR_ORIGIN_LOCKED,
	[FAULT_ORIGIN_BOUNDS] = CAY_ERROR_ORIGIN_BOUNDS,
	[FAULT_ORIGIN_OFFSET] = CAY_ERROR_ORIGIN_OFFSET_ALIGN,
	[FAULT_VPID] = CAY_ERROR_TARGET_VPID,
	[FAULT_WINDOW] = CAY_ERROR_TARGET_WINDOW,
	[FAULT_CAPABILITY] = CAY_ERROR_CAPABILITY,
	[FAULT_RIGHTS] = CAY_ERROR_RIGHTS,
	[FAULT_LOCK] = CAY_ERROR_TARGET_LOCKED,
	[FAULT_BOUNDS] = CAY_ERROR_TARGET_BOUNDS,
	[FAULT_OFFSET] = CAY_ERROR_TARGET_OFFSET_ALIGN,
};

static bool has(unsigned faults, enum fault f)
{
	return faults >> f & 1;
}

static void fault_origin(
	const struct scene *s, struct cay_vci *v, unsigned faults)
{
	unsigned which = has(faults, FAULT_ORIGIN_LOCK) ? LOCKED : PLAIN;
	v->word[CAY_VCI_WORD_ORIGIN] = s->own_key[which].window;
	if (has(faults, FAULT_ORIGIN_WINDOW))
		v->word[CAY_VCI_WORD_ORIGIN] = 60;
	v->word[CAY_VCI_WORD_ORIGIN_OFFSET] =
		(has(faults, FAULT_ORIGIN_BOUNDS) ? 2 * BYTES : 16) +
		(has(faults, FAULT_ORIGIN_OFFSET) ? 4 : 0);
}

static void fault_target(
	const struct scene *s, struct cay_vci *v, unsigned faults)
{
	unsigned which = (has(faults, FAULT_LOCK) ? LOCKED : 0) |
			 (has(faults, FAULT_RIGHTS) ? READ_ONLY : 0);
	struct cay_key key = s->key[which];
	if (has(faults, FAULT_CAPABILITY))
		key.capability ^= 1;
	if (has(faults, FAULT_WINDOW))
		key.window = 60;
	v->word[CAY_VCI_WORD_WINDOW] = key.window | key.capability << 16;
	v->word[CAY_VCI_WORD_OFFSET] =
		(has(faults, FAULT_BOUNDS) ? 2 * BYTES : 16) +
		(has(faults, FAULT_OFFSET) ? 4 : 0);
}

static void try_faults(struct scene *s, unsigned faults)
{
	struct cay_vci v = good_put(s);
	fault_origin(s, &v, faults);
	fault_target(s, &v, faults);
	if (has(faults, FAULT_VPID))
		v.word[CAY_VCI_WORD_TARGET] ^= 1;
	if (has(faults, FAULT_ROUTE))
		set_route(&v, 77);
	if (has(faults, FAULT_COMMAND))
		v.word[0] |= 1ull << 31;
	ends_in(s, &v, fault_code[__builtin_ctz(faults)]);
}

/* All pairs of faults, and all faults from each one on. */
static void first_fault_sets_the_code(void **state)
{
	struct scene s = scene_open(CAY_PORT_WORD_MODE);
	(void)state;
	for (unsigned i = 0; i < FAULTS; i++) {
		for (unsigned j = 0; j < FAULTS; j++)
			try_faults(&s, 1u << i | 1u << j);
		try_faults(&s, (1u << FAULTS) - (1u << i));
	}
	scene_close(&s);
}

/* Atomics: bounds before alignment, and rights before both. */
static void order_of_atomics(void **state)
{
	struct scene s = scene_open(0);
	(void)state;
	struct cay_vci v = vci_operands(
		s.peer, CAY_FAA, 0, 1, s.key[PLAIN], BYTES + 4, 1, 0);
	ends_in(&s, &v, CAY_ERROR_TARGET_BOUNDS);
	v = vci_operands(s.peer, CAY_FAA, 0, 2, s.key[PLAIN], BYTES - 4, 1, 0);
	ends_in(&s, &v, CAY_ERROR_TARGET_BOUNDS);
	v = vci_operands(s.peer, CAY_FAA, 0, 3, s.key[PLAIN], 4, 1, 0);
	ends_in(&s, &v, CAY_ERROR_TARGET_OFFSET_ALIGN);
	v = vci_operands(s.peer, CAY_CAS, 0, 4, s.key[READ_ONLY | LOCKED],
		UINT64_MAX, 1, 0);
	ends_in(&s, &v, CAY_ERROR_RIGHTS);
	v = vci_operands(
		s.peer, CAY_CAS, 0, 5, s.key[LOCKED], UINT64_MAX, 1, 0);
	ends_in(&s, &v, CAY_ERROR_TARGET_LOCKED);
	scene_close(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_code),
		TEST(word_mode_is_optional),
		TEST(first_fault_sets_the_code),
		TEST(order_of_atomics),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
