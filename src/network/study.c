/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See study.h. Time goes in periods of a few steps; after each step all sums
 * are read, and everything is a difference of two such marks.
 *
 * Until packets are measured, latency is known by Little's law: packets that
 * are there in the mean, by packets that arrive in a cycle. When two periods in
 * a row are like the one before, packets count; when their mean is known well
 * enough, no new ones do, but the load goes on until the last has arrived, so
 * that slow ones count as much as fast ones.
 *
 * Whatever decides is a number of packets or flits, which do not depend on the
 * number of threads.
 */
#include "network/study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "network/batch.h"
#include "network/engine.h"
#include "network/load.h"
#include "network/mark.h"
#include "network/trend.h"

#define STEPS	       16   /* of a period */
#define PERIOD_LEAST   500  /* cycles */
#define PERIOD_PACKETS 4000 /* at least */
#define PERIOD_ENOUGH  400000
#define PERIODS_MANY   512 /* of a study */
#define PERIODS_FEW    40  /* when they hold many packets */
#define PACKETS_MANY   20000000
#define PACKETS_LEAST  20000 /* that are measured, ... */
#define BATCHES_LEAST  10    /* ... in so many batches */
#define PRECISION      0.01
#define LATENCY_ALIKE  0.03 /* how much periods of a steady state differ */
#define ACCEPTED_ALIKE 0.05
#define PERIODS_UNLIKE 16 /* then they become longer */
#define PAIRS	       64 /* of nodes, to know the distance */

enum {
	GOES_ON,
	IS_OVER, /* there is a verdict */
};

struct study {
	struct network *n;
	const struct study_options *o;
	struct study_result *result;
	uint64_t period, step, limit; /* cycles */
	double precision;
	double zero_load; /* latency, cycles */
	struct mark now, window;
	struct trend trend;
	struct batches batches;
	uint64_t *flits; /* of each link when the window began */
	struct network_link *link;
	uint64_t links;
	bool measured; /* some packets are */
};

const char *study_verdict_name(enum study_verdict verdict)
{
	static const char *const names[] = {
		[STUDY_STEADY] = "steady",
		[STUDY_SATURATED] = "saturated",
		[STUDY_DEADLOCKED] = "deadlocked",
		[STUDY_UNSETTLED] = "unsettled",
		[STUDY_STOPPED] = "stopped",
	};
	return names[verdict];
}

/* ---- how long things take ---- */

static double way_hops(const struct space_way *way)
{
	double hops = 0;
	for (unsigned i = 0; i < way->count; i++)
		hops += space_leg_hops(space_way_legs(way)[i]);
	return hops;
}

/* The mean of a few pairs of nodes that have a packet for each other. */
static double study_hops(const struct study *s)
{
	struct random random = random_stream(s->n->options.seed, UINT64_MAX);
	struct space_way way;
	double hops = 0;
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t from = random_below(&random, s->n->nodes);
		uint32_t to = traffic_target(&s->o->traffic, from, &random);
		if (space_find(s->n->space, from, to, &random, &way) == 0)
			hops += way_hops(&way) / PAIRS;
	}
	return hops;
}

static double study_zero_load(const struct study *s)
{
	const struct router *r = &s->n->router;
	double router = r->route_delay + r->channel_delay;
	return r->inject_delay + router + r->eject_delay +
	       study_hops(s) * (router + r->link_delay) +
	       length_mean(&s->o->length) - 1;
}

/*
 * A period has so many packets that its mean says something, and is so long
 * that its packets do not belong to others; where it has very many packets, it
 * may be shorter. Deadlocks that the routers get out of come and go within one.
 */
static double study_period(const struct study *s)
{
	double rate = s->o->load * s->n->nodes / length_mean(&s->o->length);
	double time = fmax(PERIOD_LEAST, 4 * s->zero_load);
	double enough = fmax(PERIOD_ENOUGH / rate, 1.5 * s->zero_load);
	time = fmax(PERIOD_PACKETS / rate, fmin(time, enough));
	return fmax(2.0 * s->n->router.deadlock_countdown, time);
}

