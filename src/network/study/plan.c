/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See plan.h. The cost of a simulation is the number of flits that move over
 * links, some millions per second and core; cycles without activity are cheap,
 * but not free.
 */
#include "network/study/plan.h"

#include <math.h>

#include "network/engine/parts.h"

#define PERIOD_LEAST	500    /* cycles */
#define PERIOD_PACKETS	4000   /* at least */
#define PERIOD_ENOUGH	120000 /* packets */
#define LONG_LATENCIES	4      /* zero-load latencies of a period, ... */
#define SHORT_LATENCIES 3      /* ... and of one with very many packets */
#define PERIODS_MANY	256    /* of a study */
#define PERIODS_FEW	16     /* of a study, at any cost */
#define WORK_MANY	3.5e7  /* flits over links, in a study */
#define WORK_PIECE	1e5    /* between two progress calls */
#define CYCLES_MANY	1e11   /* of a study */
#define CYCLES_PIECE	1e6
#define PRECISION	0.01
#define PAIRS		64 /* of nodes, to estimate the distance */

/* Mean distance of some pairs of sources and destinations. */
static double mean_hops(const struct network *n, const struct traffic *t)
{
	struct random random = random_stream(n->options.seed, UINT64_MAX);
	struct routing_path path;
	double hops = 0;
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t from = random_below(&random, n->hosts);
		uint32_t to = traffic_target(t, from, &random);
		if (routing_find(n->routing, host_node(n, from),
			    host_node(n, to), &random, &path) == 0)
			hops += (double)routing_path_hops(&path) / PAIRS;
	}
	return hops;
}

static void period_set(struct study_plan *p, uint64_t period)
{
	p->step = (period + PLAN_STEPS - 1) / PLAN_STEPS;
	p->period = p->step * PLAN_STEPS;
}

void plan_longer(struct study_plan *p)
{
	period_set(p, 2 * p->period);
}

void plan_make(struct study_plan *p, const struct network *n,
	const struct study_options *o)
{
	const struct router *r = &n->router;
	double length = length_mean(&o->length);
	double hops = mean_hops(n, &o->traffic);
	/* Per cycle: flits offered, packets offered, flits over links. */
	double flits = o->load * n->hosts, packets = flits / length;
	double work = flits * (hops + 1);

	double stages = r->route_delay + r->channel_delay;
	p->zero_load = r->inject_delay + stages + r->eject_delay +
		       hops * (stages + n->link_delay_mean) + length - 1;
	/*
	 * A period has enough packets for a significant mean, and is so long
	 * that most of its packets begin and end in it. With very many packets
	 * it may be shorter, but its first packets must arrive long before its
	 * end. Deadlocks that routers recover from begin and end within one.
	 */
	double time = fmax(PERIOD_LEAST, LONG_LATENCIES * p->zero_load);
	double enough =
		fmax(PERIOD_ENOUGH / packets, SHORT_LATENCIES * p->zero_load);
	time = fmax(PERIOD_PACKETS / packets, fmin(time, enough));
	time = fmax(2.0 * r->deadlock_countdown, time);
	if (o->period)
		time = (double)o->period;
	period_set(p, (uint64_t)fmin(time, CYCLES_MANY));

	double limit = fmin(PERIODS_MANY * (double)p->period, WORK_MANY / work);
	limit = fmax(PERIODS_FEW * (double)p->period, limit);
	p->limit = o->max_cycles ? o->max_cycles
				 : (uint64_t)fmin(limit, CYCLES_MANY);
	/* Half for warm-up, half for measurement, some periods for each. */
	if (p->period > p->limit / PERIODS_FEW)
		period_set(p, p->limit / PERIODS_FEW + 1);
	p->piece = (uint64_t)fmax(1, fmin(CYCLES_PIECE, WORK_PIECE / work));
	p->many = SHORT_LATENCIES * p->zero_load * packets >= PERIOD_ENOUGH;
	p->precision = o->precision > 0 ? o->precision : PRECISION;
}
