/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching: see match.h; the hash tables are in match_table.h. */
#include "provider/message/match.h"

#include <stdlib.h>

#include "provider/message/match_table.h"

/* Receives and messages that are searched linearly, without a table. */
#define MATCH_LINEAR 4

#ifdef MATCH_COUNT_STEPS
unsigned long match_steps;
#endif

struct match_class {
	uint64_t mask;	  /* of the tag bits that are compared */
	bool directed;	  /* the source is compared */
	uint64_t indexed; /* sequence number of the last message indexed */
	struct match_table receives, messages;
};

/* A message in the table of a class. */
struct match_entry {
	struct match_node node;
	struct match_class *class;
	struct unexpected *message;
	struct match_entry *next; /* of the same message */
};

/* ---- classes ---- */

/* Finds or makes a class; NULL beyond the maximum. Returns 0 or -FI_ENOMEM. */
static int class_get(struct matcher *m, fi_addr_t source, uint64_t ignore,
	struct match_class **class)
{
	bool directed = source != FI_ADDR_UNSPEC;
	for (unsigned i = 0; i < m->class_count; i++) {
		*class = m->classes[i];
		if ((*class)->mask == ~ignore && (*class)->directed == directed)
			return 0;
	}
	*class = NULL;
	if (m->class_count == MATCH_CLASSES_MAX)
		return 0;
	size_t bytes = (m->class_count + 1) * sizeof(*m->classes);
	struct match_class **classes = realloc(m->classes, bytes);
	if (!classes)
		return -FI_ENOMEM;
	m->classes = classes;
	struct match_class *c = malloc(sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->mask = ~ignore;
	c->directed = directed;
	c->indexed = 0;
	table_init(&c->receives);
	table_init(&c->messages);
	classes[m->class_count++] = *class = c;
	return 0;
}

/* The source of messages of unlisted peers matches no directed receive. */
_Static_assert(FI_ADDR_NOTAVAIL == FI_ADDR_UNSPEC, "one key for both");

static fi_addr_t class_source(const struct match_class *c, fi_addr_t source)
{
	return c->directed ? source : FI_ADDR_UNSPEC;
}

void matcher_init(struct matcher *m)
{
	*m = (struct matcher){ 0 };
	list_init(&m->receives);
	list_init(&m->messages);
	list_init(&m->overflow);
}

void matcher_free(struct matcher *m)
{
	for (unsigned i = 0; i < m->class_count; i++) {
		table_free(&m->classes[i]->receives);
		table_free(&m->classes[i]->messages);
		free(m->classes[i]);
	}
	free(m->classes);
	matcher_init(m);
}

static bool matches(fi_addr_t source, uint64_t tag, uint64_t ignore,
	fi_addr_t from, uint64_t with)
{
	STEP();
	return ((tag ^ with) & ~ignore) == 0 &&
	       (source == FI_ADDR_UNSPEC || source == from);
}

/* ---- receives ---- */

static struct receive *receive_of(struct list *all)
{
	return list_of(all, struct receive, all);
}

/* Moves the oldest recent receive into the table of its class. */
static int receive_index(struct matcher *m)
{
	struct receive *r = receive_of(m->recent);
	int error = class_get(m, r->source, r->ignore, &r->class);
	if (unlikely(error))
		return error;
	m->recent = r->all.next;
	m->recent_count--;
	m->indexed_count++;
	r->indexed = true;
	if (unlikely(!r->class)) {
		list_append(&m->overflow, &r->node.same);
		return 0;
	}
	r->node.source = r->source;
	r->node.tag = r->tag & r->class->mask;
	table_add(&r->class->receives, &r->node);
	return 0;
}

static struct match_node *overflow_find(const struct matcher *m,
	fi_addr_t source, uint64_t tag, struct match_node *best)
{
	list_for_each (at, &m->overflow) {
		struct match_node *n = node_of_same(at);
		const struct receive *r = list_of(n, struct receive, node);
		if (best && best->sequence < n->sequence)
			return best;
		if (match(r, source, tag))
			return n;
	}
	return best;
}

static struct match_node *indexed_find(
	const struct matcher *m, fi_addr_t source, uint64_t tag)
{
	struct match_node *best = NULL;
	for (unsigned i = 0; i < m->class_count; i++) {
		const struct match_class *c = m->classes[i];
		if (c->receives.keys == 0)
			continue;
		struct match_node *n = table_find(
			&c->receives, class_source(c, source), tag & c->mask);
		if (n && (!best || n->sequence < best->sequence))
			best = n;
	}
	if (unlikely(!list_empty(&m->overflow)))
		best = overflow_find(m, source, tag, best);
	return best;
}

/* Searches a list from `at` on. */
static struct receive *linear_find(const struct matcher *m, struct list *at,
	fi_addr_t source, uint64_t tag)
{
	for (; at != &m->receives; at = at->next) {
		struct receive *r = receive_of(at);
		if (match(r, source, tag))
			return r;
	}
	return NULL;
}

/* Indexes all but the most recent receives. */
struct receive *matcher_find_younger(
	struct matcher *m, fi_addr_t source, uint64_t tag)
{
	while (m->recent_count > MATCH_LINEAR)
		if (unlikely(receive_index(m)))
			return linear_find(m, m->receives.next, source, tag);
	if (m->indexed_count) {
		struct match_node *n = indexed_find(m, source, tag);
		if (n)
			return list_of(n, struct receive, node);
	}
	/* The receives that are not indexed are more recent. */
	return m->recent_count ? linear_find(m, m->recent, source, tag) : NULL;
}

void matcher_unpost_indexed(struct matcher *m, struct receive *r)
{
	m->indexed_count--;
	if (r->class)
		table_remove(&r->class->receives, &r->node);
	else
		list_remove(&r->node.same);
}

/* ---- messages ---- */

static struct unexpected *message_of(struct list *all)
{
	return list_of(all, struct unexpected, all);
}

static size_t message_bytes(const struct unexpected *u)
{
	return u->rendezvous ? 0 : u->length;
}

void matcher_hold(struct matcher *m, struct unexpected *u)
{
	u->index = NULL;
	u->sequence = ++m->sequence;
	list_append(&m->messages, &u->all);
	m->held_count++;
	m->held_bytes += message_bytes(u);
}

/* Adds the messages that arrived since the last search of the class. */
static int class_index(struct matcher *m, struct match_class *c)
{
	struct list *at = &m->messages;
	while (at->previous != &m->messages &&
		message_of(at->previous)->sequence > c->indexed) {
		STEP();
		at = at->previous;
	}
	for (; at != &m->messages; at = at->next) {
		struct unexpected *u = message_of(at);
		struct match_entry *e = malloc(sizeof(*e));
		if (!e)
			return -FI_ENOMEM;
		e->class = c;
		e->message = u;
		e->next = u->index;
		u->index = e;
		e->node.source = class_source(c, u->source);
		e->node.tag = u->tag & c->mask;
		e->node.sequence = u->sequence;
		table_add(&c->messages, &e->node);
		c->indexed = u->sequence;
	}
	return 0;
}

/* Returns the oldest match among the first `count` messages. */
static struct unexpected *oldest_find(const struct matcher *m, fi_addr_t source,
	uint64_t tag, uint64_t ignore, size_t count)
{
	list_for_each (at, &m->messages) {
		struct unexpected *u = message_of(at);
		if (count-- == 0)
			return NULL;
		if (matches(source, tag, ignore, u->source, u->tag))
			return u;
	}
	return NULL;
}

int matcher_find_message(struct matcher *m, fi_addr_t source, uint64_t tag,
	uint64_t ignore, struct unexpected **message)
{
	struct match_class *c;
	*message = oldest_find(m, source, tag, ignore, MATCH_LINEAR);
	if (*message || m->held_count <= MATCH_LINEAR)
		return 0;
	int error = class_get(m, source, ignore, &c);
	if (error)
		return error;
	if (!c) {
		*message = oldest_find(m, source, tag, ignore, SIZE_MAX);
		return 0;
	}
	error = class_index(m, c);
	if (error)
		return error;
	struct match_node *n = table_find(&c->messages, source, tag & c->mask);
	if (n)
		*message = list_of(n, struct match_entry, node)->message;
	return 0;
}

void matcher_release(struct matcher *m, struct unexpected *u)
{
	struct match_entry *next;
	for (struct match_entry *e = u->index; e; e = next) {
		next = e->next;
		table_remove(&e->class->messages, &e->node);
		free(e);
	}
	u->index = NULL;
	list_remove(&u->all);
	m->held_count--;
	m->held_bytes -= message_bytes(u);
}

void matcher_set_source(
	struct matcher *m, const struct peer *peer, fi_addr_t source)
{
	/* Oldest first, so that each is appended behind the previous one. */
	list_for_each (at, &m->messages) {
		struct unexpected *u = message_of(at);
		if (u->from != peer || u->source == source)
			continue;
		u->source = source;
		for (struct match_entry *e = u->index; e; e = e->next) {
			if (!e->class->directed)
				continue;
			table_remove(&e->class->messages, &e->node);
			e->node.source = source;
			table_add(&e->class->messages, &e->node);
		}
	}
}
