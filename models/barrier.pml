/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A barrier of the network: three nodes in a tree, links that preserve order
 * and have arbitrary delays, and resets by any node at any time. Handling one
 * message, or one request of the host, is one step:
 * src/network/barrier/barrier.c.
 *
 * The tree is a chain or, with FORK, a root with two leaves. All nodes take
 * part except SILENT, if given: the middle of the chain, or the root of the
 * fork. A leaf that does not take part is not in the tree.
 *
 * Properties: a round is released only when all participants have arrived in
 * it. All participants end the same rounds in the same order, each once. A
 * reset ends the current round of its node with an error, or the next one if
 * the current one has been released; there are at most as many errors as
 * resets. In the end all rounds are over and no message is in flight. Every
 * message is consistent with the state of its receiver, except messages of
 * rounds that are over. No link holds more than UP_DEPTH and DOWN_DEPTH
 * messages.
 *
 * PARITY is an alternative: no confirmations, but a bit of the round in UP. It
 * tolerates one reset only.
 *
 * Variants that must fail:
 *	NO_ANSWER	resets are not confirmed
 *	ANSWER_EARLY	a node confirms before its children have
 *	NOT_HELD	a node sends a reset before its confirmation, and the
 *			reset is lost
 *	PARITY		with more than one reset
 */

#ifndef ROUNDS
#define ROUNDS 2 /* in which hosts arrive */
#endif
#ifndef RESETS
#define RESETS 1
#endif
#ifndef SILENT
#define SILENT NODES /* none */
#endif
#ifdef PARITY
#define NO_ANSWER
#define ROUND_OF(n) (round[n] % 2)
#else
#define ROUND_OF(n) 0
#endif

#define NODES	 3
#define TOP	 0
#define ENDS_MAX (ROUNDS + RESETS)

/* The variants must fail by an effect on hosts, not earlier. */
#if defined(NO_ANSWER) || defined(ANSWER_EARLY)
#define EXPECTED(what) skip
#define UP_DEPTH   (5 + 2 * RESETS)
#define DOWN_DEPTH (2 + RESETS)
#else
#define EXPECTED(what) assert(what)
#define UP_DEPTH   5
#define DOWN_DEPTH 2
#endif

#ifdef FORK
#define PARENT(n)   TOP
#define OF_ALL(x, n) ((n) != TOP || (x[1] && x[2]))
#define OF_ANY(x, n) ((n) == TOP && (x[1] || x[2]))
#else
#define PARENT(n)   ((n) - 1)
#define OF_ALL(x, n) ((n) == 2 || x[(n) + 1])
#define OF_ANY(x, n) ((n) != 2 && x[(n) + 1])
#endif

#define PARTICIPATES(n) ((n) != SILENT)
#define COMPLETE(n)   (OF_ALL(up_received, n) && (arrived[n] || !PARTICIPATES(n)))

mtype = { UP, DOWN, RESET_UP, RESET_DOWN, RESET_DONE };
chan up[NODES] = [UP_DEPTH] of { mtype, bit };
chan down[NODES] = [DOWN_DEPTH] of { mtype };

/* ---- state of nodes; up_received, resetting: of a child, at its parent ---- */

bit arrived[NODES];
bit up_received[NODES];
bit resetting[NODES];
bit reset_sent[NODES];
bit reset_held[NODES];

/* ---- state of the model, except for the parity ---- */

byte round[NODES]; /* rounds that have ended at each node */
byte owed[NODES];  /* the round of its reset, plus 1; or 0 */
bit failed[ENDS_MAX + 1];
byte ended; /* rounds that have ended at some node */
byte resets, errors;
hidden byte c;

#define HAS_ARRIVED(n) \
	(!PARTICIPATES(n) || (arrived[n] && round[n] == ended))

inline round_first_seen(error)
{
	if
	:: !error ->
		assert(HAS_ARRIVED(0));
		assert(HAS_ARRIVED(1));
		assert(HAS_ARRIVED(2))
	:: else -> errors++
	fi;
	assert(errors <= resets);
	failed[ended] = error;
	ended++
}

inline release_host(n, error)
{
	if
	:: PARTICIPATES(n) && round[n] == ended -> round_first_seen(error)
	:: else
	fi;
	assert(!PARTICIPATES(n) || failed[round[n]] == error);
	assert(!owed[n] || round[n] + 1 == owed[n] ||
		(error && round[n] == owed[n]));
	if
	:: error -> owed[n] = 0
	:: else
	fi;
	arrived[n] = 0;
	round[n]++
}

/* ---- a node ---- */

inline send_up(n, kind)
{
	assert(len(up[n]) < UP_DEPTH);
	up[n]!kind, ROUND_OF(n)
}

