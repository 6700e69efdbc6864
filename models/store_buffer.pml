/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-TSO in Promela: shared memory with a FIFO store buffer per process. spin
 * itself is sequentially consistent, so errors caused by delayed stores are
 * found only if the buffers are modelled.
 *
 * A model defines, before it includes this file,
 *	CELLS		the number of words of memory
 *	BUFFERS		the number of processes with a store buffer
 *	BUFFER_DEPTH	the number of stores in a buffer; a full buffer blocks
 *			the store, as in the processor
 *	FLUSHED(p, c, v) optional: a check when store v of p reaches cell c
 * and runs one memory() per buffer.
 *
 * store()	appends to the process's own buffer. No other process can
 *		observe when, so several stores in a row may be one atomic step
 *		of the model (except with membarriers, which make it observable)
 * lose()	drops any number of the latest stores of a killed process: a
 *		store that is not visible yet may as well not have been executed;
 *		the remaining stores are flushed
 * load()	reads the newest store in the process's own buffer, else memory
 * cas(), swap(), fetch_or(), fetch_and()
 *		flush the process's own buffer, then act on memory in one step
 * drain()	a memory fence; applied to another process's buffer, a membarrier
 *
 * SEQUENTIAL disables the buffers, as in spin itself: a variant that holds only
 * then shows that the buffers are needed to find the error.
 *
 * A process that modifies memory only with read-modify-write operations never
 * has a store in its buffer, so it needs none and reads mem[] directly.
 *
 * No process polls: a waiting process is blocked by a guard on mem[]. Buffers
 * are always flushed eventually, because memory() can always run. A hang is
 * therefore a state without a successor, which spin reports as an invalid end
 * state, and no fairness has to be assumed.
 */

typedef fifo {
	byte used;
	byte cell[BUFFER_DEPTH];
	byte value[BUFFER_DEPTH]
};

byte mem[CELLS];
fifo buffer[BUFFERS];

hidden byte k; /* scratch; unused between two steps */

/* Makes the oldest store of p visible. Only inside d_step. */
inline flush_oldest(p)
{
#ifdef FLUSHED
	FLUSHED(p, buffer[p].cell[0], buffer[p].value[0]);
#endif
	mem[buffer[p].cell[0]] = buffer[p].value[0];
	buffer[p].used--;
	k = 0;
	do
	:: k < buffer[p].used ->
		buffer[p].cell[k] = buffer[p].cell[k + 1];
		buffer[p].value[k] = buffer[p].value[k + 1];
		k++
	:: else -> break
	od;
	/* Unused slots are zero, so that equal states compare equal. */
	buffer[p].cell[k] = 0;
	buffer[p].value[k] = 0;
	k = 0
}

/* Only inside d_step. */
inline flush_all(p)
{
	do
	:: buffer[p].used > 0 -> flush_oldest(p)
	:: else -> break
	od
}

inline drain(p)
{
	d_step { flush_all(p); k = 0 }
}

inline store(p, c, v)
{
	d_step {
		buffer[p].used < BUFFER_DEPTH;
		buffer[p].cell[buffer[p].used] = c;
		buffer[p].value[buffer[p].used] = v;
		buffer[p].used++;
#ifdef SEQUENTIAL
		flush_all(p);
#endif
		k = 0
	}
}

/* Only inside atomic, in the same step as the kill. */
inline lose(p)
{
	do
	:: buffer[p].used > 0 ->
		buffer[p].used--;
		buffer[p].cell[buffer[p].used] = 0;
		buffer[p].value[buffer[p].used] = 0
	:: break
	od
}

/* For use inside d_step, together with other actions. */
inline load_now(p, c, to)
{
	to = mem[c];
	k = 0;
	do
	:: k < buffer[p].used ->
		if
		:: buffer[p].cell[k] == c -> to = buffer[p].value[k]
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

inline load(p, c, to)
{
	d_step { load_now(p, c, to) }
}

/* As in C11: `expected` becomes the value found, `won` reports success. */
inline cas_now(p, c, expected, v, won)
{
	flush_all(p);
	won = (mem[c] == expected);
	if
	:: won -> mem[c] = v
	:: else -> expected = mem[c]
	fi
}

inline swap(p, c, v, old)
{
	d_step {
		flush_all(p);
		old = mem[c];
		mem[c] = v
	}
}

inline fetch_or(p, c, bits, old)
{
	d_step {
		flush_all(p);
		old = mem[c];
		mem[c] = old | (bits)
	}
}

inline fetch_and(p, c, bits)
{
	d_step {
		flush_all(p);
		mem[c] = mem[c] & (bits)
	}
}
