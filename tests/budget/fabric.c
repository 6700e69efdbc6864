/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of the calls of the provider: see steps.h. One endpoint sends to
 * itself, set up as MPI libraries do. With the argument "path" the messages
 * take an ULTRA path.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "steps.h"

static struct fid_ep *ep;
static struct fid_cq *cq;
static fi_addr_t self;
static char data[64], into[64];

static void must(long result)
{
	if (result < 0)
		exit(2);
}

static void post(void)
{
	must(fi_trecv(
		ep, into, sizeof(into), NULL, FI_ADDR_UNSPEC, 7, 0, into));
}

static void inject(void)
{
	must(fi_tinject(ep, data, 8, self, 7));
}

static void inject_data(void)
{
	must(fi_tinjectdata(ep, data, 8, 1, self, 7));
}

static void send_8(void)
{
	must(fi_tsend(ep, data, 8, NULL, self, 7, data));
}

static void read_one(void)
{
	struct fi_cq_tagged_entry e;
	must(fi_cq_read(cq, &e, 1));
}

static void poll_once(void)
{
	struct fi_cq_tagged_entry e;
	fi_cq_read(cq, &e, 1);
}

/* A window of messages, as programs that measure the rate send. */

#define WINDOW 16

static void post_window(void)
{
	for (int i = 0; i < WINDOW; i++)
		post();
}

static void send_window(void)
{
	for (int i = 0; i < WINDOW; i++)
		send_8();
}

/* Reads the completions of the sends, and of the receives. */
static void read_window(void)
{
	struct fi_cq_tagged_entry e[2 * WINDOW];
	for (int left = 2 * WINDOW; left > 0;) {
		ssize_t n = fi_cq_read(cq, e, 2 * WINDOW);
		must(n == -FI_EAGAIN ? 0 : n);
		left -= n > 0 ? (int)n : 0;
	}
}

/* Eight polls in a row: over a path, one of eight looks at the queue, too. */

static void exchange_8(void)
{
	for (int i = 0; i < 8; i++) {
		post();
		inject();
		read_one();
	}
}

static void poll_8(void)
{
	for (int i = 0; i < 8; i++)
		poll_once();
}

/*
 * Over an ULTRA path. One poll in eight also looks at the queue; which ones
 * depends on how many the set-up took, so a percent is added.
 */
static const struct path ultra_paths[] = {
	{ "fi_trecv", post, 108, 177 },
	{ "fi_tinject, 8 bytes", inject, 192, 240 },
	{ "fi_cq_read, a message", read_one, 550, 640 },
	{ "8 fi_trecv, fi_tinject, fi_cq_read", exchange_8, 6100, 7600 },
	{ "fi_trecv", post, 108, 177 },
	{ "fi_tsend, 8 bytes", send_8, 269, 330 },
	{ "fi_cq_read, a send", read_one, 80, 105 },
	{ "fi_cq_read, a message", read_one, 550, 640 },
	{ "8 fi_cq_read, nothing", poll_8, 1190, 1500 },
	{ "16 fi_trecv", post_window, 1677, 2900 },
	{ "16 fi_tsend, 8 bytes", send_window, 4340, 5200 },
	{ "fi_cq_read, all of these", read_window, 5600, 6300 },
};

/* In this order: each path continues from the state of the previous one. */
static const struct path paths[] = {
	{ "fi_trecv", post, 108, 177 },
	{ "fi_tinject, 8 bytes", inject, 216, 272 },
	{ "fi_cq_read, a message", read_one, 417, 499 },
	{ "fi_trecv", post, 108, 177 },
	{ "fi_tinjectdata, 8 bytes", inject_data, 226, 275 },
	{ "fi_cq_read, a message", read_one, 478, 548 },
	{ "fi_trecv", post, 108, 177 },
	{ "fi_tsend, 8 bytes", send_8, 294, 340 },
	{ "fi_cq_read, a send", read_one, 80, 105 },
	{ "fi_cq_read, a message", read_one, 478, 548 },
	{ "fi_cq_read, returning entries", poll_once, 202, 252 },
	{ "fi_cq_read, nothing", poll_once, 129, 174 },
	{ "16 fi_trecv", post_window, 1677, 2900 },
	{ "16 fi_tsend, 8 bytes", send_window, 4988, 5630 },
	{ "fi_cq_read, all of these", read_window, 6127, 7000 },
};

static struct fi_info *info_get(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	hints->caps = FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->fabric_attr->prov_name = strdup("cay");
	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void endpoint_open(void)
{
	struct fi_info *info = info_get();
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	char name[64];
	size_t length = sizeof(name);
	must(fi_fabric(info->fabric_attr, &fabric, NULL));
	must(fi_domain(fabric, info, &domain, NULL));
	must(fi_av_open(domain, &av_attr, &av, NULL));
	must(fi_cq_open(domain, &cq_attr, &cq, NULL));
	must(fi_endpoint(domain, info, &ep, NULL));
	must(fi_ep_bind(ep, &av->fid, 0));
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	must(fi_enable(ep));
	must(fi_getname(&ep->fid, name, &length));
	must(fi_av_insert(av, name, 1, &self, 0, NULL) - 1);
	fi_freeinfo(info);
}

/* While a path is set up, a message may need a second poll. */
static void read_soon(void)
{
	struct fi_cq_tagged_entry e;
	while (fi_cq_read(cq, &e, 1) == -FI_EAGAIN)
		;
}

static void warm_up(void)
{
	post();
	inject();
	read_soon();
	post();
	send_8();
	read_soon();
	read_soon();
	poll_once();
}

/* Returns how many ends of paths are mapped. */
static int ends_mapped(void)
{
	char line[512];
	int ends = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		ends += strstr(line, "cay-ultra-slices") != NULL;
	if (f)
		fclose(f);
	return ends;
}

static void start(const char *messages, const char *ultra)
{
	char name[64];
	snprintf(name, sizeof(name), "instructions-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	setenv("FI_CAY_ULTRA_MESSAGES", messages, 1);
	setenv("FI_CAY_ULTRA_PATHS", ultra, 1);
	setenv("FI_CAY_ULTRA_ALWAYS", "1", 1);
	endpoint_open();
	/* Its port is resolved, and a hello precedes the first message. */
	post();
	while (fi_tinject(ep, data, 8, self, 7) == -FI_EAGAIN)
		;
	poll_once();
	poll_once();
	post_window();
	send_window();
	read_window();
	poll_once();
}

static void traced(void)
{
	start("1000000", "0");
	for (int i = 0; i < 1000; i++)
		warm_up();
	steps_run(paths, ARRAY_COUNT(paths));
	fi_close(&ep->fid);
}

static void traced_path(void)
{
	start("500", "1");
	/* Both ends, and then the beginning of its use. */
	for (int i = 0; ends_mapped() < 2; i++) {
		must(i < 20000 ? 0 : -1);
		warm_up();
		usleep(1000);
	}
	for (int i = 0; i < 300; i++) {
		warm_up();
		usleep(1000);
	}
	for (int i = 0; i < 1000; i++)
		warm_up();
	steps_run(ultra_paths, ARRAY_COUNT(ultra_paths));
	fi_close(&ep->fid);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "path") == 0)
		return steps_main(
			ultra_paths, ARRAY_COUNT(ultra_paths), traced_path);
	return steps_main(paths, ARRAY_COUNT(paths), traced);
}
