/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing a stopped sender: the consumer gets a new queue set, and node, sender
 * and consumer must agree about each claimed entry of the old set: it counts,
 * or it is void and its message is issued again to the new set. Models
 * notify_finish() and notify_await_migration() of src/device/notify.c,
 * consumer_peek() of src/port/consumer.h, and src/node/fence.c.
 *
 * The sender must not pay for it. It stores word 7, then loads one word,
 * without a fence in between; that is sufficient because the node executes a
 * membarrier:
 *
 *	sender			node
 *	store word 7		store MIGRATION
 *	load migration		membarrier
 *				load word 7
 *
 * A sender that does not see MIGRATION has stored word 7 before the membarrier,
 * so the node finds the entry published. The converse does not hold: a sender
 * may see MIGRATION, and the node find the entry published. Therefore only the
 * node's list decides, and a sender that sees MIGRATION waits for the list. No
 * rule of the node could replace this, because a sender that only loads and
 * stores leaves no trace of the value that it has loaded.
 *
 * The consumer continues in the meantime. It must not consume an entry that the
 * node has found unpublished and is about to list, so it loads `migration`
 * after word 7, and then waits for the list as well.
 *
 * A sender waits for a limited time. Then it replaces MIGRATING by UNFENCED,
 * and the node MIGRATING by MIGRATED, both with a CAS: one of them decides for
 * all. After UNFENCED no entry is void. A node that has found UNFENCED begins
 * again, and its next list cannot contain an entry that was delivered, because
 * of another membarrier. Each sender loses patience at most once.
 *
 * Sender 0 is fenced; it may stop for ever at any step, or continue at any
 * time. Properties: every message is delivered once, in order; neither node nor
 * consumer nor the other sender ever waits for sender 0.
 *
 * With BURST, a bit per sender, a sender with its bit sends a burst: one claim of
 * two entries; the other sends one message. The node loads the
 * entries of a claim from the last to the first, and lists all unpublished ones
 * around the last one of sender 0, up to a published one. So it finds and lists
 * only the last entries of any claim.
 *
 * IN_RECORD is an alternative: the node replaces OWN by FENCED in the record of
 * sender 0, and the sender loads that. It holds if sender 0 continues (MOVES).
 * But FENCED cannot replace TRY, which the sender overwrites, so the node waits
 * for a sender that has stopped there.
 *
 * Variants that must fail:
 *	NO_MEMBARRIER	the node loads word 7 without a membarrier
 *	GIVE_UP		a sender whose time is over regards the entry as
 *			delivered, without the CAS
 *	PLAIN_LIST	the node stores MIGRATED without a CAS
 *	ONE_BARRIER	the node begins again without a membarrier
 *	OLD_LIST	the node begins again and keeps its list
 *	BLIND		the consumer does not load MIGRATION
 *	LOOK_FIRST	it loads MIGRATION before word 7
 *	FORWARD		with BURST: the node loads the entries of a claim from
 *			the first to the last
 *	CLAIM_ONLY	with BURST: the node lists only entries of the record
 *	FIRST_ENTRY	with BURST: a sender whose first entry is not listed
 *			regards all as delivered
 *	ALL_AGAIN	with BURST: a sender with a listed entry issues all
 *			messages again
 *	IN_RECORD	without MOVES: the node waits
 *	FENCE_TRY	with IN_RECORD: the node replaces TRY by FENCED
 *	ALONE		with IN_RECORD: the sender issues again whenever it
 *			finds FENCED, and the node, if the entry is published,
 *	 KEEP		... does nothing
 *	 REVERT		... replaces FENCED by OWN, if it is still there
 *	 REVERT_LIST	... the same, and lists the entry if it is not
 *	 LIST		... lists the entry if FENCED is still there
 */

#define SENDERS	 2
#ifdef BURST
#define MESSAGES(s) (1 + BURST_OF(s))
#define TOTAL	4
#define BURST_OF(s) (BURST >> (s) & 1)
#else
#define MESSAGES(s) (2 - (s)) /* two of sender 0, one of sender 1 */
#define TOTAL	3
#endif
#define ENTRIES TOTAL /* one lap only; publish.pml covers laps */

/* ---- memory ---- */

