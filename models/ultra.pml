/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ULTRA path: slices, the return page, and the sleep of both ends. Models
 * ultra_inject(), ultra_peek(), ultra_return() of src/device/ultra.c,
 * notify_interrupt() of src/device/notify.c, ultra_asleep() of
 * src/port/ultra_wait.c, recv_empty() of src/port/ultra.c, and the node that
 * marks the path of an origin that is gone. There are no timeouts, which would
 * hide a lost wake-up.
 *
 * Properties: messages arrive complete, in order, and each once (`whole`); of
 * an origin that died all that were stored arrive (`drained`); neither end
 * sleeps while there is a message, the end, or a free slice.
 *
 * The target returns its position at any time, and before it sleeps.
 *
 * With MORTAL the origin may die at any time. A death would end the sleep of the
 * other end, and so hide a lost wake-up; therefore there are runs without.
 *
 * With FENCE the origin executes a fence after each message; then the target
 * needs no membarrier.
 *
 * Variants that must fail:
 *	NO_MEMBARRIER	the target executes no barrier in the origin
 *	NO_LOOK		the target does not look again after ASLEEP
 *	LOOK_FIRST	it looks, and sets ASLEEP afterwards
 *	SLEEP_KEPT	a waker does not remove SLEEP from W
 *	STATUS_FIRST	the status is stored before the payload
 *	RETURN_FIRST	the position is returned before the payload is read
 *	NO_FENCE	no fence between the position and `asleep`
 *	NO_LOOK_ORIGIN	the origin does not look again after `asleep`
 *	NODE_SILENT	the node marks the path and does not wake the target
 *	END_AT_ONCE	the target does not look again after GONE
 */

#ifndef SLICES
#define SLICES 1
#endif
#ifndef MESSAGES
#define MESSAGES 3
#endif

/* ---- memory ---- */

#define PAYLOAD(i) ((i) % SLICES)
#define STATUS(i)  (SLICES + (i) % SLICES)
#define POSITION   (2 * SLICES)
#define ASLEEP	   (2 * SLICES + 1) /* of the target, on the return page */
#define WAITS	   (2 * SLICES + 2) /* `asleep` of the origin */
#define GONE	   (2 * SLICES + 3)
#define W(p)	   (2 * SLICES + 4 + (p)) /* 1: SLEEP */
#define CELLS	   (2 * SLICES + 6)
#define ORIGIN	   0
#define TARGET	   1
#define BUFFERS	   2
#define BUFFER_DEPTH 4

#define GENERATION(i) ((i) / SLICES + 1)

#include "store_buffer.pml"

/* ---- state of the model, not of the protocol ---- */

bit killed;
bit marked; /* the node has marked the path */
#ifdef MORTAL
bit done; /* the origin has sent everything */
#endif
bit asleep[2];

/* The kernel's fence, then compare and sleep in one step. */
inline futex_wait(p)
{
	d_step {
		flush_all(p);
		asleep[p] = (mem[W(p)] == 1)
	}
}

inline interrupt(p, by)
{
#ifdef SLEEP_KEPT
	asleep[p] = 0;
#else
	d_step {
		flush_all(by);
		if
		:: mem[W(p)] == 1 -> mem[W(p)] = 0; asleep[p] = 0
		:: else
		fi;
		k = 0
	};
#endif
}

