/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claim, publish, repair: several senders, a consumer, and a node that voids
 * entries of dead senders. Models src/device/notify.c and record.c, and
 * src/node/repair.c; each access to shared memory is a step. A mortal sender
 * may die at any time. Its stores until then become visible before the node
 * detects the death, since the pidfd reports it.
 *
 * Senders 0 to BURSTS - 1 send bursts: a claim has as many entries as there are
 * messages left, or as are free. A record covers its whole claim.
 *
 * Properties:
 *	the consumer receives every message of a living sender once, in order
 *	and with its payload, and no message of a dead one twice;
 *	no entry of a living owner is voided;
 *	no store reaches an entry that its sender no longer owns;
 *	the consumer never waits for an entry that will not be published;
 *	a sender fails only if the queue was full.
 *
 * Variants that must fail, each with one line of the protocol left out:
 *	NO_RECORD	an entry is voided after a timeout
 *	TRY_AFTER	TRY is stored after the CAS, not before
 *	IDLE_EARLY	IDLE is stored before word 7
 *	NO_SCAN		a dead record in state TRY is sufficient to void
 *	NO_WAIT		a living record in state TRY does not prevent voiding
 *	TORN		a living record that reads as OWN ends the repair
 *	SCAN_FIRST	the node loads W after it has read the records
 *	EXIT_EARLY	the node repairs before the last stores of the dead
 *			sender are visible
 *	LAPPED		the node voids any entry of another generation, even
 *			of the next one
 *	OLD_W		a sender uses R although W may have changed since it
 *			was loaded
 * and, with bursts:
 *	FIRST_ONLY	the node repairs the first entry of a claim only
 *	COVER_FIRST	a living record covers its first entry only
 *	IDLE_FIRST	IDLE is stored after word 7 of the first entry
 *	OVERCLAIM	a burst is claimed if one entry is free
 *	UNORDERED	the entries of a claim are published in reverse order
 */

#ifndef SENDERS
#define SENDERS	2
#endif
#ifndef MORTALS /* senders 0 to MORTALS - 1 may die; senders are symmetric */
#define MORTALS	2
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each sender */
#endif
#ifndef ENTRIES
#define ENTRIES	 2
#endif
#ifndef BURSTS
#define BURSTS	 0
#endif
#define POSITIONS (SENDERS * MESSAGES)

/* ---- memory ---- */

#define W	   0
#define R	   1
#define WORD7(i)   (2 + (i) % ENTRIES)
#define PAYLOAD(i) (2 + ENTRIES + (i) % ENTRIES)
#define STATE(s)   (2 + 2 * ENTRIES + (s))
#define W_OLD(s)   (2 + 2 * ENTRIES + SENDERS + (s))
#if BURSTS
#define W_NEW(s)   (2 + 2 * ENTRIES + 2 * SENDERS + (s))
#define CELLS	   (2 + 2 * ENTRIES + 3 * SENDERS)
#define BUFFER_DEPTH (5 + 2 * MESSAGES) /* as many as one claim has */
#else
#define CELLS	   (2 + 2 * ENTRIES + 2 * SENDERS)
#define BUFFER_DEPTH 6 /* as many as one message has */
#endif
#define BUFFERS	   SENDERS

/* Word 7: the generation, and whether it is void; initially 0. */
#define GENERATION(i)	((i) / ENTRIES + 1)
#define VALID(i)	(GENERATION(i) * 2)
#define VOID(i)		(GENERATION(i) * 2 + 1)
#define PUBLISHED(x, i) ((x) / 2 == GENERATION(i))

/* A message consists of its sender and its number. */
#define MESSAGE(s, n) ((s) * MESSAGES + (n) + 1)

#define IDLE 0
#define TRY  1
#define OWN  2

/* A published word replaces one of the previous generation. */
#define IS_WORD7(c)	 ((c) >= WORD7(0) && (c) < WORD7(0) + ENTRIES)
#define FLUSHED(p, c, v) assert(!IS_WORD7(c) || mem[c] / 2 + 1 == (v) / 2)

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

byte owner[POSITIONS]; /* sender that claimed entry i, plus 1 */
byte got[SENDERS];     /* messages that the consumer has received */
bit done[SENDERS];
bit killed[SENDERS];
bit repaired[SENDERS];

#define FULL ((mem[W] - mem[R]) >= ENTRIES)

/* The pidfd reports the exit. */
#ifdef EXIT_EARLY
#define GONE(s) (killed[s])
#else
#define GONE(s) (killed[s] && buffer[s].used == 0)
#endif

#define ENDED(s) (killed[s] -> repaired[s] : done[s])
#if SENDERS == 2
#define ALL_ENDED (ENDED(0) && ENDED(1))
#else
#define ALL_ENDED (ENDED(0) && ENDED(1) && ENDED(2))
#endif

/* ---- a sender ---- */

/* As in the code: R ahead of an outdated W looks like a full queue. */
#define FIT(w, r, n) ((w) >= (r) && (w) - (r) + (n) <= ENTRIES)
#define FITS(w, r)   FIT(w, r, 1)

