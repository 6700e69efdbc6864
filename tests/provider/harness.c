/* SPDX-License-Identifier: BSD-2-Clause */
/* See harness.h. */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Limit for one run of a group; a test program may take longer. */
#define GROUP_TIMEOUT_NS (60 * NS_PER_S)
#define EXPECT_NONE_NS	 (30 * NS_PER_MS)

enum {
	WORDS = 64
};

struct group_memory {
	_Atomic unsigned arrived, round;
	_Atomic uint64_t words[WORDS];
	char addresses[PROCESSES_MAX][ADDRESS_MAX];
};

/* ---- processes ---- */

struct start {
	struct process process;
	process_body *body;
	void *argument;
};

static void process_run(struct child *parent, void *argument)
{
	struct start *s = argument;
	s->process.parent = parent;
	s->body(&s->process, s->argument);
}

bool group_cold_start;

static void library_load(void)
{
	static bool loaded;
	struct fi_info *info = NULL;
	if (loaded || group_cold_start)
		return;
	loaded = true;
	struct fi_info *hints = stack_hints(&(struct options){ 0 });
	assert_int_equal(
		fi_getinfo(API_VERSION, NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

void group_start(
	struct group *c, unsigned count, process_body *body, void *argument)
{
	assert_true(count <= PROCESSES_MAX);
	library_load();
	*c = (struct group){ .count = count,
		.memory = shared_memory(sizeof(struct group_memory)) };
	for (unsigned i = 0; i < count; i++) {
		struct start s = { { i, count, NULL, c->memory }, body,
			argument };
		child_start(&c->children[i], process_run, &s);
	}
}

void group_kill(struct group *c, unsigned rank)
{
	child_kill(&c->children[rank]);
}

/* Checks without reaping it. */
static bool child_ended(const struct child *c)
{
	siginfo_t info = { 0 };
	assert_int_equal(
		waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT),
		0);
	return info.si_pid != 0;
}

/* A process that fails ends the test at once, while others still run. */
void group_join(struct group *c)
{
	uint64_t deadline = now_ns() + GROUP_TIMEOUT_NS;
	unsigned left;
	do {
		left = 0;
		for (unsigned i = 0; i < c->count; i++) {
			struct child *child = &c->children[i];
			if (child->pid && child_ended(child))
				child_join(child);
			left += child->pid != 0;
		}
		assert_true(now_ns() < deadline);
		nap_ns(200 * NS_PER_US);
	} while (left);
}

void group_run(unsigned count, process_body *body, void *argument)
{
	struct group c;
	group_start(&c, count, body, argument);
	group_join(&c);
}

void process_barrier(struct process *me, struct stack *s)
{
	struct group_memory *m = me->memory;
	uint64_t deadline = now_ns() + GROUP_TIMEOUT_NS;
	unsigned round = atomic_load(&m->round);
	if (atomic_fetch_add(&m->arrived, 1) + 1 == me->count) {
		atomic_store(&m->arrived, 0);
		atomic_fetch_add(&m->round, 1);
		return;
	}
	while (atomic_load(&m->round) == round) {
		if (s)
			stack_progress(s);
		assert_true(now_ns() < deadline);
		nap_ns(20 * NS_PER_US);
	}
}

_Atomic uint64_t *process_word(struct process *me, unsigned index)
{
	assert_true(index < WORDS);
	return &me->memory->words[index];
}

const void *process_address(struct process *me, unsigned rank)
{
	return me->memory->addresses[rank];
}

/* ---- opening ---- */

static void hints_domain(struct fi_domain_attr *d, const struct options *o)
{
	d->av_type = o->av_type;
	d->threading = o->threading;
	d->data_progress = d->control_progress = o->progress;
	d->mr_mode = o->mr_mode;
}

struct fi_info *stack_hints(const struct options *o)
{
	struct fi_info *h = fi_allocinfo();
	uint64_t order = o->order ? o->order : FI_ORDER_SAS;
	assert_true(h != NULL);
	h->caps = o->caps ? o->caps : CAPS_USUAL;
	h->ep_attr->type = FI_EP_RDM;
	h->fabric_attr->prov_name = strdup("cay");
	h->tx_attr->op_flags = o->tx_flags;
	h->rx_attr->op_flags = o->rx_flags;
	h->tx_attr->msg_order = h->rx_attr->msg_order = order;
	hints_domain(h->domain_attr, o);
	return h;
}

static struct fid_cq *queue_open(struct stack *s, const struct options *o)
{
	struct fid_cq *cq;
	struct fi_cq_attr attr = {
		.size = o->cq_size,
		.format = o->format ? o->format : FI_CQ_FORMAT_TAGGED,
		.wait_obj = o->wait,
	};
	assert_int_equal(fi_cq_open(s->domain, &attr, &cq, s), 0);
	return cq;
}

void stack_open_domain(struct stack *s, const struct options *o)
{
	struct fi_av_attr av = { .type = o->av_type };
	struct fi_info *hints = stack_hints(o);
	*s = (struct stack){ 0 };
	assert_int_equal(fi_getinfo(API_VERSION, NULL, o->service,
				 o->service ? FI_SOURCE : 0, hints, &s->info),
		0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(s->info->fabric_attr, &s->fabric, s), 0);
	assert_int_equal(fi_domain(s->fabric, s->info, &s->domain, s), 0);
	assert_int_equal(fi_av_open(s->domain, &av, &s->av, s), 0);
	s->txcq = queue_open(s, o);
	s->rxcq = queue_open(s, o);
}

void stack_open_ep(struct stack *s, const struct options *o)
{
	assert_int_equal(fi_endpoint(s->domain, s->info, &s->ep, s), 0);
	assert_int_equal(fi_ep_bind(s->ep, &s->av->fid, 0), 0);
	assert_int_equal(
		fi_ep_bind(s->ep, &s->txcq->fid, FI_TRANSMIT | o->tx_bind), 0);
	assert_int_equal(
		fi_ep_bind(s->ep, &s->rxcq->fid, FI_RECV | o->rx_bind), 0);
	if (!o->disabled)
		assert_int_equal(fi_enable(s->ep), 0);
}

void stack_open(struct stack *s, const struct options *o)
{
	stack_open_domain(s, o);
	stack_open_ep(s, o);
}

static void close_one(struct fid *fid)
{
	if (fid)
		assert_int_equal(fi_close(fid), 0);
}

/* The first member of every object is its fid. */
#define CLOSE(object) close_one((object) ? &(object)->fid : NULL)

void stack_close(struct stack *s)
{
	CLOSE(s->ep);
	CLOSE(s->txcq);
	CLOSE(s->rxcq);
	CLOSE(s->av);
	CLOSE(s->domain);
	CLOSE(s->fabric);
	fi_freeinfo(s->info);
	*s = (struct stack){ 0 };
}

/* ---- exchange of addresses ---- */

void stack_publish(struct stack *s, struct process *me)
{
	size_t length = ADDRESS_MAX;
	assert_int_equal(fi_getname(&s->ep->fid,
				 me->memory->addresses[me->rank], &length),
		0);
	assert_true(length <= ADDRESS_MAX);
}

fi_addr_t stack_insert(struct stack *s, struct process *me, unsigned rank)
{
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	assert_int_equal(
		fi_av_insert(s->av, process_address(me, rank), 1, &at, 0, NULL),
		1);
	assert_true(at != FI_ADDR_NOTAVAIL);
	return at;
}

void stack_join(struct stack *s, struct process *me)
{
	stack_publish(s, me);
	process_barrier(me, s);
	for (unsigned i = 0; i < me->count; i++)
		s->peers[i] = stack_insert(s, me, i);
	process_barrier(me, s);
}

void stack_leave(struct stack *s, struct process *me)
{
	process_barrier(me, s);
	stack_close(s);
}

/* ---- completions ---- */

void stack_progress(struct stack *s)
{
	ssize_t r = fi_cq_read(s->rxcq, NULL, 0);
	if (r < 0 && r != -FI_EAGAIN && r != -FI_EAVAIL)
		assert_int_equal(r, 0);
	r = fi_cq_read(s->txcq, NULL, 0);
	if (r < 0 && r != -FI_EAGAIN && r != -FI_EAVAIL)
		assert_int_equal(r, 0);
}

static void cq_print_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry e = { 0 };
	if (fi_cq_readerr(cq, &e, 0) == 1)
		fprintf(stderr, "error %d (%s), tag %llx, length %zu\n", e.err,
			fi_strerror(e.err), (unsigned long long)e.tag, e.len);
}

/* Reads one completion. An error entry fails the test. */
static bool queue_read(
	struct fid_cq *cq, struct fi_cq_tagged_entry *e, fi_addr_t *source)
{
	ssize_t r = source ? fi_cq_readfrom(cq, e, 1, source)
			   : fi_cq_read(cq, e, 1);
	if (r == -FI_EAGAIN)
		return false;
	if (r == -FI_EAVAIL)
		cq_print_error(cq);
	assert_int_equal(r, 1);
	return true;
}

bool cq_poll(struct fid_cq *cq, struct fi_cq_tagged_entry *e)
{
	return queue_read(cq, e, NULL);
}

static void queue_next(
	struct fid_cq *cq, struct fi_cq_tagged_entry *e, fi_addr_t *source)
{
	uint64_t deadline = soon();
	while (!queue_read(cq, e, source)) {
		assert_true(now_ns() < deadline);
		nap_ns(20 * NS_PER_US);
	}
}

void cq_next(struct fid_cq *cq, struct fi_cq_tagged_entry *e)
{
	queue_next(cq, e, NULL);
}

fi_addr_t cq_next_from(struct fid_cq *cq, struct fi_cq_tagged_entry *e)
{
	fi_addr_t source = 0;
	queue_next(cq, e, &source);
	return source;
}

void cq_expect(struct fid_cq *cq, void *context)
{
	struct fi_cq_tagged_entry e;
	cq_next(cq, &e);
	assert_true(e.op_context == context);
}

int cq_next_error(struct fid_cq *cq, struct fi_cq_err_entry *e)
{
	uint64_t deadline = soon();
	struct fi_cq_tagged_entry none;
	ssize_t r;
	while ((r = fi_cq_read(cq, &none, 1)) == -FI_EAGAIN) {
		assert_true(now_ns() < deadline);
		nap_ns(20 * NS_PER_US);
	}
	assert_int_equal(r, -FI_EAVAIL);
	*e = (struct fi_cq_err_entry){ 0 };
	assert_int_equal(fi_cq_readerr(cq, e, 0), 1);
	assert_true(e->err > 0);
	return e->err;
}

void cq_expect_none(struct fid_cq *cq)
{
	uint64_t until = now_ns() + EXPECT_NONE_NS;
	struct fi_cq_tagged_entry e;
	do {
		assert_int_equal(fi_cq_read(cq, &e, 1), -FI_EAGAIN);
		nap_ns(20 * NS_PER_US);
	} while (now_ns() < until);
}
