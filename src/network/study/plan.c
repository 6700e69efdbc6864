/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See plan.h. What a simulation costs is counted in flits that move over links,
 * of which a core does some millions in a second; cycles in which nothing moves
 * are nearly free, but not quite.
 */
#include "network/study/plan.h"

#include <math.h>

#include "network/engine/parts.h"

#define PERIOD_LEAST	500    /* cycles */
#define PERIOD_PACKETS	4000   /* at least */
#define PERIOD_ENOUGH	120000 /* packets */
#define LONG_LATENCIES	4      /* of an empty network: a period, ... */
#define SHORT_LATENCIES 3      /* ... and one of very many packets */
#define PERIODS_MANY	256    /* of a study */
#define PERIODS_FEW	16     /* however much work they are */
#define WORK_MANY	3.5e7  /* flits over links, in a study */
#define WORK_PIECE	1e5    /* until the caller is asked */
#define CYCLES_MANY	1e11   /* of a study */
#define CYCLES_PIECE	1e6
#define PRECISION	0.01
#define PAIRS		64 /* of nodes, to know the distance */

/* What the load does in a cycle. */
struct flow {
	double packets, work;
};

static double way_hops(const struct routing_path *way)
{
	double hops = 0;
	for (unsigned i = 0; i < way->count; i++)
		hops += routing_leg_hops(routing_path_legs(way)[i]);
	return hops;
}

/* The mean of a few pairs of nodes that have a packet for each other. */
static double mean_hops(const struct network *n, const struct traffic *t)
{
	struct random random = random_stream(n->options.seed, UINT64_MAX);
	struct routing_path way;
	double hops = 0;
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t from = random_below(&random, n->nodes);
		uint32_t to = traffic_target(t, from, &random);
		if (routing_find(n->routing, from, to, &random, &way) == 0)
			hops += way_hops(&way) / PAIRS;
	}
	return hops;
}

static double zero_load(const struct router *r, double hops, double length)
{
	double router = r->route_delay + r->channel_delay;
	return r->inject_delay + router + r->eject_delay +
	       hops * (router + r->link_delay) + length - 1;
}

/*
 * A period has so many packets that its mean says something, and is so long
 * that its packets do not belong to others; where it has very many packets, it
 * may be shorter, but the first ones must have arrived long before its end.
 * Deadlocks that the routers get out of come and go within one.
 */
static double plan_period(const struct study_plan *p, const struct network *n,
	const struct flow *f)
{
	double time = fmax(PERIOD_LEAST, LONG_LATENCIES * p->zero_load);
	double enough = fmax(
		PERIOD_ENOUGH / f->packets, SHORT_LATENCIES * p->zero_load);
	time = fmax(PERIOD_PACKETS / f->packets, fmin(time, enough));
	return fmax(2.0 * n->router.deadlock_countdown, time);
}

static double plan_limit(const struct study_plan *p, const struct flow *f)
{
	double period = (double)p->period;
	double limit = fmin(PERIODS_MANY * period, WORK_MANY / f->work);
	return fmin(fmax(PERIODS_FEW * period, limit), CYCLES_MANY);
}

static void plan_period_is(struct study_plan *p, uint64_t period)
{
	p->step = (period + PLAN_STEPS - 1) / PLAN_STEPS;
	p->period = p->step * PLAN_STEPS;
}

void plan_longer(struct study_plan *p)
{
	plan_period_is(p, 2 * p->period);
}

static uint64_t plan_piece(const struct flow *f)
{
	return (uint64_t)fmax(1, fmin(CYCLES_PIECE, WORK_PIECE / f->work));
}

void plan_make(struct study_plan *p, const struct network *n,
	const struct study_options *o)
{
	double flits = o->load * n->nodes, length = length_mean(&o->length);
	double hops = mean_hops(n, &o->traffic);
	struct flow f = { flits / length, flits * (hops + 1) };
	p->zero_load = zero_load(&n->router, hops, length);
	double period = o->period ? (double)o->period : plan_period(p, n, &f);
	plan_period_is(p, (uint64_t)fmin(period, CYCLES_MANY));
	p->limit = o->max_cycles ? o->max_cycles : (uint64_t)plan_limit(p, &f);
	/* Half to warm up and half to measure, and a few periods for each. */
	if (p->period > p->limit / PERIODS_FEW)
		plan_period_is(p, p->limit / PERIODS_FEW + 1);
	p->piece = plan_piece(&f);
	p->many = SHORT_LATENCIES * p->zero_load * f.packets >= PERIOD_ENOUGH;
	p->precision = o->precision > 0 ? o->precision : PRECISION;
}
