/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: which objects must be bound before they are enabled, calls before
 * and after that, and closing.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static void run_alone(process_body *body)
{
	group_run(1, body, NULL);
}

/* ---- names ---- */

static void name_body(struct process *me, void *argument)
{
	struct stack s;
	char name[ADDRESS_MAX] = { 0 }, again[ADDRESS_MAX] = { 0 };
	size_t length = 0;
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	assert_int_equal(fi_getname(&s.ep->fid, NULL, &length), -FI_ETOOSMALL);
	assert_true(length > 0 && length <= sizeof(name));
	size_t whole = length;
	length = 3;
	assert_int_equal(fi_getname(&s.ep->fid, name, &length), -FI_ETOOSMALL);
	assert_int_equal(length, whole);
	assert_int_equal(name[3], 0);
	assert_int_equal(fi_getname(&s.ep->fid, name, &length), 0);
	assert_int_equal(length, whole);
	length = sizeof(again);
	assert_int_equal(fi_getname(&s.ep->fid, again, &length), 0);
	assert_int_equal(length, whole);
	assert_int_equal(memcmp(name, again, whole), 0);
	stack_close(&s);
}

static void the_length_of_a_name_is_returned(void **state)
{
	(void)state;
	run_alone(name_body);
}

/* ---- binding ---- */

