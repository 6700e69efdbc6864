/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See match.h; the tables are in match_table.h. Called with the domain's guard
 * held.
 */
#include "provider/message/match.h"

#include <stdlib.h>

#include "provider/message/match_table.h"

/* Receives and messages that are compared one by one, without a table. */
#define MATCH_FEW 4

#ifdef MATCH_COUNT_STEPS
unsigned long match_steps;
#endif

struct match_class {
	uint64_t look; /* the bits of a tag that count */
	bool directed;
	uint64_t indexed; /* messages up to this sequence are in the table */
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

static struct match_class *class_find(
	const struct matcher *m, uint64_t look, bool directed)
{
	for (unsigned i = 0; i < m->class_count; i++) {
		struct match_class *c = m->classes[i];
		if (c->look == look && c->directed == directed)
			return c;
	}
	return NULL;
}

static int class_new(struct matcher *m, uint64_t look, bool directed,
	struct match_class **class)
{
	size_t bytes = (m->class_count + 1) * sizeof(*m->classes);
	struct match_class **classes = realloc(m->classes, bytes);
	if (!classes)
		return -FI_ENOMEM;
	m->classes = classes;
	struct match_class *c = malloc(sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->look = look;
	c->directed = directed;
	c->indexed = 0;
	table_init(&c->receives);
	table_init(&c->messages);
	classes[m->class_count++] = c;
	*class = c;
	return 0;
}

/* 0, or -FI_ENOMEM; NULL if there are too many. */
static int class_get(struct matcher *m, fi_addr_t source, uint64_t ignore,
	struct match_class **class)
{
	bool directed = source != FI_ADDR_UNSPEC;
	*class = class_find(m, ~ignore, directed);
	if (likely(*class) || m->class_count == MATCH_CLASSES_MAX)
		return 0;
	return class_new(m, ~ignore, directed, class);
}

/* A message whose source is unknown has one that no receive can name. */
_Static_assert(FI_ADDR_NOTAVAIL == FI_ADDR_UNSPEC, "one key for both");

static fi_addr_t class_source(const struct match_class *c, fi_addr_t source)
{
	return c->directed ? source : FI_ADDR_UNSPEC;
}

static void class_free(struct match_class *c)
{
	table_free(&c->receives);
	table_free(&c->messages);
	free(c);
}

/* ---- the whole ---- */

void matcher_init(struct matcher *m)
{
	*m = (struct matcher){ 0 };
	list_init(&m->receives);
	list_init(&m->messages);
	list_init(&m->rest);
}

void matcher_free(struct matcher *m)
{
	for (unsigned i = 0; i < m->class_count; i++)
		class_free(m->classes[i]);
	free(m->classes);
	matcher_init(m);
}

static bool fits(fi_addr_t source, uint64_t tag, uint64_t ignore,
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

/* Puts the oldest of the young ones into the table of its class. */
static int receive_index(struct matcher *m)
{
	struct receive *r = receive_of(m->young);
	int error = class_get(m, r->source, r->ignore, &r->class);
	if (unlikely(error))
		return error;
	m->young = r->all.next;
	m->young_count--;
	m->indexed_count++;
	r->indexed = true;
	if (unlikely(!r->class)) {
		list_append(&m->rest, &r->node.same);
		return 0;
	}
	r->node.source = r->source;
	r->node.tag = r->tag & r->class->look;
	table_add(&r->class->receives, &r->node);
	return 0;
}

int matcher_post(struct matcher *m, struct receive *r)
{
	if (m->young_count == MATCH_FEW) {
		int error = receive_index(m);
		if (unlikely(error))
			return error;
	}
	r->node.sequence = ++m->sequence;
	r->indexed = false;
	list_append(&m->receives, &r->all);
	if (m->young_count++ == 0)
		m->young = &r->all;
	return 0;
}

static struct match_node *rest_receive(const struct matcher *m,
	fi_addr_t source, uint64_t tag, struct match_node *best)
{
	list_for_each (at, &m->rest) {
		struct match_node *n = node_of_same(at);
		const struct receive *r = list_of(n, struct receive, node);
		if (best && best->sequence < n->sequence)
			return best;
		if (fits(r->source, r->tag, r->ignore, source, tag))
			return n;
	}
	return best;
}

/* All that are indexed are older. */
static struct receive *young_receive(
	const struct matcher *m, fi_addr_t source, uint64_t tag)
{
	struct list *at = m->young;
	for (unsigned i = 0; i < m->young_count; i++, at = at->next) {
		struct receive *r = receive_of(at);
		if (fits(r->source, r->tag, r->ignore, source, tag))
			return r;
	}
	return NULL;
}

static struct match_node *indexed_receive(
	const struct matcher *m, fi_addr_t source, uint64_t tag)
{
	struct match_node *best = NULL;
	for (unsigned i = 0; i < m->class_count; i++) {
		const struct match_class *c = m->classes[i];
		if (c->receives.keys == 0)
			continue;
		struct match_node *n = table_find(
			&c->receives, class_source(c, source), tag & c->look);
		if (n && (!best || n->sequence < best->sequence))
			best = n;
	}
	if (unlikely(!list_empty(&m->rest)))
		best = rest_receive(m, source, tag, best);
	return best;
}

struct receive *matcher_receive(
	const struct matcher *m, fi_addr_t source, uint64_t tag)
{
	if (unlikely(m->indexed_count)) {
		struct match_node *n = indexed_receive(m, source, tag);
		if (n)
			return list_of(n, struct receive, node);
	}
	return young_receive(m, source, tag);
}

void matcher_unpost(struct matcher *m, struct receive *r)
{
	if (likely(!r->indexed)) {
		if (m->young == &r->all)
			m->young = r->all.next;
		m->young_count--;
	} else {
		m->indexed_count--;
		if (r->class)
			table_remove(&r->class->receives, &r->node);
		else
			list_remove(&r->node.same);
	}
	list_remove(&r->all);
}

/* ---- messages ---- */

static struct unexpected *message_of(struct list *all)
{
	return list_of(all, struct unexpected, all);
}

static size_t message_bytes(const struct unexpected *u)
{
	return u->by_reference ? 0 : u->length;
}

int matcher_hold(struct matcher *m, struct unexpected *u)
{
	u->index = NULL;
	u->sequence = ++m->sequence;
	list_append(&m->messages, &u->all);
	m->held_count++;
	m->held_bytes += message_bytes(u);
	return 0;
}

static int class_index_one(struct match_class *c, struct unexpected *u)
{
	struct match_entry *e = malloc(sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	e->class = c;
	e->message = u;
	e->next = u->index;
	u->index = e;
	e->node.source = class_source(c, u->source);
	e->node.tag = u->tag & c->look;
	e->node.sequence = u->sequence;
	table_add(&c->messages, &e->node);
	c->indexed = u->sequence;
	return 0;
}

/* Takes in what came since the class was last asked. */
static int class_index(struct matcher *m, struct match_class *c)
{
	struct list *at = &m->messages;
	while (at->previous != &m->messages &&
		message_of(at->previous)->sequence > c->indexed) {
		STEP();
		at = at->previous;
	}
	for (; at != &m->messages; at = at->next) {
		int error = class_index_one(c, message_of(at));
		if (error)
			return error;
	}
	return 0;
}

/* The oldest that fits among the first of all. */
static struct unexpected *first_message(const struct matcher *m,
	fi_addr_t source, uint64_t tag, uint64_t ignore, size_t count)
{
	list_for_each (at, &m->messages) {
		struct unexpected *u = message_of(at);
		if (count-- == 0)
			return NULL;
		if (fits(source, tag, ignore, u->source, u->tag))
			return u;
	}
	return NULL;
}

int matcher_message(struct matcher *m, fi_addr_t source, uint64_t tag,
	uint64_t ignore, struct unexpected **message)
{
	struct match_class *c;
	*message = first_message(m, source, tag, ignore, MATCH_FEW);
	if (*message || m->held_count <= MATCH_FEW)
		return 0;
	int error = class_get(m, source, ignore, &c);
	if (error)
		return error;
	if (!c) {
		*message = first_message(m, source, tag, ignore, SIZE_MAX);
		return 0;
	}
	error = class_index(m, c);
	if (error)
		return error;
	struct match_node *n = table_find(&c->messages, source, tag & c->look);
	if (n)
		*message = list_of(n, struct match_entry, node)->message;
	return 0;
}

void matcher_unhold(struct matcher *m, struct unexpected *u)
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

/* Called from the oldest to the youngest: so each finds its place at once. */
static void message_known(struct unexpected *u, fi_addr_t source)
{
	u->source = source;
	for (struct match_entry *e = u->index; e; e = e->next) {
		if (!e->class->directed)
			continue;
		table_remove(&e->class->messages, &e->node);
		e->node.source = source;
		table_add(&e->class->messages, &e->node);
	}
}

void matcher_known(struct matcher *m, const struct peer *peer, fi_addr_t source)
{
	list_for_each (at, &m->messages) {
		struct unexpected *u = message_of(at);
		if (u->from == peer && u->source != source)
			message_known(u, source);
	}
}