static double study_limit(const struct study *s)
{
	double rate = s->o->load * s->n->nodes / length_mean(&s->o->length);
	double period = (double)s->period;
	double limit = fmin(PERIODS_MANY * period, PACKETS_MANY / rate);
	return fmax(PERIODS_FEW * period, limit);
}

static void study_step_is(struct study *s, uint64_t period)
{
	s->step = (period + STEPS - 1) / STEPS;
	s->period = s->step * STEPS;
}

static void study_plan(struct study *s)
{
	const struct study_options *o = s->o;
	s->zero_load = study_zero_load(s);
	study_step_is(s, o->period ? o->period : (uint64_t)study_period(s));
	s->limit = o->max_cycles ? o->max_cycles : (uint64_t)study_limit(s);
	/* Half to warm up and half to measure, and a few periods for each. */
	if (s->period > s->limit / 32)
		study_step_is(s, s->limit / 32 + 1);
	s->precision = o->precision > 0 ? o->precision : PRECISION;
}

/* ---- marks ---- */

static void mark_take(struct study *s)
{
	struct load_sample sample;
	uint64_t cycles = network_now(s->n) - s->now.cycle;
	load_sample(s->n, &sample);
	s->now.cycle += cycles;
	s->now.arrived = sample.packets_delivered;
	s->now.flits = sample.flits_delivered;
	s->now.busy += network_busy(s->n) * cycles;
	s->now.queued += sample.queued * cycles;
}

/* ---- steps ---- */

static int study_ends(struct study *s, enum study_verdict verdict)
{
	s->result->verdict = verdict;
	return IS_OVER;
}

/* What can never move again looks like what moves too slowly. */
static int study_grows(struct study *s)
{
	bool recovers = s->n->router.deadlock_countdown != 0;
	struct channel *cycle = NULL;
	uint32_t count = 0;
	int r = recovers ? 0 : network_deadlock(s->n, &cycle, &count);
	free(cycle);
	if (r)
		return r;
	return study_ends(s, count ? STUDY_DEADLOCKED : STUDY_SATURATED);
}

static bool study_stopped(const struct study *s, const struct mark *from)
{
	const struct study_options *o = s->o;
	return o->progress && o->progress(o->context, s->now.cycle,
				      mark_latency(from, &s->now));
}

static int study_step(struct study *s, const struct mark *from)
{
	int r = network_run(s->n, s->now.cycle + s->step);
	mark_take(s);
	if (r)
		return r == -EDEADLK ? study_ends(s, STUDY_DEADLOCKED) : r;
	uint64_t busy = network_busy(s->n);
	trend_add(&s->trend, s->now.arrived + busy, busy);
	return study_stopped(s, from) ? study_ends(s, STUDY_STOPPED) : GOES_ON;
}

/* A step, and whether it can go on like this. */
static int study_looks(struct study *s, const struct mark *from)
{
	int r = study_step(s, from);
	if (r == GOES_ON && trend_grows(&s->trend))
		r = study_grows(s);
	return r;
}

static int study_goes(struct study *s)
{
	struct mark from = s->now;
	int r = GOES_ON;
	for (unsigned i = 0; i < STEPS && r == GOES_ON; i++)
		r = study_looks(s, &from);
	return r;
}

/* ---- warming up ---- */

static bool alike(double a, double b, double within)
{
	return fabs(a - b) <= within * fmax(a, b);
}

/*
 * How much the latencies of two periods may differ. It is known from the
 * packets that were seen after each step; where these are few, there is no
 * harm in differences.
 */
static double latency_alike(const struct study *s, const struct mark mark[3])
{
	double seen = mark_ratio(mark[2].busy - mark[1].busy, s->step);
	return LATENCY_ALIKE + 2 * sqrt(2 / (seen + 1));
}

/* Two periods, by the marks around them. */
static bool periods_alike(const struct study *s, const struct mark mark[3])
{
	return mark[1].arrived > mark[0].arrived &&
	       alike(mark_latency(&mark[0], &mark[1]),
		       mark_latency(&mark[1], &mark[2]),
		       latency_alike(s, mark)) &&
	       alike(mark_packets(&mark[0], &mark[1]),
		       mark_packets(&mark[1], &mark[2]), ACCEPTED_ALIKE);
}

