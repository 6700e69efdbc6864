/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing, revoking and locking a window: when can its memory be withdrawn? An
 * access needs no fence and no reference count:
 *
 *	origin			withdrawal
 *	store op.window		store rights
 *	load the descriptor	membarrier
 *	access the memory	load op.window of all, until none names it
 *	store op.window
 *
 * An origin that does not see the new rights has stored its record before the
 * membarrier, so the scan waits for it; and the store that clears the record
 * follows all stores of the access. A lock is the same with another word of the
 * descriptor. The owner stores the rights or, for a revoke, the key; the node
 * executes barrier and scan and writes the lock, because a scan must not wait
 * for dead origins, which only the node knows. The node does not block: a scan
 * that finds an access in progress is repeated later.
 *
 * A mortal origin may die at any time. Its stores until then become visible
 * before the node detects the death.
 *
 * Properties:
 *	when the owner reuses the memory, no access is in progress, and no
 *	store of an access reaches the memory later;
 *	while a port holds the lock, no other port has an access in progress,
 *	and no store of another port reaches the memory;
 *	neither the owner nor a port that requests the lock waits indefinitely.
 *
 * After closing, the window is opened again with a new key, which no origin
 * has: an access with the old key then would be an access to the wrong memory.
 * REVOKE changes the key and leaves the rights. With LOCK the origins also
 * lock, and with NO_CLOSE they only lock. A process that may die is never seen
 * to hang, so there are also runs with fewer MORTALS.
 *
 * Variants that must fail:
 *	NO_MEMBARRIER	the node scans without it (with SEQUENTIAL it holds)
 *	RECORD_AFTER	an origin names the window after the check
 *	CLEAR_EARLY	it clears its record before the last store
 *	SCAN_FIRST	the owner stores the rights after the scan
 *	EXIT_EARLY	the node acts on an exit before the last stores of the
 *			dead origin are visible
 *	NO_CLEAR	the record of a dead origin is not cleared
 *	KEY_FIRST	an origin loads the key, then the rights: the key of
 *			the closed window, the rights of the one opened next.
 *			If closing changes both (WIPE), it holds
 *	NODE_KEY_FIRST	with LOCK: the same in the node: an old key locks the
 *			next window
 *	NO_SCAN		with LOCK: granted without reading the records
 *	NO_FREE		with LOCK: the lock of a dead origin is not released
 *	FREE_ANY	with LOCK: any death releases the lock
 *	KEEP_LOCK	with LOCK: closing does not release the lock
 *	WAIT_NAMED	with LOCK: an origin that waits for the lock names the
 *			window
 */

#ifndef ORIGINS
#define ORIGINS 2
#endif
#ifndef MORTALS /* origins 0 to MORTALS - 1 may die */
#define MORTALS ORIGINS
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* accesses of each origin */
#endif

/* ---- memory ---- */

#define RIGHTS	  0
#define KEY	  1
#define LOCKED_BY 2
#define MEMORY	  3
#define WINDOW(o) (4 + (o)) /* op.window */
#define CELLS	  (4 + ORIGINS)
#define BUFFERS	  ORIGINS
#define BUFFER_DEPTH 4

/* Memory is initially 0: the window is open, with the key of the origins. */
#define OPEN	0
#define CLOSED	1
#define KNOWN	0
#define UNKNOWN 1

/* State of the model, not of the protocol. */
bit reused;	      /* the owner has reused the memory */
bit granted[ORIGINS]; /* the origin knows that it holds the lock */

#if ORIGINS == 2
#define OTHERS_GRANTED(o) (granted[1 - (o)])
#else
#define OTHERS_GRANTED(o)                                          \
	((granted[0] && (o) != 0) || (granted[1] && (o) != 1) ||   \
		(granted[2] && (o) != 2))
#endif

#define FLUSHED(p, c, v)                                           \
	assert((c) != MEMORY || !reused);                          \
	assert((c) != MEMORY || !OTHERS_GRANTED(p))

#include "store_buffer.pml"

bit done[ORIGINS];
bit killed[ORIGINS];
bit reaped[ORIGINS]; /* the node has cleared its record */

#ifdef EXIT_EARLY
#define GONE(o) (killed[o])
#else
#define GONE(o) (killed[o] && buffer[o].used == 0)
#endif

/* Requests to the node, which clears them when it replies. */
#define NOTHING 0
#define TAKE	1
#define GIVE	2
byte asked[ORIGINS];
bit asked_close;

