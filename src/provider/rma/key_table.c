/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See key_table.h. The shared format: a header, then slots, a hash table with
 * linear probing. A slot that was freed stays on the way to others unless it
 * is the last one of its run. Entries never move, so that a reader who goes
 * from slot to slot while the owner writes misses no key that was there before.
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
#include "provider/rma/atomic.h"

#define TABLE_MAGIC  0x7379656b2d796163ull /* "cay-keys" */
#define TABLE_FORMAT 1
#define TABLE_MAX    (1u << 20) /* slots that a peer may claim to have */
#define CARD_MASK    ((1ull << 48) - 1)
#define READ_TRIES   64 /* of a slot that its owner is writing */

struct table_header {
	uint64_t magic;
	uint32_t format;
	uint32_t slots; /* a power of two */
	uint64_t reserved[6];
};

enum slot_state {
	SLOT_EMPTY, /* ends a search */
	SLOT_FREE,  /* does not */
	SLOT_USED,
};

struct table_slot {
	_Atomic uint64_t version;
	_Atomic uint64_t state; /* enum slot_state */
	_Atomic uint64_t key, base, length;
	_Atomic uint64_t flags;	 /* enum key_flag */
	_Atomic uint64_t window; /* capability, Win-ID << 48 */
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
	struct cay_key key; /* of it */
};

/* ---- the owner ---- */

static int table_window(struct endpoint *ep, struct key_table *t, size_t bytes)
{
	int r = cay_window_open(
		ep->port, t->header, bytes, CAY_RIGHT_READ, &t->window);
	if (r)
		return provider_error(r);
	r = cay_window_key(t->window, &t->key);
	if (r == 0 && t->key.window == 0)
		return 0;
	cay_window_close(t->window);
	return -FI_EOTHER;
}

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
	r = table_window(ep, t, bytes);
	if (r)
		goto err_memory;
	*out = t;
	return 0;

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

uint64_t key_table_card(const struct key_table *t)
{
	return t->key.capability;
}

static void word_set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t word_get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
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

static void slot_write(struct table_slot *s, const struct key_entry *e)
{
	slot_begin(s);
	word_set(&s->key, e->key);
	word_set(&s->base, e->base);
	word_set(&s->length, e->length);
	word_set(&s->flags, e->flags);
	word_set(&s->window,
		e->window.capability | (uint64_t)e->window.window << 48);
	word_set(&s->state, SLOT_USED);
	slot_end(s);
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
	slot_write(table_slot(t, at), e);
	t->used++;
	return 0;
}

/* What nobody must pass any more ends searches again. */
static void table_shorten(struct key_table *t, uint64_t at)
{
	if (word_get(&table_slot(t, at + 1)->state) != SLOT_EMPTY)
		return;
	for (; word_get(&table_slot(t, at)->state) == SLOT_FREE; at--)
		slot_clear(table_slot(t, at), SLOT_EMPTY);
}

void key_table_remove(struct key_table *t, uint64_t key)
{
	uint64_t at = key_mix(key);
	for (uint64_t i = 0; i <= t->mask; i++, at++) {
		struct table_slot *s = table_slot(t, at);
		uint64_t state = word_get(&s->state);
		if (state == SLOT_EMPTY)
			return;
		if (state == SLOT_FREE || word_get(&s->key) != key)
			continue;
		slot_clear(s, SLOT_FREE);
		table_shorten(t, at);
		t->used--;
		return;
	}
}

/* ---- a peer ---- */

#define CACHE_SETS 16
#define CACHE_WAYS 4

struct cache_line {
	uint64_t slot;	  /* of the peer's table */
	uint64_t version; /* of that slot, as it was read; 0: nothing */
	struct key_entry entry;
};

struct key_cache {
	uint64_t card;	/* of the table that this is about */
	uint32_t slots; /* of it; 0: it is none */
	struct cache_line lines[CACHE_SETS][CACHE_WAYS];
	unsigned victim;
};

/*
 * The table is in memory that we read ourselves, whatever else is under way to
 * the peer: the bytes are there on return. What is refused leaves zeros, and an
 * event with tag 0 that nobody waits for.
 */
static int table_read(struct peer *p, uint64_t offset, void *to, size_t bytes)
{
	const struct cay_key key = { .capability = p->address.card };
	memset(to, 0, bytes);
	int r = cay_get(p->ep->port, p->port, key, offset, to, bytes, 0,
		CAY_FREE_ORDER);
	return r ? provider_error(r) : 0;
}

