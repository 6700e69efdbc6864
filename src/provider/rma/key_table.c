/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See key_table.h. The shared format: a header, then slots, a hash table with
 * linear probing. A deleted slot remains as a tombstone unless it is the last
 * of its run. Entries never move, so a peer that reads slot by slot while the
 * owner writes misses no key that was there before.
 *
 * Each slot is a seqlock: its version is odd while the owner writes it, and
 * never the same for two contents. K1: the owner's release fence and store
 * pair with the acquire fences of slot_read() in a peer.
 */
#include "provider/rma/key_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

#define TABLE_MAGIC  0x7379656b2d796163ull /* "cay-keys" */
#define TABLE_FORMAT 1
#define TABLE_MAX    (1u << 20) /* slots in the table of a peer */
#define READ_TRIES   64		/* of a slot that its owner is writing */

struct table_header {
	uint64_t magic;
	uint32_t format;
	uint32_t slots; /* a power of two */
	uint64_t reserved[6];
};

enum slot_state {
	SLOT_EMPTY,   /* ends a search */
	SLOT_DELETED, /* a tombstone: does not */
	SLOT_USED,
};

struct table_slot {
	_Atomic uint64_t version;
	_Atomic uint64_t state; /* enum slot_state */
	_Atomic uint64_t key, base, length;
	_Atomic uint64_t flags;	 /* enum key_flag */
	_Atomic uint64_t window; /* wire_key() */
	uint64_t reserved;
};

_Static_assert(sizeof(struct table_header) == 64, "one line");
_Static_assert(sizeof(struct table_slot) == 64, "one line");

struct key_table {
	struct table_header *header; /* written once */
	struct table_slot *slots;    /* behind it */
	uint32_t mask;
	uint64_t used, limit;
	struct cay_window *window;
	struct cay_key key; /* of the window */
};

static void word_set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t word_get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* ---- owner ---- */

int key_table_open(struct endpoint *ep, struct key_table **out)
{
	uint32_t slots =
		2u << bits_log2_up(bits_min(settings.mr_count, TABLE_MAX / 2));
	size_t bytes = (1 + (size_t)slots) * sizeof(struct table_slot);
	struct key_table *t = calloc(1, sizeof(*t));
	if (!t)
		return -FI_ENOMEM;
	t->header = cay_alloc(ep->port, bytes, 0);
	int r = t->header ? 0 : provider_error(-errno);
	if (r)
		goto err_table;
	*t->header = (struct table_header){
		.magic = TABLE_MAGIC, .format = TABLE_FORMAT, .slots = slots
	};
	t->slots = (struct table_slot *)(void *)(t->header + 1);
	t->mask = slots - 1;
	t->limit = slots / 2;
	r = cay_window_open(
		ep->port, t->header, bytes, CAY_RIGHT_READ, &t->window);
	if (r) {
		r = provider_error(r);
		goto err_memory;
	}
	r = cay_window_key(t->window, &t->key);
	if (r || t->key.window != 0) {
		r = -FI_EOTHER;
		goto err_window;
	}
	*out = t;
	return 0;

err_window:
	cay_window_close(t->window);
err_memory:
	cay_free(ep->port, t->header);
err_table:
	free(t);
	return r;
}

void key_table_close(struct endpoint *ep, struct key_table *t)
{
	if (!t)
		return;
	cay_window_close(t->window);
	cay_free(ep->port, t->header);
	free(t);
}

uint64_t key_table_capability(const struct key_table *t)
{
	return t->key.capability;
}

static void slot_begin(struct table_slot *s)
{
	word_set(&s->version, word_get(&s->version) + 1);
	atomic_thread_fence(memory_order_release); /* K1 */
}

static void slot_end(struct table_slot *s)
{
	atomic_store_explicit(&s->version, word_get(&s->version) + 1,
		memory_order_release); /* K1 */
}

static void slot_clear(struct table_slot *s, enum slot_state state)
{
	slot_begin(s);
	word_set(&s->state, state);
	word_set(&s->window, 0);
	slot_end(s);
}

static struct table_slot *table_slot(struct key_table *t, uint64_t at)
{
	return &t->slots[at & t->mask];
}

