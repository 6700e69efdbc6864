/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parking against wake-up: a machine whose target is full, and the consumer of
 * that target in another process. Models park() and unpark() of
 * src/device/machine/park.c, room_claim() of src/device/room.c and
 * notify_return() of src/device/notify.c. ROOM is context.room, which the
 * consumer's side sets.
 *
 * A claim that fails has loaded R. Parking sets WAITERS in R, and if R is not
 * the one that the claim has used, sets ROOM itself. The machine tries again
 * when it finds ROOM, which it clears before: a return that comes later sets it
 * again.
 *
 * Property: no packet is parked indefinitely while there is space.
 *
 * Variants that must fail:
 *	NO_LOOK		parking does not compare R
 *	LOOK_FIRST	R is compared, then WAITERS set
 *	CLEAR_LATE	ROOM is cleared when the packet is parked again
 *	PLAIN_R		the consumer looks for WAITERS, then stores R
 *	NO_WAITERS	the consumer is not asked to wake
 */

#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef ENTRIES
#define ENTRIES	1
#endif

#define R	0
#define ROOM	1
#define WORD7	2 /* messages published: the machine is the only sender */
#define CELLS	3
#define MACHINE	 0
#define CONSUMER 1
#define BUFFERS	 2
#define BUFFER_DEPTH 4

#define WAITERS	 1
#define NQ(word) ((word) / 2)
#define WORD(nq) ((nq) * 2)

#include "store_buffer.pml"

byte received;

active proctype machine()
{
	byte w, r, seen;

	do
	:: w == MESSAGES -> break
	:: w < MESSAGES ->
		load(MACHINE, R, seen);
		if
		:: w - NQ(seen) < ENTRIES ->
			atomic { w++; store(MACHINE, WORD7, w) }
		:: else ->
#ifdef LOOK_FIRST
			load(MACHINE, R, r);
			fetch_or(MACHINE, R, WAITERS, k);
			d_step { k = 0 };
#else
#ifdef NO_WAITERS
			load(MACHINE, R, r);
#else
			fetch_or(MACHINE, R, WAITERS, r);
#endif
#endif
#ifndef NO_LOOK
			if
			:: NQ(r) != NQ(seen) -> store(MACHINE, ROOM, 1)
			:: else
			fi;
#endif
#ifdef CLEAR_LATE
			store(MACHINE, ROOM, 0);
#endif
			d_step { r = 0; seen = 0 };
			/* Parked; the machine polls ROOM, other ports run. */
			mem[ROOM] == 1;
#ifndef CLEAR_LATE
			store(MACHINE, ROOM, 0)
#endif
		fi
	od
}

active [BUFFERS] proctype memory()
{
#define cpu (_pid - 1)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
	od
}

/* Returns entries one by one, or several at once. */
active proctype consumer()
{
	byte old;

	do
	:: d_step { received < mem[WORD7]; received++ }
	:: NQ(mem[R]) != received ->
#ifdef PLAIN_R
		load(CONSUMER, R, old);
		store(CONSUMER, R, WORD(received));
#else
		swap(CONSUMER, R, WORD(received), old);
#endif
		if
		:: old & WAITERS -> store(CONSUMER, ROOM, 1)
		:: else
		fi;
		old = 0
	:: received == MESSAGES && NQ(mem[R]) == received -> break
	od
}