#if BURSTS
/* What one claim shall have, and what it gets with an R just loaded. */
#define WANTED (_pid < BURSTS -> MESSAGES - sent : 1)
#ifdef OVERCLAIM
#define FITS_WANTED(w, r) FITS(w, r)
#define PART(w, r) WANTED
#else
#define FITS_WANTED(w, r) FIT(w, r, WANTED)
#define PART(w, r) (FIT(w, r, WANTED) -> WANTED : ENTRIES - ((w) - (r)))
#endif
#else
#define FITS_WANTED(w, r) FITS(w, r)
#endif

active [SENDERS] proctype sender()
{
	byte w, r, now, sent;
	bit won, was_full;
#if BURSTS
	byte count, at;
#define SET_COUNT(n) count = n
#else
#define SET_COUNT(n) skip
#endif

load_w:
	{
		atomic {
			d_step { /* N1 */
				load_now(_pid, W, w);
				was_full = FULL
			};
			if
			:: FITS_WANTED(w, r) ->
				was_full = 0;
				SET_COUNT(WANTED);
				goto claim
			:: else
			fi
		};
load_r:
		atomic {
			d_step { /* N6 */
				load_now(_pid, R, r);
				was_full = was_full || FULL
			};
			if
			:: FITS(w, r) ->
				was_full = 0;
				SET_COUNT(PART(w, r));
				goto claim
			:: else
			fi
		};
		atomic {
#ifdef OLD_W
			now = w;
#else
			load(_pid, W, now);
#endif
			if
			:: now != w ->
				d_step { w = now; now = 0; was_full = FULL };
				if
				:: FITS_WANTED(w, r) ->
					was_full = 0;
					SET_COUNT(WANTED);
					goto claim
				:: else -> goto load_r
				fi
			:: else -> now = 0
			fi;
			assert(was_full); /* the queue was full */
			store(_pid, STATE(_pid), IDLE);
			w = 0;
			was_full = 0
		};
		!FULL;
		goto load_w;
claim:
#ifndef TRY_AFTER
		atomic {
			store(_pid, W_OLD(_pid), w); /* X1 */
#if BURSTS
			store(_pid, W_NEW(_pid), w + count);
#endif
			store(_pid, STATE(_pid), TRY)
		};
#endif
		atomic {
			d_step { /* N2 */
#if BURSTS
				cas_now(_pid, W, w, w + count, won);
				if
				:: won ->
					do
					:: at < count ->
						owner[w + at] = _pid + 1;
						at++
					:: else -> at = 0; break
					od
				:: else -> was_full = FULL; count = 0
				fi
#else
				cas_now(_pid, W, w, w + 1, won);
				if
				:: won -> owner[w] = _pid + 1
				:: else -> was_full = FULL
				fi
#endif
			};
			if
			:: won -> won = 0
			:: !won && FITS_WANTED(w, r) ->
				was_full = 0;
				SET_COUNT(WANTED);
				goto claim
			:: !won && !FITS_WANTED(w, r) -> goto load_r
			fi;
#ifdef TRY_AFTER
			store(_pid, W_OLD(_pid), w);
			store(_pid, STATE(_pid), TRY);
#endif
			store(_pid, STATE(_pid), OWN); /* X2 */
#if BURSTS
#ifdef UNORDERED
#define AT (count - 1 - at)
#else
#define AT at
#endif
			do
			:: at < count ->
				store(_pid, PAYLOAD(w + AT),
					MESSAGE(_pid, sent + AT));
				store(_pid, WORD7(w + AT), VALID(w + AT)); /* N3 */
#ifdef IDLE_FIRST
				if
				:: at == 0 -> store(_pid, STATE(_pid), IDLE)
				:: else
				fi;
#endif
				at++
			:: else -> break
			od;
			store(_pid, STATE(_pid), IDLE); /* X3 */
			d_step { sent = sent + count - 1; count = 0; at = 0 };
#else
			store(_pid, PAYLOAD(w), MESSAGE(_pid, sent));
#ifdef IDLE_EARLY
			store(_pid, STATE(_pid), IDLE);
			store(_pid, WORD7(w), VALID(w));
#else
			store(_pid, WORD7(w), VALID(w)); /* N3 */
			store(_pid, STATE(_pid), IDLE);	 /* X3 */
#endif
#endif
			w = 0;
			sent++;
			if
			:: sent < MESSAGES -> goto load_w
			:: else -> d_step { done[_pid] = 1; r = 0; sent = 0 }
			fi
		}
	} unless {
		d_step {
			killed[_pid];
			w = 0;
			r = 0;
			now = 0;
			sent = 0;
			won = 0;
			SET_COUNT(0);
#if BURSTS
			at = 0;
#endif
			was_full = 0
		}
	}
}

/* Flushes the buffer of sender `_pid - SENDERS`, and may kill that sender. */
active [SENDERS] proctype memory()
{
#define cpu (_pid - SENDERS)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
	:: atomic {
		cpu < MORTALS && !killed[cpu] &&
			(!done[cpu] || buffer[cpu].used > 0);
		killed[cpu] = 1;
		lose(cpu)
	   }
	od
}

