/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-TSO for Promela: memory that all see, and in front of it one FIFO of
 * stores per process. spin alone is sequentially consistent; what goes wrong
 * because a store is still on its way is only found if the way is modelled.
 *
 * A model defines, before it includes this file,
 *	CELLS		how many words of memory there are
 *	BUFFERS		how many processes have a store buffer
 *	BUFFER_DEPTH	how many stores fit into one; a full one holds up the
 *			store, as in the processor
 *	FLUSHED(p, c, v) a check for when v of p reaches cell c, if it has one
 * and runs one memory() per buffer.
 *
 * store()	goes into the own buffer; nobody else can tell when, so several
 *		in a row may be one atomic step of the model (but where there
 *		are membarriers, which do tell)
 * lose()	the same once more, for death: a store that is not visible yet
 *		might as well not have been executed yet, so whoever is killed
 *		loses any number of its latest ones; the rest is drained
 * load()	looks in the own buffer first, the newest store wins
 * cas(), swap(), fetch_or(), fetch_and()
 *		drain the own buffer, then act on memory in one step
 * drain()	a fence; of somebody else's buffer, a membarrier
 *
 * SEQUENTIAL does without, as spin does by itself: what holds only then is a
 * mistake that the buffers find.
 *
 * A process that changes memory by read-modify-writes only never has anything
 * in its buffer, so it needs none: it reads mem[] as it is.
 *
 * Nobody waits by polling in these models: who has to wait is blocked by a
 * guard on mem[]. Buffers always empty in the end, because memory() can always
 * run. So whatever hangs is a state without a successor, which spin reports as
 * an invalid end state, and no fairness need be assumed.
 */

typedef fifo {
	byte used;
	byte cell[BUFFER_DEPTH];
	byte value[BUFFER_DEPTH]
};

byte mem[CELLS];
fifo buffer[BUFFERS];

hidden byte k; /* never holds anything between two steps */

/* The oldest store of p becomes visible. Only inside d_step. */
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
	/* What is not in use is zero, or equal states would look different. */
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

/* Only inside atomic, together with the kill. */
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

/* For use inside d_step, where something is to happen at the same moment. */
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

/* As in C: `expected` becomes what was found, `won` says if it was swapped. */
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
