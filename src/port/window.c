/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: see cay_window(3). Set-up path, any thread. The descriptor is in
 * the arena, where peers read it; what we believe ourselves is private.
 *
 * Opening	fields, then rights (release): whoever reads rights reads them.
 * Closing	rights 0; then the node issues a membarrier and looks whether
 *		any op record names the window. Whoever named it before has
 *		either gone or is waited for; whoever does it later finds
 *		rights 0. models/window.pml.
 */
#include "port/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/cookie.h"
#include "port/lock.h"
#include "port/memory.h"
#include "port/posted.h"

#define RIGHTS_ALL                                             \
	(CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC | \
		CAY_RIGHT_NOTIFY_ACCESS | CAY_RIGHT_NOTIFY_REFUSAL)
#define RIGHTS_ACCESS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

#define QUIET_NAP_NS (20 * CLOCK_NS_PER_US)

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

/* Both tables, once; under the lock. */
static int windows_table(struct cay_port *port)
{
	struct origin *o = &port->origin;
	if (port->windows)
		return 0;
	struct cay_window **handles = calloc(o->window_count, sizeof(*handles));
	struct origin_window *places = calloc(o->window_count, sizeof(*places));
	if (!handles || !places) {
		free(handles);
		free(places);
		return -ENOMEM;
	}
	port->windows = handles;
	o->windows = places;
	return 0;
}

/* Under the lock. */
static int window_id(const struct cay_port *port)
{
	for (uint32_t i = 0; i < port->origin.window_count; i++)
		if (!port->windows[i])
			return (int)i;
	return -ENOSPC;
}

static bool windows_overlap(
	const struct cay_window *w, const void *memory, uint64_t bytes)
{
	uintptr_t a = (uintptr_t)w->base, b = (uintptr_t)memory;
	return a < b + bytes && b < a + w->length;
}

/* Under the lock. */
static bool window_beside(const struct cay_window *w, uint32_t i)
{
	const struct cay_window *other = w->port->windows[i];
	return other && other != w && !other->closing &&
	       windows_overlap(other, w->base, w->length);
}

static _Atomic uint16_t *descriptor_next(struct cay_window_descriptor *d)
{
	return (_Atomic uint16_t *)&d->next;
}

/* Notes who is in the ring of that one. No index is believed. */
static void ring_note(
	const struct cay_window *w, uint32_t at, unsigned char *joined)
{
	const struct origin *o = &w->port->origin;
	while (at < o->window_count && !joined[at]) {
		joined[at] = 1;
		at = o->wdt[at].next;
	}
}

/*
 * Makes one ring of two. The node goes round by `next`: who is alone is in the
 * other's ring with the last store.
 */
static void rings_join(struct cay_window *w, uint32_t i)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	uint32_t count = w->port->origin.window_count;
	uint16_t behind = table[i].next, behind_us = table[w->id].next;
	if (behind < count)
		table[behind].previous = w->id;
	if (behind_us < count)
		table[behind_us].previous = (uint16_t)i;
	atomic_store_explicit(
		descriptor_next(&table[w->id]), behind, memory_order_seq_cst);
	atomic_store_explicit(
		descriptor_next(&table[i]), behind_us, memory_order_seq_cst);
}

/* The lock of whichever window beside it is locked. */
static uint64_t window_lock_beside(const struct cay_window *w)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	uint64_t lock = 0;
	for (uint32_t i = 0; !lock && i < w->port->origin.window_count; i++)
		if (window_beside(w, i))
			lock = atomic_load_explicit(
				descriptor_word(&table[i].lock),
				memory_order_seq_cst);
	return lock;
}

/*
 * Locked memory is locked through a new window too. The node may be taking or
 * freeing that lock: either we read it here, or it finds us in the ring. See
 * window_ring_store() in node/window.c.
 */
static void window_inherit(struct cay_window *w)
{
	uint64_t lock;
	do {
		lock = window_lock_beside(w);
		atomic_store_explicit(descriptor_word(&descriptor(w)->lock),
			lock, memory_order_seq_cst);
	} while (window_lock_beside(w) != lock);
}

/* Under the lock: joins the rings of all windows on the same memory. */
static int window_link(struct cay_window *w)
{
	uint32_t count = w->port->origin.window_count;
	unsigned char *joined = calloc(count, 1);
	if (!joined)
		return -ENOMEM;
	descriptor(w)->previous = descriptor(w)->next = w->id;
	joined[w->id] = 1;
	for (uint32_t i = 0; i < count; i++)
		if (!joined[i] && window_beside(w, i)) {
			ring_note(w, i, joined);
			rings_join(w, i);
		}
	free(joined);
	window_inherit(w);
	return 0;
}

/* Under the lock. */
static void window_unlink(struct cay_window *w)
{
	struct cay_window_descriptor *table = w->port->origin.wdt;
	struct cay_window_descriptor *d = descriptor(w);
	uint32_t count = w->port->origin.window_count;
	/* Ours to write, but others can: no index is believed. */
	if (d->previous < count)
		atomic_store_explicit(descriptor_next(&table[d->previous]),
			d->next, memory_order_release);
	if (d->next < count)
		table[d->next].previous = d->previous;
}

static int capability_make(uint64_t *capability)
{
	if (getrandom(capability, sizeof(*capability), GRND_NONBLOCK) !=
		sizeof(*capability))
		return -EAGAIN;
	*capability &= CAY_CAPABILITY_MASK;
	return 0;
}

/* The next generation of the descriptor, with this capability. */
static uint64_t capability_word(
	const struct cay_window_descriptor *d, uint64_t capability)
{
	uint64_t generation = (d->capability >> 48) + 1;
	return capability | generation << 48;
}