/* The first period fills the network, and is like no other. */
static int study_warms_up(struct study *s)
{
	struct mark mark[3] = { 0 };
	unsigned steady = 0, count = 0;
	int r = study_goes(s);
	mark[2] = s->now;
	while (r == GOES_ON && steady < 2 && s->now.cycle < s->limit / 2) {
		mark[0] = mark[1];
		mark[1] = mark[2];
		r = study_goes(s);
		mark[2] = s->now;
		steady = periods_alike(s, mark) ? steady + 1 : 0;
		if (++count % PERIODS_UNLIKE == 0)
			study_step_is(s, 2 * s->period);
	}
	return r;
}

/* ---- measuring ---- */

/* Until it opens, it is all the time since the start. */
static int window_prepare(struct study *s)
{
	s->links = network_links(s->n, NULL, 0);
	s->link = calloc(s->links + 1, sizeof(*s->link));
	s->flits = calloc(s->links + 1, sizeof(*s->flits));
	return s->link && s->flits ? 0 : -ENOMEM;
}

static void window_opens(struct study *s)
{
	network_links(s->n, s->link, s->links);
	for (uint64_t i = 0; i < s->links; i++)
		s->flits[i] = s->link[i].flits;
	s->window = s->now;
	s->measured = true;
	load_measure(s->n, true);
}

static void window_channels(struct study *s)
{
	struct study_result *r = s->result;
	double cycles = (double)(s->now.cycle - s->window.cycle), alive = 0;
	uint64_t sum = 0, most = 0;
	network_links(s->n, s->link, s->links);
	for (uint64_t i = 0; i < s->links; i++) {
		uint64_t flits = s->link[i].flits - s->flits[i];
		sum += flits;
		most = flits > most ? flits : most;
		alive += !s->link[i].dead;
	}
	r->channel_mean = alive > 0 ? (double)sum / (cycles * alive) : 0;
	r->channel_most = (double)most / cycles;
}

/* No more packets count from now on. */
static void window_closes(struct study *s)
{
	struct study_result *r = s->result;
	load_measure(s->n, false);
	if (s->now.cycle == s->window.cycle)
		return;
	r->warm_up = s->window.cycle;
	r->accepted = mark_flits(&s->window, &s->now) / s->n->nodes;
	r->packet_latency = mark_latency(&s->window, &s->now);
	r->network_latency = mark_network_latency(&s->window, &s->now);
	window_channels(s);
}

static bool study_knows(const struct study *s)
{
	const struct batches *b = &s->batches;
	struct load_sample sample;
	load_sample(s->n, &sample);
	return b->count >= BATCHES_LEAST && sample.done >= PACKETS_LEAST &&
	       batches_error(b) <= s->precision * batches_mean(b);
}

static int study_measures(struct study *s)
{
	struct load_sample now, before = { 0 };
	int r = GOES_ON;
	window_opens(s);
	while (r == GOES_ON && !study_knows(s) && s->now.cycle < s->limit) {
		r = study_goes(s);
		load_sample(s->n, &now);
		batches_add(&s->batches, now.done - before.done,
			now.latency - before.latency);
		before = now;
	}
	return r;
}

static bool study_waits(const struct study *s)
{
	struct load_sample sample;
	load_sample(s->n, &sample);
	return sample.done < sample.created;
}

/* Until all that count have arrived; what takes too long is stuck. */
static int study_drains(struct study *s)
{
	uint64_t end = 2 * s->now.cycle + 2 * PERIODS_UNLIKE * s->period;
	struct mark from = s->now;
	int r = GOES_ON;
	while (r == GOES_ON && study_waits(s) && s->now.cycle < end)
		r = study_looks(s, &from);
	if (r == GOES_ON && study_waits(s))
		r = study_grows(s);
	return r;
}

