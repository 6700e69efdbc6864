/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accepting against enqueueing: software posts VCIs and triggers them, a device
 * accepts the triggers into a buffer of CSB entries and fetches the VCIs.
 * Models fetch_post() and fetch_vci() of src/device/fetch.c, csb_insert() and
 * fetch_request() of src/device/machine.
 *
 * A VCI has one word of data and word 0, which has the generation of its lap
 * and is stored last. The trigger follows it; a trigger that finds the buffer
 * full is refused and repeated. An entry of the work queue is posted again when
 * the device has copied it.
 *
 * With EARLY the software may also trigger before it has filled in a VCI. The
 * device then finds it filled in or not; if not, the trigger has no effect and
 * the VCI stays for the next one.
 *
 * Properties: a VCI that is fetched is filled in, its data are its own, each is
 * fetched once and in order, and no more than CSB triggers are held.
 *
 * Variants that must fail:
 *	TRIGGER_FIRST	the only trigger comes before word 0
 *	WORD0_FIRST	with EARLY: word 0 comes before the data
 *	NO_GENERATION	with EARLY: word 0 of the last lap counts as filled in
 *	READ_EARLY	the device gives the entry back before it has copied it
 *	NO_REFUSAL	a full buffer accepts
 */

#ifndef REQUESTS
#define REQUESTS 5
#endif
#ifndef ENTRIES
#define ENTRIES	2 /* of the work queue */
#endif
#ifndef CSB
#define CSB	1
#endif

#define WORD0(i)  ((i) % ENTRIES)
#define DATA(i)	  (ENTRIES + (i) % ENTRIES)
#define TRIGGERED (2 * ENTRIES)
#define TAKEN	  (2 * ENTRIES + 1)
#define READ	  (2 * ENTRIES + 2)
#define CELLS	  (2 * ENTRIES + 3)
#define SOFTWARE  0
#define DEVICE	  1
#define BUFFERS	  2
#define BUFFER_DEPTH 4

#ifdef NO_GENERATION
#define FILLED(word, i) ((word) != 0)
#else
#define FILLED(word, i) ((word) == (i) / ENTRIES + 1)
#endif

#include "store_buffer.pml"

#ifdef NO_REFUSAL
#define ACCEPTS(n) true
#else
#define ACCEPTS(n) ((n) - mem[TAKEN] < CSB)
#endif

/* Refused until there is an entry. */
inline trigger()
{
	ACCEPTS(triggers);
	atomic { triggers++; store(SOFTWARE, TRIGGERED, triggers) }
}

active proctype software()
{
	byte n, triggers;

	do
	:: n == REQUESTS -> break
	:: n < REQUESTS && n - mem[READ] < ENTRIES ->
#ifdef TRIGGER_FIRST
		trigger();
#endif
#ifdef EARLY
		if
		:: trigger()
		:: true
		fi;
#endif
#ifdef WORD0_FIRST
		store(SOFTWARE, WORD0(n), n / ENTRIES + 1);
		store(SOFTWARE, DATA(n), n + 1);
#else
		store(SOFTWARE, DATA(n), n + 1);
		store(SOFTWARE, WORD0(n), n / ENTRIES + 1);
#endif
#ifndef TRIGGER_FIRST
		trigger();
#endif
		n++
	od;
	mem[READ] == REQUESTS /* each was fetched */
}

active [BUFFERS] proctype memory()
{
#define cpu (_pid - 1)
end:
	do
	:: d_step { buffer[cpu].used > 0; flush_oldest(cpu) }
	od
}

active proctype device()
{
	byte taken, read, word, data, held;

end:
	do
	:: atomic {
		mem[TRIGGERED] > taken;
		held = mem[TRIGGERED] - taken;
		assert(held <= CSB);
		held = 0
	   };
#ifdef READ_EARLY
		store(DEVICE, READ, read + 1);
#endif
		load(DEVICE, WORD0(read), word); /* F1 */
#ifdef EARLY
		if
		:: !FILLED(word, read) -> goto unfilled
		:: else
		fi;
#else
		assert(FILLED(word, read));
#endif
		load(DEVICE, DATA(read), data);
		assert(data == read + 1);
		atomic {
			read++;
#ifndef READ_EARLY
			store(DEVICE, READ, read)
#endif
		};
unfilled:
		atomic {
			taken++;
			word = 0;
			data = 0;
			store(DEVICE, TAKEN, taken)
		}
	od
}
