/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that is not what it should be: another version, a broken one, one
 * that hangs. The client answers with an errno; it never crashes, takes a
 * SIGBUS, hangs or keeps a descriptor.
 */
#include "base/bits.h"
#include "device/queue_set.h"
#include "fake.h"

#define RANDOM_REPLIES 300
#define RANDOM_CONFIGS 600

/* cay_port_open() of a fake: 0, or its errno. */
static int open_fake(struct fake *f)
{
	int before = fd_count(getpid());
	fake_start(f);
	struct cay_port *port = cay_port_open(NULL);
	int r = port ? 0 : errno;
	if (port)
		cay_port_close(port);
	fake_stop(f);
	int after = fd_count(getpid());
	if (after != before)
		fail_msg("%d descriptors before, %d after", before, after);
	return r;
}

/* ---- what HELLO brings ---- */

struct spoil {
	const char *how;
	void (*spoil)(struct offer *);
	int expected;
};

static void refuses_version(struct offer *o)
{
	o->reply.error = -EPROTONOSUPPORT;
	o->no_arena = true;
}

static void refuses_us(struct offer *o)
{
	o->reply.error = -EPERM;
	o->no_arena = true;
}

/* A refusal that brings a descriptor all the same. */
static void refuses_with_arena(struct offer *o)
{
	o->reply.error = -ENOSPC;
}

static void positive_error(struct offer *o)
{
	o->reply.error = 12345;
}

static void absurd_error(struct offer *o)
{
	o->reply.error = INT32_MIN;
}

static void no_descriptor(struct offer *o)
{
	o->no_arena = true;
}

static void short_reply(struct offer *o)
{
	o->reply_bytes = sizeof(struct node_reply) - 1;
}

static void one_byte(struct offer *o)
{
	o->reply_bytes = 1;
}

static void long_reply(struct offer *o)
{
	o->reply_bytes = sizeof(struct node_reply) + 1;
}

static void very_long_reply(struct offer *o)
{
	o->reply_bytes = 8192;
}

static void other_arena_version(struct offer *o)
{
	o->header.major++;
}

static void unknown_features(struct offer *o)
{
	o->header.features = 1;
}

static void not_an_arena(struct offer *o)
{
	o->header.magic ^= 1;
}

static void header_size_beyond(struct offer *o)
{
	o->header.size = UINT64_MAX;
}

static void header_size_small(struct offer *o)
{
	o->header.size = ARENA_HEAP_OFFSET;
}

static void directory_elsewhere(struct offer *o)
{
	o->header.directory_offset += 4096;
}

static void controls_elsewhere(struct offer *o)
{
	o->header.control_offset[1] = UINT64_MAX - 4095;
}

static void heap_elsewhere(struct offer *o)
{
	o->header.heap_offset = 0;
}

static void truncated(struct offer *o)
{
	o->arena_bytes /= 2;
}

static void longer_than_said(struct offer *o)
{
	o->arena_bytes += 4096;
}

static void too_small(struct offer *o)
{
	o->arena_bytes = o->reply.hello.arena_bytes = 4096;
	o->header.size = 4096;
}

static void empty(struct offer *o)
{
	o->arena_bytes = o->reply.hello.arena_bytes = 0;
}

static void absurd_size(struct offer *o)
{
	o->reply.hello.arena_bytes = UINT64_MAX;
}

static void unsealed(struct offer *o)
{
	o->seals = 0;
}

static void may_shrink(struct offer *o)
{
	o->seals = F_SEAL_GROW;
}

static void not_writable(struct offer *o)
{
	o->seals |= F_SEAL_WRITE;
}

static void records_nowhere(struct offer *o)
{
	o->reply.hello.records = 0;
}

static void records_in_tables(struct offer *o)
{
	o->reply.hello.records = ARENA_DIRECTORY_OFFSET;
}

static void records_between_pages(struct offer *o)
{
	o->reply.hello.records = ARENA_HEAP_OFFSET + 64;
}

static void records_outside(struct offer *o)
{
	o->reply.hello.records = FAKE_ARENA_BYTES;
}

static void records_absurd(struct offer *o)
{
	o->reply.hello.records = UINT64_MAX - 4095;
}

#define ANY -1 /* some errno */