#define W	  0
#define MIGRATION	  1
#define STATE(s)  (2 + (s))
#define W_OLD(s)  (2 + SENDERS + (s))
#define WORD7(i)  (2 + 2 * SENDERS + (i))
#define LISTED(i) (2 + 2 * SENDERS + ENTRIES + (i))
#ifdef BURST
#define W_NEW(s)  (2 + 2 * SENDERS + 2 * ENTRIES + (s))
#define CELLS	  (2 + 3 * SENDERS + 2 * ENTRIES)
#define BUFFER_DEPTH 6
#else
#define CELLS	  (2 + 2 * SENDERS + 2 * ENTRIES)
#define BUFFER_DEPTH 5
#endif
#define NODE	  SENDERS /* its buffer */
#define BUFFERS	  (SENDERS + 1)

#include "store_buffer.pml"

/* W: a count, and CLOSED. */
#define CLOSED	 1
#define NQ(word) ((word) / 2)
#define WORD(nq) ((nq) * 2)

/* `migration` of the queue set. */
#define STABLE 0
#define MIGRATING 1
#define MIGRATED 2
#define UNFENCED 3

#define IDLE   0
#define TRY    1
#define OWN    2
#define FENCED 3

#define MESSAGE(s, n) ((s) * 2 + (n) + 1)

/* ---- state of the model, not of the protocol ---- */

byte renewed[TOTAL]; /* messages of the new queue set */
byte renewed_count;
byte got[SENDERS];
bit done[SENDERS];
bit stopped; /* sender 0, for ever */
bit impatient[SENDERS]; /* its wait has ended once */

/* ---- a sender ---- */

active [SENDERS] proctype sender()
{
	byte w, signal, sent;
	bit won;
#ifdef BURST
	byte count, at;
#endif

load_w:
	{
		load(_pid, W, w);
attempt:
		atomic {
			if
			:: w & CLOSED -> goto follow
			:: else
			fi;
			store(_pid, W_OLD(_pid), NQ(w));
#ifdef BURST
			count = (BURST_OF(_pid) -> MESSAGES(_pid) - sent : 1);
			store(_pid, W_NEW(_pid), NQ(w) + count);
#else
#define count 1
#endif
			store(_pid, STATE(_pid), TRY)
		};
		atomic {
			d_step { cas_now(_pid, W, w, WORD(NQ(w) + count), won) };
			if
			:: won -> won = 0
			:: else -> goto attempt
			fi
		};
		/* Separate steps: a membarrier drains only executed stores. */
		store(_pid, STATE(_pid), OWN);
		store(_pid, WORD7(NQ(w)), MESSAGE(_pid, sent)); /* N3 */
#ifdef BURST
		if
		:: count == 2 ->
			store(_pid, WORD7(NQ(w) + 1), MESSAGE(_pid, sent + 1))
		:: else
		fi;
#endif
		atomic {
#ifdef IN_RECORD
			load(_pid, STATE(_pid), signal);
			signal = (signal == FENCED);
#else
			load(_pid, MIGRATION, signal); /* N7 */
#endif
			if
			:: signal -> signal = 0
			:: else -> goto delivered
			fi
		};
#ifndef ALONE
#ifdef IN_RECORD
		mem[MIGRATION] == MIGRATED;
#else
		if
		:: mem[MIGRATION] != MIGRATING
		:: atomic {
			mem[MIGRATION] == MIGRATING && !impatient[_pid];
			impatient[_pid] = 1
		   } ->
#ifdef GIVE_UP
			goto delivered
#else
			d_step {
				signal = MIGRATING;
				cas_now(_pid, MIGRATION, signal, UNFENCED, won);
				signal = 0;
				won = 0
			}
#endif
		fi;
		/* The list is read only if it is final. */
		atomic {
			load(_pid, MIGRATION, signal);
			if
			:: signal != MIGRATED -> signal = 0; goto delivered
			:: else -> signal = 0
			fi
		};
#endif
#ifdef BURST
#ifdef FIRST_ENTRY
#define DECIDES NQ(w)
#else
#define DECIDES (NQ(w) + count - 1) /* the last one */
#endif
		atomic {
			load(_pid, LISTED(DECIDES), signal);
			if
			:: signal -> signal = 0
			:: else -> goto delivered
			fi
		};
		/* Messages before the first listed entry are delivered. */
		do
		:: atomic {
			load(_pid, LISTED(NQ(w) + at), signal);
			if
#ifndef ALL_AGAIN
			:: !signal -> at++
#endif
			:: else -> sent = sent + at; at = 0; signal = 0; break
			fi
		   }
		od;
#else
		atomic {
			load(_pid, LISTED(NQ(w)), signal);
			if
			:: signal -> signal = 0
			:: else -> goto delivered
			fi
		};
#endif
#endif
follow: /* into the new set; its CAS drains the buffer */
		store(_pid, STATE(_pid), IDLE);
		d_step {
			flush_all(_pid);
			renewed[renewed_count] = MESSAGE(_pid, sent);
			renewed_count++
		};
		goto next;
delivered:
		store(_pid, STATE(_pid), IDLE);
		sent = sent + count - 1;
next:
		atomic {
#ifdef BURST
			count = 0;
#endif
			w = 0;
			sent++;
			if
			:: sent < MESSAGES(_pid) -> goto load_w
			:: else -> done[_pid] = 1; sent = 0
			fi
		}
	} unless {
		d_step {
			_pid == 0 && stopped;
			w = 0;
			signal = 0;
			sent = 0;
#ifdef BURST
			count = 0;
			at = 0;
#endif
			won = 0
		}
	}
}

