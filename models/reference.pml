/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copied messages (port/copied.c): threads of one process share a reference
 * slot and its staging block. A thread copies a message into the block,
 * publishes an entry that names the slot, and never hears of it again: the
 * target sets DONE, and a thread that needs the slot reclaims it. There is no
 * completion.
 *
 *	owner UNOWNED	the slot may be claimed, by CAS
 *	a thread	it uses the slot now, or has left its call with it
 *	TARGET		the message is published; a thread that finds the
 *			reference DONE claims the slot by CAS, and looks again,
 *			because another thread may have used it in between
 *
 * Properties:
 *	a target that has started to read finds the message whole, until it
 *	sets DONE;
 *	it receives every message whose call has returned, unless it dies;
 *	no thread waits for the slot indefinitely, and in the end the slot can
 *	be reclaimed, although no thread ever reads an event.
 *
 * TARGET_DIES: the target may die, and the node sets DONE for it. ABANDON:
 * thread 0 may leave its first call at any step, by longjmp; its next call
 * recovers the slot, after the op record was repaired. ORIGIN_DIES: the process
 * of the threads may die; the node then decides whether a READY reference was
 * published, and frees the block when no open reference names it.
 *
 * Variants that must fail:
 *	NO_RECHECK	a thread that has claimed a slot of the target does not
 *			look again whether the reference is DONE
 *	OWNER_EARLY	with ABANDON: the owner becomes TARGET before the entry
 *			is published
 *	DONE_EARLY	the target sets DONE before its last read
 *	NODE_SILENT	with TARGET_DIES: the node does not set DONE
 *	NO_SCAN		with ABANDON: a READY reference counts as unpublished
 *	NO_RECOVERY	with ABANDON: the slot of the abandoned call is lost
 *	FREE_EARLY	with ORIGIN_DIES: the node frees the block at once
 *	READY_IS_FREE	with ORIGIN_DIES: as NO_SCAN, by the node
 */

#define THREADS	    2
#define MESSAGES(t) ((t) == 0 -> 2 : 1)
#define ENTRIES	    4 /* each is used once */

/* ---- memory ---- */

#define W	 0
#define OWNER	 1
#define STATE	 2
#define BLOCK	 3
#define WORD7(i) (4 + (i))
#define TELLS(i) (4 + ENTRIES + (i)) /* the sequence number of the slot */
#define CELLS	 (4 + 2 * ENTRIES)
#define BUFFERS	 THREADS
#define BUFFER_DEPTH 6

#define VOID	      99
#define FREED	      98 /* in the block: it may belong to anybody */
#define MESSAGE(t, n) (1 + (t) * 4 + (n))

#define UNOWNED	  0
#define THREAD(t) (1 + (t))
#define TARGET	  9

#define FREE	0
#define READY	1
#define SENT	2
#define DONE	3
#define STARTED 4
#define WORD(s, x) ((s) * 8 + (x)) /* sequence and state */
#define NOW(x)	   ((x) % 8)
#define OPEN(x)	   (NOW(x) == READY || NOW(x) == SENT || NOW(x) == STARTED)

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

hidden byte whole, lost; /* name assertions */
bit done[THREADS];
bit killed;   /* the process of the threads */
bit reaped;   /* and the node has repaired it */
bit dead;     /* the target */
bit closed;   /* its queue: no claim succeeds */
byte sent[THREADS]; /* calls that have returned 0 */
byte got;	    /* messages received, and */
byte expected;	    /* messages that must be */

#define IDLE_BUFFERS (buffer[0].used == 0 && buffer[1].used == 0)
#define ENDED	     (killed -> reaped : done[0] && done[1])

/* ---- a thread that sends ---- */

#ifdef ABANDON
#define MAY_LEAVE :: _pid == 0 && !left -> left = 1; goto recover
#else
#define MAY_LEAVE
#endif

