/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Co-copy (port/cocopy.h): a target copies a message in chunks out of its
 * origin, from the front, and the origin stages chunks from the end in a ring,
 * here of one place. Two messages use the same reference slot, the same source
 * and the same ring. The origin has two threads: `app` sends, takes the
 * completion and then overwrites the source; `helper` stages chunks. A lock
 * orders the two.
 *
 * Properties: a target that accepts a message has all of it (`whole`); no
 * chunk is staged of a source whose completion was taken (`lent`); the target
 * waits for nobody, so that each message ends.
 *
 * STOPS: the origin may stop for ever after a claim. ORIGIN_DIES: it may die at
 * any step; its source can then not be read, and others get its ring. CLOSES:
 * it may close the port while the target copies, and overwrite source and ring.
 *
 * Variants that must fail:
 *	STAGED_EARLY	`staged` is stored before the chunk is copied
 *	NO_CONSUMED	the place is used again before the target has read it
 *	CONSUMED_EARLY	the target stores `consumed` before it reads the place
 *	OLD_STAGED	the target ignores the sequence number in `staged`
 *	DONE_EARLY	the target sets DONE before the last copy
 *	NO_LOCK		the helper takes no lock
 *	NO_STEAL	with STOPS: the target waits for a claimed chunk
 *	NO_ALIVE	with ORIGIN_DIES: the target does not look whether the
 *			origin lives, after the last copy
 *	NO_STATE	with CLOSES: it does not look at the state then
 */

#define CHUNKS	 3
#define MESSAGES 2

/* ---- memory ---- */

#define STATE	  0
#define CLAIM	  1
#define STAGED	  2
#define CONSUMED  3
#define PLACE	  4
#define SOURCE(i) (5 + (i))
#define CELLS	  (5 + CHUNKS)

#define APP	     0
#define HELPER	     1
#define TARGET	     2
#define BUFFERS	     3
#define BUFFER_DEPTH 4

#define CONTENT(m, i) ((m) * 4 + (i) + 1)
#define OTHERS	      99 /* what anybody else has written */

#define FREE	   0
#define SENT	   2
#define DONE	   3
#define STARTED	   4
#define WORD(m, x) ((m) * 8 + (x))

/* The claim word: message, chunks of the target, chunks of the origin. */
#define OPEN(m)	     ((m) * 16)
#define FRONT(x)     ((x) / 4 % 4)
#define BACK(x)	     ((x) % 4)
#define COUNT(m, n)  ((m) * 4 + (n)) /* `staged` and `consumed` */

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

hidden byte whole, lent; /* name assertions */
bit killed, stopped, over;

/* ---- the origin, private ---- */

bit locked;
byte current; /* the message in flight; 0: none */
byte staged;  /* its chunks that were staged */

#define IDLE_BUFFERS \
	(buffer[0].used == 0 && buffer[1].used == 0 && buffer[2].used == 0)

inline lock(p)
{
	d_step { !locked; flush_all(p); k = 0; locked = 1 }
}

inline unlock(p)
{
	d_step { flush_all(p); k = 0; locked = 0 }
}

active proctype app()
{
	byte m = 1, i;
next:
	{
		d_step {
			i = 0;
			do
			:: i < CHUNKS ->
				buffer[APP].cell[i] = SOURCE(i);
				buffer[APP].value[i] = CONTENT(m, i);
				i++
			:: else -> break
			od;
			buffer[APP].used = CHUNKS;
			i = 0
		};
		lock(APP);
		d_step { /* the sending CASes */
			flush_all(APP);
			k = 0;
			current = m;
			staged = 0;
			mem[STATE] = WORD(m, SENT)
		};
		unlock(APP);
		if
		:: d_step { mem[STATE] == WORD(m, DONE); i = 0 };
			lock(APP);
			d_step { current = 0; staged = 0 };
			unlock(APP)
#ifdef CLOSES
		:: d_step {
			!locked && mem[STATE] != WORD(m, DONE);
			current = 0;
			mem[STATE] = WORD(m, FREE)
		   };
			mem[PLACE] = OTHERS;
			m = MESSAGES
#endif
		fi;
		/* The memory is the application's again. */
		d_step {
			i = 0;
			do
			:: i < CHUNKS -> mem[SOURCE(i)] = OTHERS; i++
			:: else -> break
			od;
			i = 0;
			m++
		};
		if
		:: m <= MESSAGES -> goto next
		:: else -> over = 1
		fi
	} unless {
		d_step { killed || stopped; i = 0; m = 0 }
	}
}