active [BUFFERS] proctype memory()
{
#define cpu (_pid - SENDERS)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
#ifndef MOVES
	:: d_step { cpu == 0 && !stopped && !done[0]; stopped = 1 }
#endif
	od
}

/* ---- the consumer ---- */

hidden byte sender_of;

/* Each message once, in order. */
inline deliver(message)
{
	d_step {
		sender_of = ((message) - 1) / 2;
		assert(message == MESSAGE(sender_of, got[sender_of]));
		got[sender_of]++;
		sender_of = 0
	}
}

#define ALL_ENDED (done[1] && (done[0] || stopped))

active proctype receiver()
{
	byte at, word, taken;

consume:
	do
#ifdef LOOK_FIRST
	:: mem[MIGRATION] == STABLE ->
		atomic {
			if
			:: at < ENTRIES && mem[WORD7(at)] != 0 ->
				deliver(mem[WORD7(at)]);
				at++
			:: else
			fi
		}
#else
	:: atomic {
		at < ENTRIES && mem[WORD7(at)] != 0; /* N4 */
		word = mem[WORD7(at)]
	   } ->
		atomic {
#ifndef BLIND
			if
			:: mem[MIGRATION] == MIGRATING ||
				mem[MIGRATION] == MIGRATED ->
				word = 0;
				goto migrating
			:: else
			fi;
#endif
			deliver(word);
			word = 0;
			at++
		}
#endif
	:: mem[MIGRATION] == MIGRATED -> goto migrating
	:: mem[MIGRATION] == UNFENCED && (mem[W] & CLOSED) &&
		at == NQ(mem[W]) -> goto follow
	od;
migrating:
	if
	:: mem[MIGRATION] == UNFENCED -> goto consume
	:: mem[MIGRATION] == MIGRATED
	fi;
	do
	:: at == NQ(mem[W]) -> break
	:: atomic { at < NQ(mem[W]) && mem[LISTED(at)]; at++ }
	:: atomic {
		at < NQ(mem[W]) && !mem[LISTED(at)] && mem[WORD7(at)] != 0;
		deliver(mem[WORD7(at)]);
		at++
	   }
	od;
follow:
	do
	:: atomic {
		taken < renewed_count;
		deliver(renewed[taken]);
		taken++
	   }
	:: atomic { ALL_ENDED && taken == renewed_count; break }
	od;
	assert(got[1] == MESSAGES(1) && (stopped || got[0] == MESSAGES(0)))
}

/* ---- the node ---- */

/*
 * TRY may be a claim that failed, and the entry that of another sender, which
 * then sees MIGRATION too and issues again. FENCED in a record reaches only its
 * owner.
 */
#ifdef IN_RECORD
#define CLAIMS(state) (state == FENCED)
#else
#define CLAIMS(state) (state != IDLE)
#endif