static uint64_t slot_offset(uint64_t slot)
{
	return sizeof(struct table_header) + slot * sizeof(struct table_slot);
}

/* -FI_EAGAIN: its owner is writing it. */
static int slot_try(struct peer *p, uint64_t slot, struct table_slot *out)
{
	uint64_t before = 0, after = 0;
	int r = table_read(p, slot_offset(slot), &before, sizeof(before));
	atomic_thread_fence(memory_order_acquire); /* K1 */
	if (r == 0)
		r = table_read(p, slot_offset(slot), out, sizeof(*out));
	atomic_thread_fence(memory_order_acquire); /* K1 */
	if (r == 0)
		r = table_read(p, slot_offset(slot), &after, sizeof(after));
	if (r)
		return r;
	word_set(&out->version, before);
	return before == after && before % 2 == 0 ? 0 : -FI_EAGAIN;
}

static int slot_read(struct peer *p, uint64_t slot, struct table_slot *out)
{
	int r = -FI_EAGAIN;
	for (int i = 0; r == -FI_EAGAIN && i < READ_TRIES; i++)
		r = slot_try(p, slot, out);
	return r;
}

/* Whoever guesses at cards is disabled by the device: ask once for each. */
static int cache_begin(struct peer *p, struct key_cache *c)
{
	struct table_header h;
	int r = table_read(p, 0, &h, sizeof(h));
	if (r)
		return r;
	bool good = h.magic == TABLE_MAGIC && h.format == TABLE_FORMAT &&
		    h.slots && h.slots <= TABLE_MAX &&
		    (h.slots & (h.slots - 1)) == 0;
	*c = (struct key_cache){ .card = p->address.card,
		.slots = good ? h.slots : 0 };
	return 0;
}

static int cache_of(struct peer *p, struct key_cache **out)
{
	if (unlikely(!p->address.card)) {
		int r = atomic_ask_card(p);
		return r ? r : -FI_EAGAIN;
	}
	if (unlikely(!p->keys)) {
		p->keys = calloc(1, sizeof(*p->keys));
		if (!p->keys)
			return -FI_ENOMEM;
	}
	*out = p->keys;
	if (likely(p->keys->card == p->address.card))
		return p->keys->slots ? 0 : -FI_EKEYREJECTED;
	int r = cache_begin(p, p->keys);
	return r || p->keys->slots ? r : -FI_EKEYREJECTED;
}

/* The line of that key, or one that may be overwritten. */
static struct cache_line *cache_line(struct key_cache *c, uint64_t key)
{
	struct cache_line *set = c->lines[key_mix(key) % CACHE_SETS];
	for (unsigned i = 0; i < CACHE_WAYS; i++)
		if (set[i].version && set[i].entry.key == key)
			return &set[i];
	return &set[c->victim++ % CACHE_WAYS];
}

static bool line_holds(
	struct peer *p, const struct cache_line *line, uint64_t key)
{
	uint64_t version;
	return line->version && line->entry.key == key &&
	       table_read(p, slot_offset(line->slot), &version,
		       sizeof(version)) == 0 &&
	       version == line->version;
}

static void line_fill(
	struct cache_line *line, uint64_t slot, const struct table_slot *s)
{
	uint64_t window = word_get(&s->window);
	*line = (struct cache_line){ .slot = slot,
		.version = word_get(&s->version),
		.entry = { .key = word_get(&s->key),
			.base = word_get(&s->base),
			.length = word_get(&s->length),
			.flags = word_get(&s->flags),
			.window = { .capability = window & CARD_MASK,
				.window = (uint32_t)(window >> 48) } } };
}

/* Searches the peer's table. */
static int line_read(
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
		line_fill(line, at & (slots - 1), &s);
		return 0;
	}
	return -FI_EKEYREJECTED;
}

int key_find(struct peer *p, uint64_t key, const struct key_entry **out)
{
	struct key_cache *c;
	int r = cache_of(p, &c);
	if (unlikely(r))
		return r;
	struct cache_line *line = cache_line(c, key);
	*out = &line->entry;
	if (likely(line_holds(p, line, key)))
		return 0;
	return line_read(p, key, c->slots, line);
}

void key_cache_free(struct peer *p)
{
	free(p->keys);
	p->keys = NULL;
}
