/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching of messages with posted receives, in the order in which either
 * came, at a cost that does not grow with their number.
 *
 * Receives that ignore the same bits of a tag, and either all or none of which
 * name a source, form a *class*. A class has a hash table of the receives in
 * it and one of unexpected messages, by what the class looks at. A message
 * asks each class for its first fitting receive and takes the oldest of these;
 * a receive asks its own class only. Applications use a handful of classes;
 * beyond MATCH_CLASSES_MAX all is still right, but takes longer.
 *
 * A message enters the table of a class when the class is first asked for one
 * after it came, and not even then if it is among the oldest few. Likewise the
 * few youngest receives are in no table.
 */
#ifndef CAY_PROVIDER_MATCH_H
#define CAY_PROVIDER_MATCH_H

#include "provider/provider.h"

#define MATCH_CLASSES_MAX 64

struct peer;
struct match_class;
struct match_entry;

/* What a class looks at, of a receive or of a message. */
struct match_node {
	/*
	 * The oldest one with a key is in the chain of a bucket, and the others
	 * are behind it in a ring, so that nobody walks over these.
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
	bool indexed;		   /* in a table, or in matcher->rest */
	struct match_class *class; /* of an indexed one; NULL: in the rest */
	/* Filled in by who posts it. */
	fi_addr_t source;  /* FI_ADDR_UNSPEC: from anybody */
	struct peer *peer; /* behind source, if it is known */
	uint64_t tag, ignore;
	uint64_t flags; /* FI_MULTI_RECV, FI_COMPLETION, ... */
	void *context;
	struct iovec iov[PROVIDER_IOV_MAX];
	uint32_t iov_count;
	size_t length;	   /* of all pieces */
	size_t used;	   /* FI_MULTI_RECV: filled so far */
	size_t least;	   /* FI_MULTI_RECV: with less left it takes no more */
	unsigned fetching; /* FI_MULTI_RECV: long messages under way into it */
	unsigned reserved; /* completions that there is room for */
	struct receive *spare; /* the next one that is not used */
};

/* A message for which no receive was posted yet. */
struct unexpected {
	struct list all;	   /* matcher->messages, oldest first */
	struct match_entry *index; /* one for each class that has seen it */
	uint64_t sequence;
	/* Filled in by who holds it. */
	struct peer *from;
	fi_addr_t source; /* FI_ADDR_NOTAVAIL: not in the address vector */
	uint64_t tag;
	uint32_t head; /* as it came: wire.h */
	uint64_t data; /* remote CQ data, if head says so */
	uint64_t id;   /* of the sender's operation, if head says so */
	bool by_reference;
	struct cay_key key;
	uint64_t address; /* by reference: in the sender's memory */
	size_t length;
	unsigned char bytes[]; /* else */
};

struct matcher {
	struct list receives, messages;
	struct list *young; /* the first of the youngest receives */
	unsigned young_count, indexed_count;
	struct match_class **classes;
	unsigned class_count;
	struct list rest; /* receives beyond MATCH_CLASSES_MAX: node.same */
	uint64_t sequence;
	size_t held_count, held_bytes; /* of messages, in our memory */
};

void matcher_init(struct matcher *);
/* Both lists must be empty. */
void matcher_free(struct matcher *);

/* Posts a receive; 0 or -FI_ENOMEM. Looks for no message. */
int matcher_post(struct matcher *, struct receive *);
/* The receive that this message is for, or NULL. It stays posted. */
struct receive *matcher_receive(
	const struct matcher *, fi_addr_t source, uint64_t tag);
/* Takes a receive out. */
void matcher_unpost(struct matcher *, struct receive *);

/* Keeps a message; 0 or -FI_ENOMEM. Looks for no receive. */
int matcher_hold(struct matcher *, struct unexpected *);
/* The oldest message for such a receive, or NULL; 0 or -FI_ENOMEM. */
int matcher_message(struct matcher *, fi_addr_t source, uint64_t tag,
	uint64_t ignore, struct unexpected **);
/* Takes a message out. */
void matcher_unhold(struct matcher *, struct unexpected *);
/* The source of this peer's messages has become known, or another. */
void matcher_known(struct matcher *, const struct peer *, fi_addr_t source);

#endif
