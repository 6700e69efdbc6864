/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See study.h. A study runs in periods, a period in steps and a step in pieces,
 * as planned in plan.c. A snapshot is taken after each piece; rates are
 * differences of two snapshots.
 *
 * During warm-up the latency is estimated by Little's law: mean number of
 * packets in the network, divided by packets that arrive per cycle. When
 * successive periods are similar, packets are measured. When their mean is
 * known well enough, new packets are not measured any more, but the load
 * continues until the last measured packet has arrived, so that slow packets
 * count as much as fast ones.
 *
 * All decisions depend on numbers of packets and flits, which are the same with
 * any number of threads.
 */
#include "network/study/study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "network/engine/parts.h"
#include "network/stats/batch.h"
#include "network/stats/trend.h"
#include "network/study/plan.h"
#include "network/study/snapshot.h"
#include "network/traffic/load.h"

#define PACKETS_LEAST	 20000 /* measured packets, ... */
#define BATCHES_LEAST	 10    /* ... in this many batches */
#define BATCHES_FEW	 4     /* a poor estimate of the variance, ... */
#define FEW_PRECISION	 0.25 /* ... so this share of the precision is needed */
#define PRECISION_LOW	 0.05 /* accepted when the planned limit is reached */
#define LATENCY_SIMILAR	 0.03 /* difference of periods in a steady state */
#define ACCEPTED_SIMILAR 0.05
#define PLATEAU_SIMILAR	 0.015 /* the same, of a saturated network */
#define PLATEAU_MOST	 8     /* periods of the longest window for that */
#define PERIODS_UNLIKE	 16    /* after that, periods become longer */
#define LATENCY_HIGH	 10    /* multiple of the zero-load latency */
#define FILL_LATENCIES	 4     /* the same, until growth means saturation */

enum {
	CONTINUES,
	FINISHED, /* there is a verdict */
};

struct study {
	struct network *n;
	const struct study_options *o;
	struct study_result *result;
	struct study_plan plan;
	struct snapshot now;
	struct snapshot window; /* when the measurement window opened */
	struct trend trend;
	struct batches batches;
	uint64_t *flits; /* by link, when the window opened */
	struct network_link *link;
	uint64_t links;
	bool warm; /* periods were similar */
};

const char *study_verdict_name(enum study_verdict verdict)
{
	static const char *const names[] = {
		[STUDY_STEADY] = "steady",
		[STUDY_SATURATED] = "saturated",
		[STUDY_DEADLOCKED] = "deadlocked",
		[STUDY_UNSETTLED] = "unsettled",
		[STUDY_LINKS_FAILED] = "links-failed",
		[STUDY_STOPPED] = "stopped",
	};
	return names[verdict];
}

/* ---- steps ---- */

static int finish(struct study *s, enum study_verdict verdict)
{
	s->result->verdict = verdict;
	return FINISHED;
}

/* The state is not steady: links that have failed explain it better. */
static int finish_unsteady(struct study *s, enum study_verdict verdict)
{
	struct network_counters c;
	network_count(s->n, &c);
	return finish(s, c.links_failed ? STUDY_LINKS_FAILED : verdict);
}

/* The number of packets grows: saturation, or a deadlock. */
static int finish_growing(struct study *s)
{
	bool recovers = s->n->router.deadlock_countdown != 0;
	struct channel *cycle = NULL;
	uint32_t count = 0;
	int r = recovers ? 0 : network_deadlock(s->n, &cycle, &count);
	free(cycle);
	if (r)
		return r;
	return count ? finish(s, STUDY_DEADLOCKED)
		     : finish_unsteady(s, STUDY_SATURATED);
}

/* Runs a step; `from` is the start of the period, for the progress call. */
static int step_run(struct study *s, const struct snapshot *from)
{
	const struct study_options *o = s->o;
	uint64_t until = s->now.cycle + s->plan.step;
	int r = CONTINUES;
	while (r == CONTINUES && s->now.cycle < until) {
		struct load_sample sample;
		r = network_run(
			s->n, bits_min(until, s->now.cycle + s->plan.piece));
		uint64_t cycles = network_now(s->n) - s->now.cycle;
		load_sample(s->n, &sample);
		s->now.cycle += cycles;
		s->now.arrived = sample.packets_delivered;
		s->now.flits = sample.flits_delivered;
		s->now.busy += network_busy(s->n) * cycles;
		if (r == -EDEADLK)
			r = finish(s, STUDY_DEADLOCKED);
		else if (r == 0 && o->progress &&
			 o->progress(o->context, s->now.cycle,
				 snapshot_latency(from, &s->now)))
			r = finish(s, STUDY_STOPPED);
	}
	uint64_t busy = network_busy(s->n);
	trend_add(&s->trend, s->now.arrived + busy, busy);
	return r;
}