/*
 * Relaxed, all of them: nobody reads them before rights is published, and
 * whoever read them in the descriptor's last use has gone.
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

/* Where it lies: in the arena, or in this process. */
static void descriptor_place(
	struct cay_window_descriptor *d, const struct cay_window *w)
{
	uint64_t start;
	uint32_t pid = 0;
	if (!memory_mapped(w->port->member, w->base, w->length, &start)) {
		const uint64_t *cookie = cookie_of_process();
		start = (uint64_t)(uintptr_t)w->base;
		pid = (uint32_t)getpid();
		descriptor_set32(&d->cookie, (uint32_t)*cookie);
		descriptor_set(&d->cookie_address, (uint64_t)(uintptr_t)cookie);
	}
	descriptor_set(&d->start, start);
	descriptor_set(&d->length, w->length);
	descriptor_set32(&d->pid, pid);
}

/* W1: release pairs with the acquire load of rights in device/window.c. */
static void window_publish(struct cay_window *w, uint64_t capability)
{
	struct cay_window_descriptor *d = descriptor(w);
	struct origin_window *place = &w->port->origin.windows[w->id];
	descriptor_place(d, w);
	descriptor_set32(&d->refusals, 0);
	descriptor_set32(&d->notified, 0);
	w->refusals = 0;
	place->base = w->base;
	place->length = w->length;
	descriptor_set(&d->capability, capability_word(d, capability));
	atomic_store_explicit(
		descriptor_rights(d), w->rights, memory_order_release);
}

static int window_enter(struct cay_window *w, uint64_t capability)
{
	struct cay_port *port = w->port;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	int r = windows_table(port);
	if (r == 0)
		r = window_id(port);
	if (r >= 0) {
		w->id = (uint16_t)r;
		r = window_link(w);
	}
	if (r == 0) {
		port->windows[w->id] = w;
		window_publish(w, capability);
	}
	lock_drop(&port->lock, &guard);
	return r;
}

static int window_arguments(const void *memory, size_t bytes, unsigned rights)
{
	if (!memory)
		return -EFAULT;
	if (bytes == 0 || (uintptr_t)memory + bytes < (uintptr_t)memory ||
		rights & ~(unsigned)RIGHTS_ALL || !(rights & RIGHTS_ACCESS))
		return -EINVAL;
	return 0;
}

int cay_window_open(struct cay_port *port, void *memory, size_t bytes,
	unsigned rights, struct cay_window **out)
{
	uint64_t capability = 0;
	if (!port_here(port))
		return port_absent(port);
	int r = window_arguments(memory, bytes, rights);
	if (r == 0)
		r = capability_make(&capability);
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

int cay_window_key(const struct cay_window *w, struct cay_key *key)
{
	if (!port_here(w->port))
		return port_absent(w->port);
	uint64_t capability = atomic_load_explicit(
		descriptor_word(&descriptor(w)->capability),
		memory_order_relaxed);
	*key = (struct cay_key){ .capability = capability & CAY_CAPABILITY_MASK,
		.window = w->id };
	return 0;
}

int window_wait_quiet(struct cay_port *port, uint32_t window)
{
	struct node_request request = { .kind = NODE_QUIESCE };
	struct node_reply reply;
	uint64_t deadline = clock_after_ns(MEMBER_PATIENCE_NS);
	request.quiesce.vpid = port->origin.vpid;
	request.quiesce.window = window;
	for (uint64_t nap = QUIET_NAP_NS;;
		nap = bits_min(2 * nap, CLOCK_NS_PER_MS)) {
		int r = control_call(port->member, &request, -1, &reply, NULL);
		if (r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(nap);
	}
}

int cay_window_revoke(struct cay_window *w, struct cay_key *key)
{
	struct cay_window_descriptor *d = descriptor(w);
	uint64_t capability;
	if (!port_here(w->port))
		return port_absent(w->port);
	int r = capability_make(&capability);
	if (r)
		return r;
	atomic_store_explicit(descriptor_word(&d->capability),
		capability_word(d, capability), memory_order_release);
	cay_window_key(w, key);
	return window_wait_quiet(w->port, w->id + 1u);
}

/* Under the lock: nothing of it is left but the handle. */
static void window_forget(struct cay_window *w)
{
	struct cay_port *port = w->port;
	window_unlink(w);
	port->windows[w->id] = NULL;
	port->origin.windows[w->id] = (struct origin_window){ 0 };
}

int cay_window_close(struct cay_window *w)
{
	struct cay_port *port = w->port;
	struct lock_guard guard;
	if (!port_here(port) && port_absent(port) == -ECHILD)
		return -ECHILD;
	lock_take(&port->lock, &guard);
	atomic_store_explicit(
		descriptor_rights(descriptor(w)), 0, memory_order_release);
	w->closing = true;
	lock_drop(&port->lock, &guard);
	int r = window_wait_quiet(port, w->id + 1u);
	if (r == -ETIMEDOUT)
		return r;
	lock_take(&port->lock, &guard);
	window_forget(w);
	lock_drop(&port->lock, &guard);
	free(w);
	return r;
}

/* One that lies on this memory, or NULL. */
static struct cay_window *window_on(
	struct cay_port *port, const void *memory, uint64_t bytes)
{
	struct cay_window *found = NULL;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0;
		port->windows && !found && i < port->origin.window_count; i++)
		if (port->windows[i] && !port->windows[i]->closing &&
			windows_overlap(port->windows[i], memory, bytes))
			found = port->windows[i];
	lock_drop(&port->lock, &guard);
	return found;
}

int windows_close_on(struct cay_port *port, const void *memory, uint64_t bytes)
{
	struct cay_window *w;
	int r = 0;
	while (bytes && r == 0 && (w = window_on(port, memory, bytes)))
		r = cay_window_close(w);
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
		/* Whoever is refused from here on tells of it again. */
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