static const struct spoil spoils[] = {
	{ "refuses the version", refuses_version, EPROTONOSUPPORT },
	{ "refuses us", refuses_us, EPERM },
	{ "refuses, with an arena", refuses_with_arena, ENOSPC },
	{ "positive error", positive_error, EPROTO },
	{ "absurd error", absurd_error, EPROTO },
	{ "no descriptor", no_descriptor, EPROTO },
	{ "short reply", short_reply, EPROTO },
	{ "one byte", one_byte, EPROTO },
	{ "long reply", long_reply, EPROTO },
	{ "very long reply", very_long_reply, EPROTO },
	{ "other arena version", other_arena_version, EPROTONOSUPPORT },
	{ "unknown features", unknown_features, EPROTONOSUPPORT },
	{ "not an arena", not_an_arena, EPROTO },
	{ "header's size beyond", header_size_beyond, EBADMSG },
	{ "header's size small", header_size_small, EBADMSG },
	{ "directory elsewhere", directory_elsewhere, EBADMSG },
	{ "controls elsewhere", controls_elsewhere, EBADMSG },
	{ "heap elsewhere", heap_elsewhere, EBADMSG },
	{ "truncated", truncated, EBADMSG },
	{ "longer than said", longer_than_said, EBADMSG },
	{ "too small", too_small, EBADMSG },
	{ "empty", empty, EBADMSG },
	{ "absurd size", absurd_size, EBADMSG },
	{ "unsealed", unsealed, EBADMSG },
	{ "may shrink", may_shrink, EBADMSG },
	{ "not writable", not_writable, ANY },
	{ "records nowhere", records_nowhere, EPROTO },
	{ "records in tables", records_in_tables, EPROTO },
	{ "records between pages", records_between_pages, EPROTO },
	{ "records outside", records_outside, EPROTO },
	{ "records absurd", records_absurd, EPROTO },
};

static void spoilt_offers_are_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(spoils); i++) {
		struct fake f = { .offer = offer_good() };
		spoils[i].spoil(&f.offer);
		int r = open_fake(&f);
		if (r != spoils[i].expected &&
			!(spoils[i].expected == ANY && r > 0 && r < 4096))
			fail_msg("%s: errno %d instead of %d", spoils[i].how, r,
				spoils[i].expected);
	}
}

/* Descriptors of every other kind. */
static void other_descriptors_are_refused(void **state)
{
	int ends[2];
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	int kinds[] = { open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/dev/zero", O_RDWR | O_CLOEXEC),
		open("/", O_RDONLY | O_CLOEXEC), eventfd(0, EFD_CLOEXEC),
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[0],
		ends[1] };
	for (unsigned i = 0; i < ARRAY_COUNT(kinds); i++) {
		struct fake f = { .offer = offer_good() };
		f.offer.fds[0] = kinds[i];
		int r = open_fake(&f);
		if (r != EBADMSG)
			fail_msg("kind %u: errno %d", i, r);
	}
	for (unsigned i = 0; i < ARRAY_COUNT(kinds); i++)
		close(kinds[i]);
}

/* More than one comes along: none of them may stay. */
static void surplus_descriptors_are_closed(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)state;
	for (unsigned count = 2; count <= 3; count++) {
		struct fake f = { .offer = offer_good() };
		for (unsigned i = 0; i < count; i++)
			f.offer.fds[i] = null;
		assert_int_not_equal(open_fake(&f), 0);
	}
	close(null);
}

static void garbage_is_refused(void **state)
{
	uint64_t seed = chance_seed();
	(void)state;
	for (unsigned i = 0; i < RANDOM_REPLIES; i++) {
		struct fake f = { .offer = offer_good() };
		f.offer.no_arena = i % 2;
		chance_fill(&seed, &f.offer.reply, sizeof(f.offer.reply));
		if (i % 3 == 0)
			f.offer.reply.error = 0;
		int r = open_fake(&f);
		if (r <= 0 || r >= 4096)
			fail_msg("garbage %u gave errno %d", i, r);
	}
}

/* ---- what comes after HELLO ---- */

static struct queue_config damaged; /* what the next OPEN makes */

static void answer_open(
	struct fake *f, const struct node_request *q, struct node_reply *reply)
{
	struct arena a = { .base = f->base, .bytes = f->offer.arena_bytes };
	if (q->kind != NODE_OPEN)
		return;
	struct queue_control *c = arena_control(&a, 5, 1);
	memset(c, 0, sizeof(*c));
	c->config = damaged;
	atomic_store(&c->epoch, 1);
	reply->open.vpid = 5;
	reply->open.epoch = 1;
}