/*
 * Runs a step, and finishes if the number of packets grows without bound. Every
 * network fills at first: in the time that the trend compares, which begins
 * after a quarter, the first packets must have arrived.
 */
static int step_check(struct study *s, const struct snapshot *from)
{
	int r = step_run(s, from);
	bool filled = (double)s->now.cycle >=
		      FILL_LATENCIES * s->plan.zero_load;
	if (r == CONTINUES && filled && trend_grows(&s->trend))
		r = finish_growing(s);
	return r;
}

static int steps_check(struct study *s, unsigned steps)
{
	struct snapshot from = s->now;
	int r = CONTINUES;
	for (unsigned i = 0; i < steps && r == CONTINUES; i++)
		r = step_check(s, &from);
	return r;
}

/* ---- warm-up ---- */

static bool similar(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance * fmax(a, b);
}

/*
 * Compares two periods, given the snapshots around them. The tolerance of the
 * latency depends on the packets that were seen after each piece: differences
 * do no harm if these are few. That of the accepted load depends on the packets
 * that arrived, which vary at random.
 */
static bool periods_similar(const struct study *s, const struct snapshot at[3])
{
	uint64_t look = bits_min(s->plan.piece, s->plan.step);
	double seen = ratio(at[2].busy - at[1].busy, look);
	double latency = LATENCY_SIMILAR + 2 * sqrt(2 / (seen + 1));
	double count = (double)(at[2].arrived - at[1].arrived);
	double accepted = hypot(ACCEPTED_SIMILAR, 2 * sqrt(2 / (count + 1)));
	return at[1].arrived > at[0].arrived &&
	       similar(snapshot_latency(&at[0], &at[1]),
		       snapshot_latency(&at[1], &at[2]), latency) &&
	       similar(snapshot_packets(&at[0], &at[1]),
		       snapshot_packets(&at[1], &at[2]), accepted);
}

/*
 * The first period fills the network and is not compared. Two periods may be
 * similar by accident, but not if they contain very many packets.
 */
static int warm_up(struct study *s)
{
	struct snapshot at[3] = { 0 };
	unsigned steady = 0, count = 0, wanted = s->plan.many ? 1 : 2;
	int r = steps_check(s, PLAN_STEPS);
	at[2] = s->now;
	while (r == CONTINUES && steady < wanted &&
		s->now.cycle < s->plan.limit / 2) {
		at[0] = at[1];
		at[1] = at[2];
		r = steps_check(s, PLAN_STEPS);
		at[2] = s->now;
		steady = periods_similar(s, at) ? steady + 1 : 0;
		if (++count % PERIODS_UNLIKE == 0)
			plan_longer(&s->plan);
	}
	s->warm = steady >= wanted;
	return r;
}

/* ---- measurement ---- */

static void window_open(struct study *s)
{
	network_links(s->n, s->link, s->links);
	for (uint64_t i = 0; i < s->links; i++)
		s->flits[i] = s->link[i].flits;
	s->window = s->now;
	if (!s->n->measuring)
		s->result->warm_up = s->now.cycle;
	load_measure(s->n, true);
}