int key_table_add(struct key_table *t, const struct key_entry *e)
{
	uint64_t at = key_mix(e->key);
	if (t->used == t->limit)
		return -FI_ENOSPC;
	while (word_get(&table_slot(t, at)->state) == SLOT_USED)
		at++;
	struct table_slot *s = table_slot(t, at);
	slot_begin(s);
	word_set(&s->key, e->key);
	word_set(&s->base, e->base);
	word_set(&s->length, e->length);
	word_set(&s->flags, e->flags);
	word_set(&s->window, wire_key(&e->window));
	word_set(&s->state, SLOT_USED);
	slot_end(s);
	t->used++;
	return 0;
}

/* Returns the position of a key, or UINT64_MAX. */
static uint64_t table_find(struct key_table *t, uint64_t key)
{
	uint64_t at = key_mix(key);
	for (uint64_t i = 0; i <= t->mask; i++, at++) {
		const struct table_slot *s = table_slot(t, at);
		uint64_t state = word_get(&s->state);
		if (state == SLOT_EMPTY)
			break;
		if (state == SLOT_USED && word_get(&s->key) == key)
			return at & t->mask;
	}
	return UINT64_MAX;
}

void key_table_remove(struct key_table *t, uint64_t key)
{
	uint64_t at = table_find(t, key);
	if (at == UINT64_MAX)
		return;
	slot_clear(table_slot(t, at), SLOT_DELETED);
	t->used--;
	/* Tombstones at the end of a run become empty. */
	if (word_get(&table_slot(t, at + 1)->state) != SLOT_EMPTY)
		return;
	for (; word_get(&table_slot(t, at)->state) == SLOT_DELETED; at--)
		slot_clear(table_slot(t, at), SLOT_EMPTY);
}

void key_table_flag(struct key_table *t, uint64_t key, uint64_t flags)
{
	uint64_t at = table_find(t, key);
	if (at == UINT64_MAX)
		return;
	struct table_slot *s = table_slot(t, at);
	slot_begin(s);
	word_set(&s->flags, word_get(&s->flags) | flags);
	slot_end(s);
}

/* ---- peer ---- */

#define CACHE_SETS 16
#define CACHE_WAYS 4

struct cache_line {
	uint64_t slot;	  /* of the peer's table */
	uint64_t version; /* of that slot; 0: the line is empty */
	struct key_entry entry;
};

struct key_cache {
	uint64_t capability; /* of the table that is cached */
	uint32_t slots;	     /* of it; 0: it is not valid */
	struct cache_line lines[CACHE_SETS][CACHE_WAYS];
	unsigned victim;
};

/*
 * Reads from the table of a peer. It is device memory, which this process reads
 * itself, so the data is there on return. A refused access leaves zeros, and an
 * event with tag 0, which is ignored.
 */
static int table_read(struct peer *p, uint64_t offset, void *to, size_t bytes)
{
	const struct cay_key key = { .capability = p->address.capability };
	memset(to, 0, bytes);
	int r = cay_get(p->ep->port, p->port, key, offset, to, bytes, 0,
		CAY_FREE_ORDER);
	return r ? provider_error(r) : 0;
}

static uint64_t slot_offset(uint64_t slot)
{
	return sizeof(struct table_header) + slot * sizeof(struct table_slot);
}

/* Reads a consistent slot. Returns -FI_EAGAIN if its owner keeps writing it. */
static int slot_read(struct peer *p, uint64_t slot, struct table_slot *out)
{
	uint64_t offset = slot_offset(slot);
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t before = 0, after = 0;
		int r = table_read(p, offset, &before, sizeof(before));
		atomic_thread_fence(memory_order_acquire); /* K1 */
		if (r == 0)
			r = table_read(p, offset, out, sizeof(*out));
		atomic_thread_fence(memory_order_acquire); /* K1 */
		if (r == 0)
			r = table_read(p, offset, &after, sizeof(after));
		if (r && r != -FI_EAGAIN)
			return r;
		word_set(&out->version, before);
		if (r == 0 && before == after && before % 2 == 0)
			return 0;
	}
	return -FI_EAGAIN;
}

/*
 * Asks a peer for the capability of its key table, unless a query is in flight:
 * an atomic read with the result in peer->address. Returns 0 or -fi_errno.
 */
