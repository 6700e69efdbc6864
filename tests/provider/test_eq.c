/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues. */
#include <poll.h>
#include <string.h>

#include "harness.h"

static struct fid_eq *open_eq(
	struct stack *s, uint64_t flags, enum fi_wait_obj object)
{
	struct fid_eq *eq;
	struct fi_eq_attr attr = { .flags = flags, .wait_obj = object };
	assert_int_equal(fi_eq_open(s->fabric, &attr, &eq, NULL), 0);
	return eq;
}

static void write_event(struct fid_eq *eq, uintptr_t number)
{
	struct fi_eq_entry e = { .fid = &eq->fid, .context = (void *)number };
	assert_int_equal(
		fi_eq_write(eq, FI_NOTIFY, &e, sizeof(e), 0), sizeof(e));
}

static void check_event(const struct fi_eq_entry *e, uint32_t kind,
	const struct fid_eq *eq, uintptr_t number)
{
	assert_int_equal(kind, FI_NOTIFY);
	assert_true(e->fid == &eq->fid);
	assert_int_equal((uintptr_t)e->context, number);
}

static void read_event(struct fid_eq *eq, uint64_t flags, uintptr_t number)
{
	struct fi_eq_entry e = { 0 };
	uint32_t kind = 99;
	assert_int_equal(
		fi_eq_read(eq, &kind, &e, sizeof(e), flags), sizeof(e));
	check_event(&e, kind, eq, number);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, 0) == 1;
}

/* Each case has a fabric and a domain. */
typedef void eq_case(struct stack *);

static void body(struct process *me, void *argument)
{
	eq_case *run = *(eq_case **)argument;
	struct stack s;
	(void)me;
	stack_open(&s, &(struct options){ .disabled = true });
	run(&s);
	stack_close(&s);
}

static void run_case(eq_case *run)
{
	group_run(1, body, &run);
}

/* ---- */

static void refuse_case(struct stack *s)
{
	struct fi_eq_entry e = { 0 };
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_attr flags = { .flags = 1ull << 60 };
	struct fi_eq_attr set = { .wait_obj = FI_WAIT_SET };
	struct fid_eq *eq = NULL;
	uint32_t kind;
	assert_int_equal(fi_eq_open(s->fabric, &flags, &eq, NULL), -FI_EINVAL);
	assert_int_equal(fi_eq_open(s->fabric, &set, &eq, NULL), -FI_ENOSYS);
	assert_true(eq == NULL);
	eq = open_eq(s, 0, FI_WAIT_NONE);
	assert_int_equal(
		fi_eq_write(eq, FI_NOTIFY, &e, sizeof(e), 0), -FI_EINVAL);
	assert_int_equal(fi_eq_read(eq, &kind, &e, sizeof(e), 0), -FI_EAGAIN);
	assert_int_equal(fi_eq_read(eq, &kind, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(
		fi_eq_read(eq, &kind, &e, sizeof(e), 1ull << 60), -FI_EINVAL);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	assert_int_equal(
		fi_eq_sread(eq, &kind, &e, sizeof(e), 0, 0), -FI_ENOSYS);
	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &kind), -FI_ENODATA);
	assert_true(fi_eq_strerror(eq, FI_EINVAL, NULL, NULL, 0) != NULL);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void refuses_invalid_calls(void **state)
{
	(void)state;
	run_case(refuse_case);
}

static void order_case(struct stack *s)
{
	struct fid_eq *eq = open_eq(s, FI_WRITE, FI_WAIT_NONE);
	struct fi_eq_entry e;
	uint32_t kind;
	for (uintptr_t i = 0; i < 1000; i++)
		write_event(eq, i);
	assert_int_equal(
		fi_eq_read(eq, &kind, &e, sizeof(e) - 1, 0), -FI_ETOOSMALL);
	for (uintptr_t i = 0; i < 900; i++) {
		read_event(eq, FI_PEEK, i);
		read_event(eq, 0, i);
	}
	/* Unread events are freed with the queue. */
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void keeps_order(void **state)
{
	(void)state;
	run_case(order_case);
}

static void descriptor_case(struct stack *s)
{
	struct fid_eq *eq = open_eq(s, FI_WRITE, FI_WAIT_FD);
	struct fid *fid = &eq->fid;
	enum fi_wait_obj object;
	int fd;
	assert_int_equal(fi_control(fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(fi_control(fid, FI_GETWAITOBJ, &object), 0);
	assert_int_equal(object, FI_WAIT_FD);
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), 0);
	assert_true(!readable(fd));
	write_event(eq, 1);
	write_event(eq, 2);
	assert_true(readable(fd));
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), -FI_EAGAIN);
	read_event(eq, FI_PEEK, 1);
	read_event(eq, 0, 1);
	assert_true(readable(fd));
	read_event(eq, 0, 2);
	assert_true(!readable(fd));
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), 0);
	assert_int_equal(fi_close(fid), 0);
}

static void has_a_descriptor(void **state)
{
	(void)state;
	run_case(descriptor_case);
}

