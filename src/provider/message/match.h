/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matches messages with posted receives, in the order in which either arrived,
 * at a cost that does not grow with their number.
 *
 * Receives that ignore the same tag bits, and either all or none of which name
 * a source, form a *class*. A class has a hash table of its posted receives and
 * one of unexpected messages, keyed by the source and tag bits that the class
 * compares. A message looks up the oldest matching receive in each class and
 * takes the oldest of these; a receive looks up its own class only.
 * Applications use a handful of classes; beyond MATCH_CLASSES_MAX matching is
 * slower, but still right.
 *
 * Messages enter the table of a class when a receive of that class next looks
 * for one, unless a linear search of the oldest few has found it. Receives
 * enter when a message does not match the oldest one, except the few most
 * recent: as long as messages arrive in the order of receives, no table is
 * used.
 */
#ifndef CAY_PROVIDER_MATCH_H
#define CAY_PROVIDER_MATCH_H

#include "provider/provider.h"

#define MATCH_CLASSES_MAX 64

/* A test counts the steps of searches. */
#ifdef MATCH_COUNT_STEPS
extern unsigned long match_steps;
#define STEP() (match_steps++)
#else
#define STEP() ((void)0)
#endif

struct peer;
struct match_class;
struct match_entry;

/* An entry of a table: the key of a receive or of a message. */
struct match_node {
	/*
	 * The oldest node with a key is in the chain of its bucket; the others
	 * follow it in a ring, so that searches do not pass them.
	 */
	struct list chain; /* .next NULL: not the oldest */
	struct list same;
	fi_addr_t source;
	uint64_t tag;
	uint64_t sequence;
};

/* A posted receive. The matcher's own members come first. */
struct receive {
	struct match_node node;
	struct list all;	   /* matcher->receives, oldest first */
	bool indexed;		   /* in a table, or in matcher->overflow */
	struct match_class *class; /* if indexed; NULL: in the overflow list */
	/* Set before it is posted. */
	fi_addr_t source;  /* FI_ADDR_UNSPEC: any */
	struct peer *peer; /* of the source, if there is one */
	uint64_t tag, ignore;
	uint64_t flags; /* FI_MULTI_RECV, FI_COMPLETION, ... */
	void *context;
	size_t length;	   /* of all segments */
	size_t used;	   /* FI_MULTI_RECV: bytes filled */
	unsigned fetching; /* rendezvous messages in flight into it */
	unsigned reserved; /* completions reserved in rx_cq */
	struct receive *next_free;
	uint32_t iov_count;
	/* Most receives use the first only, and nothing behind it. */
	struct iovec iov[PROVIDER_IOV_MAX];
	size_t min_left; /* FI_MULTI_RECV: with fewer bytes left it is full */
};

/* A message for which no matching receive was posted. */
struct unexpected {
	struct list all;	   /* matcher->messages, oldest first */
	struct match_entry *index; /* one for each class that indexed it */
	uint64_t sequence;
	/* Set before it is held. */
	struct peer *from;
	fi_addr_t source; /* FI_ADDR_NOTAVAIL: not in the address vector */
	uint64_t tag;
	uint32_t head; /* wire.h */
	uint64_t data; /* remote CQ data, if WIRE_DATA */
	uint64_t id;   /* of the sender's operation, if WIRE_ID */
	bool rendezvous;
	struct cay_key key; /* rendezvous: of the sender's bulk window */
	uint64_t address;   /* rendezvous: in the sender's memory */
	size_t length;
	unsigned char bytes[]; /* eager */
};

struct matcher {
	struct list receives, messages;
	struct list *recent; /* the oldest receive that is not indexed */
	unsigned recent_count, indexed_count;
	struct match_class **classes;
	unsigned class_count;
	struct list overflow; /* receives without a class: node.same */
	uint64_t sequence;
	size_t held_count, held_bytes; /* of unexpected messages */
};

void matcher_init(struct matcher *);
/* Both lists must be empty. */
void matcher_free(struct matcher *);

/* Posts a receive; does not search messages. */
static inline void matcher_post(struct matcher *m, struct receive *r)
{
	r->node.sequence = ++m->sequence;
	r->indexed = false;
	list_append(&m->receives, &r->all);
	if (m->recent_count++ == 0)
		m->recent = &r->all;
}

/* Returns whether a receive matches a message. */
static inline bool match(const struct receive *r, fi_addr_t from, uint64_t tag)
{
	STEP();
	return ((r->tag ^ tag) & ~r->ignore) == 0 &&
	       (r->source == FI_ADDR_UNSPEC || r->source == from);
}

/* matcher_find_receive() if the oldest receive does not match. */
struct receive *matcher_find_younger(
	struct matcher *, fi_addr_t source, uint64_t tag);

/* Returns the receive that matches a message, which stays posted, or NULL. */
static inline struct receive *matcher_find_receive(
	struct matcher *m, fi_addr_t source, uint64_t tag)
{
	if (unlikely(list_empty(&m->receives)))
		return NULL;
	struct receive *r = list_of(m->receives.next, struct receive, all);
	if (likely(match(r, source, tag)))
		return r;
	return matcher_find_younger(m, source, tag);
}

/* matcher_unpost() for a receive that is in a table. */
void matcher_unpost_indexed(struct matcher *, struct receive *);

/* Removes a posted receive. */
static inline void matcher_unpost(struct matcher *m, struct receive *r)
{
	if (likely(!r->indexed)) {
		if (m->recent == &r->all)
			m->recent = r->all.next;
		m->recent_count--;
	} else {
		matcher_unpost_indexed(m, r);
	}
	list_remove(&r->all);
}

/* Adds an unexpected message; does not search receives. */
void matcher_hold(struct matcher *, struct unexpected *);
/*
 * Finds the oldest message that matches such a receive, or NULL. Returns 0 or
 * -FI_ENOMEM.
 */
int matcher_find_message(struct matcher *, fi_addr_t source, uint64_t tag,
	uint64_t ignore, struct unexpected **);
/* Removes an unexpected message. */
void matcher_release(struct matcher *, struct unexpected *);
/* Changes the source of the messages of a peer. */
void matcher_set_source(
	struct matcher *, const struct peer *, fi_addr_t source);

#endif
