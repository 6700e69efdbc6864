/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set-up of ULTRA paths at the node: the order of the steps, the end of
 * either side at each of them, UPIDs of others, quotas, and that nothing is
 * left: no descriptor, mapping, UPID or charge.
 */
#include "cay/port.h"
#include "inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#define HEAP_BYTES (64ull << 20)

static unsigned descriptors(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Two processes in one realm, one in another, with a port each. */
struct world {
	struct node *node;
	struct process *process[3];
	uint16_t vpid[3]; /* of a port of each, which may be closed */
	unsigned descriptors;
};

enum {
	TARGET,
	ORIGIN,
	FOREIGN
};

static struct world world_begin(void)
{
	struct world w = { .node = inside_node(HEAP_BYTES) };
	for (int i = 0; i < 3; i++) {
		w.process[i] =
			inside_join(w.node, 1000 + i, i == FOREIGN ? "b" : "a");
		w.vpid[i] = inside_open(w.process[i])->config.vpid;
	}
	w.descriptors = descriptors();
	return w;
}

/* The processes that are left exit; nothing of them is left. */
static void world_end(struct world *w)
{
	for (int i = 0; i < 3; i++)
		if (w->process[i])
			process_exited(w->process[i]);
	inside_settle(w->node);
	inside_check_empty(w->node);
	/* The arenas of two realms are closed. */
	assert_int_equal(descriptors(), w->descriptors - 2);
	node_end(w->node);
}

static void side_exits(struct world *w, int side)
{
	process_exited(w->process[side]);
	w->process[side] = NULL;
	inside_settle(w->node);
}

/* Returns the UPID, or -errno. */
static int prepare(struct world *w, enum node_request_kind kind, int by,
	uint16_t peer, int slice_log2)
{
	struct node_request q = { .kind = kind };
	struct node_reply reply;
	q.ultra.vpid = w->vpid[by];
	q.ultra.peer = peer;
	q.ultra.node = w->node->id;
	q.ultra.slice_log2 = (uint8_t)slice_log2;
	int r = inside_call(w->process[by], &q, &reply);
	return r ? r : reply.ultra.upid;
}

static int accept_from(struct world *w, uint16_t origin)
{
	return prepare(w, NODE_ULTRA_ACCEPT, TARGET, origin, 6);
}

static int connect_by(struct world *w, int by)
{
	return prepare(w, NODE_ULTRA_CONNECT, by, w->vpid[TARGET], 0);
}

static int step(struct process *p, enum node_request_kind kind, int upid)
{
	struct node_request q = { .kind = kind };
	struct node_reply reply;
	q.ultra_end.upid = (uint16_t)upid;
	return inside_call(p, &q, &reply);
}

/* Both sides of a path, set up to this step. */
struct path {
	int in, out;
};

enum {
	STEP_ACCEPTED = 1,
	STEP_OFFERED,
	STEP_CONNECTED,
	STEP_ENABLED
};

static struct path path_to(struct world *w, int by, int last, bool any)
{
	struct path p = { accept_from(w, any ? 0 : w->vpid[by]), 0 };
	assert_true(p.in > 0);
	assert_int_equal(step(w->process[TARGET], NODE_ULTRA_RETURN, p.in), 0);
	if (last >= STEP_OFFERED)
		assert_int_equal(
			step(w->process[TARGET], NODE_ULTRA_READY, p.in), 0);
	if (last >= STEP_CONNECTED) {
		p.out = connect_by(w, by);
		assert_true(p.out > 0 && p.out != p.in);
		assert_int_equal(
			step(w->process[by], NODE_ULTRA_RETURN, p.out), 0);
	}
	if (last >= STEP_ENABLED) {
		assert_int_equal(
			step(w->process[by], NODE_ULTRA_READY, p.out), 0);
	}
	return p;
}

static void steps_have_an_order(void **state)
{
	(void)state;
	struct world w = world_begin();
	struct process *t = w.process[TARGET], *o = w.process[ORIGIN];
	int in = accept_from(&w, 0);
	assert_int_equal(connect_by(&w, ORIGIN), -EAGAIN);
	assert_int_equal(step(t, NODE_ULTRA_READY, in), 0);
	assert_int_equal(step(t, NODE_ULTRA_READY, in), -EINVAL);
	assert_int_equal(step(t, NODE_ULTRA_RETURN, in), -EINVAL);
	int out = connect_by(&w, ORIGIN);
	assert_true(out > 0);
	assert_int_equal(connect_by(&w, ORIGIN), -EAGAIN);
	assert_int_equal(step(o, NODE_ULTRA_READY, out), 0);
	assert_int_equal(step(o, NODE_ULTRA_READY, out), -EINVAL);
	assert_int_equal(step(o, NODE_ULTRA_RETURN, out), -EINVAL);
	/* All descriptors of the path are closed. */
	assert_int_equal(descriptors(), w.descriptors);
	assert_int_equal(step(o, NODE_ULTRA_CLOSE, out), 0);
	assert_int_equal(step(o, NODE_ULTRA_CLOSE, out), -EPIPE);
	assert_int_equal(step(t, NODE_ULTRA_WAKE, in), 0);
	assert_int_equal(step(t, NODE_ULTRA_CLOSE, in), 0);
	assert_int_equal(step(t, NODE_ULTRA_WAKE, in), -EPIPE);
	world_end(&w);
}

/* No process can use, or end, a path of others. */
static void ends_of_others(void **state)
{
	(void)state;
	static const enum node_request_kind kinds[] = { NODE_ULTRA_RETURN,
		NODE_ULTRA_READY, NODE_ULTRA_WAKE, NODE_ULTRA_CLOSE };
	for (int last = STEP_ACCEPTED; last <= STEP_ENABLED; last++) {
		struct world w = world_begin();
		struct path p = path_to(&w, ORIGIN, last, false);
		for (unsigned k = 0; k < ARRAY_COUNT(kinds); k++) {
			assert_int_equal(
				step(w.process[FOREIGN], kinds[k], p.in),
				-EPIPE);
			assert_int_equal(
				step(w.process[ORIGIN], kinds[k], p.in),
				-EPIPE);
			assert_int_equal(
				step(w.process[TARGET], kinds[k], p.out),
				-EPIPE);
			assert_int_equal(
				step(w.process[TARGET], kinds[k], 0), -EPIPE);
		}
		assert_int_equal(connect_by(&w, FOREIGN), -EAGAIN);
		world_end(&w);
	}
}

/*
 * Either side closes its end, closes its port, disconnects or exits after each
 * step: the other side can end too, and nothing is left.
 */
static void ends_at_each_step(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 2 * 2 * 2 * 4; i++) {
		int last = STEP_ACCEPTED + (int)(i % 4);
		int by = i / 4 % 2 ? FOREIGN : ORIGIN;
		bool any = by == ORIGIN && i / 8 % 2;
		int side = i / 16 % 2 ? TARGET : by;
		struct world w = world_begin();
		struct path p = path_to(&w, by, last, any);
		struct node_request q = { .kind = NODE_CLOSE };
		struct node_reply reply;
		switch (i / 32) {
		case 0:
			side_exits(&w, side);
			break;
		case 1:
			q.close.vpid = w.vpid[side];
			assert_int_equal(
				inside_call(w.process[side], &q, &reply), 0);
			break;
		case 2:
			process_disconnect(w.process[side]);
			break;
		default:
			step(w.process[side], NODE_ULTRA_CLOSE,
				side == TARGET ? p.in : p.out);
		}
		inside_settle(w.node);
		/* The step that would be next fails, or is of no use. */
		int other = side == TARGET ? by : TARGET;
		int upid = side == TARGET ? p.out : p.in;
		if (w.process[other] && upid) {
			step(w.process[other], NODE_ULTRA_READY, upid);
			step(w.process[other], NODE_ULTRA_WAKE, upid);
		}
		if (w.process[TARGET] && !w.process[TARGET]->socket_closed &&
			w.process[by] && !w.process[by]->socket_closed)
			connect_by(&w, by);
		if (w.process[other] && i % 3)
			side_exits(&w, other);
		world_end(&w);
	}
}

