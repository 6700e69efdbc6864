/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: a sender claims one of the receiver's buffers, copies into
 * it, and then claims the entry that announces it (publish.pml), so that other
 * senders do not wait for the copy. After the death of a sender, repair must
 * distinguish a buffer that was being filled, one that will not be announced,
 * and one that already belongs to the receiver.
 *
 *	slot FREE	belongs to the receiver
 *	POSTED		may be claimed by any sender, by CAS
 *	CLAIMED(s)	sender s fills it; its record named it before the CAS
 *	FILLED(s)	sender s owns the entry that will announce it
 *
 * FILLED is stored after OWN and before word 7. A slot CLAIMED by a dead sender
 * was therefore never announced. With FILLED its sender owns the entry: either
 * the entry is published, and the slot belongs to the receiver, or it is void,
 * and the slot becomes POSTED again. Word 7 decides, and not which repair
 * voided the entry: that may have been the repair of another record that tried
 * to claim the same entry.
 *
 * Properties:
 *	a store reaches a buffer only while its sender has claimed the slot, so
 *	neither while another sender fills it nor after the receiver has it;
 *	the receiver receives every message of a living sender once, in order
 *	and complete, and no message of a dead one twice;
 *	no slot is lost: in the end all are POSTED or belong to the receiver;
 *	no process waits indefinitely for an entry, a slot, or space.
 *
 * The receiver may cancel POSTED slots at any time. A sender that finds no
 * posted slot waits; with RDR it sends without a slot instead. ANOTHER adds a
 * message that laps the first. A process that may die is never seen to hang, so
 * there are also runs with fewer MORTALS.
 *
 * Variants that must fail:
 *	RECORD_AFTER	a sender names the slot after it has claimed it
 *	CLEAR_EARLY	it clears that name before word 7
 *	NEVER_CLEARED	with RDR: it keeps that name until the next slot
 *	NO_FILLED	there is no FILLED
 *	FILLED_EARLY	FILLED is stored before the entry is claimed
 *	FILLED_LATE	it is stored after word 7
 *	REPAIR_ALWAYS	FILLED becomes POSTED although the entry was published
 *	REPAIR_CLAIMED	FILLED never becomes POSTED
 *	JUST_VOIDED	FILLED becomes POSTED only if this repair voided the
 *			entry
 *	LAP_LEFT	with ANOTHER: only if word 7 is still void
 *	FREE_LATE	with ANOTHER: the receiver returns the entry, then
 *			frees the slot
 *	REPAIR_ANY	a slot does not name its record: any CLAIMED slot that
 *			a dead record names becomes POSTED
 *	EXIT_EARLY	as in publish.pml
 *	CANCEL_PLAIN	the receiver cancels by a load and a store
 */

#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MORTALS /* senders 0 to MORTALS - 1 may die */
#define MORTALS 2
#endif
#ifndef FIRST
#define FIRST 2 /* messages of sender 0; the others have one */
#endif
#define MESSAGES(s) ((s) == 0 -> FIRST : 1)
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef ENTRIES
#define ENTRIES 2
#endif

/* ---- memory ---- */

#define W	  0
#define R	  1
#define WORD7(i)  (2 + (i) % ENTRIES)
#define TELLS(i)  (2 + ENTRIES + (i) % ENTRIES) /* word 4: slot, plus 1 */
#define SLOT(n)	  (2 + 2 * ENTRIES + (n))
#define BUFFER(n) (2 + 2 * ENTRIES + SLOTS + (n))
#define RECORDS	  (2 + 2 * ENTRIES + 2 * SLOTS)
#define STATE(s)  (RECORDS + (s))
#define W_OLD(s)  (RECORDS + SENDERS + (s))
#define NAMED(s)  (RECORDS + 2 * SENDERS + (s)) /* op.posted: slot, plus 1 */
#define CELLS	  (RECORDS + 3 * SENDERS)
#define BUFFERS	  SENDERS
#define BUFFER_DEPTH 7 /* from one CAS to the next */