/* ---- an origin ---- */

inline may_access()
{
	assert(!reused);
	assert(!OTHERS_GRANTED(_pid))
}

active [ORIGINS] proctype origin()
{
	byte word, rounds;
	bit owns;

round:
	{
#ifdef LOCK
		if
		:: goto access
		:: skip
		fi;
#ifdef WAIT_NAMED
		store(_pid, WINDOW(_pid), 1);
#endif
		/* A system call: earlier stores are visible. */
		d_step { flush_all(_pid); k = 0; asked[_pid] = TAKE };
		atomic {
			asked[_pid] == NOTHING;
			if
			:: granted[_pid] -> owns = 1
#ifdef WAIT_NAMED
			:: else -> goto leave
#else
			:: else -> goto next /* the window is closed */
#endif
			fi
		};
access:
#endif
#ifndef RECORD_AFTER
		store(_pid, WINDOW(_pid), 1);
#endif
#ifdef KEY_FIRST
		atomic {
			load(_pid, KEY, word);
			if
			:: word == UNKNOWN -> goto leave
			:: else
			fi
		};
#endif
		atomic {
			load(_pid, RIGHTS, word);
			if
			:: word == CLOSED -> goto leave
			:: else
			fi
		};
#ifndef KEY_FIRST
		atomic {
			load(_pid, KEY, word);
			if
			:: word == UNKNOWN -> goto leave
			:: else
			fi
		};
#endif
#ifdef LOCK
		atomic {
			load(_pid, LOCKED_BY, word);
			if
			:: word != 0 && word != _pid + 1 -> goto leave
			:: else -> word = 0
			fi
		};
#endif
#ifdef RECORD_AFTER
		store(_pid, WINDOW(_pid), 1);
#endif
		may_access(); /* a load */
#ifdef CLEAR_EARLY
		store(_pid, WINDOW(_pid), 0);
#endif
		atomic { may_access(); store(_pid, MEMORY, 1) };
leave:
		atomic { store(_pid, WINDOW(_pid), 0); word = 0 };
next:
		atomic {
#ifdef LOCK
			if
			:: owns ->
				owns = 0;
				d_step {
					flush_all(_pid);
					k = 0;
					granted[_pid] = 0;
					asked[_pid] = GIVE
				}
			:: else
			fi;
			asked[_pid] == NOTHING;
#endif
			rounds++;
			if
			:: rounds < ROUNDS -> goto round
			:: else -> rounds = 0; done[_pid] = 1
			fi
		}
	} unless {
		d_step {
			killed[_pid];
			word = 0;
			rounds = 0;
			owns = 0
		}
	}
}

/* Flushes the buffer of origin `_pid - ORIGINS`, and may kill that origin. */
active [ORIGINS] proctype memory()
{
#define cpu (_pid - ORIGINS)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
	:: atomic {
		cpu < MORTALS && !killed[cpu] &&
			(!done[cpu] || buffer[cpu].used > 0);
		killed[cpu] = 1;
		granted[cpu] = 0;
		lose(cpu)
	   }
	od
}

/* ---- the owner ---- */

inline take_away()
{
#ifdef REVOKE
	mem[KEY] = UNKNOWN
#else
	mem[RIGHTS] = CLOSED;
#ifdef WIPE
	mem[KEY] = UNKNOWN
#else
	skip
#endif
#endif
}

hidden byte lock_left; /* names the assertion in the output of pan */

#ifndef NO_CLOSE
active proctype owner()
{
#ifndef SCAN_FIRST
	take_away();
#endif
	asked_close = 1;
	!asked_close;
#ifdef SCAN_FIRST
	take_away();
#endif
	/* An access in progress fails an assertion at its next step. */
	reused = 1;
#ifndef REVOKE
	mem[KEY] = UNKNOWN;
	mem[RIGHTS] = OPEN;
#endif
	d_step {
		lock_left = (mem[LOCKED_BY] != 0);
		assert(!lock_left);
		lock_left = 0
	}
}
#endif

/* ---- the node ---- */

/* Reaches one processor after the other; the node has no pending store. */
inline membarrier()
{
#ifndef NO_MEMBARRIER
	drain(0);
	drain(1);
#if ORIGINS == 3
	drain(2);
#endif
#endif
	skip
}

