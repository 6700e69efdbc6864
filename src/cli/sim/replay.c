/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --trace`: sends the packets of a file. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "network/traffic/workload.h"

/* Packets are sent STEP cycles ahead, then the network runs. */
#define STEP 1024u

struct replay {
	struct sim_results *results;
	struct network *network;
	struct workload work;
	uint64_t cycles_max;
	uint64_t sent, ended;
	uint64_t last;			/* cycle in which the last one ended */
	uint64_t hops, network_latency; /* sums over delivered packets */
	uint64_t flits_sent, flits_delivered;
	struct study_result result;
};

static int work_open(const struct sim_options *c, const struct topology *t,
	struct workload *w)
{
	struct workload_error bad = { 0 };
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

static int work_check(const struct sim_options *c, const struct workload *w)
{
	const struct router *r = &c->network.router;
	for (uint64_t i = 0; i < w->count; i++) {
		uint32_t length = w->packet[i].length;
		if (!router_accepts(r, length))
			return cli_error("sim",
				"%s: buffers of %u flit%s do not hold a packet "
				"of %u; try --buffer %u or --switching "
				"wormhole",
				c->trace, r->buffer, plural(r->buffer), length,
				length);
	}
	return CLI_OK;
}

/* ---- simulation ---- */

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

static int deliveries_count(struct replay *p)
{
	struct sim_results *o = p->results;
	bool record = o->options->timeline.path;
	struct network_delivery d;
	int r = 0;
	while (r == 0 && network_poll(p->network, &d)) {
		if (d.fate == NETWORK_DELIVERED) {
			histogram_add(&p->result.latency, d.arrived - d.sent);
			p->network_latency += d.arrived - d.entered;
			p->hops += d.hops;
			p->flits_delivered += d.packet.length;
		}
		p->ended++;
		p->last = d.arrived; /* deliveries are in order of time */
		if (record && o->paths.count < o->options->packets)
			r = sim_paths_add(&o->paths, &o->topology, &d);
	}
	return r;
}

/*
 * Returns the cycle up to which the network runs. While packets are left to
 * send, that is `sent_until`. Afterwards it must not run past the last arrival:
 * the remaining packets take at least this long if every network port ejects
 * one per cycle.
 */
static uint64_t run_end(const struct replay *p, uint64_t sent_until)
{
	const struct sim_results *o = p->results;
	uint64_t ports = (uint64_t)o->topology.hosts *
			 o->options->network.router.network_ports;
	uint64_t now = network_now(p->network);
	uint64_t last = p->work.packet[p->work.count - 1].time;
	if (p->sent < p->work.count)
		return sent_until;
	if (now < last)
		return bits_min(last, p->cycles_max);
	uint64_t left = (p->work.count - p->ended) / ports;
	return bits_min(now + bits_min(left ? left : 1, STEP), p->cycles_max);
}

static int replay_run(struct replay *p)
{
	enum study_verdict *verdict = &p->result.verdict;
	int r = 0;
	while (r == 0 && p->ended < p->work.count) {
		uint64_t now = network_now(p->network);
		if (sim_interrupted())
			*verdict = STUDY_STOPPED;
		else if (now >= p->cycles_max)
			*verdict = STUDY_UNSETTLED;
		if (*verdict != STUDY_STEADY)
			break;
		/* An idle network skips to the next packet. */
		if (network_busy(p->network) == 0 && p->sent < p->work.count &&
			p->work.packet[p->sent].time > now)
			now = p->work.packet[p->sent].time;
		uint64_t until = bits_min(now + STEP, p->cycles_max);
		r = packets_send(p, until);
		if (r == 0)
			r = network_run(p->network, run_end(p, until));
		if (r == -EDEADLK) {
			*verdict = STUDY_DEADLOCKED;
			r = 0;
		}
		if (r == 0)
			r = deliveries_count(p);
		sim_progress("cycle %" PRIu64 ", %" PRIu64 " of %" PRIu64
			     " packets",
			network_now(p->network), p->ended, p->work.count);
	}
	sim_progress_end();
	return r;
}

/* ---- results ---- */

static void result_fill(struct replay *p)
{
	const struct sim_results *o = p->results;
	struct study_result *r = &p->result;
	const struct histogram *h = &r->latency;
	r->cycles = p->ended == p->work.count ? p->last
					      : network_now(p->network);
	double node_cycles = (double)r->cycles * o->topology.hosts;
	network_count(p->network, &r->counters);
	r->flit_hops = r->counters.flit_hops;
	r->offered = node_cycles > 0 ? (double)p->flits_sent / node_cycles : 0;
	r->accepted = node_cycles > 0 ? (double)p->flits_delivered / node_cycles
				      : 0;
	r->backlog = p->sent - p->ended;

	r->packets = h->count;
	if (h->count) {
		double count = (double)h->count;
		r->packet_latency = histogram_mean(h);
		r->network_latency = (double)p->network_latency / count;
		r->hops = (double)p->hops / count;
		study_percentiles(r);
	}

	uint64_t count = network_links(p->network, NULL, 0);
	struct network_link *link = malloc((count + 1) * sizeof(*link));
	if (link && r->cycles)
		network_links(p->network, link, count);
	for (uint64_t i = 0; link && r->cycles && i < count; i++) {
		double load = (double)link[i].flits / (double)r->cycles;
		r->channel_mean += load / (double)count;
		if (load > r->channel_most)
			r->channel_most = load;
	}
	free(link);
}

static int replay_all(struct replay *p)
{
	struct sim_results *o = p->results;
	struct sim_network n;
	int status = work_check(o->options, &p->work);
	if (status == CLI_OK)
		status = sim_network_open(&n, o->options, &o->topology);
	if (status)
		return status;
	p->network = n.network;
	if (sim_prints(o->options))
		sim_print_head(o);
	clock_t from = clock();
	int r = replay_run(p);
	p->result.seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
	if (r == 0) {
		result_fill(p);
		r = sim_results_add(
			o, p->network, p->result.offered, &p->result);
	}
	sim_network_close(&n);
	return r ? cli_error("sim", "%s", strerror(-r)) : CLI_OK;
}

int sim_replay(struct sim_options *c)
{
	/* The histogram is too large for the stack. */
	static struct replay replay;
	struct sim_results o;
	int status = sim_results_open(&o, c);
	if (status)
		return status;
	replay = (struct replay){ .results = &o,
		.cycles_max = c->study.max_cycles ? c->study.max_cycles
						  : UINT64_MAX };
	histogram_clear(&replay.result.latency);
	c->network.record = c->timeline.path != NULL;
	sim_progress_begin();
	status = work_open(c, &o.topology, &replay.work);
	if (status == CLI_OK) {
		status = replay_all(&replay);
		workload_free(&replay.work);
	}
	return sim_results_close(&o, status);
}
