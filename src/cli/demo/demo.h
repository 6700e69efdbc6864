/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay demo: scenes that show requests and notifications side by side, and
 * check everything that they show. This process is the origin; a second one,
 * the target, takes what it is told to and reports what it has seen.
 */
#ifndef CAY_CLI_DEMO_H
#define CAY_CLI_DEMO_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "cay/cay.h"
#include "node/address.h"

/* For anything that takes microseconds, on a machine that is very busy. */
#define DEMO_PATIENCE_NS (10 * CLOCK_NS_PER_S)

#define DEMO_ROWS_MAX 24
#define DEMO_CELL_MAX 64
#define DEMO_LONG     (1u << 20) /* bytes of a long message */

/* Rows of the two columns that are not yet printed. */
struct demo_table {
	char left[DEMO_ROWS_MAX][DEMO_CELL_MAX];
	char right[DEMO_ROWS_MAX][DEMO_CELL_MAX];
	unsigned left_count, right_count;
};

struct demo {
	struct node_address node;
	struct cay_port *port; /* the origin's */
	struct cay_peer *peer; /* the target's first port */
	pid_t target_pid;
	int target_socket;
	bool colour;
	unsigned scene, checks, wrong;
	struct demo_table table;
};

/* ---- show.c ---- */

void show_begin(struct demo *);

/* A number, a title, and some lines that say what it is about. */
void show_scene(struct demo *, const char *title, const char *about);

/* A cell in the column of the origin, or of the target. */
__attribute__((format(printf, 2, 3))) void show_left(
	struct demo *, const char *format, ...);
__attribute__((format(printf, 2, 3))) void show_right(
	struct demo *, const char *format, ...);

/* Prints the cells, side by side, under these headings; NULL: none. */
void show_rows(struct demo *, const char *left, const char *right);

/* Says what was checked and how it came out; counts. Gives `right`. */
__attribute__((format(printf, 3, 4))) bool show_check(
	struct demo *, bool right, const char *format, ...);

/* The scene cannot go on. Gives -EPROTO. */
int show_failed(struct demo *, const char *what, int error);

/* ---- target.c ---- */

enum order_kind {
	ORDER_TAKE = 1, /* one event */
	ORDER_DRAIN,	/* so many, whose tags must count up */
	ORDER_RAW,	/* one NQE of the second port */
	ORDER_LISTEN,	/* epoll, awake: is the descriptor readable by now? */
	ORDER_SLEEP,	/* epoll, armed: report when asleep, and when awake */
	ORDER_WINDOW,	/* open a window on its memory, with these rights */
	ORDER_LOOK,	/* at so many bytes of that memory, without polling */
	ORDER_POST,	/* post its memory as a receive of so many bytes */
	ORDER_END,
};

/* What the target has seen. */
struct seen {
	int error; /* -errno: it could not */
	struct cay_event event;
	struct cay_nqe nqe;
	struct cay_key key;			 /* ORDER_WINDOW */
	uint64_t sum;				 /* of the payload */
	unsigned char data[CAY_FAST_SEND_BYTES]; /* its beginning */
	uint32_t counted_up; /* ORDER_DRAIN: tags in order */
	uint32_t readable;   /* the descriptor was */
};

#define ORIGIN_NAME	"origin"
#define TARGET_NAME	"target"
#define TARGET_RAW_NAME "target-raw"
#define TARGET_ENTRIES	64	    /* of its NQ */
#define TARGET_MEMORY	(64u << 10) /* bytes for windows and receives */
#define TARGET_COOKIE	0xc00c1e    /* of a posted receive */

/* Starts it; it opens its ports by itself. 0 or -errno. */
int target_start(struct demo *);
void target_end(struct demo *);

/* 0 or -errno. */
int target_order(struct demo *, enum order_kind, uint32_t count);
int target_seen(struct demo *, struct seen *);

/* Both, in one: what the target says to an order. */
int target_asked(struct demo *, enum order_kind, uint32_t count, struct seen *);

/* The next event, within DEMO_PATIENCE_NS. 0 or -errno. */
int demo_await(struct cay_port *, struct cay_event *);

/* A number that tells one payload from another. */
uint64_t demo_sum(const void *data, size_t length);

/* A child that dies with us. 0 in the child; -errno. */
pid_t demo_fork(void);

/* ---- message.c ---- */

struct demo_message {
	const void *data;
	size_t length;
	uint64_t tag;
	uint32_t api_tag;
	unsigned flags; /* enum cay_flag */
};

/* Sends it, has it taken, shows both sides and checks them. 0 or -errno. */
int demo_exchange(struct demo *, const struct demo_message *);
void demo_show_request(struct demo *, const struct demo_message *);
void demo_show_seen(struct demo *, const struct seen *);

/* The completion of our request with this tag: shown and checked. */
int demo_completion(struct demo *, uint64_t tag, int error);

/* Bytes that differ from place to place, the same in every run. */
void pattern_fill(unsigned char *data, size_t length, uint32_t seed);

int demo_fast_send(struct demo *);
int demo_send(struct demo *);
int demo_long_alloc(struct demo *);
int demo_long_malloc(struct demo *);
int demo_told(struct demo *);

/* ---- the others ---- */

int demo_priority(struct demo *);
int demo_fence(struct demo *);
int demo_interrupt(struct demo *);
int demo_put_get(struct demo *);
int demo_atomic(struct demo *);
int demo_refused(struct demo *);
int demo_lock(struct demo *);
int demo_posted(struct demo *);
int demo_raw(struct demo *);
int demo_death(struct demo *);
int demo_network(struct demo *);
int demo_speed(struct demo *);

#endif