inline membarrier()
{
#ifndef NO_MEMBARRIER
	d_step {
		flush_all(0);
		flush_all(1);
		flush_all(NODE);
		k = 0
	}
#else
	skip
#endif
}

active proctype node()
{
	byte w, i, state;
	bit won;
#ifdef BURST
	byte last, end;
#endif
#ifdef ONE_BARRIER
	bit begun;
#endif

begin:
	store(NODE, MIGRATION, MIGRATING);
#ifndef IN_RECORD
#ifdef ONE_BARRIER
	if
	:: !begun -> membarrier()
	:: else
	fi;
#else
	membarrier();
#endif
#endif
	/* The new set is open before the old one closes. */
	fetch_or(NODE, W, CLOSED, w);
#ifdef IN_RECORD
again:
	load(NODE, STATE(0), state);
	atomic {
		load(NODE, W_OLD(0), i);
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
		d_step { cas_now(NODE, STATE(0), state, FENCED, won) };
		if
		:: won -> won = 0
		:: else -> state = 0; goto again
		fi
	};
	membarrier();
#endif
	/* Only now: the record may have named the previous claim before. */
	load(NODE, STATE(0), state);
	load(NODE, W_OLD(0), i);
#ifdef BURST
	/* As fence_range(). */
	load(NODE, W_NEW(0), end);
	atomic {
		if
		:: !CLAIMS(state) || i >= end || end > NQ(w) -> goto decided
		:: else -> last = end - 1
		fi
	};
#ifdef FORWARD
	do
	:: i < end && mem[WORD7(i)] == 0 -> store(NODE, LISTED(i), 1); i++
	:: i < end && mem[WORD7(i)] != 0 -> i++
	:: i == end -> goto decided
	od;
#endif
#ifndef CLAIM_ONLY
	do
	:: atomic { end < NQ(w) && mem[WORD7(end)] == 0; end++ }
	:: end == NQ(w) -> break
	:: end < NQ(w) && mem[WORD7(end)] != 0 -> break
	od;
#endif
	/* [state, end) is the range; `state` is not used any more. */
	state = end;
	do
	:: state == i -> break
	:: atomic { state > i && mem[WORD7(state - 1)] == 0; state-- }
	:: atomic {
		state > i && mem[WORD7(state - 1)] != 0;
		if
		:: state - 1 == last -> goto decided
		:: state - 1 < last -> break
		:: state - 1 > last -> state--; end = state
		fi
	   }
	od;
	do
	:: state < end -> store(NODE, LISTED(state), 1); state++
	:: else -> goto decided
	od;
#endif
	atomic {
		if
		:: !CLAIMS(state) || i >= NQ(w) -> goto decided
		:: CLAIMS(state) && i < NQ(w) && mem[WORD7(i)] == 0 ->
			store(NODE, LISTED(i), 1);
			goto decided
		:: CLAIMS(state) && i < NQ(w) && mem[WORD7(i)] != 0
		fi
	};
#ifdef ALONE
	atomic {
		state = FENCED;
#ifdef LIST
		won = !(mem[STATE(0)] == FENCED);
#endif
#if defined(REVERT) || defined(REVERT_LIST)
		d_step { cas_now(NODE, STATE(0), state, OWN, won) };
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
#ifdef IN_RECORD
trying:
	mem[STATE(0)] != TRY; /* its CAS may have succeeded or failed */
	goto again;
#endif
decided:
#if defined(IN_RECORD) || defined(PLAIN_LIST)
	store(NODE, MIGRATION, MIGRATED)
#else
	atomic {
		state = MIGRATING;
		d_step { cas_now(NODE, MIGRATION, state, MIGRATED, won) };
		if
		:: won
		:: else ->
#ifdef ONE_BARRIER
			begun = 1;
#endif
#ifndef OLD_LIST
#ifdef BURST
			i = 0;
			do
			:: i < ENTRIES -> store(NODE, LISTED(i), 0); i++
			:: else -> break
			od;
			last = 0;
			end = 0;
#else
			store(NODE, LISTED(i), 0);
#endif
#endif
			goto begin
		fi
	}
#endif
}