#define TO_REAP(o)  (GONE(o) && !reaped[o])
#define TO_TAKE(o)  (asked[o] == TAKE && !locking && MAY_TAKE)
#define TO_GIVE(o)  (asked[o] == GIVE)
#define MAY_TAKE    (mem[LOCKED_BY] == 0 || mem[RIGHTS] == CLOSED || \
		mem[KEY] == UNKNOWN)
#ifdef NODE_KEY_FIRST
#define LOAD_FIRST  KEY
#define LOAD_SECOND RIGHTS
#else
#define LOAD_FIRST  RIGHTS
#define LOAD_SECOND KEY
#endif
#define NAMES(o)    (mem[WINDOW(o)] != 0)

active proctype node()
{
	byte o;
	byte quiet_close; /* origins found without an access since */
	byte quiet_lock;
	byte locking; /* requesting origin, plus 1 */
	bit closing;

end:
	do
	/* An origin has exited. */
	:: d_step { TO_REAP(0); o = 0 } -> goto reap
#if ORIGINS == 3
	:: d_step { TO_REAP(2); o = 2 } -> goto reap
#endif
	:: d_step { TO_REAP(1); o = 1 } ->
reap:
#ifdef NO_CLEAR
		skip;
#else
		mem[WINDOW(o)] = 0;
#endif
		d_step {
#ifdef LOCK
#ifndef NO_FREE
			if
#ifdef FREE_ANY
			:: true ->
#else
			:: mem[LOCKED_BY] == o + 1 ->
#endif
				mem[LOCKED_BY] = 0
			:: else
			fi;
#endif
			if
			:: locking == o + 1 -> locking = 0; quiet_lock = 0
			:: else
			fi;
			asked[o] = NOTHING;
#endif
			reaped[o] = 1;
			o = 0
		}

#ifndef NO_CLOSE
	/* The owner closes. */
	:: asked_close && !closing ->
		membarrier();
		closing = 1
	:: d_step {
		closing && quiet_close < ORIGINS && !NAMES(quiet_close);
		quiet_close++
	   }
	:: d_step {
		closing && quiet_close == ORIGINS;
#ifdef LOCK
		if
		:: locking ->
			asked[locking - 1] = NOTHING;
			locking = 0;
			quiet_lock = 0
		:: else
		fi;
#ifndef KEEP_LOCK
		mem[LOCKED_BY] = 0;
#endif
#endif
		quiet_close = 0;
		closing = 0;
		asked_close = 0
	   }
#endif

#ifdef LOCK
	/* An origin unlocks; a lock that it has lost stays lost. */
	:: d_step { TO_GIVE(0); o = 0 } -> goto give
#if ORIGINS == 3
	:: d_step { TO_GIVE(2); o = 2 } -> goto give
#endif
	:: d_step { TO_GIVE(1); o = 1 } ->
give:
		atomic {
			if
			:: mem[LOCKED_BY] == o + 1 -> mem[LOCKED_BY] = 0
			:: else
			fi;
			asked[o] = NOTHING;
			o = 0
		}

	/* An origin requests the lock. */
	:: d_step { TO_TAKE(0); o = 0 } -> goto take
#if ORIGINS == 3
	:: d_step { TO_TAKE(2); o = 2 } -> goto take
#endif
	:: d_step { TO_TAKE(1); o = 1 } ->
take:
		if
		:: mem[LOAD_FIRST] != 0 -> goto refuse
		:: mem[LOAD_FIRST] == 0
		fi;
		d_step {
			if
			:: mem[LOAD_SECOND] == 0 ->
				mem[LOCKED_BY] = o + 1;
				locking = o + 1
			:: else
			fi
		};
		if
		:: locking ->
			membarrier();
#ifdef NO_SCAN
			quiet_lock = ORIGINS;
#endif
			o = 0
		:: !locking ->
refuse:
			atomic { asked[o] = NOTHING; o = 0 }
		fi
	:: d_step {
		locking && quiet_lock < ORIGINS &&
			(quiet_lock == locking - 1 || !NAMES(quiet_lock));
		quiet_lock++
	   }
	:: d_step {
		locking && quiet_lock == ORIGINS;
		assert(!OTHERS_GRANTED(locking - 1));
		granted[locking - 1] = !killed[locking - 1];
		asked[locking - 1] = NOTHING;
		locking = 0;
		quiet_lock = 0
	   }
#endif
	od
}
