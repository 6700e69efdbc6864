/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scoreboard: requests leave the issue queue for one of two units, each a
 * pipeline of STAGES stages and a wait queue, with any delay per stage. Models
 * scoreboard_unit() and pipeline_step() of src/device/machine; one step of a
 * unit is one step of the model.
 *
 * A request whose key is in a unit, in a stage or in the wait queue, goes to
 * the same unit or waits. In the last stage it takes effect.
 *
 * Property: all requests take effect, those with the same key in the order of
 * issue. Others may overtake (PARALLEL asserts the contrary).
 *
 * Variants that must fail:
 *	ANY_UNIT	the scoreboard is not consulted
 *	NO_WAIT_KEYS	it has no entries for the wait queues
 *	REMOVED_EARLY	the entry is removed in front of the last stage
 *	OVERTAKES	the issue queue passes on the second request although the
 *			first need not stay
 *	PARALLEL	no request overtakes one with another key
 */

#ifndef REQUESTS
#define REQUESTS 5
#endif
#define UNITS	2
#define STAGES	2

#define NONE	255

byte key[REQUESTS];		/* 1 or 2 */
byte stage[UNITS * STAGES];	/* requests, or NONE */
byte waiting[UNITS];
bit issued[REQUESTS], done[REQUESTS];
byte finished;
bit ready; /* the state above is set up */

#define AT(u, s)      stage[(u) * STAGES + (s)]
#define HOLDS(r, k)   ((r) != NONE && key[r] == (k))
#ifdef NO_WAIT_KEYS
#define WAITS(u, k)   false
#else
#define WAITS(u, k)   HOLDS(waiting[u], k)
#endif
#ifdef REMOVED_EARLY
#define PRESENT(u, k) (HOLDS(AT(u, 0), k) || WAITS(u, k))
#else
#define PRESENT(u, k) (HOLDS(AT(u, 0), k) || HOLDS(AT(u, 1), k) || WAITS(u, k))
#endif
#define ACCEPTS(u)    (waiting[u] == NONE)

#ifdef ANY_UNIT
#define MAY(u, k) ACCEPTS(u)
#else
#define MAY(u, k) (ACCEPTS(u) && (PRESENT(u, k) || !PRESENT(1 - (u), k)))
#endif

inline enter(u)
{
	issued[at] = 1;
	if
	:: AT(u, 0) == NONE -> AT(u, 0) = at
	:: else -> waiting[u] = at
	fi
}

/*
 * The second request of the issue queue is looked at if the first stays, in the
 * same step: what the scoreboard refuses to the first it refuses to one with
 * the same key.
 */
#ifdef OVERTAKES
#define STAYS(r) true
#else
#define STAYS(r) (!MAY(0, key[r]) && !MAY(1, key[r]))
#endif

active proctype scheduler()
{
	byte next, at;

	d_step {
		at = 0;
		do
		:: at < UNITS * STAGES -> stage[at] = NONE; at++
		:: else -> break
		od;
		waiting[0] = NONE;
		waiting[1] = NONE;
		at = 0
	};
	do
	:: at < REQUESTS ->
		if
		:: key[at] = 1
		:: key[at] = 2
		fi;
		at++
	:: else -> break
	od;
	atomic { at = 0; ready = 1 };
	do
	:: atomic {
		next < REQUESTS;
		at = next;
		if
		:: MAY(0, key[at]) || MAY(1, key[at])
		:: STAYS(next) && next + 1 < REQUESTS && !issued[next + 1] ->
			at = next + 1
		fi;
		if
		:: MAY(0, key[at]) -> enter(0)
		:: MAY(1, key[at]) -> enter(1)
		:: else
		fi;
		at = 0;
		do
		:: next < REQUESTS && issued[next] -> next++
		:: else -> break
		od
	   }
	:: next == REQUESTS -> break
	od;
	finished == REQUESTS /* all take effect */
}

active [UNITS] proctype unit()
{
	byte i;
#define u (_pid - 1)
	ready;
end:
	do
	/* The last stage: the request takes effect and leaves. */
	:: atomic {
		AT(u, 1) != NONE;
		i = 0;
		do
		:: i < AT(u, 1) ->
			assert(key[i] != key[AT(u, 1)] || done[i]);
#ifdef PARALLEL
			assert(done[i]);
#endif
			i++
		:: else -> break
		od;
		done[AT(u, 1)] = 1;
		finished++;
		AT(u, 1) = NONE;
		i = 0
	   }
	:: atomic {
		AT(u, 0) != NONE && AT(u, 1) == NONE;
		AT(u, 1) = AT(u, 0);
		AT(u, 0) = waiting[u];
		waiting[u] = NONE
	   }
	od
}