#define GENERATION(i)	((i) / ENTRIES + 1)
#define VALID(i)	(GENERATION(i) * 2)
#define VOID(i)		(GENERATION(i) * 2 + 1)
#define PUBLISHED(x, i) ((x) / 2 == GENERATION(i))

#define MESSAGE(s, n) ((s) * 2 + (n) + 1)
#define BY_RDR	      16 /* plus the message, instead of a slot */

#define IDLE 0
#define TRY  1
#define OWN  2

#define FREE	  0
#define POSTED	  1
#define CLAIMED(s) (2 + (s))
#define FILLED(s) (2 + SENDERS + (s))

hidden byte taken, unlapped, filled, back; /* name assertions */

/* Only the sender that has claimed the slot fills its buffer. */
#define IS_BUFFER(c)	 ((c) >= BUFFER(0) && (c) < BUFFER(0) + SLOTS)
#define IS_WORD7(c)	 ((c) >= WORD7(0) && (c) < WORD7(0) + ENTRIES)
#define FLUSHED(p, c, v)                                              \
	taken = !IS_BUFFER(c) || mem[(c) - SLOTS] == CLAIMED(p);      \
	assert(taken);                                                \
	unlapped = !IS_WORD7(c) || mem[c] / 2 + 1 == (v) / 2;         \
	assert(unlapped);                                             \
	taken = 0;                                                    \
	unlapped = 0

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

byte got[SENDERS]; /* messages that the receiver has received */
bit done[SENDERS];
bit killed[SENDERS];
bit repaired[SENDERS];

#ifdef EXIT_EARLY
#define GONE(s) (killed[s])
#else
#define GONE(s) (killed[s] && buffer[s].used == 0)
#endif

#define ENDED(s)  (killed[s] -> repaired[s] : done[s])
#define ALL_ENDED (ENDED(0) && ENDED(1) && ENDED(SENDERS - 1))

#define FITS(w, r) ((w) >= (r) && (w) - (r) < ENTRIES)

/* ---- a sender ---- */

#define IS_POSTED(n) (mem[SLOT(n)] == POSTED)
#if SLOTS == 1
#define ANY_POSTED IS_POSTED(0)
#else
#define ANY_POSTED (IS_POSTED(0) || IS_POSTED(1))
#endif
#define ROOM (mem[W] - mem[R] < ENTRIES)

