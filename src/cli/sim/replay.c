/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --trace`: packets of a file, each sent by hand; see sim.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/traffic/workload.h"

/* Packets are sent so many cycles ahead, then the network runs. */
#define STEP 1024u

struct replay {
	struct sim_outcome *outcome;
	struct network *network;
	struct workload work;
	uint64_t sent, ended;
	uint64_t last;			/* when the last of those ended */
	uint64_t hops, network_latency; /* sums, of those delivered */
	uint64_t flits_sent, flits_delivered;
	struct study_result result;
};

/* ---- the file ---- */

static int work_open(
	const struct sim_call *c, const struct topology *t, struct workload *w)
{
	struct workload_complaint bad = { 0 };
	FILE *f;
	int status = sim_input_open(c->trace, &f);
	if (status)
		return status;
	int r = workload_read(f, t, w, &bad);
	sim_input_close(f);
	if (r == -EINVAL)
		return cli_error("sim", "%s:%" PRIu64 ": %s", c->trace,
			bad.line, bad.why);
	if (r)
		return cli_error("sim", "%s: %s", c->trace, strerror(-r));
	if (w->count)
		return CLI_OK;
	workload_free(w);
	return cli_error("sim", "%s: no packets", c->trace);
}

static int length_complain(const struct sim_call *c, uint32_t length)
{
	return cli_error("sim",
		"%s: a packet of %u flits, which buffers of %u do not hold; "
		"try --buffer %u or --switching wormhole",
		c->trace, length, c->network.router.buffer, length);
}

static int work_check(const struct sim_call *c, const struct workload *w)
{
	for (uint64_t i = 0; i < w->count; i++)
		if (!router_accepts(&c->network.router, w->packet[i].length))
			return length_complain(c, w->packet[i].length);
	return CLI_OK;
}

/* ---- the run ---- */

static int packets_send(struct replay *p, uint64_t until)
{
	int r = 0;
	while (r == 0 && p->sent < p->work.count) {
		const struct workload_packet *w = &p->work.packet[p->sent];
		const struct network_packet packet = { .cookie = p->sent,
			.from = w->from,
			.to = w->to,
			.length = w->length };
		if (w->time >= until)
			break;
		r = network_send(p->network, w->time, &packet);
		p->sent += r == 0;
		p->flits_sent += w->length;
	}
	return r;
}

static int delivery_count(struct replay *p, const struct network_delivery *d)
{
	struct sim_outcome *o = p->outcome;
	p->ended++;
	p->last = d->arrived; /* they come in order of time */
	if (o->call->timeline.path && o->ways.count < o->call->packets)
		return sim_ways_add(&o->ways, &o->topology, d);
	return 0;
}

static int deliveries_take(struct replay *p)
{
	struct network_delivery d;
	int r = 0;
	while (r == 0 && network_poll(p->network, &d)) {
		if (d.fate == NETWORK_DELIVERED) {
			histogram_add(&p->result.latency, d.arrived - d.sent);
			p->network_latency += d.arrived - d.entered;
			p->hops += d.hops;
			p->flits_delivered += d.packet.length;
		}
		r = delivery_count(p, &d);
	}
	return r;
}

static uint64_t cycles_most(const struct replay *p)
{
	uint64_t most = p->outcome->call->study.max_cycles;
	return most ? most : UINT64_MAX;
}

/* Where there is nothing to do, to when there is something again. */
static uint64_t send_end(const struct replay *p)
{
	uint64_t now = network_now(p->network);
	if (network_busy(p->network) == 0 && p->sent < p->work.count &&
		p->work.packet[p->sent].time > now)
		now = p->work.packet[p->sent].time;
	return bits_min(now + STEP, cycles_most(p));
}

/*
 * Once all are sent it must not run on when the last has arrived: those that
 * are left take at least so long, if every port takes one in each cycle.
 */
static uint64_t run_end(const struct replay *p, uint64_t sent_until)
{
	const struct sim_outcome *o = p->outcome;
	uint64_t ports = (uint64_t)o->topology.nodes *
			 o->call->network.router.network_ports;
	uint64_t now = network_now(p->network);
	uint64_t last = p->work.packet[p->work.count - 1].time;
	if (p->sent < p->work.count)
		return sent_until;
	if (now < last)
		return bits_min(last, cycles_most(p));
	uint64_t left = (p->work.count - p->ended) / ports;
	return bits_min(now + bits_min(left ? left : 1, STEP), cycles_most(p));
}

/* False: there is nothing left, or enough has been done. */
static bool replay_goes_on(struct replay *p)
{
	if (p->ended == p->work.count)
		return false;
	if (sim_interrupted())
		p->result.verdict = STUDY_STOPPED;
	else if (network_now(p->network) >= cycles_most(p))
		p->result.verdict = STUDY_UNSETTLED;
	return p->result.verdict == STUDY_STEADY;
}

static int replay_run(struct replay *p)
{
	int r = 0;
	while (r == 0 && replay_goes_on(p)) {
		uint64_t until = send_end(p);
		r = packets_send(p, until);
		if (r == 0)
			r = network_run(p->network, run_end(p, until));
		if (r == -EDEADLK) {
			p->result.verdict = STUDY_DEADLOCKED;
			r = 0;
		}
		if (r == 0)
			r = deliveries_take(p);
		sim_progress("cycle %" PRIu64 ", %" PRIu64 " of %" PRIu64
			     " packets",
			network_now(p->network), p->ended, p->work.count);
	}
	sim_progress_end();
	return r;
}

/* ---- what came of it ---- */

static void channels_sum(struct replay *p)
{
	struct study_result *r = &p->result;
	uint64_t count = network_links(p->network, NULL, 0);
	struct network_link *link = malloc((count + 1) * sizeof(*link));
	if (!link || count == 0 || r->cycles == 0) {
		free(link);
		return;
	}
	network_links(p->network, link, count);
	for (uint64_t i = 0; i < count; i++) {
		double load = (double)link[i].flits / (double)r->cycles;
		r->channel_mean += load / (double)count;
		if (load > r->channel_most)
			r->channel_most = load;
	}
	free(link);
}

static void latency_sum(struct replay *p)
{
	struct study_result *r = &p->result;
	const struct histogram *h = &r->latency;
	r->packets = h->count;
	if (h->count == 0)
		return;
	r->packet_latency = histogram_mean(h);
	r->network_latency = (double)p->network_latency / (double)h->count;
	r->hops = (double)p->hops / (double)h->count;
	study_percentiles(r);
}

static void result_sum(struct replay *p)
{
	struct study_result *r = &p->result;
	double places;
	r->cycles = p->ended == p->work.count ? p->last
					      : network_now(p->network);
	places = (double)r->cycles * p->outcome->topology.nodes;
	network_count(p->network, &r->counters);
	r->flit_hops = r->counters.flit_hops;
	r->offered = places > 0 ? (double)p->flits_sent / places : 0;
	r->accepted = places > 0 ? (double)p->flits_delivered / places : 0;
	r->backlog = p->sent - p->ended;
	latency_sum(p);
	channels_sum(p);
}

static int replay_measure(struct replay *p)
{
	clock_t from = clock();
	int r = replay_run(p);
	p->result.seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
	if (r == 0) {
		result_sum(p);
		r = sim_outcome_add(
			p->outcome, p->network, p->result.offered, &p->result);
	}
	return r ? cli_error("sim", "%s", strerror(-r)) : CLI_OK;
}

static int replay_all(struct replay *p)
{
	struct sim_outcome *o = p->outcome;
	struct sim_network n;
	int status = work_open(o->call, &o->topology, &p->work);
	if (status)
		return status;
	status = work_check(o->call, &p->work);
	if (status == CLI_OK)
		status = sim_network_open(&n, o->call, &o->topology);
	if (status == CLI_OK) {
		p->network = n.network;
		if (sim_prints(o->call))
			sim_print_head(o);
		status = replay_measure(p);
		sim_network_close(&n);
	}
	workload_free(&p->work);
	return status;
}

int sim_replay(struct sim_call *c)
{
	/* Too much for a stack, because of the histogram. */
	static struct replay replay;
	struct sim_outcome o;
	int status = sim_outcome_open(&o, c);
	if (status)
		return status;
	replay = (struct replay){ .outcome = &o };
	histogram_clear(&replay.result.latency);
	c->network.record = c->timeline.path != NULL;
	sim_progress_begin();
	return sim_outcome_end(&o, replay_all(&replay));
}
