/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See study.h. Time goes in periods, steps of these and pieces of a step, as
 * planned; after each piece all sums are read, and everything is a difference
 * of two such marks.
 *
 * Until packets are measured, latency is known by Little's law: packets that
 * are there in the mean, by packets that arrive in a cycle. When periods are
 * like the one before, packets count; when their mean is known well enough, no
 * new ones do, but the load goes on until the last has arrived, so that slow
 * ones count as much as fast ones.
 *
 * Whatever decides is a number of packets or flits, which do not depend on the
 * number of threads.
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

#define PACKETS_LEAST  20000 /* that are measured, ... */
#define BATCHES_LEAST  10    /* ... in so many batches */
#define BATCHES_FEW    4     /* which say little of how they differ */
#define FEW_PRECISION  0.25  /* so they must be known so much better */
#define CONTENT	       0.05  /* the precision that must do in the end */
#define LATENCY_ALIKE  0.03  /* how much periods of a steady state differ */
#define ACCEPTED_ALIKE 0.05
#define PLATEAU_ALIKE  0.015 /* and what a saturated network accepts */
#define PLATEAU_MOST   8     /* periods of the last look at that */
#define PERIODS_UNLIKE 16    /* then they become longer */
#define LATENCY_HIGH   10    /* times that of an empty network */

enum {
	GOES_ON,
	IS_OVER, /* there is a verdict */
};