active [THREADS] proctype thread()
{
	byte owner, found, state, w, n;
	bit won, left, claimed;
take:
	{
		/* The hint: what the owner's word and the state say now. */
		atomic {
			if
			:: mem[OWNER] == UNOWNED -> owner = UNOWNED
			:: mem[OWNER] == TARGET && NOW(mem[STATE]) == DONE ->
				owner = TARGET
			fi
		};
		atomic { /* C1 */
			d_step {
				found = owner;
				cas_now(_pid, OWNER, found, THREAD(_pid), won);
				found = 0
			};
			if
			:: won -> won = 0
			:: else -> owner = 0; goto take
			fi
		};
		if
		:: owner == TARGET ->
			atomic {
				owner = 0;
				load(_pid, STATE, state);
#ifndef NO_RECHECK
				if
				:: NOW(state) != DONE ->
					store(_pid, OWNER, TARGET); /* C2 */
					state = 0;
					goto take
				:: else
				fi;
#endif
				store(_pid, STATE, WORD(state / 8, FREE));
				store(_pid, OWNER, UNOWNED); /* C2 */
				state = 0;
				drain(_pid); /* only its own loads follow */
				goto take
			}
		:: else
		fi;
		/* The copy, then READY (G1). */
		atomic {
			store(_pid, BLOCK, MESSAGE(_pid, n));
			load(_pid, STATE, state);
			state = WORD(state / 8 + 1, READY)
		};
		if
		:: true -> store(_pid, STATE, state)
		MAY_LEAVE
		fi;
		/* Claim an entry. */
		if
		:: true -> atomic {
			drain(_pid);
			if
			:: closed ->
				store(_pid, STATE, WORD(state / 8, FREE));
				store(_pid, OWNER, UNOWNED);
				drain(_pid);
				state = 0;
				goto ended
			:: else ->
				w = mem[W];
				mem[W] = w + 1;
				claimed = 1
			fi
		   }
		MAY_LEAVE
		fi;
#ifdef OWNER_EARLY
		store(_pid, OWNER, TARGET);
#endif
		if
		:: true -> atomic {
			store(_pid, TELLS(w), state / 8);
			store(_pid, WORD7(w), MESSAGE(_pid, n))
		   }
		MAY_LEAVE
		fi;
		if
		:: true -> d_step {
			found = state;
			cas_now(_pid, STATE, found, WORD(state / 8, SENT), won);
			found = 0;
			won = 0
		   }
		MAY_LEAVE
		fi;
		if
		:: true
		MAY_LEAVE
		fi;
		atomic {
			if /* the call returns 0 */
			:: !closed && !killed -> expected++
			:: else
			fi;
#ifndef OWNER_EARLY
			store(_pid, OWNER, TARGET); /* C2 */
#endif
			w = 0;
			state = 0;
			claimed = 0;
			n++;
			if
			:: n < MESSAGES(_pid) -> goto take
			:: else
			fi
		};
		goto ended;
recover:
		skip;
		/* The repair of the op record: the entry is void, or published. */
		d_step {
			flush_all(_pid);
			if
			:: claimed && mem[WORD7(w)] == 0 -> mem[WORD7(w)] = VOID
			:: else
			fi;
			k = 0
		};
#ifndef NO_RECOVERY
		atomic {
			if /* only slots that name this thread are found */
			:: mem[OWNER] != THREAD(_pid) -> goto forget
			:: else
			fi;
			load(_pid, STATE, state);
			if
			:: NOW(state) == READY ->
#ifdef NO_SCAN
				found = FREE;
#else
				found = (claimed && mem[WORD7(w)] != VOID ->
						SENT : FREE);
#endif
				d_step {
					owner = state;
					cas_now(_pid, STATE, owner,
						WORD(state / 8, found), won);
					state = (won -> WORD(state / 8, found) :
							owner);
					owner = 0;
					found = 0;
					won = 0
				}
			:: else
			fi;
			if
			:: NOW(state) == FREE -> store(_pid, OWNER, UNOWNED)
			:: NOW(state) == DONE ->
				store(_pid, STATE, WORD(state / 8, FREE));
				store(_pid, OWNER, UNOWNED)
			:: else -> store(_pid, OWNER, TARGET)
			fi;
			drain(_pid)
		};
forget:
#endif
		atomic {
			w = 0;
			state = 0;
			claimed = 0;
			n++;
			if
			:: n < MESSAGES(_pid) -> goto take
			:: else
			fi
		};
ended:
		skip;
		d_step { done[_pid] = 1; n = 0; left = 0 }
	} unless {
		d_step {
			killed;
			owner = 0;
			found = 0;
			state = 0;
			w = 0;
			n = 0;
			won = 0;
			left = 0;
			claimed = 0
		}
	}
}