active proctype origin()
{
	byte sent, position, flag;

	{
		do
		:: sent == MESSAGES -> break
		:: sent < MESSAGES ->
			load(ORIGIN, POSITION, position); /* U4 */
			if
			:: sent - position < SLICES -> goto inject
			:: else
			fi;
			/* Full: announces its sleep, and looks again. */
			fetch_or(ORIGIN, W(ORIGIN), 1, flag);
			store(ORIGIN, WAITS, 1);
			drain(ORIGIN);
#ifndef NO_LOOK_ORIGIN
			load(ORIGIN, POSITION, position);
			if
			:: sent - position < SLICES -> goto awake
			:: else
			fi;
#endif
			futex_wait(ORIGIN);
			!asleep[ORIGIN];
awake:
			fetch_and(ORIGIN, W(ORIGIN), 0);
			store(ORIGIN, WAITS, 0);
			goto next;
inject:
#ifdef STATUS_FIRST
			store(ORIGIN, STATUS(sent), GENERATION(sent));
#endif
			store(ORIGIN, PAYLOAD(sent), sent + 1);
#ifndef STATUS_FIRST
			store(ORIGIN, STATUS(sent), GENERATION(sent)); /* U1 */
#endif
			sent++;
#ifdef FENCE
			drain(ORIGIN);
#endif
			load(ORIGIN, ASLEEP, flag); /* U5 */
			if
			:: flag -> interrupt(TARGET, ORIGIN)
			:: else
			fi;
next:
			position = 0;
			flag = 0
		od;
#ifdef MORTAL
		done = 1
#endif
	} unless {
		d_step { killed; asleep[ORIGIN] = 0; position = 0; flag = 0 }
	}
}

/* Flushes a buffer; that of the origin may end with its death. */
active [BUFFERS] proctype memory()
{
#define cpu (_pid - 1)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
#ifdef MORTAL
	:: atomic {
		cpu == ORIGIN && !killed && !done;
		killed = 1;
		lose(ORIGIN)
	   }
#endif
	od
}

/* After the exit: all stores of the origin are visible. */
active proctype node()
{
end:
	atomic { killed && buffer[ORIGIN].used == 0 };
	mem[GONE] = 1;
#ifndef NODE_SILENT
	d_step {
		if
		:: mem[W(TARGET)] == 1 -> mem[W(TARGET)] = 0; asleep[TARGET] = 0
		:: else
		fi
	};
#endif
	marked = 1
}

inline give_back()
{
	store(TARGET, POSITION, next); /* U3 */
	returned = next;
#ifndef NO_FENCE
	drain(TARGET);
#endif
	load(TARGET, WAITS, flag); /* U6 */
	if
	:: flag -> interrupt(ORIGIN, TARGET)
	:: else
	fi;
	flag = 0
}

active proctype target()
{
	byte next, returned, status, payload, flag;

	do
	:: next == MESSAGES -> break
	:: next < MESSAGES ->
		if
		:: returned < next -> give_back()
		:: true
		fi;
		load(TARGET, STATUS(next), status); /* U2 */
		if
		:: status == GENERATION(next) -> goto take
		:: else
		fi;
		load(TARGET, GONE, flag);
		if
		:: flag ->
#ifndef END_AT_ONCE
			load(TARGET, STATUS(next), status);
			if
			:: status == GENERATION(next) -> goto take
			:: else
			fi;
#endif
			/* drained */
			assert(mem[STATUS(next)] != GENERATION(next));
			break
		:: else
		fi;

		/* Announces its sleep, and looks again. */
		fetch_or(TARGET, W(TARGET), 1, flag);
		if
		:: returned < next -> give_back()
		:: else
		fi;
#ifdef LOOK_FIRST
		load(TARGET, STATUS(next), status);
		load(TARGET, GONE, flag);
		fetch_or(TARGET, ASLEEP, 1, payload);
#else
		fetch_or(TARGET, ASLEEP, 1, flag);
#if !defined NO_MEMBARRIER && !defined FENCE
		drain(ORIGIN);
#endif
		load(TARGET, STATUS(next), status);
		load(TARGET, GONE, flag);
#endif
#ifndef NO_LOOK
		if
		:: status == GENERATION(next) || flag -> goto awake
		:: else
		fi;
#endif
		futex_wait(TARGET);
		!asleep[TARGET];
awake:
		fetch_and(TARGET, W(TARGET), 0);
		fetch_and(TARGET, ASLEEP, 0);
		goto again;
take:
#ifdef RETURN_FIRST
		next++;
		give_back();
		next--;
#endif
		load(TARGET, PAYLOAD(next), payload);
		/* whole */
		assert(payload == next + 1);
		next++;
again:
		status = 0;
		payload = 0;
		flag = 0
	od
}