static struct queue_config config_good(void)
{
	struct queue_options options = { .nq_log2 = 4, .rdr_log2 = 10 };
	struct queue_config c;
	queue_set_layout(&c, &options);
	c.vpid = 5;
	c.epoch = 1;
	c.queues_offset = ARENA_HEAP_OFFSET + ARENA_PAGE;
	c.tables_offset = c.queues_offset + c.queues_bytes;
	return c;
}

static void damaged_queue_sets_are_refused(void **state)
{
	uint64_t seed = chance_seed();
	unsigned refused = 0;
	(void)state;
	damaged = config_good();
	struct fake good = { .offer = offer_good(), .answer = answer_open };
	assert_int_equal(open_fake(&good), 0);
	for (unsigned i = 0; i < RANDOM_CONFIGS; i++) {
		struct fake f = good;
		damaged = config_good();
		unsigned char *bytes = (void *)&damaged;
		for (unsigned j = 0; j <= i % 3; j++)
			bytes[chance_below(&seed, sizeof(damaged))] =
				(unsigned char)chance_next(&seed);
		/* Some damage does no harm; whatever it is, nobody crashes. */
		int r = open_fake(&f);
		refused += r == EBADMSG;
		assert_true(r == 0 || r == EBADMSG);
	}
	assert_true(refused > RANDOM_CONFIGS / 4);
}

static void answer_absurdly(
	struct fake *f, const struct node_request *q, struct node_reply *reply)
{
	answer_open(f, q, reply);
	if (q->kind == NODE_RESOLVE) {
		reply->resolve.vpid = q->resolve.target;
		reply->resolve.epoch = 1;
		reply->resolve.index = q->resolve.target == 5 ? UINT32_MAX : 0;
	}
	if (q->kind == NODE_ALLOC)
		reply->alloc.offset = UINT64_MAX - 100;
}

static void absurd_answers_are_refused(void **state)
{
	struct fake f = { .offer = offer_good(), .answer = answer_absurdly };
	struct cay_addr self = { FAKE_NODE, 5 }, other = { FAKE_NODE, 6 };
	struct cay_peer *peer;
	(void)state;
	damaged = config_good();
	fake_start(&f);
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	/* A peer outside the table; one that the arena does not know. */
	assert_int_equal(cay_peer_resolve(port, self, &peer), -EPROTO);
	assert_int_equal(cay_peer_resolve(port, other, &peer), -ENXIO);
	assert_null(cay_alloc(port, 4096, 0));
	assert_int_equal(errno, EPROTO);
	assert_int_equal(cay_port_close(port), 0);
	fake_stop(&f);
}

/* ---- a node that goes away, and one that hangs ---- */

static int persistent_body(void *argument)
{
	struct fake *f = argument;
	close(f->listener); /* it is the parent's alone */
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	NEED(cay_port_addr(port).node != FAKE_NODE);
	return 0;
}

static void a_node_that_hangs_up_is_replaced(void **state)
{
	struct fake f = { .offer = offer_good(), .hang_ups = 1000 };
	(void)state;
	fake_start(&f);
	/* It gives way after a while, and a real one takes the name. */
	pid_t child = child_start(persistent_body, &f);
	clock_nap_ns(100 * CLOCK_NS_PER_MS);
	fake_stop(&f);
	assert_int_equal(child_join(child), 0);
}

/* Ten seconds are the longest that a client waits. */
static int silent_body(void *unused)
{
	struct fake f = { .offer = offer_good(), .silent = true };
	(void)unused;
	fake_start(&f);
	uint64_t since = clock_now_ns();
	NEED(cay_port_open(NULL) == NULL);
	NEED(errno == ETIMEDOUT);
	NEED(elapsed_ms(since) < 14000);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spoilt_offers_are_refused),
		cmocka_unit_test(other_descriptors_are_refused),
		cmocka_unit_test(surplus_descriptors_are_closed),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(damaged_queue_sets_are_refused),
		cmocka_unit_test(absurd_answers_are_refused),
		cmocka_unit_test(a_node_that_hangs_up_is_replaced),
	};
	harness_begin("fake");
	/* Ten seconds of waiting, beside all the others. */
	pid_t silent = child_start(silent_body, NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (child_join(silent) != 0) {
		print_error("a node that says nothing: see above\n");
		failed++;
	}
	return failed;
}