struct study {
	struct network *n;
	const struct study_options *o;
	struct study_result *result;
	struct study_plan plan;
	struct snapshot now, window;
	struct trend trend;
	struct batches batches;
	uint64_t *flits; /* of each link when the window began */
	struct network_link *link;
	uint64_t links;
	bool warm; /* as far as can be seen */
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

/* ---- marks ---- */

static void snapshot_take(struct study *s)
{
	struct load_sample sample;
	uint64_t cycles = network_now(s->n) - s->now.cycle;
	load_sample(s->n, &sample);
	s->now.cycle += cycles;
	s->now.arrived = sample.packets_delivered;
	s->now.flits = sample.flits_delivered;
	s->now.busy += network_busy(s->n) * cycles;
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

static bool study_stopped(const struct study *s, const struct snapshot *from)
{
	const struct study_options *o = s->o;
	return o->progress && o->progress(o->context, s->now.cycle,
				      snapshot_latency(from, &s->now));
}

static int study_piece(
	struct study *s, const struct snapshot *from, uint64_t until)
{
	int r = network_run(
		s->n, bits_min(until, s->now.cycle + s->plan.piece));
	snapshot_take(s);
	if (r)
		return r == -EDEADLK ? study_ends(s, STUDY_DEADLOCKED) : r;
	return study_stopped(s, from) ? study_ends(s, STUDY_STOPPED) : GOES_ON;
}

static int study_step(struct study *s, const struct snapshot *from)
{
	uint64_t until = s->now.cycle + s->plan.step;
	int r = GOES_ON;
	while (r == GOES_ON && s->now.cycle < until)
		r = study_piece(s, from, until);
	uint64_t busy = network_busy(s->n);
	trend_add(&s->trend, s->now.arrived + busy, busy);
	return r;
}

/* A step, and whether it can go on like this. */
static int study_looks(struct study *s, const struct snapshot *from)
{
	int r = study_step(s, from);
	if (r == GOES_ON && trend_grows(&s->trend))
		r = study_grows(s);
	return r;
}

static int study_goes(struct study *s, unsigned steps)
{
	struct snapshot from = s->now;
	int r = GOES_ON;
	for (unsigned i = 0; i < steps && r == GOES_ON; i++)
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
 * packets that were seen after each piece; where these are few, there is no
 * harm in differences.
 */
static double latency_alike(
	const struct study *s, const struct snapshot mark[3])
{
	uint64_t look = bits_min(s->plan.piece, s->plan.step);
	double seen = ratio(mark[2].busy - mark[1].busy, look);
	return LATENCY_ALIKE + 2 * sqrt(2 / (seen + 1));
}

/* The same of the packets that arrive, which come at random. */
static double accepted_alike(const struct snapshot mark[3])
{
	double count = (double)(mark[2].arrived - mark[1].arrived);
	return hypot(ACCEPTED_ALIKE, 2 * sqrt(2 / (count + 1)));
}

/* Two periods, by the marks around them. */
static bool periods_alike(const struct study *s, const struct snapshot mark[3])
{
	return mark[1].arrived > mark[0].arrived &&
	       alike(snapshot_latency(&mark[0], &mark[1]),
		       snapshot_latency(&mark[1], &mark[2]),
		       latency_alike(s, mark)) &&
	       alike(snapshot_packets(&mark[0], &mark[1]),
		       snapshot_packets(&mark[1], &mark[2]),
		       accepted_alike(mark));
}

/*
 * The first period fills the network, and is like no other. Two periods are
 * alike by accident at times, but not if they hold very many packets.
 */
static int study_warms_up(struct study *s)
{
	struct snapshot mark[3] = { 0 };
	unsigned steady = 0, count = 0, wanted = s->plan.many ? 1 : 2;
	int r = study_goes(s, PLAN_STEPS);
	mark[2] = s->now;
	while (r == GOES_ON && steady < wanted &&
		s->now.cycle < s->plan.limit / 2) {
		mark[0] = mark[1];
		mark[1] = mark[2];
		r = study_goes(s, PLAN_STEPS);
		mark[2] = s->now;
		steady = periods_alike(s, mark) ? steady + 1 : 0;
		if (++count % PERIODS_UNLIKE == 0)
			plan_longer(&s->plan);
	}
	s->warm = steady >= wanted;
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
	if (!s->n->measuring)
		s->result->warm_up = s->now.cycle;
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
	r->accepted = snapshot_flits(&s->window, &s->now) / s->n->nodes;
	window_channels(s);
}

static bool study_knows(const struct study *s)
{
	const struct batches *b = &s->batches;
	double share = b->count < BATCHES_LEAST ? FEW_PRECISION : 1;
	struct load_sample sample;
	load_sample(s->n, &sample);
	return b->count >= BATCHES_FEW && sample.done >= PACKETS_LEAST &&
	       batches_precision(b) <= share * s->plan.precision;
}

/*
 * A batch is half a period. What arrives first has a short way, so the first
 * period is none: its packets count, but say nothing of how well.
 */
static int study_measures(struct study *s)
{
	struct load_sample now, before;
	window_opens(s);
	int r = study_goes(s, PLAN_STEPS);
	load_sample(s->n, &before);
	while (r == GOES_ON && !study_knows(s) &&
		s->now.cycle < s->plan.limit) {
		r = study_goes(s, PLAN_STEPS / 2);
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
	struct snapshot from = s->now;
	uint64_t end =
		from.cycle + from.cycle / 2 + PERIODS_UNLIKE * s->plan.period;
	int r = GOES_ON;
	while (r == GOES_ON && study_waits(s) && s->now.cycle < end)
		r = study_looks(s, &from);
	if (r == GOES_ON && study_waits(s))
		r = study_grows(s);
	return r;
}

/* ---- saturated ---- */

static int window_lasts(struct study *s, uint64_t cycles)
{
	struct snapshot from = s->now;
	int r = GOES_ON;
	window_opens(s);
	while (r == GOES_ON && s->now.cycle < from.cycle + cycles)
		r = study_step(s, &from);
	return r;
}

/*
 * Queues fill from the places that are full backwards, and until then it
 * accepts more, or less, than in the end. So each window is twice as long as
 * the one before, until two accept the same: then the last one counts.
 */
static int study_shows(struct study *s)
{
	enum study_verdict verdict = s->result->verdict;
	uint64_t cycles = s->plan.period;
	double before, accepted = 0;
	int r;
	do {
		r = window_lasts(s, cycles);
		before = accepted;
		accepted = snapshot_flits(&s->window, &s->now);
		cycles *= 2;
	} while (r == GOES_ON && !alike(before, accepted, PLATEAU_ALIKE) &&
		 cycles <= PLATEAU_MOST * s->plan.period &&
		 s->now.cycle + cycles <= s->plan.limit);
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

static void result_latency(struct study *s, const struct load_sample *sample)
{
	struct study_result *r = s->result;
	double error = batches_error(&s->batches);
	bool all = r->verdict == STUDY_STEADY || r->verdict == STUDY_UNSETTLED;
	load_latency(s->n, &r->latency);
	study_percentiles(r);
	r->packets = r->latency.count;
	r->packet_error = all && isfinite(error) ? error : 0;
	r->packet_latency = histogram_mean(&r->latency);
	r->network_latency = ratio(sample->network_latency, r->packets);
	r->hops = ratio(sample->hops, r->packets);
}

static void result_fill(struct study *s)
{
	struct study_result *r = s->result;
	struct load_sample sample;
	network_count(s->n, &r->counters);
	load_sample(s->n, &sample);
	result_latency(s, &sample);
	r->offered = s->o->load;
	r->cycles = s->now.cycle;
	r->flit_hops = r->counters.flit_hops;
	r->backlog = sample.queued;
}

/* ---- */

/* Latency that is high, and rises as long as can be waited, has no end. */
static bool study_climbs(const struct study *s)
{
	return s->now.cycle >= s->plan.limit && trend_rises(&s->trend) &&
	       batches_mean(&s->batches) > LATENCY_HIGH * s->plan.zero_load;
}

/*
 * Close to saturation, latency varies so slowly that the precision would take
 * minutes. That it is steady is known before that, and the error is reported.
 */
static int study_judges(struct study *s)
{
	double precision = batches_precision(&s->batches);
	bool known = precision <= s->plan.precision ||
		     (s->o->max_cycles == 0 && precision <= CONTENT);
	bool steady = s->warm && known && s->batches.count >= BATCHES_FEW;
	return study_ends(s, steady ? STUDY_STEADY : STUDY_UNSETTLED);
}

static int study_phases(struct study *s)
{
	int r = study_warms_up(s);
	if (r == GOES_ON)
		r = study_measures(s);
	if (r == GOES_ON && study_climbs(s))
		r = study_grows(s);
	if (r == IS_OVER && s->result->verdict == STUDY_SATURATED &&
		s->now.cycle < s->plan.limit)
		r = study_shows(s);
	window_closes(s);
	if (r == GOES_ON)
		r = study_drains(s);
	return r == GOES_ON ? study_judges(s) : r;
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
	plan_make(&s.plan, n, o);
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