/* New packets are not measured any more. */
static void window_close(struct study *s)
{
	struct study_result *r = s->result;
	double cycles = (double)(s->now.cycle - s->window.cycle), alive = 0;
	uint64_t sum = 0, most = 0;
	load_measure(s->n, false);
	if (s->now.cycle == s->window.cycle)
		return;
	r->accepted = snapshot_flits(&s->window, &s->now) / s->n->hosts;
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

/* Returns true if the mean latency is known with the planned precision. */
static bool mean_known(const struct study *s)
{
	const struct batches *b = &s->batches;
	double share = b->count < BATCHES_LEAST ? FEW_PRECISION : 1;
	struct load_sample sample;
	load_sample(s->n, &sample);
	return b->count >= BATCHES_FEW && sample.done >= PACKETS_LEAST &&
	       batches_precision(b) <= share * s->plan.precision;
}

/*
 * A batch is half a period. The first arrivals have short paths, so the first
 * period is no batch: its packets are measured, but do not count for the
 * precision.
 */
static int measure(struct study *s)
{
	struct load_sample now, before;
	window_open(s);
	int r = steps_check(s, PLAN_STEPS);
	load_sample(s->n, &before);
	while (r == CONTINUES && !mean_known(s) &&
		s->now.cycle < s->plan.limit) {
		r = steps_check(s, PLAN_STEPS / 2);
		load_sample(s->n, &now);
		batches_add(&s->batches, now.done - before.done,
			now.latency - before.latency);
		before = now;
	}
	return r;
}

static bool measured_in_flight(const struct study *s)
{
	struct load_sample sample;
	load_sample(s->n, &sample);
	return sample.done < sample.created;
}

/* Runs until all measured packets have arrived, within a limit. */
static int drain(struct study *s)
{
	struct snapshot from = s->now;
	uint64_t time = from.cycle / 2 + PERIODS_UNLIKE * s->plan.period;
	uint64_t least = (uint64_t)(FILL_LATENCIES * s->plan.zero_load);
	uint64_t end = from.cycle + (time > least ? time : least);
	int r = CONTINUES;
	while (r == CONTINUES && measured_in_flight(s) && s->now.cycle < end)
		r = step_check(s, &from);
	if (r == CONTINUES && measured_in_flight(s))
		r = finish_growing(s);
	return r;
}

/*
 * Measures what a saturated network accepts. Queues fill backwards from the
 * bottlenecks, and until then it accepts more or less than in the end. So each
 * window is twice as long as the one before, until two accept the same; the
 * last one counts.
 */
static int measure_saturated(struct study *s)
{
	enum study_verdict verdict = s->result->verdict;
	uint64_t cycles = s->plan.period;
	double before, accepted = 0;
	int r = CONTINUES;
	do {
		struct snapshot from = s->now;
		window_open(s);
		while (r == CONTINUES && s->now.cycle < from.cycle + cycles)
			r = step_run(s, &from);
		before = accepted;
		accepted = snapshot_flits(&s->window, &s->now);
		cycles *= 2;
	} while (r == CONTINUES &&
		 !similar(before, accepted, PLATEAU_SIMILAR) &&
		 cycles <= PLATEAU_MOST * s->plan.period &&
		 s->now.cycle + cycles <= s->plan.limit);
	return r == CONTINUES ? finish(s, verdict) : r;
}

/* ---- the study ---- */

static int study_phases(struct study *s)
{
	int r = warm_up(s);
	if (r == CONTINUES)
		r = measure(s);
	/* A high latency that rises up to the limit has no bound. */
	if (r == CONTINUES && s->now.cycle >= s->plan.limit &&
		trend_rises(&s->trend) &&
		batches_mean(&s->batches) > LATENCY_HIGH * s->plan.zero_load)
		r = finish_growing(s);
	if (r == FINISHED && s->result->verdict == STUDY_SATURATED &&
		s->now.cycle < s->plan.limit)
		r = measure_saturated(s);
	window_close(s);
	if (r == CONTINUES)
		r = drain(s);
	if (r != CONTINUES)
		return r;
	/*
	 * Close to saturation, latency varies so slowly that the precision
	 * would take minutes. The state is known to be steady before that, and
	 * the error is reported.
	 */
	double precision = batches_precision(&s->batches);
	bool known = precision <= s->plan.precision ||
		     (s->o->max_cycles == 0 && precision <= PRECISION_LOW);
	bool steady = s->warm && known && s->batches.count >= BATCHES_FEW;
	return steady ? finish(s, STUDY_STEADY)
		      : finish_unsteady(s, STUDY_UNSETTLED);
}

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

static void result_fill(struct study *s)
{
	struct study_result *r = s->result;
	struct load_sample sample;
	double error = batches_error(&s->batches);
	bool all = r->verdict == STUDY_STEADY || r->verdict == STUDY_UNSETTLED;
	network_count(s->n, &r->counters);
	load_sample(s->n, &sample);
	load_latency(s->n, &r->latency);
	study_percentiles(r);
	r->packets = r->latency.count;
	r->packet_error = all && isfinite(error) ? error : 0;
	r->packet_latency = histogram_mean(&r->latency);
	r->network_latency = ratio(sample.network_latency, r->packets);
	r->hops = ratio(sample.hops, r->packets);
	r->offered = s->o->load;
	r->cycles = s->now.cycle;
	r->flit_hops = r->counters.flit_hops;
	r->backlog = sample.queued;
}

int study_run(struct network *n, const struct study_options *o,
	struct study_result *result)
{
	struct study s = { .n = n, .o = o, .result = result };
	clock_t start = clock();
	const char *why;
	if (network_now(n) != 0 || !(o->load > 0) || !(o->precision >= 0))
		return -EINVAL;
	int r = traffic_check(&o->traffic, &why);
	if (r == 0)
		r = load_start(n, &o->traffic, &o->length, o->load);
	if (r)
		return r;
	*result = (struct study_result){ 0 };
	plan_make(&s.plan, n, o);
	trend_add(&s.trend, 0, 0);
	s.links = network_links(n, NULL, 0);
	s.link = calloc(s.links + 1, sizeof(*s.link));
	s.flits = calloc(s.links + 1, sizeof(*s.flits));
	r = s.link && s.flits ? study_phases(&s) : -ENOMEM;
	if (r == FINISHED)
		result_fill(&s);
	result->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	free(s.link);
	free(s.flits);
	return r < 0 ? r : 0;
}