/* ---- the consumer ---- */

/* It has no store buffer: R is exchanged atomically. */
active proctype receiver()
{
	byte next, word, s, id;

	do
	:: d_step { /* N4 */
		PUBLISHED(mem[WORD7(next)], next);
		word = mem[WORD7(next)]
	   } ->
		d_step {
			if
			:: word % 2 == 0 ->
				id = mem[PAYLOAD(next)];
				s = (id - 1) / MESSAGES;
				assert(owner[next] == s + 1);
				assert(id == MESSAGE(s, got[s]));
				got[s]++
			:: else
			fi;
			id = 0; s = 0; word = 0;
			next++
		}
	:: d_step { /* N5: returns entries at any time */
		mem[R] != next;
		mem[R] = next
	   }
	:: d_step { /* the end: no message may be missing */
		ALL_ENDED && mem[W] == next && mem[R] == next;
		do
		:: s < SENDERS ->
			assert(killed[s] || got[s] == MESSAGES);
			s++
		:: else -> break
		od
	   } -> break
	od
}

/* ---- the node ---- */

/*
 * Voids entry i, which no living sender owns. Replaces only a word of the
 * previous lap: since W was loaded, entry i may have been published and consumed,
 * and the slot reused.
 */
inline void_entry(i)
{
	former = mem[WORD7(i)];
	if
#ifdef LAPPED
	:: PUBLISHED(former, i)
#else
	:: former / 2 + 1 != GENERATION(i)
#endif
	:: else ->
		d_step {
			if
			:: mem[WORD7(i)] == former ->
				assert(owner[i] != 0);
				assert(killed[owner[i] - 1]);
				mem[WORD7(i)] = VOID(i)
			:: else
			fi
		}
	fi;
	former = 0
}

/*
 * Returns when no living sender covers entry i. The two words of a record are
 * read one after the other while its owner continues, so the copy may be torn:
 * OWN of one claim with w_old of the next. A record that appears to cover i is
 * therefore only a reason to retry; if it really does, the entry will be
 * published or its owner will die.
 */
#if BURSTS && !defined(COVER_FIRST)
#define COVERS(s, i) (mem[W_OLD(s)] <= (i) && (i) < mem[W_NEW(s)])
#else
#define COVERS(s, i) (mem[W_OLD(s)] == (i))
#endif

inline await_uncovered(i)
{
	o = 0;
	do
	:: o == SENDERS -> break
	:: o < SENDERS && (o == s || GONE(o)) -> o++
	:: o < SENDERS && o != s && !GONE(o) ->
		state = mem[STATE(o)];
		if
		:: state == IDLE || !COVERS(o, i) -> state = 0; o++
#if defined(NO_WAIT)
		:: state == TRY && COVERS(o, i) -> state = 0; o++
		:: state == OWN && COVERS(o, i) ->
#elif defined(TORN)
		:: state == OWN && COVERS(o, i) -> goto finished
		:: state == TRY && COVERS(o, i) ->
#else
		:: state != IDLE && COVERS(o, i) ->
#endif
			d_step {
				mem[STATE(o)] != state || !COVERS(o, i) ||
					GONE(o);
				state = 0;
				o = 0
			}
		fi
	od;
	o = 0
}

/* At most one lap behind W. */
#define ENTRY_CLAIMED(w, i) ((w) > (i) && (w) - (i) <= ENTRIES)

#define TO_REPAIR(s) (GONE(s) && !repaired[s])

active proctype node()
{
	byte s, o, i, state, former;

end:
	do
	:: d_step { TO_REPAIR(0); s = 0; i = mem[W_OLD(0)] } -> goto repair
	:: d_step { TO_REPAIR(1); s = 1; i = mem[W_OLD(1)] } ->
repair:
		if
		:: mem[STATE(s)] == IDLE -> goto finished
		:: mem[STATE(s)] == OWN
		:: mem[STATE(s)] == TRY ->
#ifdef SCAN_FIRST
			await_uncovered(i);
#endif
			skip
		fi;
		if
		:: !ENTRY_CLAIMED(mem[W], i) -> goto next_entry
		:: ENTRY_CLAIMED(mem[W], i) && mem[STATE(s)] == OWN
		:: ENTRY_CLAIMED(mem[W], i) && mem[STATE(s)] == TRY ->
#if !defined(NO_SCAN) && !defined(SCAN_FIRST)
			await_uncovered(i);
#endif
			skip
		fi;
		void_entry(i);
next_entry:
#if BURSTS && !defined(FIRST_ONLY)
		if
		:: i + 1 < mem[W_NEW(s)] -> i++; goto repair
		:: else
		fi;
#else
		skip;
#endif
finished:
		atomic { repaired[s] = 1; s = 0; o = 0; i = 0; state = 0 }
#ifdef NO_RECORD
	/* A timeout of the consumer at entry R. */
	:: d_step {
		mem[W] > mem[R] && !PUBLISHED(mem[WORD7(mem[R])], mem[R]);
		i = mem[R]
	   } -> void_entry(i); i = 0
#endif
	od
}
