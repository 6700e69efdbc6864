/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows; see cay_window(3). Set-up path, any thread. Peers read the
 * descriptor in the arena; this process relies on its private copy only.
 *
 * Opening	stores the fields, then rights with release: a peer that reads
 *		nonzero rights reads the fields.
 * Closing	stores rights 0; then the node issues a membarrier and scans the
 *		op records. An access named in a record before is waited for, a
 *		later one finds rights 0. models/window.pml.
 */
#include "port/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/allocation.h"
#include "port/lock.h"

#define RIGHTS_ALL                                             \
	(CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC | \
		CAY_RIGHT_NOTIFY_ACCESS | CAY_RIGHT_NOTIFY_REFUSAL)
#define RIGHTS_ACCESS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

#define QUIESCE_NAP_NS (20 * CLOCK_NS_PER_US)

static struct cay_window_descriptor *descriptor(const struct cay_window *w)
{
	return &w->port->origin.wdt[w->id];
}

static _Atomic uint32_t *descriptor_rights(struct cay_window_descriptor *d)
{
	return (_Atomic uint32_t *)&d->rights;
}

static _Atomic uint64_t *descriptor_word(uint64_t *word)
{
	return (_Atomic uint64_t *)word;
}

static bool windows_overlap(
	const struct cay_window *w, const void *memory, uint64_t bytes)
{
	uintptr_t a = (uintptr_t)w->base, b = (uintptr_t)memory;
	return a < b + bytes && b < a + w->length;
}

/* ---- ring of windows on the same memory, under the lock ---- */

/* Returns true if window i is open and overlaps w. */
static bool window_overlaps(const struct cay_window *w, uint32_t i)
{
	const struct cay_window *other = w->port->windows[i];
	return other && other != w && !other->closing &&
	       windows_overlap(other, w->base, w->length);
}

static _Atomic uint16_t *descriptor_next(struct cay_window_descriptor *d)
{
	return (_Atomic uint16_t *)&d->next;
}

/*
 * Joins the rings of w and of window i. The node follows `next`, so that w is
 * in the other ring after the last store. Indices are checked, since peers can
 * write them.
 */
static void rings_join(struct cay_window *w, uint32_t i)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	uint32_t count = w->port->origin.window_count;
	uint16_t after_i = table[i].next, after_w = table[w->id].next;
	if (after_i < count)
		table[after_i].previous = w->id;
	if (after_w < count)
		table[after_w].previous = (uint16_t)i;
	atomic_store_explicit(
		descriptor_next(&table[w->id]), after_i, memory_order_seq_cst);
	atomic_store_explicit(
		descriptor_next(&table[i]), after_w, memory_order_seq_cst);
}

/* Returns the lock word of an overlapping window that is locked, or 0. */
static uint64_t window_overlapping_lock(const struct cay_window *w)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	uint64_t lock = 0;
	for (uint32_t i = 0; !lock && i < w->port->origin.window_count; i++)
		if (window_overlaps(w, i))
			lock = atomic_load_explicit(
				descriptor_word(&table[i].lock),
				memory_order_seq_cst);
	return lock;
}

/*
 * Joins the rings of all windows on the same memory, and inherits their lock.
 */
static int window_link(struct cay_window *w)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	uint32_t count = w->port->origin.window_count;
	unsigned char *joined = calloc(count, 1);
	if (!joined)
		return -ENOMEM;
	descriptor(w)->previous = descriptor(w)->next = w->id;
	joined[w->id] = 1;
	for (uint32_t i = 0; i < count; i++)
		if (!joined[i] && window_overlaps(w, i)) {
			for (uint32_t at = i; at < count && !joined[at];
				at = table[at].next)
				joined[at] = 1;
			rings_join(w, i);
		}
	free(joined);
	/*
	 * The node may be changing that lock meanwhile: either this loop reads
	 * the new value, or the node finds this window in the ring. See
	 * window_ring_store() in node/window.c.
	 */
	uint64_t lock;
	do {
		lock = window_overlapping_lock(w);
		atomic_store_explicit(descriptor_word(&descriptor(w)->lock),
			lock, memory_order_seq_cst);
	} while (window_overlapping_lock(w) != lock);
	return 0;
}

/* ---- descriptor ---- */

static int capability_make(uint64_t *capability)
{
	if (getrandom(capability, sizeof(*capability), GRND_NONBLOCK) !=
		sizeof(*capability))
		return -EAGAIN;
	*capability &= CAY_CAPABILITY_MASK;
	return 0;
}

/* Returns the capability with the next generation of the descriptor. */
static uint64_t capability_word(
	const struct cay_window_descriptor *d, uint64_t capability)
{
	uint64_t generation = (d->capability >> 48) + 1;
	return capability | generation << 48;
}