static int key_table_query(struct peer *p)
{
	const struct wire_atomic q = { .key = KEY_TABLE_QUERY,
		.op = FI_ATOMIC_READ,
		.datatype = FI_UINT64,
		.fetches = true,
		.count = 1 };
	list_for_each (at, &p->ops) {
		const struct op *op = list_of(at, struct op, link);
		if (op->kind == OP_ATOMIC && op->atomic.result_count &&
			op->atomic.results[0].addr == &p->address.capability)
			return 0;
	}
	struct op *op = op_new(p->ep, p, OP_ATOMIC);
	if (!op)
		return -FI_ENOMEM;
	int r = cay_send_tagged(
		p->ep->port, p->port, op_id(op), WIRE_ATOMIC, &q, sizeof(q), 0);
	if (r) {
		op_drop(op);
		return provider_error(r);
	}
	op->atomic.by_target = true;
	op->atomic.length = sizeof(p->address.capability);
	op->atomic.result_count = 1;
	op->atomic.results[0] = (struct fi_ioc){ &p->address.capability,
		sizeof(p->address.capability) };
	p->atomics++;
	return 0;
}

/* Returns the cache of a peer's table, valid for its present capability. */
static int cache_get(struct peer *p, struct key_cache **out)
{
	struct table_header h;
	if (unlikely(!p->address.capability)) {
		int r = key_table_query(p);
		return r ? r : -FI_EAGAIN;
	}
	if (unlikely(!p->keys)) {
		p->keys = calloc(1, sizeof(*p->keys));
		if (!p->keys)
			return -FI_ENOMEM;
	}
	struct key_cache *c = *out = p->keys;
	if (unlikely(c->capability != p->address.capability)) {
		/*
		 * Once for each capability, also if it is wrong: the device
		 * disables a port that guesses.
		 */
		int r = table_read(p, 0, &h, sizeof(h));
		if (r)
			return r;
		bool valid = h.magic == TABLE_MAGIC &&
			     h.format == TABLE_FORMAT && h.slots &&
			     h.slots <= TABLE_MAX &&
			     (h.slots & (h.slots - 1)) == 0;
		*c = (struct key_cache){ .capability = p->address.capability,
			.slots = valid ? h.slots : 0 };
	}
	return c->slots ? 0 : -FI_EKEYREJECTED;
}

/* Returns the line of that key, or one that may be overwritten. */
static struct cache_line *cache_line(struct key_cache *c, uint64_t key)
{
	struct cache_line *set = c->lines[key_mix(key) % CACHE_SETS];
	for (unsigned i = 0; i < CACHE_WAYS; i++)
		if (set[i].version && set[i].entry.key == key)
			return &set[i];
	return &set[c->victim++ % CACHE_WAYS];
}

/* Searches the table of a peer and fills a cache line. */
static int line_fill(
	struct peer *p, uint64_t key, uint32_t slots, struct cache_line *line)
{
	uint64_t at = key_mix(key);
	struct table_slot s;
	line->version = 0;
	for (uint32_t i = 0; i < slots; i++, at++) {
		int r = slot_read(p, at & (slots - 1), &s);
		if (r)
			return r;
		if (word_get(&s.state) == SLOT_EMPTY)
			break;
		if (word_get(&s.state) != SLOT_USED || word_get(&s.key) != key)
			continue;
		*line = (struct cache_line){ .slot = at & (slots - 1),
			.version = word_get(&s.version),
			.entry = { .key = key,
				.base = word_get(&s.base),
				.length = word_get(&s.length),
				.flags = word_get(&s.flags),
				.window = wire_key_of(word_get(&s.window)) } };
		return 0;
	}
	return -FI_EKEYREJECTED;
}

int key_find(struct peer *p, uint64_t key, const struct key_entry **out)
{
	struct key_cache *c;
	uint64_t version;
	int r = cache_get(p, &c);
	if (unlikely(r))
		return r;
	struct cache_line *line = cache_line(c, key);
	*out = &line->entry;
	if (likely(line->version && line->entry.key == key &&
		    table_read(p, slot_offset(line->slot), &version,
			    sizeof(version)) == 0 &&
		    version == line->version))
		return 0;
	return line_fill(p, key, c->slots, line);
}

void key_cache_free(struct peer *p)
{
	free(p->keys);
	p->keys = NULL;
}