active proctype helper()
{
	byte m, word, consumed, content;
	bit won;
end_next:
	{
		/* The hint. */
		atomic {
			current != 0 && mem[CLAIM] != 0 &&
				mem[CLAIM] / 16 == current &&
				FRONT(mem[CLAIM]) + BACK(mem[CLAIM]) < CHUNKS
		};
#ifndef NO_LOCK
		lock(HELPER);
#endif
		atomic {
			m = current;
			load(HELPER, CLAIM, word);
			load(HELPER, CONSUMED, consumed)
		};
		if
		:: m == 0 -> goto out
		:: m != 0 && (word / 16 != m || BACK(word) != staged) ->
			goto out
#ifndef NO_CONSUMED
		:: staged > 0 && consumed != COUNT(m, staged) -> goto out
#endif
		:: else
		fi;
		/* K2 */
		d_step {
			won = 0;
			if
			:: FRONT(word) + BACK(word) < CHUNKS ->
				cas_now(HELPER, CLAIM, word, word + 1, won)
			:: else
			fi;
			k = 0
		};
		if
		:: won -> won = 0
		:: else -> goto out
		fi;
#ifdef STOPS
		if
		:: true
		:: stopped = 1; goto end_stopped
		fi;
#endif
#ifdef STAGED_EARLY
		store(HELPER, STAGED, COUNT(m, staged + 1));
#endif
		d_step {
			content = mem[SOURCE(CHUNKS - 1 - staged)];
			lent = (content == CONTENT(m, CHUNKS - 1 - staged));
			assert(lent);
			lent = 0
		};
		store(HELPER, PLACE, content);
#ifdef STAGED_EARLY
		staged++;
#else
		atomic { /* K3 */
			staged++;
			store(HELPER, STAGED, COUNT(m, staged))
		};
#endif
out:
		skip;
#ifndef NO_LOCK
		unlock(HELPER);
#endif
		d_step { m = 0; word = 0; consumed = 0; content = 0 };
		goto end_next;
end_stopped:
		false
	} unless {
		d_step { killed; m = 0; word = 0; consumed = 0; content = 0; won = 0 }
	}
}

/* Flushes the buffer of process `_pid - 2`. */
active [BUFFERS] proctype memory()
{
#define cpu (_pid - 2)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
#ifdef ORIGIN_DIES
	:: atomic {
		cpu == 0 && !killed && !over;
		killed = 1;
		lose(APP);
		lose(HELPER)
	   }
	:: d_step { /* the node gives the ring to others */
		cpu == 0 && killed && mem[PLACE] != OTHERS &&
			buffer[APP].used == 0 && buffer[HELPER].used == 0;
		mem[PLACE] = OTHERS
	   }
#endif
	od
}

active proctype target()
{
	byte m = 1, word, count, claimed, consumed, i;
	byte got[CHUNKS];
	bit won, failed;
end_next:
	atomic {
		mem[STATE] == WORD(m, SENT);
		mem[STATE] = WORD(m, STARTED)
	};
	atomic { /* K1 */
		store(TARGET, CONSUMED, COUNT(m, 0));
		store(TARGET, CLAIM, OPEN(m))
	};
copy:
	if
	:: failed || claimed + consumed >= CHUNKS -> goto copied
	:: else
	fi;
#ifdef DONE_EARLY
	if
	:: claimed + consumed == CHUNKS - 1 ->
		d_step { flush_all(TARGET); k = 0; mem[STATE] = WORD(m, DONE) }
	:: else
	fi;
#endif
	load(TARGET, STAGED, count); /* K3 */
#ifdef OLD_STAGED
	count = count % 4;
#else
	count = (count / 4 == m -> count % 4 : 0);
#endif
	if
	:: count > consumed && count <= CHUNKS - claimed ->
#ifdef CONSUMED_EARLY
		store(TARGET, CONSUMED, COUNT(m, consumed + 1));
#endif
		load(TARGET, PLACE, word);
		atomic { /* K4 */
			got[CHUNKS - 1 - consumed] = word;
			consumed++;
#ifndef CONSUMED_EARLY
			store(TARGET, CONSUMED, COUNT(m, consumed));
#endif
			word = 0;
			count = 0
		};
		goto copy
	:: else
	fi;
	d_step { /* K2 */
		flush_all(TARGET);
		k = 0;
		count = 0;
		word = mem[CLAIM];
		won = (claimed + BACK(word) < CHUNKS);
		if
		:: won -> mem[CLAIM] = word + 4
		:: else
		fi
	};
	if
	:: won ->
		atomic {
			claimed++;
			i = claimed - 1;
			won = 0
		}
	:: else ->
		/* The origin has claimed the rest; the target waits, or not. */
		if
		:: mem[STAGED] / 4 == m && mem[STAGED] % 4 > consumed ->
			word = 0;
			goto copy
#ifndef NO_STEAL
		:: true ->
			atomic { consumed++; i = CHUNKS - consumed }
#endif
		fi
	fi;
	d_step { /* process_vm_readv */
		word = 0;
		if
		:: killed -> failed = 1
		:: else -> got[i] = mem[SOURCE(i)]
		fi;
		i = 0
	};
	goto copy;
copied:
#ifndef NO_ALIVE
	failed = failed || killed;
#endif
	atomic {
#ifndef NO_STATE
#ifndef DONE_EARLY
		failed = failed || mem[STATE] != WORD(m, STARTED);
#endif
#endif
		if
		:: !failed ->
			i = 0;
			do
			:: i < CHUNKS ->
				whole = (got[i] == CONTENT(m, i));
				assert(whole);
				got[i] = 0;
				i++
			:: else -> break
			od;
			whole = 0;
			i = 0
		:: else
		fi
	};
	d_step { /* G2 */
		flush_all(TARGET);
		k = 0;
		if
		:: mem[STATE] == WORD(m, STARTED) -> mem[STATE] = WORD(m, DONE)
		:: else
		fi;
		m++;
		claimed = 0;
		consumed = 0;
		failed = 0;
		i = 0;
		do
		:: i < CHUNKS -> got[i] = 0; i++
		:: else -> break
		od;
		i = 0
	};
	if
	:: m <= MESSAGES -> goto end_next
	:: else
	fi
}
