/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Close, revoke and lock of a window: when may its memory be taken away from
 * those who access it? An access costs its origin no fence and no count:
 *
 *	origin			who closes
 *	store op.window		store rights
 *	load the descriptor	membarrier
 *	access the memory	load op.window of all, until none names it
 *	store op.window
 *
 * An origin that does not load the new rights has stored its record before the
 * membarrier, so it is waited for; and its last store is behind all those of
 * the access. Lock is the same with another word of the descriptor. The owner
 * stores the rights, or for a revoke the key; barrier and scan are the node's,
 * as is all that becomes of the lock: a scan must not wait for the dead, and
 * only the node knows them. It asks nobody and blocks for nobody: what is not
 * quiet yet is looked at again later.
 *
 * A mortal origin may die at any time; what it had stored by then becomes
 * visible before the node hears of it.
 *
 * What must hold:
 *	when the owner reuses the memory, nobody is in the middle of an access,
 *	and no store of an access reaches it later;
 *	while a port has the lock nobody else is in the middle of an access,
 *	and no store of others reaches the memory;
 *	nobody waits for ever: not the owner, not a port for the lock.
 *
 * After closing, the window is opened again with another key, which nobody has:
 * what is done with the old one then is done to the wrong memory. REVOKE
 * changes the key and leaves the rights. LOCK lets the origins lock too, and
 * with NO_CLOSE that is all. Whoever waits and may die is not seen to wait for
 * ever: for that there are runs with fewer MORTALS.
 *
 * Variants that must fail:
 *	NO_MEMBARRIER	the node scans without (and with SEQUENTIAL it holds)
 *	RECORD_AFTER	an origin names the window after it has checked
 *	CLEAR_EARLY	it clears its record before the last store
 *	SCAN_FIRST	the owner stores the rights after the scan
 *	EXIT_EARLY	the node goes by an exit before it has made the dead
 *			origin's last stores visible
 *	NO_CLEAR	the record of the dead is left as it is
 *	KEY_FIRST	an origin loads the key, then the rights: the key of
 *			the window that was closed, the rights of the one that
 *			was opened. If closing changes both (WIPE), it holds
 *	NODE_KEY_FIRST	with LOCK: the same of the node: who has an old key
 *			locks the next window
 *	NO_SCAN		with LOCK: granted without looking at records
 *	NO_FREE		with LOCK: the lock of the dead stays
 *	FREE_ANY	with LOCK: somebody died, so the lock is free
 *	KEEP_LOCK	with LOCK: closing leaves the lock
 *	WAIT_NAMED	with LOCK: who waits for the lock names the window
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

/* Memory starts as 0: open, and the key is the one that the origins have. */
#define OPEN	0
#define CLOSED	1
#define KNOWN	0
#define UNKNOWN 1

/* What only the model knows. */
bit reused;	      /* the memory is the owner's again */
bit granted[ORIGINS]; /* has the lock, and knows it */

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
bit buried[ORIGINS]; /* the node has cleared its record */

#ifdef EXIT_EARLY
#define GONE(o) (killed[o])
#else
#define GONE(o) (killed[o] && buffer[o].used == 0)
#endif

/* Requests to the node; it takes them back when it answers. */
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
		/* A system call: what was stored before is visible. */
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
#define whose (_pid - ORIGINS)
end:
	do
	:: d_step { buffer[whose].used > 0; flush_oldest(whose) }
	:: atomic {
		whose < MORTALS && !killed[whose] &&
			(!done[whose] || buffer[whose].used > 0);
		killed[whose] = 1;
		granted[whose] = 0;
		lose(whose)
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

hidden byte lock_left; /* so that the assertion has a name */

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
	/* Whoever is in the middle of an access fails at its next step. */
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

/* It reaches one processor after the other. Nothing of ours is on its way. */
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

#define TO_BURY(o)  (GONE(o) && !buried[o])
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
	byte quiet_close; /* origins that did not name the window since */
	byte quiet_lock;
	byte locking; /* for whom, plus 1 */
	bit closing;

end:
	do
	/* An origin is gone. */
	:: d_step { TO_BURY(0); o = 0 } -> goto bury
#if ORIGINS == 3
	:: d_step { TO_BURY(2); o = 2 } -> goto bury
#endif
	:: d_step { TO_BURY(1); o = 1 } ->
bury:
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
			buried[o] = 1;
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
	/* An origin unlocks; what it has lost in the meantime stays lost. */
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

	/* An origin wants the lock. */
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
