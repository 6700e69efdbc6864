/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Harness of the provider's tests, on top of ../port/harness.h: opens the
 * objects of libfabric with one call, starts processes that exchange addresses,
 * and reads completions with a timeout.
 *
 *	static void body(struct process *me, void *argument)
 *	{
 *		struct stack s;
 *		stack_open(&s, &(struct options){ 0 });
 *		stack_join(&s, me);
 *		... s.peers[rank] is a fi_addr_t ...
 *		stack_leave(&s, me);
 *	}
 *
 *	static void test(void **state)
 *	{
 *		group_run(2, body, NULL);
 *	}
 *
 * The test program itself opens nothing. It loads libfabric, which takes long,
 * before it forks the processes of a group.
 */
#ifndef CAY_TESTS_PROVIDER_HARNESS_H
#define CAY_TESTS_PROVIDER_HARNESS_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "../port/harness.h"

#define API_VERSION FI_VERSION(1, 17)

enum {
	PROCESSES_MAX = 8,
	ADDRESS_MAX = 64, /* bytes */
};

/* ---- processes ---- */

struct group_memory; /* shared by the processes of a group */

struct process {
	unsigned rank, count;
	struct child *parent;
	struct group_memory *memory;
};

struct group {
	unsigned count;
	struct child children[PROCESSES_MAX]; /* .pid 0: killed */
	struct group_memory *memory;
};

typedef void process_body(struct process *, void *argument);

/* Each process loads libfabric itself, with parameters that it has set. */
extern bool group_cold_start;

/* Runs the body in `count` processes; all must succeed. */
void group_run(unsigned count, process_body *, void *argument);
/* The same in steps. */
void group_start(
	struct group *, unsigned count, process_body *, void *argument);
void group_kill(struct group *, unsigned rank);
void group_join(struct group *);

struct stack;

/* A barrier of the group. Makes progress on the stack (or NULL) meanwhile. */
void process_barrier(struct process *, struct stack *);

/* Returns a shared word, initially 0. */
_Atomic uint64_t *process_word(struct process *, unsigned index);

/* ---- the objects of libfabric ---- */

/* Zero selects the default. */
struct options {
	uint64_t caps; /* 0: CAPS_USUAL */
	enum fi_av_type av_type;
	enum fi_cq_format format; /* unspecified: tagged */
	enum fi_wait_obj wait;	  /* of the queues */
	enum fi_threading threading;
	enum fi_progress progress;   /* data and control */
	uint64_t tx_flags, rx_flags; /* op_flags */
	uint64_t tx_bind, rx_bind;   /* FI_SELECTIVE_COMPLETION, or none */
	uint64_t order;		     /* msg_order; 0: FI_ORDER_SAS */
	int mr_mode;
	size_t cq_size;
	const char *service; /* of this endpoint */
	bool disabled;	     /* does not call fi_enable() */
};

#define CAPS_USUAL (FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV)

struct stack {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *txcq, *rxcq;
	struct fid_ep *ep;
	fi_addr_t peers[PROCESSES_MAX]; /* by rank, this one included */
};

/* Returns hints for these options, for fi_freeinfo(). */
struct fi_info *stack_hints(const struct options *);
void stack_open(struct stack *, const struct options *);
/* In two steps: everything but the endpoint, then the endpoint. */
void stack_open_domain(struct stack *, const struct options *);
void stack_open_ep(struct stack *, const struct options *);
/* Closes everything that is open; each close must succeed. */
void stack_close(struct stack *);

/* Exchanges addresses with all processes and inserts theirs. */
void stack_join(struct stack *, struct process *);
/* In two steps: publishes the address; after a barrier, inserts one. */
void stack_publish(struct stack *, struct process *);
fi_addr_t stack_insert(struct stack *, struct process *, unsigned rank);
const void *process_address(struct process *, unsigned rank);
/* Waits at the barrier and closes. */
void stack_leave(struct stack *, struct process *);

void stack_progress(struct stack *);

/* Repeats a call while it returns -FI_EAGAIN; it must then succeed. */
#define MUST(stack, call)                                \
	do {                                             \
		ssize_t must_;                           \
		uint64_t until_ = soon();                \
		while ((must_ = (call)) == -FI_EAGAIN) { \
			stack_progress(stack);           \
			assert_true(now_ns() < until_);  \
		}                                        \
		assert_int_equal(must_, 0);              \
	} while (0)

/* ---- completions ---- */

/* Reads a completion if there is one. An error entry fails the test. */
bool cq_poll(struct fid_cq *, struct fi_cq_tagged_entry *);
/* Waits for the next completion. */
void cq_next(struct fid_cq *, struct fi_cq_tagged_entry *);
fi_addr_t cq_next_from(struct fid_cq *, struct fi_cq_tagged_entry *);
/* Waits for the next completion, which must have this context. */
void cq_expect(struct fid_cq *, void *context);
/* Waits for the next entry, an error, and returns its fi_errno. */
int cq_next_error(struct fid_cq *, struct fi_cq_err_entry *);
/* Checks that no completion is there, nor arrives in a moment. */
void cq_expect_none(struct fid_cq *);

#endif
