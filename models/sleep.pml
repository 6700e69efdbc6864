/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping and waking on W and R: a consumer without entries, and senders under
 * backpressure. Models notify_sleep(), notify_finish() and notify_return() of
 * src/device/notify.c, src/port/wait.c, wait_for_return() of src/port/send.c,
 * and a node that repairs after a sender that died before it woke the consumer.
 * There are no timeouts, which would hide a lost wake-up.
 *
 * Property: no process sleeps indefinitely: not the consumer while an entry is
 * claimed, published or not; not a sender while there is space.
 *
 * A futex compares one half of a word. The consumer sleeps on the upper half of
 * W. In these runs only the flags change there, and only the consumer sets
 * SLEEP, so any missed event has changed them. WAITERS is set by any sender, so
 * it can be set again after the consumer has cleared it; a sender therefore
 * sleeps on the lower half of R, the count, which never returns to an earlier
 * value.
 *
 * With CLOSE the consumer dies instead of a sender. The node then sets CLOSED
 * in W, returns all space, which changes R, and wakes all; waiting senders find
 * the queue closed.
 *
 * A wake-up is not modelled as a fence, although it is one in the kernel. With
 * SPURIOUS one sleep ends without a reason (a signal, a deadline).
 *
 * PLAIN_FLAG is the obvious alternative: the consumer announces its sleep in a
 * separate word and checks word 7 again; the sender publishes and checks that
 * word. With BARRIER it holds, at the cost of a fence per message. Without, or
 * with the fence on one side only (BARRIER_SENDER, BARRIER_RECEIVER), it must
 * fail; SEQUENTIAL hides the failure.
 *
 * Variants that must fail:
 *	IDLE_BEFORE_WAKE IDLE is stored before the target is woken
 *	NODE_SILENT	the node voids and does not wake
 *	TRY_KEPT	a sender sleeps while its record still names the entry
 *			that it failed to claim
 *	NO_LOOK		the consumer sleeps without comparing W with its
 *			position
 *	UPPER_R		a sender sleeps on the upper half of R
 *	CLOSE_IF_ASKED	with CLOSE: the node wakes only if WAITERS is set
 *	PLAIN_R		the consumer checks WAITERS, then stores R, instead of
 *			exchanging it
 *	SLEEP_FIRST	the consumer sleeps before it has returned entries
 */

#ifndef SENDERS
#define SENDERS	2
#endif
#ifndef MORTALS /* senders 0 to MORTALS - 1 may die */
#define MORTALS	1
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each sender */
#endif
#ifndef ENTRIES
#define ENTRIES	1
#endif
#ifdef BARRIER
#define BARRIER_SENDER
#define BARRIER_RECEIVER
#endif

/* ---- memory ---- */

#define W	  0
#define R	  1
#define FLAG	  2
#define WORD7(i)  (3 + (i) % ENTRIES)
#define STATE(s)  (3 + ENTRIES + (s))
#define W_OLD(s)  (3 + ENTRIES + SENDERS + (s))
#define CELLS	  (3 + ENTRIES + 2 * SENDERS)
#define RECEIVER  SENDERS /* its buffer */
#define BUFFERS	  (SENDERS + 1)
#define BUFFER_DEPTH 5

/* W and R: a count and flags, SLEEP and CLOSED in W, WAITERS in R. */
#define SLEEP	    1
#define CLOSED	    2
#define WAITERS	    1
#define FLAGS(word) ((word) % 4) /* the upper half */
#define NQ(word)    ((word) / 4) /* the lower half */
#define WORD(nq)    ((nq) * 4)

#define GENERATION(i) ((i) / ENTRIES + 1)
#define PUBLISHED(i)  (mem[WORD7(i)] == GENERATION(i))
#define FITS(w, r)    (NQ(w) >= NQ(r) && NQ(w) - NQ(r) < ENTRIES)

/* OWN is left out: it can be derived from W. */
#define IDLE 0
#define TRY  1

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

bit done[SENDERS];
bit killed[SENDERS];
bit repaired[SENDERS];
#ifdef SPURIOUS
bit spurious; /* a spurious wake-up has occurred */
#endif
#ifdef CLOSE
bit receiver_killed;
#endif