/* It is saturated before anything was measured: a period shows how. */
static int study_shows(struct study *s)
{
	enum study_verdict verdict = s->result->verdict;
	struct mark from = s->now;
	int r = GOES_ON;
	window_opens(s);
	for (unsigned i = 0; i < STEPS && r == GOES_ON; i++)
		r = study_step(s, &from);
	return r == GOES_ON ? study_ends(s, verdict) : r;
}

/* ---- what is known ---- */

void study_percentiles(struct study_result *r)
{
	const struct histogram *h = &r->latency;
	r->latency_p50 = histogram_percentile(h, 0.5);
	r->latency_p90 = histogram_percentile(h, 0.9);
	r->latency_p99 = histogram_percentile(h, 0.99);
	r->latency_p999 = histogram_percentile(h, 0.999);
	r->latency_least = h->least;
	r->latency_most = h->most;
}

/*
 * Means of those that count, unless too many of them are still on their way:
 * then what Little's law said is closer.
 */
static void result_latency(struct study *s)
{
	struct study_result *r = s->result;
	struct load_sample sample;
	load_sample(s->n, &sample);
	load_latency(s->n, &r->latency);
	study_percentiles(r);
	r->packets = r->latency.count;
	if (r->packets == 0 || r->verdict == STUDY_SATURATED ||
		r->verdict == STUDY_DEADLOCKED)
		return;
	double error = batches_error(&s->batches);
	r->packet_error = isfinite(error) ? error : 0;
	r->packet_latency = histogram_mean(&r->latency);
	r->network_latency = mark_ratio(sample.network_latency, r->packets);
}

/* Of those that count; if there are none, what all flits have gone. */
static double result_hops(struct study *s)
{
	const struct study_result *r = s->result;
	struct load_sample sample;
	load_sample(s->n, &sample);
	if (r->packets)
		return mark_ratio(sample.hops, r->packets);
	return mark_ratio(r->counters.flit_hops, r->counters.flits_delivered);
}

static void result_fill(struct study *s)
{
	struct study_result *r = s->result;
	struct load_sample sample;
	network_count(s->n, &r->counters);
	load_sample(s->n, &sample);
	result_latency(s);
	r->offered = s->o->load;
	r->cycles = s->now.cycle;
	r->flit_hops = r->counters.flit_hops;
	r->hops = result_hops(s);
	r->backlog = sample.queued;
}

/* ---- */

static int study_phases(struct study *s)
{
	int r = study_warms_up(s);
	bool warm = s->now.cycle < s->limit / 2;
	if (r == GOES_ON)
		r = study_measures(s);
	if (r == IS_OVER && s->result->verdict == STUDY_SATURATED &&
		!s->measured)
		r = study_shows(s);
	window_closes(s);
	if (r != GOES_ON)
		return r;
	bool known = s->batches.count >= BATCHES_LEAST / 2 &&
		     batches_error(&s->batches) <=
			     s->precision * batches_mean(&s->batches);
	r = study_drains(s);
	if (r == GOES_ON)
		r = study_ends(
			s, warm && known ? STUDY_STEADY : STUDY_UNSETTLED);
	return r;
}

static int study_check(const struct network *n, const struct study_options *o)
{
	const char *why;
	if (network_now(n) != 0 || !(o->load > 0) || !(o->precision >= 0))
		return -EINVAL;
	return traffic_check(&o->traffic, &why);
}

int study_run(struct network *n, const struct study_options *o,
	struct study_result *result)
{
	struct study s = { .n = n, .o = o, .result = result };
	clock_t begun = clock();
	int r = study_check(n, o);
	if (r == 0)
		r = load_start(n, &o->traffic, &o->length, o->load);
	if (r)
		return r;
	*result = (struct study_result){ 0 };
	study_plan(&s);
	trend_add(&s.trend, 0, 0);
	r = window_prepare(&s);
	if (r == 0)
		r = study_phases(&s);
	if (r == IS_OVER)
		result_fill(&s);
	result->seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
	free(s.link);
	free(s.flits);
	return r < 0 ? r : 0;
}