static void unbound_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open_domain(&s, &(struct options){ 0 });
	assert_int_equal(fi_endpoint(s.domain, s.info, &s.ep, NULL), 0);
	assert_true(fi_enable(s.ep) < 0);
	assert_int_equal(fi_ep_bind(s.ep, &s.txcq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(s.ep, &s.rxcq->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(s.ep), -FI_ENOAV);
	assert_int_equal(fi_close(&s.ep->fid), 0);
	assert_int_equal(fi_endpoint(s.domain, s.info, &s.ep, NULL), 0);
	assert_int_equal(fi_ep_bind(s.ep, &s.av->fid, 0), 0);
	assert_int_equal(fi_enable(s.ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(s.ep, &s.txcq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(s.ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(s.ep, &s.rxcq->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(s.ep), 0);
	stack_close(&s);
}

static void missing_objects_are_reported(void **state)
{
	(void)state;
	run_alone(unbound_body);
}

static void wrong_bind_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open_domain(&s, &(struct options){ 0 });
	assert_int_equal(fi_endpoint(s.domain, s.info, &s.ep, NULL), 0);
	assert_true(fi_ep_bind(s.ep, &s.txcq->fid, 1ull << 60) < 0);
	assert_true(fi_ep_bind(s.ep, &s.fabric->fid, 0) < 0);
	assert_true(fi_ep_bind(s.ep, &s.ep->fid, 0) < 0);
	assert_int_equal(fi_ep_bind(s.ep, &s.av->fid, 0), 0);
	assert_int_equal(
		fi_ep_bind(s.ep, &s.txcq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(s.ep), 0);
	/* After it was enabled. */
	assert_true(fi_ep_bind(s.ep, &s.rxcq->fid, FI_RECV) < 0);
	assert_int_equal(fi_close(&s.rxcq->fid), 0);
	s.rxcq = NULL;
	stack_close(&s);
}

static void invalid_bindings_are_refused(void **state)
{
	(void)state;
	run_alone(wrong_bind_body);
}

/* ---- before it is enabled ---- */

static void disabled_body(struct process *me, void *argument)
{
	struct stack s;
	char word[8] = { 0 };
	struct iovec iov = { word, 8 };
	struct fi_msg m = { &iov, NULL, 1, 0, NULL, 0 };
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ .disabled = true });
	assert_int_equal(
		fi_send(s.ep, word, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_sendmsg(s.ep, &m, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_inject(s.ep, word, 8, 0), -FI_EOPBADSTATE);
	assert_int_equal(
		fi_tsend(s.ep, word, 8, NULL, 0, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(
		fi_recv(s.ep, word, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(
		fi_trecv(s.ep, word, 8, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	cq_expect_none(s.rxcq);
	stack_close(&s);
}

static void calls_fail_before_it_is_enabled(void **state)
{
	(void)state;
	run_alone(disabled_body);
}

/* ---- busy ---- */

static void busy_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	assert_int_equal(fi_close(&s.fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&s.domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&s.av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&s.txcq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&s.rxcq->fid), -FI_EBUSY);
	stack_close(&s);
}

static void objects_in_use_cannot_be_closed(void **state)
{
	(void)state;
	run_alone(busy_body);
}

/* With operations in flight: they end with the endpoint. */
static void posted_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = calloc(1, 1 << 20);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < 10; i++) {
		MUST(&s, fi_recv(s.ep, buffer, 8, NULL, s.peers[0], buffer));
		MUST(&s, fi_tsend(s.ep, buffer, 1 << 20, NULL,
				 s.peers[1 - me->rank], i, buffer));
		MUST(&s, fi_tsend(s.ep, buffer, 100, NULL,
				 s.peers[1 - me->rank], i, buffer));
	}
	stack_leave(&s, me);
	free(buffer);
}

static void an_endpoint_may_be_closed_at_any_time(void **state)
{
	(void)state;
	group_run(2, posted_body, NULL);
}

/* ---- several ---- */

static void talk(
	struct stack *s, struct fid_ep *from, fi_addr_t to, struct fid_ep *at)
{
	uint64_t sent = 77, got = 0;
	MUST(s, fi_trecv(at, &got, 8, NULL, FI_ADDR_UNSPEC, 3, 0, &got));
	MUST(s, fi_tsend(from, &sent, 8, NULL, to, 3, &sent));
	cq_expect(s->rxcq, &got);
	cq_expect(s->txcq, &sent);
	assert_int_equal(got, sent);
}

/* Two endpoints of one domain, with the same queues. */
static void siblings_body(struct process *me, void *argument)
{
	struct stack s, other;
	fi_addr_t own, second;
	char name[ADDRESS_MAX];
	size_t length = sizeof(name);
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	other = s;
	stack_open_ep(&other, &(struct options){ 0 });
	assert_int_equal(fi_getname(&s.ep->fid, name, &length), 0);
	assert_int_equal(fi_av_insert(s.av, name, 1, &own, 0, NULL), 1);
	assert_int_equal(fi_getname(&other.ep->fid, name, &length), 0);
	assert_int_equal(fi_av_insert(s.av, name, 1, &second, 0, NULL), 1);
	assert_true(own != second);
	talk(&s, s.ep, second, other.ep);
	talk(&s, other.ep, own, s.ep);
	talk(&s, s.ep, own, s.ep);
	assert_int_equal(fi_close(&s.ep->fid), 0);
	assert_int_equal(fi_close(&s.txcq->fid), -FI_EBUSY);
	talk(&s, other.ep, second, other.ep);
	stack_close(&other);
}

static void two_of_one_domain_communicate(void **state)
{
	(void)state;
	run_alone(siblings_body);
}

/* Open, communicate, close, many times, without leaks. */
static void again_body(struct process *me, void *argument)
{
	(void)argument;
	for (unsigned i = 0; i < scaled(60); i++) {
		struct stack s;
		stack_open(&s, &(struct options){ 0 });
		stack_join(&s, me);
		talk(&s, s.ep, s.peers[0], s.ep);
		stack_leave(&s, me);
	}
}

static void it_can_be_reopened_many_times(void **state)
{
	(void)state;
	run_alone(again_body);
}

/* ---- by service ---- */

/* Rank 0 has a service; rank 1 knows only that. */
static void service_body(struct process *me, void *argument)
{
	struct options mine = { .service = me->rank == 0 ? "7471" : NULL };
	struct stack s;
	struct fi_info *hints = stack_hints(&mine), *found;
	uint64_t word = 9;
	(void)argument;
	stack_open(&s, &mine);
	process_barrier(me, &s);
	if (me->rank == 1) {
		assert_int_equal(fi_getinfo(API_VERSION, "127.0.0.1", "7471", 0,
					 hints, &found),
			0);
		assert_true(found->dest_addr != NULL);
		assert_int_equal(fi_av_insert(s.av, found->dest_addr, 1,
					 &s.peers[0], 0, NULL),
			1);
		MUST(&s, fi_tinject(s.ep, &word, 8, s.peers[0], 1));
		fi_freeinfo(found);
	} else {
		word = 0;
		MUST(&s, fi_trecv(s.ep, &word, 8, NULL, FI_ADDR_UNSPEC, 1, 0,
				 &word));
		cq_expect(s.rxcq, &word);
		assert_int_equal(word, 9);
	}
	fi_freeinfo(hints);
	stack_leave(&s, me);
}

static void endpoints_are_found_by_service(void **state)
{
	(void)state;
	group_run(2, service_body, NULL);
}

/* ---- unsupported calls ---- */

static void missing_body(struct process *me, void *argument)
{
	struct stack s;
	struct fid_ep *ep;
	struct fid_pep *pep;
	struct fid_stx *stx;
	size_t bytes = 1;
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	assert_true(fi_connect(s.ep, "x", NULL, 0) < 0);
	assert_true(fi_accept(s.ep, NULL, 0) < 0);
	assert_true(fi_shutdown(s.ep, 0) < 0);
	assert_true(fi_passive_ep(s.fabric, s.info, &pep, NULL) < 0);
	assert_true(fi_scalable_ep(s.domain, s.info, &ep, NULL) < 0);
	assert_true(fi_stx_context(s.domain, NULL, &stx, NULL) < 0);
	assert_true(fi_tx_context(s.ep, 0, NULL, &ep, NULL) < 0);
	assert_true(fi_setopt(&s.ep->fid, FI_OPT_ENDPOINT, 12345, &bytes,
			    sizeof(bytes)) < 0);
	assert_true(fi_setopt(&s.ep->fid, FI_OPT_ENDPOINT,
			    FI_OPT_MIN_MULTI_RECV, &bytes, 1) < 0);
	assert_true(fi_control(&s.ep->fid, 12345, NULL) < 0);
	assert_true(fi_enable(s.ep) <= 0);
	stack_close(&s);
}

static void unsupported_calls_are_refused(void **state)
{
	(void)state;
	run_alone(missing_body);
}

static void wrong_info_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open_domain(&s, &(struct options){ 0 });
	enum fi_ep_type type = s.info->ep_attr->type;
	s.info->ep_attr->type = FI_EP_MSG;
	assert_true(fi_endpoint(s.domain, s.info, &s.ep, NULL) < 0);
	s.info->ep_attr->type = type;
	size_t size = s.info->tx_attr->inject_size;
	s.info->tx_attr->inject_size = 1ul << 40;
	assert_true(fi_endpoint(s.domain, s.info, &s.ep, NULL) < 0);
	s.info->tx_attr->inject_size = size;
	s.ep = NULL;
	stack_open_ep(&s, &(struct options){ 0 });
	stack_close(&s);
}

static void invalid_infos_are_refused(void **state)
{
	(void)state;
	run_alone(wrong_info_body);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_length_of_a_name_is_returned),
		TEST(missing_objects_are_reported),
		TEST(invalid_bindings_are_refused),
		TEST(calls_fail_before_it_is_enabled),
		TEST(objects_in_use_cannot_be_closed),
		TEST(an_endpoint_may_be_closed_at_any_time),
		TEST(two_of_one_domain_communicate),
		TEST(it_can_be_reopened_many_times),
		TEST(endpoints_are_found_by_service),
		TEST(unsupported_calls_are_refused),
		TEST(invalid_infos_are_refused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