#define GONE(s)	 (killed[s] && buffer[s].used == 0)
#define ENDED(s) (killed[s] -> repaired[s] : done[s])
#if SENDERS == 2
#define ALL_ENDED (ENDED(0) && ENDED(1))
#else
#define ALL_ENDED (ENDED(0) && ENDED(1) && ENDED(2))
#endif

/* ---- the futex: the kernel's fence, then compare and sleep in one step --- */

bit asleep[BUFFERS];

inline futex_wait(p, half, seen)
{
	d_step {
		flush_all(p);
		asleep[p] = ((half) == (seen))
	}
}

inline futex_wake_receiver()
{
	asleep[RECEIVER] = 0
}

inline futex_wake_senders()
{
	d_step {
		asleep[0] = 0;
		asleep[1] = 0;
		asleep[SENDERS - 1] = 0
	}
}

/* ---- a sender ---- */

active [SENDERS] proctype sender()
{
	byte w, r, seen, sent;
	bit won, owed;

start:
	{
		load(_pid, R, seen);
		atomic {
			load(_pid, W, w); /* N1 */
			if
			:: w & CLOSED -> goto closed
			:: else
			fi
		};
load_r:
		atomic {
			load(_pid, R, r); /* N6 */
			if
			:: FITS(w, r) -> r = 0; goto claim
			:: else -> r = 0; w = 0
			fi;
#ifndef TRY_KEPT
			store(_pid, STATE(_pid), IDLE)
#endif
		};

		/* Full: set WAITERS, and sleep if R is unchanged. */
		atomic {
			fetch_or(_pid, R, WAITERS, r);
			if
			:: NQ(r) != NQ(seen) -> r = 0; goto start
			:: else -> r = 0
			fi
		};
		atomic {
#ifdef UPPER_R
			futex_wait(_pid, FLAGS(mem[R]), WAITERS);
#else
			futex_wait(_pid, NQ(mem[R]), NQ(seen));
#endif
			seen = 0
		};
		!asleep[_pid];
		goto start;

claim:
		atomic {
			store(_pid, W_OLD(_pid), w);   /* X1 */
			store(_pid, STATE(_pid), TRY); /* drained by the CAS */
			d_step { /* N2 */
				cas_now(_pid, W, w, WORD(NQ(w) + 1), won)
			};
			if
			:: won -> won = 0
			:: !won && !(w & CLOSED) -> goto load_r
			:: !won && (w & CLOSED) -> goto closed
			fi;
			store(_pid, WORD7(NQ(w)), GENERATION(NQ(w))); /* N3 */
#ifdef IDLE_BEFORE_WAKE
			store(_pid, STATE(_pid), IDLE);
#endif
			owed = w & SLEEP; /* cleared by the CAS: wake */
			w = 0;
			seen = 0;
#ifndef PLAIN_FLAG
			if
			:: owed
			:: !owed -> goto idle
			fi
#endif
		};
#ifdef PLAIN_FLAG
#ifdef BARRIER_SENDER
		drain(_pid);
#endif
		atomic {
			load(_pid, FLAG, owed);
			if
			:: owed
			:: !owed -> goto idle
			fi
		};
		atomic {
			swap(_pid, FLAG, 0, owed);
			if
			:: owed
			:: !owed -> goto idle
			fi
		};
#endif
		atomic { futex_wake_receiver(); owed = 0 };
idle:
		atomic {
#ifndef IDLE_BEFORE_WAKE
			store(_pid, STATE(_pid), IDLE); /* X3 */
#endif
			sent++;
			if
			:: sent < MESSAGES -> goto start
			:: else
			fi
		};
closed:
		atomic {
			store(_pid, STATE(_pid), IDLE);
			done[_pid] = 1;
			w = 0;
			seen = 0;
			sent = 0
		}
	} unless {
		d_step {
			killed[_pid];
			w = 0;
			r = 0;
			seen = 0;
			sent = 0;
			won = 0;
			owed = 0;
			asleep[_pid] = 0
		}
	}
}

/*
 * Flushes the buffer of process `_pid - SENDERS`, and may kill that process or
 * end its sleep.
 */
active [BUFFERS] proctype memory()
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
#ifdef SPURIOUS
	:: d_step {
		asleep[cpu] && !spurious;
		spurious = 1;
		asleep[cpu] = 0
	   }
#endif
#ifdef CLOSE
	:: d_step {
		cpu == RECEIVER && !receiver_killed;
		receiver_killed = 1
	   }
