/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing off a sender that neither dies nor moves: the consumer gets a new
 * queue set, and for each entry of the old one that is claimed, node, sender
 * and consumer must come to the same answer: it counts, or it is void and its
 * message is issued again into the new set. notify_finish() of notify.c,
 * record_fenced() of record.c; `moved` and the fenced list of arena.h.
 *
 * The sender must not pay for it. It stores word 7, then loads one word, with
 * no fence between; that is enough because the node issues a membarrier:
 *
 *	sender			node
 *	store word 7		set the signal (FENCED, or FENCING)
 *	load the signal		membarrier
 *				load word 7
 *
 * A sender that loads no signal has stored word 7 before the membarrier, so
 * the node finds the entry published. The converse does not hold: a sender may
 * load the signal, and the node find the entry published nevertheless. So the
 * node's list is the only answer, and a sender that finds the signal waits for
 * it (`moved`) instead of drawing its own conclusion. No rule on the node's
 * side could replace that: a sender that only loads and stores leaves no trace
 * of which of the two it has loaded.
 *
 * What must hold: every message is delivered exactly once, in order, and
 * neither node nor consumer waits for the sender.
 *
 * The signal is OP_FENCED in the sender's record; with IN_SET, it is one word
 * in the queue set, which also reaches a sender between its CAS and the store
 * of OWN.
 *
 * The consumer goes on meanwhile. It must not take an entry that the node has
 * seen unpublished and is about to list; so having found word 7 it looks at
 * FENCING, and if that is set it waits for the list too. With ASKED, nobody
 * but the consumer itself starts the fencing, and it leaves its queue alone
 * until it is answered: then it need not look.
 *
 * STOPPED lets the sender stop for ever at any step.
 *
 * Variants that must fail:
 *	NO_MEMBARRIER	the node looks at word 7 without
 *	BLIND		the consumer does not look at FENCING
 *	FENCE_TRY	the node puts FENCED over TRY too: OWN overwrites it
 *	STOPPED		without IN_SET: the node waits while a record says TRY
 *	ALONE		the sender issues again whenever it finds FENCED, and
 *			the node, when the entry is published, ...
 *	 KEEP		... does nothing
 *	 REVERT		... swaps FENCED back to OWN, if it is still there
 *	 REVERT_LIST	... the same, and lists the entry if it is not
 *	 LIST		... lists the entry if FENCED is still there
 */

#define MESSAGES 2
#define ENTRIES	 MESSAGES /* no lap: publish.pml has those */

/* ---- memory ---- */

#define W	  0
#define STATE	  1
#define W_OLD	  2
#define FENCING	  3
#define MOVED	  4
#define WORD7(i)  (5 + (i))
#define LISTED(i) (5 + ENTRIES + (i))
#define CELLS	  (5 + 2 * ENTRIES)
#define SENDER	  0
#define NODE	  1
#define BUFFERS	  2
#define BUFFER_DEPTH 6

#include "store_buffer.pml"

/* W: a count, and CLOSED. */
#define CLOSED	 1
#define NQ(word) ((word) / 2)
#define WORD(nq) ((nq) * 2)

#define IDLE   0
#define TRY    1
#define OWN    2
#define FENCED 3

/* ---- what only the model knows ---- */

byte renewed[MESSAGES]; /* messages in the new queue set */
byte renewed_count;
bit done, stopped, asked;

/* ---- the sender ---- */

active proctype sender()
{
	byte w, signal, sent;
	bit won;

load_w:
	{
		atomic {
			load(SENDER, W, w);
			if
			:: w & CLOSED -> goto follow
			:: else
			fi
		};
		atomic {
			store(SENDER, W_OLD, NQ(w));
			store(SENDER, STATE, TRY)
		};
		atomic {
			d_step {
				cas_now(SENDER, W, w, WORD(NQ(w) + 1), won)
			};
			if
			:: won -> won = 0
			:: else -> goto follow /* only CLOSED can have come */
			fi
		};
		/* One by one: a membarrier drains only what was executed. */
		store(SENDER, STATE, OWN);
		store(SENDER, WORD7(NQ(w)), sent + 1);
		atomic {
#ifdef IN_SET
			load(SENDER, FENCING, signal);
#else
			load(SENDER, STATE, signal);
			signal = (signal == FENCED);
#endif
			if
			:: signal -> signal = 0
			:: else -> goto delivered
			fi
		};
#ifndef ALONE
		mem[MOVED];
		atomic {
			load(SENDER, LISTED(NQ(w)), signal);
			if
			:: signal -> signal = 0
			:: else -> goto delivered
			fi
		};
#endif
follow: /* into the new set, whose claims drain the buffer */
		store(SENDER, STATE, IDLE);
		d_step {
			flush_all(SENDER);
			renewed[renewed_count] = sent + 1;
			renewed_count++
		};
		goto next;
delivered:
		store(SENDER, STATE, IDLE);
next:
		atomic {
			w = 0;
			sent++;
			if
			:: sent < MESSAGES -> goto load_w
			:: else -> done = 1; sent = 0
			fi
		}
	} unless {
		d_step { stopped; w = 0; signal = 0; sent = 0; won = 0 }
	}
}