/*
 * Relaxed: peers read the fields only after rights is published, and accesses
 * of the descriptor's previous use have ended.
 */
static void descriptor_set(uint64_t *word, uint64_t value)
{
	atomic_store_explicit(
		descriptor_word(word), value, memory_order_relaxed);
}

static void descriptor_set32(uint32_t *word, uint32_t value)
{
	atomic_store_explicit(
		(_Atomic uint32_t *)word, value, memory_order_relaxed);
}

/*
 * Under the lock. Returns 0 if the memory is in one block of cay_alloc(), or
 * ordinary memory; -EFAULT if it is other memory of the arena: its header,
 * queues, memory of another process, or two blocks. A window that contains the
 * whole mapping of the arena, as one on all memory of the process does, is one
 * on ordinary memory.
 */
static int window_memory_check(struct cay_window *w)
{
	const struct arena *a = &w->port->member->arena;
	uintptr_t from = (uintptr_t)w->base, end = from + w->length;
	uintptr_t arena = (uintptr_t)a->base, arena_end = arena + a->bytes;
	w->mapped = allocation_contains(
		w->port->member, w->base, w->length, &w->offset);
	bool apart = end <= arena || from >= arena_end;
	bool around = from < arena && end > arena_end;
	return w->mapped || apart || around ? 0 : -EFAULT;
}

/* W1: release pairs with the acquire load of rights in device/window.c. */
static void window_publish(struct cay_window *w, uint64_t capability)
{
	struct cay_window_descriptor *d = descriptor(w);
	struct origin_window *private = &w->port->origin.windows[w->id];
	uint64_t start = w->offset;
	uint32_t pid = 0;
	/* Memory outside of the arena is accessed by process and address. */
	if (!w->mapped) {
		const uint64_t *cookie = process_cookie();
		start = (uint64_t)(uintptr_t)w->base;
		pid = (uint32_t)getpid();
		descriptor_set32(&d->cookie, (uint32_t)*cookie);
		descriptor_set(&d->cookie_address, (uint64_t)(uintptr_t)cookie);
	}
	descriptor_set(&d->start, start);
	descriptor_set(&d->length, w->length);
	descriptor_set32(&d->pid, pid);
	descriptor_set32(&d->refusals, 0);
	descriptor_set32(&d->notified, 0);
	w->refusals = 0;
	private->base = w->base;
	private->length = w->length;
	descriptor_set(&d->capability, capability_word(d, capability));
	atomic_store_explicit(
		descriptor_rights(d), w->rights, memory_order_release);
}

/* ---- open, revoke, close ---- */

/* Gives the window a free Win-ID and publishes it. */
static int window_enter(struct cay_window *w, uint64_t capability)
{
	struct cay_port *port = w->port;
	struct origin *o = &port->origin;
	uint32_t id = 0;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	int r = window_memory_check(w);
	/* One table of handles and one of addresses, which the device uses. */
	if (r == 0 && !port->windows) {
		struct cay_window **handles =
			calloc(o->window_count, sizeof(*handles));
		struct origin_window *addresses =
			calloc(o->window_count, sizeof(*addresses));
		if (handles && addresses) {
			port->windows = handles;
			o->windows = addresses;
		} else {
			free(handles);
			free(addresses);
			r = -ENOMEM;
		}
	}
	while (r == 0 && id < o->window_count && port->windows[id])
		id++;
	if (r == 0 && id == o->window_count)
		r = -ENOSPC;
	if (r == 0) {
		w->id = (uint16_t)id;
		r = window_link(w);
	}
	if (r == 0) {
		port->windows[w->id] = w;
		window_publish(w, capability);
	}
	lock_drop(&port->lock, &guard);
	return r;
}

int cay_window_open(struct cay_port *port, void *memory, size_t bytes,
	unsigned rights, struct cay_window **out)
{
	uint64_t capability = 0;
	if (!port_usable(port))
		return port_error(port);
	if (!memory || !out)
		return -EFAULT;
	if (bytes == 0 || (uintptr_t)memory + bytes < (uintptr_t)memory ||
		rights & ~(unsigned)RIGHTS_ALL || !(rights & RIGHTS_ACCESS))
		return -EINVAL;
	int r = capability_make(&capability);
	if (r)
		return r;
	struct cay_window *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->port = port;
	w->base = memory;
	w->length = bytes;
	w->rights = rights;
	r = window_enter(w, capability);
	if (r) {
		free(w);
		return r;
	}
	*out = w;
	return 0;
}

/* Returns 0, or the error number of a call that stores the key of a window. */
static int window_check(const struct cay_window *w, const struct cay_key *key)
{
	if (!w)
		return -EINVAL;
	if (!port_valid(w->port))
		return port_error(w->port);
	return key ? 0 : -EFAULT;
}