/* An origin that fails while it connects has had the slices: they end. */
static void slices_have_one_origin(void **state)
{
	(void)state;
	struct world w = world_begin();
	struct path p = path_to(&w, ORIGIN, STEP_CONNECTED, true);
	side_exits(&w, ORIGIN);
	w.process[ORIGIN] = inside_join(w.node, 2000, "a");
	w.vpid[ORIGIN] = inside_open(w.process[ORIGIN])->config.vpid;
	assert_int_equal(connect_by(&w, ORIGIN), -EAGAIN);
	assert_int_equal(step(w.process[TARGET], NODE_ULTRA_CLOSE, p.in), 0);
	world_end(&w);
}

/* The objects are sealed as soon as their writer has mapped them. */
static void objects_are_sealed(void **state)
{
	(void)state;
	struct world w = world_begin();
	struct node_request q = { .kind = NODE_ULTRA_ACCEPT };
	struct node_reply reply;
	int fd = -1;
	q.ultra.vpid = w.vpid[TARGET];
	q.ultra.slice_log2 = 6;
	request_execute(w.process[TARGET], &q, &reply, &fd);
	assert_int_equal(reply.error, 0);
	uint64_t bytes = ultra_slices_bytes(6, reply.ultra.slices_log2);
	int in = reply.ultra.upid;
	/* For reading only. */
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_true(
		mmap(NULL, bytes, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	close(fd);
	q = (struct node_request){ .kind = NODE_ULTRA_RETURN };
	q.ultra_end.upid = (uint16_t)in;
	request_execute(w.process[TARGET], &q, &reply, &fd);
	assert_int_equal(reply.error, 0);
	int page = dup(fd);
	assert_int_equal(step(w.process[TARGET], NODE_ULTRA_READY, in), 0);
	assert_true(mmap(NULL, ULTRA_PAGE, PROT_WRITE, MAP_SHARED, page, 0) ==
		    MAP_FAILED);
	assert_int_equal(ftruncate(page, 0), -1);
	close(page);
	q = (struct node_request){ .kind = NODE_ULTRA_CONNECT };
	q.ultra.vpid = w.vpid[ORIGIN];
	q.ultra.peer = w.vpid[TARGET];
	q.ultra.node = w.node->id;
	request_execute(w.process[ORIGIN], &q, &reply, &fd);
	assert_int_equal(reply.error, 0);
	int slices = dup(fd);
	assert_int_equal(
		step(w.process[ORIGIN], NODE_ULTRA_READY, reply.ultra.upid), 0);
	assert_true(mmap(NULL, bytes, PROT_WRITE, MAP_SHARED, slices, 0) ==
		    MAP_FAILED);
	assert_int_equal(
		fallocate(slices, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			(off_t)bytes),
		-1);
	close(slices);
	world_end(&w);
}

static void quotas(void **state)
{
	(void)state;
	struct world w = world_begin();
	w.node->quota.process[QUOTA_OFFERS] = 3;
	w.node->quota.process[QUOTA_PATHS] = 5;
	int in[5];
	for (int i = 0; i < 3; i++)
		in[i] = path_to(&w, ORIGIN, STEP_OFFERED, true).in;
	assert_int_equal(accept_from(&w, 0), -EDQUOT);
	/* A path is an offer until the node has closed its descriptors. */
	for (int i = 0; i < 2; i++) {
		int out = connect_by(&w, ORIGIN);
		assert_true(out > 0);
		assert_int_equal(w.node->ultra_offers, 3 - i);
		assert_int_equal(
			step(w.process[ORIGIN], NODE_ULTRA_READY, out), 0);
		assert_int_equal(w.node->ultra_offers, 2 - i);
	}
	for (int i = 3; i < 5; i++)
		in[i] = path_to(&w, ORIGIN, STEP_OFFERED, true).in;
	assert_int_equal(accept_from(&w, 0), -EDQUOT);
	for (int i = 0; i < 3; i++)
		assert_true(connect_by(&w, ORIGIN) > 0);
	assert_int_equal(accept_from(&w, 0), -EDQUOT);
	for (int i = 0; i < 5; i++)
		assert_int_equal(
			step(w.process[TARGET], NODE_ULTRA_CLOSE, in[i]), 0);
	/* The origin has five ends. */
	assert_true(path_to(&w, ORIGIN, STEP_OFFERED, true).in > 0);
	assert_int_equal(connect_by(&w, ORIGIN), -EDQUOT);
	assert_int_equal(prepare(&w, NODE_ULTRA_ACCEPT, TARGET, 0, 5), -EINVAL);
	assert_int_equal(
		prepare(&w, NODE_ULTRA_ACCEPT, TARGET, 0, 13), -EINVAL);
	world_end(&w);
}

/* Offers leave descriptors for others, also if the quotas would not. */
static void offers_leave_descriptors(void **state)
{
	(void)state;
	struct world w = world_begin();
	struct rlimit before, few;
	int offers = 0, r;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((r = accept_from(&w, 0)) > 0)
		offers++;
	assert_int_equal(r, -EDQUOT);
	assert_int_equal(offers, 256 / 8);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	side_exits(&w, TARGET);
	assert_int_equal(w.node->ultra_offers, 0);
	world_end(&w);
}

/* UPIDs are reused as late as possible; never 0, or one that is in use. */
static void upids(void **state)
{
	(void)state;
	struct world w = world_begin();
	int kept = accept_from(&w, 0), last = kept;
	for (unsigned i = 0; i < 3 * 8; i++) {
		/* Around the end of the numbers, thrice. */
		if (i % 8 == 0)
			w.node->upid_last = UINT16_MAX - 3;
		int in = accept_from(&w, 0);
		assert_true(in > 0 && in != kept && in != last);
		assert_int_equal(
			step(w.process[TARGET], NODE_ULTRA_CLOSE, in), 0);
		last = in;
	}
	assert_int_equal(last, 6); /* 0 and 1 are skipped */
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_an_order),
		cmocka_unit_test(ends_of_others),
		cmocka_unit_test(ends_at_each_step),
		cmocka_unit_test(slices_have_one_origin),
		cmocka_unit_test(objects_are_sealed),
		cmocka_unit_test(quotas),
		cmocka_unit_test(offers_leave_descriptors),
		cmocka_unit_test(upids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