/* Sends to all children, which starts a new round. */
inline send_down(n, kind, is_reset)
{
	c = 1;
	do
	:: c < NODES && PARENT(c) == n ->
		up_received[c] = 0;
#ifndef NO_ANSWER
		resetting[c] = is_reset;
#endif
		assert(len(down[c]) < DOWN_DEPTH);
		down[c]!kind;
		c++
	:: c < NODES && PARENT(c) != n -> c++
	:: c == NODES -> break
	od;
	c = 0
}

inline round_release(n)
{
	send_down(n, DOWN, 0);
	release_host(n, 0)
}

#ifdef ANSWER_EARLY
#define DONE_NOW(n) (n != TOP)
#else
#define DONE_NOW(n) (n != TOP && !OF_ANY(resetting, n))
#endif

inline round_fail(n)
{
	reset_sent[n] = 0;
	send_down(n, RESET_DOWN, 1);
#ifndef NO_ANSWER
	if
	:: DONE_NOW(n) -> send_up(n, RESET_DONE)
	:: else
	fi;
#endif
	release_host(n, 1)
}

inline round_advance(n)
{
	if
	:: COMPLETE(n) && n == TOP -> round_release(n)
	:: COMPLETE(n) && n != TOP -> send_up(n, UP)
	:: else
	fi
}

#ifdef NOT_HELD
#define HOLDS(n) (n == TOP && OF_ANY(resetting, n))
#else
#define HOLDS(n) OF_ANY(resetting, n)
#endif

inline reset(n)
{
	if
	:: HOLDS(n) -> reset_held[n] = 1
	:: !HOLDS(n) && n == TOP -> round_fail(n)
	:: !HOLDS(n) && n != TOP && !reset_sent[n] ->
		reset_sent[n] = 1;
		send_up(n, RESET_UP)
	:: else
	fi
}

inline reset_done(n)
{
#ifndef ANSWER_EARLY
	if
	:: n != TOP -> send_up(n, RESET_DONE)
	:: else
	fi;
#endif
	if
	:: reset_held[n] -> reset_held[n] = 0; reset(n)
	:: else
	fi
}

inline receive_from_child(n, child)
{
	up[child]?kind, parity;
	if
	:: kind == UP && !resetting[child] && parity == ROUND_OF(n) ->
		EXPECTED(!up_received[child]);
		up_received[child] = 1;
		round_advance(n)
	:: kind == RESET_UP && !resetting[child] -> reset(n)
	:: kind == RESET_DONE ->
		EXPECTED(resetting[child]);
		resetting[child] = 0;
		if
		:: !OF_ANY(resetting, n) -> reset_done(n)
		:: else
		fi
	:: else /* of a round that is over */
	fi;
	kind = 0;
	parity = 0
}

inline receive_from_parent(n)
{
	down[n]?kind;
	if
	:: kind == DOWN ->
		EXPECTED(COMPLETE(n));
		round_release(n)
	:: kind == RESET_DOWN ->
		EXPECTED(!OF_ANY(resetting, n));
		round_fail(n)
	fi;
	kind = 0
}

active [NODES] proctype node()
{
	mtype kind;
	bit parity;
end:
	do
	:: d_step {
		PARTICIPATES(_pid) && !arrived[_pid] && round[_pid] < ROUNDS;
		arrived[_pid] = 1;
		round_advance(_pid)
	   }
	:: d_step {
		resets < RESETS;
		resets++;
		if
		:: PARTICIPATES(_pid) && !owed[_pid] ->
			owed[_pid] = round[_pid] + 1
		:: else
		fi;
		reset(_pid)
	   }
	:: d_step {
		PARENT(1) == _pid && nempty(up[1]);
		receive_from_child(_pid, 1)
	   }
	:: d_step {
		PARENT(2) == _pid && nempty(up[2]);
		receive_from_child(_pid, 2)
	   }
	:: d_step {
		_pid != TOP && nempty(down[_pid]);
		receive_from_parent(_pid)
	   }
	od
}

/* ---- the end, which must be reached ---- */

#define IS_OVER(n)                                                   \
	((!PARTICIPATES(n) || (round[n] == ended && !arrived[n])) &&   \
		!resetting[n] && !reset_sent[n] && !reset_held[n] &&      \
		empty(up[n]) && empty(down[n]))

active proctype monitor()
{
	d_step {
		resets == RESETS && ended >= ROUNDS && IS_OVER(0) &&
			IS_OVER(1) && IS_OVER(2);
		assert(!owed[0] && !owed[1] && !owed[2]);
		assert(errors > 0 || resets == 0)
	}
}