int cay_window_key(const struct cay_window *w, struct cay_key *key)
{
	int r = window_check(w, key);
	if (r)
		return r;
	uint64_t capability = atomic_load_explicit(
		descriptor_word(&descriptor(w)->capability),
		memory_order_relaxed);
	*key = (struct cay_key){ .capability = capability & CAY_CAPABILITY_MASK,
		.window = w->id };
	return 0;
}

/* `mapped`: processes may keep the window mapped; else -EBUSY. */
static int quiesce(struct cay_port *port, uint32_t window, bool mapped)
{
	struct node_request request = { .kind = NODE_QUIESCE };
	struct node_reply reply;
	uint64_t deadline = clock_after_ns(MEMBER_TIMEOUT_NS);
	request.quiesce.vpid = port->origin.vpid;
	request.quiesce.window = window;
	request.quiesce.mapped = mapped;
	for (uint64_t nap = QUIESCE_NAP_NS;;
		nap = bits_min(2 * nap, CLOCK_NS_PER_MS)) {
		int r = control_call_until(
			port->member, &request, &reply, NULL, deadline);
		if (r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(nap);
	}
}

int port_quiesce(struct cay_port *port, uint32_t window)
{
	return quiesce(port, window, false);
}

int cay_window_revoke(struct cay_window *w, struct cay_key *key)
{
	uint64_t capability;
	int r = window_check(w, key);
	if (!r)
		r = capability_make(&capability);
	if (r)
		return r;
	struct cay_window_descriptor *d = descriptor(w);
	atomic_store_explicit(descriptor_word(&d->capability),
		capability_word(d, capability), memory_order_release);
	cay_window_key(w, key);
	return port_quiesce(w->port, w->id + 1u);
}

static int window_close(struct cay_window *w, bool mapped)
{
	if (!w)
		return 0;
	struct cay_port *port = w->port;
	struct cay_window_descriptor *d = descriptor(w);
	struct lock_guard guard;
	if (!port_valid(port) && port_error(port) == -ECHILD)
		return -ECHILD;
	lock_take(&port->lock, &guard);
	atomic_store_explicit(descriptor_rights(d), 0, memory_order_release);
	w->closing = true;
	lock_drop(&port->lock, &guard);
	int r = quiesce(port, w->id + 1u, mapped);
	if (r == -ETIMEDOUT || r == -EBUSY)
		return r;
	lock_take(&port->lock, &guard);
	/* Leave the ring. Peers can write the indices. */
	if (d->previous < port->origin.window_count)
		atomic_store_explicit(
			descriptor_next(&port->origin.wdt[d->previous]),
			d->next, memory_order_release);
	if (d->next < port->origin.window_count)
		port->origin.wdt[d->next].previous = d->previous;
	port->windows[w->id] = NULL;
	port->origin.windows[w->id] = (struct origin_window){ 0 };
	lock_drop(&port->lock, &guard);
	free(w);
	return r;
}

int cay_window_close(struct cay_window *w)
{
	return window_close(w, false);
}

int windows_close_on(struct cay_port *port, const void *memory, uint64_t bytes)
{
	struct cay_window *found;
	int r = 0;
	if (bytes == 0)
		return 0;
	do {
		struct lock_guard guard;
		found = NULL;
		lock_take(&port->lock, &guard);
		for (uint32_t i = 0; port->windows && !found &&
				     i < port->origin.window_count;
			i++) {
			struct cay_window *w = port->windows[i];
			if (w && !w->closing &&
				windows_overlap(w, memory, bytes))
				found = w;
		}
		lock_drop(&port->lock, &guard);
		if (found)
			r = window_close(found, true);
	} while (found && r == 0);
	return r;
}

void windows_free(struct cay_port *port)
{
	for (uint32_t i = 0; port->windows && i < port->origin.window_count;
		i++)
		free(port->windows[i]);
	free(port->windows);
	free(port->origin.windows);
}

uint64_t window_refusals(struct cay_port *port, uint32_t window)
{
	uint64_t count = 0;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	if (port->windows && window < port->origin.window_count &&
		port->windows[window]) {
		struct cay_window *w = port->windows[window];
		/* The next refusal sends a notification again. */
		descriptor_set32(&descriptor(w)->notified, 0);
		atomic_thread_fence(memory_order_seq_cst);
		uint32_t now = atomic_load_explicit(
			(_Atomic uint32_t *)&descriptor(w)->refusals,
			memory_order_relaxed);
		count = now - w->refusals;
		w->refusals = now;
	}
	lock_drop(&port->lock, &guard);
	return count;
}