/* Flushes the buffer of thread `_pid - THREADS`. */
active [THREADS] proctype memory()
{
#define cpu (_pid - THREADS)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
#ifdef ORIGIN_DIES
	:: atomic {
		cpu == 0 && !killed && !(done[0] && done[1]);
		killed = 1;
		lose(0);
		lose(1)
	   }
#endif
	od
}

/* ---- the target: it changes memory by CAS only ---- */

active proctype target()
{
	byte at, message, sequence;
next:
	{
		atomic {
			if
			:: at < ENTRIES && mem[WORD7(at)] == VOID ->
				at++;
				goto next
			:: at < ENTRIES && mem[WORD7(at)] != 0 &&
				mem[WORD7(at)] != VOID ->
				message = mem[WORD7(at)];
				sequence = mem[TELLS(at)]
			:: ENDED && IDLE_BUFFERS && at == mem[W] ->
				lost = (got < expected);
				assert(!lost);
				goto over
			fi
		};
		d_step { /* STARTED: the origin does not touch the slot */
			whole = (OPEN(mem[STATE]) &&
				 mem[STATE] / 8 == sequence);
			assert(whole);
			mem[STATE] = WORD(sequence, STARTED)
		};
#ifdef DONE_EARLY
		mem[STATE] = WORD(sequence, DONE);
#endif
		d_step {
			whole = (mem[BLOCK] == message);
			assert(whole);
			whole = 0
		};
		d_step { /* the application reads until it releases */
			whole = (mem[BLOCK] == message);
			assert(whole);
			whole = 0
		};
		d_step { /* G2 */
#ifndef DONE_EARLY
			mem[STATE] = WORD(sequence, DONE);
#endif
			got++;
			at++;
			message = 0;
			sequence = 0
		};
		goto next;
over:
		skip
	} unless {
		d_step {
			dead;
			at = 0;
			message = 0;
			sequence = 0
		}
	}
}

/* ---- the node ---- */

active proctype node()
{
	byte i;
end:
	do
	:: false /* without a death it has nothing to do */
#ifdef TARGET_DIES
	:: d_step { !dead && !ENDED; dead = 1; closed = 1 }
#ifndef NODE_SILENT
	:: d_step {
		/* READY: the origin publishes it, or finds the queue closed. */
		dead && (NOW(mem[STATE]) == SENT || NOW(mem[STATE]) == STARTED);
		mem[STATE] = WORD(mem[STATE] / 8, DONE)
	   }
#endif
#endif
#ifdef ORIGIN_DIES
	:: d_step {
		killed && !reaped && IDLE_BUFFERS;
		/* Entries that were claimed and not published become void. */
		i = 0;
		do
		:: i < mem[W] ->
			if
			:: mem[WORD7(i)] == 0 -> mem[WORD7(i)] = VOID
			:: else
			fi;
			i++
		:: else -> break
		od;
		/* Is a READY reference published? */
		if
		:: NOW(mem[STATE]) == READY ->
			i = 0;
			do
			:: i < mem[W] && (mem[WORD7(i)] == VOID ||
				mem[TELLS(i)] != mem[STATE] / 8) -> i++
			:: else -> break
			od;
#ifdef READY_IS_FREE
			i = mem[W];
#endif
			mem[STATE] = WORD(mem[STATE] / 8,
				(i < mem[W] -> SENT : FREE))
		:: else
		fi;
		i = 0;
		expected = 0;
		reaped = 1
	   }
	:: d_step {
#ifdef FREE_EARLY
		reaped && mem[BLOCK] != FREED;
#else
		reaped && mem[BLOCK] != FREED && !OPEN(mem[STATE]);
#endif
		mem[BLOCK] = FREED
	   }
#endif
	od
}

/* In the end the slot can be reclaimed; a hang here is a lost slot. */
active proctype checker()
{
	ENDED && IDLE_BUFFERS;
	NOW(mem[STATE]) == FREE || NOW(mem[STATE]) == DONE;
	killed || mem[OWNER] == UNOWNED || mem[OWNER] == TARGET
}