static void timeout_case(struct stack *s)
{
	struct fid_eq *eq = open_eq(s, FI_WRITE, FI_WAIT_UNSPEC);
	struct fi_eq_entry e;
	uint32_t kind;
	uint64_t begin = now_ns();
	assert_int_equal(
		fi_eq_sread(eq, &kind, &e, sizeof(e), 50, 0), -FI_EAGAIN);
	assert_true(now_ns() - begin >= 50 * NS_PER_MS);
	assert_int_equal(
		fi_eq_sread(eq, &kind, &e, sizeof(e), 0, 0), -FI_EAGAIN);
	write_event(eq, 7);
	assert_int_equal(
		fi_eq_sread(eq, &kind, &e, sizeof(e), -1, FI_PEEK), sizeof(e));
	check_event(&e, kind, eq, 7);
	assert_int_equal(
		fi_eq_sread(eq, &kind, &e, sizeof(e), -1, 0), sizeof(e));
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void sleeps_with_a_timeout(void **state)
{
	(void)state;
	run_case(timeout_case);
}

/* ---- several sleepers: each event is read once ---- */

#define READERS 4
#define EVENTS	2000

struct reader {
	pthread_t thread;
	struct fid_eq *eq;
	uint64_t sum;
};

static void *reader_run(void *argument)
{
	struct reader *r = argument;
	struct fi_eq_entry e;
	uint32_t kind;
	for (;;) {
		assert_int_equal(
			fi_eq_sread(r->eq, &kind, &e, sizeof(e), -1, 0),
			sizeof(e));
		if (!e.context)
			return NULL;
		r->sum += (uintptr_t)e.context;
	}
}

static void readers_case(struct stack *s)
{
	struct fid_eq *eq = open_eq(s, FI_WRITE, FI_WAIT_FD);
	struct reader readers[READERS];
	struct random random = { 1 };
	uint64_t sum = 0;
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .eq = eq };
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
					 reader_run, &readers[i]),
			0);
	}
	for (uintptr_t i = 1; i <= EVENTS; i++) {
		write_event(eq, i);
		random_pause(&random, 50 * NS_PER_US);
	}
	for (int i = 0; i < READERS; i++)
		write_event(eq, 0);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		sum += readers[i].sum;
	}
	assert_int_equal(sum, EVENTS * (EVENTS + 1ull) / 2);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void wakes_several(void **state)
{
	(void)state;
	run_case(readers_case);
}

/* ---- errors ---- */

static void error_read(struct fid_eq *eq, uint32_t version)
{
	const size_t mark = 12345;
	struct fi_eq_err_entry error = { .err_data_size = mark };
	struct fi_eq_entry e;
	uint32_t kind;
	bool old = FI_VERSION_LT(version, FI_VERSION(1, 5));
	assert_int_equal(fi_eq_read(eq, &kind, &e, sizeof(e), 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_int_equal(error.err, FI_EINVAL);
	assert_int_equal(error.data, 0);
	/* Entries before API 1.5 did not have this member. */
	assert_int_equal(error.err_data_size, old ? mark : 0);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	assert_int_equal(fi_eq_read(eq, &kind, &e, sizeof(e), 0), sizeof(e));
	assert_int_equal(kind, FI_AV_COMPLETE);
}

/* An insertion that fails, in a fabric of that version. */
static void error_of_version(struct stack *s, uint32_t version)
{
	char invalid[ADDRESS_MAX] = "fi_other://";
	struct fi_av_attr attr = { .flags = FI_EVENT };
	struct stack o = { .info = s->info };
	s->info->fabric_attr->api_version = version;
	assert_int_equal(fi_fabric(o.info->fabric_attr, &o.fabric, NULL), 0);
	assert_int_equal(fi_domain(o.fabric, o.info, &o.domain, NULL), 0);
	struct fid_eq *eq = open_eq(&o, 0, FI_WAIT_NONE);
	assert_int_equal(fi_av_open(o.domain, &attr, &o.av, NULL), 0);
	assert_int_equal(fi_av_bind(o.av, &eq->fid, 0), 0);
	assert_int_equal(fi_av_insert(o.av, invalid, 1, NULL, 0, NULL), 0);
	error_read(eq, version);
	assert_int_equal(fi_close(&o.av->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&o.domain->fid), 0);
	assert_int_equal(fi_close(&o.fabric->fid), 0);
}

static void error_case(struct stack *s)
{
	error_of_version(s, FI_VERSION(1, 4));
	error_of_version(s, API_VERSION);
}

static void errors_come_first(void **state)
{
	(void)state;
	run_case(error_case);
}

static void busy_case(struct stack *s)
{
	struct fid_eq *eq = open_eq(s, 0, FI_WAIT_NONE);
	assert_int_equal(fi_ep_bind(s->ep, &eq->fid, 0), 0);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&s->ep->fid), 0);
	s->ep = NULL;
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void is_busy_while_bound(void **state)
{
	(void)state;
	run_case(busy_case);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(refuses_invalid_calls),
		TEST(keeps_order),
		TEST(has_a_descriptor),
		TEST(sleeps_with_a_timeout),
		TEST(wakes_several),
		TEST(errors_come_first),
		TEST(is_busy_while_bound),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