active [SENDERS] proctype sender()
{
	byte w, r, slot, found, sent;
	bit won;

choose: /* `slot` is one more than the slot, 0 is none */
	{
		atomic {
			if
			:: IS_POSTED(0) -> slot = 1
#if SLOTS == 2
			:: IS_POSTED(1) -> slot = 2
#endif
#ifdef RDR
			:: !ANY_POSTED -> goto claim
#endif
			fi;
#ifndef RECORD_AFTER
			store(_pid, NAMED(_pid), slot)
#endif
		};
		atomic {
			found = POSTED;
			d_step {
				cas_now(_pid, SLOT(slot - 1), found,
					CLAIMED(_pid), won)
			};
			found = 0;
			if
			:: won -> won = 0
			:: else ->
				slot = 0;
				store(_pid, NAMED(_pid), 0);
				goto choose
			fi;
#ifdef RECORD_AFTER
			store(_pid, NAMED(_pid), slot);
#endif
			store(_pid, BUFFER(slot - 1), MESSAGE(_pid, sent));
#ifdef FILLED_EARLY
			store(_pid, SLOT(slot - 1), FILLED(_pid));
#endif
		};
claim:
		atomic {
			load(_pid, W, w); /* N1 */
			load(_pid, R, r); /* N6 */
			if
			:: FITS(w, r) -> r = 0
			:: else -> w = 0; r = 0; goto refused
			fi;
			store(_pid, W_OLD(_pid), w); /* X1 */
			store(_pid, STATE(_pid), TRY)
		};
		atomic {
			d_step { cas_now(_pid, W, w, w + 1, won) }; /* N2 */
			if
			:: won -> won = 0
			:: else -> w = 0; goto claim
			fi;
			store(_pid, STATE(_pid), OWN); /* X2 */
			if
			:: slot != 0 ->
#if !defined(NO_FILLED) && !defined(FILLED_EARLY) && !defined(FILLED_LATE)
				store(_pid, SLOT(slot - 1), FILLED(_pid));
#endif
				store(_pid, TELLS(w), slot)
			:: else ->
				store(_pid, TELLS(w),
					BY_RDR + MESSAGE(_pid, sent))
			fi;
#ifdef CLEAR_EARLY
			store(_pid, NAMED(_pid), 0);
#endif
			store(_pid, WORD7(w), VALID(w)); /* N3 */
#ifdef FILLED_LATE
			store(_pid, SLOT(slot - 1), FILLED(_pid));
#endif
			store(_pid, STATE(_pid), IDLE); /* X3 */
#if !defined(CLEAR_EARLY) && !defined(NEVER_CLEARED)
			if
			:: slot != 0 -> store(_pid, NAMED(_pid), 0)
			:: else
			fi;
#endif
			w = 0;
			slot = 0;
			sent++;
			if
			:: sent < MESSAGES(_pid) -> goto choose
			:: else -> d_step { done[_pid] = 1; sent = 0 }
			fi
		};
		goto ended;
refused:
		atomic {
			store(_pid, STATE(_pid), IDLE);
			if
			:: slot != 0 ->
				store(_pid, SLOT(slot - 1), POSTED);
				store(_pid, NAMED(_pid), 0);
				slot = 0
			:: else
			fi
		};
		ROOM;
		goto choose;
ended:
		skip
	} unless {
		d_step {
			killed[_pid];
			w = 0;
			r = 0;
			slot = 0;
			found = 0;
			sent = 0;
			won = 0
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

#ifdef ANOTHER
/* One more message, sent in a single step. */
active proctype another()
{
end:
	d_step {
		mem[W] == ENTRIES && ROOM; /* it laps the first message */
		mem[TELLS(mem[W])] = BY_RDR;
		mem[WORD7(mem[W])] = VALID(mem[W]);
		mem[W] = mem[W] + 1
	}
}
#endif

/* ---- the receiver ---- */

hidden byte sender_of;

/* Only inside d_step. */
inline deliver(message)
{
	sender_of = ((message) - 1) / 2;
	assert(message == MESSAGE(sender_of, got[sender_of]));
	got[sender_of]++
}

/* Only inside d_step, after deliver(). */
inline check_filled(n)
{
#ifndef NO_FILLED
	filled = (mem[SLOT(n)] == FILLED(sender_of));
	assert(filled);
	filled = 0
#else
	skip
#endif
}

#define WITH_RECEIVER(n) (mem[SLOT(n)] == FREE || mem[SLOT(n)] == POSTED)

/*
 * It has no store buffer: R is exchanged atomically, and a delayed store that
 * posts or frees a slot is equivalent to posting or freeing it later.
 */
active proctype receiver()
{
	byte next, told;

	do
	:: d_step { /* N4 */
		PUBLISHED(mem[WORD7(next)], next);
		if
		:: mem[WORD7(next)] == VALID(next) -> told = mem[TELLS(next)]
		:: else
		fi;
		next++;
#ifdef FREE_LATE
		mem[R] = next;
#endif
		if
		:: told == 0
		:: told == BY_RDR -> told = 0
		:: told > BY_RDR -> deliver(told - BY_RDR); told = 0
		:: told != 0 && told < BY_RDR ->
			deliver(mem[BUFFER(told - 1)]);
			check_filled(told - 1)
		fi;
		sender_of = 0
	   } ->
		/* The receiver owns the buffer until the slot is posted again. */
		d_step {
			if
			:: told != 0 ->
				sender_of = (mem[BUFFER(told - 1)] - 1) / 2;
				check_filled(told - 1);
				mem[BUFFER(told - 1)] = 0;
				mem[SLOT(told - 1)] = FREE;
				told = 0;
				sender_of = 0
			:: else
			fi
		}
	:: d_step { mem[SLOT(0)] == FREE; mem[SLOT(0)] = POSTED }
#if SLOTS == 2
	:: d_step { mem[SLOT(1)] == FREE; mem[SLOT(1)] = POSTED }
#endif
#ifdef CANCEL_PLAIN
	:: mem[SLOT(0)] == POSTED -> mem[SLOT(0)] = FREE
#else
	:: d_step { mem[SLOT(0)] == POSTED; mem[SLOT(0)] = FREE }
#endif
	:: d_step { mem[R] != next; mem[R] = next } /* N5 */
	:: d_step { /* the end: no message may be missing */
		ALL_ENDED && mem[W] == next && mem[R] == next;
		assert(killed[0] || got[0] == MESSAGES(0));
		assert(killed[1] || got[1] == MESSAGES(1));
		assert(killed[SENDERS - 1] ||
			got[SENDERS - 1] == MESSAGES(SENDERS - 1));
		back = WITH_RECEIVER(0) && WITH_RECEIVER(SLOTS - 1);
		assert(back);
		back = 0
	   } -> break
	od
}

/* ---- the node: publish.pml has the details of repair ---- */

#define COVERS(o, i)                                                  \
	(o != s && !GONE(o) && mem[STATE(o)] != IDLE &&               \
		mem[W_OLD(o)] == (i))
#define ENTRY_CLAIMED(w, i) ((w) > (i) && (w) - (i) <= ENTRIES)

/*
 * Changes a slot that the dead sender had not announced to POSTED. An entry of a
 * later lap also means void: if it had been published, the slot would not be
 * FILLED any more, because the receiver frees the slot before it returns the
 * entry.
 */
#if defined(JUST_VOIDED)
#define NOT_TOLD voided
#elif defined(LAP_LEFT)
#define NOT_TOLD (state == OWN && word == VOID(i))
#else
#define NOT_TOLD (state == OWN && word != VALID(i))
#endif

inline put_back(n)
{
	d_step {
		if
#ifdef REPAIR_ANY
		:: mem[SLOT(n)] == CLAIMED(0) || mem[SLOT(n)] == CLAIMED(1) ->
#else
		:: mem[SLOT(n)] == CLAIMED(s) ->
#endif
			mem[SLOT(n)] = POSTED
#ifndef REPAIR_CLAIMED
#ifdef REPAIR_ALWAYS
		:: mem[SLOT(n)] == FILLED(s) ->
#else
		:: mem[SLOT(n)] == FILLED(s) && NOT_TOLD ->
#endif
			mem[SLOT(n)] = POSTED
#endif
		:: else
		fi
	}
}

#define TO_REPAIR(s) (GONE(s) && !repaired[s])

active proctype node()
{
	byte s, i, state, word;
#ifdef JUST_VOIDED
	bit voided;
#endif

end:
	do
	:: d_step { TO_REPAIR(0); s = 0 } -> goto repair
#if SENDERS == 3
	:: d_step { TO_REPAIR(2); s = 2 } -> goto repair
#endif
	:: d_step { TO_REPAIR(1); s = 1 } ->
repair:
		atomic { i = mem[W_OLD(s)]; state = mem[STATE(s)] };
		if
		:: state == IDLE || !ENTRY_CLAIMED(mem[W], i) -> goto entry_done
		:: state == OWN && ENTRY_CLAIMED(mem[W], i)
		:: state == TRY && ENTRY_CLAIMED(mem[W], i) ->
			!COVERS(0, i) && !COVERS(1, i) &&
				!COVERS(SENDERS - 1, i)
		fi;
		d_step {
			if
			:: mem[WORD7(i)] / 2 + 1 == GENERATION(i) ->
#ifdef JUST_VOIDED
				voided = 1;
#endif
				mem[WORD7(i)] = VOID(i)
			:: else
			fi
		};
entry_done:
		if
		:: mem[NAMED(s)] == 0
		:: mem[NAMED(s)] != 0 ->
			word = mem[WORD7(i)];
			put_back(mem[NAMED(s)] - 1)
		fi;
		atomic {
			repaired[s] = 1;
			s = 0;
			i = 0;
			state = 0;
#ifdef JUST_VOIDED
			voided = 0;
#endif
			word = 0
		}
	od
}