active [BUFFERS] proctype memory()
{
#define whose (_pid - 1)
end:
	do
	:: d_step { buffer[whose].used > 0; flush_oldest(whose) }
#ifdef STOPPED
	:: d_step { whose == SENDER && !stopped && !done; stopped = 1 }
#endif
	od
}

/* ---- the consumer ---- */

byte expected = 1; /* the message that must come next */

inline deliver(message)
{
	assert(message == expected); /* not lost, not twice, in order */
	expected++
}

#define NOTHING(at) (at == ENTRIES || mem[WORD7(at)] == 0)

active proctype receiver()
{
	byte at, message, taken;

	do
	:: atomic {
		at < ENTRIES && mem[WORD7(at)] != 0;
		message = mem[WORD7(at)]
	   } ->
#if !defined(BLIND) && !defined(ASKED)
		if
		:: mem[FENCING] ->
			mem[MOVED];
			goto listed
		:: else
		fi;
#endif
		d_step { deliver(message); message = 0; at++ }
#ifdef ASKED
	:: atomic { NOTHING(at); asked = 1 } ->
		mem[MOVED];
#else
	:: NOTHING(at) && mem[MOVED] ->
#endif
listed:
		atomic {
			if
			:: at == NQ(mem[W]) -> break
			:: at < NQ(mem[W]) && mem[LISTED(at)]
			:: at < NQ(mem[W]) && !mem[LISTED(at)] ->
				assert(mem[WORD7(at)] != 0);
				deliver(mem[WORD7(at)])
			fi;
			message = 0;
			at++;
			goto listed
		}
	od;
	do
	:: taken < renewed_count ->
		atomic { deliver(renewed[taken]); taken++ }
	:: done && taken == renewed_count ->
		assert(expected == MESSAGES + 1);
		break
	:: stopped && taken == renewed_count -> break
	od
}

/* ---- the node ---- */

active proctype node()
{
	byte w, i, state;
	bit won;

#ifdef ASKED
	asked;
#endif
	/* The new set is open before the old one closes. */
	fetch_or(NODE, W, CLOSED, w);
	store(NODE, FENCING, 1);
#ifdef IN_SET
	drain(NODE);
#ifndef NO_MEMBARRIER
	drain(SENDER); /* the membarrier */
#endif
	do
	:: i == NQ(w) -> break
	:: i < NQ(w) ->
		atomic {
			if
			:: mem[WORD7(i)] == 0 -> store(NODE, LISTED(i), 1)
			:: else
			fi;
			i++
		}
	od;
#else
again:
	load(NODE, STATE, state);
	atomic {
		load(NODE, W_OLD, i);
		if
		:: state == IDLE -> goto decided
		:: state == TRY && NQ(w) <= i -> goto decided /* cannot win */
#ifdef FENCE_TRY
		:: state == TRY && NQ(w) > i
#else
		:: state == TRY && NQ(w) > i -> state = 0; goto trying
#endif
		:: state == OWN
		fi
	};
	atomic {
		d_step { cas_now(NODE, STATE, state, FENCED, won) };
		if
		:: won -> won = 0
		:: else -> state = 0; goto again
		fi
	};
#ifndef NO_MEMBARRIER
	drain(SENDER); /* the membarrier */
#endif
	/*
	 * Only now: what was read before FENCED may have been of the claim
	 * before. And it may be of the next, which has not won.
	 */
	load(NODE, W_OLD, i);
	atomic {
		if
		:: i >= NQ(w) -> goto decided
		:: i < NQ(w) && mem[WORD7(i)] == 0 ->
			store(NODE, LISTED(i), 1);
			goto decided
		:: i < NQ(w) && mem[WORD7(i)] != 0
		fi
	};
#ifdef ALONE
	atomic {
		state = FENCED;
#ifdef LIST
		won = !(mem[STATE] == FENCED);
#endif
#if defined(REVERT) || defined(REVERT_LIST)
		d_step { cas_now(NODE, STATE, state, OWN, won) };
#endif
#if defined(LIST) || defined(REVERT_LIST)
		if
		:: !won -> store(NODE, LISTED(i), 1)
		:: else
		fi
#endif
	};
#endif
	goto decided;
trying:
	mem[STATE] != TRY; /* it may or may not have won */
	goto again;
#endif
decided:
	store(NODE, MOVED, 1)
}