#endif
	od
}

/* ---- the consumer ---- */

#ifdef SLEEP_FIRST
#define RETURNED(next) true
#else
#define RETURNED(next) (NQ(mem[R]) == next)
#endif

active proctype receiver()
{
	byte next, old;

	{
		do
		:: d_step { PUBLISHED(next); next++ } /* N4 */
		/* N5: at any time, but before it sleeps. */
#ifdef PLAIN_R
		:: d_step { NQ(mem[R]) != next; old = mem[R] } ->
			mem[R] = WORD(next);
#else
		:: d_step {
			NQ(mem[R]) != next;
			old = mem[R];
			mem[R] = WORD(next)
		   } ->
#endif
			atomic {
				if
				:: old & WAITERS -> futex_wake_senders()
				:: else
				fi;
				old = 0
			}
#ifdef PLAIN_FLAG
		:: atomic {
			!PUBLISHED(next) && RETURNED(next);
			store(RECEIVER, FLAG, 1)
		   };
#ifdef BARRIER_RECEIVER
			drain(RECEIVER);
#endif
			if
			:: PUBLISHED(next) -> goto awake
			:: else
			fi;
			futex_wait(RECEIVER, mem[FLAG], 1);
#else
		:: atomic {
			!PUBLISHED(next) && RETURNED(next);
			fetch_or(RECEIVER, W, SLEEP, old);
#ifndef NO_LOOK
			if
			:: NQ(old) != next -> old = 0; goto awake /* a claim */
			:: else
			fi;
#endif
			old = 0
		   };
			futex_wait(RECEIVER, FLAGS(mem[W]), SLEEP);
#endif
			if
			:: !asleep[RECEIVER]
			:: ALL_ENDED && NQ(mem[W]) == next -> break
			fi;
awake:
#ifdef PLAIN_FLAG
			store(RECEIVER, FLAG, 0)
#else
			fetch_and(RECEIVER, W, 255 - SLEEP);
			/* It polls; at the end it may sleep. */
			(PUBLISHED(next) || NQ(mem[W]) == next)
#endif
		od
	} unless {
#ifdef CLOSE
		d_step {
			receiver_killed;
			next = 0;
			old = 0;
			asleep[RECEIVER] = 0
		}
#else
		false
#endif
	}
}

/* ---- the node: publish.pml has the details of repair ---- */

#define COVERS(o, i)                                                \
	(o != s && !GONE(o) && mem[STATE(o)] != IDLE &&             \
		NQ(mem[W_OLD(o)]) == (i))

#define TO_REPAIR(s) (GONE(s) && !repaired[s])

active proctype node()
{
	byte s, i;

end:
	do
	:: d_step { TO_REPAIR(0); s = 0; i = NQ(mem[W_OLD(0)]) } -> goto repair
	:: d_step { TO_REPAIR(1); s = 1; i = NQ(mem[W_OLD(1)]) } ->
repair:
		if
		:: mem[STATE(s)] == IDLE -> goto finished
		:: mem[STATE(s)] == TRY && NQ(mem[W]) <= i -> goto finished
		:: mem[STATE(s)] == TRY && NQ(mem[W]) > i
		fi;
		d_step {
			!COVERS(0, i) && !COVERS(1, i) &&
				!COVERS(SENDERS - 1, i);
			if
			:: !PUBLISHED(i) && NQ(mem[R]) <= i ->
				mem[WORD7(i)] = GENERATION(i)
			:: else
			fi
		};
#ifndef NODE_SILENT
		d_step {
			mem[FLAG] = 0;
			futex_wake_receiver()
		};
#endif
finished:
		atomic { repaired[s] = 1; s = 0; i = 0 }
#ifdef CLOSE
	/*
	 * The consumer's exit. It may have cleared WAITERS and died before the
	 * wake-up, so the node wakes regardless of WAITERS.
	 */
	:: d_step {
		receiver_killed && !(mem[W] & CLOSED);
		mem[W] = mem[W] | CLOSED
	   } ->
		d_step { i = mem[R]; mem[R] = WORD(NQ(mem[W])) };
		atomic {
#ifdef CLOSE_IF_ASKED
			if
			:: i & WAITERS -> futex_wake_senders()
			:: else
			fi;
#else
			futex_wake_senders();
#endif
			i = 0
		}
#endif
	od
}
