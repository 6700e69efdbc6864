/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two measuring processes share beside the traffic that they measure: the
 * cache line of the bare hand-over (L), by which they also meet, and a few
 * words to tell each other. Whoever runs both ends them if one dies: waits here
 * are not bounded.
 */
#ifndef CAY_BENCH_FABRIC_BOARD_H
#define CAY_BENCH_FABRIC_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	BOARD_APART = 128, /* bytes: no line and no neighbour in common */
	BOARD_NOTE_MAX = 256,
};

/* All zero at the start. */
struct board {
	_Alignas(BOARD_APART) _Atomic uint64_t line;
	_Alignas(BOARD_APART) _Atomic uint64_t switches; /* of rank 1 */
	_Alignas(BOARD_APART) unsigned char note[2][BOARD_NOTE_MAX];
};

/* One process at the board. */
struct seat {
	struct board *board;
	int rank;
	double tick_ns; /* of rank 0 */
	uint64_t line_at;
};

/* Pins the calling thread to the core of its rank; 0 or -errno. */
int seat_pin(const struct seat *);

/* Both are here, and each sees what the other wrote before. */
void seat_meet(struct seat *);
/* The same; while it waits, it does something again and again. 0, or that's. */
int seat_meet_busy(struct seat *, int (*meanwhile)(void *), void *state);

/* The hand-over, one way in ns; rank 1 takes part and gets 0. */
double seat_handover_ns(struct seat *);

/* How often either was taken off its core, as of the last hand-over. */
uint64_t seat_switches(const struct seat *);

#endif
