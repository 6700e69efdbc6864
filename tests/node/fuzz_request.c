/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzer of the node: the input selects requests, exits of processes and stores
 * to the arena. The node runs inside this process. At the end of each input all
 * processes exit, and the node must be empty.
 *
 * Built with clang -fsanitize=fuzzer and
 * -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION it is a libFuzzer target;
 * otherwise it runs the given files, or COUNT random inputs:
 *
 * usage: fuzz_request [FILE... | COUNT]
 */
#include "inside.h"

#define FUZZ_PROCESSES	4
#define FUZZ_HISTORY	8
#define FUZZ_WINDOWS	6
#define FUZZ_HEAP_BYTES (640ull << 10) /* small enough to fill up */
#define FUZZ_INPUT_MAX	1024
#define FUZZ_PID	1000 /* of the first process; none of them exists */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint64_t input_take(struct input *in, size_t bytes)
{
	uint64_t value = 0;
	if (bytes > in->left)
		bytes = in->left;
	if (bytes)
		memcpy(&value, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return value;
}

static unsigned input_below(struct input *in, unsigned limit)
{
	return (unsigned)input_take(in, 1) % limit;
}

/* Recent values from replies, for use in later requests. */
struct history {
	uint64_t values[FUZZ_HISTORY];
	unsigned next;
};

static void history_add(struct history *m, uint64_t value)
{
	m->values[m->next++ % FUZZ_HISTORY] = value;
}

/* Usually returns a recent value. */
static uint64_t history_choose(const struct history *m, struct input *in)
{
	unsigned which = input_below(in, 2 * FUZZ_HISTORY);
	unsigned count = m->next < FUZZ_HISTORY ? m->next : FUZZ_HISTORY;
	if (which == 0 || count == 0)
		return input_take(in, 2);
	return m->values[which % count];
}

struct world {
	struct node *node;
	struct process *processes[FUZZ_PROCESSES];
	struct history vpids, blocks, indexes, upids;
};

/* ---- requests ---- */

static void fill_name(struct input *in, char name[NODE_NAME_MAX])
{
	static const char *const names[] = { "", "a", "b", "/", "c" };
	unsigned which = input_below(in, 8);
	if (which < ARRAY_COUNT(names))
		snprintf(name, NODE_NAME_MAX, "%s", names[which]);
	else
		memset(name, (int)input_take(in, 1), NODE_NAME_MAX);
}

static void fill_open(struct input *in, struct node_request *q)
{
	unsigned shape = input_below(in, 4);
	q->open.nq_log2 = 4;
	q->open.rdr_log2 = 10;
	q->open.sdr_log2 = 6;
	q->open.peers = 1 + input_below(in, 6);
	q->open.windows = 1 + input_below(in, FUZZ_WINDOWS);
	q->open.posted_log2 = 1;
	if (shape == 1)
		memset(&q->open, 0, sizeof(q->open));
	if (shape == 2)
		for (unsigned i = 0; i < 16; i++)
			q->padding[i] = (uint8_t)input_take(in, 1);
	if (!input_below(in, 4))
		fill_name(in, q->open.name);
}

/* Usually returns a port of the process. */
static uint16_t choose_vpid(
	struct world *w, struct input *in, const struct process *p)
{
	unsigned which = input_below(in, FUZZ_HISTORY);
	if (which == 0)
		return (uint16_t)history_choose(&w->vpids, in);
	list_for_each (at, &p->ports)
		if (--which == 0)
			return list_of(at, struct vport, link)->config.vpid;
	if (list_empty(&p->ports))
		return 0;
	return list_of(p->ports.next, struct vport, link)->config.vpid;
}

static struct cay_window_descriptor *wdt_of(const struct vport *port)
{
	return (void *)(port->realm->arena.base + port->config.tables_offset +
			(uint64_t)port->config.wdt_at * CAY_LINE);
}

/* Usually a window with its capability and the current epoch. */
static void fill_lock(struct world *w, struct input *in, struct node_request *q)
{
	uint16_t target = (uint16_t)history_choose(&w->vpids, in);
	struct vport *port = w->node->ports[target];
	q->lock.target = target;
	q->lock.window = (uint16_t)input_below(in, FUZZ_WINDOWS + 1);
	q->lock.poll = (uint16_t)(input_below(in, 4) == 0);
	q->lock.epoch = w->node->epochs[target] + !input_below(in, 8);
	if (port && q->lock.window < port->config.windows)
		q->lock.capability = wdt_of(port)[q->lock.window].capability;
	if (!input_below(in, 8))
		q->lock.capability = input_take(in, 8);
	if (!input_below(in, 16))
		q->lock.window = (uint16_t)input_take(in, 2);
}

static void fill_ports(struct world *w, struct input *in,
	const struct process *p, struct node_request *q)
{
	uint16_t vpid = choose_vpid(w, in, p);
	switch (q->kind) {
	case NODE_QUIESCE:
		q->quiesce.vpid = vpid;
		q->quiesce.window = (uint32_t)input_take(in, 1);
		q->quiesce.mapped = !input_below(in, 3);
		break;
	case NODE_LOCK:
	case NODE_UNLOCK:
	case NODE_MAP:
		q->lock.vpid = vpid;
		fill_lock(w, in, q);
		break;
	case NODE_RESOLVE:
		q->resolve.vpid = vpid;
		q->resolve.target = (uint16_t)history_choose(&w->vpids, in);
		q->resolve.node = w->node->id + !input_below(in, 8);
		if (!input_below(in, 4))
			fill_name(in, q->resolve.name);
		break;
	case NODE_RELEASE:
		q->release.vpid = vpid;
		q->release.index = (uint32_t)history_choose(&w->indexes, in);
		break;
	case NODE_DOORBELL_SET:
	case NODE_DOORBELL_GET:
	case NODE_DOORBELL_RING:
		q->doorbell.vpid = vpid;
		q->doorbell.epoch =
			w->node->epochs[vpid] + input_below(in, 3) - 1;
		break;
	case NODE_UNMAP:
		q->unmap.number = input_below(in, 8);
		break;
	case NODE_ULTRA_ACCEPT:
	case NODE_ULTRA_CONNECT:
		q->ultra.vpid = vpid;
		if (input_below(in, 3))
			q->ultra.peer = (uint16_t)history_choose(&w->vpids, in);
		q->ultra.node = w->node->id + !input_below(in, 8);
		q->ultra.slice_log2 = (uint8_t)(5 + input_below(in, 9));
		break;
	case NODE_ULTRA_RETURN:
	case NODE_ULTRA_READY:
	case NODE_ULTRA_WAKE:
	case NODE_ULTRA_CLOSE:
		q->ultra_end.upid = (uint16_t)history_choose(&w->upids, in);
		q->ultra_end.ring = input_below(in, 2);
		break;
	default:
		q->close.vpid = vpid;
	}
}

static void fill_memory(
	struct world *w, struct input *in, struct node_request *q)
{
	if (q->kind == NODE_ALLOC)
		q->alloc.huge = !input_below(in, 8);
	if (q->kind != NODE_ALLOC)
		q->free.offset = history_choose(&w->blocks, in) +
				 input_below(in, 3) * 128;
	else if (input_below(in, 4))
		q->alloc.bytes = input_take(in, 2);
	else
		q->alloc.bytes = input_take(in, 8);
}

static struct node_request make_request(
	struct world *w, struct input *in, const struct process *p)
{
	struct node_request q = { .kind = 1 +
					  input_below(in, NODE_ULTRA_CLOSE) };
	switch (q.kind) {
	case NODE_HELLO:
		q = inside_hello(input_below(in, 3) ? "a" : "b");
		if (!input_below(in, 8))
			fill_name(in, q.hello.realm);
		break;
	case NODE_OPEN:
		fill_open(in, &q);
		break;
	case NODE_ALLOC:
	case NODE_FREE:
	case NODE_RECOVER:
		fill_memory(w, in, &q);
		break;
	case NODE_FENCE:
		q.fence.pid = FUZZ_PID + input_below(in, FUZZ_PROCESSES + 1);
		break;
	default:
		fill_ports(w, in, p, &q);
	}
	return q;
}

static void history_update(struct world *w, const struct node_request *q,
	const struct node_reply *reply)
{
	if (reply->error)
		return;
	if (q->kind == NODE_OPEN)
		history_add(&w->vpids, reply->open.vpid);
	if (q->kind == NODE_RESOLVE)
		history_add(&w->indexes, reply->resolve.index);
	if (q->kind == NODE_ULTRA_ACCEPT || q->kind == NODE_ULTRA_CONNECT)
		history_add(&w->upids, reply->ultra.upid);
	if (q->kind == NODE_ALLOC || q->kind == NODE_RECORDS)
		history_add(&w->blocks, reply->alloc.offset);
	if (q->kind == NODE_HELLO)
		history_add(&w->blocks, reply->hello.records);
}

/* Closes the connection. A member is kept until its process exits. */
static void process_close(struct process **p)
{
	bool stays = (*p)->state == PROCESS_MEMBER;
	process_disconnect(*p);
	if (!stays)
		*p = NULL;
}

static void step_request(struct world *w, struct input *in, bool raw)
{
	struct process **p = &w->processes[input_below(in, FUZZ_PROCESSES)];
	struct node_request q = { 0 };
	struct node_reply reply;
	if (!*p || (*p)->socket_closed)
		return;
	if (!raw)
		q = make_request(w, in, *p);
	else
		for (size_t i = 0; i < sizeof(q) / 8; i++)
			((uint64_t *)(void *)&q)[i] = input_take(in, 8);
	int r = inside_call(*p, &q, &reply);
	MUST(r <= 0 && r > -4096);
	history_update(w, &q, &reply);
	/* The event loop disconnects the client, too. */
	if (r == -EPROTO)
		process_close(p);
}

/* ---- connections and exits ---- */

static void step_connect(struct world *w, struct input *in)
{
	unsigned i = input_below(in, FUZZ_PROCESSES);
	struct node_request q = inside_hello("a");
	struct node_reply reply;
	if (w->processes[i])
		return;
	w->processes[i] = inside_connect(w->node, (pid_t)(FUZZ_PID + i));
	MUST(w->processes[i]);
	if (input_below(in, 4))
		inside_call(w->processes[i], &q, &reply);
}

static void process_kill(struct world *w, unsigned i)
{
	if (w->processes[i])
		process_exited(w->processes[i]);
	w->processes[i] = NULL;
}

static void step_disconnect(struct world *w, struct input *in)
{
	struct process **p = &w->processes[input_below(in, FUZZ_PROCESSES)];
	if (*p && !(*p)->socket_closed)
		process_close(p);
}

/* ---- stores of members to the arena ---- */

/* Usually returns a position near W of the queue set. */
static uint64_t choose_position(
	struct world *w, struct input *in, uint16_t vpid)
{
	struct vport *port = w->node->ports[vpid];
	uint64_t value = input_take(in, 1);
	if (!port || value > 250)
		return input_take(in, 8);
	struct queue_control *c =
		arena_control(&port->realm->arena, vpid, port->epoch);
	return atomic_load(&c->w) + value % 32 - 16;
}

static void corrupt_record(struct world *w, struct input *in)
{
	struct process *p = w->processes[input_below(in, FUZZ_PROCESSES)];
	uint16_t vpid = (uint16_t)history_choose(&w->vpids, in);
	if (!p || !p->record_page_count)
		return;
	uint32_t page = input_below(in, p->record_page_count);
	struct op_record *op =
		record_at(p, page * OP_RECORDS_PER_PAGE +
				     input_below(in, OP_RECORDS_PER_PAGE));
	uint64_t state = input_below(in, 8); /* includes abandoned ones */
	atomic_store(&op->window, input_below(in, FUZZ_WINDOWS + 1));
	atomic_store(&op->posted, input_below(in, 4) | (uint64_t)vpid << 32);
	atomic_store(&op->w_old, choose_position(w, in, vpid));
	atomic_store(&op->w_new, choose_position(w, in, vpid));
	atomic_store(&op->state,
		state | (uint64_t)vpid << OP_VPID_SHIFT |
			(uint64_t)w->node->epochs[vpid] << OP_EPOCH_SHIFT);
}

/* What only the node decides; it must not read any of it. */
static void corrupt_decision(
	const struct vport *port, struct queue_control *c, struct input *in)
{
	const struct arena *a = &port->realm->arena;
	struct peer_entry *peers =
		(void *)(a->base + port->config.tables_offset +
			 (uint64_t)port->config.peers_at * CAY_LINE);
	uint64_t value = input_take(in, 8);
	switch (input_below(in, 8)) {
	case 0:
		atomic_store(&c->migration, (uint32_t)value % 4);
		break;
	case 1:
		c->fenced_count = (uint32_t)value % 8;
		memset(c->fenced, (int)input_take(in, 1), sizeof(c->fenced));
		break;
	case 2:
		atomic_store(&c->access_epoch, (uint32_t)value);
		break;
	case 3:
		atomic_store(&arena_directory(a)[port->config.vpid].epoch,
			(uint32_t)value);
		break;
	case 4:
		atomic_store(&arena_directory(a)[port->config.vpid].first_epoch,
			(uint32_t)value);
		break;
	case 5:
		a->base[value % sizeof(struct arena_header)] =
			(unsigned char)input_take(in, 1);
		break;
	case 6:
		if (port->config.peers)
			((unsigned char *)peers)[value %
						 (port->config.peers *
							 sizeof(*peers))] =
				(unsigned char)input_take(in, 1);
		break;
	default: /* the queues or the tables are elsewhere in the heap */
		*(value % 2 ? &c->config.queues_offset
			    : &c->config.tables_offset) =
			ARENA_HEAP_OFFSET +
			input_take(in, 1) * (uint64_t)ARENA_PAGE;
	}
}

static void corrupt_control(struct world *w, struct input *in)
{
	uint16_t vpid = (uint16_t)history_choose(&w->vpids, in);
	struct vport *port = w->node->ports[vpid];
	if (!port)
		return;
	struct queue_control *c =
		arena_control(&port->realm->arena, vpid, port->epoch);
	uint64_t value = choose_position(w, in, vpid);
	switch (input_below(in, 16)) {
	case 0:
		atomic_store(&c->w, value);
		break;
	case 1:
		atomic_store(&c->r, value);
		break;
	case 4: /* full */
	case 5:
		atomic_store(&c->r, atomic_load(&c->w) - 16);
		break;
	case 2:
		atomic_store(&c->epoch, (uint32_t)value);
		break;
	case 3:
		atomic_store(&c->doorbell, (uint32_t)value);
		break;
	case 6:
	case 7:
		((unsigned char *)&c->config)[value % sizeof(c->config)] =
			(unsigned char)input_take(in, 1);
		break;
	default:
		corrupt_decision(port, c, in);
	}
}

static void corrupt_reference(struct world *w, struct input *in)
{
	struct vport *port =
		w->node->ports[(uint16_t)history_choose(&w->vpids, in)];
	if (!port)
		return;
	struct reference *refs =
		(void *)(port->realm->arena.base + port->config.tables_offset +
			 (uint64_t)port->config.refs_at * CAY_LINE);
	struct reference *ref = &refs[input_below(in, 1u << QUEUE_REFS_LOG2)];
	/* A member may store any address, also one that is not aligned. */
	ref->address = history_choose(&w->blocks, in) + input_below(in, 9);
	ref->kind = (uint8_t)input_below(in, 4);
	ref->length = 64 * input_below(in, 3);
	ref->target_vpid = (uint16_t)history_choose(&w->vpids, in);
	ref->target_epoch = w->node->epochs[ref->target_vpid];
	atomic_store(
		&ref->state, input_take(in, 1) << REFERENCE_SEQUENCE_SHIFT |
				     input_below(in, 5));
	struct node_request q = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	q.close.vpid = port->config.vpid;
	if (!port->process->socket_closed && input_below(in, 4))
		inside_call(port->process, &q, &reply);
}

/* Window descriptors, their links, and forged locks. */
static void corrupt_window(struct world *w, struct input *in)
{
	struct vport *port =
		w->node->ports[(uint16_t)history_choose(&w->vpids, in)];
	if (!port || !port->config.windows)
		return;
	struct cay_window_descriptor *d = &wdt_of(
		port)[input_below(in, FUZZ_WINDOWS) % port->config.windows];
	unsigned links = input_below(in, 4);
	d->rights = input_below(in, 4) ? 31 : 0;
	d->start = history_choose(&w->blocks, in) + input_below(in, 2);
	d->length = input_below(in, 4) ? 1 + input_take(in, 1)
				       : input_take(in, 8);
	d->pid = !input_below(in, 8);
	d->capability = input_take(in, 1);
	d->next = (uint16_t)(links ? input_below(in, FUZZ_WINDOWS)
				   : input_take(in, 2));
	d->previous = (uint16_t)input_take(in, 1);
	if (!input_below(in, 4))
		d->lock = input_take(in, 8);
	else if (!input_below(in, 4))
		d->lock = 0;
}

/* ---- one input ---- */

static void step(struct world *w, struct input *in)
{
	switch (input_below(in, 32)) {
	case 0:
		step_connect(w, in);
		break;
	case 1:
		process_kill(w, input_below(in, FUZZ_PROCESSES));
		break;
	case 2:
		step_disconnect(w, in);
		break;
	case 3:
		node_tick(w->node);
		break;
	case 4:
		corrupt_record(w, in);
		break;
	case 5:
		corrupt_control(w, in);
		break;
	case 6:
		step_request(w, in, true);
		break;
	case 7:
	case 8:
	case 9:
		corrupt_reference(w, in);
		break;
	case 10:
	case 11:
		corrupt_window(w, in);
		break;
	default:
		step_request(w, in, false);
	}
}

/*
 * Creates two processes with a port each, which have resolved each other and
 * can send by reference. Most later steps require this.
 */
static void world_begin(struct world *w)
{
	static const uint8_t hello[] = { 0, 1, 1, 1, 2, 0 };
	uint16_t vpids[2];
	struct node_reply reply;
	for (unsigned i = 0; i < 2; i++) {
		struct input first = { hello + 2 * i, 2 };
		struct node_request q = { .kind = NODE_OPEN };
		step_connect(w, &first);
		q.open.nq_log2 = 4;
		q.open.rdr_log2 = 10;
		q.open.sdr_log2 = 6;
		MUST(inside_call(w->processes[i], &q, &reply) == 0);
		vpids[i] = reply.open.vpid;
		history_update(w, &q, &reply);
		q = (struct node_request){ .kind = NODE_REFERENCES };
		q.close.vpid = vpids[i];
		MUST(inside_call(w->processes[i], &q, &reply) == 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct node_request q = { .kind = NODE_RESOLVE };
		q.resolve.vpid = vpids[i];
		q.resolve.target = vpids[!i];
		q.resolve.node = w->node->id;
		MUST(inside_call(w->processes[i], &q, &reply) == 0);
		history_update(w, &q, &reply);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct node *node;
	if (!node)
		node = inside_node(FUZZ_HEAP_BYTES);
	struct world w = { .node = node };
	struct input in = { data, bytes };
	world_begin(&w);
	while (in.left)
		step(&w, &in);
	for (unsigned i = 0; i < FUZZ_PROCESSES; i++)
		process_kill(&w, i);
	inside_check_empty(node);
	return 0;
}

/* ---- stand-alone program ---- */

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include "../fuzz.h"

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, clock_now_ns(), 10000);
}

#endif
